"""`secfc bench`: one command a benchmark, a table for people or a JSON list for programs."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.measure import Measurement
from rich.table import Table

from secfc.cli.endings import plain_endings
from secfc.cli.options import Precision
from secfc.cli.render import console, error_console
from secfc.params import Job

bench = typer.Typer(
    help="Measure costs beside plaintext, in one go on this machine. See benchmarks/RESULTS.md.",
    no_args_is_help=True,
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON list of rows and nothing else.")]
Quick = Annotated[bool, typer.Option("--quick", help="Small sizes: seconds instead of minutes.")]


@bench.command(epilog="Example: secfc bench iteration --json --cases 20000,50,8,11,4,2")
def iteration(
    as_json: Json = False,
    quick: Quick = False,
    precision: Precision = Job.precision,
    cases: Annotated[
        list[str] | None, typer.Option(help="m,d,k,n,t,ell instead of the usual sizes; may be repeated.")
    ] = None,
) -> None:
    """A client's and the server's iteration beside one of scikit-learn's on the pooled rows."""
    with plain_endings():
        from secfc.bench.iteration import CASES, QUICK_CASES, measure_cases  # noqa: PLC0415
        from secfc.bench.setting import Case  # noqa: PLC0415

        chosen = tuple(map(Case.parse, cases)) if cases else QUICK_CASES if quick else CASES
        _show("iteration", measure_cases(chosen, precision=precision), as_json)


@bench.command(epilog="Example: secfc bench sharing --quick")
def sharing(as_json: Json = False, quick: Quick = False, precision: Precision = Job.precision) -> None:
    """Quantise, mask, encode and pack rows for all clients: MB per second per core."""
    with plain_endings():
        from secfc.bench.sharing import CASES, QUICK_CASES, measure_cases  # noqa: PLC0415

        _show("sharing", measure_cases(QUICK_CASES if quick else CASES, precision=precision), as_json)


@bench.command(epilog="Example: secfc bench figure1 --quick")
def figure1(as_json: Json = False, quick: Quick = False, precision: Precision = Job.precision) -> None:
    """The paper's Figure 1: an iteration against n, d and m, beside a whole run of k-FED."""
    with plain_endings():
        from secfc.bench.figure1 import QUICK_SWEEPS, STARTS, SWEEPS, measure_figure1  # noqa: PLC0415

        sweeps, starts = (QUICK_SWEEPS, 2) if quick else (SWEEPS, STARTS)
        _show("figure1", measure_figure1(sweeps=sweeps, precision=precision, starts=starts), as_json)


@bench.command(epilog="Example: secfc bench scaling --quick")
def scaling(as_json: Json = False, quick: Quick = False, precision: Precision = Job.precision) -> None:
    """Fitted exponents of n, t, ell, d, m and k, beside the paper's complexity."""
    with plain_endings():
        from secfc.bench.scaling import (  # noqa: PLC0415
            BASE,
            QUICK_BASE,
            QUICK_SWEEPS,
            SWEEPS,
            measure_scaling,
        )

        base, sweeps = (QUICK_BASE, QUICK_SWEEPS) if quick else (BASE, SWEEPS)
        _show("scaling", measure_scaling(base=base, sweeps=sweeps, precision=precision), as_json)


@bench.command(epilog="Example: secfc bench runs --quick")
def runs(as_json: Json = False, quick: Quick = False, precision: Precision = Job.precision) -> None:
    """Whole runs with both drivers against n + 1 plaintext runs from the same start."""
    with plain_endings():
        from secfc.bench.runs import CASES, QUICK_CASES, REPEATS, measure_cases  # noqa: PLC0415

        cases, repeats = (QUICK_CASES, 1) if quick else (CASES, REPEATS)
        _show("runs", measure_cases(cases, precision=precision, repeats=repeats), as_json)


@bench.command(name="bytes", epilog="Example: secfc bench bytes --quick")
def traffic(as_json: Json = False, quick: Quick = False, precision: Precision = Job.precision) -> None:
    """Bytes of each phase against the fewest that its elements could take."""
    with plain_endings():
        from secfc.bench.traffic import CASES, QUICK_CASES, measure_cases  # noqa: PLC0415

        _show("bytes", measure_cases(QUICK_CASES if quick else CASES, precision=precision), as_json)


@bench.command(epilog="Example: secfc bench resilience --quick")
def resilience(as_json: Json = False, quick: Quick = False, precision: Precision = Job.precision) -> None:
    """Parties that vanish or lie: runs that end exact, stop or end wrong, and what checks cost."""
    with plain_endings():
        from secfc.bench.resilience import measure_resilience  # noqa: PLC0415

        _show("resilience", measure_resilience(precision=precision, quick=quick), as_json)


