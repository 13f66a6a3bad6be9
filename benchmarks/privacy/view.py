"""Watched runs: what each party holds after the protocol has ended or was refused."""

import secrets
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast
from unittest.mock import patch

import numpy as np

from secfc.crypto.identity import Identity, Roster
from secfc.crypto.randomness import KEY_BYTES, MaskSource
from secfc.errors import LimitError
from secfc.field.array_types import Bools, Data, Floats, Ints, Labels, Objects, Shares
from secfc.field.mixed_radix import MixedRadix
from secfc.field.packing import PackedResidues, unpack
from secfc.field.primes import primes_of
from secfc.operations.decoding.distances import Distances
from secfc.operations.decoding.kept import KeptDistances
from secfc.protocol.client import Client
from secfc.protocol.job.job import Job
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import make_job
from secfc.protocol.messages import RUN_ID_BYTES, SERVER, Message
from secfc.protocol.messages.wire import Signer, decode, encode
from secfc.protocol.server import Server
from secfc.sharing.codewords import Codewords


@dataclass
class ServerView:
    """The server's view of each round that it decoded.

    Attributes
    ----------
    questions : list of ndarray of shape (m,), int32
        The sets of rounds, which everybody knows.
    distances : list of ndarray of shape (m, k), float64
        Squared distances of every row to every centre in the data's units; NaN for an empty set.
    exact : list of ndarray of shape (m, k), dtype object
        The decoded D: |S_h|**2 times the squared distances in quantised steps, 0 for an empty set.
    answers : list of dict from client to ndarray of shape (P, k, m), int64
        Residues from the clients.
    """

    questions: list[Labels] = field(default_factory=list)
    distances: list[Floats] = field(default_factory=list)
    exact: list[Objects] = field(default_factory=list)
    answers: list[dict[int, Ints]] = field(default_factory=list)


@dataclass
class Watched:
    """A run, and what its parties hold.

    Attributes
    ----------
    job : Job
    parties : list of ndarray of shape (m_j, d), float64
    server : ServerView
    refusal : str or None
        Why a client ended the run, if one did.
    liars : tuple of int
        Clients whose wrong answers were detected.
    """

    job: Job
    parties: list[Floats] = field(repr=False)
    clients: list[Client] = field(repr=False)
    server: ServerView = field(repr=False)
    refusal: str | None = None
    liars: tuple[int, ...] = ()

    @property
    def rows(self) -> Floats:
        """The rows of all parties, shape (m, d), which attackers want to learn."""
        return np.concatenate(self.parties)

    @property
    def labels(self) -> Labels:
        """The final labels of all rows, shape (m,), which with "coded" every client receives."""
        return np.concatenate([cast(Labels, client.labels) for client in self.clients])

    @property
    def ended(self) -> bool:
        """Whether every client has the result."""
        return all(one.labels is not None for one in self.clients)

    def opened(self, client: int) -> tuple[Floats, Floats | None]:
        """Centres that were opened to a client, (k, d), and deviations if these were opened too."""
        own = self.clients[client - 1]
        return cast(Floats, own.centres), own.deviations

    def own_rows(self, client: int) -> Bools:
        """A mask of the client's rows, shape (m,)."""
        return np.repeat(np.arange(1, len(self.parties) + 1) == client, [len(rows) for rows in self.parties])

    def after(self, rounds: int) -> "Watched":
        """The same run with the server's view after this many rounds."""
        view = self.server
        kept = ServerView(
            questions=view.questions[:rounds],
            distances=view.distances[:rounds],
            exact=view.exact[:rounds],
            answers=view.answers[:rounds],
        )
        return replace(self, server=kept)


