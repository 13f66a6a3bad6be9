"""The server: asks for distances to the means of sets, decodes them, and moves the sets."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from secfc._arrays import Labels
from secfc.errors import MessageError
from secfc.field.mixed_radix import MixedRadix
from secfc.field.packing import PackedResidues
from secfc.kmeans.compare import SquaredDistances
from secfc.kmeans.search import Clustering, Search
from secfc.params import Job, Layout, primes_of
from secfc.protocol.disclosure import Decoder
from secfc.protocol.messages import (
    SERVER,
    Assignment,
    CodedDistances,
    Finish,
    Hello,
    Message,
    Phase,
    Plan,
    Ready,
)
from secfc.protocol.states import State, check_envelope

_BLOCK_ELEMENTS = 1 << 16
"""Distances decoded at a time: R unpacked answers of a block stay within a few MiB."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Where a run stands, for a person who watches it.

    Attributes
    ----------
    phase : str
    waiting_for : int
        Clients whose message the server still needs to go on.
    round, iteration : int
        Questions asked; iterations ended in the current start.
    moved : int
        Rows whose label changed in the last iteration.
    inertia : float or None
        Of the last iteration, in the data's units squared.
    """

    phase: Phase
    waiting_for: int
    round: int
    iteration: int
    moved: int
    inertia: float | None


class Server:
    """The coordinating party without rows.

    Parameters
    ----------
    job : Job
    run : bytes of length 16
    rng : numpy.random.Generator
        For public choices (the random start) only.

    Attributes
    ----------
    state : State
    outcome : Clustering or None
        Once the run has ended.
    """

    def __init__(self, *, job: Job, run: bytes, rng: np.random.Generator) -> None:
        self.state = State.IDENTIFY
        self.outcome: Clustering | None = None
        self._job, self._run, self._rng = job, run, rng
        self._decoder = Decoder(job)
        self._hellos: dict[int, Hello] = {}
        self._ready: set[int] = set()
        self._answers: dict[int, PackedResidues] = {}
        self._last_round = dict.fromkeys(range(1, job.n + 1), 0)
        self._round = 0
        self._search: Search | None = None

    def __repr__(self) -> str:
        return f"Server(state={self.state.value}, round={self._round})"

    @property
    def progress(self) -> Progress:
        """Where the run stands."""
        history = self._search.current.history if self._search else []
        phase: Phase = "reveal" if self.state is State.DONE else self.state.value
        waiting = {
            State.IDENTIFY: self._job.n - len(self._hellos),
            State.SHARE: self._job.n - len(self._ready),
            State.ITERATE: self._job.threshold - len(self._answers),
            State.DONE: 0,
        }
        return Progress(
            phase=phase,
            waiting_for=waiting[self.state],
            round=self._round,
            iteration=len(history),
            moved=self._search.moved if self._search else 0,
            inertia=self._job.in_data_units(history[-1]) if history else None,
        )

    def receive(self, message: Message) -> list[Message]:
        """Take a message, return those it causes.

        Raises
        ------
        MessageError
            The message is refused and the server is unchanged.
        ParameterError
            The parties' rows do not fit the job.
        """
        check_envelope(message, run=self._run, me=SERVER, n=self._job.n, state=self.state)
        match message:
            case Hello():
                return self._on_hello(message)
            case Ready():
                return self._on_ready(message)
            case CodedDistances():
                return self._on_distances(message)
        raise AssertionError(type(message))

    def _on_hello(self, message: Hello) -> list[Message]:
        if message.sender in self._hellos:
            raise MessageError(f"Hello: a second one from client {message.sender}")
        if (message.start is None) == (self._job.init == "labels"):
            given = "no" if message.start is None else "given"
            raise MessageError(
                f"Hello: {given} start labels from client {message.sender}, init={self._job.init!r}"
            )
        if message.start is not None:
            if message.start.size != message.rows:
                raise MessageError(
                    f"Hello: {message.start.size} start labels for {message.rows} rows "
                    f"from client {message.sender}"
                )
            if message.start.size and message.start.min() < 0:
                raise MessageError(f"Hello: a row of client {message.sender} has no start label")
        self._hellos[message.sender] = message
        if len(self._hellos) < self._job.n:
            return []
        self._layout = Layout(tuple(self._hellos[j].rows for j in range(1, self._job.n + 1)))
        # The modulus is large enough for any sets of these rows, or the run ends before a share is made.
        self._layout.check(self._job)
        self._search = self._new_search()
        self.state = State.SHARE
        return [
            Plan(run=self._run, sender=SERVER, recipient=j, counts=self._layout.counts)
            for j in range(1, self._job.n + 1)
        ]

    def _new_search(self) -> Search:
        job = self._job
        start: Labels | None = None
        if job.init == "labels":
            parts = [self._hellos[j].start for j in range(1, job.n + 1)]
            start = np.concatenate([part for part in parts if part is not None])
            job.check_start(start)
        return Search(
            m=self._layout.m,
            k=job.k,
            max_iter=job.max_iter,
            n_init=job.n_init,
            separation=job.init == "separation",
            rng=self._rng,
            start=start,
        )

    def _on_ready(self, message: Ready) -> list[Message]:
        if message.sender in self._ready:
            raise MessageError(f"Ready: a second one from client {message.sender}")
        self._ready.add(message.sender)
        if len(self._ready) < self._job.n:
            return []
        self.state = State.ITERATE
        return self._ask()

    def _ask(self) -> list[Message]:
        assert self._search is not None
        self._round += 1
        self._answers = {}
        sizes = self._search.sizes()
        self._primes = primes_of(self._job.residues(int(sizes.max())))
        return [
            Assignment(run=self._run, sender=SERVER, recipient=j, round=self._round, sets=self._search.sets)
            for j in range(1, self._job.n + 1)
        ]

    def _on_distances(self, message: CodedDistances) -> list[Message]:
        if not self._last_round[message.sender] < message.round <= self._round:
            raise MessageError(
                f"CodedDistances: round {message.round} from client {message.sender}, which answered round "
                f"{self._last_round[message.sender]}; the server is in round {self._round}"
            )
        if message.round < self._round or self.state is State.DONE:
            # Late: the round went on with R other answers.
            self._last_round[message.sender] = message.round
            return []
        expected = (len(self._primes), self._layout.m, self._job.k)
        if message.residues.shape != expected:
            raise MessageError(
                f"CodedDistances: of shape {message.residues.shape} from client {message.sender}, "
                f"expected {expected}"
            )
        message.residues.check(self._primes)
        self._last_round[message.sender] = message.round
        self._answers[message.sender] = message.residues
        if len(self._answers) < self._job.threshold:
            return []
        assert self._search is not None
        if self._search.advance(self._decoded()):
            return self._ask()
        return self._finish()

    def _decoded(self) -> Iterator[tuple[slice, SquaredDistances]]:
        """The round's distances, block by block."""
        assert self._search is not None
        sizes = self._search.sizes()
        radix = MixedRadix(self._primes)
        step = max(1, _BLOCK_ELEMENTS // self._job.k)
        for start in range(0, self._layout.m, step):
            rows = slice(start, min(start + step, self._layout.m))
            residues = self._decoder.decode(self._answers, rows, self._primes)
            yield rows, SquaredDistances(digits=radix.digits(residues), radix=radix, sizes=sizes)

    def _finish(self) -> list[Message]:
        assert self._search is not None
        best = self._search.best
        assert best is not None
        self.outcome, self._answers = best, {}
        self.state = State.DONE
        return [
            Finish(
                run=self._run,
                sender=SERVER,
                recipient=j,
                labels=best.labels,
                n_iter=best.n_iter,
                converged=best.converged,
                inertia=self._job.in_data_units(best.inertia),
            )
            for j in range(1, self._job.n + 1)
        ]
