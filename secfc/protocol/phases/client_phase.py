"""What the phases of a client have in common."""

from abc import ABC, abstractmethod

from secfc.field.array_types import Floats, Ints, Labels
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.messages import Message
from secfc.protocol.states import State


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
    round: int = 0  # number of the round, from 1
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


ClientStep = tuple[ClientPhase, list[Message]]
"""The following phase (itself or the next one), and the messages to send."""
