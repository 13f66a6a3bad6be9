"""Which labels are rechecked: some of all that parties were told, by question and row, as a coin chooses.

Labels of a round are told by the next question of the same start: its sets are these labels, but for rows
that were moved to emptied clusters, which are alone in their sets, and those that a start by separation takes
out. Those of the last question are in the result. No others are rechecked: nobody else was told them.

If a part f of all these labels is wrong, s of them that are chosen at random without replacement have a wrong
one with probability 1 - (1 - f)**s at least (docs/protocol.md, "Rechecking").
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from secfc.array_types import Bools, Ints, Labels
from secfc.errors import MessageError
from secfc.params import Job
from secfc.protocol.label_packing import PackedLabels, bits_of, pack_labels
from secfc.row_layout import Parts

RECHECKED = 4605
"""Labels that are rechecked: ln(100) / 0.001. One wrong in a thousand is found with probability 0.99."""

_FEWEST_ROWS = 256
"""Of a part, but the last of a question."""

_CHOICE = b"secfc recheck choice 1"
_ROUND = b"secfc recheck round 1"
_WORD = 1 << 64


def most_parts(job: Job) -> int:
    """Parts that a round has at most in which labels are rechecked."""
    return min(RECHECKED, job.max_rounds + RECHECKED // _FEWEST_ROWS + 1) if job.recheckers else 0


def drawn(seed: bytes, total: int, count: int) -> Ints:
    """So many different numbers below `total`, uniform and ascending; all if there are no more.

    SHAKE256 gives words of 64 bits. Those beyond the last multiple of `total`, and numbers that are here, are
    passed over.
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
    """Chosen rows, in parts of one question each."""

    questions: tuple[int, ...]  # the number of each part's
    chosen: tuple[Ints, ...] = field(repr=False)  # rows of each part, ascending

    @property
    def answers(self) -> int:
        """Parts of an answer."""
        return len(self.questions)

    def answer_rows(self, part: int) -> slice:
        """As many as the part has."""
        return slice(0, self.chosen[part].size)


class Past:
    """The questions that a party was asked, packed; `parts` are those that answers are cut in."""

    def __init__(self, job: Job, parts: Parts) -> None:
        self._job, self._parts = job, parts
        self._sets: dict[int, PackedLabels] = {}
        self._digests: dict[int, bytes] = {}
        self._begins: set[int] = set()  # questions that begin a start
        self._about_candidates: set[int] = set()

    def __repr__(self) -> str:
        return f"Past(questions={len(self._sets)})"

    def note(self, number: int, sets: Labels, *, digest: bytes, begins: bool, candidates: bool) -> None:
        """Keep a question and its digest; asked again it is the same."""
        k = self._job.k
        payload = pack_labels(np.where(sets < 0, k, sets).astype(np.uint16), bits_of(k))
        self._sets[number] = PackedLabels(payload=payload, size=sets.size, largest=k, none=True)
        self._digests[number] = digest
        self._begins |= {number} if begins else set()
        self._about_candidates |= {number} if candidates else set()

    def sets(self, number: int) -> Labels:
        """Those of a question."""
        return self._sets[number].unpack()

    def check(self, count: int, last: int) -> None:
        """Raise MessageError unless questions 1 to `count` are all here and the result can be of the last."""
        if not all(number in self._sets for number in range(1, count + 1)):
            raise MessageError("Recheck: to a client that was not asked all questions")
        ends = last == count or last + 1 in self._begins
        if not (1 <= last <= count and ends) or last in self._about_candidates:
            raise MessageError(f"Recheck: of a result of question {last} of {count}, no start ended with it")

    def chosen(self, count: int, last: int, seed: bytes) -> ChosenParts:
        """The labels that are rechecked of `count` questions; the result has those of question `last`."""
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
        """SHA-256 of the seed and of questions 1 to `count`: who was asked others has other keys."""
        digest = hashlib.sha256(_ROUND + seed)
        for number in range(1, count + 1):
            kind = bytes((number in self._begins, number in self._about_candidates))
            digest.update(self._digests[number] + kind)
        return digest.digest()

    def labels(self, number: int, last: int, result: Labels) -> Labels:
        """Labels of a question, shape (m,), int32, where they were told."""
        return result if number == last else self.sets(number + 1)

    def _told(self, count: int, last: int) -> Iterator[tuple[int, Bools]]:
        """Questions whose labels were told, in order, and of which rows."""
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
