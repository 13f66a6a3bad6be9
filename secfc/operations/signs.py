"""Signs of masked integers, and ANDs of them: from y and r to bits that stay under masks, and to shares.

The evaluators compare y with r by gates for which the dealer deals (`secfc.comparing.batch`). An output b is
known to both evaluators as Delta = b xor lambda, and to the dealer as lambda.

The dealer gives the evaluators additive halves l0 and l1 of lambda modulo each prime; -l0 is a keystream.
With b = Delta + (1 - 2 Delta) lambda, the halves Delta + (1 - 2 Delta) l0 and (1 - 2 Delta) l1 add up to b,
and each evaluator deals its own like rows. So no holder gets Delta, with which a dealer that is a holder
would know every bit. Opens nothing.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secfc.comparing.batch import Dealing, Evaluating
from secfc.comparing.batch_plan import BatchPlan, Bracket
from secfc.crypto.keystream import ResidueStream
from secfc.field.array_types import Bools, Floats
from secfc.field.packing import PackedResidues, pack, pack_canonical, packed_bytes
from secfc.kernels.gates import WORD_BYTES, to_rows
from secfc.kernels.interface import Bytes
from secfc.operations.checking.check import checking, prepared
from secfc.operations.masked import Masked, check_below
from secfc.protocol.parties.dealing import added, dealt
from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.party import Half, Party, at_once
from secfc.sharing.shared import Shared

_SIGNS, _HALVES = "signs", "halves"  # phases

_AT_ONCE = 1 << 22
"""Residues of an answer; gates take about four times as many bytes."""

_LATER = 1 << 20
"""Answers and numbers of claims that are checked even if it may come later: parties keep them until then."""


@dataclass(frozen=True, kw_only=True)
class HiddenBits:
    """`held`, shape (outputs, rows), is Delta at an evaluator, lambda at the dealer, else None."""

    outputs: int
    rows: int
    held: Bools | None = field(repr=False)

    def made(self, outputs: int, rows: int, of: Callable[[Bools], Bools]) -> "HiddenBits":
        """Others that everybody who holds something computes alone."""
        held = None if self.held is None else of(self.held).reshape(outputs, rows)
        return HiddenBits(outputs=outputs, rows=rows, held=held)


def rows_at_once(k: int, primes: int) -> int:
    """Rows that are compared at a time, so that messages stay below some fifty megabytes."""
    return max(1, _AT_ONCE // (k * (k - 1) // 2 * primes))


def hidden_signs(
    me: Party, of: Masked, bracket: Bracket, *, later: bool = False
) -> Generator[None, None, HiddenBits]:
    """The outputs of a bracket for each row. With `later` what was not checked waits, unless it is much."""
    check = yield from prepared(me, least=_LATER if later else 0)
    plan = BatchPlan(me.code.primes, of.shape[2], bracket)
    parts = []
    if of.held is not None and me.deals:
        parts.append(_gates_dealer(me, plan, of.held.planes()))
    if of.held is not None and me.evaluates:
        parts.append(_gates_evaluator(me, plan, of.held.planes()))
    gates = len(parts)
    if check is not None:
        parts.append(checking(me, check))
    found = yield from me.together(parts)
    return HiddenBits(outputs=bracket.outputs, rows=of.shape[2], held=found[0] if gates else None)


def shared_bits(me: Party, bits: HiddenBits) -> Generator[None, None, Shared]:
    """[b] of bits that stayed under masks, shape (outputs, rows)."""
    return (yield from from_halves(me, (yield from halves_of(me, bits)), (bits.outputs, bits.rows)))


def halves_of(me: Party, bits: HiddenBits) -> Generator[None, None, Floats | None]:
    """Additive halves of bits at each evaluator, shape (P, outputs, rows)."""
    half = yield from halves(me, bits.held if me.deals else None, (bits.outputs, bits.rows))
    if half is not None and bits.held is not None:
        half *= 1.0 - 2.0 * bits.held
        half += bits.held if me.number == me.roles.first else 0
    return half


def halves(
    me: Party, numbers: Bools | Floats | None, shape: tuple[int, int]
) -> Generator[None, None, Floats | None]:
    """Additive halves modulo each prime of the dealer's numbers, shape (P, *shape), at each evaluator.

    The numbers are bits, shape (*shape,), or reduced residues. Halves are centred.
    """
    packed, whole = None, (len(me.code.primes), *shape)
    if numbers is not None:
        packed = PackedResidues.empty(whole)
        given = numbers.astype(np.float64)
        are_bits = given.ndim == len(shape)
        packed.planes()[...] = pack_canonical(given) if are_bits else pack(given, me.code.moduli)
    half = yield from packed_halves(me, packed, shape)
    if half is None:
        return None
    found = me.kernels.residues(half, me.code.primes)
    assert found is not None
    return -found if me.number == me.roles.first else found


def packed_halves(
    me: Party, numbers: PackedResidues | None, shape: tuple[int, int]
) -> Generator[None, None, Bytes | None]:
    """The same of packed residues, shape (P, outputs, 3 * rows), but minus the half at the first evaluator.

    So the dealer adds to its numbers what the first evaluator derives from a key that both share.
    """
    whole, parts = (len(me.code.primes), *shape), []
    if numbers is not None:
        parts.append(at_once(_deal_halves, me, numbers))
    if me.number == me.roles.first:
        parts.append(at_once(_drawn_half, me, whole))
    if me.number == me.roles.second:
        parts.append(_second_half(me, whole))
    found = yield from me.together(parts)
    return found[-1] if me.evaluates else None


def from_halves(me: Party, half: Floats | None, shape: tuple[int, int]) -> Generator[None, None, Shared]:
    """[x], the same in all segments, of the halves of x that the evaluators have, reduced."""
    size, segments = shape[0] * shape[1], None
    if half is not None:
        mine = half.reshape(len(me.code.primes), 1, size)
        segments = np.broadcast_to(mine, (len(mine), me.code.ell, size))
    found = yield from dealt(me, dict.fromkeys(me.roles.evaluators, size), segments)
    return added(me, [one.shared for one in found.values()], size).reshape(*shape)


def _gates_dealer(me: Party, plan: BatchPlan, masks: Bytes) -> Half:
    first, second = me.roles.evaluators
    keys = me.keys(first, f"{_SIGNS} {first}"), me.keys(second, f"{_SIGNS} {second}")
    products = np.empty(plan.dealt, dtype=np.uint64)
    hidden = Dealing(keys, me.kernels, me.arena, products).hidden(plan, masks).copy()
    me.send(second, "gates", products.view(np.uint8).data)
    return to_rows(hidden.reshape(-1, plan.words), plan.rows)
    yield


def _gates_evaluator(me: Party, plan: BatchPlan, residues: Bytes) -> Half:
    first, second = me.roles.evaluators
    is_first, given = me.number == first, None
    if not is_first:
        data = (yield Wait("gates", (me.roles.dealer,), WORD_BYTES * plan.dealt))[me.roles.dealer]
        given = np.frombuffer(data, dtype=np.uint8)
    keys = me.keys(me.roles.dealer, f"{_SIGNS} {me.number}")
    gates = Evaluating(keys, me.kernels, me.arena, given)
    deltas = yield from exchanged(me, second if is_first else first, gates.hidden(plan, residues))
    return to_rows(deltas.reshape(-1, plan.words), plan.rows)


def exchanged(me: Party, peer: int, steps: Generator[NDArray[Any], NDArray[Any], Any]) -> Half:
    """Run steps that yield arrays for the other evaluator and receive as large ones."""
    mine, number = next(steps), 0
    while True:
        me.send(peer, f"gates {number}", mine.tobytes())
        data = (yield Wait(f"gates {number}", (peer,), mine.nbytes))[peer]
        number += 1
        try:
            mine = steps.send(np.frombuffer(data, dtype=mine.dtype).reshape(mine.shape))
        except StopIteration as end:
            return end.value


def _deal_halves(me: Party, numbers: PackedResidues) -> None:
    first, second = me.roles.evaluators
    rest = PackedResidues.empty(numbers.shape)
    rest.planes()[...] = numbers.planes()
    _stream(me, first, first).add(rest.planes(), me.code.primes)
    me.send(second, "half", rest.payload)


def _second_half(me: Party, shape: tuple[int, int, int]) -> Half:
    dealer = me.roles.dealer
    given = (yield Wait("half", (dealer,), packed_bytes(shape)))[dealer]
    planes = PackedResidues(payload=given, shape=shape).planes()
    check_below(me, planes, dealer)
    return planes


def _drawn_half(me: Party, shape: tuple[int, int, int]) -> Bytes:
    drawn = PackedResidues.empty(shape).planes()
    _stream(me, me.roles.dealer, me.number).fill(drawn, me.code.primes)
    return drawn


def _stream(me: Party, other: int, evaluator: int) -> ResidueStream:
    """Minus the first evaluator's half, from a key that it shares with the dealer."""
    return ResidueStream(me.keys(other, f"{_HALVES} {evaluator}").key(_HALVES, 0), me.kernels)
