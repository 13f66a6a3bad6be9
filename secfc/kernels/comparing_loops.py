"""Compiled loops of a comparison: bits of the mixed-radix digits of differences, and choices of entries.

`secfc.kernels.compiled` has the types and shapes, and `secfc.kernels.blocks` the rules for the loops.
Bits of rows are arranged in 64 strips: row j W + w is bit j of word w, so a transpose works on vectors.
"""

import numpy as np
from numba import carray, int64, njit, uint32, uint64, void

from secfc.kernels.blocks import (
    FLOATS,
    INTS,
    OCTETS,
    OPTIONS,
    SECTION,
    SHORTS,
    WORDS,
    garner,
    loop,
    unpack,
)
from secfc.kernels.lanes import release, rent


@njit(**OPTIONS)
def _take(packed, start, columns, rows, values):
    """values[q, s] = residues of the rows in column s, and zeros after the last row."""
    for q in range(values.shape[0]):
        for s in range(columns.size):
            source, target = packed[q, columns[s], 3 * start : 3 * (start + rows)], values[q, s]
            unpack(source, rows, target)
            for i in range(rows, target.size):
                target[i] = 0


@njit(**OPTIONS)
def _of_columns(values, weights, a, b, low, digit):
    """w_a x_b - w_b x_a for columns a and b."""
    n = digit.size
    x_a, x_b, w_a, w_b = values[a, low : low + n], values[b, low : low + n], weights[a], weights[b]
    for i in range(n):
        digit[i] = w_a * np.float64(x_b[i]) - w_b * np.float64(x_a[i])


@njit(**OPTIONS)
def _of_slots(own, values, weights, s, t, low, digit):
    """w_a x_b - w_b x_a for slots s and t: the column of that index, or the next from the own column on."""
    n, last = digit.size, weights.size - 1
    mine, a, b = own[low : low + n], values[s, low : low + n], values[t, low : low + n]
    next_a, next_b = values[min(s + 1, last), low : low + n], values[min(t + 1, last), low : low + n]
    light_a, heavy_a = weights[s], weights[min(s + 1, last)]
    light_b, heavy_b = weights[t], weights[min(t + 1, last)]
    for i in range(n):
        own_a, other_a, own_b, other_b = a[i], next_a[i], b[i], next_b[i]
        passed_a, passed_b = mine[i] <= s, mine[i] <= t
        x_a = np.float64(other_a if passed_a else own_a)
        x_b = np.float64(other_b if passed_b else own_b)
        digit[i] = (heavy_a if passed_a else light_a) * x_b - (heavy_b if passed_b else light_b) * x_a


@njit(**OPTIONS)
def _of_own(own, values, weights, x_own, w_own, t, low, digit):
    """w_a x_b - w_b x_a for the own column and a slot, in the order of the columns."""
    n, last = digit.size, weights.size - 1
    mine, b, next_b = own[low : low + n], values[t, low : low + n], values[min(t + 1, last), low : low + n]
    x, w, light, heavy = x_own[low : low + n], w_own[low : low + n], weights[t], weights[min(t + 1, last)]
    for i in range(n):
        here, after, passed = b[i], next_b[i], mine[i] <= t
        d = w[i] * np.float64(after if passed else here) - (heavy if passed else light) * x[i]
        digit[i] = d if passed else -d


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


@loop(
    void(
        *(OCTETS, int64, int64, int64, INTS, int64, SHORTS, int64),
        *(INTS, INTS, int64, FLOATS, INTS, FLOATS, int64, WORDS, int64, int64, int64),
    )
)
def difference_bits(
    packed,
    every,
    all_rows,
    start,
    columns,
    k,
    own,
    rows,
    first,
    second,
    pairs,
    weights,
    primes,
    inverses,
    count,
    out,
    chunk,
    chunks,
    words,
):
    """See `secfc.kernels.interface.Kernels.difference_bits`.

    Shapes: `packed` (count, every, 3 * all_rows), `columns` (k,), `own` (rows,), `first` and `second`
    (pairs,), `weights` (count, k), `primes` (count,), `inverses` (count, count), `out` (chunk, chunks, pairs,
    words).
    """
    packed, columns, own = carray(packed, (count, every, 3 * all_rows)), carray(columns, k), carray(own, rows)
    first, second, primes = carray(first, pairs), carray(second, pairs), carray(primes, count)
    weights, inverses = carray(weights, (count, k)), carray(inverses, (count, count))
    out, padded = carray(out, (chunk, chunks, pairs, words)), 64 * words
    places = chunk * chunks // count
    values = carray(rent(4 * count * k * padded), (count, k, padded), np.int32)
    _take(packed, start, columns, rows, values)
    owned, any_own, champions = carray(rent(4 * padded), padded, np.int32), False, first[0] < 0
    for i in range(padded):
        owned[i] = own[i] if i < rows else 0
        any_own |= i < rows and owned[i] < k
    of_own = padded if champions else 0
    x_own = carray(rent(8 * count * of_own), (count, of_own), np.float64)
    w_own = carray(rent(8 * count * of_own), (count, of_own), np.float64)
    if champions:
        for q in range(count):
            for i in range(padded):
                x_own[q, i] = values[q, owned[i], i]
                w_own[q, i] = weights[q, owned[i]]
    digits = rent(8 * count * SECTION)
    lines = carray(rent(4 * count * padded), (count, padded // 2), np.uint64)
    for pair in range(pairs):
        s, t = np.int32(first[pair]), np.int32(second[pair])
        for low in range(0, padded, SECTION):
            b = min(SECTION, padded - low)
            rest = carray(digits, (count, b), np.float64)
            for q in range(count):
                if champions:
                    _of_own(owned, values[q], weights[q], x_own[q], w_own[q], t, low, rest[q])
                elif any_own:
                    _of_slots(owned, values[q], weights[q], s, t, low, rest[q])
                else:
                    _of_columns(values[q], weights[q], s, t, low, rest[q])
            garner(rest, primes, inverses)
            for q in range(count):
                digit, line = rest[q], lines[q].view(np.uint32)[low : low + b]
                for i in range(b):
                    line[i] = np.uint32(np.int32(digit[i]))
        for q in range(count):
            _transpose(lines[q, : padded // 4])
            _transpose(lines[q, padded // 4 :])
            lower, upper = lines[q, : padded // 4].view(np.uint32), lines[q, padded // 4 :].view(np.uint32)
            for place in range(places):
                at = (places - 1 - place) * words
                group = (count - 1 - q) * (chunks // count) + place // chunk
                target = out[place % chunk, group, pair]
                low_half, high_half = lower[at : at + words], upper[at : at + words]
                for w in range(words):
                    target[w] = uint64(low_half[w]) | uint64(high_half[w]) << uint64(32)
    release(values.ctypes.data)
    release(owned.ctypes.data)
    release(x_own.ctypes.data)
    release(w_own.ctypes.data)
    release(carray(digits, 1, np.uint8).ctypes.data)
    release(lines.ctypes.data)
