"""`secfc job` and `secfc audit`: the agreement, its signatures, its runs, and the statements about them."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from secfc.api.progress_bar import progress_bar
from secfc.cli.agreed.deposit_command import named_owners, print_lines
from secfc.cli.command_options import Deadline
from secfc.cli.endings import FAILED, Unsound, scripted, status_of, told_which_log
from secfc.cli.render import console, cost_table, faults_line, our_warnings, say, threshold_line
from secfc.errors import ParameterError, SecFCError
from secfc.protocol.job.cases import Deposited, Predict, Union
from secfc.protocol.job.job_options import as_options
from secfc.tables.outputs import check_file, check_report, keep_earlier

if TYPE_CHECKING:
    from secfc.agreement.audit import Finding
    from secfc.agreement.check import Checked
    from secfc.agreement.job_file import Agreement
    from secfc.agreement.site_file import Site
    from secfc.agreement.statement import SignedStatement
    from secfc.protocol.job.job import Job

job = typer.Typer(
    help="A job that organisations agree on: show, check, sign, collect, verify, run.",
    no_args_is_help=True,
)

JobFile = Annotated[Path, typer.Argument(help="The job file.")]
SiteFiles = Annotated[list[Path], typer.Argument(help="Site files of all parties, in any order.")]
SummaryFile = Annotated[Path | None, typer.Option(help="The summary to write; by default beside the job.")]
OwnSite = Annotated[
    Path, typer.Argument(help="Your site file, with the job, your key, your rows and your limits.")
]
Report = Annotated[
    Path | None, typer.Option(help="Also write one self-contained HTML page of the run; a new file.")
]
CoordinatorKey = Annotated[
    Path | None,
    typer.Option("--key", help="The coordinator's private key; by default coordinator.key beside the job."),
]


@job.command(
    epilog="Example: secfc job new job.toml --title Readmissions -k 3 --column age=0:120 --column bmi=10:60"
)
@scripted
def new(
    file: Annotated[Path, typer.Argument(help="The job file to write; must not exist.")],
    title: Annotated[str, typer.Option(prompt="Title", help="For people.")],
    k: Annotated[int, typer.Option("-k", "--clusters", prompt="Clusters", help="Clusters.")],
    columns: Annotated[
        list[str] | None,
        typer.Option("--column", help="NAME=LOW:HIGH, a column and the range of its values; repeatable."),
    ] = None,
    prepare: Annotated[
        str | None,
        typer.Option(help="Instead of --column: the file of a schema, such as schema.toml, beside the job."),
    ] = None,
    t: Annotated[
        int, typer.Option("--t", help="Number of parties that learn nothing even if they collude.")
    ] = 1,
    ell: Annotated[int, typer.Option("--ell", help="Number of segments of a row.")] = 1,
    seed: Annotated[
        int | None,
        typer.Option(help="Seed of public first sets. Who proposes it chooses them; without it a coin does."),
    ] = None,
    days: Annotated[int, typer.Option(help="Days until the job expires.")] = 90,
) -> dict[str, Any]:
    """Write a job file from answers or flags. The file can say more (docs/agreeing-on-a-job.md)."""
    from secfc.agreement.job_draft import write_job

    if not columns and prepare is None:
        columns = typer.prompt("Columns and ranges, such as age=0:120 bmi=10:60").split()
    write_job(
        file, title=title, columns=columns or [], prepare=prepare, days=days, k=k, t=t, ell=ell, seed=seed
    )
    say(f"{file}: read it, and agree on its other settings")
    return {"job": str(file)}


@job.command(epilog="Example: secfc job show job.toml")
@scripted
def show(file: JobFile) -> dict[str, Any]:
    """Show what a job file means: parties, parameters, threshold, bound, digest, and who has signed it."""
    from secfc.agreement.job_file import read_job
    from secfc.agreement.signatures import read_signatures, signatures_path, standing

    agreement, out = read_job(file), console()
    task, method = agreement.job, agreement.job.method
    out.print(agreement.title)
    out.print(threshold_line(task))
    table = Table(show_header=False)
    table.add_column()
    table.add_column(overflow="fold")
    most_rounds = agreement.limits.most_rounds or task.max_rounds
    few = (
        f", until an iteration changes fewer than {method.tol_moved!r} of all labels"
        if method.tol_moved
        else ""
    )
    secret = method.init == "k-means++"
    start = f"{method.init}, {method.n_init} of them, {'drawn in secret' if secret else f'seed {task.seed}'}"
    if isinstance(method, Predict):
        start = (
            "a prediction: rows keep the labels of the sites; rows without a label get the label of the "
            "nearest mean"
        )
    hidden = "not hidden: everybody learns which rows are whose"
    if isinstance(task.rows, Union):
        hidden = f"hidden among at most {task.rows.cap} rows"
    recipients, comparers = (
        ", ".join(agreement.names[party - 1] for party in parties)
        for parties in (task.opened.to, task.comparers)
    )
    overlaps = "how their partitions overlap is sent to every client"
    spreads = f"revealed to the same parties, for clusters with at least {task.opened.spread} rows of others"
    columns = [f"{one} {low:g} to {high:g}" for one, (low, high) in agreement.columns.items()]
    exact = "" if task.step is None else f"multiples of {task.step!r}, exact: "
    for name, value in (
        ("digest", agreement.digest.hex()),
        ("expires", f"{agreement.expires.isoformat()}, or after {agreement.runs} runs"),
        ("clusters", f"k = {', '.join(map(str, method.compared or (task.k,)))}"),
        ("start", start),
        (
            "most iterations",
            f"{method.max_iter} of a start{few}; at most {most_rounds} rounds are answered",
        ),
        ("smallest set", f"{agreement.limits.smallest_set} rows"),
        ("disclosure", task.disclosure.name),
        ("who compares", comparers and f"{comparers}; no two of them may collude"),
        ("centres revealed to", recipients or "nobody"),
        ("noise on centres", _noise(task)),
        ("spreads", "not revealed" if task.opened.spread is None else spreads),
        ("weights", "of every row, sent to everybody" if task.rows.weighted else "none"),
        ("inertia", "sent to everybody" if task.tells_inertia else "not revealed"),
        ("resamples", f"{method.resamples}; {overlaps}" if method.resamples else ""),
        ("membership", hidden),
        *_owners(agreement),
        *_preparation(agreement),
        ("described by cluster", _described(agreement)),
        ("precision", f"{exact}{task.bits} bits of the bound on a row's norm, {task.bound!r}"),
        ("columns", f"{task.d}: {', '.join(columns)}"),
    ):
        if value:
            table.add_row(name, value)
    out.print(table)
    warning = task.privacy_warning()
    if warning is not None:
        out.print(f"note: {warning}")
    signed = standing(agreement, read_signatures(signatures_path(file)))
    _show_standing(signed)
    return {
        "title": agreement.title,
        "digest": agreement.digest.hex(),
        "expires": agreement.expires.isoformat(),
        "runs": agreement.runs,
        "signatures": signed,
        "parameters": as_options(task),
    }


@job.command(epilog="Example: secfc job check north.toml")
@scripted
def check(site: OwnSite) -> dict[str, Any]:
    """Check your rows against the job. Prints everything that is wrong, by column and count, only to you."""
    from secfc.agreement.check import check_site
    from secfc.agreement.site_file import read_site

    own = read_site(site)
    return show_checked(own, check_site(own))


@job.command(epilog="Example: secfc job sign north.toml")
@scripted
def sign(site: OwnSite) -> dict[str, Any]:
    """Sign off a job, if `secfc job check` finds nothing wrong; the signature is added beside the job."""
    from secfc.agreement.check import check_site
    from secfc.agreement.signatures import collect, sign_job, signatures_path
    from secfc.agreement.site_file import read_site

    own = read_site(site)
    found = check_site(own)
    agreement, path = found.agreement, signatures_path(own.job)
    standing = collect(agreement, path, [sign_job(agreement, own.party, found.identity)])
    say(f"{own.party} signed the job {agreement.digest.hex()}")
    say(f"{path}: send it to the other parties")
    _show_standing(standing)
    return {"digest": agreement.digest.hex(), "signatures": standing}


@job.command(name="collect", epilog="Example: secfc job collect job.toml from-south/job.signatures")
@scripted
def collect_(
    file: JobFile,
    others: Annotated[list[Path], typer.Argument(help="Files of signatures that other parties have sent.")],
) -> dict[str, Any]:
    """Add signatures that others have sent to the file beside the job; wrong ones are refused."""
    return collect_files(file, others)


def collect_files(file: Path, others: list[Path]) -> dict[str, Any]:
    """Add signatures from files of others to those beside a job, and show who has signed."""
    from secfc.agreement.job_file import read_job
    from secfc.agreement.signatures import collect, read_signatures, signatures_path

    agreement = read_job(file)
    added = []
    for path in others:
        if not path.is_file():
            raise ParameterError(f"{path}: no such file")
        added += read_signatures(path)
    standing = collect(agreement, signatures_path(file), added)
    _show_standing(standing)
    return {"digest": agreement.digest.hex(), "signatures": standing}


@job.command(epilog="Example: secfc job verify job.toml")
@scripted
def verify(file: JobFile) -> dict[str, Any]:
    """Check that all parties have signed a job."""
    from secfc.agreement.job_file import read_job
    from secfc.agreement.signatures import check_signed, signatures_path

    agreement = read_job(file)
    check_signed(agreement, signatures_path(file))
    say(f"all {agreement.job.n} parties have signed the job {agreement.digest.hex()}")
    return {"digest": agreement.digest.hex()}


Resumable = Annotated[
    bool,
    typer.Option(
        "--resumable",
        help="The coordinator keeps a log beside the job, and the same command continues an interrupted run. "
        "Parties keep their logs in the storage of their site files.",
    ),
]


@job.command(epilog="Example: secfc job run job.toml north.toml south.toml west.toml")
@scripted
def run(
    file: JobFile,
    sites: SiteFiles,
    summary: SummaryFile = None,
    report: Report = None,
    key: CoordinatorKey = None,
    deadline: Deadline = None,
    resumable: Resumable = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress bar and no table.")] = False,
) -> dict[str, Any]:
    """Run a job on this machine with a process per party; each reads only its own site file.

    Labels and signed statements go to the paths in the site files, the summary beside the job.
    """
    from secfc.agreement.deposits.holdings import Deposits, closed
    from secfc.agreement.job_file import read_job
    from secfc.drivers.sites.agreed_run import log_path, run_agreed
    from secfc.drivers.sites.site_files import own_log

    agreement = read_job(file)
    path = new_summary(file, summary, report, committee=agreement.owners is not None)
    names: Mapping[int, str] = {}
    if agreement.owners is not None:
        # A run that goes on keeps the deposits with which it began, and does not need the store.
        goes_on = resumable and log_path(file, agreement).exists()
        with suppress(SecFCError) if goes_on else nullcontext():
            found = closed(Deposits.of(agreement))
            names = found.names
        if not (goes_on or quiet):
            print_lines("left out", found.left_out)
            agreement = found.agreement
            rows = agreement.job.rows
            if isinstance(rows, Deposited):
                here = rows.included
                console().print(f"{len(here)} owners, {sum(here.values())} rows, as all members have signed")
    bar = nullcontext() if quiet else progress_bar(n=agreement.job.n)
    logs = [own_log(site) for site in sites]
    with our_warnings(), told_which_log(logs), bar as progress, named_owners(names):
        outcome = run_agreed(
            agreement,
            file=file,
            sites=sites,
            summary=path,
            key=key,
            deadline=deadline,
            resumable=resumable,
            on_progress=progress,
        )
    write_page(report, path, agreement)
    result = {
        "summary": str(path),
        "run": outcome.run_id,
        "converged": outcome.converged,
        "iterations": outcome.n_iter,
        "lost": {agreement.names[party - 1]: str(why) for party, why in outcome.lost.items()},
    }
    if quiet:
        return result
    out = console()
    for why in outcome.lost.values():
        say(f"lost: {why}")
    out.print(threshold_line(agreement.job))
    if isinstance(agreement.job.method, Predict):
        out.print("rows without a label have the label of the nearest mean")
    else:
        end = "converged" if outcome.converged else "stopped at max_iter"
        out.print(f"{end} after {outcome.n_iter} iterations")
    if len(outcome.found) > 1:
        compared = ", ".join(str(one["k"]) for one in outcome.found)
        say(f"compared k = {compared}; the parties have the labels of {outcome.k}, measures are in {path}")
    faults_line(out, outcome.faults, agreement.job, agreement.names)
    out.print(cost_table(outcome.costs, agreement.job))
    say(f"{path}: secfc audit {path} --job {file}")
    return result


@scripted
def audit(
    summary: Annotated[Path, typer.Argument(help="The summary of a run.")],
    job: Annotated[Path, typer.Option(help="Your own copy of the job file, with its roster.")],
    report: Report = None,
    site: Annotated[
        Path | None,
        typer.Option(
            help="Your site file: the page is your copy. It shows what was opened to you and how well your "
            "rows fit."
        ),
    ] = None,
) -> dict[str, Any]:
    """Check the parties' signatures on a summary; exit status 0 only if everything holds."""
    from secfc.agreement.audit import audit as audited
    from secfc.agreement.job_file import read_job
    from secfc.agreement.site_file import read_site
    from secfc.agreement.statement import read_summary

    if site is not None and report is None:
        raise ParameterError("--site: only with --report")
    agreement = read_job(job)
    check_report(report, committee=agreement.owners is not None)
    read = read_summary(summary)
    if report is not None:
        from secfc.report.agreed_page import write_agreed_report

        own = None if site is None else read_site(site)
        write_agreed_report(read, agreement, report, name=str(summary), site=own)
    _show_sent(agreement, read.statements)
    return show_findings(audited(read, agreement))


