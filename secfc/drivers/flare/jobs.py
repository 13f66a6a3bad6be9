"""The folder that a FLARE server takes for an agreed job. The server reads the job file itself."""

import base64
import binascii
from pathlib import Path

from secfc.agreement.job_file import Agreement, read_job
from secfc.agreement.signatures import check_signed, collect, read_signatures, signatures_path, standing
from secfc.agreement.site_file import read_site
from secfc.drivers.calls.coordinator_log import agreement_of_run
from secfc.drivers.flare.kits import CLASSES
from secfc.errors import ParameterError
from secfc.protocol.job.cases import Union
from secfc.tables.outputs import write_json
from secfc.tables.toml_file import MAX_BYTES, read_text

LOGS = "secfc-logs"  # the coordinator's folder of logs, in the server's kit
SUMMARY = "secfc.json"  # the summary of a run, in FLARE's folder of the job


def job_of(argument: str) -> Path:
    """The job file that `export_job` named. ParameterError for any other text."""
    return Path(_decoded(argument, "job file"))


def take_signatures(site_file: Path, text: object) -> None:
    """Add the signatures from a FLARE job to those in the folder of a site's job, unless it has all.

    The site's own roster verifies each. Nothing is added if one is wrong.
    """
    job = read_site(site_file.resolve()).job
    agreement, path = read_job(job), signatures_path(job)
    if set(standing(agreement, read_signatures(path)).values()) == {"signed"}:
        return
    if not isinstance(text, str) or len(text) > 2 * MAX_BYTES:
        raise ParameterError(f"the FLARE job's signatures: a text of at most {2 * MAX_BYTES} is needed")
    collect(agreement, path, read_signatures(path, _decoded(text, "signatures")))


def least_sites(agreement: Agreement) -> int:
    """How many sites, including helpers, must be there when a job begins."""
    job = agreement.job
    needs_all = isinstance(job.rows, Union) or bool(agreement.opened)
    return (job.n if needs_all else job.threshold) + job.helpers


def _encoded(text: str) -> str:
    """Encode in base64, because FLARE interprets braces in a text."""
    return base64.b64encode(text.encode()).decode()


def _decoded(text: str, what: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        raise ParameterError(f"the FLARE job's {what}: not base64") from None


def export_job(file: Path, folder: Path, *, deadline: float, kit: Path | None = None) -> None:
    """Write the new folder for a FLARE server on this machine. It has configuration only, no code.

    Sites get all parties' signatures with the job. With the server's `kit` the run is resumable: an
    interrupted run of the job, whose log is in the kit, goes on with the deposits with which it began.
    """
    signed = signatures_path(file)
    agreement = agreement_of_run(read_job(file), None if kit is None else kit / LOGS)
    check_signed(agreement, signed)
    given = {"job": _encoded(str(file.resolve())), "deadline": deadline, "resumable": kit is not None}
    coordinator = {"id": "secfc", "path": CLASSES["server"], "args": given}
    server = {"format_version": 2, "workflows": [coordinator], "components": []}
    site = {"path": CLASSES["client"], "args": {"signatures": _encoded(read_text(signed))}}
    client = {"format_version": 2, "executors": [{"tasks": ["*"], "executor": site}], "components": []}
    meta = {
        "name": folder.name,
        "resource_spec": {},
        "min_clients": least_sites(agreement),
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
            write_json(path, value)
    except OSError as error:
        raise ParameterError(f"{folder}: {error.strerror}") from None
