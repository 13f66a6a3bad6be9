"""Compiled loops of gates on bit-sliced wires; `secfc.kernels.gates` describes what they compute.

`secfc.kernels.compiled` has the types and shapes. A table is for a block of words, so that it fits in an L1
cache. Inner loops run over the words.
"""

import numpy as np
from numba import carray, int64, njit, uint64, void

from secfc.kernels.blocks import OPTIONS, WORDS, loop
from secfc.kernels.lanes import release, rent

_BLOCK = 64
"""Words processed at a time: a table of four wires has 8 KiB."""

_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)


@njit(**OPTIONS)
def _fold(low, high, delta):
    """Fold one entry of a table into another."""
    for i in range(delta.size):
        low[i] = (low[i] & delta[i]) ^ high[i]


@njit(**OPTIONS)
def _set(target, value):
    for i in range(target.size):
        target[i] = value


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
    """Rented: entries of a block of words."""
    return carray(rent(8 * entries * _BLOCK), (entries, _BLOCK), np.uint64)


@loop(void(WORDS, int64, int64, int64, WORDS, int64))
def leaf_products(bits, chunk, words, start, out, width):
    """See `secfc.kernels.gates.leaf_products`. Shapes (chunk, words) and (2**chunk - 1, width)."""
    bits, out = carray(bits, (chunk, words)), carray(out, ((1 << chunk) - 1, width))
    for low in range(0, width, _BLOCK):
        b = min(_BLOCK, width - low)
        for i in range(chunk):
            mask, alone = bits[i, start + low : start + low + b], (1 << i) - 1
            _copy(out[alone, low : low + b], mask)
            for entry in range(alone):
                _and(out[entry, low : low + b], mask, out[alone + 1 + entry, low : low + b])


@loop(void(WORDS, int64, int64, int64, WORDS, int64, WORDS, WORDS, int64))
def leaves(bits, chunk, words, start, products, first, less, equal, width):
    """See `secfc.kernels.gates.leaves`. Shapes (chunk, words), (2**chunk - 1, width), (width,) twice."""
    bits, products = carray(bits, (chunk, words)), carray(products, ((1 << chunk) - 1, width))
    less, equal = carray(less, width), carray(equal, width)
    table, total, inverted = _table(1 << chunk), _table(1 << chunk), _table(chunk)
    one = _ONES if first else uint64(0)
    for low in range(0, width, _BLOCK):
        b = min(_BLOCK, width - low)
        for j in range(chunk):
            source, target = bits[j, start + low : start + low + b], inverted[j, :b]
            for i in range(b):
                target[i] = ~source[i]
        _set(table[0, :b], one)
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
    for room in (table, total, inverted):
        release(room.ctypes.data)


@loop(void(WORDS, int64, WORDS, int64, int64, int64, int64, int64, WORDS, int64))
def gate_products(less, lesser, equal, wires, width, size, nodes, count, out, entries):
    """See `secfc.kernels.gates.gate_products`; `nodes` and `count` are those of `wires_of`.

    Shapes (lesser, width), (wires, width) and (entries, nodes, width).
    """
    less, equal = carray(less, (lesser, width)), carray(equal, (wires, width))
    out, table = carray(out, (entries, nodes, width)), _table(1 << count)
    for node in range(nodes):
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
            if lesser:
                for j in range(1, size):
                    mask = less[node * size + j, low:high]
                    for entry in range(1, 1 << j):
                        _and(table[entry, :b], mask, out[at, node, low:high])
                        at += 1
    release(table.ctypes.data)


@loop(
    void(
        *(WORDS, WORDS, int64, WORDS, WORDS, int64, int64),
        *(int64, int64, int64, WORDS, int64, int64, WORDS, int64, WORDS, int64),
    )
)
def gates(
    less,
    less_halves,
    lesser,
    equal,
    equal_halves,
    wires,
    width,
    size,
    nodes,
    count,
    products,
    entries,
    first,
    out_less,
    wanted_less,
    out_equal,
    wanted_equal,
):
    """See `secfc.kernels.gates.gates`; `nodes` and `count` are those of `wires_of`.

    Shapes (lesser, width) twice, (wires, width) twice, (entries, nodes, width), (wanted_less, width) and
    (wanted_equal, width).
    """
    less, less_halves = carray(less, (lesser, width)), carray(less_halves, (lesser, width))
    equal, equal_halves = carray(equal, (wires, width)), carray(equal_halves, (wires, width))
    products, out_less = carray(products, (entries, nodes, width)), carray(out_less, (wanted_less, width))
    out_equal = carray(out_equal, (wanted_equal, width))
    table, total, one = _table(1 << count), _table(1 << size), _ONES if first else uint64(0)
    for node in range(nodes):
        for low in range(0, width, _BLOCK):
            high, at = min(low + _BLOCK, width), 0
            b, base = high - low, node * size
            _set(table[0, :b], one)
            for wire in range(count):
                _copy(table[1 << wire, :b], equal_halves[base + wire, low:high])
                for entry in range((1 << wire) + 1, 2 << wire):
                    _copy(table[entry, :b], products[at, node, low:high])
                    at += 1
            if lesser:
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
            if wanted_equal:
                for wire in range(count - 1, -1, -1):
                    for entry in range(1 << wire):
                        _fold(table[entry, :b], table[(1 << wire) + entry, :b], equal[base + wire, low:high])
                _copy(out_equal[node, low:high], table[0, :b])
    release(table.ctypes.data)
    release(total.ctypes.data)