@contextmanager
def _watched_by_server(view: ServerView, job: Job) -> Iterator[None]:
    """Keep what the server receives and decodes. Distances to sets that did not change it has already."""
    assign, take, radius = Distances._assign, KeptDistances.take, 4.0**job.exponent

    def assigned(
        me: Distances, sent: dict[int, Data], rows: slice, code: Codewords, *given: Any, **more: Any
    ) -> None:
        of = me.assigned
        assert of is not None
        if rows.start == 0:
            view.questions.append(of.sets)
            view.exact.append(np.zeros((of.sets.size, job.k), dtype=object))
            view.distances.append(np.full((of.sets.size, job.k), np.nan))
            view.answers.append({})
        (_, columns), about = given
        asked, answers = list(about) or list(range(columns)), view.answers[-1]
        for j, data in sent.items():
            residues = PackedResidues(payload=data, shape=(len(code.primes), columns, rows.stop - rows.start))
            made = np.zeros((len(code.primes), job.k, of.sets.size), dtype=np.int64)
            if about and len(view.answers) > 1 and j in view.answers[-2]:
                made[...] = view.answers[-2][j]
            answers.setdefault(j, made)[:, asked, rows] = unpack(residues.planes()).astype(np.int64)
        assign(me, sent, rows, code, *given, **more)

    def taken(
        kept: KeptDistances, rows: slice, digits: Shares, asked: tuple[int, ...], sizes: Ints
    ) -> Shares:
        every = take(kept, rows, digits, asked, sizes)
        integers = MixedRadix(primes_of(len(every))).integers(every.astype(np.float64)).T
        full = np.flatnonzero(sizes[: integers.shape[1]])
        view.exact[-1][rows, full] = integers[:, full]
        found = integers[:, full] / sizes[full].astype(object) ** 2 / radius
        view.distances[-1][rows, full] = found.astype(np.float64)
        return every

    with patch.object(Distances, "_assign", assigned), patch.object(KeptDistances, "take", taken):
        yield


def watch(
    parties: list[Floats],
    *,
    k: int,
    t: int,
    ell: int,
    seed: int | None = 0,
    limits: Limits | None = None,
    keys: int | None = None,
    client: Callable[..., Client] = Client,
    **parameters: Any,
) -> Watched:
    """Run the protocol in this process and keep what each party holds.

    Parameters
    ----------
    parties : list of ndarray of shape (m_j, d), float64
    k, t, ell : int
    seed : int, optional
        Seed of the start. Without one the comparers toss a coin.
    limits : Limits, optional
        Limits of every client.
    keys : int, optional
        Seed of all keys, so that a view can be reproduced. By default keys are random.
    client : callable
        Makes a client.
    **parameters
        Parameters of the Job. Its disclosure is "coded" by default.
    """
    bound = max(float(np.linalg.norm(rows, axis=1).max(initial=0.0)) for rows in parties)
    given: dict[str, Any] = {"bound": bound, "disclosure": "coded", "seed": seed} | parameters
    job = make_job(n=len(parties), k=k, t=t, ell=ell, d=parties[0].shape[1], **given)
    octets = secrets.token_bytes if keys is None else np.random.default_rng(keys).bytes
    coordinator, *identities = [Identity(octets(KEY_BYTES)) for _ in range(job.parties + 1)]
    roster = Roster(tuple(identity.public for identity in identities), coordinator.public)
    session = job.session(roster, octets(RUN_ID_BYTES))
    signer = Signer(session, coordinator)
    server = Server(job=job, session=session, secret=MaskSource(octets(KEY_BYTES)))
    clients = [
        client(
            number=j,
            rows=parties[j - 1].copy() if j <= job.n else np.empty((0, job.d)),
            job=job,
            session=session,
            identity=identities[j - 1],
            masks=MaskSource(octets(KEY_BYTES)),
            ephemeral=octets(KEY_BYTES),
            limits=limits,
        )
        for j in range(1, job.parties + 1)
    ]
    watched = Watched(job=job, parties=parties, clients=clients, server=ServerView())
    post: deque[Message] = deque()
    for one in clients:
        post.extend(one.start())

    def carried(message: Message) -> Message:
        return decode(encode(message, k=job.k, signer=signer), k=job.k, session=session)

    try:
        with _watched_by_server(watched.server, job):
            while post:
                message = post.popleft()
                if message.recipient == SERVER:
                    post.extend(server.receive(message))
                else:
                    post.extend(clients[message.recipient - 1].receive(carried(message)))
    except LimitError as error:
        watched.refusal = str(error)
    watched.liars = server.faults.liars
    return watched
