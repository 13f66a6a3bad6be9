"""Reads a site's rows from its file or database, and checks them against the ranges in the job."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from secfc.agreement.job_file import Agreement
from secfc.agreement.logs.beginning import as_bytes
from secfc.agreement.logs.disk import Buffer
from secfc.agreement.site_file import Site, Source
from secfc.errors import DataError, ParameterError, SecFCError, all_of
from secfc.errors.codes import Code
from secfc.field.array_types import Ints, Labels
from secfc.prepare.by_cluster import values_of
from secfc.prepare.column_transform import Preparation
from secfc.prepare.schema import Schema
from secfc.prepare.tables import Checked, checked
from secfc.protocol.job.cases import Predict, Union
from secfc.protocol.job.job import Job
from secfc.sharing.row_checks import check_rows
from secfc.tables.ids import id_text
from secfc.tables.reading import (
    Table,
    chosen_columns,
    id_values,
    load_table,
    no_column,
    weights_in,
    written_of,
)


@dataclass(frozen=True, kw_only=True)
class SiteRows:
    """The data with which a site enters a run."""

    table: Table  # columns in the job's order, and the IDs that are written beside the labels
    start: Labels | None = field(default=None, repr=False)  # start labels, if the job has them
    weights: Ints | None = field(default=None, repr=False)  # if the job has weights
    ids: list[str] | None = field(default=None, repr=False)  # if the job has membership privacy
    described: Ints | None = field(default=None, repr=False)  # if the job describes columns
    # Of each row what a ledger knows it by, if sums of rows may be opened: its ID, or all its values.
    known_by: list[str] | None = field(default=None, repr=False)
    # With a preparation: the unprepared columns until means are known; until then the table has no columns.
    unprepared: Checked | None = field(default=None, repr=False)
    # With a preparation: how many values were missing or clipped, by column.
    mended: Mapping[str, Any] | None = field(default=None, repr=False)

    def content(self) -> list[Buffer]:
        """All content as bytes, equal for equal content."""
        start = None if self.start is None else self.start.tolist()
        columns: dict[str, NDArray[Any]] = {}
        if self.unprepared is not None:
            columns = {**self.unprepared.numbers, **self.unprepared.categories}
        weights = [] if self.weights is None else [self.weights.tolist()]
        described = [] if self.described is None else [self.described.tolist()]
        head = as_bytes([self.table.rows.shape, start, self.ids, list(columns), *weights, *described])
        rows = self.table.rows.reshape(-1).view(np.uint8).data  # not copied: it is most of the content
        return [head, rows, *(one.tobytes() for one in columns.values())]

    def prepared(self, preparation: Preparation, *, name: str) -> "SiteRows":
        """The prepared rows; DataError for a value that is too many deviations from the mean."""
        assert self.unprepared is not None
        rows = preparation.apply(self.unprepared, name=f"{name}: {self.table.path}")
        return replace(self, table=replace(self.table, rows=rows), unprepared=None)

    def without_rows(self) -> "SiteRows":
        """What is still needed after the rows are shared."""
        rows = np.empty((0, self.table.rows.shape[1]))
        return SiteRows(table=replace(self.table, rows=rows))


def read_rows(site: Site, agreement: Agreement) -> SiteRows:
    """The site's rows, with columns in the job's order and under the job's names; no rows for a helper.

    With a preparation these are the unprepared columns, checked against the schema. A DataError has a line
    for everything that is wrong: the column, how many rows do not fit and the first of them, never a value.
    """
    site.check_inputs(agreement)
    source, name, job = site.source, site.party, agreement.job
    if source is None:
        return SiteRows(table=Table(path=site.path, columns=(), rows=np.empty((0, job.d))))
    columns = source.rows.own_names(agreement.inputs)
    described = source.rows.own_names(agreement.describes)
    if len({*columns, *described}) < len(columns) + len(described):
        text = "data.columns: two columns of the job are one column here"
        raise DataError(f"{name}: {site.path}: {text}", code=Code.REPEATED_COLUMN)
    _check_not_clustered(site, source, [*columns, *described])
    as_text = [] if source.id_column is None else [source.id_column]
    given, wrong = dict[str, Any](), list[SecFCError]()

    def put(name: str, make: Callable[..., object], *of: object, **more: object) -> None:
        try:
            given[name] = make(*of, **more)
        except (DataError, ParameterError) as error:
            wrong.append(error)

    try:
        names = (*(agreement.inputs if agreement.preparation is not None else ()), *agreement.describes)
        others = [one for one in (source.start_column, source.weight_column) if one is not None]
        named = [*agreement.inputs, *agreement.describes, *others]
        loaded = load_table(source.rows, as_text=[*names, *as_text], named=named)
    except (DataError, ParameterError) as error:
        raise type(error)(f"{name}: {error}", code=error.code) from None
    if agreement.preparation is None:
        clustered = {"columns": agreement.inputs, "ranges": agreement.columns}
        put("table", chosen_columns, loaded, path=source.rows, id_column=source.id_column, **clustered)
    else:
        put("unprepared", _unprepared, loaded, site, agreement.preparation)
    path = str(source.rows)
    put("described", _described, loaded, agreement.described, path)
    put("known_by", _known_by, loaded, source.id_column, agreement)
    if source.start_column is not None:
        put("start", _start_labels, loaded, source.start_column, path, job)
    if source.weight_column is not None:
        put("weights", _weights, loaded, source.weight_column, path)
    one_id = source.id_column is not None and loaded.column_names.count(source.id_column) == 1
    if isinstance(job.rows, Union) and one_id:
        put("ids", _texts, loaded.column(source.id_column), path, source.id_column)
    if wrong:
        raise all_of(wrong, before=f"{name}: ")
    if agreement.preparation is None:
        found = SiteRows(**given)
    else:
        table, unprepared = given.pop("unprepared")
        found = SiteRows(table=table, unprepared=unprepared, mended=unprepared.mended, **given)
        if agreement.opened:
            return found
        found = found.prepared(Preparation(schema=agreement.preparation, statistics={}), name=name)
    check_rows(found.table.rows, name=f"{name}: {source.rows}", d=job.d, bound=job.bound, step=job.step)
    return found


def _check_not_clustered(site: Site, source: Source, columns: list[str]) -> None:
    given = {"id": source.id_column, "start": source.start_column, "weight": source.weight_column}
    for key, column in given.items():
        if column in columns:
            text = f"{site.party}: {site.path}: data.{key}: column {column!r} is clustered"
            raise DataError(text, code=Code.REPEATED_COLUMN)


def _unprepared(loaded: pa.Table, site: Site, schema: Schema) -> tuple[Table, Checked]:
    """The schema's columns of a site's table."""
    assert site.source is not None
    source, path = site.source, site.source.rows
    others = [one for one in (source.id_column, source.weight_column) if one is not None]
    unprepared = checked(loaded, schema, name=str(path), others=others)
    table = Table(
        path=path,
        columns=(),
        rows=np.empty((loaded.num_rows, 0)),
        ids=None if source.id_column is None else loaded.column(source.id_column),
        id_name=source.id_column or "row",
        written=written_of(loaded),
    )
    return table, unprepared


def _described(loaded: pa.Table, schema: Schema | None, path: str) -> Ints | None:
    """The described columns as whole numbers, if there are some."""
    return None if schema is None else values_of(loaded, schema, name=path)


def _known_by(loaded: pa.Table, id_column: str | None, agreement: Agreement) -> list[str] | None:
    """Each row's ID as a text, or all its values. None if no sums of rows are opened."""
    if agreement.described is None and not agreement.job.opened.to and not agreement.opened:
        return None

    def text(column: pa.ChunkedArray) -> pa.ChunkedArray:
        try:
            return pc.fill_null(column.cast(pa.string()), "")
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return pa.chunked_array([list(map(str, column.to_pylist()))], type=pa.string())

    texts = [
        text(column)
        for name, column in zip(loaded.column_names, loaded.columns, strict=True)
        if id_column in (name, None)
    ]
    known: list[str] = pc.binary_join_element_wise(*texts, "\x1f").to_pylist() if texts else []
    return known


