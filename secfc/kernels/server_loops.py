"""Compiled loops of the server: decoding answers, combining them, the nearest centre.

`secfc.kernels.compiled` has their types and shapes, and `secfc.kernels.blocks` the rules they follow.
"""

import numpy as np
from numba import carray, float64, int64, njit, uint64

from secfc.kernels import lanes
from secfc.kernels.blocks import (
    EXACT,
    FLOATS,
    INTS,
    LONG,
    OCTETS,
    OPTIONS,
    PAIR,
    ROUND,
    SECTION,
    SHORTS,
    SINGLES,
    WORDS,
    garner,
    loop,
    pack,
)
from secfc.kernels.lanes import TERMS, release, rent

_SUMS = 64
"""Number of partial sums. They are added to as a vector, so that no addition waits for another."""

_ROWS = 512
"""Rows compared at a time."""


@njit(inline="always", **OPTIONS)
def _weighed(addresses, weights, p, offset, target, largest):
    """Weighted sums below 2**53 - 2**24 of multiples of PAIR integers from `offset` on in every answer."""
    inverse, modulus = 1.0 / p, float(p)
    part = target
    for first in range(0, addresses.size, TERMS):
        if first == TERMS:
            part = carray(rent(8 * target.size), target.size, np.float64)
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
    if addresses.size > TERMS:
        release(part.ctypes.data)


@njit(**OPTIONS)
def _most(values):
    most = values[0]
    for i in range(values.size):
        most = max(most, values[i])
    return most


@loop(int64(WORDS, FLOATS, int64, INTS, FLOATS, int64, int64, SINGLES, int64, int64, int64))
def decode(addresses, weights, answers, primes, inverses, rows, start, digits, count, k, wanted):
    """Digits of weighted sums of answers of `rows` rows from row `start` on; answer j begins at addresses[j].

    Shapes (answers,), (count, answers), (count,), (count, count) and (count, k, wanted). Columns of `digits`
    after the last multiple of PAIR are not written. Returns whether all were residues.
    """
    addresses, weights = carray(addresses, answers), carray(weights, (count, answers))
    primes, inverses = carray(primes, count), carray(inverses, (count, count))
    digits, whole = carray(digits, (count, k, wanted)), wanted // PAIR * PAIR
    total = carray(rent(8 * count * LONG), (LONG // SECTION, count, SECTION), np.float64)
    largest = carray(rent(4 * count * PAIR), (count, PAIR), np.int32)
    largest[:] = 0
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
        refused += _most(largest[q]) >= primes[q]
    release(total.ctypes.data)
    release(largest.ctypes.data)
    return refused == 0


@loop(int64(WORDS, FLOATS, int64, INTS, int64, int64, OCTETS, int64, int64, int64))
def weigh(addresses, weights, answers, primes, first, last, out, count, k, rows):
    """Weighted sums, packed, of answers of the shape of `out`; answer j begins at addresses[j].

    Shapes (answers,), (count, answers), (count,) and (count, k, 3 * rows). Columns [first, last) are written.
    Columns are counted over the first prime, then the next, and so on. There must be at least PAIR rows: the
    last PAIR are computed together, even if some were computed before. Returns whether all integers were
    residues.
    """
    addresses, weights = carray(addresses, answers), carray(weights, (count, answers))
    primes, out = carray(primes, count), carray(out, (count, k, 3 * rows))
    total = carray(rent(8 * LONG), LONG, np.float64)
    largest, right = carray(rent(4 * PAIR), PAIR, np.int32), True
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
        if _most(largest) >= primes[q]:
            right = False
            break
    release(total.ctypes.data)
    release(largest.ctypes.data)
    return right


# Quotients are not integers: without contraction they are rounded as in NumPy.
@loop(float64(SINGLES, int64, int64, int64, FLOATS, FLOATS, float64, SHORTS, SINGLES, FLOATS, OCTETS), EXACT)
def nearest(digits, count, k, rows, radices, squares, tolerance, labels, own, second, contested):
    """Compare quotients D / |S|^2 of a row: argmin, its digits, the next larger one and doubt.

    squares[h] is 0 for an empty set, which is never chosen. Returns the largest quotient of all. Shapes
    (count, k, rows), (count,), (k,), (rows,), (count, rows), (rows,) and (rows,).
    """
    digits, radices, squares = carray(digits, (count, k, rows)), carray(radices, count), carray(squares, k)
    labels, own, second = carray(labels, rows), carray(own, (count, rows)), carray(second, rows)
    contested, room = carray(contested, rows), carray(rent(8 * 5 * _ROWS), (5, _ROWS), np.float64)
    value, best, most, label, next_best = room[0], room[1], room[2], room[3], room[4]
    most[:] = 0.0
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
    largest = _most(most)
    release(room.ctypes.data)
    return largest
