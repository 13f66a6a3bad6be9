"""One round of disclosure "labels" at one client: masked answers, and what the trio makes of them.

The dealer draws the masks of all answers. The first evaluator decodes R answers to y = D + r, which it sends
the second. Then all three compare, part by part (`secfc.comparing`).
"""

from dataclasses import dataclass

import numpy as np

from secfc.array_types import Ints, Labels
from secfc.comparing.arena import Arena
from secfc.comparing.keys import Keys
from secfc.comparing.masking import BearerMasks, MaskDealer, add_dealt, weighted_sum
from secfc.comparing.question import Question
from secfc.comparing.role import Comparer, Data, Role, Sending
from secfc.comparing.trio import Dealer, Evaluator
from secfc.errors import MessageError, TooManyFaultsError
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

_ANSWERS, _COMPARE = "answers", "compare"
"""Phases of keys."""


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
    rows: Ints
    members: tuple[int, ...]
    parts: Parts
    residues: int


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
    kernels : Kernels

    Attributes
    ----------
    opened : dict of int to ndarray of int32
        At an evaluator: labels of the rows of each part that are asked about.
    """

    def __init__(
        self,
        context: ClientContext,
        peers: Peers,
        asked: Asked,
        *,
        own_secret: bytes,
        weights: Weights,
        kernels: Kernels,
    ) -> None:
        self._me, self._job, self._run = context.number, context.job, context.session.run
        self._channels, self._asked, self._own_secret = peers.channels, asked, own_secret
        self._kernels, self._primes = kernels, primes_of(asked.residues)
        self._columns, self._weights = asked_about(asked.sizes), weights
        self._who = dict(zip(Comparer, self._job.comparers, strict=True))
        self._known = {client: comparer for comparer, client in self._who.items()}
        self._as = self._known.get(self._me)
        bearers = asked.members[: self._job.threshold]
        self._bears: BearerMasks | None = None
        if self._me in bearers:
            self._bears = BearerMasks(keys=self._answer_keys(self._me), primes=self._primes, kernels=kernels)
        self._deals: MaskDealer | None = None
        if self._as is Comparer.DEALER:
            self._deals = MaskDealer(
                weights=self._weights.of,
                n=self._job.n,
                ell=self._job.ell,
                t=self._job.t,
                bearers=bearers,
                spares=asked.members[self._job.threshold :],
                keys={j: self._answer_keys(j) for j in bearers},
                primes=self._primes,
                kernels=kernels,
            )
        self._begun = 0  # parts
        self._dealt: dict[int, PackedResidues] = {}  # masks of a spare client's answer, by part
        self._answers: dict[int, dict[int, PackedResidues]] = {}  # by part and client
        self._decoded: set[int] = set()  # parts
        self._unfit: set[int] = set()  # clients whose answers are no residues
        self._roles: dict[int, Role] = {}  # by part
        self._arenas: list[Arena] = []  # that no role has
        self._lent: dict[int, Arena] = {}  # by part
        self._sent = dict.fromkeys(Comparer, 0)
        self.opened: dict[int, Labels] = {}

    def __repr__(self) -> str:
        return f"LabelRound(client={self._me}, parts={self._begun})"

    @property
    def complete(self) -> bool:
        """Whether this is an evaluator that has opened all labels."""
        return len(self.opened) == self._asked.parts.answers

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
                messages.append(self._sealed(SpareMasks, client, part, masks))
        if self.rows(part).size:
            dealer = Dealer(
                question=self._question(part),
                masks=self._of_rows(dealt.total, part),
                keys=(self._keys(Comparer.E0, part), self._keys(Comparer.E1, part)),
                kernels=self._kernels,
                arena=self._arena(part),
            )
            messages += self._play(part, dealer, dealer.begin())
        return messages

    def can_leave(self, part: int) -> bool:
        """Whether the masks of this client's answer are here."""
        return self._bears is not None or part in self._dealt

    def leave(self, part: int, residues: PackedResidues) -> list[Message]:
        """Mask this client's answer, in place, and send it to the first evaluator.

        Raises
        ------
        MessageError
            The dealer sent what are no masks.
        """
        if self._bears is not None:
            self._bears.add(residues)
        else:
            masks = self._dealt.pop(part)
            add_dealt(residues, masks, primes=self._primes, kernels=self._kernels)
        if self._as is Comparer.E0:
            return self._take_answer(self._me, part, residues)
        return [self._sealed(MaskedAnswer, self._who[Comparer.E0], part, residues)]

    def ready(self, message: RoundMessage) -> bool:
        """Whether a message can be taken now, or is of an earlier round."""
        if message.round != self._asked.round:
            return message.round < self._asked.round
        if message.part >= self._asked.parts.answers:
            return True  # to be refused
        if not isinstance(message, Compared):
            return message.part < self._begun
        role = self._roles.get(message.part)
        return role is not None and self._known[message.sender] in role.wanted

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
        if message.round < self._asked.round or message.part in self.opened:
            return []
        if message.part >= self._asked.parts.answers:
            raise MessageError(
                f"{type(message).__name__}: part {message.part}, there are {self._asked.parts.answers}"
            )
        if isinstance(message, Compared):
            role = self._roles[message.part]
            return self._play(message.part, role, role.take(self._known[message.sender], letter.data))
        residues = PackedResidues(shape=self._shape(message.part), payload=letter.data)
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
        assert self._as is not None
        if not self.rows(part).size:
            return self._open(part, np.empty(0, dtype=np.int32))
        evaluator = Evaluator(
            me=self._as,
            question=self._question(part),
            masked=self._of_rows(masked, part),
            keys=self._keys(Comparer.DEALER, part),
            kernels=self._kernels,
            arena=self._arena(part),
        )
        return self._play(part, evaluator, evaluator.begin())

    def _play(self, part: int, role: Role, sent: tuple[Sending, ...]) -> list[Message]:
        """What a role sends, as messages; what an evaluator opened, once it has ended."""
        self._roles[part] = role
        messages: list[Message] = []
        for one in sent:
            index, client = self._sent[one.recipient], self._who[one.recipient]
            self._sent[one.recipient] += 1
            place = place_of(index, part)
            sealed = self._seal(Compared, client, place, one.data)
            messages.append(
                Compared(
                    run=self._run,
                    sender=self._me,
                    recipient=client,
                    round=self._asked.round,
                    part=part,
                    index=index,
                    sealed=sealed,
                )
            )
        if not role.ended:
            return messages
        del self._roles[part]
        self._arenas.append(self._lent.pop(part))
        return messages + self._open(part, role.labels) if isinstance(role, Evaluator) else messages

    def _open(self, part: int, labels: Labels) -> list[Message]:
        """Tell the server the labels of a part."""
        self.opened[part] = labels
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
            )
        ]

    def _question(self, part: int) -> Question:
        rows = self.rows(part)
        return Question(
            primes=self._primes,
            sizes=self._asked.sizes[: self._columns],
            rows=rows.size,
            champions=self._asked.sets[rows] if self._asked.champions else None,
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

    def _keys(self, other: Comparer, part: int) -> Keys:
        """Keys that the dealer and an evaluator compare with, at one of them."""
        secret = self._secret(self._who[other])
        return Keys(secret, run=self._run, round_=self._asked.round, attempt=0, phase=_COMPARE, part=part)

    def _secret(self, client: int) -> bytes:
        """What this client and another derive keys of this question from."""
        channel, asked = self._channels[client], self._asked
        return channel.mask_key(round_=asked.round, index=0, question=asked.digest)

    def _arena(self, part: int) -> Arena:
        self._lent[part] = self._arenas.pop() if self._arenas else Arena()
        return self._lent[part]

    def _sealed(
        self,
        kind: type[SpareMasks] | type[MaskedAnswer] | type[MaskedDistances],
        client: int,
        part: int,
        residues: PackedResidues,
    ) -> Message:
        return kind(
            run=self._run,
            sender=self._me,
            recipient=client,
            round=self._asked.round,
            part=part,
            sealed=self._seal(kind, client, part, residues.payload),
        )

    def _seal(self, kind: type[Message], client: int, place: int, data: Data) -> Sealed:
        return self._channels[client].seal(kind.purpose, part=place, payload=data, round_=self._asked.round)
