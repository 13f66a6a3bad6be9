"""All parties in this process, one message at a time: the reference implementation of a run."""

import secrets
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from secfc.crypto.handshake import PairSecrets, Session
from secfc.crypto.identity import Identity, Roster
from secfc.crypto.randomness import MaskSource
from secfc.drivers.costs import Meter
from secfc.drivers.setup import OPENED, OnProgress, Outcome, ServerReport, Setup
from secfc.drivers.watch import Watch
from secfc.kernels import Kernels, choose
from secfc.kernels.threads import LEAST
from secfc.protocol.client import Client
from secfc.protocol.messages import RUN_ID_BYTES, SERVER, Message
from secfc.protocol.messages.wire import Envelope, Signer, decode, encode, envelope_of
from secfc.protocol.server import Server

OnDelivery = Callable[[Envelope, float], None]

_AT_ONCE = 2
"""Messages to different clients that are delivered before what they cause, where answers are large.

With four a run took a tenth more memory, and two threads no less time.
"""

Posted = tuple[Envelope, bytes | memoryview]
Found = TypeVar("Found")


class Post:
    """Messages in the order they were sent.

    Where answers are large two clients take theirs at once, in threads. The order is the same for any number
    of threads.
    """

    def __init__(self, setup: Setup, *, one_by_one: bool) -> None:
        m, job = sum(len(rows) for rows in setup.rows), setup.job
        large = m and job.residues(m) * job.k * m >= 2 * LEAST
        self._most = _AT_ONCE if large and not one_by_one else 1
        self._threads = setup.threads_of()
        self._waiting = deque[Posted]()

    def put(self, header: Envelope, data: bytes | memoryview) -> None:
        """Append a message."""
        self._waiting.append((header, data))

    def take(self) -> list[Posted]:
        """The next message, and those of its phase to other clients that go with it. Empty if none."""
        waiting = self._waiting
        found = [waiting.popleft()] if waiting else []
        while waiting and len(found) < self._most:
            first, header = found[0][0], waiting[0][0]
            recipients = {SERVER, *(one.recipient for one, _ in found)}
            if first.recipient == SERVER or header.recipient in recipients or header.work != first.work:
                break
            found.append(waiting.popleft())
        return found

    def deliver(self, together: list[Posted], handle: Callable[[Posted], Found]) -> list[Found]:
        """What `handle` returns for each of these messages, in their order."""
        if len(together) == 1:
            return [handle(together[0])]
        return self._threads.each(handle, together, size=LEAST * len(together))


class Roles(NamedTuple):
    """The parties of a run, and the arguments for encoding and decoding their messages."""

    server: Server
    clients: list[Client]
    session: Session
    signer: Signer


def roles_of(setup: Setup, make: Callable[..., Client] = Client) -> Roles:
    """The server and the clients of a new run, each made by `make`. Identities are for this run only."""
    job, threads = setup.job, setup.threads_of()

    def kernels(run_residues: int) -> Kernels:
        """One object for all roles: it loads the compiled code once."""
        return choose(run_residues * (job.parties + 1), threads)

    committee = setup.committee
    keys = [None] * (job.parties + 1) if committee is None else committee.keys
    coordinator, *identities = map(Identity, keys)
    roster = Roster(tuple(identity.public for identity in identities), coordinator.public)
    session = job.session(roster, secrets.token_bytes(RUN_ID_BYTES))
    server, pairs = Server(job=job, session=session, salt=setup.salt, kernels=kernels), PairSecrets()
    clients = [
        make(
            number=j,
            job=job,
            session=session,
            identity=identities[j - 1],
            masks=MaskSource(),
            salt=setup.salt,
            name=setup.parties[j - 1],
            names=setup.parties,
            kernels=kernels,
            deposits=None if committee is None or j > job.n else committee.intakes[j - 1],
            secrets=pairs,
            repeats=True,
            **setup.input_of(j),
        )
        for j in range(1, job.parties + 1)
    ]
    return Roles(server, clients, session, Signer(session, coordinator))


def run_in_process(
    setup: Setup, on_progress: OnProgress | None = None, on_delivery: OnDelivery | None = None
) -> Outcome:
    """Run the protocol in one process.

    Messages are encoded and decoded as between processes. `Post` decides their order. `on_delivery` is told
    each message's envelope and the wall-clock seconds of its decoding, its handling and the encoding of what
    it caused; then one message is delivered at a time.
    """
    job, meter = setup.job, Meter()
    server, clients, session, signer = roles_of(setup)
    watch = Watch(run=server.run.hex(), job=job, meter=meter, on_progress=on_progress)
    roles: list[Server | Client] = [server, *clients]
    post = Post(setup, one_by_one=on_delivery is not None)

    def send(messages: list[Message]) -> None:
        for message in messages:
            data = encode(message, k=job.k, signer=signer)
            header = envelope_of(message)
            meter.sent(header, len(data))
            post.put(header, data)

    for client in clients:
        with meter.work("identify", client.number):
            send(client.start())

    def handle(one: Posted) -> list[Message]:
        header, data = one
        role = roles[header.recipient]
        return role.receive(decode(data, k=job.k, session=session, most=role.sizes.most_bytes))

    while together := post.take():
        started = time.perf_counter()
        delivered = []
        with meter.work(together[0][0].work, together[0][0].recipient):
            for (header, _), caused in zip(together, post.deliver(together, handle), strict=True):
                send(caused)
                delivered.append(header)
        for header in delivered:
            if on_delivery is not None:
                on_delivery(header, time.perf_counter() - started)
            if header.recipient == SERVER:
                watch(server.progress)

    received = {client.number: client.labels for client in clients if client.labels is not None}
    if setup.committee is not None:
        sealed = {client.number: client.sealed_labels for client in clients}
        received = setup.committee.labels({j: one for j, one in sealed.items() if one is not None})
    rows = {client.number: client.union_rows for client in clients if client.union_rows is not None}
    held = [part.shape[0] for part in setup.rows]
    report = ServerReport.of(server, job)
    watch.ended(n_iter=report.n_iter, converged=report.converged)
    told = {name: [getattr(client, name) for client in clients] for name in OPENED}
    return report.outcome(
        received,
        held,
        meter.costs(),
        rows or None,
        run_id=server.run.hex(),
        opened={name: next((one for one in of if one is not None), None) for name, of in told.items()},
    )
