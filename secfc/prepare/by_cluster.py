"""Columns that are described by cluster and not clustered: their schema, their values, and the table.

Values become whole numbers (`secfc.operations.ending.cells`): steps of the column's range from its low end.
They are exact in columns with a step, of dates and of categories, where the range has at most 2**28 steps.
"""

import csv
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, floor, inf, nan, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from secfc.errors import DataError, ParameterError, missing
from secfc.field.array_types import Ints, Labels, Objects
from secfc.operations.beginning.totals import STEPS
from secfc.operations.ending.cells import Counted
from secfc.prepare.schema import Column, Schema
from secfc.prepare.statistics import steps
from secfc.prepare.tables import Checked, checked, is_numeric
from secfc.protocol.job.thresholds import SMALLEST_CELL
from secfc.tables.printed import html_table, pandas, text_table
from secfc.tables.texts import is_missing

TOO_FEW = "too few"
_BINARY = "0", "1"


def drafted(tables: Sequence[pa.Table]) -> Schema:
    """The schema of the described columns of all parties' tables, with ranges and categories from their data.

    Only a simulation has it. Texts become categories. DataError for a column of another type.
    """
    columns = []
    for name in tables[0].column_names:
        parts = [table.column(name) for table in tables]
        kinds = [part.type for part in parts if not pa.types.is_null(part.type)]
        dates = bool(kinds) and all(map(pa.types.is_temporal, kinds))
        if kinds and not dates and not all(map(is_numeric, kinds)):
            columns.append(Column(name=name, categories=_texts(parts)))
            continue
        given = [(part.cast(pa.date32(), safe=False).cast(pa.int32()) if dates else part) for part in parts]
        numbers = np.concatenate(
            [one.drop_null().cast(pa.float64(), safe=False).to_numpy() for one in given] or [np.zeros(0)]
        )
        if not np.isfinite(numbers).all():
            raise DataError(f"describe: column {name!r} has infinite values")
        low, high = float(numbers.min(initial=inf)), float(numbers.max(initial=-inf))
        if not low < high:  # 0 to the only value, or to 1
            low, high = (min(low, 0.0), max(low, 0.0)) if low == high != 0 else (0.0, 1.0)
        whole = bool((numbers == np.rint(numbers)).all()) and max(abs(low), abs(high)) < 1 << 44
        columns.append(
            Column(name=name, low=low, high=high, step=1 if whole and not dates else None, date=dates)
        )
    return Schema(columns=tuple(columns), smallest=SMALLEST_CELL)


def _texts(parts: Sequence[pa.ChunkedArray]) -> tuple[str, ...]:
    """All texts of a column, sorted."""
    found = set[str]()
    for part in parts:
        values = part.cast(part.type.value_type) if pa.types.is_dictionary(part.type) else part
        found |= {one.strip() for one in pc.unique(values.cast(pa.string())).to_pylist() if one is not None}
    return tuple(sorted(one for one in found if not is_missing(one)))


def values_of(table: pa.Table, schema: Schema, *, name: str) -> Ints:
    """A party's described columns as whole numbers, shape (columns, rows); -1 is a missing value."""
    found = checked(table, schema, name=name, counts_missing=True)
    return described_values(found, schema)


def described_values(found: Checked, schema: Schema) -> Ints:
    """The same of columns that were checked."""
    values = np.full((len(schema.columns), found.rows), -1, dtype=np.int64)
    for own, column in zip(values, schema.columns, strict=True):
        if column.categories:
            own[:] = found.categories[column.name]
            continue
        numbers = found.numbers[column.name]
        known = ~np.isnan(numbers)
        scale = _Scale.of(column)
        if scale.is_exact:
            own[known] = np.rint(numbers[known] / float(scale.unit)) - int(scale.origin / scale.unit)
        else:
            own[known] = steps(numbers[known], column)
    return values


@dataclass(frozen=True, kw_only=True)
class _Scale:
    """Of a column of numbers: what the whole number 0 stands for, and what 1 adds to it."""

    origin: Fraction
    unit: Fraction
    is_exact: bool

    @classmethod
    def of(cls, column: Column) -> "_Scale":
        low, high = map(Fraction, column.range)
        step = Fraction(1) if column.date else column.multiple_of
        if step is not None:
            first = ceil(Fraction(repr(column.range[0])) / step)
            last = floor(Fraction(repr(column.range[1])) / step)
            if last - first <= STEPS:
                return cls(origin=first * step, unit=step, is_exact=True)
        return cls(origin=low, unit=(high - low) / STEPS, is_exact=False)


