"""Compiled loops over residues from outside and random words: is all below its prime.

`secfc.kernels.compiled` gives them types and shapes; what they hold to is said in `secfc.kernels.blocks`.
"""

import numpy as np
from numba import boolean, float64, int64, njit, types, uint32

from secfc.kernels.blocks import BYTES_1, LONG, OPTIONS, unpack


@njit(boolean(BYTES_1, int64), **OPTIONS)
def below(packed, p):
    """Whether every 24-bit integer is below p."""
    residues = np.empty(LONG, dtype=np.int32)
    count = packed.size // 3
    for low in range(0, count, LONG):
        b = min(LONG, count - low)
        unpack(packed[3 * low : 3 * (low + b)], b, residues)
        largest = np.int32(0)
        for i in range(b):
            largest = max(largest, residues[i])
        if largest >= p:
            return False
    return True


@njit(int64[::1](BYTES_1, int64), **OPTIONS)
def beyond(packed, p):
    """Positions of the 24-bit integers that are not below p."""
    residues = np.empty(LONG, dtype=np.int32)
    count = packed.size // 3
    found = np.empty(count, dtype=np.int64)
    filled = 0
    for low in range(0, count, LONG):
        b = min(LONG, count - low)
        unpack(packed[3 * low : 3 * (low + b)], b, residues)
        for i in range(b):
            if residues[i] >= p:
                found[filled] = low + i
                filled += 1
    return found[:filled].copy()


@njit(int64(types.Array(uint32, 1, "C", readonly=True), uint32, uint32, float64[::1]), **OPTIONS)
def accept(words, low_bits, p, kept):
    """Keep the words whose low bits are below p, centred; how many were kept."""
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