def _start_labels(loaded: pa.Table, name: str, path: str, job: Job) -> Labels:
    """A column of start labels; for rows that are to be predicted it may be empty, or -1."""
    if name not in loaded.column_names:
        raise no_column(path, [name], loaded)
    column = loaded.column(name)
    if not len(column):
        return np.empty(0, dtype=np.int32)
    if isinstance(job.method, Predict):
        column = column.cast(pa.int64()) if pa.types.is_null(column.type) else column
        column = pc.fill_null(column, pa.scalar(job.least_label, column.type))
    if not pa.types.is_integer(column.type) or column.null_count:
        text = f"{path}: column {name!r} of start labels is not one of integers ({column.type})"
        raise DataError(text, code=Code.BAD_LABELS)
    given = column.to_numpy()
    beyond = np.flatnonzero((given < job.least_label) | (given >= job.k))
    if beyond.size:
        raise DataError(
            f"{path}: column {name!r} of start labels has {beyond.size} below {job.least_label} or above "
            f"k - 1 = {job.k - 1}, the first in row {beyond[0]}",
            code=Code.BAD_LABELS,
        )
    labels: Labels = given.astype(np.int32)
    return labels


def _weights(loaded: pa.Table, name: str, path: str) -> Ints:
    if loaded.column_names.count(name) != 1:
        raise no_column(path, [name], loaded)
    return weights_in(loaded, name, path)


def _texts(column: pa.ChunkedArray, path: str, name: str) -> list[str]:
    """IDs as text, so that 7 and "7" mean the same row at sites with different types."""
    if column.null_count:
        raise DataError(
            f"{path}: column {name!r} of IDs has {column.null_count} missing values", code=Code.BAD_ID
        )
    if not len(column):
        return []
    where, given = f"{path}: column {name!r}", id_values(column)
    return [id_text(one, name=where, number=at) for at, one in enumerate(given)]
