"""Opens numbers, or bits under masks, to everybody.

Each party gets a share of a number of each holder and decodes for itself, so nobody announces one. Both
evaluators tell every party a bit, and a party continues only if they tell the same.
"""

from collections.abc import Generator
from dataclasses import replace

import numpy as np

from secfc.errors import CheatError
from secfc.errors.codes import Code
from secfc.field.array_types import Bools, Floats
from secfc.operations.signs import HiddenBits
from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.opened import opened_shares
from secfc.protocol.parties.party import Half, Party
from secfc.sharing.residue_bytes import to_bytes
from secfc.sharing.shared import Shared


def opened(me: Party, product: Shared) -> Generator[None, None, Floats]:
    """The segments modulo the first prime, canonical, shape (ell, size), of <x>.

    The sharing must be uniform among those of its segments: add <0> before.
    """
    found: list[Floats] = yield from me.together([opening(me, product)])
    return found[0]


def opening(me: Party, product: Shared) -> Half:
    """The same as a half of a step."""
    if product.residues is not None:
        me.send_share(me.roles.everybody, "share", to_bytes(product.residues[:1], me.code.primes[:1]))
    alone = replace(me, code=me.code.first_prime())
    return (yield from opened_shares(alone, "share", product.size, wide=True))[0]


def opened_bits(me: Party, bits: HiddenBits) -> Generator[None, None, tuple[bool, ...]]:
    """The bits, at everybody. The dealer tells the evaluators its masks."""
    halves = [_bits_receiver(me, bits)]
    if me.deals and bits.held is not None:
        halves.append(_dealer(me, bits.held))
    if me.evaluates and bits.held is not None:
        halves.append(_evaluator(me, bits.held))
    found = yield from me.together(halves)
    return tuple(found[0])


def _dealer(me: Party, masks: Bools) -> Half:
    for evaluator in me.roles.evaluators:
        me.send(evaluator, "mask", np.packbits(masks).tobytes())
    return
    yield


def _evaluator(me: Party, deltas: Bools) -> Half:
    masks = (yield Wait("mask", (me.roles.dealer,), -(-deltas.size // 8)))[me.roles.dealer]
    me.tell("bits", (np.frombuffer(masks, dtype=np.uint8) ^ np.packbits(deltas)).tobytes())


def _bits_receiver(me: Party, bits: HiddenBits) -> Half:
    size = bits.outputs * bits.rows
    first, second = (yield Wait("bits", me.roles.evaluators, -(-size // 8))).values()
    if first != second:
        text = "the evaluators told different bits"
        raise CheatError(text, code=Code.BAD_MESSAGE, clients=me.roles.evaluators)
    me.note(bytes(first))
    return np.unpackbits(np.frombuffer(first, dtype=np.uint8), count=size).astype(np.bool_).tolist()
