"""One party's part in opening means and deviations: a plain object that takes messages and returns messages.

Every client speaks to every other, in this order: it introduces itself; it deals shares of which columns it
holds enough values of, and tells its sum of everybody's; if every column has holders enough, it deals shares
of counts, sums and sums of squares, and tells its sum of these. There is no server: whoever carries the
messages reads introductions, which hold public keys, and sees sizes that follow from the schema alone.
"""

import hashlib
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from secfc.errors import AgreementError, LimitError, MessageError, ParameterError, ThresholdError
from secfc.params import MAX_CLIENTS
from secfc.prepare.messages import Deal, Introduce, Opening
from secfc.prepare.schema import Schema
from secfc.prepare.statistics import Statistics, Sums
from secfc.prepare.summation import Summation
from secfc.protocol.messages import Message
from secfc.randomness import MaskSource
from secfc.sealing.channel import TAG_BYTES, Channel
from secfc.sealing.handshake import Handshake, Introduction, Session, start_digest
from secfc.sealing.identity import Identity, Roster

HOLDERS, TOTALS = 1, 2
"""Rounds: how many parties hold values, then the totals."""

_COUNTS = struct.Struct("<HH")


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What the parties of a preparation agree on.

    Parameters
    ----------
    n : int
        Parties.
    t : int
        Parties that may collude and still learn nothing but totals; n >= 2t + 1.
    schema : Schema

    Raises
    ------
    ParameterError
        `ThresholdError` for too few parties.
    """

    n: int
    t: int
    schema: Schema

    def __post_init__(self) -> None:
        if isinstance(self.t, bool) or not isinstance(self.t, int) or self.t < 1:
            raise ParameterError(f"t: an integer from 1 is needed, {self.t!r} was given")
        if self.n > MAX_CLIENTS:
            raise ParameterError(f"parties: at most {MAX_CLIENTS}, {self.n} were given")
        if self.n < 2 * self.t + 1:
            fits = f"at most t={(self.n - 1) // 2} fits" if self.n > 2 else "no t fits fewer than 3 parties"
            raise ThresholdError(
                f"t: n >= 2t + 1 must hold, but {self.n} < 2 * {self.t} + 1; with {self.n} parties {fits}"
            )

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of all of it, 32 bytes."""
        head = b"secfc preparation 1" + _COUNTS.pack(self.n, self.t)
        return hashlib.sha256(head + self.schema.digest).digest()

    def session(self, *, run: bytes, roster: Roster, job: bytes = b"") -> Session:
        """A run on these terms among these identities.

        Parameters
        ----------
        run : bytes of length 16
        roster : Roster
        job : bytes, optional
            Digest of the agreed job that it is the first phase of, whose own session is another.
        """
        if len(roster.keys) != self.n:
            raise ParameterError(f"roster: it has {len(roster.keys)} clients, the terms have {self.n}")
        agreement = hashlib.sha256(self.digest + roster.digest + job).digest()
        return Session(run=run, agreement=agreement, roster=roster)


