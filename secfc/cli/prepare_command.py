"""`secfc prepare`: reads files and a schema, and writes prepared files and opened statistics."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.table import Table

from secfc.cli.command_options import Dropped, Queries, Urls, names_of
from secfc.cli.endings import scripted
from secfc.cli.grouped import grouped
from secfc.cli.render import console, plain, say
from secfc.errors import ParameterError
from secfc.tables.number_texts import number_text
from secfc.tables.sources.text_format import TextFormat

if TYPE_CHECKING:
    from secfc.prepare.prepared_files import PreparedFiles
    from secfc.tables.sources.own_form import Input


@scripted
@grouped
def prepare(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="One file per party: .csv, .tsv (or .gz of these), .xlsx, .parquet, or a site file (.toml)."
        ),
    ] = None,
    urls: Urls = None,
    queries: Queries = None,
    schema: Annotated[Path | None, typer.Option("--schema", help="The agreed schema, a TOML file.")] = None,
    by: Annotated[
        Path | None,
        typer.Option(
            "--by",
            help="Instead of --schema: the preparation.json of an earlier preparation; no other party takes "
            "part.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the prepared files; must be new or empty.")
    ] = None,
    t: Annotated[
        int | None,
        typer.Option(
            "--t",
            help="Number of parties that learn only totals even if they collude; 2t + 1 parties are needed. "
            "By default as for secfc run.",
        ),
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", help="Column of row IDs; it is written beside the prepared columns.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Only check the files; share and write nothing.")
    ] = False,
    draft: Annotated[
        bool, typer.Option("--draft", help="Only print a draft of a schema, guessed from one file.")
    ] = False,
    drop: Dropped = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
    *,
    given: TextFormat,
) -> dict[str, Any] | None:
    """Check files against a schema and prepare all alike; means and deviations are opened only as totals."""
    from secfc.cli.inputs import sources
    from secfc.prepare import Schema
    from secfc.prepare.preparation_file import public_part, read_preparation
    from secfc.prepare.prepared_files import check_files, prepare_by, prepare_files
    from secfc.protocol.job.thresholds import default_threshold

    if draft:
        return _draft(sources(files or [], urls or [], queries or [], given), names_of(drop))
    if drop:
        raise ParameterError("--drop: only with --draft; a column that the schema does not list is not used")
    if (schema is None) == (by is None):
        raise ParameterError("--schema: name a schema, or an earlier preparation with --by")
    if out is None and not check:
        raise ParameterError("--out: name a folder for the prepared files, or --check the files only")
    parties = sources(files or [], urls or [], queries or [], given)
    agreed = Schema.read(schema) if schema is not None else read_preparation(cast(Path, by)).schema
    if check or out is None:
        checked = check_files(parties, agreed, id_column=id_column)
        if not quiet:
            _show_files(parties, [rows.mended for _, rows in checked])
        return None
    t, _ = default_threshold(len(parties), t, None)
    if by is not None:
        done = prepare_by(parties, by, out=out, id_column=id_column)
    else:
        done = prepare_files(parties, agreed, t=t, out=out, id_column=id_column)
    if not quiet:
        _show_files(parties, done.mended)
        _show(done, opened=by is None, t=t, id_column=id_column)
    return public_part(done.preparation)


def _draft(parties: "list[Input]", drop: Sequence[str]) -> dict[str, Any]:
    from secfc.prepare.draft import draft_schema

    if len(parties) != 1:
        raise ParameterError(f"--draft: one file is needed, {len(parties)} were given")
    draft = draft_schema(parties[0], drop=drop)
    plain(draft)
    return {"draft": draft}


def _show_files(files: "list[Input]", mended: Sequence[Mapping[str, Any]]) -> None:
    for file, one in zip(files, mended, strict=True):
        say(_line(str(file), **one))


def _line(
    name: str, rows: int, missing: dict[str, int], clipped: dict[str, int], unlisted: Sequence[str]
) -> str:
    """A line about a file: its rows, changed values by column, and columns that are not in the schema."""
    mended = [f"{count} missing in {column!r}" for column, count in missing.items()]
    mended += [f"{count} clipped in {column!r}" for column, count in clipped.items()]
    mended += [f"not in the schema and not used: {', '.join(map(repr, unlisted))}"] if unlisted else []
    return f"{name}: {rows} rows fit{'; ' if mended else ''}{', '.join(mended)}"


def _show(done: "PreparedFiles", *, opened: bool, t: int, id_column: str | None) -> None:
    """Print what all parties know, and the next command."""
    from secfc.prepare import Mode

    if done.preparation.statistics and opened:
        table = Table(title="Opened, as totals of all parties", title_justify="left")
        centre = "mean, median or mode"
        for heading in ("column", "parties", "values", centre, "deviation or interquartile range"):
            table.add_column(heading, justify="left" if heading == "column" else "right")
        for name, one in done.preparation.statistics.items():
            logs = {column.name for column in done.preparation.schema.columns if column.log}
            shown = f"{name} (log)" if name in logs else name
            known = (one.mode, "") if isinstance(one, Mode) else (one.centre, one.unit)
            texts = [text if isinstance(text, str) else number_text(text, 6) for text in known]
            table.add_row(shown, str(one.holders), str(one.count), *texts)
        console().print(table)
    names = " ".join(str(file) for file in done.files)
    options = f"--id {id_column} " if id_column is not None else ""
    options += f"--t {t} --ell 1 --prepared {done.summary} -k K --out FOLDER"
    if opened:
        say(f"Next: secfc run {names} {options}")
