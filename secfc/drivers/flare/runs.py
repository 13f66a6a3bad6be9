"""A run of a consortium's job: the coordinator's side, with FLARE's server, and a site's, with its client."""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from secfc.agreement.audit import Finding
from secfc.agreement.job_file import read_job
from secfc.agreement.site_file import Site, read_site
from secfc.agreement.statement import statement_of
from secfc.drivers.flare.checks import (
    check_all,
    coordinator_is_ready,
    look_at_coordinator,
    look_at_site,
    site_is_ready,
)
from secfc.drivers.flare.flare_processes import KitProcess, ServerProcess, in_use, only_one
from secfc.drivers.flare.jobs import export_job, least_sites
from secfc.drivers.flare.kits import SERVER, use_site_file
from secfc.drivers.flare.run_state import STANDING, Contact, contacts, read_standing
from secfc.drivers.flare.setting_up import ADMIN_KIT, KIT
from secfc.drivers.sites.past_runs import STATEMENT
from secfc.errors import ParameterError, PartyError
from secfc.errors.codes import Code
from secfc.tables.toml_file import read_json

_POLL_SECONDS = 1.0
_END_SECONDS = 60.0  # for FLARE to end a job whose summary is written
_SAY_SECONDS = 10.0  # between two lines about the state of the run

Say = Callable[[str], None]


class Telling:
    """Reports the state of the run when it has changed, with a minimum interval."""

    def __init__(self, kit: Path, say: Say) -> None:
        self._kit, self._say, self._said, self._next = kit, say, "", 0.0
        (kit / STANDING).unlink(missing_ok=True)  # of an earlier run

    def __call__(self) -> None:
        """Report the state if it is new."""
        told = read_standing(self._kit)
        if told is not None and told[1] != self._said and time.monotonic() >= self._next:
            self._said, self._next = told[1], time.monotonic() + _SAY_SECONDS
            self._say(told[1])


def run_server(
    job: Path,
    *,
    deadline: float,
    wait: float,
    without_absent: bool,
    timeout: float,
    resumable: bool,
    say: Say,
) -> str:
    """Start the server, wait for sites, run the signed job, and stop. Return the summary's text.

    The kits are in the job's folder. After `wait` seconds the job runs without absent sites, if
    `without_absent` is set and enough are there.
    """
    agreement, folder = read_job(job), job.absolute().parent
    kit, admin = _kit(folder / SERVER), _kit(folder / ADMIN_KIT)
    check_all(coordinator_is_ready(job))
    server = ServerProcess(kit, admin)
    until = time.monotonic() + timeout
    least = least_sites(agreement) if without_absent else len(agreement.names)
    with only_one(server.kit), tempfile.TemporaryDirectory(prefix="secfc-job-") as scratch:
        export_job(job, Path(scratch) / "job", deadline=deadline, kit=server.kit if resumable else None)
        server.start()
        try:
            _wait_for(agreement.names, server, least=least, seconds=min(wait, timeout), say=say)
            number, written = server.run(
                Path(scratch) / "job",
                begin=deadline,
                timeout=until - time.monotonic(),
                each=Telling(server.kit, say),
            )
            if written is None:
                reason = server.status(number)
                raise PartyError(f"FLARE ended the job before the coordinator wrote a summary: {reason}")
            say(f"the run has ended; FLARE has {_END_SECONDS:.0f} s to end the job at the sites")
            try:
                server.ended(number, timeout=_END_SECONDS)
            except KeyboardInterrupt:
                # There is a result, and jobs that FLARE has not ended go on at the sites.
                server.ended(number, timeout=_END_SECONDS)
            return written.read_text(encoding="utf-8")
        finally:
            server.stop()


def _wait_for(names: Sequence[str], server: ServerProcess, *, least: int, seconds: float, say: Say) -> None:
    """Wait until the server knows all sites. After `seconds` it must know at least `least`."""
    known: set[str] = set()
    until = time.monotonic() + seconds
    then = "the run is aborted"
    if least < len(names):
        then = f"the run begins without the missing sites, if {least} are connected"
    at = datetime.fromtimestamp(time.time() + seconds).astimezone().isoformat(sep=" ", timespec="minutes")
    say(f"waiting for {', '.join(names)} until {at}; after that {then}")
    while known != set(names):
        server.check_alive()
        missing = [name for name in names if name not in known]
        if time.monotonic() > until:
            if len(known) < least:
                text = f"these sites did not connect: {', '.join(missing)}"
                raise PartyError(text, code=Code.TIMEOUT)
            say(f"the run begins without {', '.join(missing)}")
            return
        found = server.known(names)
        left = ", ".join(name for name in names if name not in found)
        for name in sorted(found ^ known):
            how = "connected" if name in found else "not connected any more"
            say(f"{name} is {how}" + (f"; waiting for {left}" if left else ""))
        known = found
        time.sleep(_POLL_SECONDS)


