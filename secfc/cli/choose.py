"""`secfc choose-k`: files in, a table of numbers of clusters out."""

import json
from pathlib import Path
from typing import Any

from rich.table import Table

from secfc.choose import HEADINGS, choose_members
from secfc.cli.render import console, our_warnings, threshold_line
from secfc.errors import ParameterError
from secfc.parties import as_parties
from secfc.tables import read_tables, row_ids


def print_choice(
    *,
    files: list[Path],
    ks: range,
    columns: tuple[str, ...],
    drop: tuple[str, ...],
    id_column: str | None,
    membership: bool,
    plot: Path | None,
    as_json: bool,
    **arguments: Any,
) -> None:
    """Compare and print.

    Raises
    ------
    SecFCError
        Nothing has been printed then.
    """
    if plot is not None:
        _require_matplotlib()  # not after minutes of work
    if membership and id_column is None:
        raise ParameterError("--membership: --id must name the column of row IDs")
    tables = read_tables(files, columns=columns, drop=drop, id_column=id_column)
    members = as_parties([table.rows for table in tables], names=[str(table.path) for table in tables])
    with our_warnings():
        ids = row_ids(tables) if membership else None
        choice = choose_members(members, ks, ids=ids, **arguments)
    if plot is not None:
        choice.plot(plot)
    if as_json:
        print(json.dumps(choice.to_dict(), indent=2, allow_nan=False))
        return
    table = Table(title="Numbers of clusters, compared on one sharing", title_justify="left")
    for heading in HEADINGS:
        table.add_column(heading, justify="right")
    for row in choice.rows():
        table.add_row(*row)
    out = console()
    out.print(threshold_line(choice.job))
    out.print(table)
    knee = "there is no knee" if choice.knee is None else f"the knee of the inertia is at k = {choice.knee}"
    out.print(f"* best of its column; the silhouette is best at k = {choice.best}, {knee}")


def _require_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401, PLC0415
    except ImportError:
        raise ParameterError("--plot: matplotlib is needed, pip install 'secfc[plots]'") from None
