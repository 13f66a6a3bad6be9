"""A party's role between frames: what it is sent goes in, the encoded messages that this causes come out.

Given its secrets a party is deterministic: the same frames cause the same bytes. So it can be started again
from a journal of them (`secfc.journal`).
"""

import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from secfc.drivers import framing
from secfc.drivers.costs import Meter
from secfc.drivers.failures import ends_run
from secfc.drivers.taking import take
from secfc.errors import MessageError, StorageError, TooManyFaultsError
from secfc.journal.records import Buffer
from secfc.params import Job
from secfc.protocol.client import Client
from secfc.protocol.decoding import ResidueError
from secfc.protocol.messages import SERVER, Assignment, Message
from secfc.protocol.server import Server
from secfc.protocol.states import State
from secfc.protocol.wire import decode, encode, envelope
from secfc.public_errors import Told
from secfc.sealing.handshake import Session
from secfc.sealing.identity import Identity, Roster
from secfc.sealing.proof import Signer

_LOG = logging.getLogger(__name__)


class SimulatedParty(ABC):
    """A party of a simulation. Its first frame tells it everybody's public keys.

    Parameters
    ----------
    setup : dict
        What the driver says of party, job, run and agreement.

    Attributes
    ----------
    meter : Meter
    """

    forgets: bool
    role: Server | Client | None

    def __init__(self, setup: dict[str, Any]) -> None:
        self.number: int = setup["party"]
        self.job = Job(**setup["job"])
        self.meter = Meter()
        self._setup = setup
        self._session: Session
        self._signer: Signer | None = None  # the server's, once it knows the session

    @property
    @abstractmethod
    def done(self) -> bool:
        """Whether the run has ended for it."""

    def take(self, kind: bytes, payload: bytes, *, obsolete: bool = False) -> list[Buffer]:
        """Take a frame; see `secfc.journal.persistent.Party`."""
        if kind == framing.JSON:
            order = json.loads(payload)
            if "roster" in order:
                self._session = self._session_of(order["roster"], order["coordinator"])
                return self._encoded(self._begin(self._session), "identify")
            return self._encoded(self._obey(order), "iterate")
        header = envelope(payload)
        with self.meter.work(header.work, self.number):
            messages = self._receive(payload, obsolete=obsolete)
        return self._encoded(messages, header.work)

    def _encoded(self, messages: list[Message], phase: str) -> list[Buffer]:
        with self.meter.work(phase, self.number):
            return [encode(message, k=self.job.k, signer=self._signer) for message in messages]

    def _session_of(self, keys: list[str], coordinator: str) -> Session:
        roster = Roster(tuple(map(bytes.fromhex, keys)), bytes.fromhex(coordinator))
        run = bytes.fromhex(self._setup["run"])
        if self._setup["agreement"] is not None:
            return Session(run=run, agreement=bytes.fromhex(self._setup["agreement"]), roster=roster)
        return Session.of(job=self.job, roster=roster, run=run)

    @abstractmethod
    def _begin(self, session: Session) -> list[Message]:
        """Make the role; its first messages."""

    @abstractmethod
    def _obey(self, order: dict[str, Any]) -> list[Message]:
        """Do what the driver says."""

    @abstractmethod
    def _receive(self, payload: bytes, *, obsolete: bool) -> list[Message]:
        """Decode a message and hand it to the role."""

    @abstractmethod
    def asks(self, kind: bytes, payload: bytes) -> bool:
        """See `secfc.journal.persistent.Party`."""

    @abstractmethod
    def checkpoint(self) -> memoryview | None:
        """See `secfc.journal.persistent.Party`."""

    @abstractmethod
    def restore(self, state: bytes) -> None:
        """See `secfc.journal.persistent.Party`."""

    def sender(self, kind: bytes, payload: bytes) -> int | None:
        """See `secfc.journal.persistent.Party`."""
        return sender_of(kind, payload)

    def recipient(self, message: Buffer) -> int:
        """See `secfc.journal.persistent.Party`."""
        return envelope(message).recipient


