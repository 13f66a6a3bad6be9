"""The server: asks for distances to the means of sets, decodes them, and moves the sets."""

from collections.abc import Sequence

import numpy as np

from secfc.errors import MessageError, ParameterError
from secfc.kernels import Choose, Kernels, choose
from secfc.kmeans.in_range import RangeCheck
from secfc.kmeans.search import Search, SearchResult
from secfc.params import Job
from secfc.protocol.checks import ShareChecks
from secfc.protocol.dealing import covers_of
from secfc.protocol.dispensable import check_dispensable
from secfc.protocol.gathering import Gathering
from secfc.protocol.introductions import Introductions
from secfc.protocol.iterating import Iterating, continue_with
from secfc.protocol.messages import (
    SERVER,
    CodedDistances,
    Evidence,
    Hello,
    LeaveOut,
    Message,
    Phase,
    Ready,
    Report,
    UnionOpening,
)
from secfc.protocol.phases.server_union import ServerUnion
from secfc.protocol.progress import Faults, Progress
from secfc.protocol.sizes import Sizes
from secfc.protocol.standing import stand, standing_of
from secfc.protocol.states import State
from secfc.protocol.turns import check_envelope
from secfc.protocol.unread import Pair, apart, open_pairs
from secfc.protocol.withholding import Carried, awaited_for_shares, preparing_late, withholding
from secfc.psu.plan import salt_of
from secfc.randomness import MaskSource
from secfc.row_layout import WINDOW, Layout
from secfc.sealing.handshake import Session


