"""DuckDB: queries of .csv and .parquet files and of its own databases, with access to that one file only.

A query cannot install or load extensions, open another file or address, or write. Rows that do not fit in
memory are not spilled to disk.
"""

import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from secfc.errors import DataError, missing
from secfc.errors.codes import Code
from secfc.tables.sources.csv_file import Dialect, dialect_of, read_csv
from secfc.tables.sources.database_blocks import BLOCK_ROWS, exact_floats
from secfc.tables.sources.text_format import FOUND, TextFormat

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TABLE = "data"
"""The table name of the file in a query."""

_ENCODINGS = {"utf8": "utf-8", "utf-16": "utf-16"}
"""Encodings that DuckDB reads itself: our names and its names."""

_CLOSED: dict[str, str | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,  # otherwise a table name could mean a Python variable
    "temp_directory": "",
}


def ask_file(path: Path, query: str, *, name: str, given: TextFormat = FOUND) -> pa.Table:
    """The result of one SELECT from a text file with a header, or a .parquet file, as table ``data``.

    ParameterError if DuckDB is not installed. DataError if the file cannot be read or the query fails; it has
    the name of DuckDB's error, never its text.
    """
    if set(str(path.absolute())) & set("*?["):
        raise DataError(
            f"{name}: files with *, ? or [ in their path cannot be queried", code=Code.UNREADABLE_FILE
        )
    place = "'" + str(path.absolute()).replace("'", "''") + "'"
    if path.suffix.lower() == ".parquet":
        read = f"read_parquet({place})"
    else:
        dialect, large = Dialect(), list[str]()
        with suppress(OSError, EOFError, zlib.error):  # errors are reported when it is read
            dialect, large = dialect_of(path, given)
        if dialect.encoding not in _ENCODINGS:
            closed = ["SET enable_external_access = false", "SET lock_configuration = true"]
            return _ask(":memory:", closed, query, name=name, table=read_csv(path, given=given))
        read = _read_text(place, dialect, large)
    prepare = [
        f"SET allowed_paths = [{place}]",
        "SET enable_external_access = false",
        f"CREATE VIEW {TABLE} AS SELECT * FROM {read}",  # noqa: S608 - the path, quoted
        "SET lock_configuration = true",
    ]
    return _ask(":memory:", prepare, query, name=name)


def _read_text(place: str, dialect: Dialect, large: Sequence[str]) -> str:
    """The SQL that reads a text file as it is read without a query. Columns `large` stay text."""
    texts = ", ".join("'{}': 'VARCHAR'".format(name.strip().replace("'", "''")) for name in large)
    # Column types depend on all rows: otherwise a later value that does not fit is an error without a column.
    return (
        f"read_csv({place}, header=true, sample_size=-1, delim='{dialect.separator}', "
        f"decimal_separator='{dialect.decimal}', encoding='{_ENCODINGS[dialect.encoding]}'"
        + (f", types={{{texts}}})" if texts else ")")
    )


def ask_database(path: Path, query: str, *, name: str) -> pa.Table:
    """The result of a query of a DuckDB database, opened for reading only; errors as in `ask_file`."""
    prepare = ["SET enable_external_access = false", "SET lock_configuration = true"]
    return _ask(str(path.absolute()), prepare, query, name=name, read_only=True)


def _ask(
    place: str,
    prepare: list[str],
    query: str,
    *,
    name: str,
    read_only: bool = False,
    table: pa.Table | None = None,
) -> pa.Table:
    try:
        import duckdb  # noqa: PLC0415 - optional: needed for these queries only
    except ImportError:
        raise missing("DuckDB", "queries of files", "duckdb", code=Code.DATABASE) from None
    try:
        connection = duckdb.connect(place, read_only=read_only, config=_CLOSED)
    except duckdb.Error as error:
        raise DataError(
            f"{name}: the database cannot be opened ({type(error).__name__})", code=Code.DATABASE
        ) from None
    with connection:
        try:
            if table is not None:
                connection.register(TABLE, table)
            for statement in prepare:
                connection.execute(statement)
        except duckdb.Error as error:
            raise DataError(
                f"{name}: the file cannot be read ({type(error).__name__})", code=Code.UNREADABLE_FILE
            ) from None
        try:
            _check_select(duckdb, connection, query, name=name)
            reader = connection.sql(query).to_arrow_reader(BLOCK_ROWS)
            answer = pa.Table.from_batches(reader, schema=reader.schema)
        except (duckdb.Error, pa.ArrowException) as error:
            raise DataError(f"{name}: the query fails ({type(error).__name__})", code=Code.DATABASE) from None
    columns = [
        _plain(column, f"{name}: column {title!r}")
        for title, column in zip(answer.column_names, answer.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, names=answer.column_names)


def _check_select(duckdb: Any, connection: "DuckDBPyConnection", query: str, *, name: str) -> None:
    kinds = [statement.type for statement in connection.extract_statements(query)]
    if kinds != [duckdb.StatementType.SELECT]:
        raise DataError(f"{name}: one SELECT is needed, the query does something else", code=Code.DATABASE)


def _plain(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Decimals (also HUGEINT and sums of integers) as integers or floats, enumerations as texts."""
    if pa.types.is_dictionary(column.type):
        return column.cast(column.type.value_type)
    return _from_decimals(column, name) if pa.types.is_decimal(column.type) else column


def _from_decimals(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    if column.type.scale == 0:
        try:
            return column.cast(pa.int64())
        except pa.ArrowInvalid:  # beyond int64
            pass
    return pa.chunked_array([exact_floats(column.to_pylist(), name)])
