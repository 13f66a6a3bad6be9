"""The phase *reveal* of a client: it has the result, compares it with others', and opens centres."""

from secfc.array_types import Labels
from secfc.params import Job
from secfc.protocol.context import Peers
from secfc.protocol.label_packing import labels_of
from secfc.protocol.messages import Finish, Message
from secfc.protocol.phases.client_phase import ClientPhase, ClientStep, Held
from secfc.protocol.states import State
from secfc.protocol.witness import END


class ClientReveal(ClientPhase):
    """From the result, checked and with unpacked labels, to the end of the run; `labels` are its rows'."""

    def __init__(self, job: Job, peers: Peers, held: Held, *, result: Finish, labels: Labels) -> None:
        self.planned, self.union_rows = held.planned, held.union_rows
        self.labels, self.result, self.held = labels, result, held
        self._job, self._peers = job, peers
        self._state = State.COMPARE

    @property
    def state(self) -> State:
        """COMPARE, REVEAL or DONE."""
        return self._state

    def labels_of(self, client: int) -> Labels | None:
        """Those of the rows that a client shares, empty when they are not in."""
        if self._state is State.COMPARE:
            return None
        return labels_of(self.result.labels)[self.held.sharing.remaining().rows(client)]

    def step(self, message: Message) -> ClientStep:
        """Take what shows that others have the same result, and their shares of centres."""
        messages = self.held.take(message)
        return self, messages + self.settle()

    def settle(self) -> list[Message]:
        """Take the result that R clients have; of the one that a quorum has, open centres where agreed."""
        witnesses, opening, messages = self.held.witnesses, self.held.opening, list[Message]()
        if self._state is State.COMPARE and witnesses.confirmed(END, clients=self._job.threshold):
            self._state = State.REVEAL
        if self._state is State.REVEAL:
            if opening.due and witnesses.confirmed(END, clients=self._peers.quorum):
                messages = opening.tell(self.result)
            self.centres, self.deviations = opening.centres, opening.deviations
            if not opening.waits:
                self._state = State.DONE
        return messages
