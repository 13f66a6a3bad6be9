"""A site's rows, read from its own file or database and checked against the ranges that the job promises."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from secfc.agreement.job_file import Agreement, Range
from secfc.agreement.site_file import Site
from secfc.array_types import Labels
from secfc.codes import Code
from secfc.errors import DataError, ParameterError
from secfc.journal.beginning import as_bytes
from secfc.journal.disk import Buffer
from secfc.params import MAX_CLUSTERS
from secfc.prepare.schema import Schema
from secfc.prepare.tables import Checked, checked
from secfc.prepare.transform import Preparation
from secfc.tables import Table, chosen_columns, load_table, no_column


@dataclass(frozen=True, kw_only=True)
class SiteRows:
    """What a site brings to a run."""

    table: Table  # columns in the job's order, and the IDs that are written beside the labels
    start: Labels | None = field(default=None, repr=False)  # start labels, for a job that has them
    ids: list[str] | None = field(default=None, repr=False)  # for a job with membership privacy
    # What the rows are made of, where a job prepares, until its means are known; the table has none then.
    unprepared: Checked | None = field(default=None, repr=False)

    def content(self) -> list[Buffer]:
        """All of it, as bytes: equal for equal content."""
        start = None if self.start is None else self.start.tolist()
        columns: dict[str, NDArray[Any]] = {}
        if self.unprepared is not None:
            columns = {**self.unprepared.numbers, **self.unprepared.categories}
        head = as_bytes([self.table.rows.shape, start, self.ids, list(columns)])
        return [head, self.table.rows.tobytes(), *(one.tobytes() for one in columns.values())]

    def prepared(self, preparation: Preparation, *, name: str) -> "SiteRows":
        """The rows, made by what is known now; DataError for one too many deviations from the mean."""
        assert self.unprepared is not None
        rows = preparation.apply(self.unprepared, name=f"{name}: {self.table.path}")
        return replace(self, table=replace(self.table, rows=rows), unprepared=None)

    def without_rows(self) -> "SiteRows":
        """What is still needed once they are shared."""
        rows = np.empty((0, self.table.rows.shape[1]))
        return SiteRows(table=replace(self.table, rows=rows))


def read_rows(site: Site, agreement: Agreement) -> SiteRows:
    """The site's rows, columns in the job's order and under the job's names; none of a helper.

    Of a job that prepares, what they are made of, checked against the schema. Raises DataError with the site,
    the column and the first row that does not fit its range or its categories, never a value; ParameterError
    when the site file and the job do not fit, or what it takes to ask the site's database is not there.
    """
    site.check_inputs(agreement)
    source, name, job = site.source, site.party, agreement.job
    if source is None:  # a helper
        return SiteRows(table=Table(path=site.path, columns=(), rows=np.empty((0, job.d))))
    columns = [source.columns.get(column, column) for column in agreement.inputs]
    for key, column in (("id", source.id_column), ("start", source.start_column)):
        if column in columns:
            raise DataError(
                f"{name}: {site.path}: data.{key}: column {column!r} is clustered", code=Code.REPEATED_COLUMN
            )
    hidden = job.ids_cap is not None
    as_text = [] if source.id_column is None else [source.id_column]
    start = ids = unprepared = None
    try:
        if agreement.preparation is None:
            loaded = load_table(source.rows, as_text=as_text)
            table = chosen_columns(loaded, path=source.rows, columns=columns, id_column=source.id_column)
        else:
            loaded = load_table(source.rows, as_text=[*columns, *as_text])
            table, unprepared = _unprepared(loaded, site, agreement.preparation)
        if source.start_column is not None:
            start = _start_labels(loaded, source.start_column, str(source.rows))
        if hidden and table.ids is not None:
            ids = _texts(table.ids, str(source.rows), table.id_name)
    except (DataError, ParameterError) as error:
        raise type(error)(f"{name}: {error}", code=error.code) from None
    found = SiteRows(table=table, start=start, ids=ids, unprepared=unprepared)
    if agreement.preparation is None:
        _check_ranges(table, dict(zip(columns, agreement.columns.values(), strict=True)), name=name)
    elif not agreement.opened:
        return found.prepared(Preparation(schema=agreement.preparation, statistics={}), name=name)
    return found


def _unprepared(loaded: pa.Table, site: Site, schema: Schema) -> tuple[Table, Checked]:
    """The schema's columns of a site's table, which is checked and told of under the site's own names."""
    assert site.source is not None
    source, path = site.source, site.source.rows
    agreed = {source.columns.get(column.name, column.name): column for column in schema.columns}
    if len(agreed) < len(schema.columns):
        raise DataError(
            f"{site.path}: data.columns: two columns of the schema are one column here",
            code=Code.REPEATED_COLUMN,
        )
    own = Schema(columns=tuple(replace(column, name=name) for name, column in agreed.items()))
    others = [] if source.id_column is None else [source.id_column]
    found = loaded.column_names
    if source.id_column is not None and found.count(source.id_column) > 1:
        raise DataError(f"{path}: two columns have the name {source.id_column!r}", code=Code.REPEATED_COLUMN)
    unused = [name for name in dict.fromkeys(found) if name not in agreed and name not in others]
    unprepared = checked(loaded.drop_columns(unused), own, name=str(path), others=others)
    table = Table(
        path=path,
        columns=(),
        rows=np.empty((loaded.num_rows, 0)),
        ids=None if source.id_column is None else loaded.column(source.id_column),
        id_name=source.id_column or "row",
    )
    return table, unprepared.renamed({name: column.name for name, column in agreed.items()})


def _start_labels(loaded: pa.Table, name: str, path: str) -> Labels:
    """A column of start labels; the client's role checks that they fit the job."""
    if name not in loaded.column_names:
        raise no_column(path, name, loaded)
    column = loaded.column(name)
    if not len(column):
        return np.empty(0, dtype=np.int32)
    if not pa.types.is_integer(column.type) or column.null_count:
        raise DataError(
            f"{path}: column {name!r} of start labels is not one of integers ({column.type})",
            code=Code.BAD_LABELS,
        )
    given = column.to_numpy()
    if given.min() < 0 or given.max() >= MAX_CLUSTERS:
        raise DataError(
            f"{path}: column {name!r} of start labels has some below 0 or above any k", code=Code.BAD_LABELS
        )
    labels: Labels = given.astype(np.int32)
    return labels


def _texts(column: pa.ChunkedArray, path: str, name: str) -> list[str]:
    """IDs as text: sites whose files have different types, 7 and "7", mean the same row."""
    if column.null_count:
        raise DataError(
            f"{path}: column {name!r} of IDs has {column.null_count} missing values", code=Code.BAD_ID
        )
    if not len(column):
        return []
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind)):
        raise DataError(
            f"{path}: column {name!r} of IDs is of type {kind}; text or integers are needed", code=Code.BAD_ID
        )
    texts: list[str] = column.cast(pa.string()).to_pylist()
    return texts


def _check_ranges(table: Table, ranges: Mapping[str, Range], *, name: str) -> None:
    for at, (column, (low, high)) in enumerate(ranges.items()):
        values = table.rows[:, at]
        beyond = np.flatnonzero((values < low) | (values > high))
        if beyond.size:
            raise DataError(
                f"{name}: {table.path}: column {column!r} has {beyond.size} values outside the job's range "
                f"[{low!r}, {high!r}], the first in row {beyond[0]}",
                code=Code.OUT_OF_RANGE,
            )
