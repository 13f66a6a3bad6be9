"""Reads a party's rows from CSV, Parquet, .npy or a database, and writes labels beside the row IDs.

Each DataError has the file and, if there is one, the column. No error shows a value.
"""

import warnings
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from secfc.errors import ColumnWarning, DataError, all_of, each
from secfc.errors.codes import Code
from secfc.field.array_types import Floats, Ints, Labels
from secfc.sharing.row_checks import as_weights
from secfc.tables.column_names import (
    are_names,
    check_no_index,
    indexes_in,
    is_header,
    left_out,
    normal,
    normal_all,
)
from secfc.tables.ids import id_text
from secfc.tables.rounding import beyond_exact, check_exact, may_be_rounded
from secfc.tables.sources.csv_file import CODES, LARGE, TEXTS, WRITTEN, kind_of, parse_csv, read_csv, stem_of
from secfc.tables.sources.database_blocks import exact_floats
from secfc.tables.sources.own_form import Input, OwnForm, own_name, rows_in
from secfc.tables.sources.query import Query
from secfc.tables.sources.sheet import read_sheet
from secfc.tables.texts import is_number

READERS = (*TEXTS, ".xlsx", ".parquet", ".npy")  # file types by suffix
_WITH_HEADER = (*TEXTS, ".xlsx")  # types whose first line is taken as column names
_CHOOSE = "give it to --id or --drop, or name all columns with --columns"
_UNSURE = b"unsure"  # mark in a table's metadata: its names may be values and are not shown
_FEWEST_NUMBERED = 10  # with fewer rows, numbers in equal steps may be a coincidence


@dataclass(frozen=True, kw_only=True)
class Table:
    """The rows of a file or query."""

    path: Input  # source of the rows
    columns: tuple[str, ...]  # names of the clustered columns, in order; positions for .npy
    rows: Floats = field(repr=False)  # shape (m, d)
    ids: pa.ChunkedArray | None = field(default=None, repr=False)  # written beside the labels
    id_name: str = "row"  # name of the ID column
    weights: Ints | None = field(default=None, repr=False)  # how many times each row counts
    described: pa.Table | None = field(default=None, repr=False)  # columns that are not clustered
    written: str = ""  # the format of a text file, if it is unusual


def read_table(
    path: Input,
    *,
    columns: Sequence[str] = (),
    drop: Sequence[str] = (),
    id_column: str | None = None,
) -> Table:
    """Read one party's rows, without comparing columns with those of other parties."""
    as_text = [id_column] if id_column else []
    table = load_table(path, as_text=as_text, named=[*columns, *drop])
    named = bool(columns)
    return chosen_columns(table, path=path, columns=columns, drop=drop, id_column=id_column, named=named)


