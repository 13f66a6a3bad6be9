"""Files of sites as organisations have them: a job file, and each site's rows and configuration."""

import json
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.organisations import Files

from secfc.agreement.consortium import Member, add_members
from secfc.agreement.job_file import Agreement, read_job
from secfc.agreement.key_files import COORDINATOR_KEY, read_key, write_new_ids_key, write_new_key
from secfc.agreement.signatures import collect, sign_job, signatures_path

_NEED_FLARE = (
    "test_checks.py",
    "test_flare.py",
    "test_flare_deposits.py",
    "test_rehearsal.py",
    "test_flare_refusals.py",
    "test_flare_restart.py",
    "test_flare_tables.py",
    "test_deployment_page.py",
    "test_a_sites_turn.py",
    "test_setting_up.py",
    "test_use_of_kits.py",
    "test_signed_by_all.py",
    "test_standing.py",
)
collect_ignore = [] if find_spec("nvflare") else [*_NEED_FLARE]
"""These need the extra flare."""


class Organisations(Files):
    """Files of some organisations in a folder. All have signed."""

    def __init__(self, folder: Path, rows: list[np.ndarray], *, helpers: int = 0, **job: Any) -> None:
        self.folder, self.rows = folder, rows
        self.names = tuple(f"site-{j}" for j in range(1, len(rows) + 1))
        self.helpers = tuple(f"helper-{j}" for j in range(1, helpers + 1))
        helping = []
        for name in self.helpers:
            helping.append(Member(name=name, key=write_new_key(folder / f"{name}.key").public))
            self.site(name).write_text(
                f'party = "{name}"\njob = "job.toml"\nkey = "{name}.key"\nresults = "results-{name}"\n'
            )
        members = []
        for name, part in zip(self.names, rows, strict=True):
            identity = write_new_key(folder / f"{name}.key")
            members.append(Member(name=name, key=identity.public))
            np.save(folder / f"{name}.npy", part)
            self.configure(name)
        coordinator = Member(name="hub", key=write_new_key(folder / COORDINATOR_KEY).public)
        add_members(folder / "roster.toml", members, coordinator, helping)
        values = {"k": 3, "t": 1, "ell": 1, "seed": 3, "disclosure": "coded"} | job
        pooled = np.concatenate(rows)
        ranges = zip(pooled.min(axis=0).tolist(), pooled.max(axis=0).tolist(), strict=True)
        self.job = folder / "job.toml"
        self.job.write_text(
            'title = "A test"\nroster = "roster.toml"\nexpires = 9999-12-31\nruns = 100\n[clustering]\n'
            + "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items())
            + "[columns]\n"
            + "".join(f"{at} = [{low!r}, {high!r}]\n" for at, (low, high) in enumerate(ranges))
        )
        self.sign(self.job)

    def sign(self, job: Path) -> None:
        agreement = read_job(job)
        signed = [
            sign_job(agreement, name, read_key(self.folder / f"{name}.key"))
            for name in (*self.names, *self.helpers)
        ]
        collect(agreement, signatures_path(job), signed)

    def hide(self, job: Path | None = None) -> bytes:
        """Turn on membership privacy in the job or one like it, with IDs for rows; return the ID key."""
        job = job or self.job
        cap = 2 * sum(map(len, self.rows))
        job.write_text(self.job.read_text().replace("[columns]", f"ids_cap = {cap}\n[columns]"))
        key = write_new_ids_key(self.folder / "ids.key")
        for name, part, ids in zip(self.names, self.rows, self.ids, strict=True):
            header = ",".join(["patient", *map(str, range(part.shape[1]))])
            lines = [",".join([one, *map(repr, row)]) for one, row in zip(ids, part.tolist(), strict=True)]
            (self.folder / f"{name}.csv").write_text("\n".join([header, *lines, ""]))
            self.configure(
                name,
                job=job.name,
                data=f"{name}.csv",
                more='id = "patient"\n',
                first='ids_key = "ids.key"\n',
            )
        self.sign(job)
        return key

    @property
    def ids(self) -> list[list[str]]:
        return [
            [f"{name}/{at}" for at in range(len(part))]
            for name, part in zip(self.names, self.rows, strict=True)
        ]

    def another_job(self) -> str:
        """Make a job that differs in k, signed by all; return its name."""
        path = self.folder / "other.toml"
        path.write_text(self.job.read_text().replace("k = 3", "k = 4"))
        self.sign(path)
        return path.name

    @property
    def agreement(self) -> Agreement:
        return read_job(self.job)

    def configure(
        self,
        name: str,
        *,
        job: str = "job.toml",
        key: str | None = None,
        data: str | None = None,
        more: str = "",
        first: str = "",
    ) -> None:
        """Write a site file; `more` is TOML after the tables, `first` before them."""
        self.site(name).write_text(
            f'party = "{name}"\njob = "{job}"\nkey = "{key or name}.key"\nresults = "results-{name}"\n'
            f'{first}[data]\npath = "{data or f"{name}.npy"}"\n{more}'
        )

    def forget(self, name: str) -> None:
        for folder in self.written(name):
            shutil.rmtree(folder)


def blobs(*counts: int, d: int = 4) -> list[np.ndarray]:
    rng = np.random.default_rng(2)
    return [rng.normal(size=(m, d)) + rng.integers(3, size=(m, 1)) * 4 for m in counts]


@pytest.fixture(scope="session")
def organisations_of() -> type[Organisations]:
    return Organisations


@pytest.fixture(scope="session")
def blobs_of() -> Callable[..., list[np.ndarray]]:
    return blobs


@pytest.fixture
def organisations(tmp_path: Path) -> Callable[..., Organisations]:
    def make(*counts: int, **job: Any) -> Organisations:
        return Organisations(tmp_path, blobs(*counts), **job)

    return make


@pytest.fixture(scope="session")
def set_up_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three hospitals that have asked to take part, and a coordinator that has answered."""
    from support.hospitals import set_up  # noqa: PLC0415 - of the extra flare

    folder = tmp_path_factory.mktemp("consortium")
    set_up(folder)
    return folder


@pytest.fixture
def made(set_up_once: Path, tmp_path: Path) -> Path:
    """A copy of their files that a test may change."""
    return Path(shutil.copytree(set_up_once, tmp_path / "made", symlinks=True))
