"""Transform checked columns to the rows that are clustered, in the same way at every party, and back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import hypot, inf
from typing import Any

import numpy as np

from secfc.errors import DataError
from secfc.errors.codes import Code
from secfc.field.array_types import Floats, Ints
from secfc.field.fixed_point import step_of
from secfc.prepare.schema import Column, Schema
from secfc.prepare.statistics import Mode, Opened, Quartiles, Statistics
from secfc.prepare.tables import Checked


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """A transform that all parties know and apply.

    Attributes
    ----------
    schema : Schema
    statistics : dict from column name to Statistics, Quartiles or Mode
        For each column that is standardised, robust, or filled in.
    """

    schema: Schema
    statistics: Mapping[str, Opened]

    @cached_property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """Prepared columns, in order, with the range of their values; a category is "column=value".

        A job lists its columns in this form. Scaling is monotonic in floats too, so ends of ranges stay ends.
        """
        ranges: dict[str, tuple[float, float]] = {}
        for column in self.schema.columns:
            if column.categories:
                ranges.update(dict.fromkeys(column.prepared, (0.0, 1.0)))
            else:
                low, high = (float(self._scaled(end, column)) for end in column.ends)
                most = inf if column.deviations is None else column.deviations
                ranges[column.name] = max(low, -most), min(high, most)
        return ranges

    @property
    def names(self) -> tuple[str, ...]:
        """Prepared columns, in order."""
        return tuple(self.ranges)

    @cached_property
    def bound(self) -> float:
        """Public bound on the norm of a prepared row. At most one of a category's columns is 1."""
        ends = [max(map(abs, self.ranges[one.name])) for one in self.schema.columns if not one.categories]
        return hypot(*ends, *(1.0 for one in self.schema.columns if one.categories))

    @property
    def step(self) -> float | None:
        """What every prepared value is a multiple of; None where it is not known or tiny beside the bound."""
        return step_of(self.schema.multiple_of, self.bound)

    def apply(self, table: Checked, *, name: str) -> Floats:
        """A party's prepared rows, shape (rows, columns), float64. `name` is that of the party in errors.

        DataError for columns with values beyond the agreed deviations that are not clipped: it has the
        columns, the numbers of such values and the first rows.
        """
        parts, problems = [], []
        for column in self.schema.columns:
            if column.categories:
                parts.append(self._one_hot(table.categories[column.name], column))
                continue
            values = table.numbers[column.name]
            if column.missing in ("mean", "median"):
                values = np.where(np.isnan(values), self._known(column).centre, values)
            scaled = self._scaled(values, column)
            if column.deviations is not None:
                most = column.deviations
                beyond = np.abs(scaled) > most
                units = "interquartile ranges from the median" if column.bins else "deviations from the mean"
                if beyond.any() and not column.clip:
                    problems.append(
                        f"column {column.name!r} has {beyond.sum()} values more than {most:g} {units} "
                        f"of all parties, the first in row {int(beyond.argmax())}"
                    )
                scaled = np.clip(scaled, -most, most)
            parts.append(scaled[:, np.newaxis])
        if problems:
            raise DataError(f"{name}: " + "\n  ".join(problems), code=Code.TOO_MANY_DEVIATIONS)
        return np.ascontiguousarray(np.hstack(parts))

    def _one_hot(self, positions: Ints, column: Column) -> Floats:
        """A column of 0 or 1 for each prepared category. -1 is a missing value."""
        known = self.statistics.get(column.name)
        if isinstance(known, Mode):
            positions = np.where(positions < 0, column.categories.index(known.mode), positions)
        elif column.missing == "category":
            positions = np.where(positions < 0, len(column.categories), positions)
        kept = np.arange(len(column.levels))[-len(column.prepared) :]
        columns: Floats = (positions[:, np.newaxis] == kept).astype(np.float64)
        return columns

    def _known(self, column: Column) -> Statistics | Quartiles:
        """What was opened about a column of numbers."""
        known = self.statistics[column.name]
        assert not isinstance(known, Mode)
        return known

    def restore(self, rows: Floats) -> Floats:
        """Prepared rows, or centres, shape (m, columns), in the units of the schema.

        A mean of logarithms becomes the geometric mean. Columns of categories are unchanged: a centre has
        the fraction of rows with that category.
        """
        return self._by_column(rows, lambda values, zero, unit: zero + values * unit, back=True)

    def restore_spreads(self, spreads: Floats) -> Floats:
        """Standard deviations of prepared columns, shape (k, columns), in the units of the schema.

        For a column of logarithms it is a factor: one more deviation multiplies a value by it.
        """
        return self._by_column(spreads, lambda values, _, unit: values * unit, back=True)

    def scale(self, centres: Floats) -> Floats:
        """The inverse of `restore`: for instance centres of shape (k, columns) as prepared rows."""
        return self._by_column(centres, lambda values, zero, unit: (values - zero) / unit, back=False)

    def scale_spreads(self, spreads: Floats) -> Floats:
        """What `restore_spreads` gives, shape (k, columns), in the units of prepared rows again."""
        return self._by_column(spreads, lambda values, _, unit: values / unit, back=False)

    def _by_column(self, rows: Floats, change: Callable[[Any, float, float], Any], *, back: bool) -> Floats:
        """Rows with changed numbers: before logarithms are taken `back`, or after they are taken."""
        if rows.ndim != 2 or rows.shape[1] != len(self.names):
            raise DataError(f"rows: {len(self.names)} columns are needed, the shape given is {rows.shape}")
        changed = np.array(rows, dtype=np.float64)
        position = {name: at for at, name in enumerate(self.names)}
        for column in self.schema.columns:
            if not column.categories:
                at = position[column.name]
                values = changed[:, at] if back else _logs(changed[:, at], column)
                values = change(values, *self._zero_and_unit(column))
                changed[:, at] = _powers(values, column) if back else values
        return changed

    def _zero_and_unit(self, column: Column) -> tuple[float, float]:
        """The value that becomes 0 in a column, and the length that becomes 1."""
        if column.scale == "none":
            return 0.0, 1.0
        if column.scale == "min-max":
            low, high = column.ends
            return low, high - low
        known = self._known(column)
        return known.centre, known.unit or 1.0

    def _scaled(self, values: Any, column: Column) -> Any:
        zero, unit = self._zero_and_unit(column)
        return (values - zero) / unit


def _powers(values: Any, column: Column) -> Any:
    return np.exp(values) if column.log else values


def _logs(values: Any, column: Column) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):  # nan and inf are refused later
        return np.log(values) if column.log else values
