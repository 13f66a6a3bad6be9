"""All parties in this process, on a simulated network that loses and changes messages.

A seed and a list of faults decide everything that happens. So a run that went wrong is a scenario that can be
kept and replayed. A link between two parties keeps the order of messages, as the protocol assumes. The next
link to deliver is drawn at random. When no message is left, the deadline is reached: the server is told which
parties are absent.
"""

import random
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from secfc.drivers.in_process import roles_of
from secfc.drivers.setup import Setup
from secfc.drivers.taking import take
from secfc.errors import MessageError, PartyError, SecFCError
from secfc.field.array_types import Floats, Ints, Labels, Shares
from secfc.field.packing import BYTES_PER_RESIDUE
from secfc.kernels import Choose, Kernels
from secfc.kernels.interface import Bytes
from secfc.kmeans.clustering import LabelResult
from secfc.kmeans.consensus import Resampled
from secfc.operations.ending.cells import Counted
from secfc.protocol.client import Client
from secfc.protocol.gathering import Faults
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.messages import KINDS, SERVER, FromServer, Message
from secfc.protocol.messages.wire import Envelope, decode, encode, envelope
from secfc.protocol.server import Server
from secfc.protocol.states import State

from .kills import Place
from .lying import Lie, LyingClient

Kind = Literal["crash", "mute", "deaf", "delay", "duplicate", "corrupt", "deal", "rot"]

SIGNED = {kind.__name__ for kind in KINDS if issubclass(kind, FromServer)}
"""Messages that are refused, and change nothing, unless their signature covers all of them."""

_SENDER = 21
"""Place of the sender's number in a header."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault of a client's messages, which are counted from 0 in the order of sending.

    Attributes
    ----------
    kind : str
        "crash": the client disappears before it sends message `at`, or at a `place`. "mute": message `at` and
        the `count` - 1 after it are lost. "deaf": the same for messages to the client. "delay": with message
        `at` its link stops for `count` deliveries, so messages of other links overtake its own. "duplicate":
        message `at` arrives twice. "corrupt": one bit of it is flipped. "deal": what it deals to `count`
        others, from client `at` modulo n on, lies on no polynomial. "rot": in each of `count` parts of shares
        that it keeps, from part `at` on, one residue is changed.
    client : int
        1 to n.
    at, count : int
    place : Place, optional
        Where a client crashes, instead of `at`.
    """

    kind: Kind
    client: int
    at: int = 0
    count: int = 1
    place: Place | None = None

    def hits(self, number: int) -> bool:
        """Whether the fault applies to this message of the client."""
        match self.kind:
            case "crash":
                return self.place is None and number >= self.at
            case "mute" | "deaf" | "rot":
                return self.at <= number < self.at + self.count
        return number == self.at

    def is_at(self, header: Envelope) -> bool:
        """Whether the client crashes when it takes this message."""
        place = self.place
        here = place is not None and (self.client, place.message) == (header.recipient, header.kind)
        return here and header.round >= place.round


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A network: the seed of all draws, the faults, and what lying clients do.

    Before a share `forged` of the signed messages a copy arrives in which the network has changed a byte.
    """

    seed: int = 0
    faults: tuple[Fault, ...] = ()
    lies: tuple[Lie, ...] = ()
    forged: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a run on a faulty network ended.

    Attributes
    ----------
    error : SecFCError or None
        The error that stopped it.
    clustering : LabelResult or None
        The server's result.
    layout : Layout or None
        The parties and rows of that result.
    labels : dict of int to ndarray
        Labels of each client that received them; of each owner, if owners deposited rows.
    found : tuple of LabelResult
        The results for each k that was compared, else the result.
    union_rows : dict of int to ndarray
        Numbers of each client's rows in the union, with membership privacy.
    faults : Faults
        What the server noticed.
    lied : tuple of int
        Clients that lied.
    refused : tuple of str
        Texts of the errors of refused messages.
    refused_of : tuple of int
        Senders of these messages by their headers, each once.
    centres : dict of int to ndarray
        Centres of each client that received them.
    counted : dict of int to Counted
        What each client learned of described columns.
    resampled : dict of int to Resampled
        What each client learned of resamples.
    deliveries : int
    accepted : tuple of str
        Forged messages that were not refused.
    """

    error: SecFCError | None
    clustering: LabelResult | None
    layout: Layout | None
    labels: dict[int, Labels] = field(repr=False)
    faults: Faults
    lied: tuple[int, ...]
    refused: tuple[str, ...]
    refused_of: tuple[int, ...]
    centres: dict[int, Floats] = field(repr=False)
    counted: dict[int, Counted] = field(repr=False)
    resampled: dict[int, Resampled] = field(repr=False)
    deliveries: int
    accepted: tuple[str, ...] = ()
    found: tuple[LabelResult, ...] = field(default=(), repr=False)
    union_rows: dict[int, Ints] = field(default_factory=dict, repr=False)


