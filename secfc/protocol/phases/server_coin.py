"""Before the first question with disclosure "labels": the comparers tell their values of a coin."""

from collections.abc import Callable

from secfc.errors import MessageError
from secfc.protocol.choices import value_told
from secfc.protocol.introductions import Introductions
from secfc.protocol.messages import SERVER, Coin, CoinRequest, Message
from secfc.protocol.phases.server_labels import ServerLabels
from secfc.protocol.phases.server_phase import ServerContext, ServerPhase, ServerStep
from secfc.protocol.states import State
from secfc.row_layout import Layout


class ServerCoin(ServerPhase):
    """Until all three are here. Nobody is left out any more: what the coin chooses is about these rows.

    Parameters
    ----------
    context : ServerContext
    introductions : Introductions
    planned : Layout
        With the rows of clients that were left out.
    begin : callable
        Makes the phase that follows, of what each comparer told.

    Raises
    ------
    TooManyFaultsError
        A comparer is not there.
    """

    state = State.ITERATE

    def __init__(
        self,
        context: ServerContext,
        introductions: Introductions,
        *,
        planned: Layout,
        begin: Callable[..., ServerLabels],
    ) -> None:
        super().__init__(context, introductions, planned=planned)
        self.layout = planned.without(context.gathering.left_out)
        self._begin, self._told = begin, dict[int, bytes]()
        self._require()

    @property
    def awaited(self) -> tuple[int, ...]:
        """Comparers that have not told their value."""
        return tuple(j for j in self.context.job.trio if j not in self._told)

    def ask(self) -> list[Message]:
        """Ask the comparers for their values."""
        left_out = tuple(sorted(self.context.gathering.left_out))
        run = self.context.session.run
        return [
            CoinRequest(run=run, sender=SERVER, recipient=j, left_out=left_out) for j in self.context.job.trio
        ]

    def step(self, message: Message) -> ServerStep:
        """Take a value; ask the first question when all are here.

        Raises
        ------
        MessageError
            Its sender is committed to another value, did not sign it, or told its value before.
        """
        if not isinstance(message, Coin):
            raise MessageError(f"{type(message).__name__}: before the first question")
        sender = message.sender
        if sender not in self.awaited:
            raise MessageError(f"Coin: of client {sender}, which compares nothing or has told its value")
        told = message.value + message.signature
        value_told(
            told,
            party=sender,
            commitment=self.introductions.commitment(sender),
            session=self.context.session,
            transcript=self.introductions.transcript,
            left_out=self.context.gathering.left_out,
        )
        self._told[sender] = told
        if self.awaited:
            return self, []
        following = self._begin(told={j: self._told[j] for j in self.context.job.trio})
        return following, following.ask()

    def absent(self, client: int) -> ServerStep:
        """Its rows stay in; nobody tosses in the place of a comparer."""
        gathering = self.context.gathering
        gathering.absent.add(client)
        self._require()
        gathering.require(len([j for j in gathering.members if j not in gathering.absent]))
        return self, []

    def _require(self) -> None:
        """Raise TooManyFaultsError unless all who toss the coin are there."""
        nobody = "nobody tosses the coin in its place"
        self.context.gathering.require_comparers(self.context.job.trio, without=nobody)
