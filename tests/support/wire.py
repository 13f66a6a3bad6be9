"""A fake wire between a server and its clients, and pictures of roles, which show whether a role changed.

A picture of an object is its whole state as values that == can compare.
"""

import math
import struct
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from functools import cache, cached_property, partial
from itertools import count
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from support.union import KEY

from secfc.crypto.channel import TAG_BYTES, Channels, Sealed
from secfc.crypto.handshake import (
    DIGEST_BYTES,
    Handshake,
    Introduction,
    Session,
    digest_of,
    transcript_of,
)
from secfc.crypto.identity import SIGNATURE_BYTES, Identity, Roster
from secfc.crypto.proof import SHOWN_BYTES, Proof, Signer
from secfc.crypto.randomness import MaskSource
from secfc.field.label_packing import PackedLabels
from secfc.field.packing import PackedResidues, pack, unpack
from secfc.field.payload import Payload
from secfc.field.primes import PRIMES
from secfc.field.residues import reduce
from secfc.protocol.answers.consistency import ConsistencyCheck
from secfc.protocol.answers.decoding import Decoder
from secfc.protocol.client import Client
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import make_job
from secfc.protocol.job.options import Disclosure
from secfc.protocol.job.row_layout import Layout, Parts
from secfc.protocol.messages import (
    SERVER,
    Assignment,
    CentreShare,
    Challenge,
    CodedDistances,
    Coin,
    CoinRequest,
    Compared,
    Continue,
    Dispute,
    Echo,
    Endorsement,
    Evidence,
    Finish,
    FromServer,
    Hello,
    LeaveOut,
    MaskedAnswer,
    MaskedDistances,
    Message,
    OpenedLabels,
    Plan,
    Ready,
    Report,
    Share,
    SpareMasks,
    Step,
    StepNotice,
    StepReport,
    Witness,
    place_of,
)
from secfc.protocol.messages.wire import decode, encode
from secfc.protocol.phases.client_identify import ClientIdentify
from secfc.protocol.phases.client_iterate import ClientIterate
from secfc.protocol.phases.client_share import ClientShare
from secfc.protocol.phases.client_union import ClientUnion
from secfc.protocol.phases.server_share import ServerShare
from secfc.protocol.server import Server
from secfc.protocol.shown import shown
from secfc.protocol.signed import SignedReport, report_statement, share_statement
from secfc.protocol.witness import END
from secfc.sharing import client_shares as sharing
from secfc.sharing.dealing import columns_of, covers_of, most_checks
from secfc.tables.ids import row_ids

RUN = bytes(range(16))
MASKED = (SpareMasks, MaskedAnswer, MaskedDistances)
Link = tuple[int, int]


