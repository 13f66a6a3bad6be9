"""A column's count, sum and sum of squares as whole numbers, and what follows from their totals.

A number of a column with the agreed range low to high is counted in steps: s = round((x - low) / (high - low)
2**28), 0 <= s <= 2**28, where x, low and high are logarithms if the schema says so. Over m < 2**29 rows sums
of steps stay below 2**57 and sums of squares below 2**85.
"""

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

    @classmethod
    def of(cls, values: Floats, column: Column) -> "Sums":
        """Of a party's values within the column's range; nan is no value."""
        numbers = steps(values[~np.isnan(values)], column)
        squares = numbers * numbers  # at most 2**56
        # 2**29 high halves below 2**25 and low halves below 2**32 fit int64.
        high, low = int((squares >> _HALF).sum()), int((squares & _LOW_HALF).sum())
        return cls(count=numbers.size, total=int(numbers.sum()), squares=(high << _HALF) + low)


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

    @classmethod
    def of(cls, totals: Sums, column: Column, *, holders: int, smallest: int) -> "Statistics":
        """From the totals of all parties, the same floats everywhere.

        CheatError where no values within the column's range have these totals.
        """
        count, total, squares = totals.count, totals.total, totals.squares
        # 0 <= s <= STEPS, hence s**2 <= STEPS s; the last is Cauchy's and Schwarz's inequality.
        if not (
            max(1, holders * smallest) <= count <= MAX_ROWS
            and total <= count * STEPS
            and total <= squares <= STEPS * total
            and total * total <= count * squares
        ):
            raise CheatError(
                f"column {column.name!r}: no values have the totals that were opened; some client's numbers "
                "are not those of values, and shares hide whose",
                code=Code.IMPOSSIBLE_TOTALS,
            )
        low, high = column.ends
        width = Fraction(high) - Fraction(low)
        mean = Fraction(low) + width * total / (count * STEPS)
        # Each of these operations is correctly rounded, so the result is the same on every machine.
        deviation = sqrt(count * squares - total * total) / count * (float(width) / STEPS)
        return cls(holders=holders, count=count, mean=float(mean), deviation=deviation)
