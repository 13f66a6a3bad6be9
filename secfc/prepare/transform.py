"""From checked columns to the rows that are clustered, the same at every party."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import hypot
from typing import Any

import numpy as np

from secfc._arrays import Floats
from secfc.prepare.schema import Column, Schema
from secfc.prepare.statistics import Statistics, Sums
from secfc.prepare.tables import Checked


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """What all parties learned, and apply.

    Attributes
    ----------
    statistics : dict from column name to Statistics
        Of each number that needed them.
    bound : float
        Public bound on the norm of a prepared row, from the agreed ranges and the statistics.
    ranges : dict from prepared column to (float, float)
        In order, with the range that its values lie in; a category is "column=value". A job that parties
        agree on lists its columns so.
    """

    statistics: Mapping[str, Statistics]
    bound: float
    ranges: Mapping[str, tuple[float, float]]

    @classmethod
    def of(cls, schema: Schema, statistics: Mapping[str, Statistics]) -> "Preparation":
        """What follows from the schema and the opened statistics, for everybody alike."""
        return cls(
            statistics=statistics,
            bound=hypot(*(_reach(column, statistics) for column in schema.columns)),
            ranges={
                name: ends for column in schema.columns for name, ends in _ranges(column, statistics).items()
            },
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Prepared columns, in order."""
        return tuple(self.ranges)


def sums_of(table: Checked, schema: Schema) -> list[Sums]:
    """What a party adds to the totals, for each column that is opened."""
    return [Sums.of(table.numbers[column.name], column) for column in schema.opened]


def transformed(table: Checked, schema: Schema, statistics: Mapping[str, Statistics]) -> Floats:
    """A party's prepared rows, shape (rows, columns)."""
    parts = []
    for column in schema.columns:
        if column.categories:
            at = table.categories[column.name][:, np.newaxis]
            parts.append((at == np.arange(len(column.categories))).astype(np.float64))
            continue
        values = table.numbers[column.name]
        if column.missing == "mean":
            values = np.where(np.isnan(values), statistics[column.name].mean, values)
        parts.append(_scaled(values, column, statistics)[:, np.newaxis])
    return np.ascontiguousarray(np.hstack(parts))


def _scaled(values: Any, column: Column, statistics: Mapping[str, Statistics]) -> Any:
    low, high = column.range
    match column.scale:
        case "min-max":
            return (values - low) / (high - low)
        case "standardise":
            known = statistics[column.name]
            return (values - known.mean) / (known.deviation or 1.0)
    return values


def _ranges(column: Column, statistics: Mapping[str, Statistics]) -> dict[str, tuple[float, float]]:
    """A column's prepared columns. Scaling is monotonous in floats too, so ends stay ends."""
    if column.categories:
        return {f"{column.name}={one}": (0.0, 1.0) for one in column.categories}
    low, high = (float(_scaled(end, column, statistics)) for end in column.range)
    return {column.name: (low, high)}


def _reach(column: Column, statistics: Mapping[str, Statistics]) -> float:
    """The largest magnitude that a prepared value can have (of a category: of its one-hot columns' norm)."""
    if column.categories:
        return 1.0
    return max(abs(end) for ends in _ranges(column, statistics).values() for end in ends)
