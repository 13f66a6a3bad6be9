"""Gates on bit-sliced wires as NumPy expressions: the products of the dealer, the shares of an evaluator.

Bits are rows of 64-bit words, and every operation is bitwise on whole arrays. Both evaluators know a wire x
as Delta = x ^ lambda. Each holds a half of its mask lambda, and the dealer knows the whole mask. So a product
of wires is the sum over subsets S of prod_{i not in S} Delta_i lambda_S. The dealer deals XOR shares of the
products lambda_S (Patra et al., *ABY2.0*, USENIX Security 2021). A gate with public bits for Delta and secret
bits for lambda is a leaf.

A table has an array of words for each subset, in the order of its bit mask. Bit i is wire i, wires go from
the highest place to the lowest, and the empty product is 1. Dealt products are in this order too, without
those that evaluators already have: the empty product and, for gates, single masks.

Row j W + w of a batch is bit j of word w.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from secfc.field.array_types import Bools
from secfc.kernels.interface import Words

ONES = np.uint64(0xFFFFFFFFFFFFFFFF)


def wires_of(size: int, equal: Words) -> tuple[int, int]:
    """The number of nodes of this size, and of wires e in each. The last node may have one less."""
    nodes = -(-equal.shape[0] // size)
    return nodes, size - (nodes * size - equal.shape[0])


def leaf_products(bits: Words, start: int, out: Words) -> None:
    """Products of the bits of r over each nonempty set of places of a leaf.

    Bits have shape (c, words), the highest place first. Words [start, start + n) are multiplied. `out`
    has shape (2**c - 1, n).
    """
    _multiply(out, list(bits[:, start : start + out.shape[1]]), at=1)


def leaves(bits: Words, start: int, products: Words, first: bool, less: Words, equal: Words) -> None:
    """Write shares of [y < r] and [y = r] of leaves, shape (n,), from the bits of y.

    With n = not y: e = n ^ r and l = n r for each bit. The products are this evaluator's halves of
    `leaf_products`, with the same shapes. `first` is True for E0, which adds the public terms.
    """
    chunk = bits.shape[0]
    n = ~bits[:, start : start + less.size]
    table = np.empty((1 << chunk, less.size), dtype=np.uint64)
    table[0], table[1:] = _one(first), products
    total = table[1 << chunk - 1 :] & n[-1]
    for j in reversed(range(chunk - 1)):
        # The remainder for the lower places has products of the bits up to j.
        total = table[1 << j : 2 << j] & n[j] ^ _fold(total, n[j], j)
    less[...] = total[0]
    equal[...] = _conjunction(table, list(n))


def gate_products(less: Words, equal: Words, size: int, out: Words) -> None:
    """Products of two or more masks of the wires of nodes that compare, or of ANDs.

    A node has s pairs of input wires (l, e), the highest first. Its output l is l_1 ^ e_1 (l_2 ^ e_2
    (...)), and its output e is the product of all e. So it needs the products of subsets of the e, and
    for each l_j those with subsets of e_1..e_{j-1}. An AND is a node without l.

    The masks of l and e have shape (s * nodes, W), node by node, s from 2 to 6. ANDs have no l. If there
    is one node, that of the lowest places, the last e may be missing: then its output e is not needed.
    `out` has shape (dealt, nodes, W) (`secfc.comparing.batch_plan.Group`).
    """
    nodes, count = wires_of(size, equal)
    table = np.empty((1 << count, nodes, equal.shape[1]), dtype=np.uint64)
    table[0], ends = ONES, _ends(equal, size, count)
    _multiply(table, ends, at=0)
    at = 0
    for entries in _dealt(count):
        out[at : (at := at + entries.stop - entries.start)] = table[entries]
    for j, mask in enumerate(_ends(less, size, size if less.size else 0)):
        np.bitwise_and(table[1 : 1 << j], mask, out=out[at : (at := at + (1 << j) - 1)])


def gates(
    deltas: tuple[Words, Words],
    halves: tuple[Words, Words],
    size: int,
    products: Words,
    first: bool,
    out: tuple[Words, Words],
) -> None:
    """Write shares of l and e of nodes that compare, or of ANDs, shape (nodes, W) or (0, W).

    `deltas` are opened wires l and e, in the order and shapes of `gate_products`. `halves` are this
    evaluator's halves of their masks, and `products` its halves of the products. `first` is True for E0.
    For ANDs only e is written, for a node without its last e only l.
    """
    nodes, count = wires_of(size, deltas[1])
    table = np.empty((1 << count, nodes, deltas[1].shape[1]), dtype=np.uint64)
    table[0] = _one(first)
    for wire, half in enumerate(_ends(halves[1], size, count)):
        table[1 << wire] = half
    at = 0
    for entries in _dealt(count):
        table[entries] = products[at : (at := at + entries.stop - entries.start)]
    equal = _ends(deltas[1], size, count)
    if deltas[0].size:
        at, total = products.shape[0], np.empty(0, dtype=np.uint64)
        less, own = _ends(deltas[0], size, size), _ends(halves[0], size, size)
        for j in reversed(range(size)):
            part = table[: 1 << j] & less[j]
            part[0] ^= own[j]
            part[1:] ^= products[at - (1 << j) + 1 : at]
            at -= (1 << j) - 1
            if j < size - 1:
                part ^= _fold(total, equal[j], j)
            total = part
        out[0][...] = total[0]
    if out[1].size:
        out[1][...] = _conjunction(table, equal)


def _one(first: bool) -> np.uint64:
    """The evaluator's share of 1."""
    return ONES if first else np.uint64(0)


