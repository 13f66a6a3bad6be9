"""Check a party's table against the schema before it is used. Error texts never show a value.

One error lists everything that is wrong, with the column and the first row, so the user can correct it all.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from secfc.errors import DataError
from secfc.errors.codes import Code
from secfc.field.array_types import Bools, Floats, Ints
from secfc.field.fixed_point import off_step
from secfc.prepare.schema import Column, Schema
from secfc.tables.column_names import normal_all
from secfc.tables.reading import load_table
from secfc.tables.rounding import EXACT, is_beyond_exact
from secfc.tables.site_rows import given_input
from secfc.tables.sources.csv_file import DECIMAL
from secfc.tables.sources.own_form import Input, own_name
from secfc.tables.sources.text_format import FOUND
from secfc.tables.texts import MISSING, is_missing

_ROUNDED = "exact numbers beyond 2^53, which float64 would round"
_MISSING, _UNKNOWN = -1, -2
"""Codes in place of the position of a category."""


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A party's agreed columns, by name; arrays have shape (rows,)."""

    rows: int
    numbers: dict[str, Floats] = field(repr=False)  # in the range, or its logarithms; nan: missing
    categories: dict[str, Ints] = field(repr=False)  # position in the agreed list; -1: missing
    clipped: dict[str, int]  # how many values were moved to an end of the range, for columns with some
    missing: dict[str, int]  # how many are missing, likewise
    unlisted: tuple[str, ...] = field(default=(), repr=False)  # the party's other columns, which are not used
    counts_missing: bool = False  # missing values are counted, whatever the schema says of them

    @property
    def mended(self) -> dict[str, Any]:
        """Numbers of rows, of missing and of clipped values, and unlisted columns, to show to the party."""
        return {
            "rows": self.rows,
            "missing": self.missing,
            "clipped": self.clipped,
            "unlisted": self.unlisted,
        }


def read(path: Input, schema: Schema, *, as_text: Sequence[str] = ()) -> pa.Table:
    """The table of a party's file or query. In a CSV file the agreed columns and `as_text` stay text."""
    names = [column.name for column in schema.columns]
    return load_table(path, as_text=[*names, *as_text])


def read_rows(path: str | os.PathLike[str], schema: Schema | None = None) -> pa.Table:
    """A party's rows, read as commands read them: from its site file (.toml), or from a file of rows.

    Columns have the agreed names, units and texts. `secfc.Prepare` takes the table, read with its schema, by
    which codes such as 007 stay texts; `secfc.run` takes its ``.to_pandas()``.
    """
    given = given_input(Path(path), FOUND)
    return load_table(given) if schema is None else read(given, schema)


def as_table(given: Any, name: str) -> pa.Table:
    """A party's table from memory: pyarrow.Table, DataFrame (pandas or Polars) or values by column name."""
    if isinstance(given, pa.Table):
        return given.rename_columns(normal_all(given.column_names))
    if not isinstance(given, Mapping) and not hasattr(given, "columns"):
        raise DataError(f"{name}: a DataFrame or a mapping is needed, {type(given).__name__} was given")
    columns: list[pa.ChunkedArray] = []
    found = list(given.columns if hasattr(given, "columns") else given)
    for column in found:
        if not isinstance(column, str):
            raise DataError(f"{name}: names of columns are texts, {type(column).__name__} was found")
        values = given[column]
        if hasattr(values, "to_arrow"):
            columns.append(pa.chunked_array([values.to_arrow()]))
            continue
        try:
            columns.append(pa.chunked_array([pa.array(values, from_pandas=True)]))
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError, TypeError):
            raise DataError(f"{name}: column {column!r} has values of several types") from None
    if len({len(values) for values in columns}) > 1:
        raise DataError(f"{name}: its columns have different lengths")
    return pa.table(columns, names=normal_all(found))


