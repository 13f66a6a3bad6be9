"""Watched runs: what each party holds after the protocol has ended or was refused."""

import secrets
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast
from unittest.mock import patch

import numpy as np

from secfc.crypto.handshake import DIGEST_BYTES, Session
from secfc.crypto.identity import Identity, Roster
from secfc.crypto.proof import Signer
from secfc.crypto.randomness import KEY_BYTES, MaskSource
from secfc.errors import LimitError
from secfc.field.array_types import Bools, Floats, Ints, Labels, Objects
from secfc.field.label_packing import labels_of
from secfc.field.packing import unpack
from secfc.kmeans.compare import SquaredDistances
from secfc.kmeans.search import Search
from secfc.protocol.client import Client
from secfc.protocol.job.cases import LabelsOnly
from secfc.protocol.job.job import Job
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import make_job
from secfc.protocol.label_round import LabelRound
from secfc.protocol.labels import ClientLabels
from secfc.protocol.messages import RUN_ID_BYTES, SERVER, Assignment, CodedDistances, Message, RoundMessage
from secfc.protocol.messages.wire import decode, encode
from secfc.protocol.server import Server


@dataclass
class ServerView:
    """The server's view of each answered round; with "labels", what a coalition uses in its place.

    Attributes
    ----------
    questions : list of ndarray of shape (m,), int32
        The sets of its questions.
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


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A message between two parties with disclosure "labels", and its content after decryption."""

    message: RoundMessage
    data: bytes = field(repr=False)


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
    asked : list of Assignment
        The questions of all rounds as every client receives them, with disclosure "labels".
    mail : list of Opened
        Messages of all rounds, in order, with disclosure "labels".
    rounds : dict of (round, party) to LabelRound
        What each party keeps of a round, with disclosure "labels".
    liars : tuple of int
        Clients whose wrong answers were detected.
    """

    job: Job
    parties: list[Floats] = field(repr=False)
    clients: list[Client] = field(repr=False)
    server: ServerView = field(repr=False)
    refusal: str | None = None
    asked: list[Assignment] = field(default_factory=list, repr=False)
    mail: list[Opened] = field(default_factory=list, repr=False)
    rounds: dict[tuple[int, int], LabelRound] = field(default_factory=dict, repr=False)
    liars: tuple[int, ...] = ()

    @property
    def rows(self) -> Floats:
        """The rows of all parties, shape (m, d), which attackers want to learn."""
        return np.concatenate(self.parties)

    @property
    def labels(self) -> Labels:
        """The final labels of all rows, which every client receives, shape (m,)."""
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


class _Recorder:
    """A proxy between a server and its search that keeps questions and distances."""

    def __init__(self, search: Search, view: ServerView, job: Job) -> None:
        self._search, self._view, self._job = search, view, job
        self._current: Floats = np.empty(0)
        self._exact: Objects = np.empty(0, dtype=object)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._search, name)

    def add(self, rows: slice, distances: SquaredDistances) -> None:
        if self._current.size == 0:
            self._current = np.full((self._search.sets.size, self._job.k), np.nan)
            self._exact = np.zeros((self._search.sets.size, self._job.k), dtype=object)
        asked = np.flatnonzero(distances.sizes)
        self._exact[rows, asked] = distances.radix.integers(distances.digits[:, asked]).T
        self._current[rows, asked] = distances.values()[asked].T / 4.0**self._job.exponent
        self._search.add(rows, distances)

    def end_round(self) -> bool:
        self._view.questions.append(self._search.sets)
        self._view.distances.append(self._current)
        self._view.exact.append(self._exact)
        self._current = np.empty(0)
        return self._search.end_round()


class WatchedServer(Server):
    """A server that keeps what it receives."""

    def __init__(self, *, job: Job, session: Session, secret: MaskSource) -> None:
        super().__init__(job=job, session=session, secret=secret, search=self._recorder)
        self.view = ServerView()
        self._about: dict[int, tuple[int, ...]] = {}  # by round

    def _recorder(self, **given: Any) -> Search:
        return cast(Search, _Recorder(Search(**given), self.view, self._job))

    def receive(self, message: Message) -> list[Message]:
        """Take a message and keep an answer's residues."""
        if isinstance(message, CodedDistances):
            self._keep(message)
        caused = super().receive(message)
        self._about |= {one.round: one.asked for one in caused if isinstance(one, Assignment)}
        return caused

    def _keep(self, message: CodedDistances) -> None:
        while len(self.view.answers) < message.round:
            self.view.answers.append({})
        answers = self.view.answers[message.round - 1]
        rows = self.layout.parts(self._job).answer_rows(message.part)
        residues = unpack(message.residues.planes()).astype(np.int64)
        about = self._about[message.round]
        asked = list(about) or list(range(residues.shape[1]))
        if message.sender not in answers:
            made = np.zeros(
                (len(residues), self._job.k if about else len(asked), self.layout.m), dtype=np.int64
            )
            if about and message.sender in (before := self.view.answers[message.round - 2]):
                kept = before[message.sender]  # a server has them all the same
                made[:, : kept.shape[1]] = kept
            answers[message.sender] = made
        answers[message.sender][:, asked, rows] = residues


@contextmanager
def asked() -> Iterator[None]:
    """Let the server ask questions in all kinds of jobs: what is measured here is of these."""
    with patch("secfc.protocol.job.job.Job.is_program", False):
        yield


@asked()
def watch(
    parties: list[Floats],
    *,
    k: int,
    t: int,
    ell: int,
    seed: int | None = 0,
    limits: Limits | None = None,
    keys: int | None = None,
    notes: bool = True,
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
    notes : bool
        Whether to keep what parties hold of each round with disclosure "labels", beside questions.
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
    session = Session.of(job=job, roster=roster, run=octets(RUN_ID_BYTES))
    signer = Signer(session, coordinator)
    labels = isinstance(job.disclosure, LabelsOnly)
    server = WatchedServer(job=job, session=session, secret=MaskSource(octets(KEY_BYTES)))
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
    watched = Watched(job=job, parties=parties, clients=clients, server=server.view)
    post: deque[Message] = deque()
    for one in clients:
        post.extend(one.start())

    def carried(message: Message) -> Message:
        return decode(encode(message, k=job.k, signer=signer), k=job.k, session=session)

    try:
        while post:
            message = post.popleft()
            if message.recipient == SERVER:
                post.extend(server.receive(message))
                continue
            role = clients[message.recipient - 1]
            if labels and isinstance(message, Assignment) and message.round > len(server.view.questions):
                server.view.questions.append(labels_of(message.sets))
                watched.asked.append(message)
            message = carried(message)
            post.extend(role.receive(message))
            if labels and notes:
                _note(role, message, watched)
    except LimitError as error:
        watched.refusal = str(error)
    watched.liars = server.faults.liars
    return watched


def _note(client: Client, message: Message, watched: Watched) -> None:
    """Keep a client's state of a round, and the messages it decrypted."""
    phase = cast(Any, client.phase)  # the client's own memory
    if isinstance(message, Assignment):
        now = cast(ClientLabels, phase._disclosure)._round_now
        watched.rounds[message.round, client.number] = cast(LabelRound, now)
    elif isinstance(message, RoundMessage):
        data = phase._peers.all_channels[message.sender].open(
            message.purpose, part=message.place, sealed=message.sealed.payload, round_=message.round
        )
        before = DIGEST_BYTES if message.begins else 0
        watched.mail.append(Opened(message=message, data=data[before:]))
