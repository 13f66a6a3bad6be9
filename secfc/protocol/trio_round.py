"""The common part of rounds of disclosure "labels" at one client: masked answers, and roles of the trio.

The *trio* is the dealer and two evaluators. The dealer draws the masks of all answers. The first evaluator
decodes R answers to y = D + r, and sends y to the second. Then all three run roles of `secfc.operations`,
each in a slot. A *bearer* is one of the first R clients: it derives its masks from a key shared with the
dealer.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from secfc.comparing.dealer_keys import Keys
from secfc.comparing.masking import BearerMasks, DecodingWeights, MaskDealer, add_dealt
from secfc.comparing.question import Question
from secfc.comparing.role import Arena, Comparer, Data, Role, Sending
from secfc.crypto.channel import Sealed
from secfc.crypto.handshake import DIGEST_BYTES
from secfc.errors import CheatError, MessageError
from secfc.errors.codes import Code
from secfc.field.array_types import Floats, Ints, Labels
from secfc.field.packing import PackedResidues
from secfc.field.primes import primes_of
from secfc.kernels import Kernels
from secfc.kmeans.sets import asked_about
from secfc.operations.trio import Dealer, Evaluator
from secfc.protocol.answers.decoding import Weights
from secfc.protocol.comparers import places_of
from secfc.protocol.context import ClientContext, Peers
from secfc.protocol.job.row_layout import Parts
from secfc.protocol.mail import Letter
from secfc.protocol.masked_answers import Liars, MaskedAnswers
from secfc.protocol.messages import (
    Compared,
    MaskedAnswer,
    MaskedDistances,
    Message,
    OpenedLabels,
    RoundMessage,
    SpareMasks,
    place_of,
)


class Slots:
    """Slots of a round. The first comparison of a part has the part's number."""

    def __init__(self, parts: int) -> None:
        self.parts = parts
        self.farthest = parts  # farthest rows, for emptied clusters; then the cores of parts
        self.score = self.core(parts)  # score of an ended start
        self.outcome = self.score + 1  # to the dealer: which start is better
        self.inertia = self.outcome + 1  # inertia of the result, where it is opened
        self.least = self.inertia + 1  # choice of a candidate of a start
        self.draw = self.least + 1  # draw of the next candidates
        self.count = self.draw + 1

    def core(self, part: int) -> int:
        """The slot of a part's core."""
        return self.parts + 1 + part

    def part_of_core(self, slot: int) -> int | None:
        """The part whose core has this slot, None for another slot."""
        part = slot - self.core(0)
        return part if 0 <= part < self.parts else None


@dataclass(frozen=True, kw_only=True)
class EndedStart:
    """Sums of D over the rows of each label: masked sums at evaluators, their masks at the dealer."""

    sums: Floats = field(repr=False)  # (P, k)
    sizes: Ints = field(repr=False)  # of the sets to which the distances are


class Starts:
    """The best start so far, and the one compared with it."""

    def __init__(self) -> None:
        self.best: EndedStart | None = None
        self.last: EndedStart | None = None  # set while it is compared with the best one

    def end(self) -> EndedStart:
        """Take out the best start. The next starts have another k, or there are none."""
        best, self.best = self.best, None
        assert best is not None
        return best

    def settle(self, *, better: bool) -> None:
        """Keep the better start."""
        if better:
            self.best = self.last
        self.last = None


_ANSWERS, _COMPARE = "answers", "compare"
"""Phases of keys."""

