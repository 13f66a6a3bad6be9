"""Batches of rows through all gates: the side that deals, and the side that evaluates.

The dealer does a batch in one step, an evaluator exchange by exchange.

A "half" is one of two XOR shares of a product or mask. Both sides use keystreams in the same order: products
of leaves, of each level of nodes, the lowest bit, of each level of ANDs. Then masks of each exchange's wires.
"""

from collections.abc import Generator, Hashable, Sequence
from math import prod

import numpy as np

from secfc.comparing.batch_plan import BatchPlan, Group
from secfc.crypto.keystream import Keys
from secfc.kernels import Kernels
from secfc.kernels.interface import Bytes, Words

_PRODUCTS, _WIRES = "signs products", "signs wires"  # purposes of keys


class Arena:
    """Named buffers that grow as needed, for one party. They hold masks, so the repr hides them.

    Every round uses them again: new pages cost more than the gates that fill them.
    """

    def __init__(self) -> None:
        self._buffers: dict[Hashable, Words] = {}

    def __repr__(self) -> str:
        return f"Arena(buffers={len(self._buffers)})"

    def words(self, name: Hashable, shape: tuple[int, ...]) -> Words:
        """Contiguous uninitialised words. They overwrite the words taken before with this name."""
        size = prod(shape)
        buffer = self._buffers.get(name)
        if buffer is None or buffer.size < size:
            buffer = self._buffers[name] = np.empty(size, dtype=np.uint64)
        return buffer[:size].reshape(shape)


class DealtHalves:
    """Halves of products that the dealer sent, shape (size,)."""

    def __init__(self, words: Words) -> None:
        # Compiled loops need aligned words.
        self._words, self._at = words if words.flags.aligned else words.copy(), 0

    def __repr__(self) -> str:
        return f"DealtHalves(words={self._words.size})"

    def take(self, shape: tuple[int, ...]) -> Words:
        """The next words, a view."""
        start, self._at = self._at, self._at + prod(shape)
        return self._words[start : self._at].reshape(shape)


class Dealing:
    """The dealer's side of gates: it draws masks of wires and deals products of masks.

    It writes E1's halves of products to `out`, shape (dealt,). E0 draws its own halves.
    """

    def __init__(self, keys: tuple[Keys, Keys], kernels: Kernels, arena: Arena, out: Words) -> None:
        self._products = keys[0].bits(_PRODUCTS, 0)
        self._wires = [one.bits(_WIRES, 0) for one in keys]
        self._kernels, self._arena, self._out, self._at = kernels, arena, out, 0

    def __repr__(self) -> str:
        return f"Dealing(words={self._out.size})"

    def hidden(self, plan: BatchPlan, masks: Bytes) -> Words:
        """Deal for a batch whose outputs stay under masks: these, shape (outputs * W,). `masks` is r."""
        self.signs(plan, masks)
        if plan.conjunction:
            self.ands(plan.conjunction, _taken(self.masks((plan.wires,)), plan))
        return self.masks((plan.joined,))

    def masks(self, shape: tuple[int, ...]) -> Words:
        """Masks of the next wires, valid until the next call."""
        masks = self._arena.words("masks", shape)
        self._wires[0].fill(masks)
        self._wires[1].add(masks)
        return masks

    def signs(self, plan: BatchPlan, masks: Bytes) -> None:
        """Deal for the signs of all columns. `masks` is r."""
        bits, parity = _bits(plan, masks, self._kernels, self._arena)
        every = [(part, self._next((plan.leaf, part.stop - part.start))) for part in plan.pieces]

        def multiply(one: tuple[slice, Words]) -> None:
            self._kernels.leaf_products(bits, one[0].start, one[1])

        self._kernels.threads.each(multiply, every, size=plan.leaf * plan.leaves)
        for _, products in every:
            self._products.add(products)
        count = plan.chunks
        for groups in plan.comparison:
            masks_of = self.masks((2 * count - 1, plan.wires))
            self.nodes(groups, masks_of[:count], masks_of[count:])
            count = sum(group.count for group in groups)
        part = self._next(parity.shape)
        part[...] = parity
        self._products.add(part)

    def nodes(self, groups: Sequence[Group], less: Words, equal: Words) -> None:
        """Deal for a level of nodes, from masks of wires.

        Masks of l have shape (count, words), or (0, words) for ANDs. Masks of e have shape (count, words) or,
        without the last, (count - 1, words).
        """
        for group in groups:
            part = self._next((group.dealt if less.size else group.dealt_and, group.count, equal.shape[1]))
            own = slice(group.offset, group.offset + group.count * group.size)
            self._kernels.gate_products(less[own], equal[own], group.size, part)
            self._products.add(part)

    def ands(self, levels: Sequence[Sequence[Group]], masks: Words) -> None:
        """Deal for ANDs of wires, level by level. Their masks have shape (n, words)."""
        for at, groups in enumerate(levels):
            if at:
                masks = self.masks((sum(group.count for group in levels[at - 1]), masks.shape[1]))
            self.nodes(groups, masks[:0], masks)

    def _next(self, shape: tuple[int, ...]) -> Words:
        """The place of the next products. Adding E0's halves to them gives E1's halves."""
        start, self._at = self._at, self._at + prod(shape)
        return self._out[start : self._at].reshape(shape)


