"""`secfc consortium`: a run across organisations on NVIDIA FLARE. docs/deployment.md explains each step."""

import shutil
import tempfile
import threading
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secfc.cli.agreed.job_command import (
    CoordinatorKey,
    OwnSite,
    Report,
    SiteFiles,
    SummaryFile,
    collect_files,
    new_summary,
    show_checked,
    show_findings,
    write_page,
)
from secfc.cli.agreed.keys_command import read_out
from secfc.cli.endings import scripted
from secfc.cli.render import console, say
from secfc.errors import ParameterError, PartyError, missing, need_unix
from secfc.errors.escaping import shown
from secfc.tables.outputs import keep_earlier, replace_text

if TYPE_CHECKING:
    from secfc.agreement.job_file import Agreement
    from secfc.drivers.flare.runs import Status

consortium = typer.Typer(
    help="Runs across organisations on NVIDIA FLARE, from the first keys to a signed result.",
    no_args_is_help=True,
)

_DEADLINE = 600.0
_TIMEOUT = 86400.0
_WAIT = 3600.0
_SITE = Path("site.toml")

Deadline = Annotated[float, typer.Option(help="Seconds that a site has to answer a call.")]
Timeout = Annotated[float, typer.Option(help="Seconds after which the whole job is aborted.")]
Wait = Annotated[float, typer.Option(help="Seconds to wait for sites before the run begins.")]
WithoutAbsent = Annotated[
    bool,
    typer.Option(
        "--without-absent",
        help="After --wait, begin without the missing sites if enough sites are connected; rows of missing "
        "sites are not clustered. By default the run is then aborted and does not count.",
    ),
]
OwnFile = Annotated[
    Path,
    typer.Argument(help="The site file of a site, or the job file in the coordinator's consortium folder."),
]
Resumable = Annotated[
    bool,
    typer.Option(
        "--resumable",
        help="The coordinator keeps a log in the server's kit, and the same command continues an interrupted "
        "run. Sites keep their logs in the storage of their site files.",
    ),
]


def _need_flare(**seconds: float) -> None:
    """Raise ParameterError if FLARE cannot be used, or for options that are no numbers of seconds."""
    need_unix("secfc consortium")
    if find_spec("nvflare") is None:
        raise missing("NVIDIA FLARE", "this command", "flare")
    for name, given in seconds.items():
        if not 0 <= given < threading.TIMEOUT_MAX:  # also refuses NaN
            raise ParameterError(f"--{name}: a number of seconds, 0 or more, is needed")


@consortium.command(epilog="Example: secfc consortium request hospital-a --rows rows.csv --id patient")
@scripted
def request(
    name: Annotated[str, typer.Argument(help="Short name: letters, digits, - and _.")],
    rows: Annotated[
        str | None, typer.Option(help="The file of your rows; write a database into site.toml later.")
    ] = None,
    id_column: Annotated[str | None, typer.Option("--id", help="Column of row IDs.")] = None,
    helper: Annotated[
        bool, typer.Option("--helper", help="You have no rows; you compare the rows of others.")
    ] = False,
    committee: Annotated[
        bool, typer.Option("--committee", help="You have no rows; owners deposit theirs with you.")
    ] = False,
    organisation: Annotated[str, typer.Option(help="Full name of the organisation.")] = "",
    folder: Annotated[Path, typer.Option(help="Folder for the files; by default the current one.")] = Path(),
) -> dict[str, Any]:
    """A site's first step: make your keys, your site file, and the request to hand to the coordinator."""
    _need_flare()
    from secfc.drivers.flare.setting_up import request

    if helper + committee + (rows is not None) != 1:
        raise ParameterError("--rows: exactly one of --rows, --helper and --committee is needed")
    data = None if rows is None else {"path": rows} | ({} if id_column is None else {"id": id_column})
    handed = request(folder, name, organisation=organisation, data=data, helper=helper)
    say(f"{handed}: send it to the coordinator; it contains no secret")
    say(f"{folder / _SITE}: keep it; write into it where your rows are and your limits")
    return {"request": str(handed), "site": str(folder / _SITE)}


@consortium.command(
    epilog="Example: secfc consortium new job.toml a.request b.request c.request --host server.example.com"
)
@scripted
def new(
    job: Annotated[Path, typer.Argument(help="The job file; its roster must be roster.toml.")],
    requests: Annotated[
        list[Path], typer.Argument(help="Files of requests, in the order of client numbers.")
    ],
    host: Annotated[str, typer.Option(help="Host name or address at which sites reach this machine.")],
    port: Annotated[
        int, typer.Option(help="The port at which sites reach this machine; no other is needed.")
    ] = 8002,
    project: Annotated[str, typer.Option(help="Name of the project in FLARE.")] = "secfc",
    out: Annotated[Path, typer.Option("--out", help="Folder for the files; must be new or empty.")] = Path(
        "consortium"
    ),
) -> dict[str, Any]:
    """The coordinator's first step: keys, certificates, and the file to hand to all sites."""
    _need_flare()
    from secfc.drivers.flare.provision import Address
    from secfc.drivers.flare.setting_up import CONSORTIUM, found

    address = Address(project=project, host=host, port=port)
    agreement = found(job, requests, out, address=address)
    say(f"{out / CONSORTIUM}: send it to every site; it contains no secret")
    say(f"{out}: keep the other files; they contain private keys")
    _show_words(agreement)
    return {"consortium": str(out / CONSORTIUM), "words": agreement.consortium.words}


