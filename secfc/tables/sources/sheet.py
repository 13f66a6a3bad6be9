"""Read an Excel workbook as a table (openpyxl): the values of a sheet, as last computed."""

from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import pyarrow as pa

from secfc.errors import DataError, missing
from secfc.errors.codes import Code
from secfc.tables.sources.database_blocks import Columns


def read_sheet(path: Path, sheet: str | None = None) -> pa.Table:
    """All columns of a sheet of an .xlsx file, by default the only one. Its first line has their names."""
    try:
        from openpyxl import load_workbook  # noqa: PLC0415 - optional: needed for workbooks only
    except ImportError:
        raise missing("openpyxl", ".xlsx files", "excel") from None
    try:
        book = load_workbook(path, read_only=True, data_only=True)
    except (BadZipFile, KeyError, ValueError):
        raise DataError(f"{path}: not a readable .xlsx file", code=Code.UNREADABLE_FILE) from None
    sheets = [one for one in book.worksheets if sheet in (None, one.title)]
    lines = list(sheets[0].iter_rows(values_only=True)) if len(sheets) == 1 else []
    book.close()
    if len(sheets) != 1:
        found = f"{len(sheets)} sheets" if sheet is None else f"no sheet {sheet!r}"
        raise DataError(
            f"{path}: {found}, one is needed (data.sheet of a site file)", code=Code.UNREADABLE_FILE
        )
    while lines and all(value is None for value in lines[-1]):  # cells only formatted, or emptied
        lines.pop()
    columns = [list(values) for values in zip(*lines, strict=True)]
    while columns and all(value is None for value in columns[-1]):
        columns.pop()
    names = [values.pop(0) for values in columns]
    for at, name in enumerate(names or [None], start=1):
        if not isinstance(name, str):
            raise DataError(
                f"{path}: the first line has no name, as text, for column {at}", code=Code.UNREADABLE_FILE
            )
    return pa.Table.from_arrays([_column(values) for values in columns], names=names)


def _column(values: list[Any]) -> pa.ChunkedArray:
    """A column of values. They become texts if they are of several kinds, such as a number and a remark."""
    found = Columns(["value"], source="")
    try:
        if values:
            found.add([[value] for value in values])
        return found.table().column(0)
    except DataError:
        texts = [None if value is None else str(value) for value in values]
        return pa.chunked_array([pa.array(texts, type=pa.string())])
