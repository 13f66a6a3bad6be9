"""All parties in this process, one message at a time: the reference implementation of a run."""

import secrets
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from secfc.drivers.costs import Meter
from secfc.drivers.setup import OnProgress, Outcome, ServerReport, Setup
from secfc.drivers.storage import allocator
from secfc.drivers.watch import Watch
from secfc.kernels import Kernels, choose
from secfc.protocol.client import Client
from secfc.protocol.messages import RUN_ID_BYTES, SERVER, Message
from secfc.protocol.server import Server
from secfc.protocol.wire import Envelope, decode, encode, envelope_of
from secfc.randomness import MaskSource
from secfc.sealing.handshake import PairSecrets, Session
from secfc.sealing.identity import Identity, Roster
from secfc.sealing.proof import Signer
from secfc.threads import LEAST

_AT_ONCE = 2
"""Messages to different clients that are delivered before what they cause, where answers are large.

With four a run took a tenth more memory, and two threads no less time.
"""

OnDelivery = Callable[[Envelope, float], None]
Post = deque[tuple[Envelope, bytes | memoryview]]


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
    session = Session.of(job=job, roster=roster, run=secrets.token_bytes(RUN_ID_BYTES))
    server, pairs = Server(job=job, session=session, salt=setup.salt, kernels=kernels), PairSecrets()
    clients = [
        make(
            number=j,
            rows=setup.rows_of(j),
            job=job,
            session=session,
            identity=identities[j - 1],
            masks=MaskSource(),
            limits=setup.limits_of(j),
            start=setup.start_of(j),
            weights=setup.weights_of(j),
            salt=setup.salt,
            ids=setup.ids_of(j),
            name=setup.parties[j - 1],
            allocate=allocator(setup.storage, name=setup.parties[j - 1]),
            kernels=kernels,
            deposits=None if committee is None or j > job.n else committee.intakes[j - 1],
            secrets=pairs,
        )
        for j in range(1, job.parties + 1)
    ]
    return Roles(server, clients, session, Signer(session, coordinator))


def _at_once(setup: Setup) -> int:
    """Messages that are delivered at once, however many threads there are: the order is the same for all."""
    m = sum(len(rows) for rows in setup.rows)
    large = m and setup.job.residues(m) * setup.job.k * m >= 2 * LEAST
    return _AT_ONCE if large else 1


def _together(waiting: Post, most: int) -> list[tuple[Envelope, bytes | memoryview]]:
    """Take the next messages, up to so many, that are for different clients and of one phase."""
    found = [waiting.popleft()]
    while len(found) < most and waiting:
        header, recipients = waiting[0][0], {SERVER, *(one.recipient for one, _ in found)}
        if found[0][0].recipient == SERVER or header.recipient in recipients:
            break
        if header.work != found[0][0].work:
            break
        found.append(waiting.popleft())
    return found


def run_in_process(
    setup: Setup, on_progress: OnProgress | None = None, on_delivery: OnDelivery | None = None
) -> Outcome:
    """Run the protocol in one process.

    Messages are encoded and decoded as between processes, and delivered in the order they were sent, but
    those between clients first: else all n**2 of them would wait at once while the server's are delivered.
    Where answers are large, two clients take theirs at once, in threads.
    `on_delivery` is told each message's envelope and the wall-clock seconds of its decoding, its handling and
    the encoding of what it caused; then one message is delivered at a time.
    """
    job, meter = setup.job, Meter()
    server, clients, session, signer = roles_of(setup)
    watch = Watch(run=server.run.hex(), job=job, meter=meter, on_progress=on_progress)
    roles: list[Server | Client] = [server, *clients]
    post, between = Post(), Post()

    def send(messages: list[Message]) -> None:
        for message in messages:
            data = encode(message, k=job.k, signer=signer)
            header = envelope_of(message)
            meter.sent(header, len(data))
            with_server = SERVER in (header.sender, header.recipient)
            (post if with_server else between).append((header, data))

    for client in clients:
        meter.turn("identify", client.number)
        send(client.start())

    def deliver(one: tuple[Envelope, bytes | memoryview]) -> list[Message]:
        header, data = one
        role = roles[header.recipient]
        return role.receive(decode(data, k=job.k, session=session, most=role.sizes.most_bytes))

    threads, at_once = setup.threads_of(), 1 if on_delivery is not None else _at_once(setup)
    while waiting := between or post:
        together, started = _together(waiting, at_once), time.perf_counter()
        meter.turn(together[0][0].work, together[0][0].recipient)
        delivered = threads.each(deliver, together, size=LEAST * len(together))
        for (header, _), caused in zip(together, delivered, strict=True):
            send(caused)
            if on_delivery is not None:
                meter.turn()
                on_delivery(header, time.perf_counter() - started)
            if header.recipient == SERVER:
                meter.turn()
                watch(server.progress)
    meter.turn()

    received = {client.number: client.labels for client in clients if client.labels is not None}
    if setup.committee is not None:
        sealed = {client.number: client.sealed_labels for client in clients}
        received = setup.committee.labels({j: one for j, one in sealed.items() if one is not None})
    rows = {client.number: client.union_rows for client in clients if client.union_rows is not None}
    held = [part.shape[0] for part in setup.rows]
    report = ServerReport.of(server, job)
    watch.ended(n_iter=report.n_iter, converged=report.converged)
    told = next((client for client in clients if client.centres is not None), None)
    return report.outcome(
        received,
        held,
        meter.costs(),
        rows or None,
        run_id=server.run.hex(),
        centres=None if told is None else told.centres,
        deviations=None if told is None else told.deviations,
    )
