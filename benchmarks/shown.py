"""Rows of a benchmark on standard output: a table, or a JSON list."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import typer
from rich.measure import Measurement
from rich.table import Table

from benchmarks.costs.tables import TITLES, cells
from secfc.cli.render import console, error_console


def show_rows(name: str, measured: Iterable[Any], as_json: bool) -> list[dict[str, Any]]:
    """Print rows after all are measured, and return them. Standard error, if a terminal, gets the count."""
    rows: list[dict[str, Any]] = []
    watched = error_console()  # a spinner would use CPU time during the measurement
    for row in measured:
        rows.append(asdict(row))
        if watched.is_terminal:
            watched.print(f"{name}: {len(rows)} rows")
    if as_json:
        typer.echo(json.dumps(rows, allow_nan=False))
    else:
        print_table(TITLES[name], *cells(name, json.loads(json.dumps(rows))))
    return rows


def print_table(title: str, headings: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """Print a table, or a block for each line where the terminal is too narrow for it."""
    out = console()
    table = Table(title=title, title_justify="left")
    for heading in headings:
        table.add_column(heading, justify="left" if heading == headings[0] else "right", overflow="fold")
    for line in lines:
        table.add_row(*line)
    if Measurement.get(out, out.options.update(max_width=1000), table).maximum <= out.width:
        out.print(table)
        return
    out.print(title)
    for line in lines:
        block = Table.grid(padding=(0, 2))
        for heading, text in zip(headings, line, strict=True):
            block.add_row(heading, text)
        out.print()
        out.print(block)
