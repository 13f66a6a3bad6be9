"""A party's run of its program, from messages to messages."""

from collections.abc import Callable, Generator, Mapping
from typing import Any, Generic, TypeVar

from secfc.comparing.role import Data
from secfc.crypto.channel import Channels
from secfc.crypto.handshake import DIGEST_BYTES
from secfc.errors import CheatError, MessageError
from secfc.protocol.messages import Message, Step, StepNotice, StepReport
from secfc.protocol.messages.turns import RepeatedError
from secfc.protocol.parties.inbox import Place
from secfc.protocol.parties.party import COORDINATOR, Party

LOST = "lost"
"""The tag of a notice of a party for which no other is to wait."""

Result = TypeVar("Result")


class Stepping(Generic[Result]):
    """Runs a program until it waits or has ended. `channels` are to all other parties but the coordinator.

    The coordinator has no channels: nothing that it takes or tells is sealed.
    """

    def __init__(
        self,
        me: Party,
        program: Generator[None, None, Result],
        *,
        run: bytes,
        channels: Channels | None = None,
    ) -> None:
        self.me, self._program, self._run, self._channels = me, program, run, channels
        self._sent = dict[int, int]()  # messages to each party
        self.ended = False
        self.result: Result | None = None

    def __repr__(self) -> str:
        return f"Stepping({self.me!r})"

    def take(self, message: Step | StepReport | StepNotice) -> None:
        """Keep a message until its step. MessageError, with nothing changed, for one that cannot be used."""
        tag = bytes(message.tag)
        if not tag.isascii():
            raise MessageError(f"{type(message).__name__}: a tag of party {message.sender} is no text")
        place = Place(message.step, tag.decode(), message.seen)
        if isinstance(message, StepNotice) and place.tag == LOST:
            self.me.inbox.lost.add(int.from_bytes(message.data))
            return
        if self.me.inbox.has_had(message.sender, place):
            text = f"party {message.sender} sent {place.tag} of step {place.step} twice"
            raise RepeatedError(text)
        self.me.inbox.check(message.sender, place)
        if isinstance(message, Step):
            assert self._channels is not None
            if message.sender not in self._channels:
                raise MessageError(f"Step: party {message.sender} takes no part")
            data: Data = self._channels[message.sender].open(
                message.purpose,
                part=message.number_sent,
                sealed=message.sealed.payload,
                round_=message.step,
                bound=tag + message.seen,
            )
        else:
            data = message.data
        self.me.inbox.put(message.sender, place, data)

    def go_on(self) -> list[Message]:
        """Run on as far as possible, and return what is to be sent."""
        if self.ended:
            return []
        try:
            next(self._program)
        except StopIteration as end:
            self.ended, self.result = True, end.value
        except MessageError as error:  # of a message that was taken before, perhaps not of the last one
            raise CheatError(str(error), code=error.code) from None
        found = [self._message(*one) for one in self.me.outbox]
        self.me.outbox.clear()
        return [one for one in found if one is not None]

    def lose(self, client: int) -> list[Message]:
        """At the coordinator: wait no longer for a client, tell the others, and run on."""
        me, place = self.me, Place(self.me.step, LOST, bytes(DIGEST_BYTES))
        me.inbox.lost.add(client)
        others = [j for j in me.roles.everybody if j not in (COORDINATOR, client)]
        me.outbox += [(j, place, client.to_bytes(2)) for j in others]
        return self.go_on()

    def _message(self, recipient: int, place: Place, data: Data) -> Message | None:
        number, me = self._sent.get(recipient, 0), self.me
        common: dict[str, Any] = {
            "run": self._run,
            "round": me.round,
            "step": place.step,
            "tag": place.tag.encode(),
            "seen": place.seen,
        }
        if recipient == COORDINATOR:
            return StepReport(**common, sender=me.number, data=bytes(data))
        if me.number == COORDINATOR:
            return StepNotice(**common, recipient=recipient, data=bytes(data))
        assert self._channels is not None
        if recipient not in self._channels:
            return None  # it did not come
        self._sent[recipient] = number + 1
        sealed = self._channels[recipient].seal(
            Step.purpose,
            part=number,
            payload=data,
            round_=place.step,
            bound=common["tag"] + place.seen,
        )
        return Step(**common, sender=me.number, recipient=recipient, number_sent=number, sealed=sealed)


def secrets_of(
    everybody: tuple[int, ...], channels: Channels, own: Callable[[], bytes]
) -> Mapping[int, bytes]:
    """What a party shares with each other one, 32 bytes; fresh ones for itself and for who did not come."""
    return {
        j: channels[j].mask_key(round_=0, question=channels.transcript) if j in channels else own()
        for j in everybody
    }
