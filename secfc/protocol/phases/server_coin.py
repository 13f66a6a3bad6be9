"""Before the first question with disclosure "labels": comparers send their values of a coin.

If the job names reserves, the tossing parties first confirm their presence. If one is lost before that, the
next one tosses. After the server has asked for values, no party may toss in place of another: a server that
knows some values could choose between coins.
"""

from collections.abc import Sequence

from secfc.errors import MessageError
from secfc.protocol.gathering import NO_OTHER_COIN
from secfc.protocol.introductions import Introductions
from secfc.protocol.messages import Coin, CoinRequest, Message
from secfc.protocol.phases.server_labels import ServerLabels
from secfc.protocol.phases.server_phase import ServerContext, ServerPhase, ServerStep, Shared
from secfc.protocol.states import State


class ServerCoin(ServerPhase):
    """Until all values have arrived. No client is left out any more: the coin's choices are about these rows.

    TooManyFaultsError when too few parties are present to toss.
    """

    state = State.ITERATE

    def __init__(self, context: ServerContext, introductions: Introductions, shared: Shared) -> None:
        super().__init__(context, introductions, shared)
        self._told = dict[int, bytes]()
        self._asked, self._there = set[int](), set[int]()
        self._tossing: tuple[int, ...] = ()  # set when the server asks for values
        context.gathering.require_named()

    @property
    def _first(self) -> tuple[int, ...]:
        """The first present comparers in the job's order, as many as must toss."""
        job, gone = self.context.job, self.context.gathering.gone(self.context.job.comparers)
        return tuple(j for j in job.comparers if j not in gone)[: job.tossers]

    @property
    def awaited(self) -> tuple[int, ...]:
        """Parties that have not sent their value or, before that, not confirmed their presence."""
        if self._tossing:
            return tuple(j for j in self._tossing if j not in self._told)
        return tuple(j for j in self._first if j not in self._there)

    def ask(self) -> list[Message]:
        """Ask the first comparers to confirm their presence, then all of these for their values."""
        first = self._first
        if not self.context.job.reserves:
            self._there.update(first)
        new = [j for j in first if j not in self._there | self._asked]
        self._asked.update(new)
        if self.awaited:
            return self._requests(new, ())
        self._tossing = first
        return self._requests(first, first)

    def _requests(self, recipients: Sequence[int], tossing: tuple[int, ...]) -> list[Message]:
        left_out, run = tuple(sorted(self.context.gathering.left_out)), self.context.session.run
        return [CoinRequest(run=run, recipient=j, left_out=left_out, tossing=tossing) for j in recipients]

    def step(self, message: Message) -> ServerStep:
        """Take a value that fits its commitment and signature. Ask the first question when all are here."""
        if not isinstance(message, Coin):
            raise MessageError(f"{type(message).__name__}: before the first question")
        sender = message.sender
        if sender not in self.awaited:
            raise MessageError(f"Coin: of client {sender}, which compares nothing or has told its value")
        told = message.value + message.signature
        if not self._tossing:
            if told:
                raise MessageError(f"Coin: client {sender} told its value before it was asked")
            self._there.add(sender)
            return self, self.ask()
        toss = self.toss(self.introductions.transcript, self._tossing)
        toss.value_told(told, party=sender, commitment=self.introductions.commitment(sender))
        self._told[sender] = told
        if self.awaited:
            return self, []
        following = ServerLabels(self.context, self.introductions, self.shared, self._told)
        return following, following.ask()

    def absent(self, client: int) -> ServerStep:
        """Its rows stay in. No other party tosses in its place after values were asked for."""
        gathering = self.context.gathering
        gathering.absent.add(client)
        if self._tossing:
            known = (
                "the other clients were already asked for their values, and a server that knows some "
                "values could choose between coins"
            )
            gathering.require_comparers(self.awaited, without=f"{NO_OTHER_COIN}: {known}")
        else:
            gathering.require_named()
        gathering.require(len([j for j in gathering.members if j not in gathering.absent]))
        return self, [] if self._tossing else self.ask()
