"""Answers under the dealer's masks: <x> to y at both evaluators and r at the dealer, with y = sum of x + r.

x has l segments, and what is compared is their sum. The dealer's masks are seeds that it shares with R
holders; the others get theirs from it (`secfc.comparing.masking`). Nobody learns x: y is uniform without r,
and the dealer sees no answer. Answers go to the first evaluator, which sends y to the second.
"""

from collections.abc import Generator
from dataclasses import dataclass, field

import numpy as np

from secfc.comparing.masking import BearerMasks, MaskDealer, add_dealt
from secfc.errors import MessageError
from secfc.field.packing import PackedResidues, pack, packed_bytes
from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.opened import decoded_sum
from secfc.protocol.parties.party import Half, Party
from secfc.sharing.shared import Shared

_PHASE = "masks"


@dataclass(frozen=True, kw_only=True)
class Masked:
    """`held`, shape (P, columns, rows), is y at an evaluator, r at the dealer, and None at other parties."""

    shape: tuple[int, int, int]
    held: PackedResidues | None = field(repr=False)


def masked(
    me: Party, answers: PackedResidues | None, *, columns: int, rows: int
) -> Generator[None, None, Masked]:
    """Y and r of holders' shares of <x>, or [x], shape (P, columns, rows), which are overwritten."""
    shape = len(me.code.primes), columns, rows
    halves = []
    if answers is not None:
        halves.append(_holder(me, answers, shape))
    if me.deals:
        halves.append(_dealer(me, shape))
    if me.number == me.roles.first:
        halves.append(_first(me, shape))
    if me.number == me.roles.second:
        halves.append(_second(me, shape))
    found = yield from me.together(halves)
    held = [one for one in found if one is not None]
    return Masked(shape=shape, held=held[0] if held else None)


def packed(shares: Shared, *, columns: int = 1) -> PackedResidues | None:
    """A holder's shares as an answer with so many columns."""
    if shares.residues is None:
        return None
    primes = np.array(shares.primes)[:, np.newaxis, np.newaxis]
    found = PackedResidues.empty((len(shares.primes), columns, shares.size // columns))
    found.planes()[...] = pack(shares.residues.reshape(len(primes), columns, -1), primes)
    return found


def _bearers(me: Party) -> tuple[int, ...]:
    return tuple(me.roles.holders[: me.code.wide])


def _spares(me: Party) -> tuple[int, ...]:
    return tuple(me.roles.holders[me.code.wide :])


def _holder(me: Party, answers: PackedResidues, shape: tuple[int, int, int]) -> Half:
    primes = me.code.primes
    if me.number in _bearers(me):
        keys = me.keys(me.roles.dealer, f"{_PHASE} {me.number}")
        BearerMasks(keys=keys, primes=primes, kernels=me.kernels).add(answers)
    else:
        dealt = (yield Wait("masks", (me.roles.dealer,), packed_bytes(shape)))[me.roles.dealer]
        add_dealt(answers, PackedResidues(payload=dealt, shape=shape), primes=primes, kernels=me.kernels)
    me.send_share([me.roles.first], "answer", answers.payload)


def _dealer(me: Party, shape: tuple[int, int, int]) -> Half:
    code, bearers = me.code, _bearers(me)
    masks = MaskDealer(
        weights=code.weights,
        n=code.n,
        ell=code.ell,
        t=code.t,
        bearers=bearers,
        spares=_spares(me),
        keys={j: me.keys(j, f"{_PHASE} {j}") for j in bearers},
        primes=code.primes,
        kernels=me.kernels,
    ).deal(columns=shape[1], rows=shape[2])
    for spare, one in masks.spares.items():
        me.send(spare, "masks", one.payload)
    return masks.total
    yield


def _first(me: Party, shape: tuple[int, int, int]) -> Half:
    decoded = yield from decoded_sum(me, "answer", shape)
    me.send(me.roles.second, "decoded", decoded.payload)
    return decoded


def _second(me: Party, shape: tuple[int, int, int]) -> Half:
    data = (yield Wait("decoded", (me.roles.first,), packed_bytes(shape)))[me.roles.first]
    decoded = PackedResidues(payload=data, shape=shape)
    if me.kernels.refused(decoded.planes(), me.code.primes) >= 0:
        text = f"party {me.roles.first} sent integers that are not below their prime"
        raise MessageError(text, clients=[me.roles.first])
    return decoded
