"""Before the first question with disclosure "labels": the comparers send their values of a coin."""

from secfc.errors import MessageError
from secfc.protocol.introductions import Introductions
from secfc.protocol.messages import Coin, CoinRequest, Message
from secfc.protocol.phases.server_labels import ServerLabels
from secfc.protocol.phases.server_phase import ServerContext, ServerPhase, ServerStep, Shared
from secfc.protocol.states import State


class ServerCoin(ServerPhase):
    """Until all values have arrived. No client is left out any more: the coin's choices are about these rows.

    TooManyFaultsError when a comparer is lost.
    """

    state = State.ITERATE

    def __init__(self, context: ServerContext, introductions: Introductions, shared: Shared) -> None:
        super().__init__(context, introductions, shared)
        self._told = dict[int, bytes]()
        context.gathering.require_comparers()

    @property
    def awaited(self) -> tuple[int, ...]:
        """Comparers that have not sent their value."""
        return tuple(j for j in self.context.job.comparers if j not in self._told)

    def ask(self) -> list[Message]:
        """Ask the comparers for their values."""
        left_out, run = tuple(sorted(self.context.gathering.left_out)), self.context.session.run
        return [CoinRequest(run=run, recipient=j, left_out=left_out) for j in self.context.job.comparers]

    def step(self, message: Message) -> ServerStep:
        """Take a value that fits its commitment and signature. Ask the first question when all are here."""
        if not isinstance(message, Coin):
            raise MessageError(f"{type(message).__name__}: before the first question")
        sender = message.sender
        if sender not in self.awaited:
            raise MessageError(f"Coin: of client {sender}, which compares nothing or has told its value")
        told, commitment = message.value + message.signature, self.introductions.commitment(sender)
        self.toss().value_told(told, party=sender, commitment=commitment)
        self._told[sender] = told
        if self.awaited:
            return self, []
        following = ServerLabels(self.context, self.introductions, self.shared, self._told)
        return following, following.ask()

    def absent(self, client: int) -> ServerStep:
        """Its rows stay in. TooManyFaultsError if it compares."""
        gathering = self.context.gathering
        gathering.absent.add(client)
        gathering.require_comparers()
        gathering.require(len([j for j in gathering.members if j not in gathering.absent]))
        return self, []
