"""A fake wire between a server and its clients, and pictures of roles, which show whether a role changed.

A picture of an object is its whole state as values that == can compare.
"""

import struct
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from functools import cache, cached_property
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from support.union import KEY

from secfc.crypto.channel import Channels, Sealed
from secfc.crypto.handshake import (
    Handshake,
    Introduction,
    digest_of,
    transcript_of,
)
from secfc.crypto.identity import Identity, Roster
from secfc.crypto.randomness import MaskSource
from secfc.field.label_packing import PackedLabels
from secfc.field.packing import PackedResidues, Payload
from secfc.operations.beginning.totals import Addends
from secfc.protocol.client import Client
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import make_job
from secfc.protocol.job.options import Disclosure
from secfc.protocol.messages import SERVER, FromServer, Hello, Message, Plan, Step, StepNotice, StepReport
from secfc.protocol.messages.wire import Signer, decode, encode
from secfc.protocol.server import Server
from secfc.tables.ids import row_ids

RUN = bytes(range(16))
Link = tuple[int, int]


class CountedMasks(MaskSource):
    def __init__(self) -> None:
        super().__init__()
        self.drawn = 0

    def uniform(self, p: int, shape: tuple[int, ...]) -> Any:
        self.drawn += int(np.prod(shape))
        return super().uniform(p, shape)


