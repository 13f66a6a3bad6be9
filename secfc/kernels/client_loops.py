"""Compiled loops of a client: encoding, storing shares, sums of sets, answers.

`secfc.kernels.compiled` has their types and shapes, and `secfc.kernels.blocks` the rules they follow.
"""

import numpy as np
from numba import float32, float64, int32, int64, njit, uint8, uint64, void

from secfc.kernels import lanes
from secfc.kernels.blocks import (
    BLOCK,
    BYTES_3,
    INNER,
    LONG,
    OPTIONS,
    PAIR,
    ROUND,
    STRIDE,
    lines,
    pack,
    product,
    product_of_shares,
    reduce_into,
    unpack,
)
from secfc.kernels.lanes import LANES

_NARROW = 64
"""Columns transformed at a time: with 4096 points they take 2 MiB."""

_SORTED = 4096
"""Rows sorted by set at a time: a column of them, 16 KiB of float32, fits in an L1 cache."""


@njit(void(float64[:, :, ::1], float64[:, ::1], int64, int64, int64, uint8[:, :, ::1]), **OPTIONS)
def encode(values, basis, p, start, stop, out):
    """Pack columns [start, stop) of basis @ values modulo p. The basis is padded to multiples of four."""
    coded, _, rows = values.shape
    padded_n, padded = basis.shape
    x, z, total = lines(padded, STRIDE), lines(padded_n, STRIDE), lines(padded_n, STRIDE)
    zero = np.zeros(padded_n)
    single = padded <= INNER
    for c in range(start, stop):
        for low in range(0, rows, BLOCK):
            b = min(BLOCK, rows - low)
            for u in range(coded):
                source, target = values[u, c, low : low + b], x[u]
                for i in range(b):
                    target[i] = source[i]
            for first in range(0, padded, INNER):
                last = min(padded, first + INNER)
                product(x[first:last], first, last, basis, zero, z, b)
                if not single:
                    reduce_into(z, b, p, total, first == 0)
            done = z if single else total
            for j in range(out.shape[0]):
                pack(done[j], b, p, out[j, c, 3 * low : 3 * (low + b)])


@njit(
    void(
        float64[:, :, ::1],
        float64[::1],
        float64[::1],
        float64[::1],
        float64[::1],
        float64[::1],
        int64,
        int64,
        int64,
        uint8[:, :, ::1],
    ),
    **OPTIONS,
)
def encode_by_transform(values, before, spectrum, after, roots, inverse_roots, p, start, stop, out):
    """Pack columns [start, stop) of after * cyclic convolution(before * values).

    Transforms have length spectrum.size.
    """
    coded, _, rows = values.shape
    order = spectrum.size
    inverse, modulus = 1.0 / p, float(p)
    x = np.empty((order, _NARROW))
    for c in range(start, stop):
        for low in range(0, rows, _NARROW):
            b = min(_NARROW, rows - low)
            for u in range(order):
                target = x[u]
                if u < coded:
                    source, factor = values[u, c, low : low + b], before[u]
                    for i in range(b):
                        v = source[i] * factor
                        quotient = (v * inverse + ROUND) - ROUND
                        target[i] = v - quotient * modulus
                else:
                    for i in range(b):
                        target[i] = 0.0
            half = order // 2
            while half:
                stride = order // (2 * half)
                for base in range(0, order, 2 * half):
                    for j in range(half):
                        upper, lower, root = x[base + j], x[base + j + half], roots[j * stride]
                        for i in range(b):
                            v = upper[i] + lower[i]
                            d = (upper[i] - lower[i]) * root
                            quotient = (v * inverse + ROUND) - ROUND
                            upper[i] = v - quotient * modulus
                            quotient = (d * inverse + ROUND) - ROUND
                            lower[i] = d - quotient * modulus
                half //= 2
            for u in range(order):
                target, factor = x[u], spectrum[u]
                for i in range(b):
                    v = target[i] * factor
                    quotient = (v * inverse + ROUND) - ROUND
                    target[i] = v - quotient * modulus
            half = 1
            while half < order:
                stride = order // (2 * half)
                for base in range(0, order, 2 * half):
                    for j in range(half):
                        upper, lower, root = x[base + j], x[base + j + half], inverse_roots[j * stride]
                        for i in range(b):
                            d = lower[i] * root
                            quotient = (d * inverse + ROUND) - ROUND
                            d -= quotient * modulus
                            v = upper[i] + d
                            d = upper[i] - d
                            quotient = (v * inverse + ROUND) - ROUND
                            upper[i] = v - quotient * modulus
                            quotient = (d * inverse + ROUND) - ROUND
                            lower[i] = d - quotient * modulus
                half *= 2
            for j in range(out.shape[0]):
                target, factor = x[j], after[j]
                for i in range(b):
                    target[i] *= factor
                pack(target, b, p, out[j, c, 3 * low : 3 * (low + b)])


@njit(void(BYTES_3, int64[::1], float32[:, :, ::1], int64), **OPTIONS)
def store(packed, primes, shares, start):
    """Shares of rows from `start`, centred, and in the last row of `shares` their squared norms, reduced."""
    width, rows = packed.shape[1], packed.shape[2] // 3
    residues = np.empty(min(rows, LONG), dtype=np.int32)
    norms = np.empty(min(rows, LONG))
    for index in range(primes.size):
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


