"""The phase *iterate* of a helper: a party without rows and shares that only compares.

A *comparer* is one of the three parties that compare masked distances: a dealer and two evaluators.
"""

from dataclasses import replace

import numpy as np

from secfc.errors import MessageError, ParameterError
from secfc.field.label_packing import labels_of
from secfc.protocol.choices import tell
from secfc.protocol.context import ClientContext, Peers
from secfc.protocol.job.cases import Union
from secfc.protocol.job.row_layout import WINDOW, Layout
from secfc.protocol.labels import ClientLabels
from secfc.protocol.mail import Mail
from secfc.protocol.messages import (
    Assignment,
    CoinRequest,
    Continue,
    Finish,
    Message,
    RoundMessage,
)
from secfc.protocol.phases.client_phase import ClientPhase, ClientStep, check_question
from secfc.protocol.states import State
from secfc.protocol.witness import check_outcome


class ClientCompare(ClientPhase):
    """From the plan to the result. The helper is a comparer.

    The first question says which clients are left out and, with membership privacy, how many rows there are.
    `layout` has the maximum. Clients compare questions among themselves. A helper need not, because the first
    message of each type from a party in a round has the digest of the question (docs/protocol.md, "Labels by
    three comparers").
    """

    state: State = State.ITERATE  # DONE once the result has arrived

    def __init__(self, context: ClientContext, peers: Peers, *, layout: Layout) -> None:
        try:
            layout.check(context.job)
        except ParameterError as error:
            raise MessageError(f"Plan: {error}") from None
        self.planned: Layout = layout
        self._context, self._job, self._peers = context, context.job, peers
        self._mail = Mail(context.job, context.number, peers.all_channels, layout=layout)
        self._disclosure: ClientLabels | None = None
        self._left_out: tuple[int, ...] = tuple(sorted(peers.left_out))
        self._round = self._asked = self._parts = 0
        self._told = False  # whether it has sent its value of the coin

    def step(self, message: Message) -> ClientStep:
        """Take part in each question. The result ends the run."""
        match message:
            case Assignment():
                return self, self._on_assignment(message)
            case Continue():
                return self, self._on_continue(message)
            case CoinRequest():
                return self, self._on_coin(message)
            case Finish():
                return self, self._on_finish(message)
            case RoundMessage():
                if self._disclosure is not None:
                    return self, self._disclosure.deliver(message)
                self._mail.hold(message)
                return self, []
        raise AssertionError(type(message))

    def _on_assignment(self, message: Assignment) -> list[Message]:
        if message.round != self._round + 1:
            raise MessageError(f"Assignment: round {message.round} after round {self._round}")
        layout = self._layout(message)
        disclosure = self._disclosure
        if disclosure is None:
            disclosure = ClientLabels(
                self._context,
                self._peers,
                mail=self._mail,
                layout=layout,
                left_out=frozenset(message.left_out),
                kernels=self._context.kernels(layout.run_residues(self._job)),
            )
        message, sets, sizes = check_question(
            message, disclosure, context=self._context, peers=self._peers, layout=layout
        )
        self._disclosure, self._left_out, self.planned = disclosure, message.left_out, layout
        self._round, self._parts = message.round, layout.parts(self._job).answers
        self._asked = min(WINDOW, self._parts)
        disclosure.ask(message, sets, sizes, self._job.round_residues(sizes, layout.weight))
        return [caused for part in range(self._asked) for caused in disclosure.begin(part)]

    def _on_coin(self, message: CoinRequest) -> list[Message]:
        """Send its value. `left_out` is final then."""
        if self._told or self._disclosure is not None:
            raise MessageError("CoinRequest: a second one, or after a question")
        self._check_left_out(message)
        told = tell(message, self._context, self._peers, left_out=message.left_out)
        self._told, self._left_out = True, message.left_out
        return told

    def _check_left_out(self, message: Assignment | CoinRequest) -> None:
        kind, fixed = type(message).__name__, self._told or self._disclosure is not None
        if fixed and message.left_out != self._left_out:
            raise MessageError(f"{kind}: others are left out than before")
        ascending = message.left_out == tuple(sorted(set(message.left_out)))
        if not (ascending and set(self._left_out) <= set(message.left_out) <= set(range(1, self._job.n + 1))):
            raise MessageError(f"{kind}: left out are others than clients that did not come")

    def _layout(self, message: Assignment) -> Layout:
        """The layout of a question's rows. MessageError if it contradicts the plan or an earlier question."""
        rows, job = message.sets.size, self._job
        self._check_left_out(message)
        if isinstance(job.rows, Union) and self._disclosure is None and rows <= self.planned.m:
            return Layout((rows,) * job.n, common=True)
        layout = self.planned.without(message.left_out)
        if layout.m != rows:
            raise MessageError(f"Assignment: of {rows} rows, the parties hold {layout.m}")
        return layout

    def _on_continue(self, message: Continue) -> list[Message]:
        if message.round != self._round or message.part != self._asked or message.part >= self._parts:
            raise MessageError(
                f"Continue: part {message.part} of round {message.round}, part {self._asked} of "
                f"{self._parts} of round {self._round} is next"
            )
        assert self._disclosure is not None  # there is a part
        self._asked += 1
        return self._disclosure.begin(message.part)

    def _on_finish(self, message: Finish) -> list[Message]:
        if self._disclosure is None:
            raise MessageError("Finish: before any question")
        check_outcome(message, self._job)
        if message.labels.size != self.planned.m or message.left_out != self._left_out:
            raise MessageError("Finish: of other rows than were asked about")
        labels = labels_of(message.labels)
        self._disclosure.check_end(replace(message, labels=labels), labels)
        self._mail.close()
        self.labels, self.state = np.empty(0, dtype=np.int32), State.DONE
        return []