def chosen_columns(
    table: pa.Table,
    *,
    path: Input,
    columns: Sequence[str] = (),
    drop: Sequence[str] = (),
    id_column: str | None = None,
    weight_column: str | None = None,
    describe: Sequence[str] = (),
    ranges: Mapping[str, tuple[float, float]] | None = None,
    named: bool = True,
) -> Table:
    """The columns of a table that are clustered.

    These are `columns` in this order, or positions ("0", "1") for .npy. By default they are all columns
    except `drop`, `describe`, `weight_column` and `id_column`, which is written beside the labels. With
    `ranges` the values of each column must lie in its range. Unless the columns were `named` by the user, a
    column that looks like an identifier is refused. One DataError has every column that is wrong, by its
    position if names may be values.
    """
    columns, drop = normal_all(columns), normal_all(drop)
    id_column = normal(id_column) if id_column else None
    weight_column = normal(weight_column) if weight_column else None
    describe = normal_all(describe)
    found, ids = table.column_names, [*(one for one in (id_column, weight_column) if one), *describe]
    counts = Counter(found)
    wrong: list[DataError] = []
    missing = [name for name in dict.fromkeys((*columns, *drop, *ids)) if name not in counts]
    if missing:
        wrong.append(no_column(path, missing, table))
    wrong += [
        DataError(
            f"{path}: two columns have {'one' if _is_unsure(table) else 'the'} name"
            f"{'' if _is_unsure(table) else f' {name!r}'}",
            code=Code.REPEATED_COLUMN,
        )
        for name, count in counts.items()
        if count > 1
    ]
    wrong += [
        DataError(f"{path}: column {name!r} is chosen twice", code=Code.REPEATED_COLUMN)
        for name, count in Counter(columns).items()
        if count > 1
    ]
    chosen = tuple(name for name in (columns or found) if name not in {*drop, *ids})
    if not chosen:
        raise DataError(f"{path}: no column is left to cluster", code=Code.NO_COLUMN)
    rows, codes = np.empty((table.num_rows, len(chosen))), codes_of(table)
    in_silence, indexes = not named and not _has_places(path), indexes_in(table.schema)
    for at, name in enumerate(chosen):
        if counts[name] != 1:
            continue
        where = f"{path}: column {_shown(table, name)}"
        try:
            if in_silence:
                check_no_index(name, found.index(name), where=str(path), hint=_CHOOSE)
                if name in indexes:
                    raise DataError(f"{where} is the index of a DataFrame; {_CHOOSE}", code=Code.EXTRA_COLUMN)
            rows[:, at] = _numbers(table.column(name), where, by=" (--drop, --id)" if in_silence else "")
            if in_silence:
                _check_no_identifier(rows[:, at], where, is_code=bool(name) and name in codes)
            if ranges is not None:
                _check_range(rows[:, at], ranges[name], where)
        except DataError as error:
            wrong.append(error)
    weights = None
    if weight_column and counts[weight_column] == 1:
        try:
            weights = weights_in(table, weight_column, path)
        except DataError as error:
            wrong.append(error)
    if wrong:
        raise all_of(wrong)
    return Table(
        path=path,
        weights=weights,
        described=table.select(describe) if describe else None,
        columns=chosen,
        rows=rows,
        ids=table.column(id_column) if id_column else None,
        id_name=id_column or "row",
        written=written_of(table),
    )


def weights_in(table: pa.Table, name: str, path: Input | str) -> Ints:
    """The column of weights of a table: integers of at least 1."""
    column = table.column(name)
    if len(column) and (not pa.types.is_integer(column.type) or column.null_count):
        raise DataError(
            f"{path}: column {_shown(table, name)} of weights is not one of whole numbers ({column.type})",
            code=Code.BAD_WEIGHTS,
        )
    return as_weights(column.to_numpy() if len(column) else [], name=str(path), m=table.num_rows)


def _told(table: pa.Table, key: bytes) -> str:
    found: bytes = (table.schema.metadata or {}).get(key, b"")
    return found.decode()


def codes_of(table: pa.Table) -> list[str]:
    """The columns of the table's text file that have values such as 007."""
    return _told(table, CODES).split("\n")


def written_of(table: pa.Table) -> str:
    """The format of the table's text file, if it is unusual."""
    return _told(table, WRITTEN)


def no_column(path: Input | str, names: Sequence[str], table: pa.Table) -> DataError:
    """The error for columns that a table does not have."""
    missing = ", ".join(repr(own_name(table, name)) for name in names)
    found = ", ".join(own_name(table, name) for name in table.column_names)
    if _is_unsure(table):
        found = f"{table.num_columns} columns, and a first line that may be no header"
    return DataError(f"{path}: no column {missing}; it has {found}", code=Code.MISSING_COLUMN)


def _is_unsure(table: pa.Table) -> bool:
    return _UNSURE in (table.schema.metadata or {})


def _shown(table: pa.Table, name: str) -> str:
    """A column of a table in errors: its name or, if that may be a value, its position, from 1."""
    return str(table.column_names.index(name) + 1) if _is_unsure(table) else repr(own_name(table, name))