@njit(**OPTIONS)
def _gathered(column, rows):
    """Sum of some entries of a column. With four partial sums, additions do not wait for each other."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    whole = rows.size // 4 * 4
    for j in range(0, whole, 4):
        s0 += column[np.uint32(rows[j])]
        s1 += column[np.uint32(rows[j + 1])]
        s2 += column[np.uint32(rows[j + 2])]
        s3 += column[np.uint32(rows[j + 3])]
    for j in range(whole, rows.size):
        s0 += column[np.uint32(rows[j])]
    return (s0 + s1) + (s2 + s3)


@njit(**OPTIONS)
def _sort_by_set(sets, order, ends):
    """Order the rows of a block by set, -1 first. Set h is then between ends[h] and ends[h + 1]."""
    for h in range(ends.size):
        ends[h] = 0
    for i in range(sets.size):
        ends[sets[i] + 1] += 1
    total = 0
    for h in range(ends.size):
        count = ends[h]
        ends[h] = total
        total += count
    for i in range(sets.size):
        h = sets[i] + 1
        order[ends[h]] = i
        ends[h] += 1


@njit(void(float32[:, ::1], int32[::1], float64[:, ::1]), **OPTIONS)
def set_sums(shares, sets, sums):
    """sums[h] += shares of the rows in set h."""
    columns, m = shares.shape
    k = sums.shape[0]
    order, ends = np.empty(_SORTED, dtype=np.int32), np.empty(k + 1, dtype=np.int64)
    for start in range(0, m, _SORTED):
        b = min(_SORTED, m - start)
        _sort_by_set(sets[start : start + b], order, ends)
        for c in range(columns):
            column = shares[c, start : start + b]
            for h in range(k):
                sums[h, c] += _gathered(column, order[ends[h] : ends[h + 1]])


@njit(void(float32[:, ::1], int64[::1], int32[::1], int32[::1], float64[:, ::1]), **OPTIONS)
def move_rows(shares, rows, old, new, sums):
    """Subtract rows from the sums of their old sets and add them to those of the new, in ascending order."""
    columns, m = shares.shape
    grouped = columns // LANES * LANES
    nowhere = np.zeros(LANES)
    skipped, start = uint64(nowhere.ctypes.data), uint64(sums.ctypes.data)
    for c in range(0, grouped, LANES):
        address = uint64(shares[c:].ctypes.data)
        place = start + uint64(8 * c)
        for j in range(rows.size):
            source = place + uint64(8 * columns * old[j]) if old[j] >= 0 else skipped
            target = place + uint64(8 * columns * new[j]) if new[j] >= 0 else skipped
            lanes.move(address, 4 * m, rows[j], source, target)
    nowhere[0] = 0.0  # keeps the array alive: the use of its address does not
    for c in range(grouped, columns):
        column = shares[c]
        for j in range(rows.size):
            value = np.float64(column[rows[j]])
            if old[j] >= 0:
                sums[old[j], c] -= value
            if new[j] >= 0:
                sums[new[j], c] += value


@njit(
    void(float32[:, ::1], int64, int64, float64[:, ::1], float64[::1], int64, uint8[:, ::1], int64), **OPTIONS
)
def answer(shares, start, stop, matrix, constant, p, out, origin):
    """Pack constant + matrix @ shares[:, start:stop] modulo p to `out`, which begins with row `origin`.

    The matrix is padded: its rows to a multiple of four. `shares` and `out` are not.
    """
    columns, k = shares.shape[0], matrix.shape[0]
    x, z, total = lines(min(columns, INNER), PAIR), lines(k, STRIDE), lines(k, STRIDE)
    zero = np.zeros(k)
    single = columns <= INNER
    for low in range(start, stop, BLOCK):
        b = min(BLOCK, stop - low)
        for first in range(0, columns, INNER):
            last = min(columns, first + INNER)
            product_of_shares(shares, first, last, low, b, x, matrix, constant if first == 0 else zero, z)
            if not single:
                reduce_into(z, b, p, total, first == 0)
        done = z if single else total
        for h in range(out.shape[0]):
            pack(done[h], b, p, out[h, 3 * (low - origin) : 3 * (low - origin + b)])


@njit(void(uint8[::1], uint8[:, ::1], int64[::1], int64), **OPTIONS)
def add_masks(packed, masks, signs, p):
    """Add signs @ masks to `packed`, modulo p. Sums of up to 2**12 integers below 2**24 are exact."""
    residues, total = np.empty(LONG, dtype=np.int32), np.empty(LONG)
    count, done = packed.size // 3, 0
    if masks.shape[0] == 1 and signs[0] == 1:
        done = count // LANES * LANES
        lanes.add(uint64(packed.ctypes.data), uint64(masks.ctypes.data), count // LANES, p)
    for low in range(done, count, LONG):
        b = min(LONG, count - low)
        unpack(packed[3 * low : 3 * (low + b)], b, residues)
        for i in range(b):
            total[i] = residues[i]
        for c in range(masks.shape[0]):
            unpack(masks[c, 3 * low : 3 * (low + b)], b, residues)
            sign = float(signs[c])
            for i in range(b):
                total[i] += sign * residues[i]
        pack(total, b, p, packed[3 * low : 3 * (low + b)])
