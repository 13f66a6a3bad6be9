"""A round of disclosure "labels" that opens labels, at one client.

The trio compares the sets of each row, part by part. Then follow the core, the farthest rows of emptied
clusters and, if a start has ended, its score. With consent the last start is followed by the inertia of the
best one. y are the masked values that evaluators hold, r the masks at the dealer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from secfc.comparing.question import Question
from secfc.comparing.role import Comparer, Data, Role, Sending
from secfc.errors import CheatError, MessageError
from secfc.errors.codes import Code
from secfc.field.array_types import Bools, Ints, Labels
from secfc.field.packing import BYTES_PER_RESIDUE, PackedResidues
from secfc.field.primes import primes_of
from secfc.operations.farthest import FarthestDealer, FarthestEvaluator, own_column
from secfc.operations.inertia import InertiaDealer, InertiaEvaluator, WeighedSums
from secfc.operations.scores import add_to_sums, masked_score, scores_compared
from secfc.operations.trio import Evaluator
from secfc.protocol.context import ClientContext, Peers
from secfc.protocol.messages import Message
from secfc.protocol.trio_round import Asked, EndedStart, Kept, TrioRound

_EVALUATORS = (Comparer.E0, Comparer.E1)
_FARTHEST = FarthestDealer, FarthestEvaluator
_LABEL = np.dtype("<u2")
"""A label in a message to the dealer."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LabelsAsked(Asked):
    """The question of a round about labels."""

    champions: bool  # whether each row's own set is compared with the others first
    core: bool  # whether to find rows at most a third as far from their centre as from any other
    rows: Ints  # rows whose label is opened, ascending
    opens_inertia: bool  # whether the inertia is opened if the start ends: no other start has this k


