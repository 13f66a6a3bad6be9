"""The job that all organisations agree on, and the folder that a FLARE server takes for it."""

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from secfc.drivers.flare.kits import CLASSES
from secfc.errors import ParameterError, SecFCError
from secfc.params import Job
from secfc.sealing.handshake import Session
from secfc.sealing.identity import Roster


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """What every organisation has agreed to.

    Attributes
    ----------
    job : Job
    sites : tuple of str
        FLARE names of the sites; client j is the j-th.
    roster : Roster
        Their public keys.
    seed : int or None
        Of public choices.
    """

    job: Job
    sites: tuple[str, ...]
    roster: Roster
    seed: int | None = None

    def session(self, run: bytes) -> Session:
        """What names a run of it."""
        return Session.of(job=self.job, roster=self.roster, run=run)

    @property
    def digest(self) -> str:
        """Of job and roster, in hexadecimal."""
        return self.session(b"").agreement.hex()


def read_agreement(text: str) -> Agreement:
    """The agreement of a job file's text.

    Raises
    ------
    ParameterError
        Naming what is wrong with it.
    """
    try:
        values: dict[str, Any] = tomllib.loads(text)
        keys = values.pop("roster")
        if "ids_cap" in values:
            raise ParameterError("ids_cap: membership privacy is not available on FLARE in this version")
        return Agreement(
            sites=tuple(keys),
            roster=Roster(tuple(bytes.fromhex(key) for key in keys.values())),
            seed=values.pop("seed", None),
            job=Job(n=len(keys), **values),
        )
    except SecFCError:
        raise
    except (tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise ParameterError(f"job file: {type(error).__name__}: {error}") from None


def read_job_file(path: Path) -> str:
    """The text of a job file."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ParameterError(f"{path}: {error.strerror}") from None


def export_job(text: str, folder: Path, *, deadline: float) -> None:
    """Write the folder that a FLARE server takes: configuration only, no code.

    Parameters
    ----------
    text : str
        The job file's text.
    folder : Path
        Must not exist.
    deadline : float
        Seconds that a site has to answer a call.
    """
    agreement = read_agreement(text)
    server = {
        "format_version": 2,
        "workflows": [
            {
                "id": "secfc",
                "path": CLASSES["server"],
                "args": {"job": text, "deadline": deadline},
            }
        ],
        "components": [],
    }
    client = {
        "format_version": 2,
        "executors": [{"tasks": ["*"], "executor": {"path": CLASSES["site"], "args": {}}}],
        "components": [],
    }
    meta = {
        "name": folder.name,
        "resource_spec": {},
        "min_clients": agreement.job.threshold,
        "deploy_map": {"secfc": ["server", *agreement.sites]},
    }
    files = {
        "meta.json": meta,
        "secfc/config/config_fed_server.json": server,
        "secfc/config/config_fed_client.json": client,
    }
    folder.mkdir(parents=True)
    for name, value in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
