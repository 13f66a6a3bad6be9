"""The phase *identify* of a client or helper: it sends its introduction and checks the plan."""

from collections.abc import Mapping, Sequence

from secfc.crypto.handshake import Handshake, Introduction, PairSecrets, digest_of
from secfc.errors import MessageError, SealError
from secfc.field.array_types import Floats, Ints, Labels
from secfc.field.label_packing import PackedLabels, labels_of
from secfc.protocol.client_program import ClientPhase, ClientProgram, EarlySteps
from secfc.protocol.context import ClientContext, Peers
from secfc.protocol.job.cases import Deposited, Union
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.messages import Hello, Message, Plan, Step
from secfc.protocol.program.whose_rows import given_by
from secfc.protocol.states import State
from secfc.psu.tokens import RowIds


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
            start=context.told_start,
            weights=context.weights,
            smallest=context.limits.told(context.job) if context.number <= context.job.n else 1,
            ephemeral=ephemeral,
            secrets=secrets,
        )
        self.early = EarlySteps()

    @property
    def hello(self) -> Hello:
        """Its introduction."""
        return Hello(
            run=self._context.session.run,
            sender=self._context.number,
            agreement=self._context.session.agreement,
            introduction=self.handshake.introduction,
            weights=self._context.weights,
            start=self._context.told_start,
        )

    def step(self, message: Message) -> list[Message]:
        """Keep a message that arrived before the plan."""
        assert isinstance(message, Step)
        self.early.keep(message)
        return []

    def unreadable(self, sender: int) -> list[Message]:
        """Note the sender until shares are opened."""
        self.early.spoilt.add(sender)
        return []

    def _layout(self, clients: Sequence[Introduction | None], weights: Ints | None) -> Layout:
        """The layout of all rows, with weights if they have any. Each client must have signed its weights."""
        job = self._context.job
        layout = Layout(tuple(0 if one is None else one.rows for one in clients), weights=weights)
        if (0 if weights is None else weights.size) != (layout.m if job.rows.weighted else 0):
            raise MessageError(
                f"Plan: other weights than those of {layout.m} rows, weighted={job.rows.weighted}"
            )
        nothing = digest_of(None)
        for j, one in enumerate(clients, 1):
            said = nothing if weights is None else digest_of(layout.weights_of(j))
            if one is not None and one.weights != said:
                raise SealError(f"Plan: it has not the weights that client {j} signed")
        return layout

    def _start(
        self, clients: Sequence[Introduction | None], told: PackedLabels | Labels | None
    ) -> Labels | None:
        """The given first sets of all rows. Each client must have signed its own."""
        start = None if told is None else labels_of(told)
        job, layout = self._context.job, Layout(tuple(0 if one is None else one.rows for one in clients))
        if (0 if start is None else start.size) != (layout.m if job.method.init == "labels" else 0):
            raise MessageError(f"Plan: other start labels than those of {layout.m} rows")
        for j, one in enumerate(clients, 1):
            if one is not None and start is not None and digest_of(start[layout.rows(j)]) != one.start:
                raise SealError(f"Plan: it has not the start labels that client {j} signed")
        return start

    def _check_present(self, present: Mapping[int, Introduction]) -> None:
        """MessageError unless all comparers are there and helpers have no rows."""
        job = self._context.job
        if not present.keys() >= set(job.comparers):
            raise MessageError("Plan: one of those who are to compare did not come")
        for j, one in present.items():
            if j > job.n and one.tells_of_rows:
                raise MessageError(f"Plan: helper {j} has rows")

    def join(self, message: Plan) -> ClientProgram:
        """Check the plan. The program follows."""
        context, job, introductions = self._context, self._context.job, message.introductions
        channels = self.handshake.channels(introductions)
        present = {j: one for j, one in enumerate(introductions, 1) if one is not None}
        clients = introductions[: job.n]
        self._check_present(present)
        peers = Peers(
            channels=channels.among(range(1, job.n + 1)) if job.helpers else channels,
            all_channels=channels,
            transcript=channels.transcript,
            coin=self.handshake.coin,
            commitments={j: one.commitment for j, one in present.items()},
            left_out=frozenset(j for j, one in enumerate(clients, 1) if one is None),
            smallest=max(one.smallest for one in present.values()),
        )
        if peers.left_out:
            context.refuse_without("Plan", min(peers.left_out))
        layout, start = self._layout(clients, message.weights), self._start(clients, message.start)
        if isinstance(job.rows, Deposited):
            if layout.m:
                raise MessageError("Plan: a client has rows, where owners deposit them")
            layout = Layout(job.rows.owners, deposited=True)
        if isinstance(job.rows, Union):
            self._check_union(peers, present)
            layout = Layout((job.rows.cap,) * job.n, common=True)
        given = given_by(
            job,
            [self._rows],
            context.allocate,
            transcript=peers.transcript,
            salt=context.salt,
            ids=self._ids,
            deposits=context.deposits,
        )
        return ClientProgram(context, peers, layout=layout, rows=given, start=start)

    def _check_union(self, peers: Peers, present: Mapping[int, Introduction]) -> None:
        """MessageError if a client is left out, or one tells how many rows it has."""
        if peers.left_out:
            raise MessageError(
                f"Plan: without client {min(peers.left_out)}, whom membership privacy cannot leave out"
            )
        for j, one in present.items():
            if one.rows:
                raise MessageError(f"Plan: client {j} tells a number of rows, which membership privacy hides")