class Wire:
    """A server, its clients and helpers, and their mail: one queue for each sender and recipient."""

    def __init__(
        self,
        rows: list[Any],
        *,
        k: int = 2,
        t: int = 1,
        ell: int = 1,
        bound: float = 20.0,
        precision: int = 16,
        starts: list[Any] | None = None,
        weights: list[Any] | None = None,
        limits: Limits | None = None,
        seed: int | None = 0,
        salt: bytes | None = None,  # of hashed IDs, where two runs are compared
        disclosure: Disclosure = "coded",
        identities: list[Identity] | None = None,
        coordinator: Identity | None = None,
        prepared: bool = False,  # rows are made of totals, here always the same
        **parameters: Any,
    ) -> None:
        self.rows = [np.asarray(part, dtype=np.float64) for part in rows]
        if starts is not None:
            parameters["init"] = "labels"
            starts = [np.asarray(part, dtype=np.int32) for part in starts]
        if prepared:
            parameters["totals"] = (1,)
        if weights is not None:
            parameters["weighted"] = True
            weights = [np.asarray(part, dtype=np.int64) for part in weights]
        self.job = make_job(
            n=len(rows),
            k=k,
            t=t,
            ell=ell,
            d=self.rows[0].shape[1],
            bound=bound,
            precision=precision,
            disclosure=disclosure,
            seed=seed,
            **parameters,
        )
        self.m = sum(part.shape[0] for part in self.rows)
        self.identities = identities or [Identity() for _ in range(self.job.parties)]
        self.coordinator = coordinator or Identity()
        roster = Roster(tuple(identity.public for identity in self.identities), self.coordinator.public)
        self.session = self.job.session(roster, RUN)
        self.signer = Signer(self.session, self.coordinator)
        self.server = Server(
            job=self.job,
            session=self.session,
            salt=salt,
        )
        self._given: dict[int, dict[str, Any]] = {
            j: {
                "number": j,
                "rows": self._rows_of(j),
                "limits": limits,
                "salt": salt,
                "start": None if starts is None or j > self.job.n else starts[j - 1],
                "weights": None if weights is None or j > self.job.n else weights[j - 1],
                "ephemeral": X25519PrivateKey.generate().private_bytes_raw(),
            }
            for j in range(1, self.job.parties + 1)
        }
        self.masks = {j: CountedMasks() for j in self._given}
        self.clients = {j: self.client(j) for j in self._given}
        self._handshakes: dict[int, Handshake] = {}
        self._meet()
        self.links: dict[Link, deque[tuple[int, bytes]]] = defaultdict(deque)
        self._posted = 0
        for client in self.clients.values():
            self.post(client.start())

    def _rows_of(self, number: int) -> Any:
        if number > self.job.n:
            return np.empty((0, self.job.d))
        rows = self.rows[number - 1]
        if not self.job.prepares:
            return rows
        return Addends(
            m=len(rows),
            holds=(True,),
            numbers=(number,),
            check=lambda holders: None,
            rows_of=lambda totals: rows,
        )

    def client(self, number: int, **other: Any) -> Client:
        """A client as in the run, with some of its arguments replaced."""
        given: dict[str, Any] = {
            "job": self.job,
            "session": self.session,
            "identity": self.identities[number - 1],
            "masks": self.masks[number],
        }
        return Client(**given | self._given[number] | other)

    def replace_client(self, number: int, **other: Any) -> Client:
        """Put another client in a client's place, before anything is delivered."""
        self.clients[number] = self.client(number, **other)
        self.links.clear()
        self._meet()
        for client in self.clients.values():
            self.post(client.start())
        return self.clients[number]

    def _meet(self) -> None:
        """Channels of the clients that tests seal with as a client would."""
        for j, client in self.clients.items():
            (hello,) = client.start()
            self._handshakes[j] = Handshake(
                session=self.session,
                number=j,
                identity=self.identities[j - 1],
                rows=hello.introduction.rows,
                start=hello.start,
                weights=hello.weights,
                smallest=hello.introduction.smallest,
                ephemeral=self._given[j]["ephemeral"],
            )
        self.introductions = [one.introduction for one in self._handshakes.values()]
        self._plan(self.introductions)

    def _plan(self, introductions: Sequence[Introduction | None]) -> None:
        """Have the channels of clients that were introduced to each other so."""
        self._planned = introductions
        self.channels = {
            j: self._handshakes[j].channels(introductions) for j, one in enumerate(introductions, 1) if one
        }

    @property
    def transcript(self) -> bytes:
        return transcript_of(self.session, {j: one for j, one in enumerate(self._planned, 1) if one})

    def seal(
        self,
        sender: int,
        recipient: int,
        part: int,
        payload: bytes,
        purpose: bytes = b"step",
        round_: int = 0,
    ) -> Sealed:
        """What the sender would seal; it may seal the same place again."""
        channel = self.channels[sender][recipient]
        channel._sealed.clear()
        return channel.seal(purpose, part=part, payload=payload, round_=round_)

    def introduction(self, number: int, **changes: Any) -> Introduction:
        """A client's introduction with changes, signed by the client."""
        said = replace(self.introductions[number - 1], **changes)
        numbers = struct.pack("<HII", number, said.rows, said.smallest)
        head = b"secfc introduction 1" + RUN + self.session.agreement + numbers
        signature = self.identities[number - 1].sign(
            head + said.start + said.weights + said.ephemeral + said.commitment
        )
        return replace(said, signature=signature)

    def signed(self, hello: Hello, *, rows: int | None = None, start: Any = None) -> Hello:
        """A Hello with other rows and start labels, signed."""
        held = hello.introduction.rows if rows is None else rows
        labels = hello.start if start is None else start
        said = self.introduction(hello.sender, rows=held, start=digest_of(labels))
        return replace(hello, introduction=said, start=labels)

    def role(self, number: int) -> Server | Client:
        return self.server if number == SERVER else self.clients[number]

    def post(self, messages: list[Message]) -> None:
        for message in messages:
            self._posted += 1
            if isinstance(message, Plan) and message.introductions != tuple(self._planned):
                self._plan(message.introductions)
            link = message.sender, message.recipient
            self.links[link].append((self._posted, self.encode(message)))

    def encode(self, message: Message) -> bytes:
        return encode(message, k=self.job.k, signer=self.signer)

    def decode(self, data: bytes) -> Message:
        return decode(data, k=self.job.k, session=self.session)

    def pending(self) -> list[Link]:
        """Links with mail; the link with the oldest message is first."""
        return sorted((link for link, mail in self.links.items() if mail), key=lambda at: self.links[at][0])

    def take(self, link: Link) -> Message:
        """Take the oldest message off a link without delivering it; its labels are unpacked."""
        most = self.role(link[1]).sizes.most_bytes
        return opened(decode(self.links[link].popleft()[1], k=self.job.k, session=self.session, most=most))

    def deliver(self, message: Message) -> None:
        """Deliver a message. If it is the server's, the server signs it first, even if a test changed it."""
        if isinstance(message, FromServer):
            message = self.decode(self.encode(message))
        self.post(self.role(message.recipient).receive(message))

    def run(
        self,
        *,
        until: Callable[[], bool] = lambda: False,
        choose: Callable[[list[Link]], Link] = lambda links: links[0],
        drop: Callable[[Message], bool] = lambda message: False,
    ) -> None:
        """Deliver messages, the oldest first unless `choose` decides otherwise."""
        while not until() and (links := self.pending()):
            message = self.take(choose(links))
            if not drop(message):
                self.deliver(message)

    def hold(self, kind: type[Message], *, recipient: int, sender: int | None = None) -> Message:
        """Deliver everything older than the first such message, and return that one undelivered."""
        while True:
            message = self.take(self.pending()[0])
            if (
                isinstance(message, kind)
                and message.recipient == recipient
                and sender in (None, message.sender)
            ):
                return message
            self.deliver(message)

    def labels(self) -> list[list[int]]:
        return [client.labels.tolist() for j, client in self.clients.items() if j <= self.job.n]

    def message(self, kind: type[Message], *, sender: int, recipient: int) -> Message:
        """A well-formed message of a type. Nobody can read or use the content of a step."""
        envelope = {"run": RUN, "sender": sender, "recipient": recipient}
        makers: dict[type[Message], Callable[[], Message]] = {
            Hello: lambda: Hello(
                **envelope,
                agreement=self.session.agreement,
                introduction=self.introductions[max(sender, 1) - 1],
            ),
            Plan: lambda: Plan(**envelope, introductions=tuple(self.introductions)),
            Step: lambda: Step(**envelope, place=0, sealed=Sealed(payload=bytes(48))),
            StepReport: lambda: StepReport(**envelope, data=bytes(41)),
            StepNotice: lambda: StepNotice(**envelope, data=bytes(41)),
        }
        message = makers[kind]()
        signed = isinstance(message, FromServer) and sender == SERVER
        return self.decode(self.encode(message)) if signed else message