class SimulatedClient(SimulatedParty):
    """A client.

    Parameters
    ----------
    setup : dict
    make : callable
        Makes the role of a session.
    """

    forgets = False

    def __init__(self, setup: dict[str, Any], make: Callable[[Session], Client]) -> None:
        super().__init__(setup)
        self._make = make
        self._overdue = False
        self.role: Client | None = None

    @property
    def done(self) -> bool:
        """Whether the run has ended for it."""
        role = self.role
        return role is not None and (
            role.state is State.DONE or (self._overdue and role.state is State.REVEAL)
        )

    def _begin(self, session: Session) -> list[Message]:
        with self.meter.work("identify", self.number):
            self.role = self._make(session)
            return self.role.start()

    def _obey(self, order: dict[str, Any]) -> list[Message]:
        """Wait no longer for others to open centres."""
        assert order == {"overdue": True}
        self._overdue = True
        return []

    def _receive(self, payload: bytes, *, obsolete: bool) -> list[Message]:
        role = self.role
        assert role is not None
        return take(
            role,
            envelope(payload),
            lambda: role.receive(
                decode(payload, k=self.job.k, session=self._session, most=role.sizes.most_bytes),
                obsolete=obsolete,
            ),
            note=_LOG.warning,
        )

    def asks(self, kind: bytes, payload: bytes) -> bool:
        """Whether the frame is an assignment: nobody waits for answers to those before."""
        return kind == framing.MESSAGE and envelope(payload).kind == Assignment.__name__

    def checkpoint(self) -> None:
        """None: what a client was sent in a round is small."""

    def restore(self, state: bytes) -> None:
        """Refuse, as it never said where it stands."""
        raise StorageError(f"client {self.number}: its journal has a state")


class SimulatedServer(SimulatedParty):
    """The server.

    Parameters
    ----------
    setup : dict
    make : callable
        Makes the role of a session.
    identity : Identity
        Whose public key rosters have for the server.
    """

    forgets = True

    def __init__(self, setup: dict[str, Any], make: Callable[[Session], Server], identity: Identity) -> None:
        super().__init__(setup)
        self._make, self._identity = make, identity
        self.role: Server | None = None
        self._round = 0  # that it stood in when it last said so

    @property
    def done(self) -> bool:
        """Whether the run has ended for it."""
        return self.role is not None and self.role.state is State.DONE

    def _begin(self, session: Session) -> list[Message]:
        self._signer = Signer(session, self._identity)
        self.role = self._make(session)
        return []

    def _obey(self, order: dict[str, Any]) -> list[Message]:
        """Count a client as absent whose process has ended, or everybody that the server waits for."""
        assert self.role is not None
        overdue, messages = "absent" not in order, list[Message]()
        clients = self._overdue(order["overdue"]) if overdue else (order["absent"],)
        try:
            for client in clients:
                messages += self.role.absent(client)
        except TooManyFaultsError as error:
            if not overdue:
                raise
            waited = ", ".join(f"client {j}" for j in clients)
            text = f"{error}; nothing was heard from those waited for: {waited}"
            raise Told.of(error).error(text) from None
        return messages

    def _overdue(self, carried: list[list[Any]] | None) -> tuple[int, ...]:
        """Who is absent, given how many messages of which types were carried from whom to whom."""
        assert self.role is not None
        if carried is None:
            return self.role.awaited
        counts = {(kind, sender, recipient): count for kind, sender, recipient, count in carried}
        return self.role.overdue(lambda *link: counts.get(link, 0))

    def take(self, kind: bytes, payload: bytes, *, obsolete: bool = False) -> list[Buffer]:
        """Take a frame; a client whose message is refused is judged as one that reports an error."""
        try:
            return super().take(kind, payload, obsolete=obsolete)
        except MessageError as error:
            if kind == framing.JSON:
                raise
            messages = self._lose(envelope(payload).sender, error)
        return self._encoded(messages, "iterate")

    def _lose(self, client: int, error: MessageError) -> list[Message]:
        """Go on without a client, or end the run."""
        role = self.role
        if role is None or ends_run(error, shared=role.state in (State.ITERATE, State.DONE)):
            raise error
        if isinstance(error, ResidueError):
            client = error.client  # found when answers are decoded, with somebody else's message
        try:
            return role.absent(client)
        except MessageError as other:
            return self._lose(client, other)

    def _receive(self, payload: bytes, *, obsolete: bool) -> list[Message]:
        assert self.role is not None
        return self.role.receive(
            decode(payload, k=self.job.k, session=self._session, most=self.role.sizes.most_bytes)
        )

    def asks(self, kind: bytes, payload: bytes) -> bool:
        """Not what it is sent."""
        return False

    def checkpoint(self) -> memoryview | None:
        """Where it stands, when it has just asked."""
        role = self.role
        if role is None or role.state is not State.ITERATE or role.progress.round == self._round:
            return None
        self._round = role.progress.round
        return role.standing()

    def restore(self, state: bytes) -> None:
        """Stand where it stood; what it asked there is in the journal."""
        assert self.role is not None
        self.role.stand(state)
        self._round = self.role.progress.round


def sender_of(kind: bytes, payload: bytes) -> int | None:
    """Who sent a frame, if it is another party's message."""
    return envelope(payload).sender if kind == framing.MESSAGE else None


def party_name(number: int) -> str:
    """What a party's files begin with."""
    return "server" if number == SERVER else f"client-{number}"
