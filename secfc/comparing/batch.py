"""One batch of rows through all gates: the dealer's side at once, an evaluator's exchange by exchange.

Both sides use keystreams in the same order: products of leaves, of each level of nodes, the lowest bit, of
each level of ANDs; masks of the wires of each exchange.
"""

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from secfc.comparing.arena import Arena
from secfc.comparing.gates import (
    ONES,
    NodeTables,
    Words,
    conjunction,
    leaf,
    multiply,
    products_dealt,
)
from secfc.comparing.plan import BatchPlan
from secfc.comparing.widths import Group
from secfc.kernels import Kernels
from secfc.kernels.interface import Bytes
from secfc.keystream import BitStream

_PIECE = 8192
"""Words of leaves that are taken at a time: 512 KiB with eight products of each, half an L2 cache."""


class Products(Protocol):
    """Where an evaluator's halves of dealt products come from."""

    def fill(self, out: Words) -> None:
        """Write the next words."""


class DealtHalves:
    """Halves of products that the dealer sent.

    Parameters
    ----------
    words : ndarray of shape (size,), uint64
    """

    def __init__(self, words: Words) -> None:
        self._words, self._at = words, 0

    def __repr__(self) -> str:
        return f"DealtHalves(words={self._words.size})"

    def fill(self, out: Words) -> None:
        """Write the next words."""
        out[...] = self._words[self._at : self._at + out.size].reshape(out.shape)
        self._at += out.size


@dataclass(frozen=True, kw_only=True)
class Slice:
    """Residues of a batch: rows from `start` on of packed residues of shape (P, k, 3 * m)."""

    packed: Bytes = field(repr=False)
    start: int
    kernels: Kernels


def deal(
    plan: BatchPlan,
    masks: Slice,
    *,
    products: BitStream,
    wires: tuple[BitStream, BitStream],
    arena: Arena,
    out: Words,
) -> None:
    """The dealer's side of a batch.

    Parameters
    ----------
    plan : BatchPlan
    masks : Slice
        r.
    products : BitStream
        E0's halves of products.
    wires : tuple of two BitStreams
        E0's and E1's halves of the masks of wires.
    arena : Arena
    out : ndarray of shape (plan.dealt,), uint64
        Written: E1's halves of products.
    """
    writer = _Writer(products, out)
    bits, parity = _bits(plan, masks, arena, "parity")
    flat = bits.reshape(plan.widths.chunk, -1)
    for low in range(0, flat.shape[1], _PIECE):
        part = flat[:, low : low + _PIECE]
        table = arena.words("leaves", (1 << plan.widths.chunk, part.shape[1]))
        multiply(table, list(part))
        writer.add(table[1:])
    count = plan.chunks
    for groups in plan.comparison:
        drawn = _masks(wires, arena, (2 * count - 1, plan.wires))
        for group in groups:
            tables = _node_tables(group, plan.wires, arena)
            tables.multiply(_ends(drawn[:count], group), _ends(drawn[count:], group)[: tables.equals])
            for part in tables.dealt():
                writer.add(part)
        count = sum(group.count for group in groups)
    writer.add(parity)
    if plan.conjunction:
        drawn = _taken(_masks(wires, arena, (plan.wires,)), plan)
    for at, groups in enumerate(plan.conjunction):
        if at:
            drawn = _masks(wires, arena, (count, plan.joined))
        for group in groups:
            table = arena.words("nodes", (1 << group.size, group.count, plan.joined))
            multiply(table, _ends(drawn, group))
            for part in products_dealt(table, group.size):
                writer.add(part)
        count = sum(group.count for group in groups)


