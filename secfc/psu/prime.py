"""The field of the set union: integers modulo the Mersenne prime p = 2**61 - 1.

The data's 24-bit primes are too small here: a token needs many more values. Sums of a few products suffice,
and two words hold them exactly. Elements are canonical, 0 <= x < p, in uint64.

References
----------
2**61 = 1 modulo p, so a product's high part is added to its low one (Knuth, TAOCP 2, 4.3.2, exercise 14).
"""

import numpy as np
from numpy.typing import NDArray

P = (1 << 61) - 1

Elements = NDArray[np.uint64]
"""uint64 below P."""

_P = np.uint64(P)
_BITS = np.uint64(61)
_HALF = np.uint64(32)
_LOW = np.uint64((1 << 32) - 1)
_SHIFT = np.uint64(1 << 32)
_MIDDLE = np.uint64(29)
_MIDDLE_LOW = np.uint64((1 << 29) - 1)
_EIGHT = np.uint64(8)


def fold(x: Elements) -> Elements:
    """Canonical elements of any 64-bit words modulo p: after adding the high three bits x <= p + 7."""
    x = (x & _P) + (x >> _BITS)
    return np.where(x >= _P, x - _P, x)


def add(a: Elements, b: Elements) -> Elements:
    """Sum a + b."""
    total = a + b
    return np.where(total >= _P, total - _P, total)


def multiply(a: Elements | np.uint64, b: Elements | np.uint64) -> Elements:
    """Product a b, elementwise.

    Let a = a1 2**32 + a0 and the same for b. a1 b1 2**64 = 8 a1 b1 <= 2**61. The middle term is below 2**62
    and is split at 2**29, since 2**29 2**32 = 2**61 = 1. a0 b0 is split at 2**61. The sum is below 2**63.
    """
    a1, a0 = a >> _HALF, a & _LOW
    b1, b0 = b >> _HALF, b & _LOW
    middle = a1 * b0 + a0 * b1
    low = a0 * b0
    total = _EIGHT * (a1 * b1) + (middle >> _MIDDLE) + ((middle & _MIDDLE_LOW) << _HALF)
    return fold(np.asarray(total + (low & _P) + (low >> _BITS)))


def elements(values: object) -> Elements:
    """Python integers, nested in lists, as elements modulo p."""
    return np.array(np.array(values, dtype=object) % P, dtype=np.uint64)


def total(x: Elements) -> int:
    """Sum of all elements, in parts of 32 and 29 bits, so that sums of 2**31 elements do not overflow."""
    return (int((x & _LOW).sum()) + (int((x >> _HALF).sum()) << 32)) % P


def totals(x: Elements) -> Elements:
    """Sums over the first axis, of fewer than 2**31 elements each, in parts as in `total`."""
    low, high = (x & _LOW).sum(axis=0), (x >> _HALF).sum(axis=0)
    return add(fold(low), multiply(fold(high), _SHIFT))


def inverse(x: int) -> int:
    """1 / x; ValueError for 0."""
    return pow(x, -1, P)
