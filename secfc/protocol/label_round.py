"""One round of disclosure "labels" at one client: masked answers, and what the trio makes of them.

The dealer draws the masks of all answers. The first evaluator decodes R answers to y = D + r, which it sends
the second. Then all three compare, part by part (`secfc.comparing`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from secfc.array_types import Bools, Floats, Ints, Labels
from secfc.codes import Code
from secfc.comparing.arena import Arena
from secfc.comparing.farthest import FarthestDealer, FarthestEvaluator, own_column
from secfc.comparing.keys import Keys
from secfc.comparing.masking import BearerMasks, MaskDealer, add_dealt, weighted_sum
from secfc.comparing.question import Question
from secfc.comparing.role import Comparer, Data, Role, Sending
from secfc.comparing.scores import add_to_score, scores_compared
from secfc.comparing.trio import Dealer, Evaluator
from secfc.errors import CheatError, MessageError, TooManyFaultsError
from secfc.field.packing import BYTES_PER_RESIDUE, PackedResidues
from secfc.field.primes import primes_of
from secfc.kernels import Kernels
from secfc.kmeans.sets import asked_about
from secfc.protocol.context import ClientContext, Peers
from secfc.protocol.decoding import Weights
from secfc.protocol.mail import Letter, RoundMessage
from secfc.protocol.messages import (
    SERVER,
    Compared,
    MaskedAnswer,
    MaskedDistances,
    Message,
    OpenedLabels,
    SpareMasks,
    place_of,
)
from secfc.row_layout import Parts
from secfc.sealing.channel import Sealed
from secfc.sealing.handshake import DIGEST_BYTES

_ANSWERS, _COMPARE = "answers", "compare"
"""Phases of keys."""

_EVALUATORS = (Comparer.E0, Comparer.E1)
_LABEL = np.dtype("<u2")
"""A label, as the dealer is told it."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Asked:
    """What a round asks, as all clients know.

    Attributes
    ----------
    round : int
    digest : bytes of length 32
        `secfc.protocol.question.question_digest`.
    sets : ndarray of shape (m,), int32
    sizes : ndarray of shape (k,), int64
    champions : bool
        Whether the set that each row is in is compared with the others first.
    core : bool
        Whether the core is asked for too: which rows are at most a third as far from their nearest centre as
        from any other.
    rows : ndarray of int64
        Those whose label is opened, ascending.
    members : tuple of int
        Clients that are in, ascending.
    parts : Parts
    residues : int
        Primes.
    """

    round: int
    digest: bytes
    sets: Labels
    sizes: Ints
    champions: bool
    core: bool
    rows: Ints
    members: tuple[int, ...]
    parts: Parts
    residues: int


@dataclass(frozen=True)
class Slots:
    """What the trio compares at a time, numbered; the labels of a part of the rows have the part's number.

    Parameters
    ----------
    parts : int
        Of an answer.
    """

    parts: int

    @property
    def farthest(self) -> int:
        """The farthest rows of emptied clusters."""
        return self.parts

    def core(self, part: int) -> int:
        """The core of a part."""
        return self.parts + 1 + part

    def part_of_core(self, slot: int) -> int | None:
        """The part whose core this is, None for another slot."""
        part = slot - self.core(0)
        return part if 0 <= part < self.parts else None

    @property
    def score(self) -> int:
        """The score of a start that has ended."""
        return self.core(self.parts)

    @property
    def outcome(self) -> int:
        """The dealer is told which start is better."""
        return self.score + 1


class Scores:
    """Scores of starts at one of the trio: masked at evaluators, masks at the dealer.

    Attributes
    ----------
    best, last : ndarray of shape (P,), float64, or None
        Of the best start so far, and of the last one while it is compared with that.
    """

    def __init__(self) -> None:
        self.best: Floats | None = None
        self.last: Floats | None = None

    def __repr__(self) -> str:
        return "Scores()"

    def settle(self, *, better: bool) -> None:
        """Keep the better one."""
        if better:
            self.best = self.last
        self.last = None


