"""Non-negative integers of any size as arrays of 32-bit limbs: exact minima, sums and searches.

An array of integers has shape (L, ...), dtype uint32, the lowest limb first. Sums of limbs are in uint64: for
2**29 rows (`secfc.options.MAX_ROWS`) of limbs below 2**32 they stay below 2**61. The same holds for rows
whose weights sum to at most 2**29.
"""

import numpy as np
from numpy.typing import NDArray

from secfc.array_types import Bools, Ints, Shares
from secfc.field.mixed_radix import MixedRadix

Limbs = NDArray[np.uint32]

_BITS = 32
_MASK = (1 << _BITS) - 1


def limbs_of_digits(digits: Shares, radix: MixedRadix) -> Limbs:
    """Limbs of the integers that have these mixed-radix digits, shape (P, ...), by Horner's rule.

    L limbs hold every integer below the product of the primes.
    """
    count = -(-(radix.radices[-1] * radix.primes[-1]).bit_length() // _BITS)
    limbs = np.zeros((count, *digits.shape[1:]), dtype=np.uint64)
    for digit, p in zip(digits[::-1], radix.primes[::-1], strict=True):
        # A limb below 2**32 times p < 2**24, plus a carry below 2**25, is below 2**57.
        carry = digit.astype(np.uint64)
        for at in range(count):
            product = limbs[at] * np.uint64(p) + carry
            carry = product >> np.uint64(_BITS)
            limbs[at] = product & np.uint64(_MASK)
    return limbs.astype(np.uint32)


def minimum(a: Limbs, b: Limbs) -> Limbs:
    """Elementwise smaller integers of two arrays of one shape."""
    return np.where(_less(b, a), b, a)


def total(values: Limbs, weights: Ints | None = None) -> int:
    """Sum of the integers, shape (L, m), times their weights, shape (m,), if there are any."""
    return _as_integer(_weighed(values, weights).sum(axis=1, dtype=np.uint64))


class Cumulated:
    """Searchable running sums of integers, (L, m), times their weights, (m,), if there are any."""

    def __init__(self, values: Limbs, weights: Ints | None = None) -> None:
        self._sums = np.cumsum(_weighed(values, weights), axis=1, dtype=np.uint64)
        for at in range(len(values) - 1):
            self._sums[at + 1] += self._sums[at] >> np.uint64(_BITS)
            self._sums[at] &= np.uint64(_MASK)
        self.total = _as_integer(self._sums[:, -1])

    def first_above(self, bound: int) -> int:
        """Position of the first running sum above `bound`, 0 <= bound < total."""
        low, high = 0, self._sums.shape[1]
        for at in reversed(range(self._sums.shape[0])):
            part = self._sums[at, low:high]
            # The top limb keeps its carries, so it is compared with the rest of the bound.
            wanted = np.uint64(bound >> (_BITS * at))
            bound &= (1 << (_BITS * at)) - 1
            low, high = (
                low + int(np.searchsorted(part, wanted, side="left")),
                low + int(np.searchsorted(part, wanted, side="right")),
            )
        return int(high)


def _weighed(values: Limbs, weights: Ints | None) -> Limbs | NDArray[np.uint64]:
    return values if weights is None else values * weights.astype(np.uint64)


def _as_integer(limbs: NDArray[np.uint64]) -> int:
    return sum(int(one) << (_BITS * at) for at, one in enumerate(limbs.tolist()))


def _less(a: Limbs, b: Limbs) -> Bools:
    less: Bools = a[0] < b[0]
    for low, high in zip(a[1:], b[1:], strict=True):
        less = (low < high) | ((low == high) & less)
    return less
