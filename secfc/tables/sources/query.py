"""A query in place of a file: its database or file, and its result as a table.

This module never gets credentials: a URL with a password is refused, and the driver reads them from the
environment. A database's error text can quote rows, so only the name of the error is shown.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pyarrow as pa

from secfc.errors import DataError, ParameterError
from secfc.errors.codes import Code
from secfc.tables.sources import duck, relational
from secfc.tables.sources.csv_file import TEXTS, kind_of, stem_of
from secfc.tables.sources.text_format import FOUND, TextFormat

Kind = Literal["postgresql", "sqlite", "duckdb", "file"]

FILES = (*TEXTS, ".parquet")
"""Endings of files that can be queried."""

_NO_NAMES = {"SELECT", "select", "FROM", "from", duck.TABLE}

_CONSTANT = re.compile(r"""(?i)('[^']*'|\b\d[\w.]*|\bnull\b)(\s+(as\s+)?"?\w+)?""")
"""A constant in a query, and its name in the result. Neither shows that the file has a header."""

_POSSIBLE = (
    "postgresql://host/database, sqlite:///file, duckdb:///file, or the path of a .csv, .tsv or .parquet file"
)


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where a query runs: the `path` of a file, or the `url` of a server, without a password."""

    kind: Kind
    path: Path | None = None
    url: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, text: str, *, folder: Path | None = None) -> "Origin":
        """The origin of a URL, or of a path relative to `folder`; the text of an error never quotes it."""
        scheme, separator, rest = text.partition("://")
        if separator and scheme == "postgresql":
            relational.parsed_url(text)
            return cls(kind="postgresql", url=text)
        if separator and scheme in {"sqlite", "duckdb"}:
            name = rest.removeprefix("/")
            if not name or name == rest or "?" in name:
                raise ParameterError(f"{scheme}:/// and the path of a file are needed, without options")
            kind: Kind = "sqlite" if scheme == "sqlite" else "duckdb"
            return cls(kind=kind, path=(folder or Path()) / name)
        if not separator and kind_of(Path(text)) in FILES:
            return cls(kind="file", path=(folder or Path()) / text)
        raise ParameterError(f"{_POSSIBLE} is needed")


@dataclass(frozen=True, kw_only=True)
class Query:
    """One SELECT in place of a file. A .csv or .parquet file, in the format `given`, is the table ``data``.

    `name` is that of a query to a server, in errors and of label files. A file is named by its path.
    """

    origin: Origin
    query: str = field(repr=False)
    name: str
    given: TextFormat = field(default=FOUND, repr=False)

    def __str__(self) -> str:
        return self.name if self.origin.path is None else str(self.origin.path)

    @property
    def stem(self) -> str:
        """The name of its label file, without the ending."""
        return self.name if self.origin.path is None else stem_of(self.origin.path)

    @property
    def names(self) -> set[str]:
        """Words in the query that may be names of columns. Constants are excluded, as they may be values."""
        return set(re.findall(r"\w+", _CONSTANT.sub("", self.query))) - _NO_NAMES

    def read(self) -> pa.Table:
        """The result of the query. Errors never quote a value."""
        path, name = self.origin.path, str(self)
        if path is None:
            assert self.origin.url is not None
            return relational.ask_postgresql(self.origin.url, self.query, name=name)
        if not path.is_file():
            raise DataError(f"{name}: no such file", code=Code.MISSING_FILE)
        match self.origin.kind:
            case "sqlite":
                return relational.ask_sqlite(path, self.query, name=name)
            case "duckdb":
                return duck.ask_database(path, self.query, name=name)
            case _:
                return duck.ask_file(path, self.query, name=name, given=self.given)