def run_faulty(setup: Setup, scenario: Scenario) -> Ending:
    """Run the protocol on a faulty network until the server is done or stops."""
    return _Network(setup, scenario).run()


class _Tampering:
    """Kernels of a client that deals wrong shares to some clients, or whose memory changes."""

    def __init__(self, kernels: Kernels, victims: set[int], rotten: list[Fault]) -> None:
        self._kernels, self._victims, self._rotten = kernels, victims, rotten
        self._stored = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernels, name)

    def encode(self, values: Floats, basis: Floats, p: int, out: Bytes) -> None:
        """Encode shares; each victim gets one residue too large by 1."""
        self._kernels.encode(values, basis, p, out)
        for victim in self._victims if out.size else ():
            _add_one(out[victim - 1].reshape(-1)[:BYTES_PER_RESIDUE], p)

    def store(self, packed: Bytes, primes: tuple[int, ...], shares: Shares, start: int) -> None:
        """Keep shares; one residue of each rotten plane, which are numbered, becomes another."""
        packed = packed.copy()
        for plane, p in zip(packed, primes, strict=True):
            if plane.size and any(fault.hits(self._stored) for fault in self._rotten):
                _add_one(plane.reshape(-1)[:BYTES_PER_RESIDUE], p)
            self._stored += 1
        self._kernels.store(packed, primes, shares, start)


def _add_one(residue: Bytes, p: int) -> None:
    value = (int.from_bytes(residue.tobytes(), "little") + 1) % p
    residue[:] = list(value.to_bytes(BYTES_PER_RESIDUE, "little"))