class LabelRound(TrioRound):
    """A client's part in a round about labels."""

    _asked: LabelsAsked

    def __init__(self, context: ClientContext, peers: Peers, asked: LabelsAsked, kept: Kept) -> None:
        super().__init__(context, peers, asked, kept)
        self._starts, self.opens_inertia = kept.starts, asked.opens_inertia
        self._first = np.int32(asked.sizes.nonzero()[0][0])
        # Values of a part while it is compared, of the rows asked about: r at the dealer, y at evaluators.
        self._held: dict[int, PackedResidues] = {}
        self._own: dict[int, PackedResidues] = {}  # y of each row and the set of its label, by part
        self._rows: dict[int, Ints] = {}  # rows asked about, by part
        self._told: dict[int, dict[Comparer, Data]] = {}  # at the dealer: the evaluators' labels, by slot
        self._settled: set[int] = set()  # parts whose labels, and core, were all opened
        # At an evaluator: labels, and core if asked for, of the rows asked about, by part. Then the results
        # of `find_farthest`, `find_best` and `find_inertia`, the last in squared quantised units.
        self.opened: dict[int, Labels] = {}
        self.cores: dict[int, Bools] = {}
        self.farthest: Ints | None = None
        self.better: bool | None = None  # whether the ended start is better than those before
        self.inertia: Fraction | None = None
        self.scored = False  # at the dealer: whether it knows which start is better

    @property
    def complete(self) -> bool:
        """Whether this is an evaluator that has opened all labels."""
        return len(self._settled) == self._slots.parts

    def _use_part(self, part: int, values: PackedResidues) -> list[Message]:
        """Begin to compare the part's rows that are asked about."""
        if not self.rows(part).size:
            return [] if self._deals_here else self._settle(part, np.empty(0, dtype=np.int32))
        values = self._of_rows(values, part)
        if self._asked.core or not self._deals_here:
            self._held[part] = values
        return self._begin_comparison(part, self._question(part), values)

    def find_farthest(self, labels: Labels) -> list[Message]:
        """At an evaluator with all labels: begin to find the farthest rows, for emptied clusters."""
        slot, parts = self._slots.farthest, range(self._slots.parts)
        masked = PackedResidues.empty((len(self._primes), 1, labels.size))
        masked.planes()[:] = np.concatenate([self._own[part].planes() for part in parts], axis=2)
        return self._tell(slot, labels) + self._begin_comparison(
            slot, self._of_all(labels), masked, _FARTHEST
        )

    def find_best(self, labels: Labels) -> list[Message]:
        """At an evaluator, when a start has ended: begin to compare its score with the best score."""
        slot, parts = self._slots.score, range(self._slots.parts)
        self._starts.last = self._ended_start(labels, [self._own[part] for part in parts])
        messages = self._tell(slot, labels)
        if self._starts.best is None:
            self.better = True
            self._starts.settle(better=True)
            return messages
        return messages + self._begin_comparison(slot, *self._scores())

    def find_inertia(self) -> list[Message]:
        """At an evaluator, when the best start is known: begin to open its inertia."""
        slot = self._slots.inertia
        assert self._as is not None
        keys = self._keys(Comparer.DEALER, slot)
        return self._open(slot, InertiaEvaluator(self._as, self._weighed(), keys))

    def _open(self, slot: int, role: Role) -> list[Message]:
        self._arena(slot)
        return self._play(slot, role, role.begin())

    def _weighed(self) -> WeighedSums:
        """The sums from which the best start's inertia is opened. Starts with other k may follow."""
        best = self._starts.end()
        return WeighedSums(
            sums=best.sums,
            sizes=best.sizes,
            rows=self._parts.layout.weight,
            radius=self._job.radius,
            primes=primes_of(len(best.sums)),
        )

    def _scores(self) -> tuple[Question, PackedResidues]:
        """The question and values that compare the scores of the best start and the last one."""
        rows, starts = self._parts.layout.weight, (self._starts.best, self._starts.last)
        primes = primes_of(self._job.score_residues(rows))
        best, last = (
            masked_score(one.sums, sizes=one.sizes, rows=rows, primes=primes) for one in starts if one
        )
        return scores_compared(best, last, primes)

    def _ended_start(self, labels: Labels, own: Sequence[PackedResidues]) -> EndedStart:
        """Sums over the rows of each label of `own`: y or r of each row and its set, part by part."""
        primes, sizes, at = self._primes, self._asked.sizes, 0
        sums, every = np.zeros((len(primes), sizes.size)), self._parts.layout.weights
        for residues in own:
            _, _, rows = residues.shape
            weights = None if every is None else every[at : at + rows]
            sums = add_to_sums(sums, residues, labels=labels[at : at + rows], primes=primes, weights=weights)
            at += rows
        return EndedStart(sums=sums, sizes=sizes)

    def _tell(self, slot: int, labels: Labels) -> list[Message]:
        """Send the dealer labels that it needs to continue."""
        sending = Sending(recipient=Comparer.DEALER, data=labels.astype(_LABEL).tobytes())
        return [self._letter(slot, sending)]

    def _is_told(self, slot: int, sender: Comparer) -> bool:
        """Whether this is the dealer, and `sender` may send it the labels of a slot now."""
        slots, part = self._slots, self._slots.part_of_core(slot)
        if not self._deals_here or sender in self._told.get(slot, {}):
            return False
        if part is not None:
            return self._asked.core and part in self._held and part not in self._roles
        if slot == slots.outcome:
            return self._starts.last is not None and not self.scored
        return (
            slot in (slots.farthest, slots.score)
            and self._begun == slots.parts
            and not self._roles
            and not self._held
        )

    def _take_told(self, slot: int, sender: Comparer, data: Data) -> list[Message]:
        """Once both evaluators have sent the same labels, deal for the next step."""
        told, part = self._told.setdefault(slot, {}), self._slots.part_of_core(slot)
        rows = self._asked.sets.size if part is None else self.rows(part).size
        rows = 1 if slot == self._slots.outcome else rows
        if len(data) != rows * _LABEL.itemsize:
            raise MessageError(f"Compared: {len(data)} bytes of labels, {rows} rows")
        told[sender] = data
        if len(told) < len(_EVALUATORS):
            return []
        if told[Comparer.E0] != told[Comparer.E1]:
            raise CheatError("the evaluators told the dealer different labels", code=Code.BAD_MESSAGE)
        labels = np.frombuffer(data, dtype=_LABEL).astype(np.int32)
        if slot == self._slots.outcome:
            return self._settle_start(better=bool(labels[0]))
        if labels.max() >= self._asked.sizes.size:
            raise CheatError("the evaluators told the dealer labels of no set", code=Code.BAD_MESSAGE)
        if part is not None:
            return self._begin_comparison(slot, self._question(part, core=labels), self._held.pop(part))
        if slot == self._slots.score:
            return self._deal_scores(slot, labels)
        return self._begin_comparison(slot, self._of_all(labels), self._masks_again(labels), _FARTHEST)

    def _deal_scores(self, slot: int, labels: Labels) -> list[Message]:
        self._starts.last = self._ended_start(labels, [self._masks_again(labels)])
        if self._starts.best is None:
            return self._settle_start(better=True)
        return self._begin_comparison(slot, *self._scores())

    def _settle_start(self, *, better: bool) -> list[Message]:
        """At the dealer: keep the better start. Deal for the inertia of the best if it is opened."""
        self._starts.settle(better=better)
        self.scored = True
        if not self.opens_inertia:
            return []
        slot = self._slots.inertia
        return self._open(slot, InertiaDealer(self._weighed(), self._keys(Comparer.E0, slot)))

    def _masks_again(self, labels: Labels) -> PackedResidues:
        """At the dealer: r of each row and its set. They are drawn again, so need not be kept."""
        deals, parts = self._mask_dealer(spares=()), self._asked.parts
        masks = PackedResidues.empty((len(self._primes), 1, labels.size))
        for part in range(parts.answers):
            rows = parts.answer_rows(part)
            total = deals.deal(columns=self._columns, rows=rows.stop - rows.start).total
            own = own_column(total, labels[rows])
            masks.planes()[:, :, BYTES_PER_RESIDUE * rows.start : BYTES_PER_RESIDUE * rows.stop] = (
                own.planes()
            )
        return masks

    def _ended(self, slot: int, role: Role) -> list[Message]:
        """Keep the opened result. If the core is asked for, it follows the labels."""
        if isinstance(role, FarthestEvaluator):
            self.farthest = role.rows
        if isinstance(role, InertiaEvaluator):
            self.inertia = role.inertia
        if not isinstance(role, Evaluator):
            return []
        part = self._slots.part_of_core(slot)
        if slot == self._slots.score:
            self.better = bool(role.labels[0])
            self._starts.settle(better=self.better)
            return self._tell(self._slots.outcome, role.labels)
        if part is not None:
            self.cores[part] = role.core
            return self._settle(part, self.opened[part])
        if not self._asked.core:
            return self._settle(slot, role.labels)
        self.opened[slot] = labels = role.labels
        core, question = self._slots.core(slot), self._question(slot, core=labels)
        return self._tell(core, labels) + self._begin_comparison(core, question, self._held[slot])

    def _settle(self, part: int, labels: Labels) -> list[Message]:
        """Keep y of each row and the set of its label, and send the server what the part opened."""
        self._settled.add(part)
        self.opened[part] = labels
        if labels.size:
            self._own[part] = own_column(self._held.pop(part), labels)
        rows = self._parts.answer_rows(part)
        whole = self._asked.sets[rows].copy()
        whole[self.rows(part) - rows.start] = labels
        core = np.packbits(self.cores[part], bitorder="little").tobytes() if self._asked.core else b""
        return [self._opened(part, whole, core)]

    def _of_all(self, labels: Labels) -> Question:
        sizes = self._asked.sizes
        return Question(primes=self._primes, sizes=sizes, rows=labels.size, champions=labels)

    def _question(self, part: int, core: Labels | None = None) -> Question:
        """The question about a part: its labels, or its core given these labels."""
        rows = self.rows(part)
        champions = None
        if self._asked.champions:
            # A row in no set is compared with the first set first. Any set would do.
            champions = np.where(self._asked.sets[rows] < 0, self._first, self._asked.sets[rows])
        sizes = self._asked.sizes[: self._columns]
        if core is not None:
            return Question(primes=self._primes, sizes=sizes, rows=rows.size, champions=core, core=True)
        return Question.about(primes=self._primes, sizes=sizes, rows=rows.size, champions=champions)

    def rows(self, part: int) -> Ints:
        """The rows of a part that are asked about."""
        if part not in self._rows:
            rows = self._parts.answer_rows(part)
            low, high = self._asked.rows.searchsorted((rows.start, rows.stop))
            self._rows[part] = self._asked.rows[low:high]
        return self._rows[part]

    def _of_rows(self, residues: PackedResidues, part: int) -> PackedResidues:
        rows, first = self.rows(part), self._parts.answer_rows(part).start
        primes, columns, every = residues.shape
        if rows.size == every:
            return residues
        taken = PackedResidues.empty((primes, columns, rows.size))
        octets = residues.planes().reshape(primes, columns, every, BYTES_PER_RESIDUE)
        taken.planes()[:] = octets[:, :, rows - first].reshape(primes, columns, -1)
        return taken
