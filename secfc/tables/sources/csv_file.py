"""Read a text file as a table. Its format is detected or given. Errors name a line, never a value."""

import codecs
import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from io import StringIO
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from secfc.errors import DataError
from secfc.errors.codes import Code
from secfc.tables.column_names import normal, normal_all
from secfc.tables.rounding import EXACT, beyond_exact
from secfc.tables.sources.text_format import FOUND, DecimalMark, Separator, TextFormat
from secfc.tables.texts import SPELLINGS

TEXTS = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
"""Endings of the files that this module reads."""

DECIMAL, WRITTEN, CODES, LARGE = b"decimal", b"written", b"codes", b"large"
"""Keys of a table's metadata: the decimal mark in its texts; the file's format, if it is not the usual one;
the names, one per line, of columns with values such as 007; and of columns that stay text because float64
would round their whole numbers."""

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_MARKS: dict[Separator | DecimalMark, str] = {
    "comma": ",",
    "semicolon": ";",
    "tab": "\t",
    "bar": "|",
    "point": ".",
}
_WITH_COMMAS = r"^\s*[-+]?\d+(,\d+)?([eE][-+]?\d+)?\s*$"
_NO_VALUES = pa.array(SPELLINGS)
_CODE = re.compile(r"\s*0[0-9]+\s*")
_HEAD = 1 << 16
"""Bytes in which to search for separators and leading zeros."""

_BLOCK = 1 << 20

_NO_TEXT = "\0"
"""UTF-16 has this byte beside each ASCII letter, so without a byte order mark it could be valid UTF-8."""


class Dialect(NamedTuple):
    """The format of a text file."""

    separator: str = ","
    decimal: str = "."
    encoding: str = "utf8"

    def __str__(self) -> str:
        """What is unusual, in words; empty if nothing is."""
        found = [f"{_SEPARATORS[self.separator]} between values"] if self.separator != "," else []
        found += ["decimal commas"] if self.decimal == "," else []
        found += ["UTF-16" if self.encoding == "utf-16" else self.encoding] if self.encoding != "utf8" else []
        return ", ".join(found)


_USUAL = Dialect()


def kind_of(path: Path) -> str:
    """The ending of a file that gives its kind, such as ".csv" or ".csv.gz"."""
    endings = [ending.lower() for ending in path.suffixes]
    return "".join(endings[-2:]) if endings[-1:] == [".gz"] else "".join(endings[-1:])


def stem_of(path: Path) -> str:
    """A file's name without that ending."""
    return path.name[: len(path.name) - len(kind_of(path))]


def read_csv(path: Path, *, as_text: Sequence[str] = (), given: TextFormat = FOUND) -> pa.Table:
    """All columns of a text file with a header. Columns `as_text` stay text, so "007" differs from "7".

    Format properties that are not `given` are detected. The table's metadata contain the file's format.
    """
    head, encoding = _head(path, given)
    separator = _separator(path, head) if given.separator is None else _MARKS[given.separator]
    dialect = Dialect(separator=separator, encoding=encoding)
    wanted = set(normal_all(as_text))
    as_text = [name for name in next(_rows(head, dialect.separator), []) if normal(name) in wanted]
    try:
        if _NO_TEXT in head:
            raise pa.ArrowInvalid
        table, dialect = _with_decimals(path, as_text, dialect, given)
        _ = table.column_names  # only this makes the reader decode the names
        if any(map(pa.types.is_binary, table.schema.types)):  # the reader cannot decode the texts
            raise pa.ArrowInvalid
    except (pa.ArrowInvalid, UnicodeDecodeError):
        # The reader's own error text can quote the file.
        raise DataError(
            f"{path}: not a readable {kind_of(path)} file{_why(path, dialect)}", code=Code.UNREADABLE_FILE
        ) from None
    large = _large(path, table, dialect)
    for name, column in large.items():
        table = table.set_column(table.column_names.index(name), name, column)
    codes = "\n".join(_columns_of_codes(head, dialect.separator))
    told = {
        DECIMAL: dialect.decimal,
        WRITTEN: str(dialect),
        CODES: codes,
        LARGE: "\n".join(normal_all(large)),
    }
    return table.replace_schema_metadata(told)


def _large(path: Path, table: pa.Table, dialect: Dialect) -> dict[str, pa.ChunkedArray]:
    """The texts of columns of floats that have whole numbers which float64 rounds, by name in the file.

    The reader makes floats of whole numbers beyond int64, and of those beside a decimal point.
    """
    large = [
        name
        for name, column in zip(table.column_names, table.columns, strict=True)
        if pa.types.is_floating(column.type)
        and pc.any(pc.greater_equal(pc.abs(column), EXACT)).as_py()
        and table.column_names.count(name) == 1
    ]
    texts = parse_csv(path, large, dialect) if large else table
    return {name: texts.column(name) for name in large if beyond_exact(texts.column(name).to_pylist())}


