"""Compiled loops over received residues and random words, which check that all are below their prime.

`secfc.kernels.compiled` has their types and shapes, and `secfc.kernels.blocks` the rules they follow.
"""

import numpy as np
from numba import boolean, float64, int64, njit, types, uint8, uint32, uint64

from secfc.kernels import lanes
from secfc.kernels.blocks import BYTES_2, LONG, OPTIONS, unpack
from secfc.kernels.lanes import LANES


@njit(**OPTIONS)
def _word(words, at):
    return int64(words[3 * at]) | int64(words[3 * at + 1]) << 8 | int64(words[3 * at + 2]) << 16


@njit(int64(BYTES_2, int64[::1]), **OPTIONS)
def refused(packed, primes):
    """The first plane with a 24-bit integer that is not below its prime, or -1."""
    residues = np.empty(LONG, dtype=np.int32)
    count = packed.shape[1] // 3
    for index in range(primes.size):
        plane, p = packed[index], primes[index]
        for low in range(0, count, LONG):
            b = min(LONG, count - low)
            unpack(plane[3 * low : 3 * (low + b)], b, residues)
            largest = np.int32(0)
            for i in range(b):
                largest = max(largest, residues[i])
            if largest >= p:
                return index
    return -1


@njit(**OPTIONS)
def _redrawn(words, spare, p):
    """Replace words that are not below p by the next spare ones that are. Spare bytes read, -1 if too few."""
    count, last, next_ = words.size // 3, spare.size // 3, 0
    groups = count // LANES
    found = np.zeros(groups // LANES + 1, dtype=np.uint64)  # a bit for each word
    lanes.beyond(uint64(words.ctypes.data), groups, p, uint64(found.ctypes.data))
    for i in range(groups * LANES, count):
        if _word(words, i) >= p:
            found[i // 64] |= uint64(1) << uint64(i % 64)
    for at in range(found.size):
        bits = found[at]
        while bits != 0:
            i = 64 * at + int64(lanes.lowest(bits))
            bits &= bits - uint64(1)
            while next_ < last and _word(spare, next_) >= p:
                next_ += 1
            if next_ == last:
                return -1
            for byte in range(3):
                words[3 * i + byte] = spare[3 * next_ + byte]
            next_ += 1
    return 3 * next_


@njit(boolean(uint8[::1], uint8[::1], int64), **OPTIONS)
def redraw(words, spare, p):
    """As `_redrawn`: whether there are enough spare words."""
    return _redrawn(words, spare, p) >= 0


@njit(int64(uint8[::1], uint8[::1], uint8[::1], int64), **OPTIONS)
def add_drawn(packed, words, spare, p):
    """Redraw words and add them to packed residues modulo p, block by block. Bytes to which all is added."""
    read = 0
    for low in range(0, packed.size, 3 * LONG):
        high = min(low + 3 * LONG, packed.size)
        taken = _redrawn(words[low:high], spare[read:], p)
        if taken < 0:
            return low
        read += taken
        groups = (high - low) // (3 * LANES)
        lanes.add(uint64(packed[low:].ctypes.data), uint64(words[low:].ctypes.data), groups, p)
        for i in range(low // 3 + groups * LANES, high // 3):
            total = (_word(packed, i) + _word(words, i)) % p
            for byte in range(3):
                packed[3 * i + byte] = (total >> (8 * byte)) & 255
    return packed.size


@njit(int64(types.Array(uint32, 1, "C", readonly=True), uint32, uint32, float64[::1]), **OPTIONS)
def accept(words, low_bits, p, kept):
    """Write the low bits that are below p, centred, to `kept`. Returns how many."""
    filled = 0
    half = np.float64((p - 1) // 2)
    for i in range(words.size):
        if filled == kept.size:
            break
        v = words[i] & low_bits
        if v < p:
            kept[filled] = v - half
            filled += 1
    return filled