def read_tables(
    paths: Sequence[Input],
    *,
    columns: Sequence[str] = (),
    drop: Sequence[str] = (),
    id_column: str | None = None,
    weight_column: str | None = None,
    describe: Sequence[str] = (),
) -> list[Table]:
    """Read every party's file, by default the columns of the first file in its order."""
    drop = normal_all(drop)
    not_clustered = {
        *drop,
        *normal_all(describe),
        *(normal(one) for one in (id_column, weight_column) if one),
    }
    as_text = [id_column] if id_column else []
    named = [*columns, *drop, *describe, *([weight_column] if weight_column else [])]
    loaded = each(lambda path: load_table(path, as_text=as_text, named=named), paths)
    for name in drop:
        if not any(name in table.column_names for table in loaded):
            raise no_column(paths[0], [name], loaded[0])
    chosen = list(columns)
    if not columns:
        held = [[name for name in table.column_names if name not in not_clustered] for table in loaded]
        if any(map(_has_places, paths)):
            _check_places(paths, held)
        chosen, of_files = held[0], [(str(path), names) for path, names in zip(paths, held, strict=True)]
        unsure = [str(path) for path, table in zip(paths, loaded, strict=True) if _is_unsure(table)]
        if told := left_out(of_files, hint="; --drop leaves columns out", unsure=unsure):
            warnings.warn(told, ColumnWarning, stacklevel=2)

    def converted(path: Input) -> Table:
        table = loaded.pop(0)  # frees its memory before the next one is converted
        dropped = [name for name in drop if name in table.column_names]
        return chosen_columns(
            table,
            path=path,
            columns=chosen,
            drop=dropped,
            id_column=id_column,
            weight_column=weight_column,
            describe=describe,
            named=bool(columns),
        )

    return each(converted, paths)


def _has_places(path: Input) -> bool:
    rows = rows_in(path)
    return isinstance(rows, Path) and kind_of(rows) == ".npy"


def _check_places(paths: Sequence[Input], held: Sequence[Sequence[str]]) -> None:
    for path, names in zip(paths, held, strict=True):
        if len(names) != len(held[0]):
            raise DataError(f"{path}: {len(names)} columns, {paths[0]} has {len(held[0])}")


def party_names(paths: Sequence[Input]) -> list[str]:
    """The party's name for each input: its stem, with its position if two stems are equal."""
    stems = [stem_of(path) if isinstance(path, Path) else path.stem for path in paths]
    numbered = [f"{stem}-{at}" for at, stem in enumerate(stems, start=1)]
    names = [stem if stems.count(stem) == 1 else other for stem, other in zip(stems, numbered, strict=True)]
    return names if len(set(names)) == len(names) else numbered  # x.csv, y/x.csv and x-1.csv


def row_ids(tables: Sequence[Table]) -> list[list[Any]]:
    """The ID column of every party; IDs become text if files have different types."""
    held = [None if table.ids is None or not table.rows.size else table.ids for table in tables]
    alike = len({ids.type for ids in held if ids is not None}) <= 1
    return [
        []
        if ids is None
        else id_values(ids)
        if alike
        else [id_text(one, name=str(table.path), number=at) for at, one in enumerate(id_values(ids))]
        for table, ids in zip(tables, held, strict=True)
    ]


def id_values(ids: pa.ChunkedArray) -> list[Any]:
    """IDs as Python values; floats as those of NumPy, since a float32 has fewer exact whole numbers."""
    return list(ids.to_numpy()) if pa.types.is_floating(ids.type) else ids.to_pylist()


def check_ids_differ(ids: pa.ChunkedArray | None, name: str) -> None:
    """Raise DataError, with the numbers of rows, if an ID is in several rows."""
    if ids is None:
        return
    first: dict[Any, int] = {}
    for row, one in enumerate(ids.to_pylist()):
        before = first.setdefault(one, row)
        if before != row:
            raise DataError(f"{name}: rows {before} and {row} have one ID", code=Code.BAD_ID)


def row_weights(tables: Sequence[Table]) -> list[Ints] | None:
    """The weights of every party, None if tables have none."""
    held = [table.weights for table in tables if table.weights is not None]
    return held or None


def write_labels(path: Path | BytesIO, table: Table, labels: Labels) -> None:
    """Write a CSV file with a line per row: its ID, or its number from 0, and its label."""
    ids = pa.array(np.arange(labels.size)) if table.ids is None else table.ids
    name = "cluster" if table.id_name == "label" else "label"
    pyarrow.csv.write_csv(pa.table({table.id_name: ids, name: pa.array(labels)}), path)