def parse_csv(source: Path | pa.BufferReader, as_text: Sequence[str], dialect: Dialect = _USUAL) -> pa.Table:
    """Call the CSV reader. Its errors can quote the file."""
    return pyarrow.csv.read_csv(
        _opened(source) if isinstance(source, Path) else source,
        read_options=pyarrow.csv.ReadOptions(encoding=dialect.encoding),
        parse_options=pyarrow.csv.ParseOptions(delimiter=dialect.separator),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(as_text, pa.string()),
            decimal_point=dialect.decimal,
            null_values=SPELLINGS,
        ),
    )


def _opened(path: Path) -> pa.NativeFile:
    return pa.input_stream(str(path), compression="gzip" if path.suffix.lower() == ".gz" else None)


def _with_decimals(
    path: Path, as_text: Sequence[str], dialect: Dialect, given: TextFormat
) -> tuple[pa.Table, Dialect]:
    """The table, and its format with the decimal mark: if none is given, a point beside comma separators."""
    if given.decimal is not None:
        dialect = dialect._replace(decimal=_MARKS[given.decimal])
    table = parse_csv(path, as_text, dialect)
    if given.decimal is None and dialect.separator != "," and _has_decimal_commas(table):
        dialect = dialect._replace(decimal=",")
        table = parse_csv(path, as_text, dialect)
    return table, dialect


def _separator(path: Path, head: str) -> str:
    """The first separator that gives every line as many values as the header.

    Commas are tried first; in a .tsv file, tabs. If no separator fits, the most frequent one in the header.
    """
    marks = sorted(_SEPARATORS, key=lambda mark: (mark == "\t") != kind_of(path).startswith(".tsv"))
    counts = {}
    for mark in marks:
        with suppress(csv.Error):
            rows = [len(row) for row in _rows(head, mark)]
            counts[mark] = rows[0] if rows else 1
            if counts[mark] > 1 and len(set(rows)) == 1:
                return mark
    return max(counts, key=lambda mark: counts[mark], default=",")


def _head(path: Path, given: TextFormat) -> tuple[str, str]:
    """The first lines of a file, and its encoding: UTF-16 by its byte order mark, UTF-8, or the given one.

    A file that is valid UTF-8 as a whole is read as UTF-8. In another encoding, a text with letters beyond
    ASCII is hardly ever valid UTF-8.
    """
    with _opened(path) as file:
        head = file.read(_HEAD)
    utf_16 = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    encoding = "utf-16" if utf_16 else "utf-8-sig"
    if not utf_16 and given.encoding not in (None, "utf-8") and not _decodes(path, "utf8"):
        encoding = given.encoding
    text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(head)
    if len(head) == _HEAD and "\n" in text:
        text = text[: text.rindex("\n") + 1]
    return text, "utf8" if encoding == "utf-8-sig" else encoding


def _decodes(path: Path, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    with _opened(path) as file, suppress(UnicodeDecodeError):
        while block := file.read(_BLOCK):
            if _NO_TEXT in decoder.decode(block):
                return False
        decoder.decode(b"", final=True)
        return True
    return False


def _rows(text: str, separator: str) -> Iterator[list[str]]:
    return (row for row in csv.reader(StringIO(text, newline=""), delimiter=separator) if row)


def _columns_of_codes(head: str, separator: str) -> list[str]:
    with suppress(csv.Error):
        names, *rows = _rows(head, separator)
        return [
            normal(name)
            for name, values in zip(names, zip_longest(*rows, fillvalue=""), strict=False)
            if any(_CODE.fullmatch(value) for value in values)
        ]
    return []


def _has_decimal_commas(table: pa.Table) -> bool:
    """Whether some column of texts has only numbers, with decimal commas."""
    for column in table.columns:
        if pa.types.is_string(column.type):
            values = column.filter(pc.invert(pc.fill_null(pc.is_in(column, value_set=_NO_VALUES), True)))
            commas = pc.match_substring(values, ",")
            if pc.any(commas).as_py() and pc.all(pc.match_substring_regex(values, _WITH_COMMAS)).as_py():
                return True
    return False


def _why(path: Path, dialect: Dialect) -> str:
    """What is wrong, as far as it can be said without a value."""
    with _opened(path) as file:
        if not file.read(1):
            return ": it is empty"
    if not _decodes(path, dialect.encoding):
        others = "" if dialect.encoding == "utf8" else f", and not {dialect.encoding}"
        return (
            f": it is not UTF-8 text{others}; save it as UTF-8, or give its encoding, such as "
            "windows-1252 (--encoding, in a site file data.encoding)"
        )
    first: list[str] = []

    def ragged(row: pyarrow.csv.InvalidRow) -> str:
        if not first:
            first.append(
                f": line {row.number} has {row.actual_columns} values, the header {row.expected_columns}"
            )
        return "skip"

    with suppress(pa.ArrowInvalid):  # read again without threads, since only then lines have numbers
        pyarrow.csv.read_csv(
            _opened(path),
            read_options=pyarrow.csv.ReadOptions(use_threads=False, encoding=dialect.encoding),
            parse_options=pyarrow.csv.ParseOptions(delimiter=dialect.separator, invalid_row_handler=ragged),
        )
    return "".join(first)
