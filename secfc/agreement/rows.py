"""A site's rows, read from its own file or database and checked against the ranges that the job promises."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing

import numpy as np
import pyarrow as pa

from secfc.agreement.job_file import Agreement, Range
from secfc.agreement.site_file import Site, Source
from secfc.errors import DataError
from secfc.tables import Table, chosen_columns, read_table


def read_rows(site: Site, agreement: Agreement) -> Table:
    """The site's rows, columns in the job's order and under the job's names.

    Raises
    ------
    DataError
        Naming the site, the column and the first row that is out of its range; never a value.
    """
    site.check_columns(agreement)
    source, name = site.source, site.party
    columns = [source.columns.get(column, column) for column in agreement.columns]
    if source.id_column in columns:
        raise DataError(f"{name}: {site.path}: data.id: column {source.id_column!r} is clustered")
    try:
        if source.query is None:
            table = read_table(source.path, columns=columns, id_column=source.id_column)
        else:
            table = chosen_columns(
                _query(source), path=source.path, columns=columns, id_column=source.id_column
            )
    except DataError as error:
        raise DataError(f"{name}: {error}") from None
    _check_ranges(table, dict(zip(columns, agreement.columns.values(), strict=True)), name=name)
    return table


def _query(source: Source) -> pa.Table:
    """What the query gives. The database is opened for reading only."""
    assert source.query is not None
    if not source.path.is_file():
        raise DataError(f"{source.path}: no such file")
    try:
        with closing(sqlite3.connect(f"{source.path.as_uri()}?mode=ro", uri=True)) as database:
            cursor = database.execute(source.query)
            if cursor.description is None:
                raise DataError(f"{source.path}: the query gives no columns; a SELECT is needed")
            names = [column[0] for column in cursor.description]
            rows = cursor.fetchall()
    except (sqlite3.Error, sqlite3.Warning) as error:
        # The text can quote the query or the database's content, so it stays out.
        code = getattr(error, "sqlite_errorname", type(error).__name__)
        raise DataError(f"{source.path}: the query fails ({code})") from None
    try:
        values = [pa.array([row[at] for row in rows]) for at in range(len(names))]
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        raise DataError(f"{source.path}: a column of the query mixes types") from None
    return pa.Table.from_arrays(values, names=names)


def _check_ranges(table: Table, ranges: Mapping[str, Range], *, name: str) -> None:
    for at, (column, (low, high)) in enumerate(ranges.items()):
        values = table.rows[:, at]
        beyond = np.flatnonzero((values < low) | (values > high))
        if beyond.size:
            raise DataError(
                f"{name}: {table.path}: column {column!r} has {beyond.size} values outside the job's range "
                f"[{low!r}, {high!r}], the first in row {beyond[0]}"
            )