def run_site(site: Site, *, deadline: float, timeout: float, say: Say) -> Path:
    """Take part in a run of the site's job until it has ended here. Return the run's folder of results.

    From now on the kit uses this site file. With a storage, another call continues after the site's process
    was killed or its run interrupted. A coordinator that was connected may be away for `deadline` seconds.
    """
    kit = _kit(site.job.parent / KIT)
    check_all(site_is_ready(site, kit))
    with only_one(kit):
        use_site_file(kit, site.path, home=kit)
        return _take_part(site, KitProcess(kit, site.party), deadline=deadline, timeout=timeout, say=say)


def _take_part(site: Site, process: KitProcess, *, deadline: float, timeout: float, say: Say) -> Path:
    """The part of `run_site` that holds the lock of the kit."""
    before = _ended(site.results)
    tell, until = Telling(process.kit, lambda text: say(f"{site.party}: {text}")), time.monotonic() + timeout
    process.start()
    worked, there = False, time.monotonic()
    try:
        say(f"{site.party}: waiting for the coordinator; FLARE's output is in {process.console}")
        while True:
            time.sleep(_POLL_SECONDS)
            works = process.works
            if works and not worked:
                say(f"{site.party}: the job has arrived")
            tell()
            coordinator = contacts(process.said()).get(SERVER, Contact(True, ""))
            if coordinator.connected:
                there = time.monotonic()
            away = not coordinator.connected and time.monotonic() - there > deadline
            if (away or not works) and (new := _ended(site.results) - before):
                return new.pop()
            if worked and not works and site.storage is None:
                last = read_standing(process.kit)
                raise PartyError(
                    f"{site.party}: the job ended here without a statement{f' ({last[1]})' if last else ''}; "
                    f"{process.console} says why"
                )
            process.check_alive()
            if away:
                text = f"{site.party}: the coordinator has not been connected since {coordinator.since}"
                raise PartyError(text, code=Code.PARTY_VANISHED)
            if time.monotonic() > until:
                text = f"{site.party}: the run had not ended after {timeout:.0f} s"
                raise PartyError(text, code=Code.TIMEOUT)
            worked = works
    except KeyboardInterrupt:
        if new := _ended(site.results) - before:
            return new.pop()
        raise
    finally:
        process.stop()


def look_at(file: Path) -> Iterator[Finding]:
    """Everything that can be checked before a run, from a site file or a coordinator's job file."""
    folder = file.absolute().parent
    if (folder / SERVER).is_dir():
        return look_at_coordinator(file, _kit(folder / SERVER), _kit(folder / ADMIN_KIT))
    site = read_site(file)
    return look_at_site(site, _kit(site.job.parent / KIT))


@dataclass(frozen=True, kw_only=True)
class Status:
    """What is known of a kit: its last run, who is connected, and the command that comes next."""

    name: str
    running: bool  # whether a command uses the kit
    state: str | None  # of the run; None if none was begun
    since: str | None
    contacts: Mapping[str, Contact]  # of the other sides, while it is running
    next: str


def status_of(file: Path) -> tuple[KitProcess, Status]:
    """The FLARE process of a site file or of a coordinator's job file, and its status."""
    folder = file.absolute().parent
    if (folder / SERVER).is_dir():
        process, others = KitProcess(_kit(folder / SERVER), SERVER), read_job(file).names
        begin = f"secfc consortium run {file} SIGNATURES..."
    else:
        site = read_site(file)
        process, others = KitProcess(_kit(site.job.parent / KIT), site.party), (SERVER,)
        begin = f"secfc consortium start {file}"
    since, state = read_standing(process.kit) or (None, None)
    running = in_use(process.kit)
    found = contacts(process.said()) if running else {}
    known = {name: found.get(name, Contact(False, "")) for name in others} if running else {}
    missing = [name for name, one in known.items() if not one.connected]
    then = f"secfc consortium check {file}" if missing else f"secfc consortium logs {file}"
    return process, Status(
        name=process.name,
        running=running,
        state=state,
        since=since,
        contacts=known,
        next=then if running else begin,
    )


def ending_of(folder: Path) -> str:
    """How a run ended for a site, from the statement in the run's folder."""
    return statement_of(read_json(folder / STATEMENT), name=str(folder)).statement.ended


def _ended(results: Path) -> set[Path]:
    return {path.parent for path in results.glob(f"*/{STATEMENT}")}


def _kit(folder: Path) -> Path:
    if not (folder / "startup").is_dir():
        raise ParameterError(f"{folder}: no startup kit; the job file of a consortium's folder is needed")
    return folder