def new_summary(job: Path, summary: Path | None, report: Path | None, *, committee: bool = False) -> Path:
    """The path of the summary of a run; ParameterError unless it and the page can be written."""
    path = summary or job.with_suffix(".summary.json")
    check_file("--summary", path)
    check_report(report, committee=committee, again=True)
    return path


def write_page(report: Path | None, summary: Path, agreement: "Agreement") -> None:
    """Write the page of a run from its summary, if a page is wanted."""
    if report is not None:
        from secfc.agreement.statement import read_summary
        from secfc.report.agreed_page import write_agreed_report

        keep_earlier(report)
        write_agreed_report(read_summary(summary), agreement, report, name=str(summary))


def show_checked(site: "Site", found: "Checked") -> dict[str, Any]:
    """Print what a site brings to its job, and return it for a program. Only the site sees this."""
    from secfc.drivers.sites.past_runs import PastRuns

    agreement, rows, out = found.agreement, found.rows, console()
    text = f"the job {agreement.digest.hex()[:16]}, {agreement.title}"
    if site.source is None:
        is_one = "a helper" if agreement.helps(site.party) else "a member of the committee"
        say(f"{site.party}: {is_one} in {text}; no rows are needed")
        return {"party": site.party, "digest": agreement.digest.hex(), "rows": 0}
    say(f"{site.party}: {rows.table.rows.shape[0]} rows fit {text}")
    past = PastRuns(site, agreement)
    this, others = len(past.counted), past.of_others
    if this or others:
        say(f"  rows were shared before, in {this} runs of this job and {others} of others")
    if rows.table.written:
        say(f"  the file has {rows.table.written}")
    if rows.mended is not None:
        for what in ("missing", "clipped"):
            for column, count in rows.mended[what].items():
                say(f"  {count} values of {column!r} are {what}")
    if rows.unprepared is not None:
        opened = ", ".join(agreement.opened)
        say(f"  prepared during the run, after the means of {opened} are known")
    elif rows.table.rows.size:
        table = Table()
        for heading in ("column", "least", "greatest", "the job's range"):
            table.add_column(heading, justify="left" if heading == "column" else "right")
        ends = zip(rows.table.rows.min(axis=0), rows.table.rows.max(axis=0), strict=True)
        for (name, (low, high)), (least, most) in zip(agreement.columns.items(), ends, strict=True):
            table.add_row(name, f"{least:g}", f"{most:g}", f"{low:g} to {high:g}")
        out.print(table)
    return {"party": site.party, "digest": agreement.digest.hex(), "rows": rows.table.rows.shape[0]}