@dataclass(frozen=True, kw_only=True)
class Table1:
    """A table of described columns by cluster, from totals that were opened: `secfc.Result.table1`.

    Attributes
    ----------
    parties : tuple of str
        Those whose rows are in the table.
    names : tuple of k str
        Names of all clusters (`secfc.Result.named`); else empty.
    """

    schema: Schema
    counted: Counted = field(repr=False)
    parties: tuple[str, ...]
    names: tuple[str, ...] = ()

    def ordered(self, numbers: Labels, names: tuple[str, ...]) -> "Table1":
        """The same with `numbers[h]` as the number of cluster h, and names in the new order."""
        clusters = numbers[list(self.clusters)]
        order = np.argsort(clusters)
        counted = replace(
            self.counted,
            clusters=tuple(clusters[order].tolist()),
            numbers=tuple(None if one is None else one[order] for one in self.counted.numbers),
        )
        return replace(self, counted=counted, names=names)

    @property
    def clusters(self) -> tuple[int, ...]:
        """Clusters with rows."""
        return self.counted.clusters

    @property
    def sizes(self) -> list[int] | None:
        """Rows of each cluster; None if some have too few."""
        numbers = self.counted.numbers[0]
        return None if numbers is None else [int(one) for one in numbers[:, 0]]

    @property
    def too_few(self) -> tuple[str, ...]:
        """Columns that were not opened: a cell has rows of too few parties, or too few rows of one."""
        found = zip(self.schema.columns, self.counted.numbers[1:], strict=True)
        return tuple(column.name for column, numbers in found if numbers is None)

    def records(self) -> list[dict[str, Any]]:
        """One dict for each column and cluster: column, cluster, count, missing, and mean and std or counts.

        `std` is the sample standard deviation. `counts` are those of categories, by name; a column of whole
        numbers from 0 to 1 has the categories "0" and "1". `missing` is None if sizes of clusters were not
        opened. Columns that were not opened are left out.
        """
        return [one for column, numbers in self._opened() for one in self._records_of(column, numbers)]

    def _opened(self) -> list[tuple[Column, Objects]]:
        """The columns that were opened, and their numbers."""
        found = zip(self.schema.columns, self.counted.numbers[1:], strict=True)
        return [_as_shown(column, numbers) for column, numbers in found if numbers is not None]

    def _records_of(self, column: Column, numbers: Objects) -> list[dict[str, Any]]:
        found, sizes = [], self.sizes
        for at, (cluster, cell) in enumerate(zip(self.clusters, numbers.tolist(), strict=True)):
            count = sum(cell) if column.categories else cell[0]
            missing = None if sizes is None else sizes[at] - count
            known = {"column": column.name, "cluster": cluster, "count": count, "missing": missing}
            if column.categories:
                found.append(known | {"counts": dict(zip(column.categories, cell, strict=True))})
            else:
                mean, std = _mean_and_std(_Scale.of(column), cell)
                found.append(known | {"mean": mean, "std": std})
        return found

    def tests(self) -> dict[str, tuple[float, float]]:
        """By column the statistic and p of a one-way analysis of variance, or of a chi-square test.

        Equal to `scipy.stats.f_oneway` and `chi2_contingency` of the pooled rows; a column of whole numbers
        from 0 to 1 has the latter. nan where there is nothing to compare. ParameterError without SciPy.
        """
        try:
            from scipy import stats  # noqa: PLC0415 - an extra
        except ImportError:
            raise missing("SciPy", "tests of a table", "sklearn") from None
        found = dict[str, tuple[float, float]]()
        for column, numbers in self._opened():
            if column.categories:
                counts = numbers[:, (numbers.sum(axis=0) > 0).astype(bool)].astype(np.float64)
                tested = stats.chi2_contingency(counts) if min(counts.shape) > 1 else (nan, nan)
                found[column.name] = float(tested[0]), float(tested[1])
            else:
                between, within, groups, rows = _squares(numbers.tolist())
                ratio = nan
                if groups > 1 and rows > groups:
                    ratio = _ratio(between * (rows - groups), within * (groups - 1))
                p = nan if ratio != ratio else float(stats.f.sf(ratio, groups - 1, rows - groups))  # noqa: PLR0124
                found[column.name] = ratio, p
        return found

    def lines(self) -> list[list[str]]:
        """The table as texts, with a heading. p is empty without SciPy."""
        try:
            tested = self.tests()
        except ParameterError:
            tested = {}
        blank = [""] * len(self.clusters)
        titles = [self.names[cluster] if self.names else f"cluster {cluster}" for cluster in self.clusters]
        lines = [["", *titles, "p"]]
        lines.append(["rows", *([TOO_FEW] * len(blank) if self.sizes is None else map(str, self.sizes)), ""])
        for column, numbers in zip(self.schema.columns, self.counted.numbers[1:], strict=True):
            name = f"{column.name} ({column.unit})" if column.unit else column.name
            if numbers is None:
                lines.append([name, *([TOO_FEW] * len(blank)), ""])
                continue
            column, numbers = _as_shown(column, numbers)  # noqa: PLW2901
            cells = self._records_of(column, numbers)
            p = _p_text(tested[column.name][1]) if column.name in tested else ""
            if column.categories == _BINARY:
                shares = [_share_text(one["counts"]["1"], one["count"]) for one in cells]
                lines.append([f"{name}, n (%)", *shares, p])
            elif column.categories:
                lines.append([f"{name}, n (%)", *blank, p])
                lines += [
                    [
                        f"  {category}",
                        *(_share_text(one["counts"][category], one["count"]) for one in cells),
                        "",
                    ]
                    for category in column.categories
                ]
            else:
                shown = [_mean_text(one, column) for one in cells]
                lines.append([f"{name}, mean (SD)", *shown, p])
            if any(one["missing"] for one in cells):
                lines.append(["  missing", *(str(one["missing"]) for one in cells), ""])
        return lines

    def to_frame(self) -> Any:
        """The same as a pandas DataFrame; ParameterError without pandas."""
        head, *lines = self.lines()
        return pandas().DataFrame(
            [line[1:] for line in lines], columns=head[1:], index=[line[0] for line in lines]
        )

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the same as a CSV file. Names and categories stay as they are, also for spreadsheets."""
        Path(path).write_text(self.csv_text(), encoding="utf-8", newline="")

    def csv_text(self) -> str:
        """The content of `to_csv`."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(self.lines())
        return text.getvalue()

    def __str__(self) -> str:
        return text_table(self.lines(), "<" * (len(self.clusters) + 2))

    def _repr_html_(self) -> str:
        return html_table([[cell.replace("  ", "\N{EM SPACE}") for cell in line] for line in self.lines()])


