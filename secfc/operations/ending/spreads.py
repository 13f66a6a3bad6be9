"""Sums of the squares of each column over sets, and the deviations that follow.

A product of [b] and a square would be of three times the degree of [x], so squares are reduced once, block by
block. Opens nothing but what `reduced` opens.
"""

from collections.abc import Generator
from fractions import Fraction
from math import isqrt

import numpy as np

from secfc.errors import TooManyFaultsError
from secfc.field.array_types import Floats, Ints
from secfc.operations.beginning.rows import BLOCK
from secfc.operations.reduction import reduced
from secfc.protocol.job.job import Job
from secfc.protocol.parties.party import Party
from secfc.sharing.rows import Rows
from secfc.sharing.shared import Shared

_ROOT_BITS = 128
"""Bits after the point of a square root: many more than a float64 keeps."""


def sums_of_squares(me: Party, sets: Shared, rows: Rows) -> Generator[None, None, Shared]:
    """<sum over i of b_i f_i^2> by column, shape (k, width), of [b], shape (k, m), weighted or not."""
    step = max(1, BLOCK // (len(me.code.primes) * rows.width))
    found: Shared | None = None
    for start in range(0, rows.m, step):
        block = slice(start, min(start + step, rows.m))
        columns = rows.columns(block)
        part = sets[:, block] @ (yield from reduced(me, columns * columns))
        found = part if found is None else found + part
    assert found is not None
    return found


def deviations(sums: list[list[int]], squares: list[list[int]], *, job: Job, sizes: Ints) -> Floats:
    """Population standard deviations, (k, d) in the data's units, from exact sums and sums of squares.

    `sums` (signed) and `squares` are d lists of k integers of quantised rows. NaN for a cluster without rows.
    TooManyFaultsError when no integers have these sums, so a client's share is wrong.
    """
    found = np.full((len(sizes), job.d), np.nan)
    for h in np.flatnonzero(sizes).tolist():
        size = int(sizes[h])
        for column in range(job.d):
            total, square = sums[column][h], squares[column][h]
            # size**2 times the variance. x and x**2 have the same parity.
            scaled = size * square - total**2
            if scaled < 0 or square > size * job.radius**2 or (total - square) % 2:
                raise TooManyFaultsError(
                    f"spreads: the sums of cluster {h} are not possible for {size} rows: some client's "
                    "share is wrong"
                )
            root = isqrt(scaled << 2 * _ROOT_BITS)
            found[h, column] = job.distance_in_data_units(Fraction(root, size << _ROOT_BITS))
    return found
