"""A column's count, sum and sum of squares as whole numbers, and the statistics from their totals.

A number x of a column with the agreed range low to high is counted in steps: s = round((x - low) /
(high - low) 2**28), 0 <= s <= 2**28. If the schema says so, x, low and high are logarithms. Over m < 2**29
rows, sums of steps are below 2**57 and sums of squares below 2**85.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np

from secfc.errors import CheatError
from secfc.errors.codes import Code
from secfc.field.array_types import Floats, Ints
from secfc.field.residues import MAX_ROWS
from secfc.operations.beginning.totals import STEPS, are_possible, moments
from secfc.prepare.schema import Column


@dataclass(frozen=True, kw_only=True, repr=False)
class Contribution:
    """What a party adds to the totals of a column. It is secret.

    `numbers` are the count, the sum and the sum of squares of its values in steps; with bins or categories
    the number of values in each.
    """

    count: int  # of its values
    numbers: tuple[int, ...]


def of_column(values: Floats | Ints, column: Column) -> Contribution:
    """A party's contribution, without what is missing: nan, or -1 among positions of categories.

    Numbers are within the column's range.
    """
    if column.categories:
        counts = np.bincount(values[values >= 0].astype(np.int64), minlength=len(column.categories))
        return Contribution(count=int(counts.sum()), numbers=tuple(counts.tolist()))
    given = steps(values[~np.isnan(values)], column)
    if column.bins:
        # A step of at most 2**28 times 1024 bins fits int64; the high end is in the last bin.
        places = np.minimum(given * column.bins // STEPS, column.bins - 1)
        counts = np.bincount(places, minlength=column.bins)
        return Contribution(count=given.size, numbers=tuple(counts.tolist()))
    return Contribution(count=given.size, numbers=moments(given))


def opened(totals: Sequence[int], column: Column, *, holders: int, smallest: int) -> "Opened":
    """The statistics from the totals of a column; CheatError if no values have these totals."""
    kind: type[Opened] = Quartiles if column.bins else Mode if column.categories else Statistics
    # Counts are added up modulo a number, so none is negative.
    count = totals[0] if kind is Statistics else sum(totals)
    possible = max(1, holders * smallest) <= count <= MAX_ROWS
    if not possible or (kind is Statistics and not are_possible(*totals)):
        raise CheatError(
            f"column {column.name!r}: no values have the opened totals, so some client sent wrong numbers; "
            "shares hide which client",
            code=Code.IMPOSSIBLE_TOTALS,
        )
    return kind.of(totals, column, holders=holders)


def steps(values: Floats | Ints, column: Column) -> Ints:
    """Values between the column's ends, as steps from its low end, 0 to `STEPS`."""
    low, high = column.ends
    return np.rint((values - low) / (high - low) * STEPS).astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """What all parties learn about a column.

    Attributes
    ----------
    holders : int
        Parties with at least the schema's `smallest` values.
    count : int
        Values of all parties.
    mean, deviation : float
        Mean and population standard deviation of these values, or of their logarithms, in the column's unit.
        Values are rounded to steps of 2**-28 of the range, so each has an error of at most half a step.
    """

    holders: int
    count: int
    mean: float
    deviation: float

    @property
    def centre(self) -> float:
        """The value that becomes 0 and replaces missing values."""
        return self.mean

    @property
    def unit(self) -> float:
        """The length that becomes 1; 0.0 if all values are equal."""
        return self.deviation

    @classmethod
    def of(cls, totals: Sequence[int], column: Column, *, holders: int) -> "Statistics":
        """The statistics from all parties' totals, the same floats everywhere."""
        count, total, squares = totals
        low, high = column.ends
        width = Fraction(high) - Fraction(low)
        mean = Fraction(low) + width * total / (count * STEPS)
        # Each of these operations is correctly rounded, so the result is the same on every machine.
        deviation = sqrt(count * squares - total * total) / count * (float(width) / STEPS)
        return cls(holders=holders, count=count, mean=float(mean), deviation=deviation)


@dataclass(frozen=True, kw_only=True)
class Quartiles:
    """What all parties learn about a column that is scaled by median and interquartile range.

    Attributes
    ----------
    holders : int
        Parties with at least the schema's `smallest` values.
    count : int
        Values of all parties.
    counts : tuple of int
        How many of these are in each bin, from low to high.
    lower, median, upper : float
        Quartiles, in the column's unit or of logarithms, if the values of each bin are spread evenly over it.
        The error is at most one bin.
    """

    holders: int
    count: int
    counts: tuple[int, ...]
    lower: float
    median: float
    upper: float

    @property
    def centre(self) -> float:
        """The value that becomes 0 and replaces missing values."""
        return self.median

    @property
    def unit(self) -> float:
        """The length that becomes 1: the interquartile range, above 0."""
        return self.upper - self.lower

    @classmethod
    def of(cls, totals: Sequence[int], column: Column, *, holders: int) -> "Quartiles":
        """The quartiles from all parties' totals, the same floats everywhere."""
        low, high = map(Fraction, column.ends)
        lower, median, upper = (
            float(low + (high - low) * _quantile(totals, Fraction(at, 4))) for at in (1, 2, 3)
        )
        return cls(
            holders=holders,
            count=sum(totals),
            counts=tuple(totals),
            lower=lower,
            median=median,
            upper=upper,
        )


@dataclass(frozen=True, kw_only=True)
class Mode:
    """What all parties learn about a column of categories whose missing values become the most frequent one.

    `holders` and `count` are as in `Statistics`. `counts` are by category, in the schema's order. `mode` is
    the most frequent category, the first of those that are equally frequent.
    """

    holders: int
    count: int
    counts: tuple[int, ...]
    mode: str

    @classmethod
    def of(cls, totals: Sequence[int], column: Column, *, holders: int) -> "Mode":
        """The most frequent category from all parties' totals."""
        mode = column.categories[totals.index(max(totals))]
        return cls(holders=holders, count=sum(totals), counts=tuple(totals), mode=mode)


Opened = Statistics | Quartiles | Mode
"""What is opened about a column."""


def _quantile(counts: Sequence[int], part: Fraction) -> Fraction:
    """The point of the range, 0 to 1, below which this part of the values lies."""
    rank, below = part * sum(counts), 0
    for at, count in enumerate(counts):
        if below + count >= rank:
            return (at + (rank - below) / count) / len(counts)
        below += count
    raise AssertionError("there is a value")
