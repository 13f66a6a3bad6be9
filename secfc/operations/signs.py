"""Signs of masked integers, and ANDs of them: from y and r to bits that stay under masks, or are opened.

The evaluators compare y with r by gates for which the dealer deals (`secfc.comparing.batch`). An output b is
known to both evaluators as Delta = b xor lambda, and to the dealer as lambda.
"""

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secfc.comparing.batch import Dealing, Evaluating
from secfc.comparing.batch_plan import BatchPlan, Bracket
from secfc.field.array_types import Bools
from secfc.kernels.gates import WORD_BYTES, to_rows
from secfc.kernels.interface import Bytes
from secfc.operations.masked import Masked
from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.party import Half, Party

_PHASE = "signs"


@dataclass(frozen=True, kw_only=True)
class HiddenBits:
    """`held`, shape (outputs, rows), is Delta at an evaluator, lambda at the dealer, else None."""

    outputs: int
    rows: int
    held: Bools | None = field(repr=False)


def hidden_signs(me: Party, of: Masked, bracket: Bracket) -> Generator[None, None, HiddenBits]:
    """The outputs of a bracket for each row."""
    plan = BatchPlan(me.code.primes, of.shape[2], bracket)
    halves = []
    if of.held is not None and me.deals:
        halves.append(_dealer(me, plan, of.held.planes()))
    if of.held is not None and me.evaluates:
        halves.append(_evaluator(me, plan, of.held.planes()))
    found = yield from me.together(halves)
    return HiddenBits(outputs=bracket.outputs, rows=of.shape[2], held=found[0] if found else None)


def _dealer(me: Party, plan: BatchPlan, masks: Bytes) -> Half:
    first, second = me.roles.evaluators
    keys = me.keys(first, f"{_PHASE} {first}"), me.keys(second, f"{_PHASE} {second}")
    dealt = np.empty(plan.dealt, dtype=np.uint64)
    hidden = Dealing(keys, me.kernels, me.arena, dealt).hidden(plan, masks).copy()
    me.send(second, "gates", dealt.view(np.uint8).data)
    return to_rows(hidden.reshape(-1, plan.words), plan.rows)
    yield


def _evaluator(me: Party, plan: BatchPlan, residues: Bytes) -> Half:
    first, second = me.roles.evaluators
    is_first, dealt = me.number == first, None
    if not is_first:
        data = (yield Wait("gates", (me.roles.dealer,), WORD_BYTES * plan.dealt))[me.roles.dealer]
        dealt = np.frombuffer(data, dtype=np.uint8)
    keys = me.keys(me.roles.dealer, f"{_PHASE} {me.number}")
    gates = Evaluating(keys, me.kernels, me.arena, dealt)
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
