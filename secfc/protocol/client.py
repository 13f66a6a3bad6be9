"""A client, which shares its rows and computes with shares, or a helper."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from secfc.crypto.handshake import Handshake, Introduction, PairSecrets, Session, digest_of
from secfc.crypto.identity import Identity
from secfc.crypto.randomness import MaskSource
from secfc.errors import DataError, MessageError, ParameterError, SealError, TooManyFaultsError
from secfc.errors.codes import Code
from secfc.field.array_types import Floats, Ints, Labels
from secfc.field.label_packing import labels_of
from secfc.kernels import Choose, choose
from secfc.kmeans.consensus import Resampled
from secfc.kmeans.sets import rows_hidden_among
from secfc.operations.beginning.deposited import HeldDeposits
from secfc.operations.beginning.rows import SharedRows
from secfc.operations.beginning.totals import Addends, Totals
from secfc.operations.ending.cells import Counted, OwnColumns
from secfc.protocol.job.cases import Deposited, Predict, Union
from secfc.protocol.job.job import Job
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.row_layout import Layout, check_told, planned_rows
from secfc.protocol.messages import Hello, Message, Plan, Step, StepNotice
from secfc.protocol.messages.accepted import MOST_EARLY_BYTES, RepeatedError, Sizes, check_envelope, useless
from secfc.protocol.messages.wire import Envelope
from secfc.protocol.program.stepping import Stepping
from secfc.protocol.program.whole_run import Brought
from secfc.protocol.program.whose_rows import Given
from secfc.protocol.states import State
from secfc.psu.tokens import RowIds
from secfc.sharing.row_checks import check_labels, check_rows, check_weights
from secfc.sharing.rows import Allocate, in_memory

MOST_EARLY = 8
"""Messages of a party that are kept until the plan. Before this party takes part it sends fewer."""


class Client:
    """A client (numbers 1 to n), which has rows, or a helper (numbers from n + 1), which has none.

    `rows`, shape (m_j, d), are dropped once they are shared; `start` are start labels of them, when
    the job begins with labels, and `weights` public weights, 1 or more, where it has them. The session's
    roster has the public key of `identity` at this number. Where the job prepares, a client makes its rows
    of `Addends`. By default `ephemeral`, the private X25519 key of this run, is fresh, and the salt of hashed
    IDs follows from the introductions, so that no two runs have the same; a simulation that is to be repeated
    gives both. In a simulation that `repeats`
    what is drawn in secret follows from the job's seed; in an agreed run it never does. Errors call this
    party `name`, and a party with too many rows by its name in `names`, of all parties in order.
    Where owners hold the rows, `deposits` are what it has of them. A client of a job that describes columns
    has its own `columns`. Clients of one process share `secrets`.

    Raises DataError for unusable rows, ParameterError if the roster has another key for it or a helper has
    rows, LimitError if its limits forbid the job.

    Attributes
    ----------
    planned : Layout or None
        All rows of the plan, once it has come.
    union_rows : ndarray of shape (m_j,), int64, or None
        The numbers of its own rows in the union, once the union is found.
    labels : ndarray of shape (m_j,) or None
        Labels of its own rows, once the run has ended. Empty for a member of a committee, None if the rows
        were left out.
    label_shares : ndarray of shape (k, m) or None
        A committee member's shares of final labels, one-hot, modulo the first prime, once the run has ended.
    centres, deviations : ndarray of shape (k, d) or None
        Centres and standard deviations opened to it, in the data's units. NaN for a cluster without rows.
    opened_sizes : ndarray of shape (k,) or None
        Sizes, or weights, of clusters that were opened to it with centres.
    resampled : Resampled or None
        How partitions of resamples overlap, which all clients learn.
    counted : Counted or None
        What was opened of described columns, once the run has ended.
    round : int
        Number of the round, from 1.
    moved : int or None
        Rows whose label changed in the last iteration, where everybody knows it.
    inertia : float or None
        Inertia of the result, where everybody is told it.
    ended : tuple of int and bool, or None
        Iterations, and whether they converged, once the result is known.
    """

    planned: Layout | None = None
    union_rows: Ints | None = None
    labels: Labels | None = None
    label_shares: Floats | None = None
    centres: Floats | None = None
    deviations: Floats | None = None
    opened_sizes: Ints | None = None
    resampled: Resampled | None = None
    counted: Counted | None = None
    round: int = 0
    moved: int | None = None
    inertia: float | None = None
    ended: tuple[int, bool] | None = None

    def __init__(
        self,
        *,
        number: int,
        rows: Floats | Addends,
        job: Job,
        session: Session,
        identity: Identity,
        masks: MaskSource,
        ephemeral: bytes | None = None,
        limits: Limits | None = None,
        start: Labels | None = None,
        weights: Ints | None = None,
        ids: RowIds | None = None,
        salt: bytes | None = None,
        name: str | None = None,
        names: Sequence[str] = (),
        allocate: Allocate = in_memory,
        kernels: Choose = choose,
        deposits: HeldDeposits | None = None,
        columns: OwnColumns | None = None,
        secrets: PairSecrets | None = None,
        repeats: bool = False,
    ) -> None:
        name = name or f"client {number}"
        limits = limits or Limits()
        if number > job.n:
            if _count(rows) or start is not None or weights is not None or ids is not None:
                raise ParameterError(f"{name}: a helper has no rows")
        else:
            deposited = isinstance(job.rows, Deposited)
            if deposited != (deposits is not None) or (deposited and _count(rows)):
                raise ParameterError(f"{name}: rows, or deposits of a job with owners, are needed")
            if isinstance(job.rows, Deposited) and deposits is not None:
                deposits.keep(job.rows)
            limits.check_consent(job, name=name)
            rows = _checked(rows, name=name, job=job)
            m = _count(rows)
            if start is not None:
                check_labels(start, name=name, m=m, k=job.k, least=job.least_label)
            if (weights is not None) != job.rows.weighted:
                raise ParameterError(f"{name}: weights of rows only, and always, where the job has weights")
            if weights is not None:
                check_weights(weights, name=name, m=m)
            _check_ids(ids, name=name, m=m, job=job)
            _check_columns(columns, name=name, m=m, job=job)
        self.number, self._job, self._session = number, job, session
        self._limits, self._name, self._names = limits, name, names
        self._masks, self._salt, self._allocate, self._kernels = masks, salt, allocate, kernels
        self._deposits, self._repeats, self._sizes = deposits, repeats, Sizes(job)
        # Rows, labels, IDs and the handshake with its private key are dropped with the plan.
        self._rows: Floats | Addends | None = rows
        self._ids, self._labels, self._columns = ids, start if job.hides_start else None, columns
        told = None if start is None else job.told_start(start)
        self.handshake: Handshake | None = Handshake(
            session=session,
            number=number,
            identity=identity,
            rows=_count(rows) if ids is None else 0,
            start=told,
            weights=weights,
            smallest=limits.told(job) if number <= job.n else 1,
            ephemeral=ephemeral,
            secrets=secrets,
        )
        self._hello = Hello(
            run=session.run,
            sender=number,
            agreement=session.agreement,
            introduction=self.handshake.introduction,
            weights=weights,
            start=told,
        )
        self._early: list[Step] = []  # came before the plan
        self._spoilt: set[int] = set()  # who also sent what cannot be read
        self._steps: Stepping | None = None  # from the plan on
        self._layout: Layout | None = None  # of the rows that are in
        self._ended = False

    def __repr__(self) -> str:
        return f"Client(number={self.number}, state={self.state.value})"

    @property
    def state(self) -> State:
        """IDENTIFY until the plan, then ITERATE; DONE once the program has ended; ENDED after an error."""
        if self._ended:
            return State.ENDED
        if self._steps is None:
            return State.IDENTIFY
        return State.DONE if self._steps.ended else State.ITERATE

    @property
    def sealed_labels(self) -> bytes | None:
        """Sealed shares for owners, once the run has ended (`Intake.seal_labels`). None without owners."""
        shares = self.label_shares
        return None if self._deposits is None or shares is None else self._deposits.seal_labels(shares)

    @property
    def sizes(self) -> Sizes:
        """Size limits of incoming messages."""
        if self._sizes.planned is not self.planned:
            self._sizes = Sizes(self._job, self.planned)
        return self._sizes

    def start(self) -> list[Message]:
        """The first message: its introduction."""
        return [self._hello]

    def receive(self, message: Message) -> list[Message]:
        """Take a message, and return the messages to send.

        A MessageError refuses the message and leaves the client unchanged. Any other error ends the run for
        this client: LimitError when its limits forbid the request, CheatError when the server sent others
        something else.
        """
        run, job = self._session.run, self._job
        check_envelope(message, run=run, me=self.number, job=job, state=self.state)
        try:
            if isinstance(message, Plan):
                return self._join(message)
            assert isinstance(message, Step | StepNotice)
            if self._steps is None:
                return self._keep(message)
            if self._steps.ended:
                return []
            self._steps.take(message)
            return self._go_on(self._steps)
        except MessageError:
            raise
        except Exception:
            self._ended = True
            raise

    def needs(self, kind: str, sender: int) -> bool:
        """Whether no party can replace a message of this type from this client."""
        # Of clients that do not compare some may be lost, or lie.
        return kind == Step.__name__ and (sender in self._job.comparers or self._job.max_liars == 0)

    def unreadable(self, header: Envelope) -> list[Message]:
        """Note that another client sent bytes that are no message, if the run can continue without them.

        Nothing that it deals is waited for any more. Raises what `receive` does.
        """
        if header.kind != Step.__name__ or self._job.max_liars == 0:
            return []
        if self._steps is None:
            self._spoilt.add(header.sender)
            return []
        self._steps.me.inbox.lost.add(header.sender)
        return self._go_on(self._steps)

    def _keep(self, message: Message) -> list[Message]:
        """Keep a message that arrived before the plan. MessageError for too many of its sender, or bytes."""
        assert isinstance(message, Step)
        sizes = [len(one.sealed.payload) for one in self._early if one.sender == message.sender]
        if len(sizes) >= MOST_EARLY:
            raise MessageError(f"Step: more than {MOST_EARLY} of party {message.sender} before the program")
        if sum(sizes) + len(message.sealed.payload) > MOST_EARLY_BYTES:
            raise MessageError(
                f"Step: more than {MOST_EARLY_BYTES} bytes of party {message.sender} before the program"
            )
        self._early.append(message)
        return []

    def _join(self, message: Plan) -> list[Message]:
        """Check the plan and begin the program.

        MessageError if the planned rows do not fit the job, LimitError if its limits forbid them.
        """
        job, run = self._job, self._session.run
        assert self.handshake is not None
        assert self._rows is not None
        channels = self.handshake.channels(message.introductions)
        present = {j: one for j, one in enumerate(message.introductions, 1) if one is not None}
        self._check_present(present)
        layout, start = self._planned(message)
        rows = Given(
            own=[] if isinstance(self._rows, Addends) else [self._rows],
            addends=self._rows if isinstance(self._rows, Addends) else None,
            allocate=self._allocate,
            ids=self._ids,
            salt=self._salt,
            deposits=self._deposits,
        )
        brought = Brought(
            run=run,
            rows=rows,
            value=self.handshake.coin,
            commitments={j: one.commitment for j, one in present.items()},
            start=start,
            repeats=self._repeats,
            labels=self._labels,
            smallest=max(one.smallest for one in present.values()),
            columns=self._columns,
        )
        planned = planned_rows(job, layout)
        try:
            planned.check(job)
        except ParameterError as error:
            raise MessageError(f"Plan: {error}") from None
        if not planned.common:
            self._check_limits(planned)
        steps = Stepping(
            job,
            planned,
            self.number,
            brought,
            self,
            masks=self._masks,
            kernels=self._kernels,
            transcript=channels.transcript,
            channels=channels,
        )
        self.planned, self._steps = planned, steps
        self.handshake = self._rows = self._ids = self._labels = self._columns = None
        return self._begin(steps)

    def _check_present(self, present: Mapping[int, Introduction]) -> None:
        """MessageError unless all whom the run needs are there, and nobody tells of rows that it may not."""
        job = self._job
        if not present.keys() >= set(job.comparers):
            raise MessageError("Plan: one of those who are to compare did not come")
        for j in range(1, job.n + 1):
            if j not in present:
                self._refuse_without("Plan", j)
        for j, one in present.items():
            check_told(job, j, one, kind="Plan")

    def _planned(self, plan: Plan) -> tuple[Layout, Labels | None]:
        """The rows of clients with their weights, and the first sets that are given.

        Each client must have signed its own weights and start labels.
        """
        job, clients, weights = self._job, plan.introductions[: self._job.n], plan.weights
        layout = Layout(tuple(0 if one is None else one.rows for one in clients), weights=weights)
        start = None if plan.start is None else labels_of(plan.start)
        if (0 if weights is None else weights.size) != (layout.m if job.rows.weighted else 0):
            raise MessageError(
                f"Plan: other weights than those of {layout.m} rows, weighted={job.rows.weighted}"
            )
        if (0 if start is None else start.size) != (layout.m if job.method.init == "labels" else 0):
            raise MessageError(f"Plan: other start labels than those of {layout.m} rows")
        for j, one in enumerate(clients, 1):
            if one is not None and one.weights != digest_of(layout.weights_of(j)):
                raise SealError(f"Plan: it has not the weights that client {j} signed")
            if one is not None and start is not None and digest_of(start[layout.rows(j)]) != one.start:
                raise SealError(f"Plan: it has not the start labels that client {j} signed")
        return layout, start

    def _begin(self, steps: Stepping) -> list[Message]:
        """Take what came before the plan, and return the first messages."""
        inbox = steps.me.inbox
        inbox.lost.update(self._spoilt)
        for message in self._early:
            try:
                steps.take(message)
            except RepeatedError:
                continue
            except MessageError as error:
                if not inbox.may_lie(message.sender):
                    raise useless(error, message.sender) from None
                inbox.lost.add(message.sender)
        self._early.clear()
        return self._go_on(steps)

    def _go_on(self, steps: Stepping) -> list[Message]:
        messages = steps.go_on()
        if steps.is_stuck:
            unread = ", ".join(map(self._job.called, sorted(steps.me.inbox.lost)))
            raise TooManyFaultsError(f"too few clients are left whose shares can be read; without: {unread}")
        found = steps.result
        if found is not None:
            own, self.label_shares = found.labels.own, found.labels.shares
            self.labels = np.empty(0, dtype=np.int32) if own is None else own
            self.ended = found.result.n_iter, found.result.converged
            self.inertia, self.resampled = found.result.opened, found.resampled
            if found.opened is not None:
                self.centres, self.deviations = found.opened.centres, found.opened.deviations
                self.opened_sizes = found.opened.sizes
            self.counted = found.counted
        return messages

    def _refuse_without(self, kind: str, client: int) -> None:
        """Raise MessageError if the run needs this client, which a message of type `kind` leaves out."""
        if self._job.prepares:
            raise MessageError(
                f"{kind}: without client {client}, whose values are in the means and deviations that were "
                "opened"
            )
        if isinstance(self._job.method, Predict):
            raise MessageError(f"{kind}: without client {client}, whom a prediction cannot do without")
        if isinstance(self._job.rows, Union):
            raise MessageError(f"{kind}: without client {client}, whom membership privacy cannot leave out")

    def _check_limits(self, layout: Layout) -> None:
        """LimitError if a client's limits forbid to share these rows."""
        if self.number <= self._job.n:
            self._limits.check_rows(self._job, name=self._name, m=layout.m)
        self._check_shares(layout)

    def _check_shares(self, layout: Layout) -> None:
        """LimitError if a party has a larger share of these rows than a client's limits allow."""
        if self.number <= self._job.n:
            names = () if layout.deposited else self._names
            self._limits.check_shares(self._job, layout, name=self._name, names=names)

    def union_is(self, layout: Layout, numbers: Ints | None) -> None:
        """See `Watching`. LimitError if its limits forbid so many rows."""
        self.union_rows = numbers
        self._check_limits(layout)

    def rows_are(self, shared: SharedRows) -> None:
        """See `Watching`. LimitError if a party now has a larger share of the rows than its limits allow."""
        for owner in shared.left_out:
            self._refuse_without("StepNotice", owner)
        self._layout = shared.layout
        self._check_shares(shared.layout)

    def sets_are(self, start: Labels, k: int) -> None:
        """See `Watching`. LimitError for sets that are too small; later ones nobody sees."""
        self._enforce(start, k, self.round + 1)

    def round_is(self, number: int, sets: Labels | None = None) -> None:
        """See `Watching`. LimitError for a set that is too small, or more rounds than its limits allow."""
        if sets is None:
            self._limits.check_round(self._job, client=self.number, round_=number)
        else:
            self._enforce(sets, self._job.k, number)
        self.round = number

    def iteration_is(self, number: int, moved: int, inertia: Fraction | None) -> None:
        """See `Watching`."""
        self.moved = moved

    def _enforce(self, sets: Labels, k: int, round_: int) -> None:
        """LimitError if its limits forbid a round about sets of which one has too few rows, but some."""
        assert self._layout is not None
        hidden = rows_hidden_among(sets, k, self._layout.weights)
        smallest = int(hidden[hidden > 0].min())
        self._limits.enforce(self._job, client=self.number, smallest=smallest, round_=round_)


