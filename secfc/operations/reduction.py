"""<x> to [x]: what was multiplied can be multiplied again.

Opens x plus uniform residues to both evaluators and all holders, and nothing else. A holder continues only if
both evaluators returned the same.
"""

from collections.abc import Generator

from secfc.errors import CheatError
from secfc.errors.codes import Code
from secfc.field.array_types import Floats
from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.opened import opened_shares
from secfc.protocol.parties.party import Half, Party
from secfc.protocol.parties.random_sharings import random_sharings
from secfc.sharing.residue_bytes import from_bytes, size_of, to_bytes
from secfc.sharing.shared import Shared


def reduced(me: Party, product: Shared) -> Generator[None, None, Shared]:
    """[x] of <x>."""
    size, primes = product.size, me.code.primes
    masks = yield from random_sharings(me, twins=size)
    halves = []
    if me.holds:
        halves.append(_holder(me, product.reshape(size) + masks.wide))
    if me.evaluates:
        halves.append(_evaluator(me, size))
    found = yield from me.together(halves)
    opened = Shared(primes, (size,), found[0] if me.holds else None)
    return (opened - masks.narrow).reshape(*product.shape)


def _holder(me: Party, hidden: Shared) -> Half:
    code, size = me.code, hidden.size
    assert hidden.residues is not None
    data = to_bytes(hidden.residues, code.primes)
    for evaluator in me.roles.evaluators:
        me.send(evaluator, "hidden", data)
    expected = size_of(code.ell * size, code.primes)
    first, second = (yield Wait("opened", me.roles.evaluators, expected)).values()
    if first != second:
        text = "the evaluators returned different numbers"
        raise CheatError(text, code=Code.BAD_MESSAGE, clients=me.roles.evaluators)
    segments: Floats = from_bytes(first, (code.ell, size), code.primes)
    return code.public(segments, me.number)


def _evaluator(me: Party, size: int) -> Half:
    code = me.code
    opened = to_bytes((yield from opened_shares(me, "hidden", size, wide=True)), code.primes)
    for holder in me.roles.holders:
        me.send(holder, "opened", opened)