def read_labels(path: Path, table: Table) -> Labels:
    """Read the labels that `write_labels` wrote for the rows of a table, shape (m,)."""
    read = load_table(path, as_text=[table.id_name])
    if read.num_columns != 2 or read.column_names[0] != table.id_name:
        needed = f"columns {table.id_name!r} and 'label' are needed, and no other"
        raise DataError(f"{path}: {needed}", code=Code.BAD_LABELS)
    if read.num_rows != table.rows.shape[0]:
        counts = f"{read.num_rows} labels, {table.path} has {table.rows.shape[0]} rows"
        raise DataError(f"{path}: {counts}", code=Code.BAD_LABELS)
    if not read.num_rows:
        return np.zeros(0, dtype=np.int32)
    column = read.column(1)
    if not pa.types.is_integer(column.type) or column.null_count:
        raise DataError(f"{path}: column {read.column_names[1]!r} is not of integers", code=Code.BAD_LABELS)
    within = np.clip(column.to_numpy(), -(1 << 31), (1 << 31) - 1)  # fits int32; valid labels are not changed
    labels: Labels = within.astype(np.int32)
    written = BytesIO()
    write_labels(written, table, labels)
    if not parse_csv(pa.BufferReader(written.getbuffer()), [table.id_name]).column(0).equals(read.column(0)):
        raise DataError(
            f"{path}: its IDs are not those of {table.path}, or in another order", code=Code.BAD_ID
        )
    return labels


def write_centres(path: Path, columns: Sequence[str], centres: Floats | Ints) -> None:
    """Write a CSV file with a line per cluster: its number from 0 and its mean, or spread, in each column."""
    name = "label" if "cluster" in columns else "cluster"
    numbers = {column: pa.array(centres[:, at]) for at, column in enumerate(columns)}
    pyarrow.csv.write_csv(pa.table({name: pa.array(np.arange(len(centres)))} | numbers), path)


def load_table(path: Input, *, as_text: Sequence[str] = (), named: Sequence[str] = ()) -> pa.Table:
    """All columns of a party's rows, with names in normal form (`secfc.tables.column_names`).

    Columns in `as_text` are read from a .csv file as text, so "007" differs from "7". `as_text` and other
    names that the user has `named` help to decide whether the first line is a header. If nothing decides it,
    no error shows its names.
    """
    form = path if isinstance(path, OwnForm) else OwnForm(rows=path)
    texts, path = form.own_names([*as_text, *form.values, *form.dates]), form.rows
    table = _loaded(form, texts)
    if isinstance(path, Path) and _has_first_line(path) and not are_names(table.column_names):
        # Names are not shown, because they may be the values of the first row.
        raise DataError(
            f"{path}: its first line has numbers where names of columns are expected; a header is needed",
            code=Code.UNREADABLE_FILE,
        )
    told, large = table.schema.metadata, _told(table, LARGE).split("\n")
    table = table.rename_columns(normal_all(table.column_names))
    if _has_first_line(path):
        # A repeated word may be a mark for missing numbers; DuckDB renames repeated columns.
        once = isinstance(path, Path) and len(set(table.column_names)) == table.num_columns
        names = {
            name: once and (pa.types.is_integer(kind) or pa.types.is_floating(kind) or name in large)
            for name, kind in zip(table.column_names, table.schema.types, strict=True)
        }
        asked = path.names if isinstance(path, Query) else ()
        if not is_header(names, [*texts, *form.own_names([*named, *form.columns, *form.factors]), *asked]):
            told = {**(told or {}), _UNSURE: b""}
    table = form.agreed(table.replace_schema_metadata(told), as_text=as_text)
    changed = (*form.values, *form.dates, *form.factors)
    if missing := [name for name in changed if name not in table.column_names]:
        raise no_column(form, missing, table)
    return table


def _has_first_line(path: Path | Query) -> bool:
    if isinstance(path, Query):
        return path.origin.kind == "file" and kind_of(path.origin.path or Path()) in TEXTS
    return kind_of(path) in _WITH_HEADER


def _loaded(form: OwnForm, as_text: Sequence[str]) -> pa.Table:
    path = form.rows
    if isinstance(path, Query):
        return path.read()
    if not path.is_file():
        raise DataError(
            f"{path}: a folder, not a file" if path.is_dir() else f"{path}: no such file",
            code=Code.MISSING_FILE,
        )
    kind = kind_of(path)
    try:
        if kind in TEXTS:
            return read_csv(path, as_text=as_text, given=form.given)
        if kind == ".xlsx":
            return read_sheet(path, form.sheet)
        if kind == ".parquet":
            return pyarrow.parquet.read_table(path)
        if kind == ".npy":
            return _from_array(path)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError, EOFError, zlib.error):
        # The reader's own text may quote the file.
        raise DataError(f"{path}: not a readable {kind} file", code=Code.UNREADABLE_FILE) from None
    raise DataError(
        f"{path}: unknown file type {kind!r}; {', '.join(READERS)} are read", code=Code.UNREADABLE_FILE
    )


