"""Compiled loops of gates on bit-sliced wires; `secfc.kernels.gates` describes what they compute.

A table is for a block of words, so that it fits in an L1 cache. Inner loops run over the words.
"""

import numpy as np
from numba import boolean, int64, njit, uint64, void

from secfc.kernels.compiling import OPTIONS, array, given, loop

_BLOCK = 64
"""Words processed at a time: a table of four wires has 8 KiB."""

_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)


@njit(**OPTIONS)
def _fold(low, high, delta):
    """Fold one entry of a table into another."""
    for i in range(delta.size):
        low[i] = (low[i] & delta[i]) ^ high[i]


@njit(**OPTIONS)
def _copy(target, source):
    for i in range(target.size):
        target[i] = source[i]


@njit(**OPTIONS)
def _and(one, other, out):
    for i in range(out.size):
        out[i] = one[i] & other[i]


@njit(**OPTIONS)
def _table(entries):
    """Entries of a block of words."""
    return np.empty((entries, _BLOCK), dtype=np.uint64)


@loop(void(given(uint64, 2), int64, array(uint64, 2)))
def leaf_products(bits, start, out):
    """See `secfc.kernels.gates.leaf_products`."""
    chunk, width = bits.shape[0], out.shape[1]
    for low in range(0, width, _BLOCK):
        b = min(_BLOCK, width - low)
        for i in range(chunk):
            mask, alone = bits[i, start + low : start + low + b], (1 << i) - 1
            _copy(out[alone, low : low + b], mask)
            for entry in range(alone):
                _and(out[entry, low : low + b], mask, out[alone + 1 + entry, low : low + b])


@loop(void(given(uint64, 2), int64, given(uint64, 2), boolean, array(uint64, 1), array(uint64, 1)))
def leaves(bits, start, products, first, less, equal):
    """See `secfc.kernels.gates.leaves`."""
    chunk, width = bits.shape[0], less.size
    table, total, inverted = _table(1 << chunk), _table(1 << chunk), _table(chunk)
    one = _ONES if first else uint64(0)
    for low in range(0, width, _BLOCK):
        b = min(_BLOCK, width - low)
        for j in range(chunk):
            source, target = bits[j, start + low : start + low + b], inverted[j, :b]
            for i in range(b):
                target[i] = ~source[i]
        table[0] = one
        for entry in range(1, 1 << chunk):
            _copy(table[entry, :b], products[entry - 1, low : low + b])
        for j in range(chunk - 1, -1, -1):
            n = inverted[j, :b]
            for entry in range(1 << j):
                own, rest = table[(1 << j) + entry, :b], total[entry, :b]
                if j == chunk - 1:
                    _and(own, n, rest)
                else:
                    above = total[(1 << j) + entry, :b]
                    for i in range(b):
                        rest[i] = ((rest[i] ^ own[i]) & n[i]) ^ above[i]
        _copy(less[low : low + b], total[0, :b])
        for j in range(chunk - 1, -1, -1):
            for entry in range(1 << j):
                _fold(table[entry, :b], table[(1 << j) + entry, :b], inverted[j, :b])
        _copy(equal[low : low + b], table[0, :b])


@loop(void(given(uint64, 2), given(uint64, 2), int64, int64, int64, int64, array(uint64, 3)))
def gate_products(less, equal, size, count, start, stop, out):
    """See `secfc.kernels.gates.gate_products`; `count` is that of `wires_of`. Of some nodes."""
    table, width = _table(1 << count), out.shape[2]
    for node in range(start, stop):
        for low in range(0, width, _BLOCK):
            high, at = min(low + _BLOCK, width), 0
            b = high - low
            for wire in range(count):
                mask, alone = equal[node * size + wire, low:high], 1 << wire
                _copy(table[alone, :b], mask)
                for entry in range(1, alone):
                    product = out[at, node, low:high]
                    _and(table[entry, :b], mask, product)
                    _copy(table[alone + entry, :b], product)
                    at += 1
            if less.size:
                for j in range(1, size):
                    mask = less[node * size + j, low:high]
                    for entry in range(1, 1 << j):
                        _and(table[entry, :b], mask, out[at, node, low:high])
                        at += 1


_WIRES = given(uint64, 2), given(uint64, 2)


_OUT = array(uint64, 2), array(uint64, 2)


@loop(void(*_WIRES, *_WIRES, int64, int64, int64, int64, given(uint64, 3), boolean, *_OUT))
def gates(
    less, equal, less_halves, equal_halves, size, count, start, stop, products, first, out_less, out_equal
):
    """See `secfc.kernels.gates.gates`; `count` is that of `wires_of`. Of some nodes."""
    entries, _, width = products.shape
    table, total, one = _table(1 << count), _table(1 << size), _ONES if first else uint64(0)
    for node in range(start, stop):
        for low in range(0, width, _BLOCK):
            high, at = min(low + _BLOCK, width), 0
            b, base = high - low, node * size
            table[0] = one
            for wire in range(count):
                _copy(table[1 << wire, :b], equal_halves[base + wire, low:high])
                for entry in range((1 << wire) + 1, 2 << wire):
                    _copy(table[entry, :b], products[at, node, low:high])
                    at += 1
            if less.size:
                at = entries
                for j in range(size - 1, -1, -1):
                    at -= (1 << j) - 1
                    delta = less[base + j, low:high]
                    for entry in range(1 << j):
                        product, rest = table[entry, :b], total[entry, :b]
                        if entry == 0:
                            own = less_halves[base + j, low:high]
                        else:
                            own = products[at + entry - 1, node, low:high]
                        if j == size - 1:
                            for i in range(b):
                                rest[i] = own[i] ^ (product[i] & delta[i])
                        else:
                            above, same = total[(1 << j) + entry, :b], equal[base + j, low:high]
                            for i in range(b):
                                below = (rest[i] & same[i]) ^ above[i]
                                rest[i] = below ^ own[i] ^ (product[i] & delta[i])
                _copy(out_less[node, low:high], total[0, :b])
            if out_equal.size:
                for wire in range(count - 1, -1, -1):
                    for entry in range(1 << wire):
                        _fold(table[entry, :b], table[(1 << wire) + entry, :b], equal[base + wire, low:high])
                _copy(out_equal[node, low:high], table[0, :b])
