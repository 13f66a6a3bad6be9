"""The server: it carries the parties' messages, and runs the program as party 0."""

from collections.abc import Sequence

import numpy as np

from secfc.crypto.handshake import COIN_BYTES, Session, digest_of, transcript_of
from secfc.crypto.randomness import MaskSource
from secfc.errors import MessageError, ParameterError
from secfc.field.label_packing import labels_of
from secfc.kernels import Choose, choose
from secfc.kmeans.clustering import LabelResult
from secfc.protocol.gathering import Carried, Faults, Gathering, preparing_late
from secfc.protocol.job.job import Job
from secfc.protocol.job.row_layout import Layout, check_told, planned_rows
from secfc.protocol.messages import SERVER, Hello, Message, Plan
from secfc.protocol.messages.accepted import Sizes, check_envelope
from secfc.protocol.program.whole_run import Brought
from secfc.protocol.program.whose_rows import given_by
from secfc.protocol.progress import Progress
from secfc.protocol.server_program import ServerContext, ServerPhase, ServerProgram
from secfc.protocol.states import State
from secfc.sharing.rows import in_memory


class ServerIdentify(ServerPhase):
    """Until every party that takes part has introduced itself."""

    state = State.IDENTIFY

    def __init__(self, context: ServerContext) -> None:
        super().__init__(context)
        self._hellos: dict[int, Hello] = {}

    @property
    def progress(self) -> Progress:
        """The progress of the run."""
        return Progress(phase="identify", waiting_for=len(self.awaited))

    @property
    def awaited(self) -> tuple[int, ...]:
        """Parties that have not introduced themselves."""
        gathering = self.context.gathering
        there = [j for j in gathering.everybody if j not in gathering.absent]
        return tuple(j for j in there if j not in self._hellos)

    def overdue(self, carried: Carried) -> tuple[int, ...]:
        """While rows are prepared, the parties that must act."""
        if not self.context.gathering.prepares:
            return self.awaited
        return preparing_late(self.awaited, n=self.context.job.n, carried=carried)

    def step(self, message: Message) -> list[Message]:
        """Take a party's first introduction."""
        assert isinstance(message, Hello)
        self._check(message)
        self._hellos[message.sender] = message
        return []

    def absent(self, client: int) -> list[Message]:
        """Leave it out of the plan."""
        if client <= self.context.job.n:
            self.context.gathering.leave_out({client: "absent"}, planned=False)
        self._hellos.pop(client, None)
        return []

    def _check(self, message: Hello) -> None:
        """Raise MessageError for a second one, or for a wrong agreement, signature or field."""
        job, session = self.context.job, self.context.session
        introduction = message.introduction
        if message.sender in self._hellos:
            raise MessageError(f"Hello: a second one from client {message.sender}")
        if message.agreement != session.agreement:
            told, own = message.agreement.hex(), session.agreement.hex()
            raise MessageError(
                f"Hello: client {message.sender} agreed on another job or roster, digest {told[:16]}; the "
                f"server's is {own[:16]}"
            )
        introduction.verify(session, message.sender)
        check_told(job, message.sender, introduction, kind="Hello")
        size = 0 if message.start is None else message.start.size
        if size != (introduction.rows if job.method.init == "labels" else 0):
            raise MessageError(
                f"Hello: {size} start labels for {introduction.rows} rows from client "
                f"{message.sender}, init={job.method.init!r}"
            )
        start = np.empty(0, dtype=np.int32) if message.start is None else labels_of(message.start)
        if start.min(initial=0) < job.least_label:
            raise MessageError(f"Hello: a row of client {message.sender} has no start label")
        if job.hides_start and start.max(initial=0) > 0:
            raise MessageError(
                f"Hello: client {message.sender} tells labels of its rows, which it must keep to itself"
            )
        weights = np.empty(0, dtype=np.int64) if message.weights is None else message.weights
        if weights.size != (introduction.rows if job.rows.weighted else 0):
            raise MessageError(
                f"Hello: {weights.size} weights for {introduction.rows} rows from client {message.sender}, "
                f"weighted={job.rows.weighted}"
            )
        if (digest_of(start), digest_of(weights)) != (introduction.start, introduction.weights):
            raise MessageError(f"Hello: client {message.sender} signed other start labels or weights")

    def plan(self) -> tuple[ServerProgram, list[Plan]]:
        """The program that follows, and the plan for every party that introduced itself."""
        context, job, session = self.context, self.context.job, self.context.session
        hellos = [hello for _, hello in sorted(self._hellos.items())]
        present = {hello.sender: hello.introduction for hello in hellos}
        weights = [hello.weights for hello in hellos if hello.weights is not None]
        starts = [labels_of(hello.start) for hello in hellos if hello.start is not None]
        counts = tuple(present[j].rows if j in present else 0 for j in range(1, job.n + 1))
        planned = planned_rows(job, Layout(counts, weights=np.concatenate(weights) if weights else None))
        start = np.concatenate(starts) if starts else None
        transcript = transcript_of(session, present)
        brought = Brought(
            run=session.run,
            rows=given_by(job, [], in_memory, transcript=transcript, salt=context.salt),
            value=b"" if job.comparers else context.secret.octets(COIN_BYTES),
            commitments={j: present[j].commitment for j in job.comparers},
            start=start,
            smallest=max(one.smallest for one in present.values()),
        )
        introductions = tuple(present.get(j) for j in range(1, job.parties + 1))
        plans = [
            Plan(
                run=session.run,
                recipient=j,
                introductions=introductions,
                weights=planned.weights,
                start=start,
            )
            for j in present
        ]
        return ServerProgram(context, transcript, brought, planned), plans


