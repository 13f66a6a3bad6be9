"""The phase *identify* of a client or helper: it sends its introduction and checks the plan."""

from collections.abc import Mapping

from secfc.crypto.handshake import Handshake, Introduction, PairSecrets, digest_of
from secfc.errors import MessageError, SealError
from secfc.field.array_types import Floats, Labels
from secfc.field.label_packing import labels_of
from secfc.protocol.client_program import ClientPhase, ClientProgram, EarlySteps
from secfc.protocol.context import ClientContext, check_told
from secfc.protocol.job.row_layout import Layout, planned_rows
from secfc.protocol.messages import Hello, Message, Plan, Step
from secfc.protocol.program.whole_run import Brought
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
            start=self._told_start,
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
            start=self._told_start,
        )

    @property
    def _told_start(self) -> Labels | None:
        """What everybody is told of its start labels (`Job.told_start`)."""
        start = self._context.start
        return None if start is None else self._context.job.told_start(start)

    def step(self, message: Message) -> list[Message]:
        """Keep a message that arrived before the plan."""
        assert isinstance(message, Step)
        self.early.keep(message)
        return []

    def unreadable(self, sender: int) -> list[Message]:
        """Note the sender until shares are opened."""
        self.early.spoilt.add(sender)
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