def show_findings(
    findings: Iterable["Finding"],
    *,
    lost: Collection[str] = (),
    more: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Print the findings. Return them and `more` for a program.

    Raises Unsound with the status of the first that does not hold. Statements of `lost` parties may be
    missing.
    """
    out, wrong, result = console(), 0, list[dict[str, Any]]()
    for finding in findings:
        mark, style = ("holds", "green") if finding.holds else ("DOES NOT HOLD", "bold red")
        if finding.missing in lost:
            mark, style = "lost", "yellow"
        elif not finding.holds:
            wrong = wrong or (FAILED if finding.code is None else status_of(finding.code))
        out.print(mark, style=style, end="  ")
        say(finding.text)
        if finding.advice:
            say(f"  {finding.advice}")
        result.append({"holds": finding.holds, "text": finding.text, "advice": finding.advice})
    if wrong:
        raise Unsound(wrong, {"findings": result} | dict(more or {}))
    return {"findings": result} | dict(more or {})


def _preparation(agreement: "Agreement") -> list[tuple[str, str]]:
    """How sites prepare their rows, and what is opened for it."""
    schema = agreement.preparation
    if schema is None:
        return []
    opened = "nothing"
    if agreement.opened:
        holders = f"{agreement.job.t + 2} parties hold {schema.smallest} or more values of each"
        opened = f"to all parties, means and deviations of {', '.join(agreement.opened)}, if {holders}"
    return [("prepared from", ", ".join(agreement.inputs)), ("opened first", opened)]


def _described(agreement: "Agreement") -> str:
    """Which columns are described by cluster, to whom and from how many rows on."""
    described = agreement.job.opened.described
    if described is None:
        return ""
    holders = f"{agreement.job.t + 2} parties have {described.smallest} or more values of it in each cluster"
    return f"{', '.join(agreement.describes)}, to all parties, each column if {holders} and none has fewer"


def _owners(agreement: "Agreement") -> list[tuple[str, str]]:
    """Who deposits rows, if the parties are a committee."""
    owners = agreement.owners
    if owners is None:
        return []
    until = "the parties close deposits" if owners.until is None else f"{owners.until.isoformat()} is over"
    text = f"each party admits {owners.most} at most, with {owners.most_rows} rows each; until {until}"
    return [("owners of rows", text), ("store of deposits", owners.store)]


def _noise(task: "Job") -> str:
    noise = task.opened.noise
    if noise is None:
        return ""
    given = f"epsilon {noise.epsilon!r}, delta {noise.delta!r}, in each run"
    return f"{given}; labels are exact and not covered"


def _show_standing(found: dict[str, str]) -> None:
    for name, state in found.items():
        say(f"  {name}: {state}")


def _show_sent(agreement: "Agreement", statements: list["SignedStatement"]) -> None:
    table = Table(title="Bytes that left each party", title_justify="left")
    table.add_column("message")
    for name in agreement.names:
        table.add_column(name, justify="right")
    sent = {one.statement.party: one.statement.sent for one in statements}
    for kind in sorted({kind for one in sent.values() for kind in one}):
        left = [sent[name].get(kind) for name in agreement.names]
        table.add_row(kind, *("0" if one is None else str(one.bytes) for one in left))
    console().print(table)
