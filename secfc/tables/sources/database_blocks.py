"""Convert rows of Python values from a database driver, block by block, to columns of one type each."""

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa

from secfc.errors import DataError
from secfc.errors.codes import Code
from secfc.tables.rounding import EXACT, check_exact, may_be_rounded

BLOCK_ROWS = 10_000
"""Rows fetched at a time: tens of megabytes of Python values for a table of a hundred columns."""

_FAMILIES: dict[type, str] = {
    bool: "truth value",
    int: "number",
    float: "number",
    Decimal: "number",
    str: "text",
    UUID: "UUID",
    date: "date",
    datetime: "time stamp",
    bytes: "byte string",
}
"""Kinds of values. All values of a column must be of one kind."""


def exact_floats(values: Sequence[Any], where: str, *, above: int = 0) -> pa.Array:
    """Numbers as float64, each rounded to the nearest; errors as of `check_exact`. None stays missing."""
    check_exact([at for at, value in enumerate(values) if _is_too_large(value)], where, above=above)
    return pa.array([None if value is None else float(value) for value in values], type=pa.float64())


class Columns:
    """The columns of a query's result. `source` is its name in errors."""

    def __init__(self, names: Sequence[str], *, source: str) -> None:
        self._names = list(names)
        self._columns = [_Column(f"{source}: column {name!r}") for name in names]
        self._rows = 0

    def add(self, rows: Sequence[Sequence[Any]]) -> None:
        """Add a block of rows; DataError names source, column and row, counted from 0, never a value."""
        for column, values in zip(self._columns, zip(*rows, strict=True), strict=True):
            column.add(values, self._rows)
        self._rows += len(rows)

    def table(self) -> pa.Table:
        """All rows as a table, or DataError. A column without values has the type null."""
        return pa.Table.from_arrays([column.array() for column in self._columns], names=self._names)


class _Column:
    def __init__(self, name: str) -> None:
        self._name = name
        self._family: str | None = None
        self._blocks: list[pa.Array] = []

    def add(self, values: Sequence[Any], above: int) -> None:
        """Add a block that follows `above` rows."""
        kinds = set(map(type, values)) - {type(None)}
        if self._family is None and kinds:
            self._family = _FAMILIES.get(next(type(value) for value in values if value is not None))
        for row, kind in enumerate(map(type, values), above) if self._differ(kinds) else ():
            if kind not in _FAMILIES and kind is not type(None):
                raise DataError(
                    f"{self._name} has values of type {kind.__name__}, the first in row {row}; leave it "
                    "out of the query, or cast it",
                    code=Code.NOT_A_NUMBER,
                )
            if kind in _FAMILIES and _FAMILIES[kind] != self._family:
                raise DataError(
                    f"{self._name} has a {_FAMILIES[kind]} in row {row}, below a {self._family}",
                    code=Code.NOT_A_NUMBER,
                )
        self._blocks.append(self._block(kinds, values, above))

    def _differ(self, kinds: set[type]) -> bool:
        return any(_FAMILIES.get(kind) is None or _FAMILIES[kind] != self._family for kind in kinds)

    def array(self) -> pa.ChunkedArray:
        kinds = {block.type for block in self._blocks if not pa.types.is_null(block.type)}
        if kinds == {pa.int64(), pa.float64()}:
            self._blocks = self._floats()
            kinds = {pa.float64()}
        if len(kinds) > 1:  # time stamps with and without a zone
            raise DataError(f"{self._name} has values of several types", code=Code.NOT_A_NUMBER)
        kind = kinds.pop() if kinds else pa.null()
        return pa.chunked_array([block.cast(kind) for block in self._blocks], type=kind)

    def _block(self, kinds: set[type], values: Sequence[Any], above: int) -> pa.Array:
        if kinds == {UUID}:
            return pa.array([None if value is None else str(value) for value in values])
        if self._family != "number" or not kinds:
            try:
                return pa.array(values)
            except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, ValueError):
                raise DataError(
                    f"{self._name} has values that cannot be read", code=Code.NOT_A_NUMBER
                ) from None
        if kinds == {Decimal} and all(value is None or _is_whole(value) for value in values):
            kinds, values = {int}, [None if value is None else int(value) for value in values]
        if kinds == {int}:
            try:
                return pa.array(values, type=pa.int64())
            except OverflowError:
                pass
        return exact_floats(values, self._name, above=above)

    def _floats(self) -> list[pa.Array]:
        blocks, above = [], 0
        for block in self._blocks:
            if pa.types.is_integer(block.type):
                whole = block.fill_null(0).to_numpy()
                check_exact(np.flatnonzero(may_be_rounded(whole)), self._name, above=above)
            blocks.append(block.cast(pa.float64()))
            above += len(block)
        return blocks


def _is_whole(value: Decimal) -> bool:
    """Whether a decimal has no fraction digits, as values of numeric(10)."""
    exponent = value.as_tuple().exponent
    return isinstance(exponent, int) and exponent >= 0 and value.adjusted() < 19


def _is_too_large(value: object) -> bool:
    if isinstance(value, Decimal):
        return value.is_finite() and abs(value) > EXACT
    return isinstance(value, int) and abs(value) > EXACT