class Preparer:
    """One party.

    Parameters
    ----------
    number : int
        1 to n.
    terms : Terms
    session : Session
        Of these terms.
    identity : Identity
        Whose public key the session's roster has at this number.
    sums : sequence of Sums
        Its own, one for each of ``terms.schema.opened``.
    masks : MaskSource
    ephemeral : bytes of length 32, optional
        Private X25519 key for this run; a fresh one by default.

    Attributes
    ----------
    statistics : dict from column name to Statistics, or None
        Once everything is opened.

    Raises
    ------
    ParameterError
        When the roster has another key for it, or sums do not fit the schema.
    """

    def __init__(
        self,
        *,
        number: int,
        terms: Terms,
        session: Session,
        identity: Identity,
        sums: Sequence[Sums],
        masks: MaskSource,
        ephemeral: bytes | None = None,
    ) -> None:
        self._columns, smallest = terms.schema.opened, terms.schema.smallest
        if len(sums) != len(self._columns):
            raise ParameterError(f"sums: {len(sums)} were given, {len(self._columns)} columns are opened")
        self.number = number
        self.statistics: Mapping[str, Statistics] | None = None
        self._terms, self._session = terms, session
        self._values = {
            HOLDERS: [int(one.count >= smallest) for one in sums],
            TOTALS: [value for one in sums for value in (one.count, one.total, one.squares)],
        }
        self._rounds = {
            round_: Summation(number=number, n=terms.n, t=terms.t, length=len(values), masks=masks)
            for round_, values in self._values.items()
        }
        self._order: list[tuple[type[Message], int]] = [(Introduce, 0)]
        if self._columns:
            self._order += [(kind, round_) for round_ in self._rounds for kind in (Deal, Opening)]
        self._others = [j for j in range(1, terms.n + 1) if j != number]
        self._heard = dict.fromkeys(self._others, 0)  # messages taken, which come in this order
        # Neither start labels nor a number of rows: how many rows a party holds stays hidden here.
        self._handshake: Handshake | None = Handshake(
            session=session, number=number, identity=identity, rows=0, start=None, ephemeral=ephemeral
        )
        self._introductions: dict[int, Introduction] = {number: self._handshake.introduction}
        self._early: dict[int, Deal] = {}  # shares that overtook somebody else's introduction
        self._channels: dict[int, Channel] = {}

    def __repr__(self) -> str:
        return f"Preparer(number={self.number}, done={self.done})"

    @property
    def done(self) -> bool:
        """Whether everything is opened."""
        return self.statistics is not None

    def start(self) -> list[Message]:
        """The first messages: its introduction, to each other client."""
        assert self._handshake is not None
        return [
            Introduce(
                run=self._session.run,
                sender=self.number,
                recipient=j,
                agreement=self._session.agreement,
                introduction=self._handshake.introduction,
            )
            for j in self._others
        ]

    def receive(self, message: Message) -> list[Message]:
        """Take a message, return those it causes.

        Raises
        ------
        MessageError
            The message is refused and the party is unchanged.
        CheatError
            What the parties have told contradicts itself; the preparation has ended.
        AgreementError
            Another party prepares on other terms.
        LimitError
            A column has too few holders; of no party's values anything has been shared.
        """
        self._check(message)
        replies: list[Message] = []
        match message:
            case Introduce():
                replies = self._on_introduce(message)
            case Deal():
                replies = self._on_deal(message)
            case Opening():
                replies = self._on_opening(message)
        self._heard[message.sender] += 1
        return replies

    def _check(self, message: Message) -> None:
        """Refuse what must not be taken now, before anything in it is used."""
        kind, sender = type(message).__name__, message.sender
        if message.run != self._session.run:
            raise MessageError(f"{kind}: of another run")
        if message.recipient != self.number:
            raise MessageError(f"{kind}: for client {message.recipient}, received by client {self.number}")
        if sender not in self._heard:
            raise MessageError(f"{kind}: from party {sender}, the clients are 1 to {self._terms.n}")
        heard = self._heard[sender]
        due = self._order[heard] if heard < len(self._order) else None
        # Nobody can tell a sum before it has this client's shares, which need the channels.
        if due != (type(message), message.round) or (isinstance(message, Opening) and not self._channels):
            raise MessageError(f"{kind}: of round {message.round} from client {sender}, out of turn")
        if isinstance(message, Deal | Opening):
            expected = self._rounds[message.round].size + TAG_BYTES
            if len(message.sealed) != expected:
                raise MessageError(
                    f"{kind}: {len(message.sealed)} sealed bytes from client {sender}, {expected} are needed"
                )

    def _on_introduce(self, message: Introduce) -> list[Message]:
        sender, introduction = message.sender, message.introduction
        if message.agreement != self._session.agreement:
            raise AgreementError(
                f"client {sender}: it prepares by another schema, t or roster "
                f"({message.agreement[:8].hex()}, here {self._session.agreement[:8].hex()})"
            )
        introduction.verify(self._session, sender)
        if introduction.rows or introduction.start != start_digest(None):
            raise MessageError(f"Introduce: client {sender} tells of rows, which a preparation hides")
        introductions = self._introductions | {sender: introduction}
        if len(introductions) == self._terms.n:
            assert self._handshake is not None
            ordered = [introductions[j] for j in range(1, self._terms.n + 1)]
            self._channels = self._handshake.channels(ordered)
            self._handshake = None  # the ephemeral key has done its work
        self._introductions = introductions
        return self._begin() if self._channels else []

    def _begin(self) -> list[Message]:
        if not self._columns:
            self.statistics = {}
            return []
        messages = self._deal(HOLDERS)
        early, self._early = self._early, {}
        for sender, held in early.items():
            try:
                messages += self._on_deal(held)
            except MessageError:
                self._heard[sender] -= 1  # it counts as not sent
        return messages

    def _deal(self, round_: int) -> list[Message]:
        """Shares of the own numbers to everybody."""
        shares = self._rounds[round_].deal(self._values.pop(round_))
        return [
            Deal(
                run=self._session.run,
                sender=self.number,
                recipient=j,
                round=round_,
                sealed=self._sealed(Deal, j, round_, payload),
            )
            for j, payload in shares.items()
        ]

    def _sealed(self, kind: type[Message], recipient: int, round_: int, payload: bytes) -> bytes:
        sealed = self._channels[recipient].seal(kind.__name__, part=0, payload=payload, round_=round_)
        return bytes(sealed.payload)

    def _opened(self, message: Deal | Opening) -> bytes:
        channel = self._channels[message.sender]
        return channel.open(type(message).__name__, part=0, sealed=message.sealed, round_=message.round)

    def _on_deal(self, message: Deal) -> list[Message]:
        if not self._channels:
            self._early[message.sender] = message
            return []
        summation = self._rounds[message.round]
        summation.take(message.sender, self._opened(message))
        return self._tell_sum(message.round) if summation.complete else []

    def _tell_sum(self, round_: int) -> list[Message]:
        """Its sum of everybody's shares, to everybody; never the last sum of all."""
        payload = self._rounds[round_].open()
        return [
            Opening(
                run=self._session.run,
                sender=self.number,
                recipient=j,
                round=round_,
                sealed=self._sealed(Opening, j, round_, payload),
            )
            for j in self._others
        ]

    def _on_opening(self, message: Opening) -> list[Message]:
        summation = self._rounds[message.round]
        summation.take_sum(message.sender, self._opened(message))
        totals = summation.totals
        if totals is None:
            return []
        if message.round == HOLDERS:
            self._check_holders(totals)
            return self._deal(TOTALS)
        holders, smallest = self._rounds[HOLDERS].totals, self._terms.schema.smallest
        assert holders is not None
        self.statistics = {
            column.name: Statistics.of(
                Sums(count=totals[3 * at], total=totals[3 * at + 1], squares=totals[3 * at + 2]),
                column,
                holders=holders[at],
                smallest=smallest,
            )
            for at, column in enumerate(self._columns)
        }
        return []

    def _check_holders(self, totals: Sequence[int]) -> None:
        """With t + 2 holders, two of them are outside any t, each with `smallest` values in the total."""
        least, smallest = self._terms.t + 2, self._terms.schema.smallest
        few = [
            f"column {column.name!r} {count}"
            for column, count in zip(self._columns, totals, strict=True)
            if not least <= count <= self._terms.n
        ]
        if few:
            raise LimitError(
                f"parties with at least {smallest} {'value' if smallest == 1 else 'values'}: t + 2 = {least} "
                f"are needed of {self._terms.n}, or totals would tell of one party; {', '.join(few)}"
            )
