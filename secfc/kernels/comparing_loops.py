"""Compiled loops of a comparison: bits of mixed-radix digits.

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
    WORDS,
    garner,
    loop,
    unpack,
)
from secfc.kernels.lanes import release, rent


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


@loop(void(OCTETS, int64, int64, INTS, FLOATS, int64, WORDS, int64, int64, int64))
def doubled_bits(packed, columns, rows, primes, inverses, count, out, chunk, chunks, words):
    """See `secfc.kernels.vectorised.VectorisedKernels.doubled_bits`.

    Shapes: `packed` (count, columns, 3 * rows), `primes` (count,), `inverses` (count, count), `out` (chunk,
    chunks, columns, words).
    """
    packed, primes = carray(packed, (count, columns, 3 * rows)), carray(primes, count)
    inverses = carray(inverses, (count, count))
    out, padded = carray(out, (chunk, chunks, columns, words)), 64 * words
    places = chunk * chunks // count
    residues = carray(rent(4 * padded), padded, np.int32)
    digits = rent(8 * count * SECTION)
    values = carray(rent(8 * count * padded), (count, padded), np.float64)
    lines = carray(rent(4 * count * padded), (count, padded // 2), np.uint64)
    for column in range(columns):
        for q in range(count):
            unpack(packed[q, column], rows, residues)
            value = values[q]
            for i in range(rows):
                value[i] = 2.0 * np.float64(residues[i])
            for i in range(rows, padded):
                value[i] = 0.0
        for low in range(0, padded, SECTION):
            b = min(SECTION, padded - low)
            rest = carray(digits, (count, b), np.float64)
            for q in range(count):
                rest[q, :] = values[q, low : low + b]
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
                target = out[place % chunk, group, column]
                low_half, high_half = lower[at : at + words], upper[at : at + words]
                for w in range(words):
                    target[w] = uint64(low_half[w]) | uint64(high_half[w]) << uint64(32)
    release(residues.ctypes.data)
    release(carray(digits, 1, np.uint8).ctypes.data)
    release(values.ctypes.data)
    release(lines.ctypes.data)
