"""A client, which shares its rows and computes with shares, or a helper."""

from collections.abc import Mapping, Sequence

from secfc.crypto.handshake import Handshake, Introduction, PairSecrets, Session, digest_of
from secfc.crypto.identity import Identity
from secfc.crypto.randomness import MaskSource
from secfc.errors import DataError, MessageError, ParameterError, SealError
from secfc.errors.codes import Code
from secfc.field.array_types import Floats, Ints, Labels
from secfc.field.label_packing import labels_of
from secfc.kernels import Choose, choose
from secfc.operations.beginning.deposited import HeldDeposits
from secfc.protocol.client_program import ClientContext, ClientPhase, ClientProgram
from secfc.protocol.job.cases import Deposited, Union
from secfc.protocol.job.job import Job
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.row_layout import Layout, check_told, planned_rows
from secfc.protocol.messages import KINDS, BetweenClients, Hello, Message, Plan, Step
from secfc.protocol.messages.accepted import MOST_EARLY_BYTES, Sizes, check_envelope
from secfc.protocol.messages.wire import Envelope
from secfc.protocol.program.whole_run import Brought
from secfc.protocol.program.whose_rows import given_by
from secfc.protocol.states import State
from secfc.psu.tokens import RowIds
from secfc.sharing.row_checks import check_labels, check_rows, check_weights
from secfc.sharing.rows import Allocate, in_memory

_NEEDED = frozenset(kind.__name__ for kind in KINDS if issubclass(kind, BetweenClients))

MOST_EARLY = 8
"""Messages of a party that are kept until the plan. Before this party takes part it sends fewer."""


class ClientIdentify(ClientPhase):
    """From its introduction to the plan."""

    state = State.IDENTIFY

    def __init__(
        self,
        context: ClientContext,
        *,
        rows: Floats,
        ids: RowIds | None,
        ephemeral: bytes | None,
        secrets: PairSecrets | None,
    ) -> None:
        self._context, self._rows, self._ids = context, rows, ids
        self.handshake = Handshake(  # its private key is dropped with this phase
            session=context.session,
            number=context.number,
            identity=context.identity,
            rows=rows.shape[0] if ids is None else 0,
            start=self._told_start,
            weights=context.weights,
            smallest=context.limits.told(context.job) if context.number <= context.job.n else 1,
            ephemeral=ephemeral,
            secrets=secrets,
        )
        self.early: list[Step] = []  # came before the plan
        self.spoilt: set[int] = set()  # who also sent what cannot be read

    @property
    def hello(self) -> Hello:
        """Its introduction."""
        return Hello(
            run=self._context.session.run,
            sender=self._context.number,
            agreement=self._context.session.agreement,
            introduction=self.handshake.introduction,
            weights=self._context.weights,
            start=self._told_start,
        )

    @property
    def _told_start(self) -> Labels | None:
        """What everybody is told of its start labels (`Job.told_start`)."""
        start = self._context.start
        return None if start is None else self._context.job.told_start(start)

    def step(self, message: Message) -> list[Message]:
        """Keep a message that arrived before the plan. MessageError for too many of its sender, or bytes."""
        assert isinstance(message, Step)
        sizes = [len(one.sealed.payload) for one in self.early if one.sender == message.sender]
        if len(sizes) >= MOST_EARLY:
            raise MessageError(f"Step: more than {MOST_EARLY} of party {message.sender} before the program")
        if sum(sizes) + len(message.sealed.payload) > MOST_EARLY_BYTES:
            raise MessageError(
                f"Step: more than {MOST_EARLY_BYTES} bytes of party {message.sender} before the program"
            )
        self.early.append(message)
        return []

    def unreadable(self, sender: int) -> list[Message]:
        """Note the sender until shares are opened."""
        self.spoilt.add(sender)
        return []

    def join(self, message: Plan) -> ClientProgram:
        """Check the plan. The program follows."""
        context, job = self._context, self._context.job
        channels = self.handshake.channels(message.introductions)
        present = {j: one for j, one in enumerate(message.introductions, 1) if one is not None}
        self._check_present(present)
        layout, start = self._planned(message)
        rows = given_by(
            job,
            [self._rows],
            context.allocate,
            transcript=channels.transcript,
            salt=context.salt,
            ids=self._ids,
            deposits=context.deposits,
        )
        brought = Brought(
            run=context.session.run,
            rows=rows,
            value=self.handshake.coin,
            commitments={j: one.commitment for j, one in present.items()},
            start=start,
            repeats=context.repeats,
            labels=context.start if job.hides_start else None,
            smallest=max(one.smallest for one in present.values()),
        )
        return ClientProgram(context, channels, brought, planned_rows(job, layout))

    def _check_present(self, present: Mapping[int, Introduction]) -> None:
        """MessageError unless all whom the run needs are there, and nobody tells of rows that it may not."""
        job = self._context.job
        if not present.keys() >= set(job.comparers):
            raise MessageError("Plan: one of those who are to compare did not come")
        for j in range(1, job.n + 1):
            if j not in present:
                self._context.refuse_without("Plan", j)
        for j, one in present.items():
            check_told(job, j, one, kind="Plan")

    def _planned(self, plan: Plan) -> tuple[Layout, Labels | None]:
        """The rows of clients with their weights, and the first sets that are given.

        Each client must have signed its own weights and start labels.
        """
        job, clients, weights = self._context.job, plan.introductions[: self._context.job.n], plan.weights
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


