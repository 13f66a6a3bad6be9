"""Operations of the compiled loops on blocks of rows, and the rules that all compiled loops follow.

All arithmetic is on integers below 2**53 in float64. The compiler may only contract to fused multiply-add,
which does not change such results. Rows are processed in blocks that fit in the L1 and L2 caches.
Signatures are explicit: everything is compiled at the first import and later read from Numba's cache on disk.
The cache of a loop depends on the loop's own file, not on this one.

Indices start at 0 on slices that were made before. So the compiler sees no negative one and vectorises.
"""

import numpy as np
from numba import float64, njit, types, uint8, uint64

from secfc.kernels import lanes
from secfc.kernels.lanes import LANES

ROUND = 1.5 * 2.0**52
"""Adding and subtracting it rounds a float64 below 2**51 to the nearest integer."""

BLOCK = 192
"""Rows in a block of a product. A column is 3 KiB of float64, so 128 columns fit in half an L2 cache."""

STRIDE = BLOCK + LANES
"""An odd number of cache lines between columns, so that columns do not evict each other from the cache."""

LONG = 2048
"""Rows in a block that is only unpacked. In short blocks the start would take longer than the work."""

SECTION = 256
"""Rows whose digits are computed at a time: for 8 primes 16 KiB, half an L1 cache."""

PAIR = 2 * LANES
"""Rows multiplied or decoded at a time."""

_AHEAD = 4 * 4 * PAIR
"""How many bytes ahead a product reads a column of shares: so much of 128 columns fits in an L1 cache."""

INNER = 128
"""Columns of exact products between reductions; see secfc.field.residues.BLOCK."""

OPTIONS = {"cache": True, "error_model": "numpy", "fastmath": {"contract"}, "nogil": True}

BYTES_1 = types.Array(uint8, 1, "C", readonly=True)
BYTES_2 = types.Array(uint8, 2, "C", readonly=True)
BYTES_3 = types.Array(uint8, 3, "C", readonly=True)


@njit(**OPTIONS)
def lines(count, length):
    """Zeros: `count` lines of `length` numbers, a multiple of LANES. Each begins with a cache line."""
    flat = np.zeros(count * length + LANES)
    first = -(uint64(flat.ctypes.data) // uint64(8)) % uint64(LANES)
    return flat[first : first + uint64(count * length)].reshape(count, length)


@njit(**OPTIONS)
def product(x, first, last, matrix, constant, z, b):
    """z[h, :b] = constant[h] + sum over columns c in [first, last) of matrix[h, c] x[c - first, :b].

    The number of matrix rows is a multiple of four. x and z have equally many columns. They are computed
    sixteen at a time, up to a multiple of PAIR.
    """
    weights, length = uint64(matrix[:, first:].ctypes.data), x.shape[1]
    for low in range(0, b, PAIR):
        at = uint64(x.ctypes.data) + uint64(8 * low)
        lanes.multiply(
            weights,
            matrix.shape[1],
            last - first,
            at,
            length,
            uint64(constant.ctypes.data),
            uint64(z.ctypes.data) + uint64(8 * low),
            length,
            matrix.shape[0] // 4,
            at + uint64(8 * PAIR),
            8 * length,
        )


@njit(**OPTIONS)
def product_of_shares(shares, first, last, start, b, x, matrix, constant, z):
    """As `product`, of shares[first:last, start : start + b], in float32.

    x has lines of PAIR numbers. PAIR rows of the shares at a time are widened to it, and stay in the L1 cache
    while all rows of the matrix are multiplied.
    """
    line = 4 * shares.shape[1]
    for low in range(0, b, PAIR):
        source = uint64(shares[first:].ctypes.data) + uint64(4 * (start + low))
        if low + PAIR <= b:
            lanes.widen(source, line, last - first, uint64(x.ctypes.data))
        else:
            for c in range(first, last):
                for i in range(b - low):
                    x[c - first, i] = shares[c, start + low + i]
        lanes.multiply(
            uint64(matrix[:, first:].ctypes.data),
            matrix.shape[1],
            last - first,
            uint64(x.ctypes.data),
            PAIR,
            uint64(constant.ctypes.data),
            uint64(z.ctypes.data) + uint64(8 * low),
            z.shape[1],
            matrix.shape[0] // 4,
            source + uint64(_AHEAD),
            line,
        )


@njit(**OPTIONS)
def reduce_into(z, b, p, total, fresh):
    """total[:, :b] = (if `fresh`) or += reduced z[:, :b]."""
    inverse, modulus = 1.0 / p, float(p)
    for h in range(z.shape[0]):
        source, target = z[h], total[h]
        if fresh:
            for i in range(b):
                quotient = (source[i] * inverse + ROUND) - ROUND
                target[i] = source[i] - quotient * modulus
        else:
            for i in range(b):
                quotient = (source[i] * inverse + ROUND) - ROUND
                target[i] += source[i] - quotient * modulus


@njit(**OPTIONS)
def pack(z, b, p, out):
    """Three bytes for each of the integers z[:b] modulo p."""
    groups = b // LANES
    lanes.pack(uint64(z.ctypes.data), groups, float64(p), uint64(out.ctypes.data))
    for i in range(groups * LANES, b):
        residue = np.int64(z[i]) % p
        for byte in range(3):
            out[3 * i + byte] = (residue >> (8 * byte)) & 0xFF


@njit(**OPTIONS)
def unpack(source, b, residues):
    """residues[:b] = the 24-bit integers in source[: 3 b]."""
    groups = b // LANES
    lanes.unpack(uint64(source.ctypes.data), groups, uint64(residues.ctypes.data))
    for i in range(groups * LANES, b):
        residues[i] = source[3 * i] | (source[3 * i + 1] << 8) | (source[3 * i + 2] << 16)


@njit(**OPTIONS)
def garner(digits, primes, inverses):
    """Integers |x| < 2**53 - 2**24 with these residues, to canonical mixed-radix digits in place."""
    for q in range(primes.size):
        digit = digits[q]
        inverse, modulus = 1.0 / primes[q], float(primes[q])
        for i in range(digit.size):
            quotient = (digit[i] * inverse + ROUND) - ROUND
            digit[i] -= quotient * modulus
        for j in range(q):
            earlier, factor = digits[j], inverses[q, j]
            for i in range(digit.size):
                v = (digit[i] - earlier[i]) * factor
                quotient = (v * inverse + ROUND) - ROUND
                digit[i] = v - quotient * modulus
        for i in range(digit.size):
            digit[i] += modulus if digit[i] < 0.0 else 0.0
