"""DuckDB: queries of .csv and .parquet files and of its own databases, which reach that one file only.

A query cannot install or load extensions, open another file or address, or write. Rows that do not fit in
memory are not spilled to disk.
"""

import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset

from secfc.errors import DataError, missing
from secfc.errors.codes import Code
from secfc.tables.column_names import normal_all
from secfc.tables.sources.csv_file import read_csv
from secfc.tables.sources.database_blocks import BLOCK_ROWS, exact_floats
from secfc.tables.sources.text_format import FOUND, TextFormat
from secfc.tables.texts import has_visible

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TABLE = "data"
"""The table name of the file in a query."""

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

    Errors have the name of DuckDB's error, never its text.
    """
    try:
        if path.suffix.lower() == ".parquet":
            data = pyarrow.dataset.dataset(str(path), format="parquet")  # only columns of the query are read
        else:
            table = read_csv(path, given=given)
            names = enumerate(normal_all(table.column_names))
            data = table.rename_columns([one if has_visible(one) else f"unnamed: {at}" for at, one in names])
    except (pa.ArrowInvalid, OSError, EOFError, zlib.error):
        raise DataError(f"{name}: the file cannot be read", code=Code.UNREADABLE_FILE) from None
    return _ask(":memory:", query, name=name, data=data)


def ask_database(path: Path, query: str, *, name: str) -> pa.Table:
    """The result of a query of a DuckDB database, opened for reading only; errors as in `ask_file`."""
    return _ask(str(path.absolute()), query, name=name)


def _ask(place: str, query: str, *, name: str, data: Any = None) -> pa.Table:
    try:
        import duckdb  # noqa: PLC0415 - optional: needed for these queries only
    except ImportError:
        raise missing("DuckDB", "queries of files", "duckdb", code=Code.DATABASE) from None
    try:
        connection = duckdb.connect(place, read_only=data is None, config=_CLOSED)
    except duckdb.Error as error:
        raise DataError(
            f"{name}: the database cannot be opened ({type(error).__name__})", code=Code.DATABASE
        ) from None
    with connection:
        if data is not None:
            connection.register(TABLE, data)
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
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