class Server:
    """The coordinating party, which has no rows.

    Everything that must be unpredictable comes from `secret`, by default a fresh source: coefficients that
    find wrong shares and answers, and public choices that follow neither from the job's seed nor from a coin.
    With `prepares`, clients open means and deviations of all their values before they introduce themselves,
    and then no client can be left out. For `salt` see `secfc.protocol.client.Client`.
    """

    def __init__(
        self,
        *,
        job: Job,
        session: Session,
        secret: MaskSource | None = None,
        prepares: bool = False,
        salt: bytes | None = None,
        kernels: Choose = choose,
    ) -> None:
        self.gathering, self._job, self.run = Gathering(job, prepares=prepares), job, session.run
        self._sizes = Sizes(job)
        context = ServerContext(
            job=job,
            session=session,
            secret=secret or MaskSource(),
            salt=salt,
            kernels=kernels,
            gathering=self.gathering,
        )
        self.phase: ServerIdentify | ServerProgram = ServerIdentify(context)

    def __repr__(self) -> str:
        return f"Server(state={self.state.value}, round={self.gathering.round})"

    @property
    def state(self) -> State:
        """The state of its phase."""
        return self.phase.state

    @property
    def outcome(self) -> LabelResult | None:
        """The result sent to the clients, once the run has ended."""
        return self.phase.outcome

    @property
    def found(self) -> Sequence[LabelResult]:
        """Once the run has ended: a result for each k that was compared, or the outcome alone."""
        return self.phase.found

    @property
    def faults(self) -> Faults:
        """Clients that did not do their part so far."""
        gathering, phase = self.gathering, self.phase
        return Faults(
            absent=tuple(sorted(gathering.absent)),
            left_out=tuple(sorted(gathering.left_out)),
            liars=phase.liars,
            cheats=phase.cheats,
            unread=phase.unread,
            claimed=phase.claimed,
        )

    @property
    def sizes(self) -> Sizes:
        """Size limits of incoming messages."""
        if self._sizes.planned is not self.phase.planned:
            self._sizes = Sizes(self._job, self.phase.planned)
        return self._sizes

    @property
    def layout(self) -> Layout:
        """The rows of each client. Clients left out have none. Before the rows are known all have none."""
        return self.phase.layout

    @property
    def progress(self) -> Progress:
        """The progress of the run."""
        return self.phase.progress

    @property
    def awaited(self) -> tuple[int, ...]:
        """Clients whose message could let the server continue. `absent` stops waiting for one."""
        return self.phase.awaited

    def overdue(self, carried: Carried) -> tuple[int, ...]:
        """Clients to count as absent once all awaited clients have had time to answer.

        If a client waits for something that another has not sent it, the other is absent.
        """
        return self.phase.overdue(carried)

    def receive(self, message: Message) -> list[Message]:
        """Take a message, and return the messages to send.

        A MessageError refuses it and leaves the server unchanged. TooManyFaultsError when the answers do not
        agree and no more can come, RangeError when a round's distances are larger than the public bound
        allows. Nothing that depends on these distances is sent.
        """
        gathering, sender = self.gathering, message.sender
        late = sender in gathering.left_out
        state = None if late else self.state
        check_envelope(message, run=self.run, me=SERVER, job=self._job, state=state)
        if late:
            return []  # sent before its sender was left out or counted as absent
        return self._with_plan(self.phase.step(message))

    def absent(self, client: int) -> list[Message]:
        """Stop waiting for a client or helper: its time is up, or it is known to have gone.

        While rows are shared, the client is left out for the rest of the run, with its rows. Later its
        rows stay in, and it may come back: its next answer counts. Raises TooManyFaultsError when too few are
        left or it compares, ParameterError when the remaining rows do not fit the job.
        """
        if not 1 <= client <= self._job.parties:
            raise ParameterError(f"client: 1 to {self._job.parties}, {client} was given")
        gathering = self.gathering
        if self.state is State.DONE or client in gathering.left_out or client in gathering.liars:
            return []
        if client > self._job.n and self.state is not State.ITERATE:
            gathering.absent.add(client)
            gathering.require_comparers()
            if self.state is not State.IDENTIFY:
                return []  # it takes no part before rows are shared
        return self._with_plan(self.phase.absent(client))

    def _with_plan(self, messages: list[Message]) -> list[Message]:
        """The messages to send, with the plan once every party has introduced itself."""
        if isinstance(self.phase, ServerProgram) or self.phase.awaited:
            return messages
        self.phase, plans = self.phase.plan()
        return [*plans, *self.phase.first()]
