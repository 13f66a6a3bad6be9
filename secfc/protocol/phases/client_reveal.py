"""The phase *reveal* of a client: it compares its result with that of others, and opens centres."""

import numpy as np

from secfc.field.array_types import Labels
from secfc.protocol.context import Peers
from secfc.protocol.job.cases import Deposited
from secfc.protocol.job.job import Job
from secfc.protocol.messages import Finish, Message
from secfc.protocol.phases.client_phase import ClientPhase, ClientStep, Held
from secfc.protocol.states import State


class ClientReveal(ClientPhase):
    """From the checked result, with unpacked labels, to the end of the run. `labels` are of its own rows."""

    state: State = State.COMPARE  # then REVEAL, DONE

    def __init__(self, job: Job, peers: Peers, held: Held, *, result: Finish, labels: Labels) -> None:
        self.planned, self.union_rows = held.planned, held.union_rows
        self.labels, self.result, self.held = labels, result, held
        if isinstance(job.rows, Deposited):  # public labels: each share is the value
            self.label_shares = (labels == np.arange(job.k)[:, np.newaxis]).astype(np.float64)
        self._job, self._peers = job, peers

    def step(self, message: Message) -> ClientStep:
        """Take other clients' proofs of the result, and their shares of centres."""
        messages = self.held.take(message)
        return self, messages + self.settle()

    def settle(self) -> list[Message]:
        """Accept the result once R clients have it. Open centres, where agreed, once a quorum has it."""
        witnesses, opening, messages = self.held.witnesses, self.held.opening, list[Message]()
        if self.state is State.COMPARE and witnesses.confirmed(self._job.threshold):
            self.state = State.REVEAL
        if self.state is State.REVEAL:
            if opening.due and witnesses.confirmed(self._peers.quorum):
                messages = opening.tell(self.result)
            self.centres, self.deviations = opening.centres, opening.deviations
            if not opening.waits:
                self.state = State.DONE
        return messages
