"""Which labels are rechecked: a coin chooses some of all labels that parties were told, by question and row.

Parties learn the labels of a round from the next question of the same start: its sets are these labels.
Exceptions are rows that were moved to emptied clusters (these are alone in their sets) and rows that a start
by separation takes out. Labels of the last question are in the result. Labels that parties were not told are
not rechecked.

s of these labels are chosen at random without replacement. If a part f of all is wrong, a wrong one is chosen
with probability at least 1 - (1 - f)**s (docs/protocol.md, "Rechecking").
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from secfc.array_types import Bools, Ints, Labels
from secfc.errors import MessageError
from secfc.params import Job
from secfc.protocol.label_packing import PackedLabels
from secfc.row_layout import Parts

RECHECKED = 4605
"""Labels to recheck: ln(100) / 0.001. One wrong label in a thousand is found with probability 0.99."""

_FEWEST_ROWS = 256
"""Least number of rows of a part, except the last part of a question."""

_CHOICE = b"secfc recheck choice 1"
_ROUND = b"secfc recheck round 1"
_WORD = 1 << 64


def most_parts(job: Job) -> int:
    """Most parts of a round that rechecks labels."""
    return min(RECHECKED, job.max_rounds + RECHECKED // _FEWEST_ROWS + 1) if job.recheckers else 0


def drawn(seed: bytes, total: int, count: int) -> Ints:
    """`count` different uniform numbers below `total`, ascending; all numbers if there are no more.

    SHAKE256 gives words of 64 bits. Words beyond the last multiple of `total`, and repeated numbers, are
    skipped.
    """
    if total <= count:
        return np.arange(total)
    words = 2 * count
    while True:
        stream = hashlib.shake_256(_CHOICE + seed).digest(8 * words)
        found = np.frombuffer(stream, dtype="<u8")
        found = found[found <= np.uint64(_WORD - _WORD % total - 1)] % np.uint64(total)
        different, first = np.unique(found, return_index=True)
        if different.size >= count:
            return np.sort(found[np.sort(first)[:count]]).astype(np.int64)
        words *= 2


@dataclass(frozen=True, kw_only=True)
class ChosenParts(Parts):
    """Chosen rows, cut in parts. Each part is of one question."""

    questions: tuple[int, ...]  # number of each part's question
    chosen: tuple[Ints, ...] = field(repr=False)  # rows of each part, ascending

    @property
    def answers(self) -> int:
        """Number of parts of an answer."""
        return len(self.questions)

    def answer_rows(self, part: int) -> slice:
        """The rows of a part, numbered within it."""
        return slice(0, self.chosen[part].size)


class Past:
    """The questions that a party was asked, packed. `parts` says how answers are cut."""

    def __init__(self, job: Job, parts: Parts) -> None:
        self._job, self._parts = job, parts
        self._sets: dict[int, PackedLabels] = {}
        self._digests: dict[int, bytes] = {}
        self._begins: set[int] = set()  # questions that begin a start
        self._about_candidates: set[int] = set()

    def note(self, number: int, sets: Labels, *, digest: bytes, begins: bool, candidates: bool) -> None:
        """Keep a question and its digest. If it is asked again, it is the same."""
        self._sets[number] = PackedLabels.of(sets, self._job.k, none=True)
        self._digests[number] = digest
        self._begins |= {number} if begins else set()
        self._about_candidates |= {number} if candidates else set()

    def sets(self, number: int) -> Labels:
        """The sets of a question."""
        return self._sets[number].unpack()

    def check(self, count: int, last: int) -> None:
        """Raise MessageError unless questions 1 to `count` are known and a start can end with `last`."""
        if not all(number in self._sets for number in range(1, count + 1)):
            raise MessageError("Recheck: to a client that was not asked all questions")
        ends = last == count or last + 1 in self._begins
        if not (1 <= last <= count and ends) or last in self._about_candidates:
            raise MessageError(f"Recheck: of a result of question {last} of {count}, no start ended with it")

    def chosen(self, count: int, last: int, seed: bytes) -> ChosenParts:
        """The labels to recheck of `count` questions. The result has the labels of question `last`."""
        totals = {number: int(np.count_nonzero(told)) for number, told in self._told(count, last)}
        numbers, first = drawn(seed, sum(totals.values()), RECHECKED), 0
        questions, rows = list[int](), list[Ints]()
        for number, told in self._told(count, last):
            low, high = np.searchsorted(numbers, (first, first + totals[number]))
            chosen = np.flatnonzero(told)[numbers[low:high] - first]
            first += totals[number]
            for start in range(0, chosen.size, self._parts.answer):
                questions.append(number)
                rows.append(chosen[start : start + self._parts.answer])
        return ChosenParts(
            share=self._parts.share,
            answer=self._parts.answer,
            layout=self._parts.layout,
            questions=tuple(questions),
            chosen=tuple(rows),
        )

    def digest(self, count: int, seed: bytes) -> bytes:
        """SHA-256 of the seed and of questions 1 to `count`. After other questions keys differ."""
        digest = hashlib.sha256(_ROUND + seed)
        for number in range(1, count + 1):
            kind = bytes((number in self._begins, number in self._about_candidates))
            digest.update(self._digests[number] + kind)
        return digest.digest()

    def labels(self, number: int, last: int, result: Labels) -> Labels:
        """Labels of a question, shape (m,), int32. Valid only where they were told."""
        return result if number == last else self.sets(number + 1)

    def _told(self, count: int, last: int) -> Iterator[tuple[int, Bools]]:
        """Questions whose labels were told, in order, each with a mask of the rows."""
        sets = self.sets(1)
        for number in range(1, count + 1):
            following = self.sets(number + 1) if number < count else sets
            if number == last:
                yield number, sets < 0 if self._job.predict else np.ones(sets.size, dtype=np.bool_)
            elif number < count and not {number} & self._about_candidates and number + 1 not in self._begins:
                sizes = np.bincount(following + 1, minlength=self._job.k + 1)
                sizes[0] = 0
                yield number, sizes[following + 1] > 1
            sets = following