class Client:
    """A client (numbers 1 to n), which has rows, or a helper (numbers from n + 1), which has none.

    `rows`, shape (m_j, d), are dropped once they are shared; `start` are start labels of them, when
    the job begins with labels, and `weights` public weights, 1 or more, where it has them. The session's
    roster has the public key of `identity` at this number. With `prepared`, means and deviations of all
    clients' values were opened before, and no client may be left out. By default `ephemeral`, the private
    X25519 key of this run, is fresh, and the salt of hashed IDs follows from the introductions, so that no
    two runs have the same; a simulation that is to be repeated gives both. In a simulation that `repeats`
    what is drawn in secret follows from the job's seed; in an agreed run it never does. Errors call this
    party `name`, and a party with too many rows by its name in `names`, of all parties in order.
    Where owners hold the rows, `deposits` are what it has of them. Clients of one process share `secrets`.

    Raises DataError for unusable rows, ParameterError if the roster has another key for it or a helper has
    rows, LimitError if its limits forbid the job.
    """

    def __init__(
        self,
        *,
        number: int,
        rows: Floats,
        job: Job,
        session: Session,
        identity: Identity,
        masks: MaskSource,
        ephemeral: bytes | None = None,
        limits: Limits | None = None,
        start: Labels | None = None,
        weights: Ints | None = None,
        prepared: bool = False,
        ids: RowIds | None = None,
        salt: bytes | None = None,
        name: str | None = None,
        names: Sequence[str] = (),
        allocate: Allocate = in_memory,
        kernels: Choose = choose,
        deposits: HeldDeposits | None = None,
        secrets: PairSecrets | None = None,
        repeats: bool = False,
    ) -> None:
        name = name or f"client {number}"
        limits = limits or Limits()
        if number > job.n:
            if rows.size or start is not None or weights is not None or ids is not None:
                raise ParameterError(f"{name}: a helper has no rows")
        else:
            deposited = isinstance(job.rows, Deposited)
            if deposited != (deposits is not None) or (deposited and rows.size):
                raise ParameterError(f"{name}: rows, or deposits of a job with owners, are needed")
            if isinstance(job.rows, Deposited) and deposits is not None:
                deposits.keep(job.rows)
            limits.check_consent(job, name=name)
            check_rows(rows, name=name, d=job.d, bound=job.bound, step=job.step)
            if start is not None:
                check_labels(start, name=name, m=rows.shape[0], k=job.k, least=job.least_label)
            if (weights is not None) != job.rows.weighted:
                raise ParameterError(f"{name}: weights of rows only, and always, where the job has weights")
            if weights is not None:
                check_weights(weights, name=name, m=rows.shape[0])
            _check_ids(ids, name=name, m=rows.shape[0], job=job)
        self.number, self._job, self._run = number, job, session.run
        self._ended, self._sizes, self._deposits = False, Sizes(job), deposits
        self._tolerates_liars = job.max_liars > 0
        context = ClientContext(
            number=number,
            job=job,
            session=session,
            identity=identity,
            masks=masks,
            limits=limits,
            start=start,
            weights=weights,
            prepared=prepared,
            salt=salt,
            name=name,
            names=names,
            allocate=allocate,
            kernels=kernels,
            deposits=deposits,
            repeats=repeats,
        )
        identify = ClientIdentify(context, rows=rows, ids=ids, ephemeral=ephemeral, secrets=secrets)
        self._hello = identify.hello
        self.phase: ClientIdentify | ClientProgram = identify

    def __repr__(self) -> str:
        return f"Client(number={self.number}, state={self.state.value})"

    @property
    def state(self) -> State:
        """ENDED after an error, otherwise the state of its phase."""
        return State.ENDED if self._ended else self.phase.state

    @property
    def labels(self) -> Labels | None:
        """Labels of its own rows, shape (m_j,), once the run has ended. None if the rows were left out.

        A member of a committee has none.
        """
        return self.phase.labels

    @property
    def sealed_labels(self) -> bytes | None:
        """Sealed shares for owners, once the run has ended (`Intake.seal_labels`). None without owners."""
        shares = self.phase.label_shares
        return None if self._deposits is None or shares is None else self._deposits.seal_labels(shares)

    @property
    def union_rows(self) -> Ints | None:
        """The numbers of its own rows in the union, shape (m_j,), int64, once the union is found."""
        return self.phase.union_rows

    @property
    def centres(self) -> Floats | None:
        """Centres opened to it, shape (k, d), in the data's units. NaN for a cluster without rows."""
        return self.phase.centres

    @property
    def deviations(self) -> Floats | None:
        """Standard deviations opened to it, likewise."""
        return self.phase.deviations

    @property
    def opened_sizes(self) -> Ints | None:
        """Sizes, or weights, of clusters that were opened to it with centres, shape (k,)."""
        return self.phase.opened_sizes

    @property
    def sizes(self) -> Sizes:
        """Size limits of incoming messages."""
        if self._sizes.planned is not self.phase.planned:
            self._sizes = Sizes(self._job, self.phase.planned)
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
        check_envelope(message, run=self._run, me=self.number, job=self._job, state=self.state)
        try:
            if isinstance(self.phase, ClientIdentify) and isinstance(message, Plan):
                before, self.phase = self.phase, self.phase.join(message)
                return self.phase.begin(before.early, before.spoilt)
            return self.phase.step(message)
        except MessageError:
            raise
        except Exception:
            self._ended = True
            raise

    def needs(self, kind: str, sender: int) -> bool:
        """Whether no party can replace a message of this type from this client."""
        if kind == Step.__name__:  # of clients that do not compare some may be lost, or lie
            return sender in self._job.comparers or not self._tolerates_liars
        return kind in _NEEDED

    def unreadable(self, header: Envelope) -> list[Message]:
        """Note that another client sent bytes that are no message, if the run can continue without them.

        Raises what `receive` does.
        """
        if header.kind == Step.__name__ and self._tolerates_liars:
            return self.phase.unreadable(header.sender)
        return []


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
