"""A site's rows, read from its own file or database and checked against the ranges that the job promises."""

from collections.abc import Mapping

import numpy as np

from secfc.agreement.job_file import Agreement, Range
from secfc.agreement.site_file import Site
from secfc.errors import DataError, ParameterError
from secfc.tables import Table, read_table


def read_rows(site: Site, agreement: Agreement) -> Table:
    """The site's rows, columns in the job's order and under the job's names.

    Raises
    ------
    DataError
        Naming the site, the column and the first row that is out of its range; never a value.
    ParameterError
        What it takes to ask the site's database is not there.
    """
    site.check_columns(agreement)
    source, name = site.source, site.party
    columns = [source.columns.get(column, column) for column in agreement.columns]
    if source.id_column in columns:
        raise DataError(f"{name}: {site.path}: data.id: column {source.id_column!r} is clustered")
    try:
        table = read_table(source.rows, columns=columns, id_column=source.id_column)
    except (DataError, ParameterError) as error:
        raise type(error)(f"{name}: {error}") from None
    _check_ranges(table, dict(zip(columns, agreement.columns.values(), strict=True)), name=name)
    return table


def _check_ranges(table: Table, ranges: Mapping[str, Range], *, name: str) -> None:
    for at, (column, (low, high)) in enumerate(ranges.items()):
        values = table.rows[:, at]
        beyond = np.flatnonzero((values < low) | (values > high))
        if beyond.size:
            raise DataError(
                f"{name}: {table.path}: column {column!r} has {beyond.size} values outside the job's range "
                f"[{low!r}, {high!r}], the first in row {beyond[0]}"
            )
