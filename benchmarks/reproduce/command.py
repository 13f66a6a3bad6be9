"""`python -m benchmarks reproduce`: run a published table or figure again and compare it with the paper."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from secfc.cli.render import console, error_console
from secfc.errors import ParameterError

if TYPE_CHECKING:
    from benchmarks.reproduce.common import FigureRow

_COLOURS = {"agrees": "green", "holds": "green", "differs": "yellow", "fails": "yellow", "no figure": "dim"}


def reproduce(
    name: Annotated[str | None, typer.Argument(help="An experiment; --list shows them.")] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List the experiments and end.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick/--full", help="Fewer runs, minutes; or the papers' own effort, hours.")
    ] = True,
    data_dir: Annotated[
        Path | None, typer.Option(envvar="SECFC_DATA", help="Folder with the papers' data files.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Run a published experiment and print our figures and the paper's, with SecFC as one more column."""
    from benchmarks.reproduce.registry import EXPERIMENTS, experiment  # noqa: PLC0415

    if list_all:
        _print_list()
        return
    if name is None:
        raise ParameterError(f"NAME is needed, one of {len(EXPERIMENTS)} experiments; --list shows them")
    chosen = experiment(name)
    if data_dir is not None and not data_dir.is_dir():
        raise ParameterError(f"--data-dir {data_dir} is no folder")

    from benchmarks.reproduce.common import Context  # noqa: PLC0415 - scikit-learn takes a second to import

    watched = error_console()

    def tell(line: str) -> None:
        if not as_json:
            watched.print(line, soft_wrap=True)

    context = Context(quick=quick, folder=data_dir, tell=tell)
    rows = list(chosen.rows(context))
    if as_json:
        answer = {"experiment": name, "title": chosen.title, "quick": quick}
        typer.echo(json.dumps(answer | {"rows": [asdict(row) for row in rows]}, allow_nan=False))
    else:
        _print_rows(rows, chosen.title)
    if any(row.same_labels != row.rows for row in rows):
        watched.print("error:", style="bold red", end=" ")
        watched.print("SecFC's labels differ from exact Lloyd's: this must not happen")
        raise typer.Exit(1)


def _print_list() -> None:
    from benchmarks.reproduce.registry import EXPERIMENTS  # noqa: PLC0415

    table = Table(title="Experiments", title_justify="left")
    for heading in ("name", "what", "data folder"):
        table.add_column(heading, overflow="fold")
    for one in EXPERIMENTS.values():
        table.add_row(one.name, one.title, one.files)
    console().print(table)


def _print_rows(rows: Sequence["FigureRow"], title: str) -> None:
    """The table, and below it each note once, numbered as in the verdicts."""
    notes = list(dict.fromkeys(row.note for row in rows if row.note))
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("method, measure", overflow="fold")
    for heading in ("paper", "±", "ours"):
        table.add_column(heading, justify="right", overflow="fold")
    table.add_column("verdict", overflow="fold")
    table.add_column("SecFC", justify="right", no_wrap=True)
    table.add_column("as exact Lloyd", justify="right", overflow="fold")
    previous = ""
    for row in rows:
        mark = f" [{notes.index(row.note) + 1}]" if row.note else ""
        cells = (
            f"{row.paper:.{row.decimals}f}" if row.paper is not None else row.claim,
            f"{row.tolerance:.2g}" if row.tolerance is not None else "",
            f"{row.ours:.{row.decimals}f}",
            Text.assemble((row.verdict, _COLOURS[row.verdict]), mark),
            f"{row.secfc:.{row.decimals}f}",
            f"{row.same_labels} of {row.rows}",
        )
        if row.setting != previous:
            table.add_section()
            table.add_row(Text(row.setting, style="bold"))
        table.add_row(f"{row.name}, {row.measure}", *cells)
        previous = row.setting
    out = console()
    out.print(table)
    for place, note in enumerate(notes, start=1):
        out.print(f"[{place}] {note}")