def evaluate(
    plan: BatchPlan,
    masked: Slice,
    *,
    first: bool,
    products: Products,
    wires: BitStream,
    arena: Arena,
    batch: int,
) -> Generator[Words, Words, Words]:
    """An evaluator's side of a batch.

    Parameters
    ----------
    plan : BatchPlan
    masked : Slice
        y.
    first : bool
        Whether this is E0, which adds what both know.
    products : Products
    wires : BitStream
        Its halves of the masks of wires.
    arena : Arena
    batch : int
        Tells what it keeps in the arena from what other batches keep.

    Yields
    ------
    ndarray of uint64
        Words to send, valid until the generator goes on; as many of the other evaluator are sent in.

    Returns
    -------
    ndarray of shape (outputs, W), uint64
        The opened outputs.
    """
    one = ONES if first else np.uint64(0)
    bits, parity = _bits(plan, masked, arena, (batch, "parity"))
    shares = _leaves(plan, bits, products, one, arena, (batch, "leaves"))
    count = plan.chunks
    for at, groups in enumerate(plan.comparison):
        deltas, halves = yield from _open(shares[: 2 * count - 1], wires, arena, (batch, "halves", at % 2))
        nodes = sum(group.count for group in groups)
        shares = arena.words((batch, "shares", at), (2 * nodes, plan.wires))
        done = 0
        for group in groups:
            tables = _node_tables(group, plan.wires, arena)
            tables.put_halves(
                _ends(halves[:count], group), _ends(halves[count:], group)[: tables.equals], one
            )
            for part in tables.dealt():
                products.fill(part)
            spare = arena.words("spare", (1 << (group.size - 1), group.count, plan.wires))
            less, equal = tables.evaluate(_ends(deltas[:count], group), _ends(deltas[count:], group), spare)
            shares[done : done + group.count] = less
            if equal is not None:
                shares[nodes + done : nodes + done + group.count] = equal
            done += group.count
        count = nodes
    sign, lowest = shares[0], arena.words("lowest", (plan.wires,))
    products.fill(lowest)
    sign ^= lowest
    if first:
        sign ^= parity.reshape(-1)
    negations = plan.negations()
    if not plan.conjunction:
        outputs = _taken(sign, plan, negations if first else None)[0]
    else:
        deltas, halves = yield from _open(sign, wires, arena, (batch, "halves", 0))
        deltas, halves = _taken(deltas, plan, negations), _taken(halves, plan)
        for at, groups in enumerate(plan.conjunction):
            if at:
                deltas, halves = yield from _open(shares, wires, arena, (batch, "halves", at % 2))
            shares = arena.words((batch, "joined", at), (sum(group.count for group in groups), plan.joined))
            done = 0
            for group in groups:
                table = arena.words("nodes", (1 << group.size, group.count, plan.joined))
                table[0] = one
                for wire, half in enumerate(_ends(halves, group)):
                    table[1 << wire] = half
                for part in products_dealt(table, group.size):
                    products.fill(part)
                shares[done : done + group.count] = conjunction(table, _ends(deltas, group))
                done += group.count
        outputs = shares[0]
    others = yield outputs
    opened: Words = outputs ^ others
    return opened.reshape(-1, plan.words)


class _Writer:
    """Adds E0's halves to products, which makes them E1's, one behind the other."""

    def __init__(self, products: BitStream, out: Words) -> None:
        self._products, self._out, self._at = products, out, 0

    def add(self, words: Words) -> None:
        self._products.add(words, self._out[self._at : self._at + words.size])
        self._at += words.size


def _bits(plan: BatchPlan, residues: Slice, arena: Arena, name: object) -> tuple[Words, Words]:
    """Bits of the digits, shape (chunk, chunks, pairs, W), and the lowest bit of the integers, (pairs, W).

    All primes are odd, so an integer is odd if an odd number of its digits is.
    """
    pairs = plan.bracket.first.size
    bits = arena.words("bits", (plan.widths.chunk, plan.chunks, pairs, plan.words))
    residues.kernels.difference_bits(residues.packed, residues.start, plan.question, plan.own, bits)
    parity = arena.words(name, (pairs, plan.words))
    np.bitwise_xor.reduce(bits[-1, plan.per_digit - 1 :: plan.per_digit], axis=0, out=parity)
    return bits, parity


def _leaves(
    plan: BatchPlan, bits: Words, products: Products, one: np.uint64, arena: Arena, name: object
) -> Words:
    """Shares of the leaves' wires, shape (2 chunks, words): l of all, then e; `bits` is inverted."""
    np.invert(bits, out=bits)
    flat = bits.reshape(plan.widths.chunk, -1)
    shares = arena.words(name, (2 * plan.chunks, plan.wires))
    less, equal = shares.reshape(2, -1)
    for low in range(0, flat.shape[1], _PIECE):
        part = slice(low, min(low + _PIECE, flat.shape[1]))
        shape = 1 << plan.widths.chunk, part.stop - low
        table, spare = arena.words("table", shape), arena.words("spare", shape)
        table[0] = one
        products.fill(table[1:])
        leaf(table, list(flat[:, part]), spare, less[part], equal[part])
    return shares


def _open(
    shares: Words, wires: BitStream, arena: Arena, name: object
) -> Generator[Words, Words, tuple[Words, Words]]:
    """Open wires under new masks: Delta, in place of the shares, and this party's halves of the masks."""
    halves = arena.words(name, shares.shape)
    wires.fill(halves)
    shares ^= halves
    others = yield shares
    shares ^= others.reshape(shares.shape)
    return shares, halves


def _masks(wires: tuple[BitStream, BitStream], arena: Arena, shape: tuple[int, ...]) -> Words:
    """Masks of wires, of both halves."""
    masks, other = arena.words("masks", shape), arena.words("other", shape)
    wires[0].fill(masks)
    wires[1].fill(other)
    masks ^= other
    return masks


def _taken(signs: Words, plan: BatchPlan, negations: Words | None = None) -> Words:
    """What the ANDs take of the wires of pairs, shape (n, outputs * W)."""
    found: Words = signs.reshape(-1, plan.words)[plan.bracket.inputs]
    if negations is not None:
        found ^= negations
    return found.reshape(found.shape[0], -1)


def _node_tables(group: Group, wires: int, arena: Arena) -> NodeTables:
    entries = NodeTables.entries(group.size, last=group.last)
    return NodeTables(arena.words("nodes", (entries, group.count, wires)), group.size, last=group.last)


def _ends(wires: Words, group: Group) -> list[Words]:
    """The wires of a group's nodes: of all its nodes the first, the second and so on."""
    end = group.offset + group.count * group.size
    return [wires[group.offset + i : end : group.size] for i in range(group.size)]
