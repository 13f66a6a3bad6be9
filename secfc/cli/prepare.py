"""`secfc prepare`: files and a schema in, prepared files and opened statistics out, whole or not at all."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from secfc.cli.endings import plain_endings
from secfc.cli.render import console
from secfc.errors import DataError, ParameterError


def prepare(
    files: Annotated[list[Path], typer.Argument(help="One file per party: .csv with a header, or .parquet.")],
    schema: Annotated[Path, typer.Option("--schema", help="The agreed schema, a TOML file.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the prepared files; must not hold anything.")
    ] = None,
    t: Annotated[
        int, typer.Option("--t", help="Colluding parties that learn totals alone; 2t + 1 are needed.")
    ] = 4,
    drop: Annotated[str, typer.Option(help="Columns to leave out, separated by commas.")] = "",
    id_column: Annotated[
        str | None, typer.Option("--id", help="Column of row IDs: written beside the prepared columns.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Only check the files against the schema; nothing is shared.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON, not tables.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Check files against a schema and prepare all alike; means and deviations are opened as totals alone."""
    with plain_endings():
        dropped = [name.strip() for name in drop.split(",") if name.strip()]
        if check:
            _check(files, schema, id_column=id_column, drop=dropped, quiet=quiet)
        elif out is None:
            raise ParameterError("--out: name a folder for the prepared files, or --check the files only")
        else:
            _prepare(
                files, schema, t=t, out=out, id_column=id_column, drop=dropped, as_json=as_json, quiet=quiet
            )


def _check(files: list[Path], schema: Path, *, id_column: str | None, drop: list[str], quiet: bool) -> None:
    """Each file by itself: what a data manager does before anybody else is asked."""
    from secfc.prepare import Schema  # noqa: PLC0415
    from secfc.prepare.party import checked_file  # noqa: PLC0415

    agreed, fits, problems = Schema.read(schema), [], []
    for file in files:
        try:
            _, checked = checked_file(file, agreed, id_column=id_column, drop=drop)
            fits.append((file, checked))
        except DataError as error:
            problems.append(str(error))
    if problems:
        raise DataError("\n".join(problems))
    for file, checked in [] if quiet else fits:
        console().print(_line(str(file), checked.rows, checked.missing, checked.clipped), markup=False)


def _line(name: str, rows: int, missing: dict[str, int], clipped: dict[str, int]) -> str:
    """A file in a line: its rows, and by column what was mended."""
    mended = [f"{count} missing in {column!r}" for column, count in missing.items()]
    mended += [f"{count} clipped in {column!r}" for column, count in clipped.items()]
    return f"{name}: {rows} rows fit{'; ' if mended else ''}{', '.join(mended)}"


def _prepare(
    files: list[Path],
    schema: Path,
    *,
    t: int,
    out: Path,
    id_column: str | None,
    drop: list[str],
    as_json: bool,
    quiet: bool,
) -> None:
    from secfc.prepare import Schema  # noqa: PLC0415
    from secfc.prepare.files import SUMMARY, prepare_files  # noqa: PLC0415

    agreed = Schema.read(schema)
    done = prepare_files(files, agreed, t=t, out=out, id_column=id_column, drop=drop)
    if as_json:
        print(json.dumps(json.loads((out / SUMMARY).read_text(encoding="utf-8")), indent=2))
        return
    if quiet:
        return
    console_ = console()
    for file, mended in zip(files, done.mended, strict=True):
        console_.print(_line(str(file), **mended), markup=False)
    if done.preparation.statistics:
        table = Table(title="Opened, as totals of all parties", title_justify="left")
        for heading in ("column", "parties", "values", "mean", "deviation"):
            table.add_column(heading, justify="left" if heading == "column" else "right")
        for name, one in done.preparation.statistics.items():
            table.add_row(name, str(one.holders), str(one.count), f"{one.mean:.6g}", f"{one.deviation:.6g}")
        console_.print(table)
    names = " ".join(str(file) for file in done.files)
    options = f"--id {id_column} " if id_column is not None else ""
    options += f"--t {t} --ell 1 --bound {done.preparation.bound!r} -k K --out FOLDER"
    console_.print(f"Next: secfc run {names} {options}", markup=False, soft_wrap=True)
