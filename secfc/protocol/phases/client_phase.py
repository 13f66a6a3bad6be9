"""What the phases of a client have in common."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from itertools import pairwise

from secfc.errors import MessageError
from secfc.field.array_types import Floats, Ints, Labels
from secfc.field.label_packing import labels_of
from secfc.protocol.answers.disclosure import ClientCoded
from secfc.protocol.choices import check_start
from secfc.protocol.context import ClientContext, Peers
from secfc.protocol.job.cases import LabelsOnly, Predict
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.mail import Mail
from secfc.protocol.messages import Assignment, CentreShare, Echo, Message, RoundMessage, Share, Witness
from secfc.protocol.opening.revealing import CentreOpening
from secfc.protocol.states import State
from secfc.protocol.witness import Witnesses
from secfc.sharing.client_shares import ClientSharing


class ClientPhase(ABC):
    """A phase of a client. `planned` has all rows of the plan; for the rest see `Client`.

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
    round: int = 0  # of the last question, from 1
    inertia: float | None = None  # of the result, where everybody is told it
    moved: int | None = None  # rows whose label changed in the last iteration, where everybody knows it
    ended: tuple[int, bool] | None = None  # iterations, and whether they converged, once the result is known

    @property
    @abstractmethod
    def state(self) -> State:
        """The state, which decides which messages it takes."""

    @abstractmethod
    def step(self, message: Message) -> "ClientStep":
        """Take a message that its state allows. Raises what `secfc.protocol.client.Client.receive` does."""

    def unreadable(self, sender: int) -> list[Message]:
        """Note that another client sent bytes that are no message."""
        return []


def check_question(
    message: Assignment,
    disclosure: ClientCoded,
    *,
    context: ClientContext,
    peers: Peers,
    layout: Layout,
) -> tuple[Assignment, Labels, Ints]:
    """The question with unpacked sets, the sets, and the divisors of their sums.

    MessageError when the question is not valid, LimitError when this party's limits forbid it.
    """
    job, sets = context.job, labels_of(message.sets)
    message, sizes = replace(message, sets=sets), layout.divisors(sets, job.k)
    if not sizes.any():
        raise MessageError("Assignment: every set is empty")
    if job.method.init == "labels" and (message.round == 1 or isinstance(job.method, Predict)):
        check_start(sets, peers, layout, message.left_out, round_=message.round)
    asked = message.asked
    about = 0 <= min(asked, default=0) <= max(asked, default=0) < sizes.size and all(sizes[list(asked)])
    if not about or any(a >= b for a, b in pairwise(asked)):
        raise MessageError(f"Assignment: asks about {len(asked)} sets, ascending ones with rows are needed")
    if asked and isinstance(job.disclosure, LabelsOnly):
        raise MessageError("Assignment: asks about some sets, comparers compare all")
    disclosure.check(message, sets)
    hidden = sizes if layout.weights is None else layout.hidden_among(sets, job.k)
    smallest = int(hidden[hidden > 0].min())
    context.limits.enforce(job, client=context.number, smallest=smallest, round_=message.round)
    return message, sets, sizes


ClientStep = tuple[ClientPhase, list[Message]]
"""The following phase (itself or the next one), and the messages to send."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Held:
    """What a client holds from sharing on, in all later phases."""

    planned: Layout
    union_rows: Ints | None
    sharing: ClientSharing
    witnesses: Witnesses
    opening: CentreOpening
    mail: Mail

    def take(self, message: Message) -> list[Message]:
        """Take a message of another client, which may be ahead or behind."""
        match message:
            case Share():
                return self.sharing.on_share(message)
            case Echo():
                return self.sharing.on_echo(message)
            case Witness():
                self.witnesses.take(message)
            case CentreShare():
                self.opening.take(message)
            case RoundMessage():
                self.mail.hold(message)
            case _:
                raise AssertionError(type(message))
        return []