class _Network:
    """Parties, the links between them, and the faults of the scenario."""

    def __init__(self, setup: Setup, scenario: Scenario) -> None:
        self._job, self._faults, self._committee = setup.job, scenario.faults, setup.committee
        self._rng = random.Random(scenario.seed)
        self._forger, self._forged = random.Random(f"forger {scenario.seed}"), scenario.forged
        self._accepted: list[str] = []
        self._lies = scenario.lies
        roles = roles_of(setup, self._client)
        self._server, self._clients, self._session, self._signer = roles
        self._links: dict[tuple[int, int], deque[bytes]] = defaultdict(deque)
        self._delayed: dict[
            tuple[int, int], int
        ] = {}  # by link: number of deliveries before its next message
        self._sent: dict[int, int] = defaultdict(int)
        self._heard: dict[int, int] = defaultdict(int)
        self._crashed: set[int] = set()
        self._told: set[int] = set()  # crashed, and the server knows it
        self._refused: list[str] = []
        self._refused_of: set[int] = set()
        self._carried: Counter[tuple[int, int]] = Counter()  # by sender and recipient
        self._deliveries = self._idle = 0  # messages delivered, and deadlines since the last

    def run(self) -> Ending:
        """Deliver until no message is left and the server is done."""
        error: SecFCError | None = None
        try:
            for client in self._clients:
                self._post(client.start())
            while self._server.state is not State.DONE or self._pending():
                if self._pending():
                    self._deliver()
                else:
                    self._deadline()
        except SecFCError as stopped:
            error = stopped
        done = self._server.outcome if error is None else None
        return Ending(
            error=error,
            clustering=done,
            layout=None if done is None else self._server.layout,
            labels=self._labels(),
            faults=self._server.faults,
            lied=tuple(sorted(self._liars())),
            refused=tuple(self._refused),
            refused_of=tuple(sorted(self._refused_of)),
            centres={one.number: one.centres for one in self._clients if one.centres is not None},
            counted={one.number: one.counted for one in self._clients if one.counted is not None},
            resampled={one.number: one.resampled for one in self._clients if one.resampled is not None},
            deliveries=self._deliveries,
            accepted=tuple(self._accepted),
            found=() if done is None else tuple(self._server.found),
            union_rows={one.number: one.union_rows for one in self._clients if one.union_rows is not None},
        )

    def _labels(self) -> dict[int, Labels]:
        clients = self._clients[: self._job.n]
        if self._committee is None:
            return {one.number: one.labels for one in clients if one.labels is not None}
        sealed = {one.number: one.sealed_labels for one in clients}
        return self._committee.labels({j: one for j, one in sealed.items() if one is not None})

    def _client(self, *, number: int, kernels: Choose, **given: Any) -> Client:
        given["kernels"] = lambda run_residues: self._tampered(number, kernels(run_residues))
        lies = [lie for lie in self._lies if lie.client == number]
        if not lies:
            return Client(number=number, **given)
        return LyingClient(lies=lies, rng=self._rng, number=number, **given)

    def _liars(self) -> set[int]:
        return {one.number for one in self._clients if isinstance(one, LyingClient) and one.lied}

    def _pending(self) -> bool:
        return any(self._links.values())

    def _hit_by(self, kind: Kind, client: int, number: int) -> bool:
        return any(f.kind == kind and f.client == client and f.hits(number) for f in self._faults)

    def _tampered(self, client: int, kernels: Kernels) -> Kernels:
        """The kernels of a client; faults "deal" and "rot" change them."""
        victims: set[int] = set()
        for fault in self._faults:
            if fault.kind == "deal" and fault.client == client:
                others = [(fault.at + step) % self._job.n + 1 for step in range(fault.count)]
                victims.update(other for other in others if other != client)
        rotten = [fault for fault in self._faults if fault.kind == "rot" and fault.client == client]
        return cast(Kernels, _Tampering(kernels, victims, rotten)) if victims or rotten else kernels

    def _post(self, messages: list[Message]) -> None:
        for message in messages:
            data = bytes(encode(message, k=self._job.k, signer=self._signer))
            if message.sender == SERVER:
                self._queue(message.sender, message.recipient, data)
            elif message.sender not in self._crashed:
                self._send(message, data)

    def _send(self, message: Message, data: bytes) -> None:
        """Send a client's message and apply its faults."""
        client, number = message.sender, self._sent[message.sender]
        self._sent[client] += 1
        if self._hit_by("crash", client, number):
            self._crashed.add(client)
            return
        if self._hit_by("mute", client, number):
            return
        if self._hit_by("corrupt", client, number):
            data = self._flip(data)
        for fault in self._faults:
            if fault.kind == "delay" and fault.client == client and fault.hits(number):
                self._delayed[client, message.recipient] = self._deliveries + fault.count
        copies = 2 if self._hit_by("duplicate", client, number) else 1
        for _ in range(copies):
            self._queue(client, message.recipient, data)

    def _queue(self, sender: int, recipient: int, data: bytes) -> None:
        self._carried[sender, recipient] += 1
        self._links[sender, recipient].append(data)

    def _deliver(self) -> None:
        """Deliver the oldest message of a link drawn at random, of delayed ones if all are."""
        links = sorted(link for link, mail in self._links.items() if mail)
        ready = [link for link in links if self._delayed.get(link, 0) <= self._deliveries]
        data = self._links[self._rng.choice(ready or links)].popleft()
        self._deliveries += 1
        self._idle = 0
        try:
            recipient = envelope(data).recipient
        except MessageError as error:
            self._refused.append(str(error))
            return
        if recipient > self._job.parties or recipient in self._crashed:
            return
        if recipient != SERVER:
            self._heard[recipient] += 1
            if self._hit_by("deaf", recipient, self._heard[recipient] - 1):
                return
        role = self._server if recipient == SERVER else self._clients[recipient - 1]
        header = envelope(data)
        if any(fault.is_at(header) for fault in self._faults):
            self._crashed.add(recipient)
            return
        if header.kind in SIGNED and self._forger.random() < self._forged:
            self._forge(role, data, header)
        try:
            if isinstance(role, Client):
                self._post(take(role, header, lambda: self._receive(role, data), note=self._refused.append))
            else:
                self._post(self._receive(role, data))
        except MessageError as error:
            self._refused.append(str(error))
            if recipient not in self._liars():
                self._refused_of.add(header.sender)
        except PartyError as error:  # drivers go on without a client that ends so
            self._refused.append(str(error))
            self._crashed.add(recipient)

    def _receive(self, role: Server | Client, data: bytes) -> list[Message]:
        return role.receive(decode(data, k=self._job.k, session=self._session, most=role.sizes.most_bytes))

    def _forge(self, role: Server | Client, data: bytes, header: Envelope) -> None:
        """Deliver a copy with another byte. It must be refused and change nothing."""
        if header.sender in self._server.faults.left_out:
            return  # its messages are dropped unread
        copy = bytearray(data)
        at = self._forger.choice((_SENDER, self._forger.randrange(len(copy))))
        copy[at] ^= 1 + self._forger.randrange(255)
        try:
            self._receive(role, bytes(copy))
        except MessageError:
            return
        except SecFCError as error:
            self._accepted.append(f"{header.kind} from {header.sender}, byte {at}: {error}")
        else:
            self._accepted.append(f"{header.kind} from {header.sender}, byte {at}")

    def _deadline(self) -> None:
        """Report crashed clients as absent or, if none is new, those that the server waits for."""
        gone = sorted(self._crashed - self._told)
        awaited = () if gone else self._server.overdue(lambda *link: self._carried[link])
        self._idle += 1
        if self._idle > 2 * self._job.parties:
            raise PartyError(f"the server still waits for {awaited}")
        self._told.update(gone)
        for client in gone or awaited:
            self._post(self._server.absent(client))
        if not gone and not awaited:
            raise PartyError("the server waits for nobody and is not done")

    def _flip(self, data: bytes) -> bytes:
        changed = bytearray(data)
        changed[self._rng.randrange(len(changed))] ^= 1 << self._rng.randrange(8)
        return bytes(changed)