def read_lines(path: Path) -> list[list[str]]:
    """The lines that `Table1.to_csv` wrote, each of two or more cells; [] if there is no file."""
    if not path.is_file():
        return []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file))
        if len(lines) > 1 and len(lines[0]) > 1 and len(set(map(len, lines))) == 1:
            return lines
    except (csv.Error, UnicodeDecodeError):
        pass  # refused below
    raise DataError(f"{path}: no table of columns by cluster")


def _as_shown(column: Column, numbers: Objects) -> tuple[Column, Objects]:
    """A column and its numbers; one of whole numbers from 0 to 1 has two categories instead of moments."""
    if column.categories or column.date or column.step != 1 or column.range != (0, 1):
        return column, numbers
    count, total = numbers[:, 0], numbers[:, 1]
    return Column(name=column.name, unit=column.unit, categories=_BINARY), np.stack([count - total, total], 1)


def _mean_and_std(scale: _Scale, cell: Sequence[int]) -> tuple[float, float]:
    """Mean and sample deviation from exact count, sum and sum of squares."""
    count, total, squares = cell
    if not count:
        return nan, nan
    mean = float(scale.origin + scale.unit * Fraction(total, count))
    if count == 1:
        return mean, nan
    return mean, sqrt(Fraction(count * squares - total**2, count * (count - 1))) * float(scale.unit)


def _squares(cells: Sequence[Sequence[int]]) -> tuple[Fraction, Fraction, int, int]:
    """Exact sums of squares between and within groups, the number of groups, and of rows."""
    filled = [cell for cell in cells if cell[0]]
    rows, total = sum(cell[0] for cell in filled), sum(cell[1] for cell in filled)
    by_group = sum((Fraction(cell[1] ** 2, cell[0]) for cell in filled), Fraction(0))
    between = by_group - Fraction(total**2, rows) if rows else Fraction(0)
    return between, sum(cell[2] for cell in filled) - by_group, len(filled), rows


def _ratio(above: Fraction, below: Fraction) -> float:
    if below:
        return float(above / below)
    return inf if above else nan


def _p_text(p: float) -> str:
    if p != p:  # noqa: PLR0124 - nan
        return ""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _share_text(count: int, of: int) -> str:
    return f"{count} ({100 * count / of:.1f})" if of else str(count)


def _mean_text(one: dict[str, Any], column: Column) -> str:
    mean, std = one["mean"], one["std"]
    if column.date:
        return f"{column.shown(round(mean))} ({std:.1f} days)"
    return f"{mean:.4g} ({std:.3g})"
