"""One batch of rows through all gates: the dealer's side at once, an evaluator's exchange by exchange.

Both sides use keystreams in the same order: products of leaves, of each level of nodes, the lowest bit, of
each level of ANDs; masks of the wires of each exchange.
"""

from collections.abc import Generator, Hashable, Sequence
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


class Dealing:
    """The dealer's side of gates: it draws masks of wires and deals products of masks.

    Parameters
    ----------
    products : BitStream
        E0's halves of products.
    wires : tuple of two BitStreams
        E0's and E1's halves of the masks of wires.
    arena : Arena
    out : ndarray of shape (dealt,), uint64
        Written: E1's halves of products.
    """

    def __init__(
        self, *, products: BitStream, wires: tuple[BitStream, BitStream], arena: Arena, out: Words
    ) -> None:
        self._products, self._wires, self._arena = products, wires, arena
        self._out, self._at = out, 0

    def __repr__(self) -> str:
        return f"Dealing(words={self._out.size})"

    def masks(self, shape: tuple[int, ...]) -> Words:
        """Masks of the next wires, valid until the next are drawn."""
        masks, other = self._arena.words("masks", shape), self._arena.words("other", shape)
        self._wires[0].fill(masks)
        self._wires[1].fill(other)
        masks ^= other
        return masks

    def signs(self, plan: BatchPlan, masks: Slice) -> None:
        """Deal for the outcomes of all pairs; `masks` is r."""
        bits, parity = _bits(plan, masks, self._arena, "parity")
        flat = bits.reshape(plan.widths.chunk, -1)
        for low in range(0, flat.shape[1], _PIECE):
            part = flat[:, low : low + _PIECE]
            table = self._arena.words("leaves", (1 << plan.widths.chunk, part.shape[1]))
            multiply(table, list(part))
            self._add(table[1:])
        count = plan.chunks
        for groups in plan.comparison:
            self.nodes(groups, self.masks((2 * count - 1, plan.wires)), count)
            count = sum(group.count for group in groups)
        self._add(parity)

    def nodes(self, groups: Sequence[Group], masks: Words, count: int) -> None:
        """Deal for a level of nodes.

        Parameters
        ----------
        groups : sequence of Group
        masks : ndarray of shape (2 * count - 1, words), uint64
            Of l of all wires, then of e of all but the last.
        count : int
        """
        for group in groups:
            tables = _node_tables(group, masks.shape[1], self._arena)
            tables.multiply(_ends(masks[:count], group), _ends(masks[count:], group)[: tables.equals])
            for part in tables.dealt():
                self._add(part)

    def ands(self, levels: Sequence[Sequence[Group]], masks: Words) -> None:
        """Deal for ANDs of wires whose masks have shape (n, words), level by level."""
        width = masks.shape[1]
        for at, groups in enumerate(levels):
            if at:
                masks = self.masks((sum(group.count for group in levels[at - 1]), width))
            for group in groups:
                table = self._arena.words("nodes", (1 << group.size, group.count, width))
                multiply(table, _ends(masks, group))
                for part in products_dealt(table, group.size):
                    self._add(part)

    def _add(self, words: Words) -> None:
        """Add E0's halves to products, which makes them E1's, one behind the other."""
        self._products.add(words, self._out[self._at : self._at + words.size])
        self._at += words.size


