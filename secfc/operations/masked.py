"""Answers under the dealer's masks: <x> to y at both evaluators and r at the dealer, with y = sum of x + r.

x has l segments, and what is compared is their sum. The dealer shares a key with each of R holders, the
bearers. Bearer j adds the residues rho_j of its keystream to its answer. R values determine one polynomial
rho of the degree of <x>. The dealer sends every other holder, a spare, its rho(alpha_j). So all answers are
values of x + rho, and any R of them decode to x + r. The dealer knows r = sum_j w_j rho_j before any answer
(docs/proofs.md, "Masked answers stay codewords"). Nobody learns x: y is uniform without r, and the dealer
sees no answer. Answers go to the first evaluator, which sends y to the second.
"""

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np

from secfc.crypto.keystream import ResidueStream
from secfc.errors import MessageError
from secfc.field.array_types import Floats
from secfc.field.packing import PackedResidues, packed_bytes, unpack
from secfc.field.residues import matmul
from secfc.kernels import Kernels
from secfc.kernels.interface import Bytes
from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.opened import decoded_sum
from secfc.protocol.parties.party import Half, Party
from secfc.sharing.rows import Answers

_PHASE, _PURPOSE = "masks", "answers"


@dataclass(frozen=True, kw_only=True)
class Masked:
    """`held`, shape (P, columns, rows), is y at an evaluator, r at the dealer, and None at other parties."""

    shape: tuple[int, int, int]
    held: PackedResidues | None = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Answered:
    """Answers that are to be checked, and what is held of them."""

    answers: Answers
    held: PackedResidues | None = field(repr=False)

    def combined(self, factors: Floats, kernels: Kernels, primes: tuple[int, ...]) -> Floats:
        """Combinations of what is held of the columns, reduced, shape (P, combinations, rows).

        Coefficients, shape (1, combinations, columns), are below 2**22 in magnitude, so canonical residues
        are as good as reduced ones: 128 products are 8.9984e15 at most, below 2**53.
        """
        assert self.held is not None
        planes = self.held.planes()
        found = np.empty((len(primes), factors.shape[1], self.held.shape[2]))

        def of_prime(at: int) -> None:
            found[at] = matmul(factors[0], unpack(planes[at]), primes[at])

        kernels.threads.each(of_prime, range(len(primes)), size=planes.size // 3)
        return found


def masked(me: Party, answers: Answers) -> Generator[None, None, Masked]:
    """Y and r of holders' shares of <x>, or [x]. The packed shares are overwritten."""
    shape = len(me.code.primes), *answers.shape
    halves = []
    if answers.packed is not None:
        halves.append(_holder(me, answers.packed, shape))
    if me.deals:
        halves.append(_dealer(me, shape))
    if me.number == me.roles.first:
        halves.append(_first(me, shape))
    if me.number == me.roles.second:
        halves.append(_second(me, shape))
    found = yield from me.together(halves)
    held = [one for one in found if one is not None]
    own = held[0] if held else None
    me.unchecked[1].append(Answered(answers=replace(answers, packed=None), held=own))
    return Masked(shape=shape, held=own)


def _bearers(me: Party) -> tuple[int, ...]:
    return tuple(me.roles.holders[: me.code.wide])


def _masks(me: Party, other: int, bearer: int) -> ResidueStream:
    """A bearer's masks, from a key that it shares with the dealer."""
    return ResidueStream(me.keys(other, f"{_PHASE} {bearer}").key(_PURPOSE, 0), me.kernels)


def _holder(me: Party, answers: PackedResidues, shape: tuple[int, int, int]) -> Half:
    primes, dealer, planes = me.code.primes, me.roles.dealer, answers.planes()
    if me.number in _bearers(me):
        _masks(me, dealer, me.number).add(planes, primes)
    else:
        dealt = (yield Wait("masks", (dealer,), packed_bytes(shape)))[dealer]
        masks = PackedResidues(payload=dealt, shape=shape).planes()
        check_below(me, masks, dealer)
        for plane, more, p in zip(planes, masks, primes, strict=True):
            me.kernels.add_masks(plane.reshape(-1), more.reshape(-1), p)
    me.send_share([me.roles.first], "answer", answers.payload)


def _dealer(me: Party, shape: tuple[int, int, int]) -> Half:
    code, bearers = me.code, _bearers(me)

    def drawn(stream: ResidueStream) -> Bytes:
        masks = PackedResidues.empty(shape).planes()
        stream.fill(masks, code.primes)
        return masks

    def combined(weights: Floats) -> PackedResidues:
        found = PackedResidues.empty(shape)
        refused = me.kernels.weigh(masks, weights, code.primes, found.planes())
        assert refused < 0  # the keystream gives residues
        return found

    streams = [_masks(me, bearer, bearer) for bearer in bearers]
    masks = me.kernels.threads.each(drawn, streams, size=len(bearers) * prod(shape))
    spares = tuple(me.roles.holders[code.wide :])
    for at, spare in enumerate(spares):
        me.send(spare, "masks", combined(code.between(bearers, spares)[:, at]).payload)
    return combined(code.weights(bearers))
    yield


def _first(me: Party, shape: tuple[int, int, int]) -> Half:
    decoded = yield from decoded_sum(me, "answer", shape)
    me.send(me.roles.second, "decoded", decoded.payload)
    return decoded


def _second(me: Party, shape: tuple[int, int, int]) -> Half:
    data = (yield Wait("decoded", (me.roles.first,), packed_bytes(shape)))[me.roles.first]
    decoded = PackedResidues(payload=data, shape=shape)
    check_below(me, decoded.planes(), me.roles.first)
    return decoded


def not_below(sender: int) -> MessageError:
    """The error about a party that sent something else than residues."""
    return MessageError(f"party {sender} sent integers that are not below their prime", clients=[sender])


def check_below(me: Party, planes: Bytes, sender: int) -> None:
    """MessageError unless packed residues that a party sent are below their primes."""
    if me.kernels.refused(planes, me.code.primes):
        raise not_below(sender)
