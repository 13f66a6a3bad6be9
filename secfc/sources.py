"""A database as a source of rows: a query's answer as a table, read in blocks, through SQLAlchemy.

Credentials never pass through here: a URL with a password is refused, and drivers take theirs from the
environment or their own files (PGPASSWORD, ~/.pgpass). What a driver says of an error can quote rows, so only
its type is shown.
"""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from secfc.errors import DataError, ParameterError

_BLOCK_ROWS = 50_000
"""Rows fetched at a time: some megabytes for tables of a hundred columns."""


@dataclass(frozen=True, kw_only=True)
class Query:
    """A query of a database, in place of a file.

    Parameters
    ----------
    url : str
        As SQLAlchemy takes it, such as ``postgresql+psycopg://host/hospital`` or ``sqlite:///north.db``;
        without a password.
    query : str
        One SELECT; its columns become the table's.
    name : str
        What errors and label files call it.
    """

    url: str
    query: str
    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def stem(self) -> str:
        """What its label file is called."""
        return self.name

    def __repr__(self) -> str:
        return f"Query(name={self.name!r})"

    def read(self) -> pa.Table:
        """The answer.

        Raises
        ------
        ParameterError
            SQLAlchemy or the database's driver is not there, or the URL has a password or cannot be read.
        DataError
            The database refuses; the text has the error's type and none of its words.
        """
        try:
            import sqlalchemy  # noqa: PLC0415 - only who asks a database needs it
        except ImportError:
            raise ParameterError("--from: SQLAlchemy is needed, pip install 'secfc[sql]'") from None
        try:
            url = sqlalchemy.make_url(self.url)
        except sqlalchemy.exc.ArgumentError:
            raise ParameterError(f"--from: the URL of {self.name} cannot be read") from None
        if url.password is not None or "password" in url.query:
            raise ParameterError(
                f"--from: the URL of {self.name} has a password; leave it to the environment "
                "(PostgreSQL's driver reads PGPASSWORD)"
            )
        try:
            engine = sqlalchemy.create_engine(url)
        except (ImportError, sqlalchemy.exc.ArgumentError) as error:
            raise ParameterError(
                f"--from: no driver for {url.get_backend_name()} databases ({type(error).__name__})"
            ) from None
        try:
            return self._ask(engine, sqlalchemy)
        except sqlalchemy.exc.SQLAlchemyError as error:
            raise DataError(f"{self.name}: the database refuses ({type(error).__name__})") from None
        finally:
            engine.dispose()

    def _ask(self, engine: Any, sqlalchemy: Any) -> pa.Table:
        with engine.connect().execution_options(stream_results=True) as connection:
            answer = connection.execute(sqlalchemy.text(self.query))
            if not answer.returns_rows:
                connection.rollback()
                raise DataError(f"{self.name}: the query returns no rows; one SELECT is needed")
            names = list(answer.keys())
            blocks: list[list[pa.Array]] = [[] for _ in names]
            for rows in answer.partitions(_BLOCK_ROWS):
                for name, block, values in zip(names, blocks, zip(*rows, strict=True), strict=True):
                    block.append(self._array(name, values))
        columns = [self._column(name, block) for name, block in zip(names, blocks, strict=True)]
        return pa.Table.from_arrays(columns, names=names)

    def _array(self, name: str, values: tuple[Any, ...]) -> pa.Array:
        try:
            array = pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            raise DataError(f"{self.name}: column {name!r} has values of several types") from None
        return array.cast(pa.float64()) if pa.types.is_decimal(array.type) else array

    def _column(self, name: str, blocks: list[pa.Array]) -> pa.ChunkedArray:
        kinds = {block.type for block in blocks if not pa.types.is_null(block.type)}
        if kinds == {pa.int64(), pa.float64()}:
            kinds = {pa.float64()}
        if len(kinds) > 1:
            raise DataError(f"{self.name}: column {name!r} has values of several types")
        kind = kinds.pop() if kinds else pa.null()
        return pa.chunked_array([block.cast(kind) for block in blocks], type=kind)
