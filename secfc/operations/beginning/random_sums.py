"""Random sums of rows that show whether entries are small.

Residues modulo Q can be those of large integers, and squares of these wrap around. So the first check that
rows are within the bound is of random sums of each owner's entries, with coefficients -1, 0 and 1. If the
sums are small, so is every entry. Then no squared norm wraps around (docs/proofs.md, "Rows within the
bound").
"""

from collections.abc import Callable, Sequence
from math import isqrt, prod

import numpy as np
from numpy.typing import NDArray

from secfc.crypto.randomness import MaskSource
from secfc.field.array_types import Floats, Shares
from secfc.field.primes import primes_above
from secfc.field.residues import canonical, reduce

SUMS = 42
"""Sums over an owner's rows, for each column. A large entry makes each sum large with probability >= 1/2."""

TESTS = 6
"""Sums over the columns, for each of these sums. An entry that is too large passes all of them with
probability at most ((1 + 2**-6) / 2)**42 < 2**-41."""

VALUES = SUMS * TESTS
"""Values for each group of owners and segment."""

_SPREAD = 8
"""A sum with such coefficients is at most 8 times the norm of its terms, except with probability 2 e**-64."""

_BLOCK_ROWS = 1 << 12
"""Rows whose coefficients are drawn at a time. All parties draw the same ones."""


def most_sum(radius: int, rows: int) -> int:
    """Bound on all values of so many rows within the radius. It fails with negligible probability."""
    return _SPREAD**2 * (isqrt(rows) + 1) * radius


def bounded_residues(radius: int, rows: int, columns: int) -> int:
    """Number of primes with which no squared norm wraps around after the sums were found small.

    Then no entry exceeds 4 `most_sum`, so the squared norm of a row is below Q / 2. `columns` counts those of
    all segments. ParameterError if all primes together are not enough.
    """
    limit = 2 * columns * (4 * most_sum(radius, rows)) ** 2
    return primes_above(limit, what=f"norms of {rows} rows of {columns} columns")


def coded_sums(
    shares: Callable[[int, slice], Shares],
    owned: Sequence[slice],
    *,
    width: int,
    source: MaskSource,
    primes: Sequence[int],
) -> Floats:
    """Random sums of shares of each group's rows. The source determines the public coefficients.

    The sums are canonical, shape (P, groups, VALUES). `shares` takes the index of a prime and a slice of
    rows and returns reduced residues, shape (width, rows). `owned` are the rows of each group, in order. A
    segment has `width` columns.
    """
    modulo = np.array(primes, dtype=np.float64)[:, None, None]
    totals = np.zeros((len(owned), len(primes), width, SUMS))
    begin, end = owned[0].start, owned[-1].stop
    for start in range(begin, end, _BLOCK_ROWS):
        stop = min(start + _BLOCK_ROWS, end)
        signs = _signs(source, (stop - start, SUMS))
        held = np.array([shares(index, slice(start, stop)) for index in range(len(primes))], dtype=np.float64)
        for at, own in enumerate(owned):
            if own.start < stop and start < own.stop:
                rows = slice(max(own.start, start) - start, min(own.stop, stop) - start)
                totals[at] += held[..., rows] @ signs[rows]  # below 2**23 + 4 times 2**29 rows: exact
    signs = _signs(source, (len(owned), SUMS, TESTS, width))
    # Below 2**24 times the columns of a segment, 2**28 at most.
    values = signs @ reduce(totals, modulo).transpose(0, 3, 2, 1)  # (groups, SUMS, TESTS, P)
    values = values.reshape(len(owned), VALUES, len(primes)).transpose(2, 0, 1)
    return canonical(reduce(values, modulo), modulo)


def _signs(source: MaskSource, shape: tuple[int, ...]) -> Floats:
    """Independent coefficients: 0 with probability 1/2, -1 and 1 with probability 1/4 each."""
    count = prod(shape)
    bits: NDArray[np.uint8] = np.unpackbits(np.frombuffer(source.octets(-(-count // 4)), dtype=np.uint8))
    pairs = bits[: 2 * count].astype(np.float64).reshape(*shape, 2)
    found: Floats = pairs[..., 0] - pairs[..., 1]
    return found