class Evaluating:
    """An evaluator's side of gates. Its steps yield words to send, and as many of the other are sent in.

    Parameters
    ----------
    first : bool
        Whether this is E0, which adds what both know.
    products : Products
    wires : BitStream
        Its halves of the masks of wires.
    arena : Arena
    batch : int
        Tells what it keeps in the arena from what other batches keep.
    """

    def __init__(
        self, *, first: bool, products: Products, wires: BitStream, arena: Arena, batch: int = 0
    ) -> None:
        self._first, self.one = first, ONES if first else np.uint64(0)
        self._products, self._wires, self._arena, self._batch = products, wires, arena, batch
        self._opened = 0

    def __repr__(self) -> str:
        return f"Evaluating(batch={self._batch})"

    def open(self, shares: Words) -> Generator[Words, Words, tuple[Words, Words]]:
        """Open wires under new masks: Delta, in place of the shares, and this party's halves of the masks.

        The halves are valid until the next wires but one are opened.
        """
        self._opened ^= 1
        halves = self._arena.words((self._batch, "halves", self._opened), shares.shape)
        self._wires.fill(halves)
        shares ^= halves
        others = yield shares
        shares ^= others.reshape(shares.shape)
        return shares, halves

    def signs(self, plan: BatchPlan, masked: Slice) -> Generator[Words, Words, Words]:
        """Shares of the outcomes of all pairs, shape (pairs * W,); `masked` is y."""
        bits, parity = _bits(plan, masked, self._arena, (self._batch, "parity"))
        shares = self._leaves(plan, bits)
        count = plan.chunks
        for at, groups in enumerate(plan.comparison):
            deltas, halves = yield from self.open(shares[: 2 * count - 1])
            shares = self.nodes(groups, deltas, halves, count, ("shares", at))
            count = sum(group.count for group in groups)
        sign: Words = shares[0]
        lowest = self._arena.words("lowest", (plan.wires,))
        self._products.fill(lowest)
        sign ^= lowest
        if self._first:
            sign ^= parity.reshape(-1)
        return sign

    def nodes(
        self, groups: Sequence[Group], deltas: Words, halves: Words, count: int, name: Hashable
    ) -> Words:
        """Shares of a level of nodes, l of all and then e, from opened wires in the order of `Dealing.nodes`.

        Returns
        -------
        ndarray of shape (2 * nodes, words), uint64
            In the arena, by this name.
        """
        nodes, width = sum(group.count for group in groups), deltas.shape[1]
        shares = self._arena.words((self._batch, name), (2 * nodes, width))
        done = 0
        for group in groups:
            tables = _node_tables(group, width, self._arena)
            tables.put_halves(
                _ends(halves[:count], group), _ends(halves[count:], group)[: tables.equals], self.one
            )
            for part in tables.dealt():
                self._products.fill(part)
            spare = self._arena.words("spare", (1 << (group.size - 1), group.count, width))
            less, equal = tables.evaluate(_ends(deltas[:count], group), _ends(deltas[count:], group), spare)
            shares[done : done + group.count] = less
            if equal is not None:
                shares[nodes + done : nodes + done + group.count] = equal
            done += group.count
        return shares

    def ands(
        self, levels: Sequence[Sequence[Group]], deltas: Words, halves: Words
    ) -> Generator[Words, Words, Words]:
        """Shares of ANDs of opened wires, shape (words,), level by level."""
        shares, width = deltas, deltas.shape[1]
        for at, groups in enumerate(levels):
            if at:
                deltas, halves = yield from self.open(shares)
            count = sum(group.count for group in groups)
            shares = self._arena.words((self._batch, "joined", at), (count, width))
            done = 0
            for group in groups:
                table = self._arena.words("nodes", (1 << group.size, group.count, width))
                table[0] = self.one
                for wire, half in enumerate(_ends(halves, group)):
                    table[1 << wire] = half
                for part in products_dealt(table, group.size):
                    self._products.fill(part)
                shares[done : done + group.count] = conjunction(table, _ends(deltas, group))
                done += group.count
        found: Words = shares[0]
        return found

    def _leaves(self, plan: BatchPlan, bits: Words) -> Words:
        """Shares of the leaves' wires, shape (2 chunks, words): l of all, then e; `bits` is inverted."""
        np.invert(bits, out=bits)
        flat = bits.reshape(plan.widths.chunk, -1)
        shares = self._arena.words((self._batch, "leaves"), (2 * plan.chunks, plan.wires))
        less, equal = shares.reshape(2, -1)
        for low in range(0, flat.shape[1], _PIECE):
            part = slice(low, min(low + _PIECE, flat.shape[1]))
            shape = 1 << plan.widths.chunk, part.stop - low
            table, spare = self._arena.words("table", shape), self._arena.words("spare", shape)
            table[0] = self.one
            self._products.fill(table[1:])
            leaf(table, list(flat[:, part]), spare, less[part], equal[part])
        return shares


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
    products, wires, arena
        As `Dealing` takes them.
    out : ndarray of shape (plan.dealt,), uint64
        Written: E1's halves of products.
    """
    dealing = Dealing(products=products, wires=wires, arena=arena, out=out)
    dealing.signs(plan, masks)
    if plan.conjunction:
        dealing.ands(plan.conjunction, _taken(dealing.masks((plan.wires,)), plan))


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
    first, products, wires, arena, batch
        As `Evaluating` takes them.

    Yields
    ------
    ndarray of uint64
        Words to send, valid until the generator goes on; as many of the other evaluator are sent in.

    Returns
    -------
    ndarray of shape (outputs, W), uint64
        The opened outputs.
    """
    gates = Evaluating(first=first, products=products, wires=wires, arena=arena, batch=batch)
    sign = yield from gates.signs(plan, masked)
    negations = plan.negations()
    if not plan.conjunction:
        outputs = _taken(sign, plan, negations if first else None)[0]
    else:
        deltas, halves = yield from gates.open(sign)
        deltas, halves = _taken(deltas, plan, negations), _taken(halves, plan)
        outputs = yield from gates.ands(plan.conjunction, deltas, halves)
    others = yield outputs
    opened: Words = outputs ^ others
    return opened.reshape(-1, plan.words)


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
