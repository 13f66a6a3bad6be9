"""`prepare_files` and `prepare_by` read one file of each party and write all prepared files, or none.

Every file is checked before anything is shared among the parties, which are objects in this process.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from secfc.errors import DataError, each
from secfc.errors.codes import Code
from secfc.field.array_types import Floats
from secfc.prepare.column_transform import Preparation
from secfc.prepare.memory import check_threshold, open_totals
from secfc.prepare.preparation_file import PREPARATION, read_preparation, write_mended, write_preparation
from secfc.prepare.schema import Schema
from secfc.prepare.tables import Checked, read
from secfc.prepare.tables import checked as checked_table
from secfc.protocol.job.thresholds import default_threshold
from secfc.tables.column_names import normal
from secfc.tables.outputs import whole_folder
from secfc.tables.reading import check_ids_differ, party_names
from secfc.tables.sources.csv_file import TEXTS, kind_of
from secfc.tables.sources.own_form import Input, rows_in


@dataclass(frozen=True, kw_only=True)
class PreparedFiles:
    """What `prepare_files` returns: prepared files in the order of the parties, and what all parties know.

    `mended` has `Checked.mended` of each party, which only that party knows.
    """

    files: tuple[Path, ...]
    preparation: Preparation
    summary: Path
    mended: tuple[Mapping[str, Any], ...] = field(repr=False)


def prepare_files(
    files: Sequence[Input],
    schema: Schema,
    *,
    t: int | None = None,
    out: Path,
    id_column: str | None = None,
) -> PreparedFiles:
    """Prepare one file per party, and write all prepared files and `PREPARATION` to `out`, or none.

    Each party also has a file of how many of its values were missing and clipped. All parties run in this
    process. `id_column` is written before the prepared columns. The prepared files of queries are .parquet.
    SecFCError lists the files that do not fit and what is wrong with each.
    """
    t, _ = default_threshold(len(files), t, None)
    check_threshold(len(files), t)
    return _prepare(files, schema, partial(open_totals, schema, t), out=out, id_column=id_column)


def prepare_by(
    files: Sequence[Input],
    summary: Path,
    *,
    out: Path,
    id_column: str | None = None,
) -> PreparedFiles:
    """Prepare files with the statistics of an earlier preparation, whose `PREPARATION` is given.

    No other party takes part. The rest is as in `prepare_files`.
    """
    preparation = read_preparation(summary)
    return _prepare(files, preparation.schema, lambda _: preparation, out=out, id_column=id_column)


def check_files(
    files: Sequence[Input],
    schema: Schema,
    *,
    id_column: str | None = None,
) -> list[tuple[pa.Table, Checked]]:
    """Tables and their agreed columns; nothing is shared. DataError lists what is wrong with all files."""

    def check(file: Input) -> tuple[pa.Table, Checked]:
        table, rows = _checked(file, schema, id_column=id_column)
        if not rows.rows:
            raise DataError(f"{file}: it has no rows", code=Code.TOO_FEW_ROWS)
        check_ids_differ(None if id_column is None else table.column(normal(id_column)), str(file))
        return table, rows

    return each(check, files)


def _checked(path: Input, schema: Schema, *, id_column: str | None) -> tuple[pa.Table, Checked]:
    id_column = normal(id_column) if id_column is not None else None
    table = read(path, schema, as_text=() if id_column is None else (id_column,))
    if id_column in {name for column in schema.columns for name in (column.name, *column.prepared)}:
        raise DataError(f"{path}: column {id_column!r} has the row IDs and is in the schema")
    others = () if id_column is None else (id_column,)
    return table, checked_table(table, schema, name=str(path), others=others)


def _prepare(
    files: Sequence[Input],
    schema: Schema,
    preparation_of: Callable[[Sequence[Checked]], Preparation],
    *,
    out: Path,
    id_column: str | None,
) -> PreparedFiles:
    names, parties = _names(files), party_names(files)
    with whole_folder("--out", out) as draft:
        checked = each(lambda file: _checked(file, schema, id_column=id_column), files)
        preparation = preparation_of([rows for _, rows in checked])
        for file, name, party, (table, rows) in zip(files, names, parties, checked, strict=True):
            prepared = preparation.apply(rows, name=str(file))
            _write_file(draft / name, preparation.names, prepared, table, id_column)
            write_mended(draft, party, rows.mended)
        write_preparation(draft / PREPARATION, preparation)
    return PreparedFiles(
        files=tuple(out / name for name in names),
        preparation=preparation,
        summary=out / PREPARATION,
        mended=tuple(rows.mended for _, rows in checked),
    )


def _write_file(
    path: Path, names: Sequence[str], rows: Floats, table: pa.Table, id_column: str | None
) -> None:
    columns: dict[str, Any] = {} if id_column is None else {id_column: table.column(normal(id_column))}
    for at, name in enumerate(names):
        columns[name] = pa.array(rows[:, at])
    prepared = pa.table(columns)
    if path.suffix == ".csv":
        pyarrow.csv.write_csv(prepared, path)
    else:
        pyarrow.parquet.write_table(prepared, path)


def _names(files: Sequence[Input]) -> list[str]:
    sources = map(rows_in, files)
    csv = [isinstance(rows, Path) and kind_of(rows) in TEXTS for rows in sources]
    return [name + (".csv" if one else ".parquet") for name, one in zip(party_names(files), csv, strict=True)]
