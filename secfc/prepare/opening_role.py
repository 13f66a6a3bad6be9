"""One party's part in opening statistics: an object that takes messages and returns messages.

Every client sends to every other client, in this order:

1. `Introduce`: its public keys.
2. `Holds`: for each column, whether it holds enough values.
3. `Deal`: if every column has enough holders, shares of its counts, sums and sums of squares, or of its
   counts by bins.
4. `Complete`: it has the shares of all clients.
5. `Opening`: after every other client is complete, the sum of its shares.

There is no server. Whoever transports the messages can read introductions, which contain public keys, and
message sizes, which follow from the schema alone.
"""

import hashlib
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

from secfc.crypto.channel import TAG_BYTES, Channel
from secfc.crypto.handshake import DIGEST_BYTES, Handshake, Introduction, Session
from secfc.crypto.identity import Identity, Roster
from secfc.crypto.randomness import MaskSource
from secfc.errors import AgreementError, CheatError, LimitError, MessageError, ParameterError, ThresholdError
from secfc.errors.codes import Code
from secfc.prepare.schema import Schema
from secfc.prepare.statistics import Contribution, Quartiles, Statistics, opened
from secfc.prepare.summation import Summation
from secfc.protocol.job.thresholds import MAX_CLIENTS
from secfc.protocol.messages import PREPARING, Complete, Deal, Holds, Introduce, Message, Opening
from secfc.version import PROTOCOL_BYTES

