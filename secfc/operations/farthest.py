"""The farthest rows for emptied clusters: the trio finds what `secfc.kmeans.relocation` finds.

In each set the rows are compared in pairs until one is left: the farthest, ties to the lowest index. The
winners of all sets and an entry of distance 0 with the lowest number are compared in a final. If that entry
wins, every row equals its centre and no row moves. The winning set and the number of its row are opened. For
the next row only that set is compared again, without the row.

All three know which rows take part, because labels and found rows are public. Nothing else is opened.
"""

from collections.abc import Generator, Iterator
from math import prod
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from secfc.comparing.batch import DealerTools, EvaluatorTools, GateDealer, GateEvaluator
from secfc.comparing.matches import ENTRY, Final, Knockout, reduced
from secfc.comparing.question import Question
from secfc.comparing.role import Comparer, Data, Sending, Steps
from secfc.errors import CheatError, MessageError, ParameterError
from secfc.errors.codes import Code
from secfc.field.array_types import Bools, Ints, Labels
from secfc.field.mixed_radix import MixedRadix
from secfc.field.packing import BYTES_PER_RESIDUE, PackedResidues, pack_canonical, triples, unpack
from secfc.field.primes import primes_of
from secfc.kernels.interface import Bytes

_NUMBER_BYTES = 8
"""Size of a row's number in the message to the dealer."""


def pairings(sets: Labels) -> Iterator[tuple[Ints, Bools]]:
    """The pairs, level by level, until one entry of each set is left. Sets are ascending.

    Yields the entries that have a place in the next level (every second one of each set), and whether the
    next entry is their opponent. The last entry of an odd set has none.
    """
    while True:
        every = np.arange(sets.size)
        begins = np.append(True, sets[1:] != sets[:-1])
        if begins.all():
            return
        place = every - np.maximum.accumulate(np.where(begins, every, 0))
        heads = np.flatnonzero(place % 2 == 0)
        paired = np.append(place[1:] % 2 == 1, False)[heads]
        yield heads, paired
        sets = sets[heads]


class _Field:
    """The rows that take part: public, the same for all three. The question's champions are the labels."""

    def __init__(self, question: Question) -> None:
        if question.champions is None:
            raise ParameterError("question: champions are needed, the opened labels")
        self.labels, self._k = question.champions, question.sizes.size
        self._entered = np.append(np.bincount(self.labels, minlength=self._k) > 0, True)
        """Sets that have an entry in the next final. The last one is the entry of distance 0."""
        self.emptied = int(np.count_nonzero(~self._entered))
        """Number of rows to find, if any row moves."""
        if not 1 <= self.emptied <= question.rows:
            raise ParameterError(
                f"question: 1 to {question.rows} sets without a label are possible, {self.emptied} were given"
            )
        if 2 * question.rows >= prod(question.primes):
            raise ParameterError(f"primes: their product is to be more than twice {question.rows} rows")
        self.rows = np.argsort(self.labels, kind="stable")
        """Rows that take part before the next final, by set, ascending in each set."""
        self._found = np.zeros(question.rows, dtype=np.bool_)
        self._weights = [int(size) ** 2 for size in question.sizes] + [1]

    @property
    def sets(self) -> Labels:
        """Sets of `rows`."""
        found: Labels = self.labels[self.rows]
        return found

    @property
    def finalists(self) -> Ints:
        """Sets of the next final."""
        return np.flatnonzero(self._entered)

    @property
    def weights(self) -> list[int]:
        """Weights of the finalists."""
        return [self._weights[one] for one in self.finalists]

    def after(self, number: int, winner: int | None = None) -> bool:
        """Remove the row that was found. Return False if no row moves.

        The number is the row plus 1, or 0 for the entry of distance 0. `winner` is its set, if known.
        CheatError if the number cannot be that of a row in this turn.
        """
        row, possible = number - 1, 0 <= number <= self._found.size
        if possible:
            label = int(self.labels[row]) if number else self._k
            free = not self._found[row] if number else bool(self._entered[self._k])
            possible = free and winner in (None, label)
        if not possible:
            raise CheatError("an opened row is impossible: one of the three has lied", code=Code.BAD_MESSAGE)
        if not number:
            return False
        self._found[row], self._entered[self._k] = True, False
        self.rows = np.flatnonzero((self.labels == label) & ~self._found)
        self._entered[label] = self.rows.size > 0
        return True


