"""The commands of `python -m benchmarks`. Each prints a table for people, or with --json a list for programs.

A command imports its own modules when it runs, so that other imports do not add to what is measured.
"""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.reproduce.command import reproduce
from benchmarks.shown import show_rows
from secfc.cli.endings import PlainGroup
from secfc.cli.grouped import typer_option
from secfc.errors import missing
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
    """Costs compared with plaintext, and attacks, measured on this machine.

    See benchmarks/RESULTS.md.
    """
    if find_spec("sklearn") is None:
        raise missing("scikit-learn", "benchmarks", "sklearn")


def _several(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if one.strip()]


Json = Annotated[bool, typer.Option("--json", help="Print one JSON list of rows and nothing else.")]
Quick = Annotated[bool, typer.Option("--quick", help="Small sizes: seconds instead of minutes.")]
Cases = Annotated[
    list[str] | None, typer.Option(help="m,d,k,n,t,ell instead of the usual sizes; may be repeated.")
]


def _command(name: str, text: str, *, cases: str = "--quick", **quick: int) -> None:
    """Add a benchmark of cases: `quick` are arguments of its `measure_case` with --quick."""

    def measure(
        as_json: Json = False,
        quick_sizes: Quick = False,
        precision: Precision = JobOptions.precision,
        cases: Cases = None,
    ) -> None:
        found = import_module(f"benchmarks.costs.{name}")
        given = tuple(map(import_module("benchmarks.costs.setting").Case.parse, cases or ()))
        chosen = given or (found.QUICK_CASES if quick_sizes else found.CASES)
        arguments = quick if quick_sizes else {}
        rows = (row for case in chosen for row in found.measure_case(case, precision=precision, **arguments))
        show_rows(name, rows, as_json)

    app.command(
        name, help=text, rich_help_panel=_COSTS, epilog=f"Example: python -m benchmarks {name} {cases}"
    )(measure)


_command(
    "iteration",
    "An iteration of a client and of the server, compared with scikit-learn's on the pooled rows.",
    cases="--json --cases 20000,50,8,11,4,2",
)
_command("runs", "Runs with both drivers, compared with n + 1 plaintext runs from the same start.", repeats=1)
_command(
    "timeline",
    "Letters of an iteration with labels, by role: bytes, and what waits for what.",
    cases="--cases 10000,50,8,5,1,2",
)
_command(
    "labels",
    "Work of all parties in an iteration with labels, compared with coded distances.",
    cases="--cases 10000,50,8,5,1,2",
)
_command(
    "workers",
    "A prototype: two worker processes of one holder answer and deal for blocks of rows (needs Dask).",
    cases="--cases 200000,50,8,11,4,2",
)


@app.command(
    rich_help_panel=_ATTACKS,
    epilog="Example: python -m benchmarks privacy --only l,p",
)
def privacy(
    as_json: Json = False,
    quick: Quick = False,
    only: Annotated[
        str, typer.Option(help="Letters of attacks, as in the threat model, separated by commas.")
    ] = "",
) -> None:
    """Attacks by the server, by clients and by a comparer: what each of them learns."""
    from benchmarks.privacy.measure import FULL, QUICK, measure_attacks

    show_rows("privacy", measure_attacks(QUICK if quick else FULL, _several(only)), as_json)


@app.command(rich_help_panel=_RESULTS)
def house() -> None:
    """Measures of the project's size: lines, words, folders, import circles, files that a run executes."""
    from benchmarks.house import measures

    for name, value in measures():
        typer.echo(f"{value:>8,}  {name}")


@app.command(rich_help_panel=_RESULTS, epilog="Example: python -m benchmarks record --only runs,privacy-v")
def record(
    quick: Quick = False,
    only: Annotated[str, typer.Option(help="Benchmarks, separated by commas; all by default.")] = "",
    skip: Annotated[str, typer.Option(help="Benchmarks to leave out, separated by commas.")] = "",
    out: Annotated[Path, typer.Option(help="Folder of results.")] = HERE / "results",
) -> None:
    """Run benchmarks of RESULTS.md and attacks by letter, store their results, and write the page again."""
    from benchmarks.record import record_all

    failed = record_all(_several(only), _several(skip), quick=quick, out=out)
    if failed:
        typer.echo(f"failed: {', '.join(failed)}", err=True)
        raise typer.Exit(1)


@app.command(rich_help_panel=_RESULTS)
def report(
    results: Annotated[Path, typer.Option(help="Folder of results.")] = HERE / "results",
) -> None:
    """Write RESULTS.md again, beside the folder of results."""
    from benchmarks.report import write_report

    typer.echo(write_report(results))


app.command(
    rich_help_panel=_RESULTS, epilog="Example: python -m benchmarks reproduce fkm-figure3 --data-dir data"
)(reproduce)
