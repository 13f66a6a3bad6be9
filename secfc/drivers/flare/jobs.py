"""The folder that a FLARE server takes for an agreed job, and the agreement in it."""

import base64
import binascii
import json
from pathlib import Path

from secfc.agreement.job_file import Agreement, agreement_of, read_job
from secfc.agreement.signatures import check_signed, signatures_path
from secfc.drivers.flare.kits import CLASSES
from secfc.errors import ParameterError

SUMMARY = "secfc.json"  # the summary of a run, in FLARE's folder of the job


def to_argument(agreement: Agreement) -> str:
    """An agreement in a FLARE configuration: in base64, for FLARE takes braces in a text for its own."""
    return base64.b64encode(agreement.to_json().encode()).decode()


def of_argument(text: str) -> Agreement:
    """The agreement that `to_argument` wrote; ParameterError when it is none."""
    try:
        content = base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        raise ParameterError("the FLARE job's agreement: not base64") from None
    return agreement_of(content, name="the FLARE job's agreement")


def export_job(file: Path, folder: Path, *, deadline: float, resumable: bool = False) -> None:
    """Write the folder that a FLARE server takes, which must not exist: configuration only, no code.

    All parties' signatures are beside the job file; AgreementError when a party has not signed.
    """
    agreement = read_job(file)
    check_signed(agreement, signatures_path(file))
    job = agreement.job
    needs_all = job.ids_cap is not None or bool(agreement.opened)
    server = {
        "format_version": 2,
        "workflows": [
            {
                "id": "secfc",
                "path": CLASSES["server"],
                "args": {"agreement": to_argument(agreement), "deadline": deadline, "resumable": resumable},
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
        # With membership privacy, or where data is prepared first, nobody can be left out from the start.
        "min_clients": (job.n if needs_all else job.threshold) + job.helpers,
        "deploy_map": {"secfc": ["server", *agreement.names]},
    }
    files = {
        "meta.json": meta,
        "secfc/config/config_fed_server.json": server,
        "secfc/config/config_fed_client.json": client,
    }
    try:
        folder.mkdir(parents=True)
        for name, value in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise ParameterError(f"{folder}: {error.strerror}") from None
