"""`secfc choose-k`: files in, a table of numbers of clusters out."""

import json
from pathlib import Path

from rich.table import Table

from secfc.choose import HEADINGS, choose_members
from secfc.cli.inputs import members_of
from secfc.cli.options import Choosing, names_of
from secfc.cli.render import console, faults_line, log_file, our_warnings, threshold_line
from secfc.errors import ParameterError
from secfc.tables import read_tables, row_ids


def print_choice(files: list[Path], ks: range, options: Choosing, *, plot: Path | None) -> None:
    """Compare and print.

    Raises
    ------
    SecFCError
        Nothing has been printed then.
    """
    if plot is not None:
        _require_matplotlib()  # not after minutes of work
    options.check()
    tables = read_tables(
        files,
        columns=names_of(options.columns),
        drop=names_of(options.drop),
        id_column=options.id_column,
    )
    with our_warnings(), log_file(options.log):
        ids = row_ids(tables) if options.membership else None
        choice = choose_members(members_of(tables), ks, ids=ids, **options.arguments())
    if plot is not None:
        choice.plot(plot)
    if options.as_json:
        print(json.dumps(choice.to_dict(), indent=2, allow_nan=False))
        return
    table = Table(title="Numbers of clusters, compared on one sharing", title_justify="left")
    for heading in HEADINGS:
        table.add_column(heading, justify="right")
    for row in choice.rows():
        table.add_row(*row)
    out = console()
    out.print(threshold_line(choice.job))
    faults_line(out, choice.faults, list(map(str, files)))
    out.print(table)
    knee = "there is no knee" if choice.knee is None else f"the knee of the inertia is at k = {choice.knee}"
    out.print(f"* best of its column; the silhouette is best at k = {choice.best}, {knee}")


def _require_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401, PLC0415
    except ImportError:
        raise ParameterError("--plot: matplotlib is needed, pip install 'secfc[plots]'") from None
