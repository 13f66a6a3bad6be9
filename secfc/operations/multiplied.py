"""Bits times numbers, both under masks: the products are under new masks.

Evaluators know Delta = b xor lambda and y = x + r modulo Q, the dealer lambda and r. With s = 1 - 2 Delta

    b x = (Delta + s lambda) (y - r) = Delta y - Delta r + s (lambda y - lambda r).

The dealer gives the evaluators additive halves of lambda, r and lambda r. So each computes its part, and adds
a half of c, which it derives from a key that it shares with the dealer. They exchange the parts, which add up
to b x + c, and the dealer knows c. Opens nothing: each half of c is known to one evaluator and the dealer
alone, and the dealer sees no part. A wrong part is not noticed, like a wrong gate.
"""

from collections.abc import Generator
from math import prod

import numpy as np

from secfc.field.array_types import Floats
from secfc.field.packing import PackedResidues, unpack
from secfc.field.residues import reduce
from secfc.operations.masked import Masked
from secfc.operations.signs import HiddenBits, halves
from secfc.operations.under_masks import by_blocks, under_masks
from secfc.operations.weighed import half_of_mask, new_masks, opened_parts
from secfc.protocol.parties.party import Half, Party, at_once
from secfc.sharing.shared import Shared, joined


def multiplied(me: Party, bits: HiddenBits, numbers: Shared) -> Generator[None, None, Shared]:
    """Sums of b x over the first axis, shape (size,). Bits and x have shape (terms, size) or (terms, 1)."""
    size = max(bits.rows, numbers.shape[1])

    def some(block: slice) -> Generator[None, None, Shared]:
        count, own = block.stop - block.start, bits
        if bits.rows > 1:
            own = bits.made(bits.outputs, count, lambda held: held[:, block])
        part = numbers if numbers.shape[1] == 1 else numbers[:, block]
        return (yield from _sums(me, own, part, (bits.outputs, count)))

    return joined((yield from by_blocks(me, size, some, columns=bits.outputs)), 0)


def _sums(
    me: Party, bits: HiddenBits, numbers: Shared, shape: tuple[int, int]
) -> Generator[None, None, Shared]:
    """The same of as many products as an answer has at most. They have this shape."""
    held, x = bits.held, numbers.residues
    sizes = bits.outputs * bits.rows, numbers.size, prod(shape)
    given, parts = None, []
    if me.deals and held is not None and x is not None:
        every = [np.broadcast_to(held, (len(x), *held.shape)), x, held * x]
        given = np.concatenate([one.reshape(len(x), 1, -1) for one in every], axis=2)
        parts.append(at_once(new_masks, me, (len(x), 1, shape[1])))
    half = yield from halves(me, given, (1, sum(sizes)))
    if half is not None and held is not None and x is not None:
        own = np.split(half[:, 0], np.cumsum(sizes)[:-1], axis=1)
        of_bits, of_numbers, of_both = (
            one.reshape(len(x), *of) for one, of in zip(own, (held.shape, x.shape[1:], shape), strict=True)
        )
        sign, value = 1.0 - 2.0 * held, x - of_numbers if me.number == me.roles.first else -of_numbers
        products = held * value + sign * (of_bits * x - of_both)
        parts.append(_evaluator(me, reduce(products.sum(axis=1, keepdims=True), me.code.moduli)))
    found = yield from me.together(parts)
    sums = Masked(shape=(len(me.code.primes), 1, shape[1]), held=found[0] if parts else None)
    return under_masks(me, sums).reshape(shape[1])


def _evaluator(me: Party, part: Floats) -> Half:
    half = PackedResidues.empty(part.shape)
    half_of_mask(me, me.roles.dealer, me.number).fill(half.planes(), me.code.primes)
    mine = reduce(part + unpack(half.planes()), me.code.moduli)
    return (yield from opened_parts(me, "product", PackedResidues.of(mine, me.code.moduli)))