class Evaluating:
    """An evaluator's side of gates. Its steps yield words to send and receive as many words of the other.

    The words to send are valid until the generator resumes. `dealt` is the dealer's message to E1; E0 has
    none. E0 adds the values that both evaluators know.
    """

    def __init__(self, keys: Keys, kernels: Kernels, arena: Arena, dealt: Bytes | None) -> None:
        self.first = dealt is None
        self._products = keys.bits(_PRODUCTS, 0) if dealt is None else DealtHalves(dealt.view(np.uint64))
        self._wires = keys.bits(_WIRES, 0)
        self._kernels, self._arena, self._opened = kernels, arena, 0

    def __repr__(self) -> str:
        return f"Evaluating(first={self.first})"

    def hidden(self, plan: BatchPlan, masked: Bytes) -> Generator[Words, Words, Words]:
        """The outputs of a batch under the dealer's masks, shape (outputs * W,). `masked` is y."""
        outputs = yield from self._shared_outputs(plan, masked)
        deltas, _ = yield from self.open(outputs)
        return deltas

    def _shared_outputs(self, plan: BatchPlan, masked: Bytes) -> Generator[Words, Words, Words]:
        sign = yield from self.signs(plan, masked)
        negations = plan.negations()
        if not plan.conjunction:
            outputs: Words = _taken(sign, plan, negations if self.first else None)[0]
        else:
            deltas, halves = yield from self.open(sign)
            deltas, halves = _taken(deltas, plan, negations), _taken(halves, plan)
            return (yield from self.ands(plan.conjunction, deltas, halves))
        return outputs

    def open(self, shares: Words) -> Generator[Words, Words, tuple[Words, Words]]:
        """Open wires under new masks. Return Delta, in place of the shares, and this party's halves of masks.

        The halves stay valid during the next call, but not after it.
        """
        self._opened ^= 1
        halves = self._arena.words(("halves", self._opened), shares.shape)
        self._wires.fill(halves)
        shares ^= halves
        others = yield shares
        shares ^= others.reshape(shares.shape)
        return shares, halves

    def signs(self, plan: BatchPlan, masked: Bytes) -> Generator[Words, Words, Words]:
        """Shares of the signs of all columns, shape (columns * W,). `masked` is y."""
        bits, parity = _bits(plan, masked, self._kernels, self._arena)
        shares = self._leaves(plan, bits)
        count = plan.chunks
        for at, groups in enumerate(plan.comparison):
            deltas, halves = yield from self.open(shares[: 2 * count - 1])
            shares = self.nodes(
                groups, (deltas[:count], deltas[count:]), (halves[:count], halves[count:]), ("shares", at)
            )
            count = sum(group.count for group in groups)
        sign: Words = shares[0]
        sign ^= self._halves(sign.shape)
        if self.first:
            sign ^= parity
        return sign

    def nodes(
        self,
        groups: Sequence[Group],
        deltas: tuple[Words, Words],
        halves: tuple[Words, Words],
        name: Hashable,
    ) -> Words:
        """Shares of a level of nodes, from opened wires l and e in the order of `Dealing.nodes`.

        The result is l of all nodes and then e, shape (2 * nodes, words). For ANDs it is e alone, shape
        (nodes, words). It is in the arena under this name.
        """
        width, compares = deltas[1].shape[1], deltas[0].size > 0
        nodes, done = sum(group.count for group in groups), 0
        shares = self._arena.words(name, (2 * nodes if compares else nodes, width))
        less = nodes if compares else 0
        for group in groups:
            own = slice(group.offset, group.offset + group.count * group.size)
            products = self._halves((group.dealt if compares else group.dealt_and, group.count, width))
            out = slice(done, done + group.count)
            self._kernels.gates(
                (deltas[0][own], deltas[1][own]),
                (halves[0][own], halves[1][own]),
                group.size,
                products,
                self.first,
                (shares[:less][out], shares[less:][: 0 if group.last else None][out]),
            )
            done += group.count
        return shares

    def ands(
        self, levels: Sequence[Sequence[Group]], deltas: Words, halves: Words
    ) -> Generator[Words, Words, Words]:
        """Shares of ANDs of opened wires, shape (words,), level by level."""
        shares = deltas
        for at, groups in enumerate(levels):
            if at:
                deltas, halves = yield from self.open(shares)
            shares = self.nodes(groups, (deltas[:0], deltas), (halves[:0], halves), ("joined", at))
        found: Words = shares[0]
        return found

    def _leaves(self, plan: BatchPlan, bits: Words) -> Words:
        """Shares of the leaves' wires, shape (2 chunks, words): l of all, then e."""
        shares = self._arena.words("leaves", (2 * plan.chunks, plan.wires))
        less, equal = shares.reshape(2, -1)
        halves = self._halves((plan.leaf * plan.leaves,))

        def evaluate(part: slice) -> None:
            products = halves[plan.leaf * part.start : plan.leaf * part.stop].reshape(plan.leaf, -1)
            self._kernels.leaves(bits, part.start, products, self.first, less[part], equal[part])

        self._kernels.threads.each(evaluate, plan.pieces, size=halves.size)
        return shares

    def _halves(self, shape: tuple[int, ...]) -> Words:
        """Halves of the next products, valid until the next call."""
        if isinstance(self._products, DealtHalves):
            return self._products.take(shape)
        halves = self._arena.words("products", shape)
        self._products.fill(halves)
        return halves


def _bits(plan: BatchPlan, residues: Bytes, kernels: Kernels, arena: Arena) -> tuple[Words, Words]:
    """Bits of the digits, shape (chunk, chunks * columns * W), and the integers' lowest bit, (columns * W,).

    All primes are odd, so an integer is odd if an odd number of its digits is.
    """
    bits = arena.words("bits", (plan.widths.chunk, plan.chunks, plan.columns, plan.words))
    kernels.doubled_bits(residues, plan.radix, bits)
    parity = arena.words("parity", (plan.columns, plan.words))
    np.bitwise_xor.reduce(bits[-1, plan.per_digit - 1 :: plan.per_digit], axis=0, out=parity)
    return bits.reshape(plan.widths.chunk, -1), parity.reshape(-1)


def _taken(signs: Words, plan: BatchPlan, negations: Words | None = None) -> Words:
    """The inputs of the ANDs from the wires of columns, shape (n, outputs * W)."""
    found = signs.reshape(-1, plan.words).take(plan.bracket.inputs, axis=0)
    if negations is not None:
        found ^= negations
    return found.reshape(found.shape[0], -1)
