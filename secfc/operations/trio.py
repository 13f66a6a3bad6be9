"""The dealer and an evaluator of one round, step by step.

With champions there are two stages. "champion", of all rows, opens whether a row's set is nearest. "pairs",
of the other rows, opens which slot is nearest. Without champions there is only "pairs". For the core the only
stage is "core", which opens the rows in it. A stage evaluates some batches of rows in step.
"""

from typing import Unpack

import numpy as np

from secfc.comparing.batch import DealerTools, EvaluatorTools, GateDealer, GateEvaluator, Opening
from secfc.comparing.batch_plan import Bracket
from secfc.comparing.question import Question
from secfc.comparing.role import Steps
from secfc.errors import CheatError, MessageError
from secfc.errors.codes import Code
from secfc.field.array_types import Bools, Ints, Labels
from secfc.field.packing import PackedResidues, triples
from secfc.kernels.interface import Bytes


class Dealer(GateDealer):
    """C: it knows r, deals products of masks, and learns the rows whose champion is not nearest.

    `masks` is r, shape (P, k, m), canonical.
    """

    def __init__(self, *, question: Question, masks: PackedResidues, **tools: Unpack[DealerTools]) -> None:
        self._question, self._masks = question, _planes(question, masks)
        super().__init__(self._play(), **tools)

    def _play(self) -> Steps:
        question, masks, own = self._question, self._masks, self._question.own
        if question.candidates.size == 1:
            return
        if question.core:
            yield (self._deal(_core(question, masks)),), {}
            return
        if question.champions is not None:
            opening = _champion(question, masks)
            if question.slots == 1:
                yield (self._deal(opening),), {}
                return
            holds = yield from self._told_bits(opening, "rows", "little")
            changed = (~holds[0]).nonzero()[0]
            if not changed.size:
                return
            masks, own = _rows_of(masks, changed), own[changed]
        yield (self._deal(_pairs(question, own, masks)),), {}


class Evaluator(GateEvaluator):
    """E0 or E1: it learns the labels, or the core if the question asks for it.

    `masked` is y = D + r, shape (P, k, m), canonical.
    """

    def __init__(
        self, *, question: Question, masked: PackedResidues, **tools: Unpack[EvaluatorTools]
    ) -> None:
        self._question, self._masked = question, _planes(question, masked)
        self._labels: Labels | None = None
        self._core: Bools | None = None
        super().__init__(self._play(), **tools)

    @property
    def labels(self) -> Labels:
        """The nearest centres, ties to the lowest index, shape (m,), once they are known."""
        return self._known(self._labels, "labels")

    @property
    def core(self) -> Bools:
        """Whether each row is at most a third as far from its champion's centre as from any other.

        Shape (m,), once it is known.
        """
        return self._known(self._core, "core")

    def _play(self) -> Steps:
        question, masked, own = self._question, self._masked, self._question.own
        if question.core:
            core = np.ones(question.rows, dtype=np.bool_)
            if question.slots:
                opened = yield from self._opened(_core(question, masked))
                core[question.by_champion] = opened[0]
            self._core = core
            return
        if question.candidates.size == 1:
            self._labels = np.full(question.rows, question.candidates[0], dtype=np.int32)
            return
        if question.champions is None:
            changed, labels = np.arange(question.rows), np.empty(question.rows, dtype=np.int32)
        else:
            labels = question.champions.copy()
            holds = yield from self._opened(_champion(question, masked))
            changed = (~holds[0]).nonzero()[0]
            if question.slots > 1:
                self._tell(np.packbits(holds[0], bitorder="little").tobytes())
            masked, own = _rows_of(masked, changed), own[changed]
        if changed.size and question.slots == 1:
            labels[changed] = question.winners(np.ones((1, changed.size), dtype=np.bool_), own)
        elif changed.size:
            won = yield from self._opened(_pairs(question, own, masked))
            if (won.sum(axis=0) != 1).any():
                text = "opened labels are not one-hot: an evaluator or the dealer has lied"
                raise CheatError(text, code=Code.BAD_MESSAGE)
            labels[changed] = question.winners(won, own)
        self._labels = labels
        yield from self._end()


def _planes(question: Question, residues: PackedResidues) -> Bytes:
    expected = len(question.primes), question.sizes.size, question.rows
    if residues.shape != expected:
        raise MessageError(f"residues of shape {residues.shape} given, {expected} needed")
    return residues.planes()


def _core(question: Question, residues: Bytes) -> Opening:
    by_champion = _rows_of(residues, question.by_champion)
    return Opening(stage="core", plans=question.core_plans(), residues=by_champion)


def _champion(question: Question, residues: Bytes) -> Opening:
    plans = question.plans(Bracket.champion(question.slots), question.own)
    return Opening(stage="champion", plans=plans, residues=residues)


def _pairs(question: Question, own: Labels, residues: Bytes) -> Opening:
    plans = question.plans(Bracket.all_pairs(question.slots), own)
    return Opening(stage="pairs", plans=plans, residues=residues)


def _rows_of(packed: Bytes, rows: Ints) -> Bytes:
    """Residues of some rows, shape (P, k, 3 * rows)."""
    return triples(packed).take(rows, axis=2).view(np.uint8)
