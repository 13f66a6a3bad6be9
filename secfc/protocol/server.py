"""The server: it carries the parties' messages, and runs the program as party 0.

It learns what everybody learns, and says whose rows are in. All else that it carries is sealed.
"""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from secfc.crypto.handshake import COIN_BYTES, Session, digest_of, transcript_of
from secfc.crypto.randomness import MaskSource
from secfc.errors import MessageError, ParameterError, TooManyFaultsError
from secfc.errors.codes import Code
from secfc.field.array_types import Ints, Labels
from secfc.field.label_packing import labels_of
from secfc.kernels import Choose, choose
from secfc.kmeans.clustering import LabelResult
from secfc.operations.beginning.added import UNION_IS_OPEN
from secfc.operations.beginning.rows import SharedRows
from secfc.protocol.gathering import Carried, Faults, Gathering
from secfc.protocol.job.cases import Predict
from secfc.protocol.job.job import Job
from secfc.protocol.job.row_layout import Layout, check_told, planned_rows
from secfc.protocol.messages import SERVER, Hello, Message, Plan, StepReport
from secfc.protocol.messages.accepted import Sizes, check_envelope
from secfc.protocol.program.located import Claim
from secfc.protocol.program.stepping import Stepping
from secfc.protocol.program.whole_run import Brought
from secfc.protocol.program.whose_rows import Given
from secfc.protocol.progress import Progress
from secfc.protocol.states import State
from secfc.sharing.rows import in_memory
from secfc.sharing.unread import Pair, open_pairs

_WITH_OTHERS = {"rows", "root", "held", "union opened"}
"""Letters of clients in whose step every other client gets one too, while rows are shared."""