class FarthestDealer(GateDealer):
    """C: it deals for every match. It learns the found rows except the last.

    The question's champions are the opened labels. `masks` is r of each row and its own set (`own_column`),
    shape (P, 1, m), canonical. ParameterError if every set has a label or the primes are too few.
    """

    def __init__(self, *, question: Question, masks: PackedResidues, **tools: Unpack[DealerTools]) -> None:
        self._question, self._field = question, _Field(question)
        of_rows = _own(question, masks)
        # Packed, (P, 2, 3 m). Numbers are not masked yet.
        self._entries = np.stack([of_rows, np.zeros_like(of_rows)], axis=1)
        super().__init__(self._play(), **tools)

    def _play(self) -> Steps:
        question, field = self._question, self._field
        best = _no_entries(question, ENTRY)
        for turn in range(field.emptied):
            entries, dealt = _taken(self._entries, field.rows), list[Data]()
            for level, (heads, paired) in enumerate(pairings(field.sets)):
                match, pair = _knockout(question, paired), heads[paired]
                won, data = match.deal(
                    _taken(entries, pair), _taken(entries, pair + 1), _stage(turn, level), **self._tools
                )
                entries = _next(entries, heads, paired, won)
                dealt.append(data)
            triples(best)[..., np.unique(field.sets)] = triples(entries)
            finalists = field.finalists
            if finalists.size > 1:
                final = _final(question, field)
                dealt.append(final.deal(_taken(best, finalists), _stage(turn), **self._tools))
            sent = tuple(Sending(recipient=Comparer.E1, data=data) for data in dealt)
            if turn + 1 == field.emptied:
                yield sent, {}
                return
            told = yield from self._told(sent, _NUMBER_BYTES, "rows")
            if not field.after(int.from_bytes(told, "little")):
                return


class FarthestEvaluator(GateEvaluator):
    """E0 or E1: it learns the farthest rows. Arguments as of `FarthestDealer`, with `masked` = y = D + r."""

    def __init__(
        self, *, question: Question, masked: PackedResidues, **tools: Unpack[EvaluatorTools]
    ) -> None:
        self._question, self._field = question, _Field(question)
        of_rows = _own(question, masked)
        numbers = [np.arange(1.0, question.rows + 1) % p for p in question.primes]
        # Packed, (P, 3, 3 m): D and the number, both masked, and this evaluator's half of the number's mask.
        self._entries = np.stack([of_rows, pack_canonical(np.array(numbers)), np.zeros_like(of_rows)], axis=1)
        self._rows: Ints | None = None
        super().__init__(self._play(), **tools)

    @property
    def rows(self) -> Ints:
        """The farthest rows, farthest first, ties by index: one for each set without a label.

        Shape (0,) if even the farthest row equals its centre.
        """
        return self._known(self._rows, "rows")

    def _play(self) -> Steps:
        question, field = self._question, self._field
        best = _no_entries(question, ENTRY + 1)
        found: list[int] = []
        while len(found) < field.emptied:
            turn, entries = len(found), _taken(self._entries, field.rows)
            for level, (heads, paired) in enumerate(pairings(field.sets)):
                match, pair = _knockout(question, paired), heads[paired]
                dealt = yield from self._dealt(match.dealt)
                pairs = _taken(entries[:, :ENTRY], pair), _taken(entries[:, :ENTRY], pair + 1)
                steps = match.evaluate(*pairs, _stage(turn, level), dealt, **self._tools)
                [won] = yield from self._exchanged(steps)
                entries = _next(entries, heads, paired, won)
            triples(best)[..., np.unique(field.sets)] = triples(entries)
            finalists, place = field.finalists, 0
            if finalists.size > 1:
                final = _final(question, field)
                dealt = yield from self._dealt(final.dealt)
                meeting = final.evaluate(
                    _taken(best[:, :ENTRY], finalists), _stage(turn), dealt, **self._tools
                )
                [first] = yield from self._exchanged(meeting)
                if np.count_nonzero(first) != 1:
                    text = "an opened set is not one-hot: an evaluator or the dealer has lied"
                    raise CheatError(text, code=Code.BAD_MESSAGE)
                place = int(first.argmax())
            winner = int(finalists[place])
            [number] = yield from self._exchanged(_number(_taken(best, [winner]), question.primes))
            moves = field.after(number, winner)
            if turn + 1 < field.emptied:
                self._tell(number.to_bytes(_NUMBER_BYTES, "little"))
            if not moves:
                break
            found.append(number - 1)
        self._rows = np.array(found, dtype=np.int64)
        yield from self._end()