def _count(rows: Floats | Addends) -> int:
    return rows.m if isinstance(rows, Addends) else rows.shape[0]


def _checked(rows: Floats | Addends, *, name: str, job: Job) -> Floats | Addends:
    """Rows that are of the form that the job needs, or addends that make such. Raises what `Client` does."""
    if isinstance(rows, Addends) != job.prepares:
        raise ParameterError(f"{name}: rows, or addends of a job that prepares, are needed")
    if not isinstance(rows, Addends):
        check_rows(rows, name=name, d=job.d, bound=job.bound, step=job.step)
        return rows
    addends = rows

    def rows_of(totals: Totals) -> Floats:
        made = addends.rows_of(totals)
        check_rows(made, name=name, d=job.d, bound=job.bound, step=job.step)
        if made.shape[0] != addends.m:
            raise DataError(f"{name}: {made.shape[0]} rows were made, {addends.m} were told")
        return made

    return replace(addends, rows_of=rows_of)


def _check_columns(columns: OwnColumns | None, *, name: str, m: int, job: Job) -> None:
    """Raise ParameterError unless a client of m rows has the columns that the job describes."""
    described = job.opened.described
    right = columns is None if described is None else columns is not None and columns.check(described, m=m)
    if not right:
        raise ParameterError(f"{name}: a value of each row in each described column is needed, or no column")


def _check_ids(ids: RowIds | None, *, name: str, m: int, job: Job) -> None:
    """Raise ParameterError or DataError unless a client of m rows has the IDs that the job needs."""
    if (ids is not None) != isinstance(job.rows, Union):
        raise ParameterError(f"{name}: IDs are needed exactly if the job has ids_cap")
    if ids is None or not isinstance(job.rows, Union):
        return
    if len(ids) != m:
        raise DataError(f"{name}: {len(ids)} IDs for {m} rows", code=Code.BAD_ID)
    if m > job.rows.cap:
        raise DataError(f"{name}: more rows than ids_cap, {job.rows.cap}", code=Code.UNION)
