"""A query in place of a file: where it is asked, and its answer as a table.

Credentials never pass through here: a URL with a password is refused, and the driver takes them from the
environment. What a database says of an error can quote rows, so only the error's name is shown.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pyarrow as pa

from secfc.codes import Code
from secfc.errors import DataError, ParameterError
from secfc.options import FOUND, TextFormat
from secfc.sources import duck, relational
from secfc.sources.csv_file import TEXTS, kind_of, stem_of

Kind = Literal["postgresql", "sqlite", "duckdb", "file"]

FILES = (*TEXTS, ".parquet")
"""Files that can be queried, by their ending."""

_NO_NAMES = {"SELECT", "select", "FROM", "from", duck.TABLE}

_CONSTANT = re.compile(r"""(?i)('[^']*'|\b\d[\w.]*|\bnull\b)(\s+(as\s+)?"?\w+)?""")
"""A constant in a query, and what the answer calls it: neither tells of the file's first line."""

_POSSIBLE = (
    "postgresql://host/database, sqlite:///file, duckdb:///file, or the path of a .csv, .tsv or .parquet file"
)


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where a query is asked: the file's `path`, or of a server its `url`, without a password."""

    kind: Kind
    path: Path | None = None
    url: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, text: str, *, folder: Path | None = None) -> "Origin":
        """What a URL or a path means; relative paths are relative to `folder`, else the working directory.

        ParameterError when it is none of `_POSSIBLE` or has a password; the text never quotes it.
        """
        scheme, separator, rest = text.partition("://")
        if separator and scheme == "postgresql":
            relational.check_url(text)
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
    """One SELECT in place of a file; a .csv or .parquet file is the table ``data``.

    `name` is what errors and label files call it when it is asked of a server; a file is called by its path.
    `given` says how a text file is written.
    """

    origin: Origin
    query: str = field(repr=False)
    name: str
    given: TextFormat = field(default=FOUND, repr=False)

    def __str__(self) -> str:
        return self.name if self.origin.path is None else str(self.origin.path)

    @property
    def stem(self) -> str:
        """What its label file is called."""
        return self.name if self.origin.path is None else stem_of(self.origin.path)

    @property
    def names(self) -> set[str]:
        """Words in the query that may be names of columns; no constant, for it may be a value."""
        return set(re.findall(r"\w+", _CONSTANT.sub("", self.query))) - _NO_NAMES

    def read(self) -> pa.Table:
        """The answer.

        ParameterError where the library or driver that it takes is not there; DataError where the database
        refuses, or values make no column; never a value.
        """
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
