"""A column's count, sum and sum of squares as whole numbers, and what follows from their totals.

A number of a column with the agreed range low to high is counted in steps: s = round((x - low) / (high - low)
2**28), 0 <= s <= 2**28, where x, low and high are logarithms if the schema says so. Over m < 2**29 rows sums
of steps stay below 2**57 and sums of squares below 2**85.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np

from secfc.array_types import Floats, Ints
from secfc.codes import Code
from secfc.errors import CheatError
from secfc.options import MAX_ROWS
from secfc.prepare.schema import Column

STEPS = 1 << 28
"""Steps of a column's range."""

_HALF = 32
_LOW_HALF = (1 << _HALF) - 1


@dataclass(frozen=True, kw_only=True, repr=False)
class Sums:
    """Number, sum in steps and sum of squares of a party's values of a column, or totals of these."""

    count: int
    total: int
    squares: int

    def __repr__(self) -> str:
        return "Sums()"  # of a party they are secret

    @property
    def numbers(self) -> tuple[int, ...]:
        """What is added up."""
        return self.count, self.total, self.squares

    @classmethod
    def of(cls, values: Floats, column: Column) -> "Sums":
        """Of a party's values within the column's range; nan is no value."""
        numbers = steps(values[~np.isnan(values)], column)
        squares = numbers * numbers  # at most 2**56
        # 2**29 high halves below 2**25 and low halves below 2**32 fit int64.
        high, low = int((squares >> _HALF).sum()), int((squares & _LOW_HALF).sum())
        return cls(count=numbers.size, total=int(numbers.sum()), squares=(high << _HALF) + low)


@dataclass(frozen=True, kw_only=True, repr=False)
class Counts:
    """Number of a party's values in each bin of a column, or totals of these."""

    counts: tuple[int, ...]

    def __repr__(self) -> str:
        return "Counts()"  # of a party they are secret

    @classmethod
    def of(cls, values: Floats, column: Column) -> "Counts":
        """Of a party's values within the column's range; nan is no value."""
        bins = column.totals
        # A step of at most 2**28 times 1024 bins fits int64; the high end is in the last bin.
        places = np.minimum(steps(values[~np.isnan(values)], column) * bins // STEPS, bins - 1)
        return cls(counts=tuple(np.bincount(places, minlength=bins).tolist()))

    @property
    def count(self) -> int:
        """Values in all."""
        return sum(self.counts)

    @property
    def numbers(self) -> tuple[int, ...]:
        """What is added up."""
        return self.counts


def of_column(values: Floats, column: Column) -> Sums | Counts:
    """What a party adds to the totals of a column."""
    return Counts.of(values, column) if column.bins else Sums.of(values, column)


def opened(totals: Sequence[int], column: Column, *, holders: int, smallest: int) -> "Statistics | Quartiles":
    """The statistics that follow from the totals of a column; CheatError where no values have them."""
    given = {"holders": holders, "smallest": smallest}
    if column.bins:
        return Quartiles.of(Counts(counts=tuple(totals)), column, **given)
    count, total, squares = totals
    return Statistics.of(Sums(count=count, total=total, squares=squares), column, **given)


def steps(values: Floats, column: Column) -> Ints:
    """Values between the column's ends in steps from its low end, 0 to `STEPS`."""
    low, high = column.ends
    return np.rint((values - low) / (high - low) * STEPS).astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """What all parties learn of a column.

    Attributes
    ----------
    holders : int
        Parties with at least the schema's `smallest` values.
    count : int
        Values of all parties.
    mean, deviation : float
        Of these or of their logarithms, the deviation that of the population, in the column's unit: of the
        values rounded to steps of the range's 2**-28, so that no value is off by more than half a step.
    """

    holders: int
    count: int
    mean: float
    deviation: float

    @property
    def centre(self) -> float:
        """What becomes 0, and is filled in."""
        return self.mean

    @property
    def unit(self) -> float:
        """What becomes 1; 0.0 where all values are equal."""
        return self.deviation

    @classmethod
    def of(cls, totals: Sums, column: Column, *, holders: int, smallest: int) -> "Statistics":
        """From the totals of all parties, the same floats everywhere.

        CheatError where no values within the column's range have these totals.
        """
        count, total, squares = totals.count, totals.total, totals.squares
        # 0 <= s <= STEPS, hence s**2 <= STEPS s; the last is Cauchy's and Schwarz's inequality.
        if not (
            _can_be(count, holders, smallest)
            and total <= count * STEPS
            and total <= squares <= STEPS * total
            and total * total <= count * squares
        ):
            raise _impossible(column)
        low, high = column.ends
        width = Fraction(high) - Fraction(low)
        mean = Fraction(low) + width * total / (count * STEPS)
        # Each of these operations is correctly rounded, so the result is the same on every machine.
        deviation = sqrt(count * squares - total * total) / count * (float(width) / STEPS)
        return cls(holders=holders, count=count, mean=float(mean), deviation=deviation)


@dataclass(frozen=True, kw_only=True)
class Quartiles:
    """What all parties learn of a column that is scaled by median and interquartile range.

    Attributes
    ----------
    holders : int
        Parties with at least the schema's `smallest` values.
    count : int
        Values of all parties.
    counts : tuple of int
        Of these, how many lie in each bin, from low to high.
    lower, median, upper : float
        Quartiles, in the column's unit or of logarithms, as if the values of a bin lay evenly in it: off by a
        bin at most.
    """

    holders: int
    count: int
    counts: tuple[int, ...]
    lower: float
    median: float
    upper: float

    @property
    def centre(self) -> float:
        """What becomes 0, and is filled in."""
        return self.median

    @property
    def unit(self) -> float:
        """What becomes 1: the interquartile range, above 0."""
        return self.upper - self.lower

    @classmethod
    def of(cls, totals: Counts, column: Column, *, holders: int, smallest: int) -> "Quartiles":
        """From the totals of all parties, the same floats everywhere; CheatError where they cannot be."""
        # Counts are added up modulo a number: none is negative.
        if not _can_be(totals.count, holders, smallest):
            raise _impossible(column)
        low, high = map(Fraction, column.ends)
        lower, median, upper = (
            float(low + (high - low) * _quantile(totals.counts, Fraction(at, 4))) for at in (1, 2, 3)
        )
        return cls(
            holders=holders,
            count=totals.count,
            counts=totals.counts,
            lower=lower,
            median=median,
            upper=upper,
        )


def _quantile(counts: Sequence[int], part: Fraction) -> Fraction:
    """Where so large a part of the values lies below, as a part of the range."""
    rank, below = part * sum(counts), 0
    for at, count in enumerate(counts):
        if below + count >= rank:
            return (at + (rank - below) / count) / len(counts)
        below += count
    raise AssertionError("there is a value")


def _can_be(count: int, holders: int, smallest: int) -> bool:
    return max(1, holders * smallest) <= count <= MAX_ROWS


def _impossible(column: Column) -> CheatError:
    return CheatError(
        f"column {column.name!r}: no values have the opened totals, so some client sent wrong numbers; "
        "shares hide which client",
        code=Code.IMPOSSIBLE_TOTALS,
    )
