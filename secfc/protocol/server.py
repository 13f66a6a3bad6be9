"""The server: asks for distances to the means of sets, decodes them, and moves the sets."""

from dataclasses import dataclass

import numpy as np

from secfc._arrays import Labels
from secfc.errors import MessageError
from secfc.field.mixed_radix import MixedRadix
from secfc.field.packing import PackedResidues
from secfc.kernels import choose
from secfc.kmeans.compare import SquaredDistances
from secfc.kmeans.search import Clustering, Search
from secfc.params import WINDOW, Job, Layout, primes_of
from secfc.protocol.disclosure import Decoder, ResidueError
from secfc.protocol.messages import (
    SERVER,
    Assignment,
    CodedDistances,
    Continue,
    Finish,
    Hello,
    Message,
    Phase,
    Plan,
    Ready,
    UnionOpening,
)
from secfc.protocol.states import State, check_envelope
from secfc.protocol.union import ServerUnion
from secfc.sealing.handshake import Session, start_digest

_BLOCK_ELEMENTS = 1 << 16
"""Distances decoded at a time. Their digits, 8 bytes for each prime, pass an L2 cache of 1 MiB;
smaller blocks lose more in Python than they win."""


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
    session : Session
    rng : numpy.random.Generator
        For public choices (the random start) only.

    Attributes
    ----------
    state : State
    outcome : Clustering or None
        Once the run has ended.
    """

    def __init__(self, *, job: Job, session: Session, rng: np.random.Generator) -> None:
        self.state = State.IDENTIFY
        self.outcome: Clustering | None = None
        self._job, self._session, self._run, self._rng = job, session, session.run, rng
        self._hellos: dict[int, Hello] = {}
        self._ready = dict.fromkeys(range(1, job.n + 1), 0)  # parts of shares held, by client
        self._expected = dict.fromkeys(range(1, job.n + 1), (1, 0))  # round and part to come, by client
        self._answers: dict[int, dict[int, PackedResidues]] = {}  # by part, then client
        self._decoded = 0  # parts of this round
        self._round = 0
        self._search: Search | None = None
        self._union: ServerUnion | None = None

    def __repr__(self) -> str:
        return f"Server(state={self.state.value}, round={self._round})"

    @property
    def progress(self) -> Progress:
        """Where the run stands."""
        history = self._search.current.history if self._search else []
        phase: Phase = "reveal" if self.state is State.DONE else self.state.value
        waiting = {
            State.IDENTIFY: self._job.n - len(self._hellos),
            State.UNION: self._union.waiting_for if self._union else 0,
            State.SHARE: self._waiting_for_shares(),
            State.ITERATE: self._job.threshold - len(self._answers.get(self._decoded, {})),
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

    def _waiting_for_shares(self) -> int:
        return sum(count < self._parts.shares for count in self._ready.values()) if self._search else 0

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
            case UnionOpening():
                return self._on_opening(message)
            case Ready():
                return self._on_ready(message)
            case CodedDistances():
                return self._on_distances(message)
        raise AssertionError(type(message))

    def _on_hello(self, message: Hello) -> list[Message]:
        introduction = message.introduction
        if message.sender in self._hellos:
            raise MessageError(f"Hello: a second one from client {message.sender}")
        if message.agreement != self._session.agreement:
            raise MessageError(
                f"Hello: client {message.sender} agreed on another job or roster, digest "
                f"{_shown(message.agreement)}; the server's is {_shown(self._session.agreement)}"
            )
        introduction.verify(self._session, message.sender)
        if self._job.ids_cap is not None and introduction.rows:
            raise MessageError(
                f"Hello: client {message.sender} tells a number of rows, which membership privacy hides"
            )
        if (message.start is None) == (self._job.init == "labels"):
            given = "no" if message.start is None else "given"
            raise MessageError(
                f"Hello: {given} start labels from client {message.sender}, init={self._job.init!r}"
            )
        if message.start is not None:
            if message.start.size != introduction.rows:
                raise MessageError(
                    f"Hello: {message.start.size} start labels for {introduction.rows} rows "
                    f"from client {message.sender}"
                )
            if message.start.size and message.start.min() < 0:
                raise MessageError(f"Hello: a row of client {message.sender} has no start label")
        if start_digest(message.start) != introduction.start:
            raise MessageError(f"Hello: client {message.sender} signed other start labels")
        self._hellos[message.sender] = message
        if len(self._hellos) < self._job.n:
            return []
        introductions = tuple(self._hellos[j].introduction for j in range(1, self._job.n + 1))
        if self._job.ids_cap is None:
            self._begin_sharing(Layout(tuple(one.rows for one in introductions)))
        else:
            self._union = ServerUnion(job=self._job, run=self._run)
            self.state = State.UNION
        return [
            Plan(run=self._run, sender=SERVER, recipient=j, introductions=introductions)
            for j in range(1, self._job.n + 1)
        ]

    def _on_opening(self, message: UnionOpening) -> list[Message]:
        assert self._union is not None
        messages = self._union.on_opening(message)
        if self._union.role.finished:
            self._begin_sharing(Layout((self._union.role.m,) * self._job.n, common=True))
            self._union = None
        return messages

    def _begin_sharing(self, layout: Layout) -> None:
        self._layout = layout
        # The modulus is large enough for any sets of these rows, or the run ends before a share is made.
        self._layout.check(self._job)
        self._parts = self._layout.parts(self._job)
        self._kernels = choose(self._layout.answer_residues(self._job))
        self._decoder = Decoder(self._job, self._kernels)
        self._search = self._new_search()
        self.state = State.SHARE

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
            kernels=self._kernels,
            start=start,
        )

    def _on_ready(self, message: Ready) -> list[Message]:
        if message.part != self._ready[message.sender] or message.part >= self._parts.shares:
            raise MessageError(
                f"Ready: part {message.part} from client {message.sender}, which is at part "
                f"{self._ready[message.sender]} of {self._parts.shares}"
            )
        self._ready[message.sender] += 1
        done = min(self._ready.values())
        if done <= message.part:
            return []
        if done == self._parts.shares:
            self.state = State.ITERATE
            return self._ask()
        return self._continue(message.part + WINDOW, self._parts.shares)

    def _continue(self, part: int, parts: int) -> list[Message]:
        """Ask everybody for another part, if there is one."""
        if part >= parts:
            return []
        return [
            Continue(run=self._run, sender=SERVER, recipient=j, round=self._round, part=part)
            for j in range(1, self._job.n + 1)
        ]

    def _ask(self) -> list[Message]:
        assert self._search is not None
        self._round += 1
        self._decoded = 0
        self._answers = {}
        self._primes = primes_of(self._job.residues(int(self._search.sizes().max())))
        return [
            Assignment(run=self._run, sender=SERVER, recipient=j, round=self._round, sets=self._search.sets)
            for j in range(1, self._job.n + 1)
        ]

    def _on_distances(self, message: CodedDistances) -> list[Message]:
        round_, part = self._expected[message.sender]
        if (message.round, message.part) != (round_, part) or message.round > self._round:
            raise MessageError(
                f"CodedDistances: part {message.part} of round {message.round} from client {message.sender}, "
                f"part {part} of round {round_} is next; the server is in round {self._round}"
            )
        following = (round_, part + 1) if part + 1 < self._parts.answers else (round_ + 1, 0)
        if self.state is State.DONE or (round_, part) < (self._round, self._decoded):
            # Late: the server went on with R other answers.
            self._expected[message.sender] = following
            return []
        rows = self._parts.answer_rows(part)
        expected = (len(self._primes), self._job.k, rows.stop - rows.start)
        if message.residues.shape != expected:
            raise MessageError(
                f"CodedDistances: of shape {message.residues.shape} from client {message.sender}, "
                f"expected {expected}"
            )
        self._expected[message.sender] = following
        answers = self._answers.setdefault(part, {})
        answers[message.sender] = message.residues
        # A client sends its parts in order, so the R-th answers of the parts arrive in order too.
        if len(answers) < self._job.threshold:
            return []
        try:
            self._decode(part)
        except ResidueError as error:
            # Found where it is cheap, while decoding. The client's answers from this part on are dropped, so
            # that it can send them again; the part waits for that, or for another client's answer.
            for later in self._answers.values():
                later.pop(error.client, None)
            self._expected[error.client] = (round_, part)
            raise
        if self._decoded < self._parts.answers:
            return self._continue(part + WINDOW, self._parts.answers)
        assert self._search is not None
        return self._ask() if self._search.end_round() else self._finish()

    def _decode(self, part: int) -> None:
        """Decode a part that R clients have answered, block by block, and let go of the answers."""
        assert self._search is not None
        answers = {j: residues.planes() for j, residues in self._answers[part].items()}
        sizes, radix = self._search.sizes(), MixedRadix(self._primes)
        first = self._parts.answer_rows(part)
        step = max(1, _BLOCK_ELEMENTS // self._job.k)
        for start in range(0, first.stop - first.start, step):
            stop = min(start + step, first.stop - first.start)
            residues = self._decoder.decode(answers, start, stop, self._primes)
            distances = SquaredDistances(residues=residues, radix=radix, sizes=sizes)
            self._search.add(slice(first.start + start, first.start + stop), distances)
        self._decoded = part + 1
        del self._answers[part]

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


def _shown(digest: bytes) -> str:
    """Enough of a digest for people to compare."""
    return digest[:8].hex()
