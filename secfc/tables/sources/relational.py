"""PostgreSQL (psycopg) and SQLite through SQLAlchemy: one SELECT, read-only, fetched in blocks."""

import logging
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from secfc.errors import DataError, ParameterError, missing
from secfc.errors.codes import Code
from secfc.tables.sources.database_blocks import BLOCK_ROWS, Columns

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine

_OPTIONS = frozenset(
    {
        "host", "port", "service", "connect_timeout", "application_name", "options", "target_session_attrs",
        "sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "ssl_min_protocol_version",
        "channel_binding", "require_auth", "gssencmode", "krbsrvname", "passfile",
    }
)  # fmt: skip
"""Options allowed in a URL. Passwords are not allowed, nor SQLAlchemy's own options, which can load code."""

_PATIENCE_SECONDS = 30
"""How long to wait for a connection, unless the URL or PGCONNECT_TIMEOUT says it."""

_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
"""Allowed actions of a query in SQLite. mode=ro alone would allow ATTACH, VACUUM INTO and PRAGMA."""

_LOGGED_AS = "secfc"


def ask_postgresql(url: str, query: str, *, name: str) -> pa.Table:
    """The result of one SELECT in PostgreSQL, through a server-side cursor in a read-only transaction.

    The driver finds user and password itself (PGUSER, PGPASSWORD, ...). Errors have names of the database's
    errors, never their text.
    """
    parsed = parsed_url(url)
    try:
        import psycopg  # noqa: F401, PLC0415
    except ImportError:
        raise missing("psycopg", "PostgreSQL", "sql", code=Code.DATABASE) from None
    waits = "connect_timeout" in parsed.query or "PGCONNECT_TIMEOUT" in os.environ
    arguments = {} if waits else {"connect_timeout": _PATIENCE_SECONDS}
    engine = _engine(parsed.set(drivername="postgresql+psycopg"), connect_args=arguments)
    return _ask(engine, query, name=name, postgresql_readonly=True)


def ask_sqlite(path: Path, query: str, *, name: str) -> pa.Table:
    """The result of a query of an SQLite file, opened for reading only; errors as in `ask_postgresql`."""

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            connection.execute("SELECT count(*) FROM sqlite_schema")  # fails here if it is not a database
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    sqlalchemy = _sqlalchemy()
    engine = _engine(sqlalchemy.URL.create("sqlite+pysqlite"), creator=connect)
    sqlalchemy.event.listen(engine, "engine_connect", _allow_queries_alone)
    return _ask(engine, query, name=name)


def _allow_queries_alone(connection: "Connection") -> None:
    """Allow only SELECT on an SQLite connection. SQLAlchemy's own statements have run before."""
    raw = connection.connection.dbapi_connection
    assert isinstance(raw, sqlite3.Connection)
    raw.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY)


def _sqlalchemy() -> Any:
    try:
        import sqlalchemy  # noqa: PLC0415 - optional: needed for databases only
    except ImportError:
        raise missing("SQLAlchemy", "databases", "sql", code=Code.DATABASE) from None
    return sqlalchemy


def parsed_url(text: str) -> "URL":
    """A URL that `ask_postgresql` can use; ParameterError, which never quotes it, for another."""
    sqlalchemy = _sqlalchemy()
    try:
        url: URL = sqlalchemy.make_url(text)
    except (sqlalchemy.exc.ArgumentError, ValueError):
        raise ParameterError(
            "the URL cannot be read; postgresql://host/database is needed", code=Code.DATABASE
        ) from None
    if url.password is not None or any("pass" in option and option != "passfile" for option in url.query):
        raise ParameterError(
            "the URL has a password; leave it to the environment (PGPASSWORD, or the file that "
            "PGPASSFILE names)",
            code=Code.DATABASE,
        )
    if set(url.query) - _OPTIONS:
        raise ParameterError(
            f"the URL has an unknown option; {', '.join(sorted(_OPTIONS))} are possible", code=Code.DATABASE
        )
    return url


def _engine(url: "URL", **arguments: Any) -> "Engine":
    """An engine that keeps no connection and logs nothing, since SQLAlchemy logs rows at the DEBUG level."""
    sqlalchemy = _sqlalchemy()
    for part in ("engine.Engine", "pool.impl.NullPool"):
        logging.getLogger(f"sqlalchemy.{part}.{_LOGGED_AS}").setLevel(logging.CRITICAL + 1)
    engine: Engine = sqlalchemy.create_engine(
        url,
        poolclass=sqlalchemy.NullPool,
        logging_name=_LOGGED_AS,
        pool_logging_name=_LOGGED_AS,
        hide_parameters=True,
        **arguments,
    )
    return engine


def _ask(engine: "Engine", query: str, *, name: str, **options: Any) -> pa.Table:
    sqlalchemy = _sqlalchemy()
    try:
        connection = engine.connect()
    except sqlalchemy.exc.SQLAlchemyError as error:
        raise DataError(f"{name}: {_not_connected(error)}", code=Code.DATABASE) from None
    try:
        # The query is sent unchanged, without parameters such as :name or %s.
        options |= {"stream_results": True, "no_parameters": True}
        return _answer(connection.execution_options(**options), query, name=name)
    except sqlalchemy.exc.SQLAlchemyError as error:
        raise DataError(f"{name}: {_failed(error)}", code=Code.DATABASE) from None
    finally:
        connection.close()
        engine.dispose()


def _answer(connection: "Connection", query: str, *, name: str) -> pa.Table:
    with closing(connection.exec_driver_sql(query)) as answer:
        if not answer.returns_rows:
            raise DataError(f"{name}: the query gives no columns; one SELECT is needed", code=Code.DATABASE)
        columns = Columns(list(answer.keys()), source=name)
        for rows in answer.partitions(BLOCK_ROWS):  # without a number, the first part would be all rows
            columns.add(rows)
    return columns.table()


def _not_connected(error: Exception) -> str:
    """Why there is no connection, in our own words, since the server's text could contain anything."""
    told = getattr(error, "orig", None)
    if isinstance(told, sqlite3.Error):
        return f"the database cannot be opened ({_kind(error)})"
    driver = getattr(told, "pgconn", None)
    if driver is not None and driver.needs_password:
        return "the database asks for a password; PGPASSWORD, or the file that PGPASSFILE names, has none"
    if driver is not None and driver.used_password:
        return "the database refuses: a wrong user or password, or no such database"
    reason = "it cannot be reached, or refuses before it asks for a password"
    return f"no connection to the database ({_kind(error)}): {reason}"


def _failed(error: Exception) -> str:
    kind = _kind(error)
    if kind == "SQLITE_AUTH":
        return "one SELECT is needed, the query does something else"
    return f"the query fails ({kind})"


def _kind(error: Exception) -> str:
    """The database's name for an error, such as UndefinedTable or SQLITE_ERROR."""
    told = getattr(error, "orig", None) or error
    return str(getattr(told, "sqlite_errorname", type(told).__name__))
