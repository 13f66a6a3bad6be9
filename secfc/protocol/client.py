"""A client: shares its rows, then answers each assignment with coded distances."""

import numpy as np

from secfc._arrays import Floats, Labels, Shares
from secfc.errors import LimitError, MessageError, ParameterError
from secfc.field.fixed_point import quantise
from secfc.field.packing import PackedResidues
from secfc.field.primes import PRIMES
from secfc.field.residues import reduce
from secfc.kmeans.coded_distance import coded_distances, row_blocks, share_norms
from secfc.kmeans.search import set_sizes
from secfc.lagrange.basis import lagrange_basis
from secfc.lagrange.points import evaluation_points
from secfc.lagrange.sharing import share, split
from secfc.params import Job, Layout, Limits, primes_of
from secfc.protocol.messages import (
    SERVER,
    Assignment,
    CodedDistances,
    Finish,
    Hello,
    Message,
    Plan,
    Ready,
    Share,
)
from secfc.protocol.states import State, check_envelope
from secfc.randomness import MaskSource
from secfc.rows import check_labels, check_rows


class Client:
    """One party with rows.

    Parameters
    ----------
    number : int
        1 to n.
    rows : ndarray of shape (m_j, d), float64
        The party's own rows, m_j >= 0; dropped once they are shared.
    job : Job
    run : bytes of length 16
        Identifier of the run.
    masks : MaskSource
    limits : Limits, optional
    start : ndarray of shape (m_j,), integer, optional
        Start labels of its rows, when ``job.init`` is "labels".
    name : str, optional
        What errors call this party.

    Attributes
    ----------
    state : State
    labels : ndarray of shape (m_j,), int32, or None
        Of its own rows, once the run has ended.

    Raises
    ------
    DataError
        When its rows cannot be used.
    """

    def __init__(
        self,
        *,
        number: int,
        rows: Floats,
        job: Job,
        run: bytes,
        masks: MaskSource,
        limits: Limits | None = None,
        start: Labels | None = None,
        name: str | None = None,
    ) -> None:
        name = name or f"client {number}"
        check_rows(rows, name=name, d=job.d, bound=job.bound)
        if start is not None:
            check_labels(start, name=name, m=rows.shape[0], k=job.k)
        self.number = number
        self.state = State.IDENTIFY
        self.labels: Labels | None = None
        self._rows: Floats | None = rows
        self._m = rows.shape[0]
        self._start = start
        self._job, self._run, self._masks = job, run, masks
        self._limits = limits or Limits()
        self._early: dict[int, Share] = {}
        self._received: set[int] = set()
        self._round = 0

    def __repr__(self) -> str:
        return f"Client(number={self.number}, state={self.state.value})"

    def start(self) -> list[Message]:
        """The first message: how many rows it holds."""
        hello = Hello(run=self._run, sender=self.number, recipient=SERVER, rows=self._m, start=self._start)
        return [hello]

    def receive(self, message: Message) -> list[Message]:
        """Take a message, return those it causes.

        Raises
        ------
        MessageError
            The message is refused and the client is unchanged.
        LimitError
            The server asks for what this client's limits forbid.
        """
        check_envelope(message, run=self._run, me=self.number, n=self._job.n, state=self.state)
        match message:
            case Plan():
                return self._on_plan(message)
            case Share():
                return self._on_share(message)
            case Assignment():
                return self._on_assignment(message)
            case Finish():
                return self._on_finish(message)
        raise AssertionError(type(message))

    def _on_plan(self, plan: Plan) -> list[Message]:
        if len(plan.counts) != self._job.n:
            raise MessageError(f"Plan: {len(plan.counts)} clients, the job has {self._job.n}")
        if plan.counts[self.number - 1] != self._m:
            raise MessageError(
                f"Plan: {plan.counts[self.number - 1]} rows for client {self.number}, it holds {self._m}"
            )
        layout = Layout(plan.counts)
        try:
            layout.check(self._job)
        except ParameterError as error:
            raise MessageError(f"Plan: {error}") from None
        primes = primes_of(self._job.residues(layout.m))
        for held in self._early.values():
            self._check_share(held, layout, primes)
        self._layout, self._primes = layout, primes
        early, self._early = self._early, {}
        self._shares: Shares = np.empty((len(primes), layout.m, self._job.width), dtype=np.float32)
        messages = self._share_rows()
        for held in early.values():
            self._keep(held)
        self.state = State.SHARE
        return messages + self._ready()

    def _share_rows(self) -> list[Message]:
        """Quantise, mask and encode the own rows; keep the own share, send the others theirs."""
        job = self._job
        assert self._rows is not None
        rows, self._rows = self._rows, None
        own = self._layout.rows(self.number)
        others = [j for j in range(1, job.n + 1) if j != self.number]
        shape = (len(self._primes), self._m, job.width)
        packed = {j: PackedResidues.empty(shape) for j in others}
        for index, p in enumerate(self._primes):
            points = evaluation_points(PRIMES[index], n=job.n, coded=job.ell + job.t)
            basis = lagrange_basis(points.beta, points.alpha, p)
            for block in row_blocks(self._m, job.n * job.width):
                segments = split(reduce(quantise(rows[block], job.exponent), p), job.ell)
                masks = self._masks.uniform(p, (job.t, *segments.shape[1:]))
                shares = share(segments, masks, basis, p)
                for j in others:
                    packed[j].write(index, block, shares[j - 1], p)
                self._shares[index, own.start + block.start : own.start + block.stop] = shares[
                    self.number - 1
                ]
        return [Share(run=self._run, sender=self.number, recipient=j, residues=packed[j]) for j in others]

    def _on_share(self, message: Share) -> list[Message]:
        if message.sender in self._received or message.sender in self._early:
            raise MessageError(f"Share: a second one from client {message.sender}")
        if self.state is State.IDENTIFY:
            self._early[message.sender] = message
            return []
        self._check_share(message, self._layout, self._primes)
        self._keep(message)
        return self._ready()

    def _check_share(self, message: Share, layout: Layout, primes: tuple[int, ...]) -> None:
        expected = (len(primes), layout.counts[message.sender - 1], self._job.width)
        if message.residues.shape != expected:
            raise MessageError(
                f"Share: of shape {message.residues.shape} from client {message.sender}, expected {expected}"
            )
        message.residues.check(primes)

    def _keep(self, message: Share) -> None:
        rows = self._layout.rows(message.sender)
        for index, p in enumerate(self._primes):
            for block in row_blocks(rows.stop - rows.start, self._job.width):
                residues = reduce(message.residues.read(index, block), p)
                self._shares[index, rows.start + block.start : rows.start + block.stop] = residues
        self._received.add(message.sender)

    def _ready(self) -> list[Message]:
        """Once every other client's shares are here, say so."""
        if len(self._received) < self._job.n - 1:
            return []
        self._norms = [share_norms(self._shares[i], p) for i, p in enumerate(self._primes)]
        self.state = State.ITERATE
        return [Ready(run=self._run, sender=self.number, recipient=SERVER)]

    def _on_assignment(self, message: Assignment) -> list[Message]:
        if message.round != self._round + 1:
            raise MessageError(f"Assignment: round {message.round} after round {self._round}")
        if message.sets.size != self._layout.m:
            raise MessageError(f"Assignment: of {message.sets.size} rows, the parties hold {self._layout.m}")
        sizes = set_sizes(message.sets, self._job.k)
        largest = int(sizes.max())
        if largest == 0:
            raise MessageError("Assignment: every set is empty")
        self._enforce(sizes[sizes > 0].min(), message.round)
        self._round = message.round
        primes = self._primes[: self._job.residues(largest)]
        answer = PackedResidues.empty((len(primes), self._layout.m, self._job.k))
        for index, p in enumerate(primes):
            coded_distances(
                self._shares[index], self._norms[index], message.sets, sizes, p, prime=index, answer=answer
            )
        return [
            CodedDistances(
                run=self._run, sender=self.number, recipient=SERVER, round=message.round, residues=answer
            )
        ]

    def _enforce(self, smallest: int, round_: int) -> None:
        if smallest < self._limits.smallest_set:
            raise LimitError(
                f"client {self.number} answers for sets of at least {self._limits.smallest_set} rows, "
                f"round {round_} has one of {smallest}"
            )
        most = min(self._limits.most_rounds or self._job.max_rounds, self._job.max_rounds)
        if round_ > most:
            raise LimitError(
                f"client {self.number} answers {most} rounds, the server asks for round {round_}"
            )

    def _on_finish(self, message: Finish) -> list[Message]:
        if message.labels.size != self._layout.m:
            raise MessageError(
                f"Finish: labels of {message.labels.size} rows, the parties hold {self._layout.m}"
            )
        if message.labels.min() < 0:
            raise MessageError("Finish: a row has no label")
        self.labels = message.labels[self._layout.rows(self.number)]
        self.state = State.DONE
        return []