_COUNTS = struct.Struct("<HH")


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What n parties agree on. Any t of them may collude and still learn only totals, n >= 2t + 1."""

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
        """SHA-256 of all terms, 32 bytes."""
        head = b"secfc preparation 2" + _COUNTS.pack(self.n, self.t)
        return hashlib.sha256(head + self.schema.digest).digest()

    def session(self, *, run: bytes, roster: Roster, job: bytes = b"") -> Session:
        """The session of a run with these identities; `job` is the digest of the job it belongs to."""
        if len(roster.keys) != self.n:
            raise ParameterError(f"roster: it has {len(roster.keys)} clients, the terms have {self.n}")
        agreement = hashlib.sha256(PROTOCOL_BYTES + self.digest + roster.digest + job).digest()
        return Session(run=run, agreement=agreement, roster=roster)


SealedMessage = Holds | Deal | Complete | Opening


class Preparer:
    """One party, with its own `sums`, one for each of ``terms.schema.opened``.

    `ephemeral` is its private X25519 key for this run, a fresh one by default. `statistics` is None until
    everything is opened.
    """

    def __init__(
        self,
        *,
        number: int,
        terms: Terms,
        session: Session,
        identity: Identity,
        sums: Sequence[Contribution],
        masks: MaskSource,
        ephemeral: bytes | None = None,
    ) -> None:
        self._columns, smallest = terms.schema.opened, terms.schema.smallest
        if len(sums) != len(self._columns):
            raise ParameterError(f"sums: {len(sums)} were given, {len(self._columns)} columns are opened")
        self.number = number
        self.statistics: Mapping[str, Statistics | Quartiles] | None = None
        self._terms, self._session = terms, session
        self._values = [value for one in sums for value in one.numbers]
        self._holds = {number: bytes(one.count >= smallest for one in sums)}
        self._summation = Summation(
            number=number, n=terms.n, t=terms.t, length=len(self._values), masks=masks
        )
        self._sizes: dict[type[Message], int] = {
            Holds: len(self._columns),
            Deal: self._summation.size,
            Complete: DIGEST_BYTES,
            Opening: self._summation.size,
        }
        self._on: dict[type[Message], Callable[[Any], list[Message]]] = {
            Introduce: self._on_introduce,
            Holds: self._on_holds,
            Deal: self._on_deal,
            Complete: self._on_complete,
            Opening: self._on_opening,
        }
        self._order: list[type[Message]] = list(PREPARING) if self._columns else [Introduce]
        self._others = [j for j in range(1, terms.n + 1) if j != number]
        self._heard = dict.fromkeys(self._others, 0)  # number of messages taken, in this order
        # A preparation hides how many rows a party holds, so there is no number of rows and no start.
        self._handshake: Handshake | None = Handshake(
            session=session, number=number, identity=identity, rows=0, start=None, ephemeral=ephemeral
        )
        self._introductions: dict[int, Introduction] = {number: self._handshake.introduction}
        self._early: dict[int, Holds] = {}  # received before the introductions of all clients
        self._channels: Mapping[int, Channel] = {}
        self._complete: set[int] = set()  # other clients that have the shares of all clients
        self._ended = False  # by an error

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
        """Take a message and return the messages that follow from it.

        A MessageError refuses the message, and the party is unchanged. Any other error ends the preparation
        for this party. It comes before shares of any party's values are sent, except CheatError.
        """
        self._check(message)
        try:
            replies = self._on[type(message)](message)
        except MessageError:
            raise
        except Exception:
            self._ended = True
            raise
        self._heard[message.sender] += 1
        return replies

    def _check(self, message: Message) -> None:
        """Refuse a message that is not valid now, before its contents are used."""
        kind, sender = type(message).__name__, message.sender
        if self._ended:
            raise MessageError(f"{kind}: from client {sender}, after the preparation has ended")
        if message.run != self._session.run:
            raise MessageError(f"{kind}: of another run")
        if message.recipient != self.number:
            raise MessageError(f"{kind}: for client {message.recipient}, received by client {self.number}")
        if sender not in self._heard:
            raise MessageError(f"{kind}: from party {sender}, the clients are 1 to {self._terms.n}")
        heard = self._heard[sender]
        due = self._order[heard] if heard < len(self._order) else None
        early = (
            # A client deals only after this client's Holds, and is complete only after its shares.
            (isinstance(message, Deal) and not self._channels)
            or (isinstance(message, Complete) and len(self._holds) < self._terms.n)
            # A client sends its sum only after this client's Complete.
            or (isinstance(message, Opening) and not self._summation.complete)
        )
        if due is not type(message) or message.round or early:
            raise MessageError(f"{kind}: of round {message.round} from client {sender}, out of turn")
        if isinstance(message, SealedMessage):
            size, expected = len(message.sealed.payload), self._sizes[type(message)] + TAG_BYTES
            if size != expected:
                raise MessageError(f"{kind}: {size} sealed bytes from client {sender}, {expected} are needed")

    def _on_introduce(self, message: Introduce) -> list[Message]:
        sender, introduction = message.sender, message.introduction
        # It is signed for the agreement it names. So a byte changed in transit is refused and ends nothing.
        introduction.verify(replace(self._session, agreement=message.agreement), sender)
        if message.agreement != self._session.agreement:
            raise AgreementError(
                f"client {sender}: it prepares by another schema, t or roster "
                f"({message.agreement[:8].hex()}, here {self._session.agreement[:8].hex()})"
            )
        if introduction.tells_of_rows:
            raise MessageError(f"Introduce: client {sender} tells of rows, which a preparation hides")
        introductions = self._introductions | {sender: introduction}
        if len(introductions) == self._terms.n:
            assert self._handshake is not None
            ordered = [introductions[j] for j in range(1, self._terms.n + 1)]
            self._channels = self._handshake.channels(ordered)
            self._handshake = None  # the ephemeral key is not needed any more
        self._introductions = introductions
        return self._begin() if self._channels else []

    def _begin(self) -> list[Message]:
        if not self._columns:
            self.statistics = {}
            return []
        messages = self._sealed(Holds, dict.fromkeys(self._others, self._holds[self.number]))
        early, self._early = self._early, {}
        for sender, held in early.items():
            try:
                messages += self._on_holds(held)
            except MessageError:
                self._heard[sender] -= 1  # as if it had not been sent
        return messages

    def _sealed(self, kind: type[SealedMessage], payloads: Mapping[int, bytes]) -> list[Message]:
        return [
            kind(
                run=self._session.run,
                sender=self.number,
                recipient=j,
                sealed=self._channels[j].seal(kind.purpose, part=0, payload=payload),
            )
            for j, payload in payloads.items()
        ]

    def _opened(self, message: SealedMessage) -> bytes:
        return bytes(
            self._channels[message.sender].open(message.purpose, part=0, sealed=message.sealed.payload)
        )

    def _on_holds(self, message: Holds) -> list[Message]:
        if not self._channels:
            self._early[message.sender] = message
            return []
        told = self._opened(message)
        if not set(told) <= {0, 1}:
            raise MessageError(f"Holds: from client {message.sender}, a byte that is neither 0 nor 1")
        self._holds[message.sender] = told
        if len(self._holds) < self._terms.n:
            return []
        self._check_holders()
        values, self._values = self._values, []
        return self._sealed(Deal, self._summation.deal(values))

    def _on_deal(self, message: Deal) -> list[Message]:
        self._summation.take(self._opened(message))
        if not self._summation.complete:
            return []
        return self._sealed(Complete, dict.fromkeys(self._others, self._view()))

    def _view(self) -> bytes:
        """A digest of the `Holds` of all clients, as this client has received them."""
        return hashlib.sha256(b"".join(self._holds[j] for j in sorted(self._holds))).digest()

    def _on_complete(self, message: Complete) -> list[Message]:
        """Send the own sum when all clients have all shares, so that no share can depend on a sum."""
        if self._opened(message) != self._view():
            raise CheatError(
                f"client {message.sender} reports other holders than client {self.number} received: a "
                f"client sent them different values, or client {message.sender} lies",
                code=Code.IMPOSSIBLE_TOTALS,
                clients=[message.sender],
            )
        self._complete.add(message.sender)
        if len(self._complete) < len(self._others):
            return []
        return self._sealed(Opening, dict.fromkeys(self._others, self._summation.open()))

    def _on_opening(self, message: Opening) -> list[Message]:
        self._summation.take_sum(message.sender, self._opened(message))
        totals = self._summation.totals
        if totals is None:
            return []
        holders, smallest = self._holders(), self._terms.schema.smallest
        left = iter(totals)
        self.statistics = {
            column.name: opened(list(islice(left, column.totals)), column, holders=held, smallest=smallest)
            for column, held in zip(self._columns, holders, strict=True)
        }
        return []

    def _holders(self) -> list[int]:
        return [sum(one) for one in zip(*self._holds.values(), strict=True)]

    def _check_holders(self) -> None:
        """Require t + 2 holders of each column; LimitError otherwise.

        Then at least two holders are outside any t clients, each with `smallest` values in the total. Each
        client counts as one holder at most, so t clients that lie add at most t holders.
        """
        least, smallest = self._terms.t + 2, self._terms.schema.smallest
        few = [
            f"column {column.name!r} {count}"
            for column, count in zip(self._columns, self._holders(), strict=True)
            if count < least
        ]
        if few:
            raise LimitError(
                f"parties with at least {smallest} {'value' if smallest == 1 else 'values'}: t + 2 = "
                f"{least} of {self._terms.n} are needed, because otherwise totals could disclose the "
                f"values of one party; {', '.join(few)}"
            )