class Server:
    """The coordinating party, which has no rows.

    Everything that must be unpredictable comes from `secret`, by default a fresh source: coefficients that
    find wrong shares and answers, and public choices that follow neither from the job's seed nor from a coin.
    For `salt` see `secfc.protocol.client.Client`.

    Attributes
    ----------
    planned, layout : Layout
        The rows of each client: of the plan, once it is made, and without clients that are left out. Before
        the rows are known all have none in `layout`.
    transcript : bytes
        The digest of all introductions, once the plan is made.
    outcome : LabelResult or None
        The result sent to the clients, once the run has ended.
    found : sequence of LabelResult
        Once the run has ended: a result for each k that was compared, or the outcome alone.
    """

    planned: Layout | None = None
    transcript: bytes = b""
    outcome: LabelResult | None = None
    found: Sequence[LabelResult] = ()

    def __init__(
        self,
        *,
        job: Job,
        session: Session,
        secret: MaskSource | None = None,
        salt: bytes | None = None,
        kernels: Choose = choose,
    ) -> None:
        self.gathering, self._job, self.run = Gathering(job), job, session.run
        self._session, self._salt, self._kernels = session, salt, kernels
        self._secret = secret or MaskSource()
        self._sizes, self.layout = Sizes(job), Layout((0,) * job.n)
        self._hellos: dict[int, Hello] = {}
        self._steps: Stepping | None = None  # from the plan on
        self._uninvited = frozenset[int]()  # clients without a plan
        self._shared = False  # whether it is known whose rows are in
        self._dealt = Counter[int]()  # messages with which others go to every other client
        self._round = self._iteration = 0
        self._moved: int | None = None
        self._inertia: float | None = None
        self._unread: tuple[Pair, ...] = ()
        self._claimed: tuple[Claim, ...] = ()

    def __repr__(self) -> str:
        return f"Server(state={self.state.value}, round={self.gathering.round})"

    @property
    def state(self) -> State:
        """IDENTIFY until the plan, SHARE until it is known whose rows are in, ITERATE, DONE at the end."""
        if self._steps is None:
            return State.IDENTIFY
        if self.outcome is not None:
            return State.DONE
        return State.ITERATE if self._shared else State.SHARE

    @property
    def faults(self) -> Faults:
        """Clients that did not do their part so far. This server withheld no shares from them."""
        gathering, liars, cheats = self.gathering, set(self.gathering.liars), set[int]()
        if self._steps is not None:
            cheats = self._steps.me.accused
            liars = self._steps.me.liars - cheats
        return Faults(
            absent=tuple(sorted(gathering.absent)),
            left_out=tuple(sorted(gathering.left_out)),
            liars=tuple(sorted(liars)),
            cheats=tuple(sorted(cheats)),
            unread=self._unread,
            claimed=tuple(claim for claim in self._claimed if claim[1] not in liars | cheats),
        )

    @property
    def sizes(self) -> Sizes:
        """Size limits of incoming messages."""
        if self._sizes.planned is not self.planned:
            self._sizes = Sizes(self._job, self.planned)
        return self._sizes

    @property
    def progress(self) -> Progress:
        """The progress of the run. With own labels nobody knows how many rows moved."""
        waiting_for = len(self.awaited)
        if self._steps is None:
            return Progress(phase="identify", waiting_for=waiting_for)
        sharing, public = self.state is State.SHARE, not self._job.comparers
        iteration = self._iteration if public else max(0, self._round - 1)
        return Progress(
            phase="share" if sharing else "iterate" if self.outcome is None else "reveal",
            waiting_for=waiting_for,
            round=self._round,
            iteration=iteration if self.outcome is None else self.outcome.n_iter,
            moved=self._moved,
            inertia=self._inertia,
        )

    @property
    def awaited(self) -> tuple[int, ...]:
        """Parties whose message could let the server continue. `absent` stops waiting for one."""
        if self._steps is None:
            there = [j for j in self.gathering.everybody if j not in self.gathering.absent]
            return tuple(j for j in there if j not in self._hellos)
        return () if self._steps.ended else tuple(j for j in self._steps.me.awaited if j != SERVER)

    def overdue(self, carried: Carried) -> tuple[int, ...]:
        """Clients to count as absent once all awaited clients have had time to answer.

        If a client waits for something that another has not sent it, the other is absent: while rows are
        shared who has not sent a piece.

        TooManyFaultsError if all are behind, because a client of a union, or those who compare, keep others
        waiting, and their messages to each other do not show which of them does.
        """
        job, gathering = self._job, self.gathering
        if self._steps is None:
            return self.awaited
        alike = [j for j in gathering.present if j not in job.comparers]
        links = [(j, to) for j in alike for to in gathering.members if to != j]
        late = {j for j, to in links if carried(j, to) < self._dealt[j]}
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
        # A comparer that owes something may itself wait, for a client or another comparer.
        if job.comparers and owed and all(not one.unless_lost or me.inbox.has_none(one) for one in owed):
            named = ", ".join(map(job.called, job.comparers))
            raise TooManyFaultsError(
                f"nobody sends anything: {named}, or a client whose shares are needed, keeps the others "
                f"waiting, and it is not known which of them; {gathering.describe()}",
                clients=job.comparers,
            )
        return self.awaited

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
        if self._steps is None:
            assert isinstance(message, Hello)
            self._check(message)
            self._hellos[sender] = message
            return self._plan()
        assert isinstance(message, StepReport)
        if self._steps.ended:
            return []
        self._dealt[sender] += any(place.tag in _WITH_OTHERS for place in self._steps.take(message))
        gathering.absent.discard(sender)
        return self._go_on(self._steps, self._steps.go_on())

    def absent(self, client: int) -> list[Message]:
        """Stop waiting for a client or helper: its time is up, or it is known to have gone.

        While rows are shared, a client is left out for the rest of the run, with its rows, unless it has
        proved their shares. Later its rows stay in, and it may come back: its next answer counts. Raises
        TooManyFaultsError when too few are left or it compares, or has not shared its part of a union, of
        totals, or what a prediction needs; ParameterError when the remaining rows do not fit the job.
        """
        if not 1 <= client <= self._job.parties:
            raise ParameterError(f"client: 1 to {self._job.parties}, {client} was given")
        job, gathering, steps, state = self._job, self.gathering, self._steps, self.state
        if state is State.DONE or client in gathering.left_out or client in gathering.liars:
            return []
        if client > job.n and state is not State.ITERATE:
            gathering.absent.add(client)
            gathering.require_comparers()
            if steps is not None:
                return []  # it takes no part before rows are shared
        if steps is None:
            if client <= job.n:
                gathering.leave_out({client: "absent"}, planned=False)
            self._hellos.pop(client, None)
            return self._plan()
        if state is State.SHARE and self.layout.common and client <= job.n:
            gathering.leave_out({client: "absent"}, planned=True)
        if state is State.SHARE and isinstance(job.method, Predict):
            gathering.check_dispensable(client, "absent", planned=True)
        gathering.absent.add(client)
        gathering.require_comparers()
        gathering.require(len(gathering.present))
        return self._go_on(steps, steps.lose(client))

    def _check(self, message: Hello) -> None:
        """Raise MessageError for a second one, or for a wrong agreement, signature or field."""
        job, session = self._job, self._session
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

    def _plan(self) -> list[Message]:
        """The plan for every party that introduced itself, and what follows, unless some are awaited.

        ParameterError when the rows do not fit the job.
        """
        if self.awaited:
            return []
        job, session = self._job, self._session
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
            rows=Given(own=[], allocate=in_memory, salt=self._salt),
            value=b"" if job.comparers else self._secret.octets(COIN_BYTES),
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
        planned.check(job)
        if start is not None:
            job.check_start(start)
        self._steps = Stepping(
            job,
            planned,
            SERVER,
            brought,
            self,
            masks=self._secret,
            kernels=self._kernels,
            transcript=transcript,
        )
        self.transcript, self.planned, self.layout = transcript, planned, planned
        self._moved = None if job.comparers else planned.m
        self._uninvited = frozenset(self.gathering.left_out)
        self._steps.me.inbox.lost |= self._uninvited
        self._hellos.clear()
        return [*plans, *self._go_on(self._steps, self._steps.go_on())]

    def _go_on(self, steps: Stepping, messages: list[Message]) -> list[Message]:
        """The messages to those who came. The result is kept if the program has ended.

        TooManyFaultsError if shares that it waits for cannot come, or if the program cannot do without a
        client that was lost, as when totals are opened.
        """
        for client in sorted(self.gathering.absent.intersection(steps.me.awaited)):
            self.gathering.check_dispensable(client, "absent", planned=True)
        if steps.is_stuck:
            raise TooManyFaultsError(
                f"round {self._round}: too few clients are left to decode and to locate wrong answers; "
                f"{self.gathering.describe()}"
            )
        found = steps.result
        if found is not None:
            self.outcome, self.found, self._claimed = found.result, found.results, found.claimed
        return [one for one in messages if one.recipient not in self._uninvited]

    def union_is(self, layout: Layout, numbers: Ints | None) -> None:
        """See `Watching`. ParameterError if the rows do not fit the job."""
        layout.check(self._job)

    def rows_are(self, shared: SharedRows) -> None:
        """See `Watching`. TooManyFaultsError when the run needs a client that is left out."""
        gathering, steps = self.gathering, self._steps
        assert steps is not None
        gathering.leave_out(shared.left_out, planned=True)
        steps.me.inbox.lost |= shared.left_out.keys()  # liars take no further part either
        if shared.layout.common:  # they lied about others' shares, and their rows are in
            gathering.liars.update(shared.cheats)
        gathering.absent.difference_update(gathering.left_out)
        pairs = open_pairs(shared.unread, gathering.left_out)
        self._unread = tuple(pairs)
        gathering.silence(steps.me.unsure)
        gathering.require_comparers()
        self.layout, self._shared = shared.layout, True

    def sets_are(self, start: Labels, k: int) -> None:
        """See `Watching`."""

    def iteration_is(self, number: int, moved: int, inertia: Fraction | None) -> None:
        """See `Watching`."""
        self._iteration, self._moved = number, moved
        self._inertia = None if inertia is None else self._job.in_data_units(inertia)

    def round_is(self, number: int, sets: Labels | None = None) -> None:
        """See `Watching`."""
        self._round = self.gathering.round = number