def checked(
    table: pa.Table, schema: Schema, *, name: str, others: Sequence[str] = (), counts_missing: bool = False
) -> Checked:
    """The agreed columns of a party's table. `others`, such as row IDs, must exist but are not prepared.

    Columns that are described have missing values that are counted, not refused.
    """
    problems = _problems_of_names(table, schema, others)
    listed = {*(column.name for column in schema.columns), *others}
    unlisted = tuple(name for name in dict.fromkeys(table.column_names) if name not in listed)
    done = Checked(
        rows=table.num_rows,
        numbers={},
        categories={},
        clipped={},
        missing={},
        unlisted=unlisted,
        counts_missing=counts_missing,
    )
    commas = (table.schema.metadata or {}).get(DECIMAL) == b","
    for column in schema.columns:
        if table.column_names.count(column.name) == 1:
            check = _take_categories if column.categories else _take_numbers
            values = table.column(column.name)
            if commas and not column.categories and pa.types.is_string(values.type):
                # With decimal commas "1.234" may mean 1234, so it is not accepted as a number.
                values = pc.replace_substring(pc.replace_substring(values, ".", "?"), ",", ".")
            where = f"column {own_name(table, column.name)!r}"
            check(values, column, where, done, lambda *found: problems.append(found))
    if problems:
        several = f"{len(problems)} errors\n  " if len(problems) > 1 else ""
        texts = "\n  ".join(text for _, text in problems)
        raise DataError(f"{name}: {several}{texts}", code=problems[0][0])
    return done


_Tell = Callable[[Code, str], None]


def _problems_of_names(table: pa.Table, schema: Schema, others: Sequence[str]) -> list[tuple[Code, str]]:
    agreed, found = [column.name for column in schema.columns], table.column_names
    own = [own_name(table, one) for one in agreed if one not in found]
    missing = [f"no column {one!r}; the schema needs it" for one in own]
    missing += [f"no column {one!r}" for one in others if one not in found]
    repeated = [f"column {one!r} is there twice" for one in (*agreed, *others) if found.count(one) > 1]
    return [
        *((Code.MISSING_COLUMN, text) for text in missing),
        *((Code.REPEATED_COLUMN, text) for text in repeated),
    ]


def _rows(what: Bools, text: str) -> str:
    return f"{what.sum()} {text}, the first in row {int(what.argmax())}"


def _take_numbers(values: pa.ChunkedArray, column: Column, where: str, done: Checked, tell: _Tell) -> None:
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    texts = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    if column.date:
        if not (texts or pa.types.is_temporal(values.type) or pa.types.is_null(values.type)):
            tell(Code.NOT_A_NUMBER, f"{where} has no dates but {values.type}")
            return
        numbers, bad = _dates(values)
        if bad.any():
            tell(Code.NOT_A_NUMBER, f"{where} has {_rows(bad, 'values that are no dates as 1950-01-31')}")
            return
    elif texts:
        numbers, bad = _parsed(values)
        if bad.any():
            bad_rows = _rows(bad, "values that are no numbers")
            tell(Code.NOT_A_NUMBER, f"{where} is not numeric: it has {bad_rows}")
            return
    elif is_numeric(values.type) or pa.types.is_null(values.type):
        numbers = values.cast(pa.float64(), safe=False).to_numpy().astype(np.float64)
    else:
        tell(Code.NOT_A_NUMBER, f"{where} is not numeric ({values.type})")
        return
    rounded = _rounded(values, numbers)
    if rounded.any():
        tell(Code.OUT_OF_RANGE, f"{where} has {_rows(rounded, _ROUNDED)}")
        return
    missing, low, high = np.isnan(numbers), *column.range
    infinite = np.isinf(numbers)
    outside = ~missing & ~infinite & ~((numbers >= low) & (numbers <= high))
    if missing.any() and column.missing == "refuse" and not done.counts_missing:
        tell(Code.MISSING_VALUE, f"{where} misses {_rows(missing, 'values')}")
    if infinite.any():
        tell(Code.MISSING_VALUE, f"{where} has {_rows(infinite, 'infinite values')}")
    if outside.any() and not column.clip:
        unit = f" {column.unit}" if column.unit else ""
        outer_rows = _rows(outside, f"values outside {column.shown(low)} to {column.shown(high)}{unit}")
        tell(Code.OUT_OF_RANGE, f"{where} has {outer_rows}; check the unit")
    kept = np.where(missing, np.nan, np.clip(numbers, low, high))
    _check_step(kept, column, where, tell)
    done.numbers[column.name] = np.clip(np.log(kept), *column.ends) if column.log else kept
    _count(done, column, missing=int(missing.sum()), clipped=int(outside.sum()))


def _check_step(values: Floats, column: Column, where: str, tell: _Tell) -> None:
    if column.step is None:
        return
    off = off_step(values[:, np.newaxis], column.step, max(map(abs, column.range)))
    if off.any():
        found = _rows(off, f"values that are no multiples of the step {column.step!r}")
        tell(Code.OFF_STEP, f"{where} has {found}")