def opened(message: Message) -> Message:
    """A message with unpacked labels."""
    start = getattr(message, "start", None)
    return replace(message, start=start.unpack()) if isinstance(start, PackedLabels) else message


class UnionWire(Wire):
    """A wire whose clients have IDs, all different."""

    def __init__(self, rows: list[Any], **parameters: Any) -> None:
        super().__init__(rows, **{"ids_cap": 40, **parameters})

    def client(self, number: int, **other: Any) -> Client:
        if number > self.job.n:
            return super().client(number, **other)
        ids = [f"{number}-{row}" for row in range(self.rows[number - 1].shape[0])]
        held = row_ids(ids, key=KEY, name=f"client {number}")
        return super().client(number, **{"ids": held, **other})


def picture(value: Any) -> Any:
    """All that a role holds, with bytes of arrays and generator states, as values that == can compare."""
    return _pictured(value, {})


_AS_THEY_ARE = {int, float, str, bytes, bool, type(None)}


def _pictured(value: Any, seen: dict[int, Any]) -> Any:
    """A picture; `seen` has the pictures of objects met before, by id."""
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if kind is list or kind is tuple:
        return [_pictured(one, seen) for one in value]
    if kind is dict:
        return {key: _pictured(one, seen) for key, one in value.items()}
    match value:
        case np.ndarray():
            return value.shape, value.dtype.str, value.tobytes()
        case bytearray() | memoryview():
            return bytes(value)
        case PackedResidues():
            return value.shape, bytes(value.payload)
        case Payload():
            return bytes(value.payload)
        case Channels():
            # The rest follows from its arguments.
            return {purpose: dict(places) for purpose, places in value._sealed.items()}
        case np.random.Generator():
            return _pictured(value.bit_generator.state, seen)
        case CountedMasks():
            return value.drawn
        case MaskSource():
            return None  # of the server's coefficients, which are drawn and never used again
        case dict():
            return {key: _pictured(one, seen) for key, one in value.items()}
        case list() | tuple() | deque():
            return [_pictured(one, seen) for one in value]
        case set() | Enum():
            return frozenset(value) if isinstance(value, set) else value
        case _ if hasattr(value, "__dict__"):
            if id(value) not in seen:
                held = {name: one for name, one in vars(value).items() if name not in _following(kind)}
                seen[id(value)] = kind.__name__, _pictured(held, seen)
            return seen[id(value)]
    return value


@cache
def _following(kind: type) -> frozenset[str]:
    """Cached properties, which follow from the rest of an object."""
    return frozenset(name for name in dir(kind) if isinstance(getattr(kind, name, None), cached_property))
