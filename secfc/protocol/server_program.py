"""The program of the server, who is party 0: it learns what everybody learns, and says whose rows are in.

All else that it carries is sealed.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from secfc.crypto.handshake import Session
from secfc.crypto.randomness import MaskSource
from secfc.errors import MessageError, TooManyFaultsError
from secfc.errors.codes import Code
from secfc.field.array_types import Ints, Labels
from secfc.kernels import Choose
from secfc.kmeans.clustering import LabelResult
from secfc.operations.beginning.rows import SharedRows
from secfc.protocol.gathering import Carried, Gathering
from secfc.protocol.job.cases import Predict
from secfc.protocol.job.job import Job
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.messages import SERVER, Message, Step, StepReport
from secfc.protocol.program.located import Claim
from secfc.protocol.program.stepping import Stepping, letters_of
from secfc.protocol.program.whole_run import Brought
from secfc.protocol.progress import Progress
from secfc.protocol.states import State
from secfc.sharing.own_rows import UNION_IS_OPEN
from secfc.sharing.unread import Pair, open_pairs

_WITH_OTHERS = {"rows", "root", "union opened"}
"""Letters of clients in whose step every other client gets one too, while rows are shared."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ServerContext:
    """The arguments of `secfc.protocol.server.Server`, and `gathering`, which counts who still takes part."""

    job: Job
    session: Session
    secret: MaskSource
    salt: bytes | None
    kernels: Choose
    gathering: Gathering


class ServerPhase:
    """What the server knows of its run. For `outcome` and `found` see `secfc.protocol.server.Server`.

    `planned` includes the rows of clients that are left out later, `layout` does not. `cheats`, `unread` and
    `claimed` are as in `secfc.protocol.gathering.Faults`.
    """

    outcome: LabelResult | None = None
    found: Sequence[LabelResult] = ()
    unread: tuple[Pair, ...] = ()
    claimed: tuple[Claim, ...] = ()
    planned: Layout | None = None

    def __init__(self, context: ServerContext) -> None:
        self.context = context
        self.layout = Layout((0,) * context.job.n)

    @property
    def liars(self) -> tuple[int, ...]:
        """Clients that sent a wrong answer."""
        return tuple(sorted(self.context.gathering.liars))

    @property
    def cheats(self) -> tuple[int, ...]:
        """Clients that lied about shares: this server withheld none."""
        return ()


