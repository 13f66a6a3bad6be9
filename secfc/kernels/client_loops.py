"""Compiled loops of a client: encoding, storing shares, sums of sets, answers.

`secfc.kernels.compiled` has their types and shapes, and `secfc.kernels.blocks` the rules they follow.
"""

import numpy as np
from numba import carray, int64, uint64, void

from secfc.kernels import lanes
from secfc.kernels.blocks import (
    BLOCK,
    FLOATS,
    INNER,
    INTS,
    LONG,
    OCTETS,
    PAIR,
    ROUND,
    SINGLES,
    STRIDE,
    lines,
    loop,
    pack,
    product_of_shares,
    reduce_into,
    unpack,
)
from secfc.kernels.lanes import LANES, TILE, release, rent


@loop(void(OCTETS, int64, int64, int64, INTS, SINGLES, int64, int64))
def store(packed, count, width, rows, primes, shares, capacity, start):
    """Shares of rows from `start`, centred, and in the last row of `shares` their squared norms, reduced.

    Shapes (count, width, 3 * rows), (count,) and (count, width + 1, capacity).
    """
    packed, primes = carray(packed, (count, width, 3 * rows)), carray(primes, count)
    shares = carray(shares, (count, width + 1, capacity))
    longest = min(rows, LONG)
    residues = carray(rent(4 * longest), longest, np.int32)
    norms = carray(rent(8 * longest), longest, np.float64)
    for index in range(count):
        plane, held, p = packed[index], shares[index], primes[index]
        half, inverse, modulus = p // 2, 1.0 / p, float(p)
        for low in range(0, rows, LONG):
            b = min(LONG, rows - low)
            for i in range(b):
                norms[i] = 0.0
            for c in range(width):
                unpack(plane[c, 3 * low : 3 * (low + b)], b, residues)
                target = held[c, start + low : start + low + b]
                for i in range(b):
                    r = residues[i]
                    value = np.float64(r - p if r > half else r)
                    target[i] = value
                    norms[i] += value * value
                # 128 products at most and a reduced rest: below 2**53.
                if c % INNER == INNER - 2 or c == width - 1:
                    for i in range(b):
                        quotient = (norms[i] * inverse + ROUND) - ROUND
                        norms[i] -= quotient * modulus
            target = held[width, start + low : start + low + b]
            for i in range(b):
                target[i] = norms[i]
    release(residues.ctypes.data)
    release(norms.ctypes.data)


@loop(void(SINGLES, int64, int64, FLOATS, int64, int64, FLOATS))
def weighted_sums(shares, columns, m, weights, k, p, sums):
    """sums[h, c] = the sum over rows of weights[h] shares[c], reduced.

    Shapes (columns, m), (k, m) and (k, columns).
    """
    shares, weights, sums = carray(shares, (columns, m)), carray(weights, (k, m)), carray(sums, (k, columns))
    inverse, modulus = 1.0 / p, float(p)
    rows, lines = carray(rent(8 * TILE), TILE, np.uint64), carray(rent(8 * TILE), TILE, np.uint64)
    parts = carray(rent(8 * TILE * TILE * LANES), (TILE, TILE, LANES), np.float64)
    sums[:] = 0.0
    for low in range(0, m, INNER * LANES):  # a lane adds up INNER products, which are exact
        b = min(INNER * LANES, m - low)
        whole = b // LANES * LANES
        for c in range(0, columns, TILE):
            for i in range(TILE):
                lines[i] = uint64(shares[min(c + i, columns - 1), low:].ctypes.data)
            for h in range(0, k, TILE):
                for i in range(TILE):
                    rows[i] = uint64(weights[min(h + i, k - 1), low:].ctypes.data)
                lanes.dots(
                    uint64(rows.ctypes.data),
                    uint64(lines.ctypes.data),
                    whole // LANES,
                    uint64(parts.ctypes.data),
                )
                for j in range(min(TILE, k - h)):
                    for i in range(min(TILE, columns - c)):
                        part, total = parts[j, i], sums[h + j, c + i]
                        for lane in range(LANES):
                            quotient = (part[lane] * inverse + ROUND) - ROUND
                            total += part[lane] - quotient * modulus
                        for at in range(low + whole, low + b):
                            value = weights[h + j, at] * shares[c + i, at]
                            quotient = (value * inverse + ROUND) - ROUND
                            total += value - quotient * modulus
                        quotient = (total * inverse + ROUND) - ROUND
                        sums[h + j, c + i] = total - quotient * modulus
    for room in (rows, lines):
        release(room.ctypes.data)
    release(parts.ctypes.data)


@loop(
    void(
        *(SINGLES, int64, int64, int64, int64),
        *(FLOATS, int64, int64, FLOATS, int64, OCTETS, int64, int64, int64),
    )
)
def answer(shares, columns, m, start, stop, matrix, k, padded, constant, p, out, wanted, octets, origin):
    """Pack constant + matrix @ shares[:, start:stop] modulo p to `out`, which begins with row `origin`.

    Shapes (columns, m), (k, padded), (k,) and (wanted, octets). The matrix is padded: its rows to a multiple
    of four. `shares` and `out` are not.
    """
    shares, out = carray(shares, (columns, m)), carray(out, (wanted, octets))
    matrix, constant = carray(matrix, (k, padded)), carray(constant, k)
    x, z, total = lines(min(columns, INNER), PAIR), lines(k, STRIDE), lines(k, STRIDE)
    zeros = lines(1, k)
    zero = zeros[0]
    single = columns <= INNER
    for low in range(start, stop, BLOCK):
        b = min(BLOCK, stop - low)
        for first in range(0, columns, INNER):
            last = min(columns, first + INNER)
            product_of_shares(shares, first, last, low, b, x, matrix, constant if first == 0 else zero, z)
            if not single:
                reduce_into(z, b, p, total, first == 0)
        done = z if single else total
        for h in range(wanted):
            pack(done[h], b, p, out[h, 3 * (low - origin) : 3 * (low - origin + b)])
    for room in (x, z, total, zeros):
        release(room.ctypes.data)
