"""The phase *iterate* of a client: it answers each question with distances of its shares, in parts."""

from dataclasses import replace

from secfc.errors import MessageError
from secfc.field.array_types import Ints, Labels
from secfc.field.label_packing import labels_of
from secfc.kmeans.sets import asked_about
from secfc.protocol.answers.disclosure import ClientCoded
from secfc.protocol.context import ClientContext, Peers
from secfc.protocol.job.cases import Coded, LabelsOnly, Predict
from secfc.protocol.job.row_layout import WINDOW
from secfc.protocol.labels import ClientLabels
from secfc.protocol.messages import (
    Assignment,
    Challenge,
    CoinRequest,
    Continue,
    Dispute,
    Finish,
    LeaveOut,
    Message,
    RoundMessage,
)
from secfc.protocol.phases.client_phase import ClientPhase, ClientStep, Held, check_question
from secfc.protocol.phases.client_reveal import ClientReveal
from secfc.protocol.states import State
from secfc.protocol.witness import check_outcome


class ClientIterate(ClientPhase):
    """From the first question (or the result, if there is no question) to the result. Sharing is complete.

    LimitError if a party has a larger share of the rows that are in than its limits allow.
    """

    state = State.ITERATE

    def __init__(self, context: ClientContext, peers: Peers, held: Held) -> None:
        self.planned, self.union_rows = held.planned, held.union_rows
        self._context, self._job, self._peers = context, context.job, peers
        self.held, self._sharing, self._witnesses = held, held.sharing, held.witnesses
        self._left_out = frozenset(held.sharing.left_out)
        self._layout = held.sharing.remaining()
        context.check_shares(self._layout)  # again: clients may have been left out since the plan
        self._parts = self._layout.parts(self._job)
        self._disclosure = self._side()
        self.round = 0  # of the last question, from 1
        self.sent = 0  # parts of the answer sent
        self.asked = 0  # parts that the server asked for: at first `WINDOW`, while none is sent

    def _side(self) -> ClientCoded:
        context, peers, sharing = self._context, self._peers, self._sharing
        match self._job.disclosure:
            case Coded():
                return ClientCoded(context, peers, self._left_out)
            case LabelsOnly():
                return ClientLabels(
                    context,
                    peers,
                    mail=self.held.mail,
                    layout=self._layout,
                    left_out=self._left_out,
                    kernels=sharing.kernels,
                    sharing=sharing,
                )

    def step(self, message: Message) -> ClientStep:
        """Answer questions. The result ends the iterations."""
        match message:
            case Assignment():
                return self, self._on_assignment(message)
            case Continue():
                return self, self._on_continue(message.round, message.part)
            case LeaveOut() | Challenge() | Dispute() | CoinRequest():
                raise MessageError(f"{type(message).__name__}: after round {self.round}")
            case Finish():
                return self._on_finish(message)
            case RoundMessage():
                return self, self._disclosure.deliver(message) + self._answers()
        return self, self.held.take(message)

    def _on_assignment(self, message: Assignment) -> list[Message]:
        # The server may have continued without this client, so rounds may be missing or partly unanswered.
        if message.round <= self.round:
            raise MessageError(f"Assignment: round {message.round} after round {self.round}")
        if self._sharing.lacking:
            raise MessageError(f"Assignment: to client {self._context.number}, which lacks others' shares")
        if message.sets.size != self._layout.m:
            raise MessageError(f"Assignment: of {message.sets.size} rows, the parties hold {self._layout.m}")
        self._check_view(message)
        message, sets, sizes = check_question(
            message, self._disclosure, context=self._context, peers=self._peers, layout=self._layout
        )
        self._close()
        messages = self._ask(message, sets, sizes)
        self._witnesses.note(message)
        return messages + self._answers()

    def _check_view(self, message: Assignment | Finish) -> None:
        """Refuse a message whose `left_out` is not this client's, so equal messages mean equal views."""
        if message.left_out != tuple(sorted(self._left_out)):
            raise MessageError(
                f"{type(message).__name__}: without other clients than this one was told are left out"
            )

    def _close(self) -> None:
        """End sharing and its checks, at the first question or the result."""
        if self.round == 0:
            self._sharing.close()

    def _ask(self, message: Assignment, sets: Labels, sizes: Ints) -> list[Message]:
        """Prepare to answer. A client that is not asked has nothing to send."""
        self.round, self.sent = message.round, 0
        self.asked = min(WINDOW, self._parts.answers)
        residues, disclosure = self._job.round_residues(sizes, self._layout.weight), self._disclosure
        if not disclosure.ask(message, sets, sizes, residues):
            self.sent = self.asked = self._parts.answers
            return []
        asked = sizes[: asked_about(sizes)]
        self._sharing.points.ask(sets, asked, residues, message.asked)
        return [caused for part in range(self.asked) for caused in disclosure.begin(part)]

    def _on_continue(self, round_: int, part: int) -> list[Message]:
        """Answer the next part."""
        if round_ != self.round or part != self.asked:
            raise MessageError(
                f"Continue: part {part} of round {round_}, part {self.asked} of round {self.round} is next"
            )
        if part >= self._parts.answers:
            raise MessageError(f"Continue: part {part}, there are {self._parts.answers}")
        messages = self._disclosure.begin(part)
        self.asked += 1
        return messages + self._answers()

    def _answers(self) -> list[Message]:
        messages: list[Message] = []
        while self.sent < self.asked and self._disclosure.can_leave(self.sent):
            part = self.sent
            self.sent += 1
            rows = self._parts.answer_rows(part)
            residues = self._sharing.points.answer(rows.start, rows.stop)
            messages += self._disclosure.leave(part, residues)
        return messages

    def _on_finish(self, message: Finish) -> ClientStep:
        check_outcome(message, self._job)
        if message.labels.size != self._layout.m or not self._layout.m:
            raise MessageError(
                f"Finish: labels of {message.labels.size} rows, the parties hold {self._layout.m}"
            )
        self._check_view(message)
        labels = labels_of(message.labels)
        message = replace(message, labels=labels)
        if labels.min() < 0:
            raise MessageError("Finish: a row has no label")
        self._disclosure.check_end(message, labels)
        context = self._context
        context.limits.check_revealed(self._job, name=context.name, layout=self._layout, labels=labels)
        own = self._sharing.own_labels(labels)
        start = context.start
        if isinstance(self._job.method, Predict) and start is not None and (own != start)[start >= 0].any():
            raise MessageError("Finish: a prediction has another label for a row that has one")
        self._close()  # an excluded client gets the result without any question
        self.held.mail.close()
        self._witnesses.note(message)
        messages = self._witnesses.tell(self._left_out)
        self._witnesses.settle()
        reveal = ClientReveal(self._job, self._peers, self.held, result=message, labels=own)
        return reveal, messages + reveal.settle()