def own_column(residues: PackedResidues, labels: Labels) -> PackedResidues:
    """Select the residues of each row in the column of its own set: from shape (P, k, m) to (P, 1, m)."""
    primes, _, rows = residues.shape
    own = PackedResidues.empty((primes, 1, rows))
    at = labels * np.int64(rows) + np.arange(rows)
    triples(own.planes())[:, 0] = np.take(triples(residues.planes()).reshape(primes, -1), at, axis=1)
    return own


def _own(question: Question, residues: PackedResidues) -> Bytes:
    """Packed residues of each row, shape (P, 3 m)."""
    expected = len(question.primes), 1, question.rows
    if residues.shape != expected:
        raise MessageError(f"residues of shape {residues.shape} given, {expected} needed")
    return residues.planes()[:, 0]


def _no_entries(question: Question, residues: int) -> Bytes:
    """Zeros for an entry of each set, and for that of distance 0."""
    octets = BYTES_PER_RESIDUE * (question.sizes.size + 1)
    return np.zeros((len(question.primes), residues, octets), dtype=np.uint8)


def _taken(entries: Bytes, at: Ints | list[int]) -> Bytes:
    """Some of the packed entries, contiguous."""
    return np.take(triples(entries), at, axis=2).view(np.uint8)


def _knockout(question: Question, paired: Bools) -> Knockout:
    pairs = int(np.count_nonzero(paired))
    return Knockout(primes=question.primes, pairs=pairs, widths=question.widths)


def _final(question: Question, field: _Field) -> Final:
    return Final(primes=question.primes, weights=field.weights, widths=question.widths)


def _next(entries: Bytes, heads: Ints, paired: Bools, won: Bytes) -> Bytes:
    after = _taken(entries, heads)
    triples(after)[..., paired] = triples(won)
    return after


def _number(entry: Bytes, primes: tuple[int, ...]) -> Generator[NDArray[Any], NDArray[Any], int]:
    """Open the number of an entry, shape (P, 3, 3). The evaluators exchange their halves of its mask."""
    _, masked, half = unpack(entry).transpose(1, 0, 2)
    others = yield np.ascontiguousarray(entry[:, 2])
    radix = MixedRadix(primes)
    return int(radix.integers(radix.digits(reduced(masked - half - unpack(others), primes)))[0])


def _stage(turn: int, level: int | None = None) -> str:
    return f"farthest {turn} final" if level is None else f"farthest {turn} level {level}"


def most_farthest_bytes(rows: int, k: int, primes: int) -> int:
    """Bytes of the largest message that the dealer sends to find farthest rows, with the usual widths."""
    chosen = primes_of(primes)
    knockout = Knockout(primes=chosen, pairs=1).dealt_for(rows // 2)
    return max(knockout, Final(primes=chosen, weights=[1] * (min(k, rows) + 1)).dealt)