class Server:
    """The coordinating party without rows.

    Parameters
    ----------
    job : Job
    session : Session
    rng : numpy.random.Generator
        For public choices (the random start) only.
    secret : MaskSource, optional
        Where all that must not be guessed comes from: what wrong shares and answers are found by; a fresh
        one by default.
    prepares : bool
        Whether clients open means and deviations of all their values among themselves before they introduce
        themselves. Nobody can be left out then.
    salt : bytes of length 16, optional
        Of hashed IDs, as in `secfc.protocol.client.Client`.
    kernels : callable
        Gives kernels for a job's size.

    Attributes
    ----------
    state : State
    outcome : SearchResult or None
        Once the run has ended: what the clients are told.
    found : list of SearchResult
        One for each k that was compared, or the outcome alone.
    """

    def __init__(
        self,
        *,
        job: Job,
        session: Session,
        rng: np.random.Generator,
        secret: MaskSource | None = None,
        prepares: bool = False,
        salt: bytes | None = None,
        kernels: Choose = choose,
    ) -> None:
        self.state = State.IDENTIFY
        self.outcome: SearchResult | None = None
        self.found: list[SearchResult] = []
        self._job, self._session, self._run, self._rng = job, session, session.run, rng
        self._secret = secret or MaskSource()
        self._prepares, self._salt, self._choose = prepares, salt, kernels
        self._introductions = Introductions(job, session)
        self._ready = dict.fromkeys(range(1, job.n + 1), 0)  # parts of shares held, by client
        self._gathering = Gathering(job)
        self._checks: ShareChecks | None = None
        self._unread: list[Pair] = []  # in which nobody can tell who lies
        self._iterating: Iterating | None = None
        self._union: ServerUnion | None = None
        self._planned: Layout | None = None  # with the rows of those who are left out later

    def __repr__(self) -> str:
        return f"Server(state={self.state.value}, round={self._gathering.round})"

    @property
    def faults(self) -> Faults:
        """Who did not do its part, so far."""
        gathering = self._gathering
        return Faults(
            absent=tuple(sorted(gathering.absent)),
            left_out=tuple(sorted(gathering.left_out)),
            liars=tuple(sorted(gathering.liars)),
            cheats=tuple(sorted(self._checks.convicted)) if self._checks else (),
            unread=tuple(self._unread),
        )

    @property
    def sizes(self) -> Sizes:
        """How large the messages may be that come."""
        return Sizes(self._job, self._planned)

    @property
    def layout(self) -> Layout:
        """Which rows are whose; those left out have none. Known once every client has said Hello."""
        return self._layout

    @property
    def run(self) -> bytes:
        """Identifier of the run."""
        return self._run

    @property
    def responders(self) -> tuple[int, ...]:
        """With disclosure "distances" the clients that the round cannot do without; otherwise empty."""
        return self._gathering.responders

    @property
    def progress(self) -> Progress:
        """Where the run stands."""
        search = self._iterating.search if self._iterating else None
        history = search.current.history if search else []
        phase: Phase = "reveal" if self.state is State.DONE else self.state.value
        return Progress(
            phase=phase,
            waiting_for=self._gathering.waiting_for if self.state is State.ITERATE else len(self.awaited),
            round=self._gathering.round,
            iteration=len(history),
            moved=search.moved if search else 0,
            inertia=self._job.in_data_units(history[-1]) if history else None,
        )

    @property
    def awaited(self) -> tuple[int, ...]:
        """Clients whose message could let the server go on; `absent` tells it not to wait for one."""
        match self.state:
            case State.IDENTIFY:
                return tuple(j for j in self._gathering.members if j not in self._introductions)
            case State.UNION:
                return self._union.awaited if self._union else ()
            case State.SHARE | State.CHECK:
                return self._awaited_for_shares()
            case State.ITERATE:
                return self._gathering.awaited
        return ()

    def overdue(self, carried: Carried) -> tuple[int, ...]:
        """Whom to count as absent when everybody that is waited for has had the time to answer.

        A client that waits for what another has not sent it is not absent, but the other is.

        Parameters
        ----------
        carried : callable
            How many messages of a type, given by name, have been carried from one client to another.
        """
        if self._prepares and self.state is State.IDENTIFY:
            return preparing_late(self.awaited, n=self._job.n, carried=carried)
        if self._checks is None or self.state not in (State.SHARE, State.CHECK):
            return self.awaited
        return withholding(
            self.awaited,
            members=self._gathering.members,
            ready=self._ready,
            layout=self._layout,
            parts=self._parts,
            checks=self._checks,
            carried=carried,
        )

    def _awaited_for_shares(self) -> tuple[int, ...]:
        """Who is behind: others may wait for a part that is not asked for before these have the last one."""
        assert self._checks is not None
        return awaited_for_shares(self._gathering.members, self._ready, self._parts, self._checks)

    def receive(self, message: Message) -> list[Message]:
        """Take a message, return those it causes.

        Raises
        ------
        MessageError
            The message is refused and the server is unchanged.
        ParameterError
            The parties' rows do not fit the job.
        TooManyFaultsError
            The answers do not agree and no more are to come.
        RangeError
            A round's distances are larger than the public bound allows; nothing that depends on them is sent.
        """
        late = message.sender in self._gathering.left_out
        state = None if late else self.state
        check_envelope(message, run=self._run, me=SERVER, n=self._job.n, state=state)
        if late:
            return []  # on its way when its sender was left out
        match message:
            case Hello():
                self._introductions.take(message)
                return self._plan()
            case UnionOpening():
                return self._on_opening(message)
            case Ready():
                return self._on_ready(message)
            case Report() | Evidence():
                return self._on_testimony(message)
            case CodedDistances():
                return self._on_distances(message)
        raise AssertionError(type(message))

    def absent(self, client: int) -> list[Message]:
        """Wait for a client no longer: its time is up, or it is known to have gone.

        Before the first assignment it is left out for good, rows and all. Later its rows stay in, and it may
        come back: its next answer counts.

        Parameters
        ----------
        client : int
            1 to n.

        Raises
        ------
        TooManyFaultsError
            Too few clients are left.
        ParameterError
            No such client, or the rows of those who are left do not fit the job.
        """
        if not 1 <= client <= self._job.n:
            raise ParameterError(f"client: 1 to {self._job.n}, {client} was given")
        gathering = self._gathering
        if self.state is State.DONE or client in gathering.left_out or client in gathering.liars:
            return []
        if client in gathering.silent:
            return []
        if self.state is State.ITERATE:
            gathering.absent.add(client)
            assert self._iterating is not None
            # Masks cancel among the round's responders alone: the same is asked in a new round, of others.
            again = self._iterating.disclosure.asks_again(client, gathering)
            return self._iterated(self._iterating.ask() if again else self._iterating.advance())
        return self._leave_out(client, "absent")

    def standing(self) -> memoryview:
        """When it has just asked: where it stands, for a server that takes its place (`stand`)."""
        assert self._iterating is not None
        return standing_of(self._gathering, self._iterating.search, self._secret)

    def stand(self, state: bytes) -> list[Message]:
        """Stand where a server with the same secrets stood, which came as far as the first question by the
        same messages; what it asked there.
        """
        assert self._iterating is not None
        stand(state, self._gathering, self._iterating.search, self._secret)
        return self._iterating.questions()

    def _leave_out(self, client: int, reason: str) -> list[Message]:
        self._check_dispensable(client, reason)
        before = min(self._ready[j] for j in self._gathering.members)
        self._gathering.leave_out({client: reason})
        if self.state is State.IDENTIFY:
            self._introductions.drop(client)
            return self._plan()
        messages = self._told([client])
        if self.state is State.CHECK:
            assert self._checks is not None
            return messages + self._checks.drop(client, self._gathering.members) + self._checked()
        return messages + self._shared(before)

    def _check_dispensable(self, client: int, reason: str) -> None:
        check_dispensable(client, reason, job=self._job, state=self.state, prepares=self._prepares)

    def _told(self, clients: Sequence[int]) -> list[Message]:
        """Tell everybody, and them, who is left out."""
        members = self._gathering.members
        return [
            LeaveOut(run=self._run, sender=SERVER, recipient=j, client=client)
            for client in clients
            for j in range(1, self._job.n + 1)
            if j in members or j == client
        ]

    def _plan(self) -> list[Message]:
        """Tell everybody who holds how much, once everybody who is in has said so."""
        members = self._gathering.members
        if not all(j in self._introductions for j in members):
            return []
        if self._job.ids_cap is None:
            self._begin_sharing(self._introductions.layout())
        else:
            self._union = ServerUnion(
                job=self._job, run=self._run, salt=self._salt or salt_of(self._introductions.transcript)
            )
            self.state = State.UNION
        return [*self._introductions.plans(members)]

    def _on_opening(self, message: UnionOpening) -> list[Message]:
        assert self._union is not None
        messages = self._union.on_opening(message)
        if self._union.role.finished:
            self._begin_sharing(Layout((self._union.role.m,) * self._job.n, common=True))
            self._union = None
        return messages

    def _begin_sharing(self, layout: Layout) -> None:
        self._arrange(layout)
        self._planned = layout
        self._parts = self._layout.parts(self._job)
        self._checks = ShareChecks(
            job=self._job,
            session=self._session,
            transcript=self._introductions.transcript,
            secret=self._secret,
            planned=len(self._gathering.members),
            layout=layout,
            parts=self._parts,
        )
        self.state = State.SHARE

    def _arrange(self, layout: Layout) -> None:
        """Take this layout, if the modulus is large enough for any sets of its rows."""
        layout.check(self._job)
        if self._job.init == "labels":
            self._job.check_start(self._introductions.start(layout))
        self._layout = layout

    def _begin(self) -> list[Message]:
        """Everybody who is in holds everything: prepare to iterate, and ask for the first time."""
        job, left_out = self._job, self._gathering.left_out
        if left_out:
            self._arrange(self._layout.without(left_out))
            self._parts = self._layout.parts(job)
        kernels = self._choose(self._layout.answer_residues(job))
        self._iterating = Iterating(
            job=job,
            run=self._run,
            parts=self._parts,
            gathering=self._gathering,
            search=self._new_search(kernels),
            secret=self._secret,
            kernels=kernels,
        )
        self.state = State.ITERATE
        return self._iterating.ask()

    def _new_search(self, kernels: Kernels) -> Search:
        job = self._job
        return Search(
            m=self._layout.m,
            k=job.k,
            compared=job.compared,
            max_iter=job.max_iter,
            n_init=job.n_init,
            init=job.init,
            rng=self._rng,
            kernels=kernels,
            within=RangeCheck(radius=job.radius, layout=self._layout, max_liars=job.max_liars),
            start=self._introductions.start(self._layout) if job.init == "labels" else None,
            predict=job.predict,
        )

    def _on_ready(self, message: Ready) -> list[Message]:
        if message.part != self._ready[message.sender] or message.part >= self._parts.shares:
            raise MessageError(
                f"Ready: part {message.part} from client {message.sender}, which is at part "
                f"{self._ready[message.sender]} of {self._parts.shares}"
            )
        before = min(self._ready[j] for j in self._gathering.members)
        self._ready[message.sender] += 1
        return self._shared(before)

    def _shared(self, before: int) -> list[Message]:
        """Ask for the parts that everybody is ready for now and was not before; begin after the last."""
        assert self._checks is not None
        members, messages = self._gathering.members, list[Message]()
        after = min(self._ready[j] for j in members)
        for part in range(before, after):
            if self._checks.by_part:
                messages += self._checks.begin_part(part)
            else:
                messages += self._continue(part + WINDOW)
        if after < self._parts.shares:
            return messages
        if not covers_of(self._job):
            return self._begin()
        self.state = State.CHECK
        if self._checks.by_part:
            return messages
        return self._checks.begin(self._layout.without(self._gathering.left_out), members)

    def _on_testimony(self, message: Report | Evidence) -> list[Message]:
        assert self._checks is not None
        before = self._checks.settled
        messages = self._checks.receive(message, self._gathering.members)
        for part in range(before, self._checks.settled):
            messages += self._continue(part + WINDOW)
        return messages + self._checked()

    def _checked(self) -> list[Message]:
        """When no share is disputed any more, go on without those who lied about shares."""
        assert self._checks is not None
        if self.state is not State.CHECK or not self._checks.over:
            return []
        convicted, told = self._checks.convicted, list[Message]()
        if self._checks.by_part:
            for client, reason in convicted.items():
                self._gathering.exclude(client, reason)
        else:
            out = {j: reason for j, reason in convicted.items() if j in self._gathering.members}
            for client, reason in out.items():
                self._check_dispensable(client, reason)
            self._gathering.leave_out(out)
            told = self._told(sorted(out))
        unread = open_pairs(self._checks.unread, self._gathering.left_out)
        self._unread = open_pairs(unread, convicted)
        pairs = apart(self._unread)
        self._gathering.silence({recipient for _, recipient in unread}.union(*pairs), len(pairs))
        return told + self._begin()

    def _continue(self, part: int) -> list[Message]:
        """Ask everybody for another part of its shares, if there is one."""
        return continue_with(part, self._parts.shares, self._gathering, self._run)

    def _on_distances(self, message: CodedDistances) -> list[Message]:
        assert self._iterating is not None
        return self._iterated(self._iterating.take(message))

    def _iterated(self, messages: list[Message]) -> list[Message]:
        """Note the end after a step of the iterations that may be the last; what it sends."""
        assert self._iterating is not None
        if self._iterating.outcome is not None:
            self.found, self.outcome = self._iterating.search.found, self._iterating.outcome
            self.state = State.DONE
        return messages
