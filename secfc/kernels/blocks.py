"""Blocks of rows, and what the compiled loops do to every one of them.

All arithmetic is on integers below 2**53 held in float64, so contraction to fused multiply-add, the only
liberty given to the compiler, changes nothing. Rows are taken in blocks that stay in the L1 and L2 caches.
Signatures are explicit: everything is compiled when it is imported for the first time, and read from Numba's
cache on disk ever after. The cache of a loop is keyed by the loop's own file, not by this one.

Indices run from 0 over slices that were cut first: the compiler then knows that they are not negative and
vectorises.
"""

import numpy as np
from numba import boolean, float32, float64, int32, int64, njit, types, uint8, uint64, void

from secfc.kernels import lanes
from secfc.kernels.lanes import LANES

ROUND = 1.5 * 2.0**52
"""Adding and subtracting it rounds a float64 below 2**51 to the nearest integer."""

BLOCK = 192
"""Rows of a block of a product: a column is 3 KiB of float64, so 128 columns fit half an L2 cache."""

_STRIDE = BLOCK + LANES
"""An odd number of cache lines from one column to the next, so that they do not push each other out."""

LONG = 2048
"""Rows of a block that is only unpacked: short blocks would pay more for their start than for their work."""

PAIR = 2 * LANES
"""Rows decoded at a time."""

INNER = 128
"""Columns of exact products between reductions; see secfc.field.residues.BLOCK."""

OPTIONS = {"cache": True, "error_model": "numpy", "fastmath": {"contract"}, "nogil": True}

BYTES_1 = types.Array(uint8, 1, "C", readonly=True)
BYTES_2 = types.Array(uint8, 2, "C", readonly=True)
BYTES_3 = types.Array(uint8, 3, "C", readonly=True)


@njit(float64[:, ::1](int64), **OPTIONS)
def lines(count):
    """Zeros: `count` lines of a block of rows, each from the start of a cache line."""
    flat = np.zeros(count * _STRIDE + LANES)
    first = -(uint64(flat.ctypes.data) // uint64(8)) % uint64(LANES)
    return flat[first : first + uint64(count * _STRIDE)].reshape(count, _STRIDE)


@njit(void(float64[:, ::1], int64, int64, float64[:, ::1], float64[::1], float64[:, ::1], int64), **OPTIONS)
def product(x, first, last, matrix, constant, z, b):
    """z[h, :b] = constant[h] + sum over columns c in [first, last) of matrix[h, c] x[c - first, :b].

    The matrix has a multiple of four rows; columns of x and z, which are as long, are computed sixteen at a
    time, up to a multiple of PAIR.
    """
    lanes.multiply(
        uint64(matrix[:, first:].ctypes.data),
        matrix.shape[1],
        last - first,
        uint64(x.ctypes.data),
        uint64(constant.ctypes.data),
        uint64(z.ctypes.data),
        x.shape[1],
        matrix.shape[0] // 4,
        (b + PAIR - 1) // PAIR,
    )


@njit(void(float64[:, ::1], int64, int64, float64[:, ::1], boolean), **OPTIONS)
def reduce_into(z, b, p, total, fresh):
    """total[:, :b] = or += reduced z[:, :b]."""
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


@njit(void(float64[::1], int64, int64, uint8[::1]), **OPTIONS)
def pack(z, b, p, out):
    """Three bytes for each of the integers z[:b] modulo p."""
    groups = b // LANES
    lanes.pack(uint64(z.ctypes.data), groups, float64(p), uint64(out.ctypes.data))
    for i in range(groups * LANES, b):
        residue = np.int64(z[i]) % p
        for byte in range(3):
            out[3 * i + byte] = (residue >> (8 * byte)) & 0xFF


@njit(void(BYTES_1, int64, int32[::1]), **OPTIONS)
def unpack(source, b, residues):
    """residues[:b] = the 24-bit integers in source[: 3 b]."""
    groups = b // LANES
    lanes.unpack(uint64(source.ctypes.data), groups, uint64(residues.ctypes.data))
    for i in range(groups * LANES, b):
        residues[i] = source[3 * i] | (source[3 * i + 1] << 8) | (source[3 * i + 2] << 16)


@njit(void(float32[::1], int64, float64[::1]), **OPTIONS)
def widen(source, b, target):
    """target[:b] = source, a block of a column; the column's next block is asked for."""
    groups = b // PAIR
    lanes.widen(uint64(source.ctypes.data), groups, uint64(target.ctypes.data), 4 * BLOCK)
    for i in range(groups * PAIR, b):
        target[i] = source[i]
