"""Arithmetic modulo a 24-bit prime on float64 arrays, exact by the bounds given here.

A *reduced* residue is an integer r with |r| <= p/2 + 4. A *canonical* one is in [0, p). The product of two
reduced residues is below 2**46. The sum of `BLOCK` such products is below 2**53, in any order and with or
without fused multiply-add. So plain BLAS is exact.
"""

from typing import Any

import numpy as np

from secfc.field.array_types import Floats

BLOCK = 128
"""Products of reduced residues that a float64 sum holds exactly.

The largest prime is 16760833, so a product is at most 8380420**2 and 128 of them 8.9897e15 < 2**53.
"""


MAX_ROWS = 1 << 29  # a sum of this many reduced residues (below 2**24) stays below 2**53

MAX_WEIGHT = 1 << 23  # below every prime, so no row's masks become zero in a weighted sum


LOOPS: list[Any] = []
"""The module of compiled loops, if it is loaded (`secfc.kernels.compiled`).

They pass over memory once, NumPy four times. Here and in `packing` they give the same residues.
"""


def reduce(x: Floats, p: int | Floats) -> Floats:
    """Reduced residues of integers |x| < 2**53 - 2**24 modulo odd primes below 2**24.

    The quotient x * (1/p) is at most 2**30 and off by less than 2**-22 of that rounding, so the rounded
    quotient q leaves |x - q p| <= p/2 + p 2**-22 <= p/2 + 4. Both q p and the difference are below 2**53, so
    they are exact. Arrays of primes broadcast to the shape of `x`.
    """
    if by_first_axis(x, p):
        found = np.empty_like(x)
        LOOPS[0].reduce(x.reshape(len(x), -1), np.ravel(p), found.reshape(len(x), -1))
        return found
    quotient: Floats = np.multiply(x, 1.0 / p)
    np.rint(quotient, out=quotient)
    quotient *= -p
    quotient += x
    return quotient


def by_first_axis(x: Floats, p: int | Floats) -> bool:
    """Whether loops are loaded, and x is contiguous and has a prime for each index of its first axis."""
    if not LOOPS or not isinstance(p, np.ndarray):
        return False
    return p.ndim == x.ndim and p.size == len(p) == len(x) and x.flags.c_contiguous


def canonical(x: Floats, p: int | Floats) -> Floats:
    """Residues in [0, p) of the reduced residues `x` (p > 8)."""
    residues: Floats = np.multiply(x < 0, p, dtype=np.float64)
    residues += x
    return residues


def matmul(a: Floats, b: Floats, p: int | Floats) -> Floats:
    """Reduced product ``a @ b`` modulo p of two matrices of reduced residues, float64, or of stacks of these.

    Arrays of primes broadcast to the shape of the product.
    """
    inner = a.shape[-1]
    total = reduce(a[..., :BLOCK] @ b[..., :BLOCK, :], p)
    if inner <= BLOCK:
        return total
    for start in range(BLOCK, inner, BLOCK):
        # 2**30 blocks would fit before `total` itself needs a reduction.
        total += reduce(a[..., start : start + BLOCK] @ b[..., start : start + BLOCK, :], p)
    return reduce(total, p)


def squared_norms(x: Floats, p: int | Floats) -> Floats:
    """Reduced ``sum_c x[c]**2`` modulo p of each column vector of reduced residues.

    `x` has shape (columns, rows), or (P, columns, rows) with primes of shape (P, 1).
    """
    total = np.zeros(x.shape[:-2] + x.shape[-1:])
    for start in range(0, x.shape[-2], BLOCK):
        part = x[..., start : start + BLOCK, :]
        total += reduce(np.einsum("...ci,...ci->...i", part, part), p)
    return reduce(total, p)


def centre(x: Floats, p: int | Floats) -> Floats:
    """Centred residues, |x| <= (p - 1)/2, of the canonical residues `x`, in a new array."""
    residues = np.multiply(x > p // 2, p, dtype=np.float64)
    np.subtract(x, residues, out=residues)
    return residues


def inverse(x: int, p: int) -> int:
    """Inverse of x modulo p, centred."""
    return centred(pow(x, -1, p), p)


def centred(x: int, p: int) -> int:
    """The residue of the Python integer x in [-(p-1)/2, (p-1)/2]."""
    r = x % p
    return r - p if r > p // 2 else r
