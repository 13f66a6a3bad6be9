"""A party's rows in its own form: other names, units and texts than those that are agreed."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Context
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from secfc.tables.column_names import normal
from secfc.tables.sources.csv_file import CODES, DECIMAL, stem_of
from secfc.tables.sources.query import Query
from secfc.tables.sources.text_format import FOUND, TextFormat
from secfc.tables.texts import is_number

_OWN = b"own"
"""Key of a table's metadata: its own names of renamed columns by agreed name, as JSON."""

_EXACT = Context(prec=100, traps=[])  # a product of two numbers with 50 digits is exact; nan and inf stay


@dataclass(frozen=True, kw_only=True)
class OwnForm:
    """A party's rows, and what makes agreed columns of them. Keys are agreed names of columns."""

    rows: Path | Query
    given: TextFormat = FOUND
    sheet: str | None = None  # of a workbook
    na: tuple[str, ...] = ()  # texts that mean missing too, in all columns
    columns: Mapping[str, str] = field(default_factory=dict)  # its own names
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # from its own texts
    dates: Mapping[str, str] = field(default_factory=dict)  # their formats, as `datetime.strptime` has them
    factors: Mapping[str, float] = field(default_factory=dict)  # its numbers times these have agreed units
    site: Path | None = None  # the site file, if it names the party

    def __str__(self) -> str:
        return str(self.rows) if self.site is None else f"{self.site}: {self.rows}"

    @property
    def stem(self) -> str:
        """The party's name."""
        return stem_of(self.site or Path(str(self.rows)))

    def own_names(self, names: Iterable[str]) -> list[str]:
        """The party's own names of agreed columns."""
        return [self.columns.get(normal(name), name) for name in names]

    def agreed(self, table: pa.Table, *, as_text: Iterable[str]) -> pa.Table:
        """The party's table with agreed names, units and texts.

        Columns whose texts are changed become numbers if all texts are, but for those in `as_text`. A column
        is left out if its name is agreed for another one.
        """
        names = {own: agreed for agreed, own in self.columns.items()}
        kept = [at for at, name in enumerate(table.column_names) if name in names or name not in self.columns]
        told = dict(table.schema.metadata or {}) | {_OWN: json.dumps(dict(self.columns)).encode()}
        codes = told.get(CODES, b"").decode().split("\n")
        told[CODES] = "\n".join(names.get(name, name) for name in codes).encode()
        commas, stay = told.get(DECIMAL) == b",", set(map(normal, as_text))
        table = table.select(kept)
        found = [names.get(name, name) for name in table.column_names]
        made = [
            self._changed(name, values, commas=commas, as_text=name in stay)
            for name, values in zip(found, table.columns, strict=True)
        ]
        return pa.table(made, names=found).replace_schema_metadata(told)

    def _changed(self, name: str, column: pa.ChunkedArray, *, commas: bool, as_text: bool) -> pa.ChunkedArray:
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        texts = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        values, factor = self.values.get(name, {}), self.factors.get(name)
        form = None if pa.types.is_temporal(kind) else self.dates.get(name)

        def change(value: Any) -> str:
            text = _text(value)
            text = values.get(text, text)
            text = text if form is None else iso_date(text, form)
            return text if factor is None else _times(text, factor, "," if commas and texts else ".")

        if values or form or factor:
            column = _each(column, lambda value: None if self._is_na(value) else change(value), pa.string())
            try:
                return column if as_text else column.cast(pa.float64())
            except pa.ArrowInvalid:
                return column
        if self.na and (texts or any(map(is_number, self.na)) or pa.types.is_temporal(kind)):
            return _each(column, lambda value: None if self._is_na(value) else value, kind)
        return column

    def _is_na(self, value: Any) -> bool:
        text = _text(value).casefold()
        numbers = (float(one) for one in self.na if is_number(one))
        return text in map(str.casefold, self.na) or (is_number(text) and float(text) in numbers)


Input = Path | Query | OwnForm
"""The rows of a party."""


def rows_in(source: Input) -> Path | Query:
    """The file or query of a party's rows."""
    return source.rows if isinstance(source, OwnForm) else source


def own_name(table: pa.Table, name: str) -> str:
    """The party's own name of an agreed column of a table, for errors."""
    names: dict[str, str] = json.loads((table.schema.metadata or {}).get(_OWN, b"{}"))
    return names.get(name, name)


def _each(column: pa.ChunkedArray, change: Callable[[Any], Any], kind: pa.DataType) -> pa.ChunkedArray:
    """The column with every different value changed. What is missing stays so."""
    column = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    found = column.unique().drop_null()
    made = pa.array([change(value) for value in found.to_pylist()], type=kind)
    return pa.chunked_array([made.take(pc.index_in(column, value_set=found).combine_chunks())])


def _text(value: Any) -> str:
    """A value as a text file has it; codes are floats in a column that lacks some."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()


def iso_date(text: str, form: str) -> str:
    """A date as 1950-01-31. A text of another format is left as it is, and refused where dates are read."""
    try:
        return datetime.strptime(text, form).date().isoformat()
    except (ValueError, re.error):  # the second: a format that has a part twice
        return text


def _times(text: str, factor: float, mark: str) -> str:
    """The product of the decimal numbers, rounded once. A text that is no number is left as it is."""
    number = text.replace(mark, ".") if mark == "." or "." not in text else ""
    if not is_number(number):
        return text
    product = _EXACT.multiply(_EXACT.create_decimal(number), _EXACT.create_decimal(repr(factor)))
    return repr(float(product)).replace(".", mark)
