"""Compiled loops of the server: decoding answers, combining them, the nearest centre.

`secfc.kernels.compiled` has their types and shapes, and `secfc.kernels.blocks` the rules they follow.
"""

import numpy as np
from numba import boolean, float32, float64, int32, int64, njit, uint8, uint64

from secfc.kernels import lanes
from secfc.kernels.blocks import BYTES_2, LONG, OPTIONS, PAIR, ROUND, SECTION, garner, pack, unpack
from secfc.kernels.lanes import TERMS

_SUMS = 64
"""Number of partial sums. They are added to as a vector, so that no addition waits for another."""

_ROWS = 512
"""Rows compared at a time."""

_AS_WRITTEN = {"cache": True, "error_model": "numpy", "nogil": True}
"""For quotients that are not integers: without contraction, so that they are rounded as in NumPy."""


@njit(inline="always", **OPTIONS)
def _weighed(addresses, weights, p, offset, target, largest):
    """Weighted sums below 2**53 - 2**24 of multiples of PAIR integers from `offset` on in every answer."""
    inverse, modulus = 1.0 / p, float(p)
    for first in range(0, addresses.size, TERMS):
        part = target if first == 0 else np.empty(target.size)
        lanes.weigh(
            uint64(addresses[first:].ctypes.data),
            uint64(weights[first:].ctypes.data),
            min(TERMS, addresses.size - first),
            offset,
            part.size // PAIR,
            uint64(part.ctypes.data),
            uint64(largest.ctypes.data),
        )
        if first > 0:
            for i in range(target.size):
                quotient = (target[i] * inverse + ROUND) - ROUND
                target[i] = target[i] - quotient * modulus + part[i]


