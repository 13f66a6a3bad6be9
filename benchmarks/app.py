"""The commands of `python -m benchmarks`. Each prints a table for people, or with --json a list for programs.

A command imports its own modules when it runs, so that other imports do not add to what is measured.
"""

from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.reproduce.command import reproduce
from benchmarks.shown import show_rows
from secfc.cli.endings import PlainGroup
from secfc.cli.grouped import typer_option
from secfc.errors import ParameterError, missing
from secfc.protocol.job.job_options import JobOptions
from secfc.protocol.job.options import Agreed

_COSTS, _ATTACKS = "Costs", "Attacks"
_RESULTS = "Results and papers"
Precision = Annotated[int, typer_option(Agreed, "precision")]
HERE = Path(__file__).resolve().parent

app = typer.Typer(
    cls=PlainGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def _main() -> None:
    """Costs compared with plaintext, attacks and simulated faults, measured on this machine.

    See benchmarks/RESULTS.md.
    """
    if find_spec("sklearn") is None:
        raise missing("scikit-learn", "benchmarks", "sklearn")


def _several(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if one.strip()]


def _numbers(option: str, text: str) -> list[int]:
    try:
        return list(map(int, _several(text)))
    except ValueError:
        raise ParameterError(f"{option}: whole numbers, separated by commas, are needed") from None


Json = Annotated[bool, typer.Option("--json", help="Print one JSON list of rows and nothing else.")]
Quick = Annotated[bool, typer.Option("--quick", help="Small sizes: seconds instead of minutes.")]
Cases = Annotated[
    list[str] | None, typer.Option(help="m,d,k,n,t,ell instead of the usual sizes; may be repeated.")
]


def _command(name: str, text: str, *, module: str = "", cases: str = "--quick", **quick: int) -> None:
    """Add a benchmark of cases: `quick` are arguments of its `measure_cases` with --quick."""

    def measure(
        as_json: Json = False,
        quick_sizes: Quick = False,
        precision: Precision = JobOptions.precision,
        cases: Cases = None,
    ) -> None:
        found = import_module(f"benchmarks.costs.{module or name}")
        given = tuple(map(import_module("benchmarks.costs.setting").Case.parse, cases or ()))
        chosen = given or (found.QUICK_CASES if quick_sizes else found.CASES)
        arguments = quick if quick_sizes else {}
        show_rows(name, found.measure_cases(chosen, precision=precision, **arguments), as_json)

    app.command(
        name, help=text, rich_help_panel=_COSTS, epilog=f"Example: python -m benchmarks {name} {cases}"
    )(measure)


_command(
    "iteration",
    "An iteration of a client and of the server, compared with scikit-learn's on the pooled rows.",
    cases="--json --cases 20000,50,8,11,4,2",
)
_command("threads", "Iterations and sharing with 1 and 2 threads, and an estimate for 16 threads.")
_command("sharing", "Quantise, mask, encode and pack rows for all clients: MB per second per core.")
_command("runs", "Runs with both drivers, compared with n + 1 plaintext runs from the same start.", repeats=1)
_command("bytes", "Bytes of each phase, compared with the fewest that its elements need.", module="traffic")
_command(
    "links",
    "Seconds of a round over 10, 100 and 1,000 Mbit/s, computed from bytes and exchanges.",
    cases="--cases 10000,50,8,5,1,2",
)
_command(
    "protections",
    "Costs of the margin in Q, the range check and the server's signatures in an iteration and a sharing.",
    cases="--cases 20000,50,8,11,4,2",
    turns=1,
)
_command(
    "labels",
    "Work of all parties in an iteration with labels, compared with coded distances.",
    cases="--cases 10000,50,8,5,1,2",
)


@app.command(rich_help_panel=_COSTS, epilog="Example: python -m benchmarks figure1 --quick")
def figure1(as_json: Json = False, quick: Quick = False, precision: Precision = JobOptions.precision) -> None:
    """The paper's Figure 1: an iteration against n, d and m, compared with a whole run of k-FED."""
    from benchmarks.costs.figure1 import QUICK_SWEEPS, STARTS, SWEEPS, measure_figure1

    sweeps, starts = (QUICK_SWEEPS, 2) if quick else (SWEEPS, STARTS)
    show_rows("figure1", measure_figure1(sweeps=sweeps, precision=precision, starts=starts), as_json)


@app.command(rich_help_panel=_COSTS, epilog="Example: python -m benchmarks scaling --quick")
def scaling(as_json: Json = False, quick: Quick = False, precision: Precision = JobOptions.precision) -> None:
    """Fitted exponents of n, t, ell, d, m and k, compared with the paper's complexity."""
    from benchmarks.costs.scaling import (
        BASE,
        QUICK_BASE,
        QUICK_SWEEPS,
        SWEEPS,
        measure_scaling,
    )

    base, sweeps = (QUICK_BASE, QUICK_SWEEPS) if quick else (BASE, SWEEPS)
    show_rows("scaling", measure_scaling(base=base, sweeps=sweeps, precision=precision), as_json)


@app.command(rich_help_panel=_COSTS, epilog="Example: python -m benchmarks owners --owners 1000,10000")
def owners(
    as_json: Json = False,
    quick: Quick = False,
    precision: Precision = JobOptions.precision,
    counts: Annotated[
        str | None, typer.Option("--owners", help="Numbers of owners, ascending, separated by commas.")
    ] = None,
    projected: Annotated[
        str | None,
        typer.Option("--project", help="rows,owners,cores of each member: estimate the cost of each part."),
    ] = None,
) -> None:
    """CPU seconds and memory of a committee of eleven, by the number of owners with ten rows each."""
    from benchmarks.costs.owners import BASE, OWNERS, QUICK_BASE, QUICK_OWNERS, measure_owners
    from benchmarks.costs.owners_projected import MEASURED, QUICK_MEASURED, project

    if projected is not None:
        sizes = _numbers("project", projected)
        if len(sizes) != len(("rows", "owners", "cores")) or min(sizes) < 1 or sizes[0] < sizes[1]:
            raise ParameterError("project: rows, owners and cores are needed, with a row or more an owner")
        rows, of, cores = sizes
        base, measured = (QUICK_BASE, QUICK_MEASURED) if quick else (BASE, MEASURED)
        found = project(rows=rows, owners=of, cores=cores, base=base, measured=measured, precision=precision)
        show_rows("projected", found, as_json)
        return
    chosen: tuple[int, ...] = QUICK_OWNERS if quick else OWNERS
    if counts is not None:
        chosen = tuple(_numbers("owners", counts))
    size = QUICK_BASE if quick else BASE
    show_rows("owners", measure_owners(base=size, owners=chosen, precision=precision), as_json)


@app.command(rich_help_panel=_COSTS, epilog="Example: python -m benchmarks resilience --quick")
def resilience(
    as_json: Json = False, quick: Quick = False, precision: Precision = JobOptions.precision
) -> None:
    """Runs with parties that vanish or lie: how many are exact, stop or are wrong, and the cost of checks."""
    from benchmarks.costs.resilience import measure_resilience

    show_rows("resilience", measure_resilience(precision=precision, quick=quick), as_json)


@app.command(
    rich_help_panel=_COSTS,
    epilog="Example: python -m benchmarks memory --cases 500000,50,8,11,4,2 --folder /data/scratch",
)
def memory(
    as_json: Json = False,
    quick: Quick = False,
    precision: Precision = JobOptions.precision,
    cases: Cases = None,
    folder: Annotated[
        Path | None, typer.Option(help="Folder for rows; the system's temporary one by default.")
    ] = None,
) -> None:
    """Peak anonymous memory of the processes of a run of 200,000 x 100."""
    from benchmarks.costs.memory import CASES, QUICK_CASES, measure_cases
    from benchmarks.costs.setting import Case

    if folder is not None and not folder.is_dir():
        raise typer.BadParameter(f"{folder} is not a folder", param_hint="--folder")
    chosen = tuple(map(Case.parse, cases or ())) or (QUICK_CASES if quick else CASES)
    show_rows("memory", measure_cases(chosen, folder=folder, precision=precision), as_json)


@app.command(
    rich_help_panel=_COSTS,
    epilog="Example: python -m benchmarks membership --cases 20000,10,8,11,4,2",
)
def membership(
    as_json: Json = False,
    quick: Quick = False,
    precision: Precision = JobOptions.precision,
    cases: Cases = None,
) -> None:
    """A whole run with membership privacy and the same run without: seconds, bytes, peak memory."""
    from benchmarks.costs.membership import CASES, QUICK_CASES, measure_cases
    from benchmarks.costs.setting import Case

    chosen = tuple(map(Case.parse, cases or ())) or (QUICK_CASES if quick else CASES)
    show_rows("membership", measure_cases(chosen, precision=precision), as_json)


@app.command(rich_help_panel=_COSTS, epilog="Example: python -m benchmarks comparing --sizes 10000,16")
def comparing(
    as_json: Json = False,
    quick: Quick = False,
    sizes: Annotated[
        list[str] | None, typer.Option(help="m,k instead of the usual sizes; may be repeated.")
    ] = None,
) -> None:
    """Labels from masked distances by a dealer and two evaluators: CPU, bytes and exchanges of a round."""
    from benchmarks.costs.comparing import (
        CHANGED,
        QUICK_CHANGED,
        QUICK_SIZES,
        SIZES,
        measure_cases,
        parse_size,
    )

    chosen = tuple(map(parse_size, sizes)) if sizes else QUICK_SIZES if quick else SIZES
    changed = QUICK_CHANGED if quick else CHANGED
    show_rows("comparing", measure_cases(chosen, changed=changed), as_json)


@app.command(rich_help_panel=_COSTS, epilog="Example: python -m benchmarks engines --quick")
def engines(
    as_json: Json = False,
    quick: Quick = False,
    only: Annotated[
        str, typer.Option(help="Drivers, separated by commas: in-process, multiprocess, flare.")
    ] = "in-process,multiprocess,flare",
) -> None:
    """The same job with each driver: in one process, a process per party, NVIDIA FLARE (extra flare)."""
    from benchmarks.costs.engines import measure_engines

    measure_engines(_several(only), quick=quick, as_json=as_json)


@app.command(
    rich_help_panel=_COSTS, epilog="Example: python -m benchmarks rehearsal --mbit 10 --disclosure coded"
)
def rehearsal(
    as_json: Json = False,
    quick: Quick = False,
    sites: Annotated[
        int, typer.Option(help="Sites with rows; two helpers are added if labels need them.")
    ] = 11,
    delay_ms: Annotated[
        float, typer.Option(help="Milliseconds from a site to the coordinator and back.")
    ] = 50.0,
    mbit: Annotated[float, typer.Option(help="Mbit/s of each line, in each direction.")] = 100.0,
    loss: Annotated[
        float, typer.Option(help="Probability that a segment is lost; with 0 this run is skipped.")
    ] = 0.001,
    rows: Annotated[int, typer.Option(min=3, help="Rows of all sites.")] = 10_000,
    columns: Annotated[int, typer.Option(min=1, help="Columns.")] = 50,
    k: Annotated[int, typer.Option("-k", min=2, help="Clusters.")] = 8,
    disclosure: Annotated[
        str, typer.Option(help="labels, distances or coded; several are separated by commas.")
    ] = "labels,coded",
) -> None:
    """A FLARE server and sites on slow lines, compared with the same run without delay (extra flare)."""
    from benchmarks.costs.lines import Network
    from benchmarks.costs.rehearsal import QUICK, Rehearsal, measure_rehearsals

    slow = Network(round_trip=delay_ms / 1e3, rate=mbit * 1e6)
    networks = [slow, replace(slow, loss=loss)] if loss else [slow]
    chosen = QUICK if quick else Rehearsal(sites=sites, rows=rows, columns=columns, k=k)
    show_rows("rehearsal", measure_rehearsals(chosen, _several(disclosure), networks), as_json)


@app.command(
    rich_help_panel=_ATTACKS,
    epilog="Example: python -m benchmarks privacy --only k,l",
)
def privacy(
    as_json: Json = False,
    quick: Quick = False,
    only: Annotated[
        str, typer.Option(help="Letters of attacks, as in the threat model, separated by commas.")
    ] = "",
) -> None:
    """Attacks by coalitions, by the server, by both, and on plain uploads: what each of them learns."""
    from benchmarks.privacy.measure import FULL, QUICK, measure_attacks

    show_rows("privacy", measure_attacks(QUICK if quick else FULL, _several(only)), as_json)


@app.command(
    rich_help_panel=_COSTS,
    epilog="Example: python -m benchmarks precision s1 --seeds 10 --bits 24,32",
)
def precision(
    dataset: Annotated[str, typer.Argument(help="Its name in tests/support/datasets.py.")],
    seeds: Annotated[int, typer.Option(help="Random starts.")] = 10,
    bits: Annotated[str, typer.Option(help="Precisions, separated by commas.")] = "24,26,28,30,32",
    step: Annotated[float | None, typer.Option(help="Also with rows as multiples of this step.")] = None,
) -> None:
    """How many bits, and primes, whole runs of exact Lloyd need for scikit-learn's labels (SECFC_DATA)."""
    from benchmarks.costs.precision import measure

    measure(dataset, seeds, _numbers("--bits", bits), step)


@app.command(rich_help_panel=_COSTS, epilog="Example: python -m benchmarks tail --case 5000,4,6,4,1,1")
def tail(
    case: Annotated[str, typer.Option(help="m,d,k,n,t,ell.")] = "190000,4,12,4,1,1",
    tolerances: Annotated[str, typer.Option(help="tol_moved, separated by commas.")] = "0,0.001,0.01",
    step: Annotated[float | None, typer.Option(help="Rows as multiples of this step, 0.01 or less.")] = None,
) -> None:
    """A run that converges slowly, at several tol_moved: iterations, bytes and seconds."""
    from benchmarks.costs.setting import Case
    from benchmarks.costs.tail import measure

    try:
        chosen = list(map(float, _several(tolerances)))
    except ValueError:
        raise ParameterError("--tolerances: numbers, separated by commas, are needed") from None
    measure(Case.parse(case), chosen, step)


@app.command(rich_help_panel=_RESULTS)
def house() -> None:
    """Measures of the project's size: lines, words, folders, import circles, files that a run executes."""
    from benchmarks.house import measures

    for name, value in measures():
        typer.echo(f"{value:>8,}  {name}")


@app.command(rich_help_panel=_RESULTS, epilog="Example: python -m benchmarks record --only iteration,sharing")
def record(
    quick: Quick = False,
    only: Annotated[str, typer.Option(help="Benchmarks, separated by commas; all by default.")] = "",
    skip: Annotated[str, typer.Option(help="Benchmarks to leave out, separated by commas.")] = "",
    out: Annotated[Path, typer.Option(help="Folder of results.")] = HERE / "results",
) -> None:
    """Run every benchmark of RESULTS.md, store its results, and write the page again."""
    from benchmarks.record import record_all

    failed = record_all(_several(only), _several(skip), quick=quick, out=out)
    if failed:
        typer.echo(f"failed: {', '.join(failed)}", err=True)
        raise typer.Exit(1)


@app.command(rich_help_panel=_RESULTS)
def report(
    results: Annotated[Path, typer.Option(help="Folder of results.")] = HERE / "results",
) -> None:
    """Write RESULTS.md and its plots again, beside the folder of results."""
    from benchmarks.report import write_report

    typer.echo(write_report(results))


app.command(
    rich_help_panel=_RESULTS, epilog="Example: python -m benchmarks reproduce notebook --data-dir data"
)(reproduce)