def _check_range(values: Floats, ends: tuple[float, float], where: str) -> None:
    low, high = ends
    beyond = np.flatnonzero((values < low) | (values > high))
    if beyond.size:
        raise DataError(
            f"{where} has {beyond.size} values outside the job's range [{low!r}, {high!r}], "
            f"the first in row {beyond[0]}",
            code=Code.OUT_OF_RANGE,
        )


def _check_no_identifier(values: Floats, where: str, *, is_code: bool) -> None:
    if is_code or are_row_numbers(values):
        why = "leading zeros" if is_code else "numbers in equal steps, each once"
        raise DataError(
            f"{where} looks like an identifier ({why}); {_CHOOSE}",
            code=Code.EXTRA_COLUMN,
        )


def are_row_numbers(values: Floats) -> bool:
    """Whether values are numbers in equal steps such as 1 or 0.5, each once, in any order."""
    if values.size < _FEWEST_NUMBERED:
        return False
    ordered = np.sort(values)
    step = (ordered[-1] - ordered[0]) / (values.size - 1)
    steps = ordered[0] + step * np.arange(values.size)
    rounding = 4 * np.spacing(np.abs(ordered[[0, -1]]).max())  # of decimals such as 0.1 and of `steps`
    return bool(step > 0 and np.abs(ordered - steps).max() <= min(rounding, step / 4))


def _from_array(path: Path) -> pa.Table:
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError):
        raise DataError(f"{path}: not a .npy file of numbers", code=Code.UNREADABLE_FILE) from None
    if not isinstance(array, np.ndarray) or array.ndim != 2:
        raise DataError(f"{path}: an array of shape (rows, columns) is needed", code=Code.UNREADABLE_FILE)
    if array.dtype.kind not in "buif":
        raise DataError(f"{path}: numbers are needed, dtype {array.dtype} was found", code=Code.NOT_A_NUMBER)
    return pa.table({str(at): pa.array(np.ascontiguousarray(array[:, at])) for at in range(array.shape[1])})


def _numbers(column: pa.ChunkedArray, where: str, *, by: str) -> Floats:
    """The column's values; errors say `by` which options a column is left out."""
    kind = column.type
    if pa.types.is_null(kind) and not len(column):  # a file without rows has no types
        return np.zeros(0)
    if column.null_count:
        first = pc.index(column.is_null(), True).as_py()
        raise DataError(
            f"{where} has {column.null_count} missing values, the first in row {first}",
            code=Code.MISSING_VALUE,
        )
    if pa.types.is_decimal(kind):
        numbers: Floats = exact_floats(column.to_pylist(), where).to_numpy(zero_copy_only=False)
    elif pa.types.is_integer(kind):
        whole = column.to_numpy()
        check_exact(np.flatnonzero(may_be_rounded(whole)), where)
        numbers = whole.astype(np.float64)
    elif pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        numbers = column.to_numpy().astype(np.float64)
    else:
        if pa.types.is_string(kind):  # a text file's column stays text if float64 would round it
            texts = column.to_pylist()
            if all(is_number(text.replace(",", ".", 1)) for text in texts):
                check_exact(beyond_exact(texts), where)
        raise DataError(
            f"{where} is not numeric ({kind}){_no_numbers(column)}; leave it out{by} or encode it",
            code=Code.NOT_A_NUMBER,
        )
    bad = np.flatnonzero(~np.isfinite(numbers))
    if bad.size:
        raise DataError(
            f"{where} has {bad.size} NaN or infinite values, the first in row {bad[0]}",
            code=Code.MISSING_VALUE,
        )
    return numbers


def _no_numbers(column: pa.ChunkedArray) -> str:
    """The position of texts in a column that otherwise holds numbers; empty if no text is a number."""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return ""
    texts = column.to_pylist()
    bad = [at for at, text in enumerate(texts) if not is_number(text)]
    if not bad:
        return ": decimal points, where another column has commas"
    if len(bad) == len(texts):
        return "" if not all(is_number(text.replace(",", ".", 1)) for text in texts) else ": decimal commas"
    return f": {len(bad)} of {len(texts)} values are no numbers, the first in row {bad[0]}"