def _take_categories(values: pa.ChunkedArray, column: Column, where: str, done: Checked, tell: _Tell) -> None:
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_floating(values.type) and pc.all(pc.equal(values, pc.round(values)), min_count=0).as_py():
        values = values.cast(pa.int64(), safe=False)  # codes become floats if some are missing
    try:
        texts = [None if one is None else one.strip() for one in values.cast(pa.string()).to_pylist()]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        tell(Code.UNKNOWN_CATEGORY, f"{where} has no categories but {values.type}")
        return
    position = {one: at for at, one in enumerate(column.categories)}
    found: Ints = np.array(
        [
            position.get(one, _MISSING if is_missing(one) else _UNKNOWN) if one is not None else _MISSING
            for one in texts
        ],
        dtype=np.int64,
    )
    unknown, missing = found == _UNKNOWN, found == _MISSING
    if unknown.any():
        agreed = {one.casefold() for one in column.categories}
        in_case = sum(texts[row].casefold() in agreed for row in np.flatnonzero(unknown))  # type: ignore[union-attr]
        hint = f"; {in_case} differ from one in upper and lower case alone" if in_case else ""
        unknown_rows = _rows(unknown, "values outside the agreed categories")
        tell(Code.UNKNOWN_CATEGORY, f"{where} has {unknown_rows}{hint}")
    if missing.any() and column.missing == "refuse" and not done.counts_missing:
        tell(Code.MISSING_VALUE, f"{where} misses {_rows(missing, 'values')}")
    done.categories[column.name] = found
    _count(done, column, missing=int(missing.sum()), clipped=0)


def _count(done: Checked, column: Column, *, missing: int, clipped: int) -> None:
    for kept, number in ((done.missing, missing), (done.clipped, clipped)):
        if number:
            kept[column.name] = number


def is_numeric(kind: pa.DataType) -> bool:
    """Whether values of a type are numbers."""
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    return any(test(kind) for test in tests)


def _parsed(values: pa.ChunkedArray) -> tuple[Floats, NDArray[np.bool_]]:
    """The numbers in texts, nan for a missing one, and a mask of the texts that are not numbers."""
    trimmed = pc.utf8_trim_whitespace(values)
    gone = pc.is_in(pc.utf8_lower(trimmed), value_set=pa.array(sorted(MISSING)))
    trimmed = pc.if_else(pc.fill_null(gone, True), pa.scalar(None, trimmed.type), trimmed)
    try:
        numbers = trimmed.cast(pa.float64())
    except pa.ArrowInvalid:
        bad = [one is not None and not _is_number(one) for one in trimmed.to_pylist()]
        return np.empty(0), np.array(bad, dtype=np.bool_)
    return numbers.to_numpy().astype(np.float64), np.zeros(len(values), dtype=np.bool_)


def _rounded(values: pa.ChunkedArray, numbers: Floats) -> Bools:
    """Which values are whole numbers that float64 rounds; `numbers` are the values as floats."""
    if pa.types.is_floating(values.type) or np.nanmax(np.abs(numbers), initial=0.0) < EXACT:
        return np.zeros(1, dtype=np.bool_)
    return np.array([one is not None and is_beyond_exact(str(one)) for one in values.to_pylist()])


def _dates(values: pa.ChunkedArray) -> tuple[Floats, NDArray[np.bool_]]:
    """Days since 1970-01-01, nan for a missing date, and a mask of the texts that are not dates."""
    if pa.types.is_temporal(values.type) or pa.types.is_null(values.type):
        days = values.cast(pa.date32(), safe=False).cast(pa.int32()).cast(pa.float64())
        return days.to_numpy().astype(np.float64), np.zeros(len(values), dtype=np.bool_)
    found, bad = np.full(len(values), np.nan), np.zeros(len(values), dtype=np.bool_)
    for at, text in enumerate(pc.utf8_trim_whitespace(values).to_pylist()):
        if text is None or is_missing(text):
            continue
        try:
            found[at] = (date.fromisoformat(text) - date(1970, 1, 1)).days
            bad[at] = text[4:8:3] != "--"  # Python also accepts 20240131 and 2024-W05-3
        except ValueError:
            bad[at] = True
    return found, bad


def _is_number(text: str) -> bool:
    try:
        pa.scalar(text).cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True