class ServerProgram(ServerPhase):
    """From the plan to the end. ParameterError when the rows do not fit the job."""

    state: State = State.SHARE  # then ITERATE, when it is known whose rows are in

    def __init__(self, context: ServerContext, transcript: bytes, brought: Brought, planned: Layout) -> None:
        super().__init__(context)
        job = context.job
        self.transcript = transcript
        self.planned = self.layout = planned
        planned.check(job)
        if brought.start is not None:
            job.check_start(brought.start)
        self._dealt = Counter[int]()  # messages with which others go to every other client
        self._round = self._iteration = 0
        self._moved: int | None = None if job.comparers else planned.m
        self._inertia: float | None = None
        self._steps = Stepping(
            job,
            planned,
            SERVER,
            brought,
            self,
            masks=context.secret,
            kernels=context.kernels,
            transcript=transcript,
        )
        self._uninvited = frozenset(context.gathering.left_out)  # they have no plan
        self._steps.me.inbox.lost |= self._uninvited

    @property
    def liars(self) -> tuple[int, ...]:
        """Clients that sent the server wrong shares of what is opened to everybody."""
        return tuple(sorted(self._steps.me.liars - set(self.cheats)))

    @property
    def cheats(self) -> tuple[int, ...]:
        """See `ServerPhase`."""
        return tuple(sorted(self._steps.me.accused))

    @property
    def awaited(self) -> tuple[int, ...]:
        """Parties that it waits for itself."""
        return () if self._steps.ended else tuple(j for j in self._steps.me.awaited if j != SERVER)

    def overdue(self, carried: Carried) -> tuple[int, ...]:
        """Clients that have not sent a piece; then as `awaited`.

        TooManyFaultsError if all are behind, because a client of a union, or those who compare, keep others
        waiting, and their messages to each other do not show which of them does.
        """
        job, gathering = self.context.job, self.context.gathering
        alike = [j for j in gathering.present if j not in job.comparers]
        links = [(j, to) for j in alike for to in gathering.members if to != j]
        late = {j for j, to in links if carried(Step.__name__, j, to) < self._dealt[j]}
        if late and self.state is State.SHARE:
            return tuple(late)
        me = self._steps.me
        of_others = [wait for wait in me.waits if wait.senders != (SERVER,)]
        if of_others and all(wait.tag == "union opened" and me.inbox.has_none(wait) for wait in of_others):
            raise TooManyFaultsError(
                "nobody sends anything: a client keeps the others waiting while a union is found, and it is "
                f"not known which{UNION_IS_OPEN}",
                code=Code.UNION_OPENED,
            )
        # Owners deal without having waited for others, and a union is found without those who compare.
        alone = ("root", True), ("union opened", False)
        owed = [wait for wait in of_others if (wait.tag, wait.unless_lost) not in alone]
        if job.comparers and owed and all(map(me.inbox.has_none, owed)):
            named = ", ".join(map(job.called, job.comparers))
            raise TooManyFaultsError(
                f"nobody sends anything: {named}, or a client whose shares are needed, keeps the others "
                f"waiting, and it is not known which of them; {gathering.describe()}",
                clients=job.comparers,
            )
        return self.awaited

    @property
    def progress(self) -> Progress:
        """The progress of the run. With own labels nobody knows how many rows moved."""
        sharing, public = self.state is State.SHARE, not self.context.job.comparers
        iteration = self._iteration if public else max(0, self._round - 1)
        return Progress(
            phase="share" if sharing else "iterate" if self.outcome is None else "reveal",
            waiting_for=len(self.awaited),
            round=self._round,
            iteration=iteration if self.outcome is None else self.outcome.n_iter,
            moved=self._moved,
            inertia=self._inertia,
        )

    def first(self) -> list[Message]:
        """Begin."""
        return self._ended(self._steps.go_on())

    def step(self, message: Message) -> list[Message]:
        """Take a message of the program and run on."""
        if not isinstance(message, StepReport):
            raise MessageError(f"{type(message).__name__}: nobody sends this in this run")
        if self._steps.ended:
            return []
        self._steps.take(message)
        self._dealt[message.sender] += any(place.tag in _WITH_OTHERS for place, _ in letters_of(message.data))
        self.context.gathering.absent.discard(message.sender)
        return self._ended(self._steps.go_on())

    def absent(self, client: int) -> list[Message]:
        """Go on without it. Its rows are in if it has proved their shares, and else it is left out with them.

        TooManyFaultsError if it compares or too few are left, or if it has not shared its part of a union, or
        what a prediction needs.
        """
        gathering = self.context.gathering
        if self.state is State.SHARE and self.layout.common and client <= self.context.job.n:
            gathering.leave_out({client: "absent"}, planned=True)
        if self.state is State.SHARE and isinstance(self.context.job.method, Predict):
            gathering.check_dispensable(client, "absent", planned=True)
        gathering.absent.add(client)
        gathering.require_comparers()
        gathering.require(len(gathering.present))
        return self._ended(self._steps.lose(client))

    def _ended(self, messages: list[Message]) -> list[Message]:
        """The messages to those who came. The result is kept if the program has ended."""
        messages = [one for one in messages if one.recipient not in self._uninvited]
        self._check_answers()
        found = self._steps.result
        if found is not None:
            self.outcome, self.found, self.state = found.result, found.results, State.DONE
            known = {*self.liars, *self.cheats}
            self.claimed = tuple(claim for claim in found.claimed if claim[1] not in known)
        return messages

    def _check_answers(self) -> None:
        """TooManyFaultsError if shares that it waits for cannot come: it would wait for nobody."""
        if self._steps.is_stuck:
            raise TooManyFaultsError(
                f"round {self._round}: too few clients are left to decode and to locate wrong answers; "
                f"{self.context.gathering.describe()}"
            )

    def union_is(self, layout: Layout, numbers: Ints | None) -> None:
        """See `Watching`. ParameterError if the rows do not fit the job."""
        layout.check(self.context.job)

    def rows_are(self, shared: SharedRows) -> None:
        """See `Watching`. TooManyFaultsError when the run needs a client that is left out."""
        gathering = self.context.gathering
        gathering.leave_out(shared.left_out, planned=True)
        self._steps.me.inbox.lost |= shared.left_out.keys()  # liars take no further part either
        if shared.layout.common:  # they lied about others' shares, and their rows are in
            gathering.liars.update(shared.cheats)
        gathering.absent.difference_update(gathering.left_out)
        pairs = open_pairs(shared.unread, gathering.left_out)
        self.unread = tuple(pairs)
        gathering.silence(self._steps.me.unsure)
        gathering.require_comparers()
        self.layout, self.state = shared.layout, State.ITERATE

    def sets_are(self, start: Labels, k: int) -> None:
        """See `Watching`."""

    def iteration_is(self, number: int, moved: int, inertia: Fraction | None) -> None:
        """See `Watching`."""
        self._iteration, self._moved = number, moved
        self._inertia = None if inertia is None else self.context.job.in_data_units(inertia)

    def round_is(self, number: int, sets: Labels | None = None) -> None:
        """See `Watching`."""
        self._round = self.context.gathering.round = number
