"""Signs of masked integers, and ANDs of them: from y and r to bits that stay under masks, or are opened.

The evaluators compare y with r by gates for which the dealer deals (`secfc.comparing.batch`). An output b is
known to both evaluators as Delta = b xor lambda, and to the dealer as lambda.
"""

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secfc.comparing.batch import DealerTools, Dealing, Evaluating, EvaluatorTools
from secfc.comparing.batch_plan import BatchPlan, Bracket
from secfc.comparing.role import Comparer, Data
from secfc.field.array_types import Bools
from secfc.kernels.interface import Bytes
from secfc.kernels.slicing import WORD_BYTES, to_rows
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


def below_zero(count: int) -> Bracket:
    """One output for each of `count` columns: it is below 0 (`BatchPlan.of_signs`)."""
    every = np.arange(count)
    return Bracket(
        first=np.full(count, count),
        second=every,
        inputs=every[np.newaxis],
        negated=np.zeros((1, count), dtype=np.bool_),
    )


def wins(slots: int) -> Bracket:
    """One output for each of `slots` sets but the last: it is nearest. Columns are pairs a < b, then 0."""
    pairs = Bracket.all_pairs(slots)
    count = pairs.first.size
    return Bracket(
        first=np.full(count, count),
        second=np.arange(count),
        inputs=pairs.inputs[:, :-1],
        negated=pairs.negated[:, :-1],
    )


def hidden_signs(me: Party, of: Masked, bracket: Bracket) -> Generator[None, None, HiddenBits]:
    """The outputs of a bracket for each row."""
    plan = BatchPlan.of_signs(me.code.primes, of.shape[2], bracket, columns=of.shape[1])
    halves = []
    if of.held is not None and me.deals:
        halves.append(_dealer(me, plan, of.held.planes()))
    if of.held is not None and me.evaluates:
        halves.append(_evaluator(me, plan, of.held.planes()))
    found = yield from me.together(halves)
    return HiddenBits(outputs=bracket.outputs, rows=of.shape[2], held=found[0] if found else None)


def _dealer(me: Party, plan: BatchPlan, masks: Bytes) -> Half:
    first, second = me.roles.evaluators
    tools: DealerTools = {
        "keys": (me.keys(first, f"{_PHASE} {first}"), me.keys(second, f"{_PHASE} {second}")),
        "kernels": me.kernels,
        "arena": me.arena,
    }
    dealt = np.empty(plan.dealt, dtype=np.uint64)
    dealing = Dealing(_PHASE, dealt, **tools)
    hidden = dealing.hidden(plan, masks).copy()
    me.send(second, "gates", dealt.view(np.uint8).data)
    return to_rows(hidden.reshape(-1, plan.words), plan.rows)
    yield


def _evaluator(me: Party, plan: BatchPlan, residues: Bytes) -> Half:
    first, second = me.roles.evaluators
    is_first = me.number == first
    dealt: Data = b""
    if not is_first:
        dealt = (yield Wait("gates", (me.roles.dealer,), WORD_BYTES * plan.dealt))[me.roles.dealer]
    tools: EvaluatorTools = {
        "me": Comparer.E0 if is_first else Comparer.E1,
        "keys": me.keys(me.roles.dealer, f"{_PHASE} {me.number}"),
        "kernels": me.kernels,
        "arena": me.arena,
    }
    gates = Evaluating(_PHASE, np.frombuffer(dealt, dtype=np.uint8), **tools)
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