Kinds = tuple[Callable[..., Role], Callable[..., Role]]
"""The role of the dealer, and that of an evaluator."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Asked:
    """The question of a round, known to all clients."""

    round: int
    digest: bytes  # of the question
    sets: Labels
    sizes: Ints
    members: tuple[int, ...]  # clients that are in, ascending
    parts: Parts
    residues: int  # number of primes


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Kept:
    """What a client keeps from round to round."""

    own_secret: bytes  # at the dealer: seed of the masks of its own answer, known to it alone
    weights: Weights
    kernels: Kernels
    starts: Starts = field(default_factory=Starts)
    liars: Liars  # at the first evaluator


class TrioRound(ABC):
    """A client's part in a round."""

    def __init__(self, context: ClientContext, peers: Peers, asked: Asked, kept: Kept) -> None:
        self._me, self._job, self._run = context.number, context.job, context.session.run
        self._channels, self._asked, self._kept = peers.all_channels, asked, kept
        self._kernels, self._primes, self.number = kept.kernels, primes_of(asked.residues), asked.round
        self._columns = asked_about(asked.sizes)
        self._who = places_of(self._job)
        self._secrets: dict[int, bytes] = {}
        self._known = {client: comparer for comparer, client in self._who.items()}
        self._as = self._known.get(self._me)
        self._deals_here = self._as is Comparer.DEALER
        bearers = asked.members[: self._job.threshold]
        self._bears: BearerMasks | None = None
        if self._me in bearers:
            self._bears = BearerMasks(
                keys=self._answer_keys(self._me), primes=self._primes, kernels=self._kernels
            )
        self._deals: MaskDealer | None = None
        if self._deals_here:
            self._deals = self._mask_dealer(spares=asked.members[self._job.threshold :])
        self._parts, self._slots = asked.parts, Slots(asked.parts.answers)
        self._begun = 0  # parts begun
        self._dealt: dict[int, PackedResidues] = {}  # masks of a spare client's answer, by part
        self._answers = MaskedAnswers(
            self._job,
            asked.members,
            primes=self._primes,
            weights=self._weights,
            kernels=self._kernels,
            liars=kept.liars,
        )
        self._roles: dict[int, Role] = {}  # by slot
        self._arenas: list[Arena] = []  # free arenas
        self._lent: dict[int, Arena] = {}  # arenas in use, by slot
        self._sent = dict.fromkeys(Comparer, 0)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(client={self._me}, parts={self._begun})"

    def begin(self, part: int) -> list[Message]:
        """Begin the next part, which is asked for. The dealer deals."""
        self._begun = part + 1
        if self._deals is None:
            return []
        _, columns, rows = self._shape(part)
        dealt = self._deals.deal(columns=columns, rows=rows, weights=self._weights(part))
        messages: list[Message] = []
        for client, masks in dealt.spares.items():
            if client == self._me:
                self._dealt[part] = masks
            else:
                messages.append(self._sealed(SpareMasks, client, part, masks))
        return messages + self._use_part(part, dealt.total)

    def _weights(self, part: int) -> DecodingWeights:
        return self._kept.weights.of

    @abstractmethod
    def _use_part(self, part: int, values: PackedResidues) -> list[Message]:
        """Use the masks r of a part at the dealer, y at an evaluator, shape (P, columns, rows)."""

    @abstractmethod
    def _ended(self, slot: int, role: Role) -> list[Message]:
        """Continue after a role has ended."""

    def _is_told(self, slot: int, sender: Comparer) -> bool:
        """Whether this is the dealer, and `sender` may send it data in a slot that has no role."""
        return False

    def _take_told(self, slot: int, sender: Comparer, data: Data) -> list[Message]:
        """Take such data. The dealer deals for the next step."""
        raise AssertionError(slot)

    def can_leave(self, part: int) -> bool:
        """Whether this client has the masks of its answer."""
        return self._bears is not None or part in self._dealt

    def leave(self, part: int, residues: PackedResidues) -> list[Message]:
        """Mask this client's answer in place, and send it. CheatError if the dealer's masks are not valid."""
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
        """Whether a message can be used now, or dropped because it is of an earlier round."""
        if message.round != self._asked.round:
            return message.round < self._asked.round
        if message.part >= self._most(message):
            return True  # `take` refuses it
        if not isinstance(message, Compared):
            return message.part < self._begun
        sender, role = self._known[message.sender], self._roles.get(message.part)
        if role is not None:
            return sender in role.wanted
        return self._is_told(message.part, sender)

    def take(self, letter: Letter) -> list[Message]:
        """Take a message that is ready. Late ones are dropped.

        CheatError when an opened value is impossible, TooManyFaultsError when too few answers are usable.
        """
        message = letter.message
        if message.round < self._asked.round:
            return []
        if message.part >= (most := self._most(message)):
            raise MessageError(f"{type(message).__name__}: part {message.part}, there are {most}")
        data = letter.data
        if message.begins:
            # If masks of one question hid an answer to another, the difference of the answers would be
            # revealed. And with two clusters any bits are labels, so wrong labels would be accepted.
            about, data = data[:DIGEST_BYTES], data[DIGEST_BYTES:]
            if about != self._asked.digest:
                kind = type(message).__name__
                raise MessageError(f"{kind}: of another question than client {self._me} was asked")
        if isinstance(message, Compared):
            sender, role = self._known[message.sender], self._roles.get(message.part)
            if role is None:
                return self._take_told(message.part, sender, data)
            return self._play(message.part, role, role.take(sender, data))
        residues = PackedResidues(shape=self._shape(message.part), payload=data)
        match message:
            case SpareMasks():
                if self._bears is not None:
                    raise MessageError(f"SpareMasks: client {self._me} has masks of its own")
                self._dealt[message.part] = residues
                return []
            case MaskedAnswer():
                return self._take_answer(message.sender, message.part, residues)
            case _:
                return self._use_part(message.part, residues)

    def _take_answer(self, client: int, part: int, residues: PackedResidues) -> list[Message]:
        return self._decoded(self._answers.take(client, part, residues))

    def unfit(self, client: int) -> list[Message]:
        """At the first evaluator: drop a client with an unusable answer. TooManyFaultsError for too few."""
        return self._decoded(self._answers.unfit(client))

    def _decoded(self, parts: list[tuple[int, PackedResidues]]) -> list[Message]:
        """For decoded parts: send y to the second evaluator, and begin to compare."""
        messages: list[Message] = []
        for decoded, masked in parts:
            messages.append(self._sealed(MaskedDistances, self._who[Comparer.E1], decoded, masked))
            messages += self._use_part(decoded, masked)
        return messages

    def _play(self, slot: int, role: Role, sent: tuple[Sending, ...]) -> list[Message]:
        """The messages that a role sends, and those that follow once it has ended."""
        self._roles[slot] = role
        messages: list[Message] = [self._letter(slot, one) for one in sent]
        if not role.ended:
            return messages
        del self._roles[slot]
        self._arenas.append(self._lent.pop(slot))
        return messages + self._ended(slot, role)

    def _begin_role(self, slot: int, kinds: Kinds, **given: Any) -> list[Message]:
        """Begin the role of the dealer or of an evaluator, whichever this party is."""
        kind = kinds[not self._deals_here]
        if self._deals_here:
            given["keys"] = self._keys(Comparer.E0, slot), self._keys(Comparer.E1, slot)
        else:
            given |= {"me": self._as, "keys": self._keys(Comparer.DEALER, slot)}
        role = kind(kernels=self._kernels, arena=self._arena(slot), **given)
        return self._play(slot, role, role.begin())

    def _begin_comparison(
        self, slot: int, question: Question, values: PackedResidues, kinds: Kinds = (Dealer, Evaluator)
    ) -> list[Message]:
        """Begin to compare y at an evaluator, or deal for it with the masks r."""
        given = {"masks" if self._deals_here else "masked": values}
        return self._begin_role(slot, kinds, question=question, **given)

    def _letter(self, slot: int, one: Sending) -> Message:
        """The message for one `Sending` to another of the trio."""
        index, client = self._sent[one.recipient], self._who[one.recipient]
        self._sent[one.recipient] += 1
        data = one.data if index else b"".join((self._asked.digest, one.data))
        return Compared(
            run=self._run,
            sender=self._me,
            recipient=client,
            round=self._asked.round,
            part=slot,
            index=index,
            sealed=self._seal(Compared, client, place_of(index, slot), data),
        )

    def _opened(self, part: int, labels: Labels, core: bytes = b"") -> Message:
        return OpenedLabels(
            run=self._run,
            sender=self._me,
            round=self._asked.round,
            part=part,
            labels=labels,
            core=core,
        )

    def _most(self, message: RoundMessage) -> int:
        """Number of parts, or slots, that a type of message can be about."""
        return self._slots.count if isinstance(message, Compared) else self._parts.answers

    def _mask_dealer(self, *, spares: tuple[int, ...]) -> MaskDealer:
        bearers = self._asked.members[: self._job.threshold]
        return MaskDealer(
            weights=self._kept.weights.of,
            n=self._job.n,
            ell=self._job.ell,
            t=self._job.t,
            bearers=bearers,
            spares=spares,
            keys={j: self._answer_keys(j) for j in bearers},
            primes=self._primes,
            kernels=self._kernels,
        )

    def _shape(self, part: int) -> tuple[int, int, int]:
        rows = self._parts.answer_rows(part)
        return len(self._primes), self._columns, rows.stop - rows.start

    def _answer_keys(self, bearer: int) -> Keys:
        """Keys of a bearer's masks, at the dealer or at the bearer."""
        dealer = self._who[Comparer.DEALER]
        if bearer == dealer:
            secret = self._kept.own_secret
        else:
            secret = self._secret(bearer if self._me == dealer else dealer)
        return self._keys_of(secret, phase=_ANSWERS)

    def _keys(self, other: Comparer, slot: int) -> Keys:
        """Keys for a comparison between the dealer and an evaluator, at one of them."""
        secret = self._secret(self._who[other])
        return self._keys_of(secret, phase=_COMPARE, part=slot)

    def _keys_of(self, secret: bytes, *, phase: str, part: int = 0) -> Keys:
        return Keys(secret, run=self._run, round_=self._asked.round, phase=phase, part=part)

    def _secret(self, client: int) -> bytes:
        """Secret from which this client and another derive keys of this question."""
        if client not in self._secrets:
            channel, asked = self._channels[client], self._asked
            self._secrets[client] = channel.mask_key(round_=asked.round, question=asked.digest)
        return self._secrets[client]

    def _arena(self, slot: int) -> Arena:
        self._lent[slot] = self._arenas.pop() if self._arenas else Arena()
        return self._lent[slot]

    def _sealed(
        self,
        kind: type[SpareMasks | MaskedAnswer | MaskedDistances],
        client: int,
        part: int,
        residues: PackedResidues,
    ) -> Message:
        data = residues.framed(self._asked.digest) if part == 0 else residues.payload
        return kind(
            run=self._run,
            sender=self._me,
            recipient=client,
            round=self._asked.round,
            part=part,
            sealed=self._seal(kind, client, part, data),
        )

    def _seal(self, kind: type[Message], client: int, place: int, data: Data) -> Sealed:
        """Seal data. In the first message of a type to a recipient the question's digest is before them."""
        return self._channels[client].seal(kind.purpose, part=place, payload=data, round_=self._asked.round)


class UnaskedRound(TrioRound):
    """A round whose parts the server does not ask for: all are dealt and answered in order once it begins."""

    def __init__(self, context: ClientContext, peers: Peers, asked: Asked, kept: Kept) -> None:
        super().__init__(context, peers, asked, kept)
        self._left = 0  # parts of its own answer that were sent

    def start(self) -> list[Message]:
        """Deal, at the dealer, and answer as far as masks are here. Only the first call has an effect."""
        if self._begun:
            return []
        dealt = [message for part in range(self._parts.answers) for message in self.begin(part)]
        return dealt + self._answers_now()

    def take(self, letter: Letter) -> list[Message]:
        """As `TrioRound.take`. Then send answers that waited for masks."""
        return super().take(letter) + self._answers_now()

    def _answers_now(self) -> list[Message]:
        messages: list[Message] = []
        while self._left < self._parts.answers and self.can_leave(self._left):
            part, self._left = self._left, self._left + 1
            messages += self.leave(part, self._answer(part))
        return messages

    @abstractmethod
    def _answer(self, part: int) -> PackedResidues:
        """The client's answer to a part, without masks."""
