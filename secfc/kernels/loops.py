"""Compiled loops over residues. `secfc.kernels.vectorised` describes what they compute.

Rows are processed in blocks that fit in the L1 and L2 caches.
"""

import numpy as np
from numba import boolean, float32, float64, int32, int64, njit, uint8, uint32, uint64, void

from secfc.kernels.compiling import EXACT, OPTIONS, array, given, loop

ROUND = 1.5 * 2.0**52
"""Adding and subtracting it rounds a float64 below 2**51 to the nearest integer."""

BLOCK = 256
"""Rows whose digits are computed at a time: for 8 primes 16 KiB, half an L1 cache."""

PRODUCT = 1024
"""Rows in a block of a product: four rows of sums take 32 KiB, and memory is read in pieces of 4 KiB."""

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
def _unpack(packed, words):
    for i in range(words.size):
        words[i] = _word(packed, i)


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
    _unpack(packed, values)


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


@loop(boolean(array(uint8, 1), given(uint8, 1), int64))
def redraw(words, spare, p):
    """Replace integers that are not below p by the next spare ones that are. False if these are too few."""
    taken, highest, count = 0, uint8(p >> 16), spare.size // 3
    for i in range(words.size // 3):
        if words[3 * i + 2] >= highest and _word(words, i) >= p:
            while taken < count and _word(spare, taken) >= p:
                taken += 1
            if taken == count:
                return False
            _put(_word(spare, taken), words, i)
            taken += 1
    return True


@loop(boolean(given(uint8, 1), int64, array(float64, 1)))
def residues(packed, p, out):
    """Centred residues of integers, and whether all are below p."""
    largest, modulus, half = int32(0), int32(p), int32(p // 2)
    for i in range(out.size):
        word = _word(packed, i)
        largest = max(largest, word)
        out[i] = float64(word - modulus if word > half else word)
    return largest < modulus


@loop(void(array(uint8, 1), given(uint8, 1), int64))
def add_masks(packed, masks, p):
    """Add masks to residues modulo p."""
    modulus = int32(p)
    for i in range(packed.size // 3):
        total = int32(_word(packed, i) + _word(masks, i))
        less = int32(total - modulus)
        _put(total if less < int32(0) else less, packed, i)


@njit(**OPTIONS)
def _four(matrix, h, c):
    return matrix[h, c], matrix[h, c + 1], matrix[h, c + 2], matrix[h, c + 3]


@njit(**OPTIONS)
def _words(packed, i):
    """Four integers of three bytes, of three words."""
    a, b, c, low = packed[3 * i], packed[3 * i + 1], packed[3 * i + 2], uint32(0xFFFFFF)
    second, third = (a >> uint32(24)) | (b << uint32(8)) & low, (b >> uint32(16)) | (c << uint32(16)) & low
    return int32(a & low), int32(second), int32(third), int32(c >> uint32(8))


@njit(**OPTIONS)
def _dot(weights, a, b, c, d):
    w0, w1, w2, w3 = weights
    return w0 * float64(a) + w1 * float64(b) + w2 * float64(c) + w3 * float64(d)


@njit(**OPTIONS)
def _largest(four):
    low, high = max(four[0], four[1]), max(four[2], four[3])
    return max(low, high)


_PLANES = (given(uint8, 1),) * 4


@loop(int64(*_PLANES, given(float64, 1), array(float64, 1)))
def add_weighted(first, second, third, fourth, weights, totals):
    """Add four planes of integers times a weight each, and return the largest of the integers.

    A processor shuffles words faster than bytes, so four integers are read as three words. The totals of the
    first one of each four come first, then those of the second ones. `pack_totals` reads them so.
    """
    n, by, largest = totals.size // 4, (weights[0], weights[1], weights[2], weights[3]), int32(0)
    t0, t1, t2, t3 = totals[:n], totals[n : 2 * n], totals[2 * n : 3 * n], totals[3 * n : 4 * n]
    a, b = first[: 12 * n].view(np.uint32), second[: 12 * n].view(np.uint32)
    c, d = third[: 12 * n].view(np.uint32), fourth[: 12 * n].view(np.uint32)
    for i in range(n):
        x, y, z, u = _words(a, i), _words(b, i), _words(c, i), _words(d, i)
        t0[i] += _dot(by, x[0], y[0], z[0], u[0])
        t1[i] += _dot(by, x[1], y[1], z[1], u[1])
        t2[i] += _dot(by, x[2], y[2], z[2], u[2])
        t3[i] += _dot(by, x[3], y[3], z[3], u[3])
        largest = max(largest, _largest((_largest(x), _largest(y), _largest(z), _largest(u))))
    for i in range(4 * n, totals.size):
        last = _word(first, i), _word(second, i), _word(third, i), _word(fourth, i)
        totals[i] += _dot(by, last[0], last[1], last[2], last[3])
        largest = max(largest, _largest(last))
    return largest


@njit(**OPTIONS)
def _canonical(value, inverse, modulus):
    x = _reduced(value, inverse, modulus)
    return uint32(int32(x + modulus if x < 0.0 else x))


@loop(void(given(float64, 1), int64, array(uint8, 1)))
def pack_totals(totals, p, packed):
    """Three bytes for each of the totals modulo p, in the order of the integers."""
    n, inverse, modulus = totals.size // 4, 1.0 / p, float64(p)
    t0, t1, t2, t3 = totals[:n], totals[n : 2 * n], totals[2 * n : 3 * n], totals[3 * n : 4 * n]
    words = packed[: 12 * n].view(np.uint32)
    for i in range(n):
        a, b = _canonical(t0[i], inverse, modulus), _canonical(t1[i], inverse, modulus)
        c, d = _canonical(t2[i], inverse, modulus), _canonical(t3[i], inverse, modulus)
        words[3 * i] = a | b << uint32(24)
        words[3 * i + 1] = b >> uint32(8) | c << uint32(16)
        words[3 * i + 2] = c >> uint32(16) | d << uint32(8)
    _pack(totals[4 * n :], p, packed[12 * n :])


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
def _add_products(matrix, h, c, held, x, sums, b):
    """Add four columns of four rows of a matrix, times rows of shares at x, to four rows of b sums."""
    a0, a1 = _four(matrix, h, c), _four(matrix, h + 1, c)
    a2, a3 = _four(matrix, h + 2, c), _four(matrix, h + 3, c)
    x0, x1, x2, x3 = x
    z0 = uint64(h * PRODUCT)
    z1, z2, z3 = z0 + uint64(PRODUCT), z0 + uint64(2 * PRODUCT), z0 + uint64(3 * PRODUCT)
    for i in range(uint64(b)):
        u, v = float64(held[x0 + i]), float64(held[x1 + i])
        s, t = float64(held[x2 + i]), float64(held[x3 + i])
        sums[z0 + i] += a0[0] * u + a0[1] * v + a0[2] * s + a0[3] * t
        sums[z1 + i] += a1[0] * u + a1[1] * v + a1[2] * s + a1[3] * t
        sums[z2 + i] += a2[0] * u + a2[1] * v + a2[2] * s + a2[3] * t
        sums[z3 + i] += a3[0] * u + a3[1] * v + a3[2] * s + a3[3] * t


@loop(void(given(float32, 2), int64, given(float64, 2), given(float64, 1), int64, array(uint8, 2)))
def affine(shares, start, matrix, constant, p, out):
    """Pack constant + matrix @ shares from column `start` on. The matrix is padded to multiples of four."""
    (k, padded), (columns, m), rows = matrix.shape, shares.shape, out.shape[1] // 3
    held, sums = shares.reshape(columns * m), np.empty((k, PRODUCT))
    flat, inverse, modulus = sums.reshape(k * PRODUCT), 1.0 / p, float64(p)
    for low in range(0, rows, PRODUCT):
        b = min(PRODUCT, rows - low)
        for h in range(0, k, 4):
            for j in range(h, h + 4):
                sums[j] = constant[j]
            for c in range(0, padded, 4):
                # 128 products and a reduced rest or constant: below 2**53.
                if c % INNER == 0 and c:
                    four = flat[h * PRODUCT : (h + 4) * PRODUCT]
                    for i in range(four.size):
                        four[i] = _reduced(four[i], inverse, modulus)
                x = (
                    uint64(c * m + start + low),
                    uint64(min(c + 1, columns - 1) * m + start + low),
                    uint64(min(c + 2, columns - 1) * m + start + low),
                    uint64(min(c + 3, columns - 1) * m + start + low),
                )
                _add_products(matrix, h, c, held, x, flat, b)
        for h in range(out.shape[0]):
            _pack(sums[h, :b], p, out[h, 3 * low : 3 * (low + b)])


@loop(void(given(float32, 2), given(int32, 1), given(int32, 1), array(float64, 2)))
def moved_sums(shares, before, after, sums):
    """Sums of shares by set `after`, less those by set `before`, of rows that moved; set -1 is none."""
    (k, columns), m, count = sums.shape, shares.shape[1], int64(0)
    rows, old, new = np.empty(m, np.uint32), np.empty(m, np.uint32), np.empty(m, np.uint32)
    for i in range(m):
        rows[count], old[count], new[count] = i, 4 * (before[i] + 1), 4 * (after[i] + 1)
        count += before[i] != after[i]
    held, totals = shares.reshape(columns * m), np.empty(4 * (k + 1))
    for c in range(0, columns, 4):
        totals[:] = 0.0
        for i in range(count):
            row, a, b = uint64(rows[i]), uint64(old[i]), uint64(new[i])
            for j in range(uint64(4)):  # four columns: one vector of totals of each set
                value = float64(held[min(uint64(c) + j, uint64(columns - 1)) * uint64(m) + row])
                totals[b + j] += value
                totals[a + j] -= value
        for h in range(k):
            for j in range(min(4, columns - c)):
                sums[h, c + j] = totals[4 * (h + 1) + j]


@loop(void(given(float64, 2), given(uint8, 2), given(uint8, 2), int64, array(uint8, 2)))
def add_pairs(weights, first, second, p, packed):
    """Add weights[t, a] x[b] - weights[t, b] x[a] to residues of pairs a < b: x is `first`, then `second`."""
    (count, k), rows = weights.shape, packed.shape[1] // 3
    room, totals = np.empty((count * k, BLOCK)), np.empty(BLOCK)
    for low in range(0, rows, BLOCK):
        end, pair = min(low + BLOCK, rows), 0
        size = end - low
        total = totals[:size]
        for h in range(count * k):
            source = first[h] if h < k else second[h - k]
            unpack(source[3 * low : 3 * end], room[h, :size])
        for a in range(k):
            for b in range(a + 1, k):
                part = packed[pair, 3 * low : 3 * end]
                unpack(part, total)
                for t in range(count):
                    x, y = room[t * k + a, :size], room[t * k + b, :size]
                    u, v = weights[t, a], weights[t, b]
                    for i in range(size):
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
def _garner(digits, size, primes, factors):
    """Integers below 2**25 with these residues, in rows of `BLOCK`, to canonical mixed-radix digits in place.

    A product is below 2**48, and a sum of one for each prime below 2**53.
    """
    n = uint64(size)
    for q in range(primes.size):
        at, factor = uint64(q * BLOCK), factors[q, q]
        for i in range(n):
            digits[at + i] *= factor
        for j in range(q):
            earlier, factor = uint64(j * BLOCK), factors[q, j]
            for i in range(n):
                digits[at + i] += digits[earlier + i] * factor
        inverse, modulus = 1.0 / primes[q], float64(primes[q])
        for i in range(n):
            x = _reduced(digits[at + i], inverse, modulus)
            digits[at + i] = x + modulus if x < 0.0 else x


@loop(void(given(uint8, 3), given(int64, 1), given(float64, 2), array(float32, 3)))
def digits(packed, primes, factors, out):
    """Mixed-radix digits of integers with these residues."""
    count, columns, rows = out.shape
    values = np.empty((count, BLOCK))
    for column in range(columns):
        for low in range(0, rows, BLOCK):
            b = min(BLOCK, rows - low)
            for q in range(count):
                part, value = packed[q, column, 3 * low : 3 * (low + b)], values[q]
                for i in range(b):
                    value[i] = float64(_word(part, i))
            _garner(values.reshape(count * BLOCK), b, primes, factors)
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


@loop(void(given(uint8, 3), given(int64, 1), given(float64, 2), int64, array(uint64, 4)))
def doubled_bits(packed, primes, factors, start, out):
    """Bits of the digits of 2 x, from column `start` on.

    Rows are arranged in 64 strips, so that a transpose works on vectors.
    """
    (chunk, chunks, _, words), columns = out.shape, packed.shape[1]
    count, rows, padded = primes.size, packed.shape[2] // 3, 64 * words
    places = chunk * chunks // count
    values, rest = np.empty((count, padded)), np.empty((count, BLOCK))
    lines = np.empty((count, padded // 2), dtype=np.uint64)
    for column in range(columns):
        values[:] = 0.0
        for q in range(count):
            part, value = packed[q, column], values[q]
            for i in range(rows):
                value[i] = 2.0 * float64(_word(part, i))
        for low in range(0, padded, BLOCK):
            b = min(BLOCK, padded - low)
            for q in range(count):
                rest[q, :b] = values[q, low : low + b]
            _garner(rest.reshape(count * BLOCK), b, primes, factors)
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
                target = out[place % chunk, group, start + column]
                low_half, high_half = lower[at : at + words], upper[at : at + words]
                for w in range(words):
                    target[w] = uint64(low_half[w]) | uint64(high_half[w]) << uint64(32)
