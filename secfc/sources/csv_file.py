"""A .csv file as a table, and what is wrong with one that cannot be read: by line, never by value."""

import codecs
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from secfc.codes import Code
from secfc.errors import DataError

_OTHER_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
_BLOCK = 1 << 20


def read_csv(path: Path, *, as_text: Sequence[str] = ()) -> pa.Table:
    """All columns of a .csv file with a header; those `as_text` as they are: "007" stays apart from "7".

    Raises
    ------
    DataError
        Naming the file, and the line where there is one; never a value.
    OSError
        When the file cannot be read at all.
    """
    try:
        table = parse_csv(path, as_text)
    except pa.ArrowInvalid:
        # The reader's own text can quote the file.
        raise DataError(f"{path}: not a readable .csv file{_why(path)}", code=Code.UNREADABLE_FILE) from None
    try:
        first = table.column_names[0]
    except UnicodeDecodeError:  # the reader decodes names only now
        raise DataError(
            f"{path}: not a readable .csv file: it is not UTF-8 text", code=Code.UNREADABLE_FILE
        ) from None
    if table.num_columns == 1:
        for mark, name in _OTHER_SEPARATORS.items():
            if mark in first:
                raise DataError(
                    f"{path}: its values are separated by {name}, commas are needed",
                    code=Code.UNREADABLE_FILE,
                )
    return table


def parse_csv(source: Path | pa.BufferReader, as_text: Sequence[str]) -> pa.Table:
    """The reader itself, whose errors can quote the file."""
    types = dict.fromkeys(as_text, pa.string())
    return pyarrow.csv.read_csv(source, convert_options=pyarrow.csv.ConvertOptions(column_types=types))


def _why(path: Path) -> str:
    """What is wrong, as far as that can be told without a value."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        block = file.read(_BLOCK)
        if not block:
            return ": it is empty"
        try:
            while block:
                decoder.decode(block)
                block = file.read(_BLOCK)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return ": it is not UTF-8 text"
    first: list[str] = []

    def ragged(row: pyarrow.csv.InvalidRow) -> str:
        if not first:
            first.append(
                f": line {row.number} has {row.actual_columns} values, the header {row.expected_columns}"
            )
        return "skip"

    with suppress(pa.ArrowInvalid):  # once more and in order, as only then lines have numbers
        pyarrow.csv.read_csv(
            path,
            read_options=pyarrow.csv.ReadOptions(use_threads=False),
            parse_options=pyarrow.csv.ParseOptions(invalid_row_handler=ragged),
        )
    return "".join(first)
