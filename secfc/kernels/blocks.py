"""Operations of the compiled loops on blocks of rows, and the rules that all compiled loops follow.

All arithmetic is on integers below 2**53 in float64. The compiler may only contract to fused multiply-add,
which does not change such results. Rows are processed in blocks that fit in the L1 and L2 caches.
Loops are C functions (`loop`) with explicit signatures. They are compiled when they are imported, and
Numba's cache keeps the machine code. They get addresses and shapes, check nothing, rent memory and raise no
errors. Numba's cache does not see a change of `lanes` or of this file: clear it then (CONTRIBUTING.md).

Indices start at 0 on slices that were made before. So the compiler sees no negative one and vectorises.
"""

import logging
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numba import carray, cfunc, float32, float64, int32, int64, njit, types, uint8, uint64, void

from secfc.kernels import lanes
from secfc.kernels.lanes import LANES, rent

_LOG = logging.getLogger(__name__)

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

EXACT = {"error_model": "numpy"}
OPTIONS = {**EXACT, "fastmath": {"contract"}}

OCTETS, WORDS = types.CPointer(uint8), types.CPointer(uint64)
FLOATS, SINGLES = types.CPointer(float64), types.CPointer(float32)
INTS, SHORTS = types.CPointer(int64), types.CPointer(int32)


@dataclass(frozen=True)
class Loop:
    """A compiled loop, Numba's C function, and its type in C."""

    compiled: object
    declared: str


LOOPS = defaultdict(dict)
"""Loops by module and name."""


def _say_that_it_compiles(hits):
    """Say once in a process that loops are compiled, when the first one was not in the cache."""
    if not hits and not LOOPS:
        _LOG.warning(
            "loops are compiled now, which takes about half a minute; later runs find them in a cache"
        )


def loop(signature, options=OPTIONS):
    """Compile a C function, whose arguments are numbers and addresses of arrays in C order."""

    def compiled(function):
        in_c = {void: "void", int64: "int64_t", float64: "double"}
        result, *arguments = (in_c.get(one, "void *") for one in (signature.return_type, *signature.args))
        declared = f"{result}(*)({', '.join(arguments)})"
        try:
            made = cfunc(signature, cache=True, **options)(function)
        except RuntimeError:  # no folder for the cache can be written
            made = cfunc(signature, **options)(function)
        _say_that_it_compiles(made.cache_hits)
        LOOPS[function.__module__][function.__name__] = Loop(made, declared)
        return function

    return compiled


@njit(**OPTIONS)
def lines(count, length):
    """Rented zeros: `count` lines of `length` numbers, a multiple of LANES. Each begins with a cache line."""
    found = carray(rent(8 * count * length), (count, length), np.float64)
    found[:] = 0.0
    return found


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
