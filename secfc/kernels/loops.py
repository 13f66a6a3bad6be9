"""Compiled loops over residues. `secfc.kernels.vectorised` describes what they compute.

Rows are processed in blocks that fit in the L1 and L2 caches.
"""

import numpy as np
from numba import float32, float64, int32, int64, njit, uint8, uint32, uint64, void

from secfc.kernels.compiling import EXACT, OPTIONS, array, given, loop

ROUND = 1.5 * 2.0**52
"""Adding and subtracting it rounds a float64 below 2**51 to the nearest integer."""

BLOCK = 256
"""Rows whose digits are computed at a time: for 8 primes 16 KiB, half an L1 cache."""

PRODUCT = 512
"""Rows in a block of a product: 2 KiB of a column, so that memory is read in long pieces."""

LONG = 2048
"""Rows in a block that is only unpacked. In short blocks the start would take longer than the work."""

INNER = 128
"""Exact products between reductions; see secfc.field.residues.BLOCK."""


@njit(**OPTIONS)
def _reduced(x, inverse, modulus):
    return x - ((x * inverse + ROUND) - ROUND) * modulus


@njit(**OPTIONS)
def _word(packed, i):
    return int32(packed[3 * i]) | int32(packed[3 * i + 1]) << int32(8) | int32(packed[3 * i + 2]) << int32(16)


@njit(**OPTIONS)
def _put(word, packed, i):
    packed[3 * i] = word & int32(255)
    packed[3 * i + 1] = (word >> int32(8)) & int32(255)
    packed[3 * i + 2] = (word >> int32(16)) & int32(255)


@njit(**OPTIONS)
def _pack(values, p, packed):
    inverse, modulus = 1.0 / p, float64(p)
    for i in range(values.size):
        x = _reduced(values[i], inverse, modulus)
        _put(int32(x + modulus if x < 0.0 else x), packed, i)


@loop(void(given(float64, 1), int64, array(uint8, 1)))
def pack(values, p, packed):
    """Three bytes for each of the integers modulo p."""
    _pack(values, p, packed)


@loop(void(given(uint8, 1), array(float64, 1)))
def unpack(packed, values):
    """The integers below 2**24 in three bytes each."""
    for i in range(values.size):
        values[i] = _word(packed, i)


@loop(void(given(float64, 2), given(float64, 1), array(float64, 2)))
def reduce(x, primes, out):
    """Reduced residues of integers below 2**53 - 2**24, modulo a prime for each row."""
    for index in range(primes.size):
        row, found, inverse, modulus = x[index], out[index], 1.0 / primes[index], primes[index]
        for i in range(row.size):
            found[i] = _reduced(row[i], inverse, modulus)


