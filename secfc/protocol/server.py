"""The server: it carries the parties' messages, and runs the program as party 0."""

from collections.abc import Sequence

from secfc.crypto.handshake import Session
from secfc.crypto.randomness import MaskSource
from secfc.errors import ParameterError
from secfc.kernels import Choose, choose
from secfc.kmeans.clustering import LabelResult
from secfc.protocol.gathering import Carried, Gathering, preparing_late
from secfc.protocol.introductions import Introductions
from secfc.protocol.job.job import Job
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.messages import SERVER, Hello, Message
from secfc.protocol.messages.accepted import Sizes, check_envelope
from secfc.protocol.progress import Faults, Progress
from secfc.protocol.server_program import ServerContext, ServerPhase, ServerProgram
from secfc.protocol.states import State


class ServerIdentify(ServerPhase):
    """Until every party that takes part has introduced itself."""

    state = State.IDENTIFY

    def __init__(self, context: ServerContext) -> None:
        super().__init__(context, Introductions(context.job, context.session))

    @property
    def progress(self) -> Progress:
        """The progress of the run."""
        return Progress(phase="identify", waiting_for=len(self.awaited))

    @property
    def awaited(self) -> tuple[int, ...]:
        """Parties that have not introduced themselves."""
        gathering = self.context.gathering
        there = [j for j in gathering.everybody if j not in gathering.absent]
        return tuple(j for j in there if j not in self.introductions)

    def overdue(self, carried: Carried) -> tuple[int, ...]:
        """While rows are prepared, the parties that must act."""
        if not self.context.gathering.prepares:
            return self.awaited
        return preparing_late(self.awaited, n=self.context.job.n, carried=carried)

    def step(self, message: Message) -> list[Message]:
        """Take an introduction."""
        assert isinstance(message, Hello)
        self.introductions.take(message)
        return []

    def absent(self, client: int) -> list[Message]:
        """Leave it out of the plan."""
        if client <= self.context.job.n:
            self.context.gathering.leave_out({client: "absent"}, planned=False)
        self.introductions.drop(client)
        return []


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
        if client in gathering.silent:
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
        plans = self.phase.introductions.plans()
        self.phase = ServerProgram(self.phase.context, self.phase.introductions)
        return [*plans, *self.phase.first()]