@njit(
    boolean(uint64[::1], float64[:, ::1], int64[::1], float64[:, ::1], int64, int64, float32[:, :, ::1]),
    **OPTIONS,
)
def decode(addresses, weights, primes, inverses, rows, start, digits):
    """Digits of weighted sums of answers of `rows` rows from row `start` on; answer j begins at addresses[j].

    Columns of `digits` after the last multiple of PAIR are not written. Returns whether all were residues.
    """
    count, k, wanted = digits.shape
    whole = wanted // PAIR * PAIR
    total, largest = np.empty((LONG // SECTION, count, SECTION)), np.zeros((count, PAIR), dtype=np.int32)
    for h in range(k):
        for low in range(0, whole, LONG):
            sections = range(low, min(low + LONG, whole), SECTION)
            for q in range(count):
                for at, first in enumerate(sections):
                    b = min(SECTION, whole - first)
                    offset = uint64(3 * ((q * k + h) * rows + start + first))
                    _weighed(addresses, weights[q], primes[q], offset, total[at, q, :b], largest[q])
            for at, first in enumerate(sections):
                garner(total[at], primes, inverses)
                for q in range(count):
                    source, target = total[at, q], digits[q, h, first : min(first + SECTION, whole)]
                    for i in range(target.size):
                        target[i] = source[i]
    refused = 0
    for q in range(count):
        refused += largest[q].max() >= primes[q]
    return refused == 0


@njit(boolean(uint64[::1], float64[:, ::1], int64[::1], int64, int64, uint8[:, :, ::1]), **OPTIONS)
def weigh(addresses, weights, primes, first, last, out):
    """Weighted sums, packed, of answers of the shape of `out`; answer j begins at addresses[j].

    Columns [first, last) are written. Columns are counted over the first prime, then the next, and so on.
    There must be at least PAIR rows: the last PAIR are computed together, even if some were computed before.
    Returns whether all integers were residues.
    """
    k = out.shape[1]
    rows = out.shape[2] // 3
    total, largest = np.empty(LONG), np.empty(PAIR, dtype=np.int32)
    for column in range(first, last):
        q, h, low = column // k, column % k, 0
        largest[:] = 0
        while low < rows:
            b = min(LONG, (rows - low) // PAIR * PAIR)
            if b == 0:
                low, b = rows - PAIR, PAIR
            offset = uint64(3 * (column * rows + low))
            _weighed(addresses, weights[q], primes[q], offset, total[:b], largest)
            pack(total[:b], b, primes[q], out[q, h, 3 * low : 3 * (low + b)])
            low += b
        if largest.max() >= primes[q]:
            return False
    return True


@njit(boolean(BYTES_2, float64[:, ::1], int64, float64[::1]), **OPTIONS)
def combine(packed, coefficients, p, out):
    """out[c] = sum of coefficients[c] times the integers, reduced. Returns whether all are below p."""
    inverse, modulus = 1.0 / p, float(p)
    k, rows = packed.shape[0], packed.shape[1] // 3
    residues = np.zeros(LONG, dtype=np.int32)
    sums = np.empty(_SUMS)
    out[:] = 0.0
    for h in range(k):
        for low in range(0, rows, LONG):
            b = min(LONG, rows - low)
            unpack(packed[h, 3 * low : 3 * (low + b)], b, residues)
            largest = np.int32(0)
            for i in range(b):
                largest = max(largest, residues[i])
            if largest >= p:
                return False
            whole = b // _SUMS * _SUMS
            for c in range(out.size):
                factors = coefficients[c, h * rows + low : h * rows + low + b]
                sums[:] = 0.0
                # A sum adds at most 33 products below 2**47: below 2**53.
                for start in range(0, whole, _SUMS):
                    source, factor = residues[start : start + _SUMS], factors[start : start + _SUMS]
                    for i in range(_SUMS):
                        sums[i] += factor[i] * source[i]
                for i in range(b - whole):
                    sums[i] += factors[whole + i] * residues[whole + i]
                total = out[c]
                for i in range(_SUMS):
                    quotient = (sums[i] * inverse + ROUND) - ROUND
                    total += sums[i] - quotient * modulus
                quotient = (total * inverse + ROUND) - ROUND
                out[c] = total - quotient * modulus
    return True


@njit(
    float64(
        float32[:, :, ::1],
        float64[::1],
        float64[::1],
        float64,
        int32[::1],
        float32[:, ::1],
        float64[::1],
        boolean[::1],
    ),
    **_AS_WRITTEN,
)
def nearest(digits, radices, squares, tolerance, labels, own, second, contested):
    """Compare quotients D / |S|^2 of a row: argmin, its digits, the next larger one and doubt.

    squares[h] is 0 for an empty set, which is never chosen. Returns the largest quotient of all.
    """
    count, k, rows = digits.shape
    value, best, most = np.empty(_ROWS), np.empty(_ROWS), np.zeros(_ROWS)
    label, next_best = np.empty(_ROWS), np.empty(_ROWS)
    for low in range(0, rows, _ROWS):
        b = min(_ROWS, rows - low)
        best[:], next_best[:], label[:] = np.inf, np.inf, 0.0
        for h in range(k):
            if squares[h] == 0.0:
                continue
            value[:] = 0.0
            for q in range(0, count - 1, 2):  # two at a time save passes over `value`
                digit, next_digit = digits[q, h, low : low + b], digits[q + 1, h, low : low + b]
                radix, next_radix = radices[q], radices[q + 1]
                for i in range(b):
                    v = value[i] + np.float64(digit[i]) * radix
                    value[i] = v + np.float64(next_digit[i]) * next_radix
            if count % 2:
                digit, radix = digits[count - 1, h, low : low + b], radices[count - 1]
                for i in range(b):
                    value[i] += np.float64(digit[i]) * radix
            square, this = squares[h], float(h)
            for i in range(b):
                v = value[i] / square
                better = v < best[i]
                larger = best[i] if better else v
                next_best[i] = larger if larger < next_best[i] else next_best[i]
                label[i] = this if better else label[i]
                best[i] = v if better else best[i]
                most[i] = v if v > most[i] else most[i]
        for i in range(b):
            labels[low + i] = np.int32(label[i])
            second[low + i] = next_best[i]
            contested[low + i] = next_best[i] <= best[i] * tolerance
        found = labels[low : low + b]
        for q in range(count):
            source, target = digits[q, :, low : low + b], own[q, low : low + b]
            for i in range(b):
                target[i] = source[found[i], i]
    return most.max()