@bench.command(epilog="Example: secfc bench memory --cases 500000,50,8,11,4,2 --storage /data/scratch")
def memory(
    as_json: Json = False,
    quick: Quick = False,
    precision: Precision = Job.precision,
    cases: Annotated[
        list[str] | None,
        typer.Option(help="m,d,k,n,t,ell instead of the usual sizes, shares in files; may be repeated."),
    ] = None,
    storage: Annotated[
        Path | None, typer.Option(help="Folder for rows and shares; the system's temporary one by default.")
    ] = None,
) -> None:
    """Peak anonymous memory of the processes of runs up to 2,000,000 x 100, which take 25 GB of disk."""
    with plain_endings():
        from secfc.bench.memory import CASES, QUICK_CASES, measure_cases  # noqa: PLC0415
        from secfc.bench.setting import Case  # noqa: PLC0415

        if storage is not None and not storage.is_dir():
            raise typer.BadParameter(f"{storage} is no folder", param_hint="--storage")
        chosen = tuple((Case.parse(one), True) for one in cases or ()) or (QUICK_CASES if quick else CASES)
        _show("memory", measure_cases(chosen, folder=storage, precision=precision), as_json)


@bench.command(epilog="Example: secfc bench membership --cases 20000,10,8,11,4,2 --storage /data/scratch")
def membership(
    as_json: Json = False,
    quick: Quick = False,
    precision: Precision = Job.precision,
    cases: Annotated[
        list[str] | None, typer.Option(help="m,d,k,n,t,ell instead of the usual size; may be repeated.")
    ] = None,
    storage: Annotated[
        Path | None, typer.Option(help="Folder for shares, with --cases; in memory by default.")
    ] = None,
) -> None:
    """A whole run with membership privacy beside the same one without: seconds, bytes, peak memory."""
    with plain_endings():
        from secfc.bench.membership import CASES, QUICK_CASES, measure_cases  # noqa: PLC0415
        from secfc.bench.setting import Case  # noqa: PLC0415

        if storage is not None and not storage.is_dir():
            raise typer.BadParameter(f"{storage} is no folder", param_hint="--storage")
        in_files = storage is not None
        chosen = tuple((Case.parse(one), in_files) for one in cases or ())
        measured = chosen or (QUICK_CASES if quick else CASES)
        _show("membership", measure_cases(measured, folder=storage, precision=precision), as_json)


@bench.command(epilog="Example: secfc bench disclosure --cases 20000,50,8,11,4,2")
def disclosure(
    as_json: Json = False,
    quick: Quick = False,
    precision: Precision = Job.precision,
    cases: Annotated[
        list[str] | None, typer.Option(help="m,d,k,n,t,ell instead of the usual sizes; may be repeated.")
    ] = None,
) -> None:
    """An iteration with disclosure "distances" beside one with "coded"."""
    with plain_endings():
        from secfc.bench.disclosure import CASES, QUICK_CASES, measure_cases  # noqa: PLC0415
        from secfc.bench.setting import Case  # noqa: PLC0415

        chosen = tuple(map(Case.parse, cases)) if cases else QUICK_CASES if quick else CASES
        _show("disclosure", measure_cases(chosen, precision=precision), as_json)


@bench.command(epilog="Example: secfc bench privacy --quick")
def privacy(as_json: Json = False, quick: Quick = False) -> None:
    """Attacks by coalitions, by the server and by both, and on plain uploads: what each of them learns."""
    with plain_endings():
        from secfc.bench.privacy.measure import FULL, QUICK, measure_attacks  # noqa: PLC0415

        _show("privacy", measure_attacks(QUICK if quick else FULL), as_json)


def _show(name: str, measured: Iterable[Any], as_json: bool) -> None:
    """Print rows once all are measured; a line for each on standard error, where that is a terminal."""
    from secfc.bench.tables import TITLES, cells  # noqa: PLC0415

    rows: list[dict[str, Any]] = []
    watched = error_console()  # a spinner would take the processor from what is measured
    for row in measured:
        rows.append(asdict(row))
        if watched.is_terminal:
            watched.print(f"bench {name}: {len(rows)} rows")
    if as_json:
        typer.echo(json.dumps(rows, allow_nan=False))
        return
    headings, lines = cells(name, json.loads(json.dumps(rows)))
    shown = console()
    table = Table(title=TITLES[name], title_justify="left")
    for heading in headings:
        table.add_column(heading, justify="left" if heading == headings[0] else "right", overflow="fold")
    for line in lines:
        table.add_row(*line)
    if Measurement.get(shown, shown.options.update(max_width=1000), table).maximum <= shown.width:
        shown.print(table)
        return
    shown.print(TITLES[name])  # too wide for this terminal: a block for each row
    for line in lines:
        block = Table.grid(padding=(0, 2))
        for heading, text in zip(headings, line, strict=True):
            block.add_row(heading, text)
        shown.print()
        shown.print(block)
