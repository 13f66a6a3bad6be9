"""A run of a consortium's job: the coordinator's side, with FLARE's server, and a site's, with its client."""

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from secfc.agreement.job_file import read_job
from secfc.agreement.keys import COORDINATOR_KEY, read_key
from secfc.agreement.signatures import read_signatures, signatures_path, standing
from secfc.agreement.site_file import Site
from secfc.agreement.statement import statement_of
from secfc.agreement.toml_file import read_json
from secfc.drivers.flare.jobs import export_job
from secfc.drivers.flare.kits import SERVER
from secfc.drivers.flare.processes import KitProcess, ServerProcess
from secfc.drivers.flare.setting_up import KIT
from secfc.drivers.past_runs import STATEMENT
from secfc.errors import AgreementError, ParameterError, PartyError

_POLL_SECONDS = 1.0
_END_SECONDS = 60.0  # how long FLARE may take to end a job whose summary is written

Say = Callable[[str], None]


def run_server(job: Path, *, deadline: float, timeout: float, resumable: bool, say: Say) -> str:
    """Start the server, wait for all sites, run the job that all have signed, and stop; the summary's text.

    The kits are in the job's folder. Raises AgreementError when a party has not signed, or the key there is
    not that of the roster; PartyError when sites are missing, or the job has not ended, after `timeout`
    seconds.
    """
    agreement, folder = read_job(job), job.absolute().parent
    key = folder / COORDINATOR_KEY
    agreement.consortium.check_coordinator(read_key(key).public, file=key)
    server = ServerProcess(_kit(folder / SERVER), _kit(folder / "admin"))
    until = time.monotonic() + timeout
    with tempfile.TemporaryDirectory(prefix="secfc-job-") as scratch:
        export_job(job, Path(scratch) / "job", deadline=deadline, resumable=resumable)
        server.start()
        try:
            _wait_for(agreement.names, server, until, say)
            number, written = server.run(Path(scratch) / "job", timeout=until - time.monotonic())
            if written is None:
                reason = server.status(number)
                raise PartyError(f"FLARE ended the job before the coordinator wrote a summary: {reason}")
            server.ended(number, timeout=_END_SECONDS)
            return written.read_text(encoding="utf-8")
        finally:
            server.stop()


def _wait_for(names: Sequence[str], server: ServerProcess, until: float, say: Say) -> None:
    """Until the server knows all sites."""
    known: set[str] = set()
    say(f"waiting for {', '.join(names)}")
    while known != set(names):
        if not server.alive:
            raise PartyError(f"the FLARE server has ended; {server.console} says why")
        if time.monotonic() > until:
            missing = ", ".join(name for name in names if name not in known)
            raise PartyError(f"sites that did not come: {missing}")
        found = server.known(names)
        for name in sorted(found - known):
            say(f"{name} is there")
        known = found
        time.sleep(_POLL_SECONDS)


def run_site(site: Site, *, say: Say) -> Path:
    """Take part in a run of the site's job; the run's folder among its results, once the run has ended here.

    A process of this site that is killed, or whose run is interrupted, goes on when this is called again, if
    the site has a storage. Raises AgreementError when the site has not signed the job, and PartyError when
    the run ended here before anything was shared.
    """
    agreement = read_job(site.job)
    state = standing(agreement, read_signatures(signatures_path(site.job))).get(site.party)
    if state != "signed":
        raise AgreementError(f"{site.party}: {state or 'no party of the job'}; see secfc job sign")
    process = KitProcess(_kit(site.job.parent / KIT), site.party)
    before = _ended(site.results)
    process.start()
    worked = False
    try:
        say(f"{site.party}: waiting for the coordinator; what FLARE says is in {process.console}")
        while True:
            time.sleep(_POLL_SECONDS)
            works = process.works
            if works and not worked:
                say(f"{site.party}: the job has come")
            if not works and (new := _ended(site.results) - before):
                return new.pop()
            if worked and not works and site.storage is None:
                raise PartyError(
                    f"{site.party}: the run ended before anything was shared; see {process.console}"
                )
            if not process.alive:
                raise PartyError(f"{site.party}: FLARE's client has ended; {process.console} says why")
            worked = works
    finally:
        process.stop()


def ending_of(folder: Path) -> str:
    """How a run ended for a site, as its statement in the run's folder says."""
    return statement_of(read_json(folder / STATEMENT), name=str(folder)).statement.ended


def _ended(results: Path) -> set[Path]:
    return {path.parent for path in results.glob(f"*/{STATEMENT}")}


def _kit(folder: Path) -> Path:
    if not (folder / "startup").is_dir():
        raise ParameterError(f"{folder}: no startup kit; the job file of a consortium's folder is needed")
    return folder