class CountedMasks(MaskSource):
    def __init__(self) -> None:
        super().__init__()
        self.drawn = 0

    def uniform(self, p: int, shape: tuple[int, ...], kernels: Any = None) -> Any:
        self.drawn += int(np.prod(shape))
        return super().uniform(p, shape, kernels)


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
        prepared: bool = False,
        **parameters: Any,
    ) -> None:
        self.rows = [np.asarray(part, dtype=np.float64) for part in rows]
        if starts is not None:
            parameters["init"] = "labels"
            starts = [np.asarray(part, dtype=np.int32) for part in starts]
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
        self.session = Session.of(job=self.job, roster=roster, run=RUN)
        self.signer = Signer(self.session, self.coordinator)
        self.server = Server(
            job=self.job,
            session=self.session,
            prepares=prepared,
            salt=salt,
        )
        self._given: dict[int, dict[str, Any]] = {
            j: {
                "number": j,
                "rows": self.rows[j - 1] if j <= self.job.n else np.empty((0, self.job.d)),
                "limits": limits,
                "prepared": prepared,
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
                checks=most_checks(self.job),
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
        purpose: bytes = b"share",
        round_: int = 0,
    ) -> Sealed:
        """What the sender would seal; it may seal the same place again."""
        channel = self.channels[sender][recipient]
        channel._sealed.clear()
        return channel.seal(purpose, part=part, payload=payload, round_=round_)

    def question_in(self, message: Any) -> bytes:
        """The digest of the question in a message of a round, if it has one."""
        channel = self.channels[message.recipient][message.sender]
        at = {"part": message.place, "round_": message.round}
        data = channel.open(message.purpose, sealed=message.sealed.payload, **at)
        return bytes(data[:DIGEST_BYTES]) if message.begins else b""

    def opened(self, share: Share) -> PackedResidues:
        """The residues of a share, as its recipient reads them."""
        channel = self.channels[share.recipient][share.sender]
        payload = channel.open(b"share", part=share.part, sealed=share.sealed.payload)
        rows = self.parts().share_rows(share.sender, share.part)
        shape = (self.job.residues(self.m), self.job.width, rows.stop - rows.start)
        return PackedResidues(shape=shape, payload=payload)

    def introduction(self, number: int, **changes: Any) -> Introduction:
        """A client's introduction with changes, signed by the client."""
        said = replace(self.introductions[number - 1], **changes)
        numbers = struct.pack("<HII", number, said.rows, said.smallest)
        head = b"secfc introduction 1" + RUN + self.session.agreement + numbers
        signature = self.identities[number - 1].sign(
            head + said.start + said.weights + said.ephemeral + said.commitment + said.checks
        )
        return replace(said, signature=signature)

    def signed(self, hello: Hello, *, rows: int | None = None, start: Any = None) -> Hello:
        """A Hello with other rows and start labels, signed."""
        held = hello.introduction.rows if rows is None else rows
        labels = hello.start if start is None else start
        said = self.introduction(hello.sender, rows=held, start=digest_of(labels))
        return replace(hello, introduction=said, start=labels)

    def altered(self, message: Any, *, shape: tuple[int, int, int] | None = None, first: int = 0) -> Message:
        """An honest party's message with residues of another shape, or with one residue replaced."""
        if isinstance(message, Share):
            size = len(message.sealed.payload) - TAG_BYTES
            payload = bytearray(size if shape is None else 3 * math.prod(shape))
            payload[:3] = first.to_bytes(3, "little") if first else payload[:3]
            sealed = self.seal(message.sender, message.recipient, message.part, payload)
            return replace(message, sealed=sealed)
        residues = zeros(shape or message.residues.shape)
        if first:
            residues.payload[:3] = first.to_bytes(3, "little")
        return replace(message, residues=residues)

    def wrong(self, message: MaskedAnswer) -> MaskedAnswer:
        sender, recipient, place = message.sender, message.recipient, message.place
        opened = self.channels[recipient][sender].open(
            message.purpose, part=place, sealed=message.sealed.payload, round_=message.round
        )
        payload, first = bytearray(opened), len(self.question_in(message))
        payload[first] = (payload[first] + 1) % 256
        sealed = self.seal(sender, recipient, place, bytes(payload), message.purpose, message.round)
        return replace(message, sealed=sealed)

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

    def proof(self, message: FromServer) -> Proof:
        """The server's proof of a message, whether it is sent or not."""
        given = self.decode(self.encode(message))
        assert isinstance(given, FromServer)
        assert given.proof is not None
        return given.proof

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

    def parts(self) -> Parts:
        return Layout(tuple(part.shape[0] for part in self.rows)).parts(self.job)

    def residues(self, columns: int, rows: slice) -> PackedResidues:
        """Zeros for the right number of primes, which is the same in every round of these small jobs."""
        assert self.job.residues(1) == self.job.residues(self.m)
        return zeros((self.job.residues(self.m), columns, rows.stop - rows.start))

    def turn(self, kind: type[Message], *, sender: int, recipient: int) -> tuple[int, int]:
        """Round and part of the next message of a type that the recipient waits for, if it waits for one."""
        role = self.role(recipient)
        if kind is CodedDistances and isinstance(role, Server):
            return role.gathering.expected.get(sender, (1, 0))
        if kind is Ready and isinstance(role, Server):
            return 0, role.phase.ready.get(sender, 0) if isinstance(role.phase, ServerShare) else 0
        if kind is Share and isinstance(role, Client):
            match role.phase:
                case ClientIdentify() | ClientUnion() as phase:
                    return 0, sum(held.sender == sender for held in phase.early_shares.held)
                case phase:
                    return 0, phase.held.sharing.received.get(sender, 0)
        if kind is Continue and isinstance(role, Client):
            match role.phase:
                case ClientShare() as phase:
                    return 0, phase.sharing.shared
                case ClientIterate() as phase:
                    return phase.round, phase.asked
            return 0, 0
        return int(kind is CodedDistances), 0

    def message(
        self, kind: type[Message], *, sender: int, recipient: int, at: tuple[int, int] | None = None
    ) -> Message:
        """A well-formed message of a type that the recipient accepts at its turn.

        `at` gives another round and part.
        """
        round_, part = at or self.turn(kind, sender=sender, recipient=recipient)
        parts = self.parts()
        labels = np.arange(self.m, dtype=np.int32) % self.job.k
        envelope = {"run": RUN, "sender": sender, "recipient": recipient}
        makers: dict[type[Message], Callable[[], Message]] = {
            Hello: lambda: Hello(
                **envelope,
                agreement=self.session.agreement,
                introduction=self.introductions[max(sender, 1) - 1],
            ),
            Plan: lambda: Plan(**envelope, introductions=tuple(self.introductions)),
            Share: lambda: Share(**envelope, part=part, sealed=self._share(sender, recipient, part)),
            Ready: lambda: Ready(**envelope, part=part),
            Continue: lambda: Continue(**envelope, round=round_, part=part),
            Assignment: lambda: Assignment(**envelope, round=1, sets=labels),
            CodedDistances: lambda: CodedDistances(
                **envelope,
                round=round_,
                part=part,
                residues=self.residues(self.job.k, parts.answer_rows(part)),
            ),
            Witness: lambda: Witness(**envelope, sealed=self._witness(sender, recipient)),
            CentreShare: lambda: CentreShare(**envelope, sealed=self._centre_share(sender, recipient)),
            Challenge: lambda: Challenge(**envelope, seed=bytes(32)),
            CoinRequest: lambda: CoinRequest(**envelope),
            Coin: lambda: Coin(**envelope, value=bytes(32), signature=bytes(64)),
            Echo: lambda: Echo(**envelope, sealed=self._echo(sender, recipient)),
            Report: lambda: self._report(max(sender, 1), envelope),
            Dispute: lambda: Dispute(**envelope, reports=self._reports()),
            Evidence: lambda: Evidence(
                **envelope, dealer=3, part=0, payload=bytes(30), signature=bytes(SIGNATURE_BYTES)
            ),
            LeaveOut: lambda: LeaveOut(**envelope, client=3),
            Finish: lambda: Finish(**envelope, labels=labels, n_iter=1, converged=True, inertia=0.5),
            OpenedLabels: lambda: OpenedLabels(
                **envelope, round=1, part=part, labels=labels[parts.answer_rows(part)]
            ),
            Endorsement: lambda: Endorsement(**envelope, round=1, signature=bytes(SIGNATURE_BYTES)),
            Compared: lambda: Compared(
                **envelope,
                round=1,
                part=part,
                index=0,
                sealed=self._in_round(Compared, sender, recipient, place_of(0, part), bytes(8)),
            ),
            Step: lambda: Step(**envelope, place=0, sealed=Sealed(payload=bytes(48))),
            StepReport: lambda: StepReport(**envelope, data=bytes(41)),
            StepNotice: lambda: StepNotice(**envelope, data=bytes(41)),
        } | {kind: partial(self._masked, kind, envelope, part) for kind in MASKED}
        message = makers[kind]()
        signed = isinstance(message, FromServer) and sender == SERVER
        return self.decode(self.encode(message)) if signed else message

    def _masked(self, kind: type[Any], envelope: dict[str, Any], part: int) -> Message:
        """Zeros, of a part of the first round."""
        payload = bytes(self.residues(self.job.k, self.parts().answer_rows(part)).payload)
        sealed = self._in_round(kind, envelope["sender"], envelope["recipient"], part, payload)
        made: Message = kind(**envelope, round=1, part=part, sealed=sealed)
        return made

    def _in_round(
        self, kind: type[Message], sender: int, recipient: int, place: int, payload: bytes
    ) -> Sealed:
        """What a client would seal in the first round."""
        if SERVER in (sender, recipient):
            return Sealed(payload=payload + bytes(TAG_BYTES))
        return self.seal(sender, recipient, place, payload, kind.purpose, round_=1)

    def _witness(self, sender: int, recipient: int) -> Sealed:
        """An invalid proof of a result."""
        if SERVER in (sender, recipient):
            return Sealed(payload=bytes(SHOWN_BYTES + TAG_BYTES))
        return self.seal(sender, recipient, 0, bytes(SHOWN_BYTES), b"witness", round_=END)

    def _echo(self, sender: int, recipient: int) -> Sealed:
        """An invalid proof of a challenge."""
        if SERVER in (sender, recipient):
            return Sealed(payload=bytes(SHOWN_BYTES + TAG_BYTES))
        return self.seal(sender, recipient, 0, bytes(SHOWN_BYTES), b"echo")

    def echo(self, sender: int, recipient: int, seed: bytes, *, round_: int = 0) -> Echo:
        """A client's echo of a challenge with this seed, which the server signed for it."""
        at = {"run": self.server.run, "round": round_}
        given = Challenge(**at, sender=SERVER, recipient=sender, seed=seed)
        sealed = self.seal(sender, recipient, 0, shown(self.proof(given)), b"echo", round_=round_)
        return Echo(**at, sender=sender, recipient=recipient, sealed=sealed)

    def share_signature(self, sender: int, recipient: int, part: int, payload: bytes) -> bytes:
        """A dealer's signature of a part, residues and covers."""
        statement = share_statement(
            self.transcript,
            dealer=sender,
            recipient=recipient,
            part=part,
            payload=payload,
        )
        return self.identities[max(sender, 1) - 1].sign(statement)

    def _report(self, sender: int, envelope: dict[str, Any]) -> Report:
        """All zeros, for the server's challenge if there was one, signed by its sender."""
        counts, asked = tuple(part.shape[0] for part in self.rows), self.inquiry()
        columns = columns_of(Layout(counts), self.parts())
        residues = zeros((self.job.residues(self.m), covers_of(self.job), len(columns)))
        seed = asked._seed if asked else bytes(32)
        statement = report_statement(
            self.transcript,
            reporter=sender,
            seed=seed,
            columns=columns,
            residues=residues,
        )
        return Report(**envelope, residues=residues, signature=self.identities[sender - 1].sign(statement))

    def lying(self, report: Report, dealers: set[int], *, by: Sequence[int] = (1,) * 8) -> Report:
        """A client's signed report, wrong by a number for each prime in the columns of some dealers."""
        inquiry, planes = self.inquiry(report.round), []
        about = np.array([dealer in dealers for dealer, _ in inquiry._columns])
        for plane, prime, off in zip(report.residues.planes(), PRIMES, by, strict=False):
            planes.append(pack(reduce(unpack(plane) + off * about, prime.p), prime.p).tobytes())
        residues = PackedResidues(shape=report.residues.shape, payload=b"".join(planes))
        statement = report_statement(
            self.transcript,
            reporter=report.sender,
            seed=inquiry._seed,
            columns=inquiry._columns,
            residues=residues,
        )
        signature = self.identities[report.sender - 1].sign(statement)
        return replace(report, residues=residues, signature=signature)

    def lie_about(self, recipient: int, dealers: set[int]) -> None:
        """Let a client's report be wrong about what some dealers dealt to it."""
        client = self.clients[recipient]
        said = client.receive

        def lie(message: Message) -> Message:
            if not isinstance(message, Report):
                return message
            sharing = client.phase.sharing
            one = sharing._testimonies[message.round]
            one._said = self.lying(message, dealers)
            return one._said

        client.receive = lambda message: [lie(answer) for answer in said(message)]

    def inquiry(self, round_: int = 0) -> Any:
        """The server's check with this number, if it is open."""
        checks = getattr(self.server.phase, "checks", None)
        return checks and checks._open.get(round_)

    def _reports(self) -> tuple[SignedReport, ...]:
        """All-zero reports of all clients, signed."""
        said = {j: self._report(j, {"run": RUN, "sender": j, "recipient": SERVER}) for j in self.clients}
        return tuple(
            SignedReport(client=j, residues=one.residues, signature=one.signature) for j, one in said.items()
        )

    def deal_badly(
        self,
        dealer: int,
        victims: tuple[int, ...],
        *,
        at: int = 0,
        part: int | None = None,
        by: int = 1,
    ) -> None:
        """Let a client add `by` to an entry of each part, or of one part, that it deals to some others."""
        client, dealt = self.clients[dealer], count()
        honest = client.receive

        def dealing(message: Message) -> list[Message]:
            real = sharing.Sharer.share

            def share(sharer: Any, rows: Any, *noise: Any) -> Any:
                packed = real(sharer, rows, *noise)
                hit = part in (None, next(dealt)) and rows.size
                for victim in victims if hit else ():
                    # Added modulo every prime, so the entry stays within the bound.
                    for prime, plane in zip(PRIMES, packed[victim - 1].planes(), strict=False):
                        octets = plane.reshape(-1)[3 * at : 3 * at + 3]
                        value = int.from_bytes(octets.tobytes(), "little")
                        octets[:] = list(((value + by) % prime.p).to_bytes(3, "little"))
                return packed

            sharing.Sharer.share = share
            try:
                return honest(message)
            finally:
                sharing.Sharer.share = real

        client.receive = dealing

    def _centre_share(self, sender: int, recipient: int) -> Sealed:
        payload = zeros((self.job.residues(self.m), self.job.width, self.job.k)).payload
        if SERVER in (sender, recipient):
            return Sealed(payload=bytes(payload) + bytes(TAG_BYTES))
        return self.seal(sender, recipient, 0, bytes(payload), b"centre share")

    def _share(self, sender: int, recipient: int, part: int) -> Sealed:
        rows = self.parts().share_rows(max(sender, 1), part)
        payload = bytes(self.residues(self.job.width, rows).payload)
        if covers_of(self.job):
            payload += bytes(zeros((self.job.residues(self.m), covers_of(self.job), 1)).payload)
            payload += self.share_signature(sender, recipient, part, payload)
        if SERVER in (sender, recipient):
            return Sealed(payload=payload + bytes(TAG_BYTES))
        return self.seal(sender, recipient, part, payload)


def opened(message: Message) -> Message:
    """A message with unpacked labels."""
    held = {name: getattr(message, name, None) for name in ("sets", "labels", "start")}
    packed = {name: one.unpack() for name, one in held.items() if isinstance(one, PackedLabels)}
    return replace(message, **packed) if packed else message


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


def zeros(shape: tuple[int, int, int]) -> PackedResidues:
    return PackedResidues(shape=shape, payload=bytearray(3 * math.prod(shape)))


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
        case Decoder() | ConsistencyCheck():
            return None  # buffers, and values that follow from the job
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