@consortium.command(epilog="Example: secfc consortium accept consortium.toml")
@scripted
def accept(
    file: Annotated[Path, typer.Argument(help="The file that the coordinator sent.")],
    site: Annotated[Path, typer.Option(help="Your site file.")] = _SITE,
) -> dict[str, Any]:
    """A site's second step: take job, roster and certificate, and check your rows; then compare the words."""
    _need_flare()
    from secfc.agreement.check import check_site
    from secfc.agreement.job_file import read_job
    from secfc.agreement.site_file import read_site
    from secfc.drivers.flare.setting_up import accept

    own = read_site(site)
    accept(file, own)
    say(f"{own.job.parent}: the job, its roster and your startup kit")
    agreement = read_job(own.job)
    _show_words(agreement)
    console().print(
        "compare these words with the other sites, over a channel that the coordinator does not control"
    )
    checked = show_checked(own, check_site(own))
    say(f"Next, if everything is as agreed: secfc job show {own.job}, secfc job sign {site}")
    return checked | {"job": str(own.job), "words": agreement.consortium.words}


@consortium.command(epilog="Example: secfc consortium start site.toml")
@scripted
def start(
    site: OwnSite = _SITE,
    deadline: Annotated[
        float, typer.Option(help="Seconds that the coordinator may be away, once it was connected.")
    ] = _DEADLINE,
    timeout: Timeout = _TIMEOUT,
) -> dict[str, Any]:
    """A site's last step: wait for the coordinator, and take part in one run of the job."""
    _need_flare(deadline=deadline, timeout=timeout)
    from secfc.agreement.job_file import read_job
    from secfc.agreement.public_errors import COMPLETE, error_of_ending
    from secfc.agreement.site_file import read_site
    from secfc.drivers.flare.runs import ending_of, run_site

    own = read_site(site.resolve())  # as the job does
    folder = run_site(own, deadline=deadline, timeout=timeout, say=say)
    ended = ending_of(folder)
    if ended != COMPLETE:
        say(f"{folder}: the statement")
        raise error_of_ending(ended, names=read_job(own.job).names, before=f"{own.party}: ")
    say(f"{folder}: labels, and the signed statement")
    return {"results": str(folder)}


@consortium.command(
    epilog="Example: secfc consortium run consortium/job.toml a.signatures b.signatures c.signatures"
)
@scripted
def run(
    job: Annotated[Path, typer.Argument(help="The job file in the consortium's folder.")],
    signatures: Annotated[
        list[Path] | None, typer.Argument(help="Files of signatures that sites have sent.")
    ] = None,
    summary: SummaryFile = None,
    report: Report = None,
    wait: Wait = _WAIT,
    without_absent: WithoutAbsent = False,
    deadline: Deadline = _DEADLINE,
    timeout: Timeout = _TIMEOUT,
    resumable: Resumable = False,
) -> dict[str, Any]:
    """The coordinator's last step: start the server, wait for the sites, run the job, audit it."""
    _need_flare(wait=wait, deadline=deadline, timeout=timeout)
    from secfc.agreement.audit import audit
    from secfc.agreement.job_file import read_job
    from secfc.agreement.statement import read_summary
    from secfc.drivers.flare.runs import run_server

    path, agreement = new_summary(job, summary, report), read_job(job)
    if signatures:
        collect_files(job, signatures)
    text = run_server(
        job,
        deadline=deadline,
        wait=wait,
        without_absent=without_absent,
        timeout=timeout,
        resumable=resumable,
        say=say,
    )
    _finish(agreement, job, path, report, text)
    told = read_summary(path)
    lost = told.coordinator["lost"] if told.statements else ()  # without any statement, nothing is confirmed
    return show_findings(audit(told, agreement), lost=lost, more={"summary": str(path), "lost": dict(lost)})


@consortium.command(epilog="Example: secfc consortium check site.toml")
@scripted
def check(file: OwnFile = _SITE) -> dict[str, Any]:
    """Check all that a run needs: files, rows, space, lock, certificates, and the way to the coordinator.

    Each finding says what to do. The status is that of the first that does not hold.
    """
    _need_flare()
    from secfc.drivers.flare.runs import look_at

    return show_findings(look_at(file))


@consortium.command(epilog="Example: secfc consortium status site.toml")
@scripted
def status(file: OwnFile = _SITE) -> dict[str, Any]:
    """Show the state of the run, who is connected and who is waited for since when, and what comes next."""
    _need_flare()
    from secfc.drivers.flare.runs import status_of

    return _show_status(status_of(file)[1])


