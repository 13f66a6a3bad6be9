"""Compiled loops over residues and random words: whether all are below their prime, and their sums.

`secfc.kernels.compiled` has their types and shapes, and `secfc.kernels.blocks` the rules they follow.
"""

import numpy as np
from numba import carray, int64, njit, uint64, void

from secfc.kernels import lanes
from secfc.kernels.blocks import INTS, LONG, OCTETS, OPTIONS, loop, unpack
from secfc.kernels.lanes import LANES, release, rent


@njit(**OPTIONS)
def _word(words, at):
    return int64(words[3 * at]) | int64(words[3 * at + 1]) << 8 | int64(words[3 * at + 2]) << 16


@njit(**OPTIONS)
def _squeeze(integers, b, packed):
    groups = b // LANES
    lanes.squeeze(uint64(integers.ctypes.data), groups, uint64(packed.ctypes.data))
    for i in range(groups * LANES, b):
        for byte in range(3):
            packed[3 * i + byte] = (integers[i] >> (8 * byte)) & 255


@loop(int64(OCTETS, int64, int64, INTS))
def refused(packed, planes, count, primes):
    """The first plane with a 24-bit integer that is not below its prime, or -1.

    Shapes (planes, 3 * count) and (planes,).
    """
    packed, primes = carray(packed, (planes, 3 * count)), carray(primes, planes)
    residues, found = carray(rent(4 * LONG), LONG, np.int32), -1
    for index in range(planes):
        plane, p = packed[index], primes[index]
        for low in range(0, count, LONG):
            b = min(LONG, count - low)
            unpack(plane[3 * low : 3 * (low + b)], b, residues)
            largest = np.int32(0)
            for i in range(b):
                largest = max(largest, residues[i])
            if largest >= p:
                found = index
                break
        if found >= 0:
            break
    release(residues.ctypes.data)
    return found


@njit(**OPTIONS)
def _replace(words, i, spare, next_, p):
    """Replace a word by the next spare one below p. Returns the index after it, -1 if there is none."""
    while 3 * next_ < spare.size and _word(spare, next_) >= p:
        next_ += 1
    if 3 * next_ >= spare.size:
        return -1
    for byte in range(3):
        words[3 * i + byte] = spare[3 * next_ + byte]
    return next_ + 1


@loop(int64(OCTETS, int64, OCTETS, int64, int64))
def redraw(words, octets, spare, spares, p):
    """Replace words that are not below p by the next spare ones that are. Spare bytes read, -1 if too few."""
    words, spare = carray(words, octets), carray(spare, spares)
    count, next_ = words.size // 3, 0
    groups = count // LANES
    found = carray(rent(groups + LANES), groups // LANES + 1, np.uint64)  # a bit for each word
    found[:] = uint64(0)
    lanes.beyond(uint64(words.ctypes.data), groups, p, uint64(found.ctypes.data))
    for i in range(groups * LANES, count):
        if _word(words, i) >= p:
            found[i // 64] |= uint64(1) << uint64(i % 64)
    for at in range(found.size):
        bits = found[at]
        while bits != 0:
            i = 64 * at + int64(lanes.lowest(bits))
            bits &= bits - uint64(1)
            next_ = _replace(words, i, spare, next_, p)
            if next_ < 0:
                release(found.ctypes.data)
                return -1
    release(found.ctypes.data)
    return 3 * next_


@loop(void(OCTETS, int64, OCTETS, int64))
def add_masks(packed, octets, masks, p):
    """Add masks to residues modulo p, both of shape (octets,). All are below p."""
    packed, masks = carray(packed, octets), carray(masks, octets)
    totals = carray(rent(4 * LONG), LONG, np.int32)
    for low in range(0, octets, 3 * LONG):
        b = min(LONG, (octets - low) // 3)
        unpack(packed[low : low + 3 * b], b, totals)
        words, groups = masks[low : low + 3 * b], b // LANES
        lanes.add(uint64(totals.ctypes.data), uint64(words.ctypes.data), groups, p)
        for i in range(groups * LANES, b):
            totals[i] = (totals[i] + _word(words, i)) % p
        _squeeze(totals, b, packed[low : low + 3 * b])
    release(totals.ctypes.data)