class LabelRound:
    """A client's part in a round.

    Parameters
    ----------
    context : ClientContext
    peers : Peers
    asked : Asked
    own_secret : bytes of length 32
        What the dealer's masks of its own answer follow from; nobody else has it.
    weights : Weights
    scores : Scores
    kernels : Kernels

    Attributes
    ----------
    opened : dict of int to ndarray of int32
        At an evaluator: labels of the rows of each part that are asked about.
    cores : dict of int to ndarray of bool
        Likewise whether these are in the core, where that is asked.
    farthest : ndarray of shape (e,) or (0,), int64, or None
        Likewise the rows that `find_farthest` found.
    better : bool or None
        Likewise whether `find_best` found the start that has ended better than those before.
    """

    def __init__(
        self,
        context: ClientContext,
        peers: Peers,
        asked: Asked,
        *,
        own_secret: bytes,
        weights: Weights,
        scores: Scores,
        kernels: Kernels,
    ) -> None:
        self._me, self._job, self._run = context.number, context.job, context.session.run
        self._channels, self._asked, self._own_secret = peers.channels, asked, own_secret
        self._kernels, self._primes = kernels, primes_of(asked.residues)
        self._columns, self._weights = asked_about(asked.sizes), weights
        self._first = np.int32(np.flatnonzero(asked.sizes)[0])
        self._who = dict(zip(Comparer, self._job.comparers, strict=True))
        self._known = {client: comparer for comparer, client in self._who.items()}
        self._as = self._known.get(self._me)
        bearers = asked.members[: self._job.threshold]
        self._bears: BearerMasks | None = None
        if self._me in bearers:
            self._bears = BearerMasks(keys=self._answer_keys(self._me), primes=self._primes, kernels=kernels)
        self._deals: MaskDealer | None = None
        if self._as is Comparer.DEALER:
            self._deals = self._mask_dealer(spares=asked.members[self._job.threshold :])
        self._slots = Slots(asked.parts.answers)
        self._begun = 0  # parts
        self._dealt: dict[int, PackedResidues] = {}  # masks of a spare client's answer, by part
        self._answers: dict[int, dict[int, PackedResidues]] = {}  # by part and client
        self._decoded: set[int] = set()  # parts
        self._unfit: set[int] = set()  # clients whose answers are no residues
        self._roles: dict[int, Role] = {}  # by slot
        self._arenas: list[Arena] = []  # that no role has
        self._lent: dict[int, Arena] = {}  # by slot
        self._sent = dict.fromkeys(Comparer, 0)
        # Of the rows of a part that are asked about, while it is compared: at the dealer r, at evaluators y.
        self._held: dict[int, PackedResidues] = {}
        self._own: dict[int, PackedResidues] = {}  # y of rows and the sets of their labels, by part
        self._told: dict[int, dict[Comparer, bytes]] = {}  # labels, by slot: at the dealer
        self._settled: set[int] = set()  # parts of which everything was opened
        self.opened: dict[int, Labels] = {}
        self.cores: dict[int, Bools] = {}
        self._scores = scores
        self.farthest: Ints | None = None
        self.better: bool | None = None

    def __repr__(self) -> str:
        return f"LabelRound(client={self._me}, parts={self._begun})"

    @property
    def complete(self) -> bool:
        """Whether this is an evaluator that has opened all labels."""
        return len(self._settled) == self._slots.parts

    def begin(self, part: int) -> list[Message]:
        """A part is asked for, the next one: the dealer deals."""
        self._begun = part + 1
        if self._deals is None:
            return []
        dealt = self._deals.deal(columns=self._columns, rows=self._shape(part)[2])
        messages: list[Message] = []
        for client, masks in dealt.spares.items():
            if client == self._me:
                self._dealt[part] = masks
            else:
                messages.append(self._sealed(SpareMasks, client, part, masks, before=self._asked.digest))
        if self.rows(part).size:
            masks = self._of_rows(dealt.total, part)
            if self._asked.core:
                self._held[part] = masks
            messages += self._deal(part, Dealer, self._question(part), masks)
        return messages

    def can_leave(self, part: int) -> bool:
        """Whether the masks of this client's answer are here."""
        return self._bears is not None or part in self._dealt

    def leave(self, part: int, residues: PackedResidues) -> list[Message]:
        """Mask this client's answer, in place, and send it to the first evaluator.

        Raises
        ------
        CheatError
            The dealer sent what are no masks.
        """
        if self._bears is not None:
            self._bears.add(residues)
        else:
            try:
                add_dealt(residues, self._dealt.pop(part), primes=self._primes, kernels=self._kernels)
            except MessageError as error:
                dealer = self._who[Comparer.DEALER]
                raise CheatError(f"client {dealer}: {error}", code=Code.BAD_MESSAGE) from None
        if self._as is Comparer.E0:
            return self._take_answer(self._me, part, residues)
        return [self._sealed(MaskedAnswer, self._who[Comparer.E0], part, residues)]

    def ready(self, message: RoundMessage) -> bool:
        """Whether a message can be taken now, or is of an earlier round."""
        if message.round != self._asked.round:
            return message.round < self._asked.round
        if message.part >= self._most(message):
            return True  # to be refused
        if not isinstance(message, Compared):
            return message.part < self._begun
        sender, role = self._known[message.sender], self._roles.get(message.part)
        if role is not None:
            return sender in role.wanted
        return self._is_told(message.part) and sender not in self._told.get(message.part, {})

    def take(self, letter: Letter) -> list[Message]:
        """Take what is ready; what it causes. What is late is dropped.

        Raises
        ------
        MessageError
            It is malformed, or not awaited.
        CheatError
            What was opened is impossible.
        TooManyFaultsError
            Too few answers are residues.
        """
        message = letter.message
        if isinstance(message, Compared) and self._is_outcome(message.part):
            # Which start is better may come when the next question has overtaken it.
            return self._take_told(message.part, self._known[message.sender], letter.data)
        if message.round < self._asked.round or message.part in self.opened:
            return []
        if message.part >= (most := self._most(message)):
            raise MessageError(f"{type(message).__name__}: part {message.part}, there are {most}")
        if isinstance(message, Compared):
            sender, role = self._known[message.sender], self._roles.get(message.part)
            if role is None:
                return self._take_told(message.part, sender, letter.data)
            return self._play(message.part, role, role.take(sender, letter.data))
        data = memoryview(letter.data)
        if isinstance(message, SpareMasks):
            # Masks of one question under an answer to another would tell the difference of the answers.
            about, data = data[:DIGEST_BYTES], data[DIGEST_BYTES:]
            if about != self._asked.digest:
                raise MessageError("SpareMasks: of another question than this client was asked")
        residues = PackedResidues(shape=self._shape(message.part), payload=data)
        match message:
            case SpareMasks():
                if self._bears is not None:
                    raise MessageError(f"SpareMasks: client {self._me} has masks of its own")
                self._dealt[message.part] = residues
                return []
            case MaskedAnswer():
                return self._take_answer(message.sender, message.part, residues)
            case MaskedDistances():
                return self._evaluate(message.part, residues)

    def _take_answer(self, client: int, part: int, residues: PackedResidues) -> list[Message]:
        """At the first evaluator: once R answers are here, decode and begin to compare."""
        if part in self._decoded or client in self._unfit:
            return []
        answers = self._answers.setdefault(part, {})
        answers[client] = residues
        if len(answers) < self._job.threshold:
            return []
        clients = tuple(sorted(answers))
        masked, refused = weighted_sum(
            [answers[j].planes() for j in clients],
            self._weights.of(clients)[: len(self._primes)],
            shape=self._shape(part),
            primes=self._primes,
            kernels=self._kernels,
        )
        if refused >= 0:
            self._unfit.add(clients[refused])
            for held in self._answers.values():
                held.pop(clients[refused], None)
            if len(self._asked.members) - len(self._unfit) < self._job.threshold:
                unfit = ", ".join(map(str, sorted(self._unfit)))
                raise TooManyFaultsError(
                    f"too few answers are left: those of clients {unfit} are no residues",
                    clients=sorted(self._unfit),
                )
            return []
        self._decoded.add(part)
        del self._answers[part]
        messages = [self._sealed(MaskedDistances, self._who[Comparer.E1], part, masked)]
        return messages + self._evaluate(part, masked)

    def _evaluate(self, part: int, masked: PackedResidues) -> list[Message]:
        """At an evaluator: begin to compare a part."""
        if not self.rows(part).size:
            return self._settle(part, np.empty(0, dtype=np.int32))
        masked = self._held[part] = self._of_rows(masked, part)
        return self._compare(part, Evaluator, self._question(part), masked)

    def find_farthest(self, labels: Labels) -> list[Message]:
        """At an evaluator that has opened all labels: begin to find the farthest rows of emptied clusters."""
        slot, parts = self._slots.farthest, range(self._slots.parts)
        masked = PackedResidues.empty((len(self._primes), 1, labels.size))
        masked.planes()[:] = np.concatenate([self._own[part].planes() for part in parts], axis=2)
        question = self._of_all(labels)
        return self._tell(slot, labels) + self._compare(slot, FarthestEvaluator, question, masked)

    def find_best(self, labels: Labels) -> list[Message]:
        """At an evaluator, when a start has ended: begin to compare its score with the best one's."""
        slot, parts = self._slots.score, range(self._slots.parts)
        self._scores.last = self._score(labels, [self._own[part] for part in parts])
        messages = self._tell(slot, labels)
        if self._scores.best is None:
            self.better = True
            self._scores.settle(better=True)
            return messages
        question, masked = scores_compared(self._scores.best, self._scores.last, self._score_primes)
        return messages + self._compare(slot, Evaluator, question, masked)

    @property
    def _score_primes(self) -> tuple[int, ...]:
        return primes_of(self._job.score_residues(self._asked.sets.size))

    def _score(self, labels: Labels, own: Sequence[PackedResidues]) -> Floats:
        """The score of this round's labels, of y or r of all rows and their sets, part by part."""
        primes, at = self._score_primes, 0
        score = np.zeros(len(primes))
        for residues in own:
            _, _, rows = residues.shape
            few = PackedResidues.empty((len(primes), 1, rows))
            few.planes()[:] = residues.planes()[: len(primes)]
            score = add_to_score(
                score,
                few,
                labels=labels[at : at + rows],
                sizes=self._asked.sizes,
                rows=labels.size,
                primes=primes,
            )
            at += rows
        return score

    def _tell(self, slot: int, labels: Labels) -> list[Message]:
        """Tell the dealer labels, which it needs to go on."""
        sending = Sending(recipient=Comparer.DEALER, data=labels.astype(_LABEL).tobytes())
        return [self._letter(slot, sending)]

    def _is_outcome(self, slot: int) -> bool:
        """Whether this is the dealer, and evaluators may tell it in a slot which start is better."""
        return self._as is Comparer.DEALER and slot == self._slots.outcome and self._scores.last is not None

    def _is_told(self, slot: int) -> bool:
        """Whether this is the dealer, and evaluators may tell it the labels of a slot now."""
        slots, part = self._slots, self._slots.part_of_core(slot)
        if self._as is not Comparer.DEALER:
            return False
        if part is not None:
            return self._asked.core and part in self._held and part not in self._roles
        if slot in (slots.farthest, slots.score):
            return self._begun == slots.parts and not self._roles and not self._held
        return self._is_outcome(slot)

    def _take_told(self, slot: int, sender: Comparer, data: bytes) -> list[Message]:
        """At the dealer: once both evaluators told it the same labels, deal for what follows."""
        told, part = self._told.setdefault(slot, {}), self._slots.part_of_core(slot)
        if slot == self._slots.outcome:
            rows = 1
        else:
            rows = self._asked.sets.size if part is None else self.rows(part).size
        if len(data) != rows * _LABEL.itemsize:
            raise MessageError(f"Compared: {len(data)} bytes of labels, {rows} rows")
        told[sender] = data
        if len(told) < len(_EVALUATORS):
            return []
        if told[Comparer.E0] != told[Comparer.E1]:
            raise CheatError("the evaluators told the dealer different labels", code=Code.BAD_MESSAGE)
        labels = np.frombuffer(data, dtype=_LABEL).astype(np.int32)
        if slot == self._slots.outcome:
            del self._told[slot]  # this round may end a start too
            self._scores.settle(better=bool(labels[0]))
            return []
        if labels.max() >= self._asked.sizes.size:
            raise CheatError("the evaluators told the dealer labels of no set", code=Code.BAD_MESSAGE)
        if part is not None:
            return self._deal(slot, Dealer, self._question(part, core=labels), self._held.pop(part))
        if slot == self._slots.score:
            return self._deal_scores(slot, labels)
        return self._deal(slot, FarthestDealer, self._of_all(labels), self._masks_again(labels))

    def _deal_scores(self, slot: int, labels: Labels) -> list[Message]:
        """At the dealer: deal for the comparison of a start that has ended with the best one."""
        self._scores.last = self._score(labels, [self._masks_again(labels)])
        if self._scores.best is None:
            self._scores.settle(better=True)
            return []
        return self._deal(
            slot, Dealer, *scores_compared(self._scores.best, self._scores.last, self._score_primes)
        )

    def _masks_again(self, labels: Labels) -> PackedResidues:
        """At the dealer: r of all rows and their sets, drawn again so that they need not be kept."""
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

    def _deal(
        self, slot: int, kind: type[Dealer | FarthestDealer], question: Question, masks: PackedResidues
    ) -> list[Message]:
        """Begin a dealer's role."""
        role = kind(
            question=question,
            masks=masks,
            keys=(self._keys(Comparer.E0, slot), self._keys(Comparer.E1, slot)),
            kernels=self._kernels,
            arena=self._arena(slot),
        )
        return self._play(slot, role, role.begin())

    def _compare(
        self, slot: int, kind: type[Evaluator | FarthestEvaluator], question: Question, masked: PackedResidues
    ) -> list[Message]:
        """Begin an evaluator's role."""
        assert self._as is not None
        role = kind(
            me=self._as,
            question=question,
            masked=masked,
            keys=self._keys(Comparer.DEALER, slot),
            kernels=self._kernels,
            arena=self._arena(slot),
        )
        return self._play(slot, role, role.begin())

    def _play(self, slot: int, role: Role, sent: tuple[Sending, ...]) -> list[Message]:
        """What a role sends, as messages, and what follows once it has ended."""
        self._roles[slot] = role
        messages: list[Message] = [self._letter(slot, one) for one in sent]
        if not role.ended:
            return messages
        del self._roles[slot]
        self._arenas.append(self._lent.pop(slot))
        if isinstance(role, FarthestEvaluator):
            self.farthest = role.rows
        if not isinstance(role, Evaluator):
            return messages
        part = self._slots.part_of_core(slot)
        if slot == self._slots.score:
            self.better = bool(role.labels[0])
            self._scores.settle(better=self.better)
            return messages + self._tell(self._slots.outcome, role.labels)
        if part is not None:
            self.cores[part] = role.core
            return messages + self._settle(part, self.opened[part])
        if not self._asked.core:
            return messages + self._settle(slot, role.labels)
        self.opened[slot] = labels = role.labels
        core, question = self._slots.core(slot), self._question(slot, core=labels)
        messages += self._tell(core, labels)
        return messages + self._compare(core, Evaluator, question, self._held[slot])

    def _letter(self, slot: int, one: Sending) -> Message:
        """What is sent to another of the trio."""
        index, client = self._sent[one.recipient], self._who[one.recipient]
        self._sent[one.recipient] += 1
        return Compared(
            run=self._run,
            sender=self._me,
            recipient=client,
            round=self._asked.round,
            part=slot,
            index=index,
            sealed=self._seal(Compared, client, place_of(index, slot), one.data),
        )

    def _settle(self, part: int, labels: Labels) -> list[Message]:
        """Keep y of the labels' sets, and tell the server what was opened of a part."""
        self._settled.add(part)
        self.opened[part] = labels
        if labels.size:
            self._own[part] = own_column(self._held.pop(part), labels)
        rows = self._asked.parts.answer_rows(part)
        whole = self._asked.sets[rows].copy()
        whole[self.rows(part) - rows.start] = labels
        return [
            OpenedLabels(
                run=self._run,
                sender=self._me,
                recipient=SERVER,
                round=self._asked.round,
                part=part,
                labels=whole,
                core=np.packbits(self.cores[part], bitorder="little").tobytes() if self._asked.core else b"",
            )
        ]

    def _most(self, message: RoundMessage) -> int:
        """Parts, or slots, that a type of message can be about."""
        return self._slots.outcome + 1 if isinstance(message, Compared) else self._slots.parts

    def _mask_dealer(self, *, spares: tuple[int, ...]) -> MaskDealer:
        bearers = self._asked.members[: self._job.threshold]
        return MaskDealer(
            weights=self._weights.of,
            n=self._job.n,
            ell=self._job.ell,
            t=self._job.t,
            bearers=bearers,
            spares=spares,
            keys={j: self._answer_keys(j) for j in bearers},
            primes=self._primes,
            kernels=self._kernels,
        )

    def _of_all(self, labels: Labels) -> Question:
        """What is asked about all rows, by their labels."""
        sizes = self._asked.sizes
        return Question(primes=self._primes, sizes=sizes, rows=labels.size, champions=labels)

    def _question(self, part: int, core: Labels | None = None) -> Question:
        """What is asked about a part: its labels; or its core, by these labels."""
        rows = self.rows(part)
        champions = core
        if core is None and self._asked.champions:
            # A row in no set is compared with the first set: any other would do.
            champions = np.where(self._asked.sets[rows] < 0, self._first, self._asked.sets[rows])
        return Question(
            primes=self._primes,
            sizes=self._asked.sizes[: self._columns],
            rows=rows.size,
            champions=champions,
            core=core is not None,
        )

    def rows(self, part: int) -> Ints:
        """Rows of a part that are asked about."""
        rows = self._asked.parts.answer_rows(part)
        low, high = np.searchsorted(self._asked.rows, (rows.start, rows.stop))
        found: Ints = self._asked.rows[low:high]
        return found

    def _of_rows(self, residues: PackedResidues, part: int) -> PackedResidues:
        """The residues of those rows, of all of a part."""
        rows, first = self.rows(part), self._asked.parts.answer_rows(part).start
        primes, columns, every = residues.shape
        if rows.size == every:
            return residues
        taken = PackedResidues.empty((primes, columns, rows.size))
        octets = residues.planes().reshape(primes, columns, every, BYTES_PER_RESIDUE)
        taken.planes()[:] = octets[:, :, rows - first].reshape(primes, columns, -1)
        return taken

    def _shape(self, part: int) -> tuple[int, int, int]:
        rows = self._asked.parts.answer_rows(part)
        return len(self._primes), self._columns, rows.stop - rows.start

    def _answer_keys(self, bearer: int) -> Keys:
        """Keys of a bearer's masks, at the dealer or at the bearer."""
        dealer = self._who[Comparer.DEALER]
        if bearer == dealer:
            secret = self._own_secret
        else:
            secret = self._secret(bearer if self._me == dealer else dealer)
        return Keys(secret, run=self._run, round_=self._asked.round, attempt=0, phase=_ANSWERS)

    def _keys(self, other: Comparer, slot: int) -> Keys:
        """Keys that the dealer and an evaluator compare with, at one of them."""
        secret = self._secret(self._who[other])
        return Keys(secret, run=self._run, round_=self._asked.round, attempt=0, phase=_COMPARE, part=slot)

    def _secret(self, client: int) -> bytes:
        """What this client and another derive keys of this question from."""
        channel, asked = self._channels[client], self._asked
        return channel.mask_key(round_=asked.round, index=0, question=asked.digest)

    def _arena(self, slot: int) -> Arena:
        self._lent[slot] = self._arenas.pop() if self._arenas else Arena()
        return self._lent[slot]

    def _sealed(
        self,
        kind: type[SpareMasks] | type[MaskedAnswer] | type[MaskedDistances],
        client: int,
        part: int,
        residues: PackedResidues,
        *,
        before: bytes = b"",
    ) -> Message:
        return kind(
            run=self._run,
            sender=self._me,
            recipient=client,
            round=self._asked.round,
            part=part,
            sealed=self._seal(
                kind, client, part, b"".join((before, residues.payload)) if before else residues.payload
            ),
        )

    def _seal(self, kind: type[Message], client: int, place: int, data: Data) -> Sealed:
        return self._channels[client].seal(kind.purpose, part=place, payload=data, round_=self._asked.round)