@consortium.command(epilog="Example: secfc consortium logs site.toml --lines 100")
@scripted
def logs(
    file: OwnFile = _SITE,
    lines: Annotated[int, typer.Option(min=1, help="Number of lines, from the end.")] = 50,
) -> dict[str, Any]:
    """Show what FLARE and secfc logged in the last run. Only for you, because it may quote your data."""
    _need_flare()
    from secfc.drivers.flare.runs import status_of

    process, found = status_of(file)
    said = process.said().splitlines()[-lines:]
    for line in said:
        say(shown(line))
    say(f"{process.console}")
    return _show_status(found) | {"console": str(process.console), "lines": said}


@consortium.command(epilog="Example: secfc consortium rehearse job.toml north.toml south.toml west.toml")
@scripted
def rehearse(
    job: Annotated[Path, typer.Argument(help="The job file that all have signed; signatures are beside it.")],
    sites: SiteFiles,
    summary: SummaryFile = None,
    report: Report = None,
    key: CoordinatorKey = None,
    workspace: Annotated[
        Path | None,
        typer.Option(
            help="Folder for kits and logs; that of an earlier rehearsal gets another name. By default they "
            "are deleted after a rehearsal that ended."
        ),
    ] = None,
    deadline: Deadline = _DEADLINE,
    timeout: Timeout = _TIMEOUT,
) -> dict[str, Any]:
    """Run a job on this machine with a real FLARE server, a process per site and mutual TLS.

    Labels and signed statements go to the paths in the site files, the summary beside the job.
    """
    from secfc.agreement.job_file import read_job
    from secfc.agreement.key_files import COORDINATOR_KEY
    from secfc.drivers.sites.agreed_run import in_order

    _need_flare(deadline=deadline, timeout=timeout)
    from secfc.drivers.flare.federation import Federation
    from secfc.drivers.flare.flare_processes import in_use, only_one, used
    from secfc.drivers.flare.jobs import export_job
    from secfc.drivers.flare.kits import SERVER
    from secfc.drivers.flare.runs import Telling

    agreement = read_job(job)
    files = in_order(agreement, sites)
    path = new_summary(job, summary, report)
    if workspace is not None and (workspace / SERVER).is_dir():
        if in_use(workspace / SERVER):
            raise used(workspace / SERVER)
        keep_earlier(workspace)
    elif workspace is not None and workspace.exists():
        raise ParameterError(f"--workspace: {workspace} already exists, and is not that of a rehearsal")
    scratch = Path(tempfile.mkdtemp(prefix="secfc-flare-"))
    folder = workspace or scratch / "workspace"
    kept = False
    try:
        export_job(job, scratch / "job", deadline=deadline)
        with Federation(folder, agreement.names) as federation, only_one(federation.server.kit):
            kept = True
            for name, file in zip(agreement.names, files, strict=True):
                federation.join(name, file)
            federation.give_key(key or job.with_name(COORDINATOR_KEY))
            federation.start()
            tell = Telling(federation.server.kit, say)

            def look() -> None:
                tell()
                federation.check_alive()

            number, written = federation.run(scratch / "job", timeout=timeout, each=look)
            if written is None:
                reason = federation.status(number)
                raise PartyError(f"FLARE ended the job before the coordinator wrote a summary: {reason}")
            text = written.read_text(encoding="utf-8")
        _finish(agreement, job, path, report, text)
        kept = False
        return {"summary": str(path)}
    finally:
        if kept:
            say(f"kits and logs are kept in {folder}")
        if not kept or workspace is not None:
            shutil.rmtree(scratch)


def _finish(agreement: "Agreement", job: Path, path: Path, report: Path | None, text: str) -> None:
    """Write the summary and the page of a run, and print how it ended."""
    from secfc.agreement.public_errors import COMPLETE, error_of_ending, named
    from secfc.agreement.statement import read_summary

    keep_earlier(path)
    replace_text(path, text)
    told, names = read_summary(path).coordinator, agreement.names
    if told["interrupted"]:
        path.unlink()
        say("the run was interrupted; the same command continues it")
    else:
        write_page(report, path, agreement)
    if told["ended"] != COMPLETE or told["interrupted"]:
        raise error_of_ending(told["ended"], names=names)
    for name, why in told["lost"].items():
        say(f"{shown(name)} was lost: {shown(named(why, names))}")
    end = "converged" if told["result"]["converged"] else "stopped at max_iter"
    console().print(f"{end} after {told['result']['n_iter']} iterations")
    say(f"{path}: secfc audit {path} --job {job}")


def _show_status(found: "Status") -> dict[str, Any]:
    name = found.name
    if found.state is not None:
        say(f"{name}: {found.state} ({found.since})")
    if found.running:
        say(f"{name}: its processes are running" if found.state else f"{name}: it waits for a job")
    else:
        say(f"{name}: none of its processes is running" if found.state else f"{name}: no run was started")
    for other, one in found.contacts.items():
        how = "connected" if one.connected else "not connected"
        say(f"  {other}: {how}{f' since {one.since}' if one.since else ', not once'}")
    say(f"Next: {found.next}")
    return asdict(found)


def _show_words(agreement: "Agreement") -> None:
    console().print(f"words of the roster, {len(agreement.names)} parties and the coordinator:")
    read_out(agreement.consortium.words)
