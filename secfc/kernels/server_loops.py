"""Compiled loops of the server: decoding answers, combining them, the nearest centre.

`secfc.kernels.compiled` has their types and shapes, and `secfc.kernels.blocks` the rules they follow.
"""

import numpy as np
from numba import boolean, float64, int32, int64, njit, uint8, uint64, void

from secfc.kernels import lanes
from secfc.kernels.blocks import BYTES_2, LONG, OPTIONS, PAIR, ROUND, pack, unpack
from secfc.kernels.lanes import LANES

_SUMS = 64
"""Number of partial sums. They are added to as a vector, so that no addition waits for another."""

_AS_WRITTEN = {"cache": True, "error_model": "numpy", "nogil": True}
"""For quotients that are not integers: without contraction, so that they are rounded as in NumPy."""


@njit(inline="always", **OPTIONS)
def _weighed(addresses, weights, p, offset, target, largest):
    """Weighted sums, reduced, of multiples of PAIR integers from `offset` on in every answer."""
    inverse, modulus = 1.0 / p, float(p)
    for i in range(target.size):
        target[i] = 0.0
    # A canonical residue times a weight is below 2**47; 63 of them and a reduced remainder are below 2**53.
    for first in range(0, addresses.size, 63):
        lanes.weigh(
            uint64(addresses[first:].ctypes.data),
            uint64(weights[first:].ctypes.data),
            min(63, addresses.size - first),
            offset,
            target.size // PAIR,
            uint64(target.ctypes.data),
            uint64(largest.ctypes.data),
        )
        for i in range(target.size):
            quotient = (target[i] * inverse + ROUND) - ROUND
            target[i] -= quotient * modulus


@njit(boolean(uint64[::1], float64[:, ::1], int64[::1], int64, int64, float64[:, :, ::1]), **OPTIONS)
def decode(addresses, weights, primes, rows, start, total):
    """Weighted sums, reduced, of answers of `rows` rows from row `start` on; answer j begins at addresses[j].

    Columns of `total` after the last multiple of PAIR are not written. Returns whether all were residues.
    """
    count, k, wanted = total.shape
    whole = wanted // PAIR * PAIR
    largest = np.empty(LANES, dtype=np.int32)
    for q in range(count):
        largest[:] = 0
        for h in range(k):
            offset = uint64(3 * ((q * k + h) * rows + start))
            _weighed(addresses, weights[q], primes[q], offset, total[q, h, :whole], largest)
        if largest.max() >= primes[q]:
            return False
    return True


@njit(boolean(uint64[::1], float64[:, ::1], int64[::1], int64, int64, uint8[:, :, ::1]), **OPTIONS)
def weigh(addresses, weights, primes, first, last, out):
    """Weighted sums, packed, of answers of the shape of `out`; answer j begins at addresses[j].

    Columns [first, last) are written. Columns are counted over the first prime, then the next, and so on.
    There must be at least PAIR rows: the last PAIR are computed together, even if some were computed before.
    Returns whether all integers were residues.
    """
    k = out.shape[1]
    rows = out.shape[2] // 3
    total, largest = np.empty(LONG), np.empty(LANES, dtype=np.int32)
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
    void(
        float64[:, :, ::1],
        int64[::1],
        float64[:, ::1],
        float64[::1],
        float64[::1],
        float64,
        float64[:, ::1],
        int32[::1],
        boolean[::1],
    ),
    **_AS_WRITTEN,
)
def nearest(digits, primes, inverses, radices, squares, tolerance, value, labels, contested):
    """Convert residues to mixed-radix digits in place; compute quotients D / |S|^2, argmin and doubt.

    squares[h] is 0 for an empty set, which is never chosen.
    """
    count, k, b = digits.shape
    best, second = np.full(b, np.inf), np.full(b, np.inf)
    for h in range(k):
        row = value[h]
        if squares[h] == 0.0:
            for i in range(b):
                row[i] = np.inf
            continue
        for i in range(b):
            row[i] = 0.0
        for q in range(count):
            digit = digits[q, h]
            inverse, modulus = 1.0 / primes[q], float(primes[q])
            for i in range(b):
                quotient = (digit[i] * inverse + ROUND) - ROUND
                digit[i] -= quotient * modulus
            for j in range(q):
                earlier, factor = digits[j, h], inverses[q, j]
                for i in range(b):
                    v = (digit[i] - earlier[i]) * factor
                    quotient = (v * inverse + ROUND) - ROUND
                    digit[i] = v - quotient * modulus
            radix = radices[q]
            for i in range(b):
                digit[i] += modulus if digit[i] < 0.0 else 0.0
                row[i] += digit[i] * radix
        square = squares[h]
        for i in range(b):
            v = row[i] / square
            row[i] = v
            better = v < best[i]
            second[i] = best[i] if better else min(second[i], v)
            labels[i] = np.int32(h) if better else labels[i]
            best[i] = v if better else best[i]
    for i in range(b):
        contested[i] = second[i] <= best[i] * tolerance
