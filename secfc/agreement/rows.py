"""A site's rows, read from its own file or database and checked against the ranges that the job promises."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from secfc._arrays import Labels
from secfc.agreement.job_file import Agreement, Range
from secfc.agreement.site_file import Site
from secfc.errors import DataError, ParameterError
from secfc.params import MAX_CLUSTERS
from secfc.tables import Table, chosen_columns, load_table


@dataclass(frozen=True, kw_only=True)
class SiteRows:
    """What a site brings to a run.

    Attributes
    ----------
    table : Table
        Columns in the job's order, and the IDs that are written beside the labels.
    start : ndarray of shape (m_j,), int32, or None
        Start labels, for a job that has them.
    ids : list of str or None
        Row IDs as text, for a job with membership privacy.
    """

    table: Table
    start: Labels | None = field(default=None, repr=False)
    ids: list[str] | None = field(default=None, repr=False)

    def without_rows(self) -> "SiteRows":
        """What is still needed once they are shared."""
        rows = np.empty((0, self.table.rows.shape[1]))
        return SiteRows(table=replace(self.table, rows=rows))


def read_rows(site: Site, agreement: Agreement) -> SiteRows:
    """The site's rows, columns in the job's order and under the job's names.

    Raises
    ------
    DataError
        Naming the site, the column and the first row that is out of its range; never a value.
    ParameterError
        When the site file and the job do not fit, or what it takes to ask the site's database is not there.
    """
    site.check_inputs(agreement)
    source, name, job = site.source, site.party, agreement.job
    columns = [source.columns.get(column, column) for column in agreement.columns]
    for key, column in (("id", source.id_column), ("start", source.start_column)):
        if column in columns:
            raise DataError(f"{name}: {site.path}: data.{key}: column {column!r} is clustered")
    hidden = job.ids_cap is not None
    as_text = [source.id_column] if hidden and source.id_column is not None else []
    start = ids = None
    try:
        loaded = load_table(source.rows, as_text=as_text)
        table = chosen_columns(loaded, path=source.rows, columns=columns, id_column=source.id_column)
        if source.start_column is not None:
            start = _start_labels(loaded, source.start_column, str(source.rows))
        if hidden and table.ids is not None:
            ids = _texts(table.ids, str(source.rows), table.id_name)
    except (DataError, ParameterError) as error:
        raise type(error)(f"{name}: {error}") from None
    _check_ranges(table, dict(zip(columns, agreement.columns.values(), strict=True)), name=name)
    return SiteRows(table=table, start=start, ids=ids)


def _start_labels(loaded: pa.Table, name: str, path: str) -> Labels:
    """A column of start labels; the client's role checks that they fit the job."""
    if name not in loaded.column_names:
        raise DataError(f"{path}: no column {name!r}; it has {', '.join(loaded.column_names)}")
    column = loaded.column(name)
    if not len(column):
        return np.empty(0, dtype=np.int32)
    if not pa.types.is_integer(column.type) or column.null_count:
        raise DataError(f"{path}: column {name!r} of start labels is not one of integers ({column.type})")
    given = column.to_numpy()
    if given.min() < 0 or given.max() >= MAX_CLUSTERS:
        raise DataError(f"{path}: column {name!r} of start labels has some below 0 or above any k")
    labels: Labels = given.astype(np.int32)
    return labels


def _texts(column: pa.ChunkedArray, path: str, name: str) -> list[str]:
    """IDs as text: sites whose files have different types, 7 and "7", mean the same row."""
    if column.null_count:
        raise DataError(f"{path}: column {name!r} of IDs has {column.null_count} missing values")
    if not len(column):
        return []
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind)):
        raise DataError(f"{path}: column {name!r} of IDs is of type {kind}; text or integers are needed")
    texts: list[str] = column.cast(pa.string()).to_pylist()
    return texts


def _check_ranges(table: Table, ranges: Mapping[str, Range], *, name: str) -> None:
    for at, (column, (low, high)) in enumerate(ranges.items()):
        values = table.rows[:, at]
        beyond = np.flatnonzero((values < low) | (values > high))
        if beyond.size:
            raise DataError(
                f"{name}: {table.path}: column {column!r} has {beyond.size} values outside the job's range "
                f"[{low!r}, {high!r}], the first in row {beyond[0]}"
            )
