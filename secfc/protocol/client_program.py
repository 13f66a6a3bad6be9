"""The program of a client or helper: from the plan to the labels of its own rows."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from secfc.crypto.channel import Channels
from secfc.crypto.handshake import Session
from secfc.crypto.identity import Identity
from secfc.crypto.randomness import MaskSource
from secfc.errors import MessageError, ParameterError, TooManyFaultsError
from secfc.field.array_types import Floats, Ints, Labels
from secfc.kernels import Choose
from secfc.kmeans.sets import rows_hidden_among
from secfc.operations.beginning.deposited import HeldDeposits
from secfc.operations.beginning.rows import SharedRows
from secfc.protocol.job.cases import Predict, Union
from secfc.protocol.job.job import Job
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.messages import Message, Step, StepNotice
from secfc.protocol.messages.accepted import RepeatedError, useless
from secfc.protocol.program.stepping import Stepping
from secfc.protocol.program.whole_run import Brought
from secfc.protocol.states import State
from secfc.sharing.rows import Allocate


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ClientContext:
    """The arguments of `secfc.protocol.client.Client`, without the rows."""

    number: int
    job: Job
    session: Session
    identity: Identity
    masks: MaskSource
    limits: Limits
    start: Labels | None
    weights: Ints | None
    prepared: bool
    salt: bytes | None
    name: str
    names: Sequence[str]  # of all parties; empty: their numbers
    allocate: Allocate
    kernels: Choose
    deposits: HeldDeposits | None
    repeats: bool

    def refuse_without(self, kind: str, client: int) -> None:
        """Raise MessageError if the run needs this client, which a message of type `kind` leaves out."""
        if self.prepared:
            raise MessageError(
                f"{kind}: without client {client}, whose values are in the means and deviations that were "
                "opened"
            )
        if isinstance(self.job.method, Predict):
            raise MessageError(f"{kind}: without client {client}, whom a prediction cannot do without")
        if isinstance(self.job.rows, Union):
            raise MessageError(f"{kind}: without client {client}, whom membership privacy cannot leave out")


class ClientPhase:
    """What a client knows of its run. `planned` has all rows of the plan; for the rest see `Client`.

    `label_shares`, shape (k, m), are a committee member's shares of final labels, one-hot, modulo the first
    prime, once the run has ended.
    """

    planned: Layout | None = None
    union_rows: Ints | None = None
    labels: Labels | None = None
    label_shares: Floats | None = None
    centres: Floats | None = None
    deviations: Floats | None = None
    opened_sizes: Ints | None = None  # of clusters, opened with centres where they are secret
    round: int = 0  # number of the round, from 1
    inertia: float | None = None  # of the result, where everybody is told it
    moved: int | None = None  # rows whose label changed in the last iteration, where everybody knows it
    ended: tuple[int, bool] | None = None  # iterations, and whether they converged, once the result is known


class ClientProgram(ClientPhase):
    """From the plan to the labels of its own rows.

    MessageError if the planned rows do not fit the job, LimitError if its limits forbid them or a round.
    """

    def __init__(self, context: ClientContext, channels: Channels, brought: Brought, planned: Layout) -> None:
        self._context, self.planned = context, planned
        job = context.job
        try:
            planned.check(job)
        except ParameterError as error:
            raise MessageError(f"Plan: {error}") from None
        if not planned.common:
            self._check_limits(planned)
        self._steps = Stepping(
            job,
            planned,
            context.number,
            brought,
            self,
            masks=context.masks,
            kernels=context.kernels,
            transcript=channels.transcript,
            channels=channels,
        )

    @property
    def state(self) -> State:
        """DONE once the program has ended."""
        return State.DONE if self._steps.ended else State.ITERATE

    def begin(self, early: Sequence[Step], spoilt: Collection[int]) -> list[Message]:
        """Take what came before, and return the first messages. `spoilt` sent what cannot be read."""
        self._steps.me.inbox.lost.update(spoilt)
        for message in early:
            try:
                self._steps.take(message)
            except RepeatedError:
                continue
            except MessageError as error:
                if not self._steps.me.inbox.may_lie(message.sender):
                    raise useless(error, message.sender) from None
                self._steps.me.inbox.lost.add(message.sender)
        return self._go_on()

    def unreadable(self, sender: int) -> list[Message]:
        """Wait no longer for what the sender deals."""
        self._steps.me.inbox.lost.add(sender)
        return self._go_on()

    def step(self, message: Message) -> list[Message]:
        """Take a message of the program and run on."""
        assert isinstance(message, Step | StepNotice)
        if self._steps.ended:
            return []
        self._steps.take(message)
        return self._go_on()

    def _go_on(self) -> list[Message]:
        messages = self._steps.go_on()
        if self._steps.is_stuck:
            lost = sorted(self._steps.me.inbox.lost)
            unread = ", ".join(map(self._context.job.called, lost))
            raise TooManyFaultsError(f"too few clients are left whose shares can be read; without: {unread}")
        found = self._steps.result
        if found is not None:
            own, self.label_shares = found.labels.own, found.labels.shares
            self.labels = np.empty(0, dtype=np.int32) if own is None else own
            self.ended = found.result.n_iter, found.result.converged
            self.inertia = found.result.opened
            if found.opened is not None:
                self.centres, self.deviations = found.opened.centres, found.opened.deviations
                self.opened_sizes = found.opened.sizes
        return messages

    def _check_limits(self, layout: Layout) -> None:
        """LimitError if a client's limits forbid to share these rows."""
        context = self._context
        if context.number <= context.job.n:
            context.limits.check_rows(context.job, name=context.name, m=layout.m)
        self._check_shares(layout)

    def _check_shares(self, layout: Layout) -> None:
        """LimitError if a party has a larger share of these rows than a client's limits allow."""
        context, names = self._context, () if layout.deposited else self._context.names
        if context.number <= context.job.n:
            context.limits.check_shares(context.job, layout, name=context.name, names=names)

    def union_is(self, layout: Layout, numbers: Ints | None) -> None:
        """See `Watching`. LimitError if its limits forbid so many rows."""
        self.union_rows = numbers
        self._check_limits(layout)

    def rows_are(self, shared: SharedRows) -> None:
        """See `Watching`. LimitError if a party now has a larger share of the rows than its limits allow."""
        context = self._context
        for owner in shared.left_out:
            context.refuse_without("StepNotice", owner)
        self._layout = shared.layout
        self._check_shares(shared.layout)

    def sets_are(self, start: Labels, k: int) -> None:
        """See `Watching`. LimitError for sets that are too small; later ones nobody sees."""
        context, smallest = self._context, int(rows_hidden_among(start, k, self._layout.weights).min())
        context.limits.enforce(context.job, client=context.number, smallest=smallest, round_=self.round + 1)

    def iteration_is(self, number: int, moved: int, inertia: Fraction | None) -> None:
        """See `Watching`."""
        self.moved = moved

    def round_is(self, number: int, sets: Labels | None = None) -> None:
        """See `Watching`. LimitError for a set that is too small, or more rounds than its limits allow."""
        context = self._context
        if sets is None:
            context.limits.check_round(context.job, client=context.number, round_=number)
        else:
            hidden = rows_hidden_among(sets, context.job.k, self._layout.weights)
            smallest = int(hidden[hidden > 0].min())
            context.limits.enforce(context.job, client=context.number, smallest=smallest, round_=number)
        self.round = number