@loop(int64(given(uint8, 1), int64, array(int64, 1)))
def beyond(packed, p, found):
    """Write the places of integers that are not below p, and return how many there are."""
    count, highest = 0, uint8(p >> 16)
    for i in range(packed.size // 3):
        if packed[3 * i + 2] >= highest and _word(packed, i) >= p:
            found[count] = i
            count += 1
    return count


@loop(void(array(uint8, 1), given(uint8, 1), int64))
def add_masks(packed, masks, p):
    """Add masks to residues modulo p."""
    modulus = int32(p)
    for i in range(packed.size // 3):
        total = int32(_word(packed, i) + _word(masks, i))
        less = int32(total - modulus)
        _put(total if less < int32(0) else less, packed, i)


@loop(int64(given(uint8, 1), float64, array(float64, 1)))
def add_weighted(packed, weight, total):
    """Add integers times a weight, and return the largest of the integers."""
    largest = int32(0)
    for i in range(total.size):
        word = _word(packed, i)
        total[i] += weight * float64(word)
        largest = max(largest, word)
    return largest


@loop(void(given(uint8, 3), given(int64, 1), array(float32, 3), int64))
def store(packed, primes, shares, start):
    """Shares of rows from `start`, centred, and in the last row their squared norms, reduced."""
    count, width, rows = packed.shape[0], packed.shape[1], packed.shape[2] // 3
    all_norms = np.empty(LONG)
    for index in range(count):
        plane, held, p = packed[index], shares[index], primes[index]
        half, inverse, modulus = int32(p // 2), 1.0 / p, float64(p)
        for low in range(0, rows, LONG):
            b = min(LONG, rows - low)
            norms = all_norms[:b]
            norms[:] = 0.0
            for c in range(width):
                part, target = plane[c, 3 * low : 3 * (low + b)], held[c, start + low : start + low + b]
                for i in range(b):
                    word = _word(part, i)
                    value = float64(word - int32(p) if word > half else word)
                    target[i] = value
                    norms[i] += value * value
                # 128 products at most and a reduced rest: below 2**53.
                if c % INNER == INNER - 2 or c == width - 1:
                    for i in range(b):
                        norms[i] = _reduced(norms[i], inverse, modulus)
            target = held[width, start + low : start + low + b]
            for i in range(b):
                target[i] = norms[i]


@njit(**OPTIONS)
def _four(row, c):
    return row[c], row[c + 1], row[c + 2], row[c + 3]


@njit(**OPTIONS)
def _add_products(matrix, h, c, x, z):
    """Add four columns of four rows of a matrix, times four rows of x, to four of z."""
    a0, a1 = _four(matrix[h], c), _four(matrix[h + 1], c)
    a2, a3 = _four(matrix[h + 2], c), _four(matrix[h + 3], c)
    x0, x1, x2, x3 = x
    z0, z1, z2, z3 = z
    for i in range(z0.size):
        u, v, s, t = float64(x0[i]), float64(x1[i]), float64(x2[i]), float64(x3[i])
        z0[i] += a0[0] * u + a0[1] * v + a0[2] * s + a0[3] * t
        z1[i] += a1[0] * u + a1[1] * v + a1[2] * s + a1[3] * t
        z2[i] += a2[0] * u + a2[1] * v + a2[2] * s + a2[3] * t
        z3[i] += a3[0] * u + a3[1] * v + a3[2] * s + a3[3] * t


@loop(void(given(float32, 2), int64, given(float64, 2), given(float64, 1), int64, array(uint8, 2)))
def affine(shares, start, matrix, constant, p, out):
    """Pack constant + matrix @ shares from column `start` on. The matrix is padded to multiples of four."""
    (k, padded), last, rows = matrix.shape, shares.shape[0] - 1, out.shape[1] // 3
    sums, inverse, modulus = np.empty((k, PRODUCT)), 1.0 / p, float64(p)
    for low in range(0, rows, PRODUCT):
        b = min(PRODUCT, rows - low)
        begin, end = start + low, start + low + b
        for h in range(k):
            sums[h] = constant[h]
        for c in range(0, padded, 4):
            # 128 products and a reduced rest or constant: below 2**53.
            if c % INNER == 0 and c:
                for h in range(k):
                    z = sums[h, :b]
                    for i in range(b):
                        z[i] = _reduced(z[i], inverse, modulus)
            x = (
                shares[c, begin:end],
                shares[min(c + 1, last), begin:end],
                shares[min(c + 2, last), begin:end],
                shares[min(c + 3, last), begin:end],
            )
            for h in range(0, k, 4):
                _add_products(
                    matrix, h, c, x, (sums[h, :b], sums[h + 1, :b], sums[h + 2, :b], sums[h + 3, :b])
                )
        for h in range(out.shape[0]):
            _pack(sums[h, :b], p, out[h, 3 * low : 3 * (low + b)])


@loop(void(given(float64, 2), given(float64, 3), int64, array(uint8, 2)))
def add_pairs(weights, values, p, packed):
    """Add sums of weights[t, a] values[t, b] - weights[t, b] values[t, a] to the residues of pairs a < b."""
    count, k, rows = values.shape
    room = np.empty(BLOCK)
    for low in range(0, rows, BLOCK):
        end, pair = min(low + BLOCK, rows), 0
        total = room[: end - low]
        for a in range(k):
            for b in range(a + 1, k):
                part = packed[pair, 3 * low : 3 * end]
                for i in range(total.size):
                    total[i] = float64(_word(part, i))
                for t in range(count):
                    x, y = values[t, a, low:end], values[t, b, low:end]
                    u, v = weights[t, a], weights[t, b]
                    for i in range(total.size):
                        total[i] += u * y[i] - v * x[i]
                _pack(total, p, part)
                pair += 1


@njit(**OPTIONS)
def _dots(weights, x, y):
    """Sums of four rows of weights times each of two rows of shares. Integers may be added in any order."""
    w0, w1, w2, w3 = weights
    a = b = c = d = e = f = g = h = int64(0)
    for i in range(x.size):
        u, v = int64(int32(x[i])), int64(int32(y[i]))
        a += int64(w0[i]) * u
        b += int64(w1[i]) * u
        c += int64(w2[i]) * u
        d += int64(w3[i]) * u
        e += int64(w0[i]) * v
        f += int64(w1[i]) * v
        g += int64(w2[i]) * v
        h += int64(w3[i]) * v
    return (a, b, c, d), (e, f, g, h)


@loop(void(given(float32, 2), given(float64, 2), int64, array(float64, 2)))
def weighted_sums(shares, weights, p, sums):
    """sums[h, c] = the sum over rows of weights[h] shares[c], reduced."""
    (k, m), columns = weights.shape, shares.shape[0]
    whole, totals = np.empty((k, LONG), dtype=np.int32), np.zeros((k, columns), dtype=np.int64)
    for low in range(0, m, LONG):  # so many products are below 2**58
        b = min(LONG, m - low)
        for h in range(k):
            source, target = weights[h, low : low + b], whole[h, :b]
            for i in range(b):
                target[i] = int32(source[i])
        for h in range(0, k, 4):
            h1, h2, h3 = min(h + 1, k - 1), min(h + 2, k - 1), min(h + 3, k - 1)
            four = whole[h, :b], whole[h1, :b], whole[h2, :b], whole[h3, :b]
            for c in range(0, columns, 2):
                other = min(c + 1, columns - 1)
                one, two = _dots(four, shares[c, low : low + b], shares[other, low : low + b])
                for j in range(min(4, k - h)):
                    totals[h + j, c] = (totals[h + j, c] + one[j]) % p
                    if other > c:
                        totals[h + j, other] = (totals[h + j, other] + two[j]) % p
    for h in range(k):
        for c in range(columns):
            total = totals[h, c]
            sums[h, c] = total - p if total > p // 2 else total


@njit(**OPTIONS)
def _garner(digits, primes, inverses):
    """Integers |x| < 2**53 - 2**24 with these residues, to canonical mixed-radix digits in place."""
    for q in range(primes.size):
        digit, inverse, modulus = digits[q], 1.0 / primes[q], float64(primes[q])
        for i in range(digit.size):
            digit[i] = _reduced(digit[i], inverse, modulus)
        for j in range(q):
            earlier, factor = digits[j], inverses[q, j]
            for i in range(digit.size):
                digit[i] = _reduced((digit[i] - earlier[i]) * factor, inverse, modulus)
        for i in range(digit.size):
            digit[i] += modulus if digit[i] < 0.0 else 0.0


@loop(void(given(uint8, 3), given(int64, 1), given(float64, 2), array(float32, 3)))
def digits(packed, primes, inverses, out):
    """Mixed-radix digits of integers with these residues."""
    count, columns, rows = out.shape
    room = np.empty(count * BLOCK)
    for column in range(columns):
        for low in range(0, rows, BLOCK):
            b = min(BLOCK, rows - low)
            values = room[: count * b].reshape((count, b))
            for q in range(count):
                part, value = packed[q, column, 3 * low : 3 * (low + b)], values[q]
                for i in range(b):
                    value[i] = float64(_word(part, i))
            _garner(values, primes, inverses)
            for q in range(count):
                value, target = values[q], out[q, column, low : low + b]
                for i in range(b):
                    target[i] = value[i]


# Quotients are not integers: without contraction they are rounded as in NumPy.
_OUT = array(int32, 1), array(float32, 2), array(float64, 1), array(uint8, 1)


@loop(float64(given(float32, 3), given(float64, 1), given(float64, 1), float64, *_OUT), EXACT)
def nearest(digits, radices, squares, tolerance, labels, own, second, contested):
    """Compare quotients D / |S|^2 of a row: argmin, its digits, the next larger one and doubt.

    squares[h] is 0 for an empty set, which is never chosen. Returns the largest quotient of all.
    """
    count, k, rows = digits.shape
    room, largest = np.empty((5, BLOCK)), 0.0
    for low in range(0, rows, BLOCK):
        b = min(BLOCK, rows - low)
        value, best, next_best, most, label = room[0, :b], room[1, :b], room[2, :b], room[3, :b], room[4, :b]
        best[:], next_best[:], most[:], label[:] = np.inf, np.inf, 0.0, 0.0
        for h in range(k):
            if squares[h] == 0.0:
                continue
            value[:] = 0.0
            for q in range(count):
                digit, radix = digits[q, h, low : low + b], radices[q]
                for i in range(b):
                    value[i] += float64(digit[i]) * radix
            square, this = squares[h], float64(h)
            for i in range(b):
                v = value[i] / square
                better = v < best[i]
                larger = best[i] if better else v
                next_best[i] = larger if larger < next_best[i] else next_best[i]
                label[i] = this if better else label[i]
                best[i] = v if better else best[i]
                most[i] = v if v > most[i] else most[i]
        for i in range(b):
            labels[low + i] = int32(label[i])
            second[low + i] = next_best[i]
            contested[low + i] = next_best[i] <= best[i] * tolerance
            largest = max(largest, most[i])
        found = labels[low : low + b]
        for q in range(count):
            source, target = digits[q, :, low : low + b], own[q, low : low + b]
            for i in range(b):
                target[i] = source[found[i], i]
    return largest


@njit(**OPTIONS)
def _transpose(lines):
    """Bit j of line t = bit t of line j, for 32 lines of words (H. Warren, *Hacker's Delight*, 7-3).

    Words of 32 bits are processed two at a time, but singly in the last step, since a line may have an odd
    number of them.
    """
    width = lines.size // 16  # of 32 bits
    shift, mask = uint64(16), uint64(0x0000FFFF0000FFFF)
    while shift > uint64(1):
        half = int64(shift) * width // 2
        for base in range(0, lines.size, 2 * half):
            low, high = lines[base : base + half], lines[base + half : base + 2 * half]
            for i in range(half):
                swapped = ((low[i] >> shift) ^ high[i]) & mask
                high[i] ^= swapped
                low[i] ^= swapped << shift
        shift = shift >> uint64(1)
        mask = mask ^ (mask << shift)
    words = lines.view(np.uint32)
    for base in range(0, words.size, 2 * width):
        even, odd = words[base : base + width], words[base + width : base + 2 * width]
        for i in range(width):
            one = uint32(uint32(uint32(even[i] >> uint32(1)) ^ odd[i]) & uint32(0x55555555))
            odd[i] ^= one
            even[i] ^= uint32(one << uint32(1))


@loop(void(given(uint8, 3), given(int64, 1), given(float64, 2), array(uint64, 4)))
def doubled_bits(packed, primes, inverses, out):
    """Bits of the digits of 2 x. Rows are arranged in 64 strips, so that a transpose works on vectors."""
    chunk, chunks, columns, words = out.shape
    count, rows, padded = primes.size, packed.shape[2] // 3, 64 * words
    places = chunk * chunks // count
    values, room = np.empty((count, padded)), np.empty(count * BLOCK)
    lines = np.empty((count, padded // 2), dtype=np.uint64)
    for column in range(columns):
        values[:] = 0.0
        for q in range(count):
            part, value = packed[q, column], values[q]
            for i in range(rows):
                value[i] = 2.0 * float64(_word(part, i))
        for low in range(0, padded, BLOCK):
            b = min(BLOCK, padded - low)
            rest = room[: count * b].reshape((count, b))
            for q in range(count):
                rest[q, :] = values[q, low : low + b]
            _garner(rest, primes, inverses)
            for q in range(count):
                digit, line = rest[q], lines[q].view(np.uint32)[low : low + b]
                for i in range(b):
                    line[i] = uint32(int32(digit[i]))
        for q in range(count):
            _transpose(lines[q, : padded // 4])
            _transpose(lines[q, padded // 4 :])
            lower, upper = lines[q, : padded // 4].view(np.uint32), lines[q, padded // 4 :].view(np.uint32)
            for place in range(places):
                at = (places - 1 - place) * words
                group = (count - 1 - q) * (chunks // count) + place // chunk
                target = out[place % chunk, group, column]
                low_half, high_half = lower[at : at + words], upper[at : at + words]
                for w in range(words):
                    target[w] = uint64(low_half[w]) | uint64(high_half[w]) << uint64(32)
