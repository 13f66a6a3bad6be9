"""The dealer and an evaluator of one round, step by step.

With champions there are two stages: "champion", of all rows, opens whether a row's set is nearest; "pairs",
of the others, opens which slot is. Without, only "pairs". Where the core is asked for, the one stage "core"
opens which rows are in it. Each stage is some batches of rows in step.
"""

from collections.abc import Generator, Mapping, Sequence

import numpy as np

from secfc.array_types import Bools, Ints, Labels
from secfc.codes import Code
from secfc.comparing.arena import Arena
from secfc.comparing.batch import DealtHalves, Slice, deal, evaluate
from secfc.comparing.keys import Keys
from secfc.comparing.plan import BatchPlan, Bracket
from secfc.comparing.question import Question
from secfc.comparing.role import Comparer, Data, Role, Sending, Steps, Turn
from secfc.comparing.slicing import to_rows
from secfc.errors import CheatError, MessageError, ParameterError, SecFCError
from secfc.field.packing import PackedResidues, triples
from secfc.kernels import Kernels
from secfc.kernels.interface import Bytes, Words

_WORD = 8
"""Bytes."""


class Dealer(Role):
    """C: it knows r, deals products of masks, and sees which rows' champions fell.

    Parameters
    ----------
    question : Question
    masks : PackedResidues
        r, shape (P, k, m), canonical.
    keys : tuple of two Keys
        With E0 and with E1.
    kernels : Kernels
    arena : Arena
    """

    def __init__(
        self,
        *,
        question: Question,
        masks: PackedResidues,
        keys: tuple[Keys, Keys],
        kernels: Kernels,
        arena: Arena,
    ) -> None:
        _check(question, masks)
        self._question, self._masks, self._keys = question, masks.planes(), keys
        self._kernels, self._arena = kernels, arena
        super().__init__(Comparer.DEALER, self._play())

    def _play(self) -> Steps:
        question = self._question
        if question.candidates.size == 1:
            return
        masks, own, sent = self._masks, question.own, tuple[Sending, ...]()
        if question.core:
            masks = _rows_of(masks, question.by_champion)
            yield (self._deal("core", question.core_plans(), masks),), {}
            return
        if question.champions is not None:
            plans = question.plans(Bracket.champion(question.slots), own)
            sent = (self._deal("champion", plans, masks),)
            if question.slots == 1:
                yield sent, {}
                return
            size = -(-question.rows // 8)
            told = yield sent, {Comparer.E0: size, Comparer.E1: size}
            if bytes(told[Comparer.E0]) != bytes(told[Comparer.E1]):
                raise CheatError("the evaluators told the dealer of different rows", code=Code.BAD_MESSAGE)
            changed = _changed(told[Comparer.E0], question.rows)
            if not changed.size:
                return
            masks, own = _rows_of(masks, changed), own[changed]
        plans = question.plans(Bracket.all_pairs(question.slots), own)
        yield (self._deal("pairs", plans, masks),), {}

    def _deal(self, stage: str, plans: Sequence[BatchPlan], masks: Bytes) -> Sending:
        dealt = np.empty(sum(plan.dealt for plan in plans), dtype=np.uint64)
        start = at = 0
        for batch, plan in enumerate(plans):
            deal(
                plan,
                Slice(packed=masks, start=start, kernels=self._kernels),
                products=self._keys[0].bits(f"{stage} products", batch),
                wires=(
                    self._keys[0].bits(f"{stage} wires", batch),
                    self._keys[1].bits(f"{stage} wires", batch),
                ),
                arena=self._arena,
                out=dealt[at : at + plan.dealt],
            )
            start, at = start + plan.rows, at + plan.dealt
        return Sending(recipient=Comparer.E1, data=dealt.view(np.uint8).data)


class Evaluator(Role):
    """E0 or E1: it knows y and learns the labels.

    Parameters
    ----------
    me : Comparer
        E0 or E1.
    question : Question
    masked : PackedResidues
        y = D + r, shape (P, k, m), canonical.
    keys : Keys
        With the dealer.
    kernels : Kernels
    arena : Arena

    Attributes
    ----------
    labels : ndarray of shape (m,), int32
        The nearest centres, ties to the lowest index; once the role has ended.
    core : ndarray of shape (m,), bool
        Where it is asked for, instead of labels.
    """

    def __init__(
        self,
        *,
        me: Comparer,
        question: Question,
        masked: PackedResidues,
        keys: Keys,
        kernels: Kernels,
        arena: Arena,
    ) -> None:
        if me is Comparer.DEALER:
            raise ParameterError("me: the dealer is no evaluator")
        _check(question, masked)
        self._question, self._masked, self._keys = question, masked.planes(), keys
        self._kernels, self._arena = kernels, arena
        self._first, self._peer = me is Comparer.E0, Comparer.E1 if me is Comparer.E0 else Comparer.E0
        self._labels: Labels | None = None
        self._core: Bools | None = None
        super().__init__(me, self._play())

    @property
    def labels(self) -> Labels:
        """Labels of the rows.

        Raises
        ------
        SecFCError
            They are not known yet, or never will be.
        """
        if self._labels is None:
            raise SecFCError(f"the {self.me.value} has no labels")
        return self._labels

    @property
    def core(self) -> Bools:
        """Whether each row is at most a third as far from its champion's centre as from any other.

        Raises
        ------
        SecFCError
            It is not known yet, never will be, or is not asked for.
        """
        if self._core is None:
            raise SecFCError(f"the {self.me.value} has no core")
        return self._core

    def _play(self) -> Steps:
        question = self._question
        own, masked, sent = question.own, self._masked, tuple[Sending, ...]()
        if question.core:
            core = np.ones(question.rows, dtype=np.bool_)
            if question.slots:
                masked, plans = _rows_of(masked, question.by_champion), question.core_plans()
                opened = yield from self._stage("core", plans, masked, ())
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
            plans = question.plans(Bracket.champion(question.slots), own)
            holds = yield from self._stage("champion", plans, masked, ())
            changed = np.flatnonzero(~holds[0])
            if question.slots > 1:
                told = np.packbits(holds[0], bitorder="little").tobytes()
                sent = (Sending(recipient=Comparer.DEALER, data=told),)
            masked, own = _rows_of(masked, changed), own[changed]
        if changed.size and question.slots == 1:
            labels[changed] = question.winners(np.ones((1, changed.size), dtype=np.bool_), own)
        elif changed.size:
            plans = question.plans(Bracket.all_pairs(question.slots), own)
            won = yield from self._stage("pairs", plans, masked, sent)
            sent = ()
            if (won.sum(axis=0) != 1).any():
                text = "opened labels are not one-hot: an evaluator or the dealer has lied"
                raise CheatError(text, code=Code.BAD_MESSAGE)
            labels[changed] = question.winners(won, own)
        self._labels = labels
        if sent:
            yield sent, {}

    def _stage(
        self, stage: str, plans: Sequence[BatchPlan], masked: Bytes, sent: Sequence[Sending]
    ) -> Generator[Turn, Mapping[Comparer, Data], Bools]:
        """Open the outputs of rows, shape (outputs, rows); `sent` goes out with the first words."""
        dealt, waiting = np.empty(0, dtype=np.uint64), tuple(sent)
        if not self._first:
            told = yield waiting, {Comparer.DEALER: _WORD * sum(plan.dealt for plan in plans)}
            dealt, waiting = np.frombuffer(told[Comparer.DEALER], dtype=np.uint64), ()
        batches, start, at = [], 0, 0
        for batch, plan in enumerate(plans):
            batches.append(
                evaluate(
                    plan,
                    Slice(packed=masked, start=start, kernels=self._kernels),
                    first=self._first,
                    products=self._keys.bits(f"{stage} products", batch)
                    if self._first
                    else DealtHalves(dealt[at : at + plan.dealt]),
                    wires=self._keys.bits(f"{stage} wires", batch),
                    arena=self._arena,
                    batch=batch,
                )
            )
            start, at = start + plan.rows, at + plan.dealt
        shares = [next(one) for one in batches]
        opened: list[Words] = []
        while not opened:
            data = b"".join(words.data for words in shares)
            told = yield (*waiting, Sending(recipient=self._peer, data=data)), {self._peer: len(data)}
            others, waiting = np.frombuffer(told[self._peer], dtype=np.uint64), ()
            ends = np.cumsum([words.size for words in shares])[:-1]
            shares = []
            for one, part in zip(batches, np.split(others, ends), strict=True):
                try:
                    shares.append(one.send(part))
                except StopIteration as end:
                    opened.append(end.value)
        bits = [to_rows(words, plan.rows) for words, plan in zip(opened, plans, strict=True)]
        return np.concatenate(bits, axis=1)


def _check(question: Question, residues: PackedResidues) -> None:
    expected = len(question.primes), question.sizes.size, question.rows
    if residues.shape != expected:
        raise MessageError(f"residues of shape {residues.shape} given, {expected} needed")


def _changed(told: Data, rows: int) -> Ints:
    """Rows whose bit is 0."""
    holds = np.unpackbits(np.frombuffer(told, dtype=np.uint8), count=rows, bitorder="little")
    return np.flatnonzero(holds == 0)


def _rows_of(packed: Bytes, rows: Ints) -> Bytes:
    """Residues of some rows, shape (P, k, 3 * rows)."""
    return np.take(triples(packed), rows, axis=2).view(np.uint8)