def _multiply(table: Words, masks: Sequence[Words], *, at: int) -> None:
    """Write the products of every nonempty subset of s masks to a table, shape (2**s - at, ...).

    With `at` 0 the table's first entry is the empty product, and with 1 it is left out.
    """
    for i, mask in enumerate(masks):
        alone = (1 << i) - at
        table[alone] = mask
        np.bitwise_and(table[1 - at : alone], mask, out=table[alone + 1 : (2 << i) - at])


def _fold(table: Words, delta: Words, wire: int) -> Words:
    """Remove the wire of highest index from a table: the result is shares of x_wire times each product.

    The table has shape (2**(wire + 1), ...) and is overwritten. Its first half is returned.
    """
    half = 1 << wire
    low: Words = table[:half]
    low &= delta
    low ^= table[half : 2 * half]
    return low


def _conjunction(table: Words, deltas: Sequence[Words]) -> Words:
    """Share of the AND of wires, from shares of the products of their masks. `table` is overwritten."""
    for wire in reversed(range(len(deltas))):
        table = _fold(table, deltas[wire], wire)
    share: Words = table[0]
    return share


def _dealt(count: int) -> Iterator[slice]:
    """Slices of a table of `count` masks with products of two or more, in the order of dealing."""
    for wire in range(1, count):
        yield slice((1 << wire) + 1, 2 << wire)


def _ends(wires: Words, size: int, count: int) -> list[Words]:
    """The first wires of all nodes, the second wires, and so on."""
    return [wires[i::size] for i in range(count)]


STRIPS = 64
WORD_BYTES = 8


def words_of(rows: int) -> int:
    """W, words that hold a bit of each row."""
    return -(-rows // STRIPS)


def to_rows(words: Words, rows: int) -> Bools:
    """Bits of so many rows, shape (n, rows), from words of shape (n, W), without the padding."""
    count, width = words.shape
    octets = np.ascontiguousarray(words).astype("<u8", copy=False).view(np.uint8).reshape(count, width, 8)
    bits = np.unpackbits(octets.swapaxes(1, 2), axis=1, bitorder="little")
    return bits.reshape(count, STRIPS * width)[:, :rows].astype(np.bool_)
