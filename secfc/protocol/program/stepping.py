"""A party's run of its program, from messages to messages."""

from collections.abc import Callable, Generator, Mapping
from typing import Any, Generic, TypeVar

from secfc.comparing.role import Data
from secfc.crypto.channel import Channels
from secfc.crypto.handshake import DIGEST_BYTES
from secfc.errors import CheatError, MessageError
from secfc.protocol.messages import Message, Step, StepNotice, StepReport
from secfc.protocol.messages.accepted import RepeatedError
from secfc.protocol.parties.inbox import Place
from secfc.protocol.parties.party import COORDINATOR, Party
from secfc.protocol.program.letters import Letter, letters_of, packed, parts_of

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
        """Keep letters until their step. MessageError, with nothing changed, for one that cannot be used."""
        sender = message.sender
        if isinstance(message, Step):
            assert self._channels is not None
            if sender not in self._channels:
                raise MessageError(f"Step: party {sender} takes no part")
            channel = self._channels[sender]
            data: Data = channel.open(message.purpose, part=message.place, sealed=message.sealed.payload)
        else:
            data = message.data
        letters, inbox, lost = list(letters_of(data)), self.me.inbox, set[int]()
        if not letters:
            raise MessageError(f"Step: party {sender} sent no letter")
        if sender == COORDINATOR:
            lost = {int.from_bytes(client) for place, client in letters if place.tag == LOST}
            letters = [one for one in letters if one[0].tag != LOST]
        new = [place for place, _ in letters if not inbox.has_had(sender, place)]
        again = isinstance(message, Step) and inbox.has_come(sender, message.place)
        if again or (len(new) < len(letters) and all(map(inbox.is_over, new))):
            raise RepeatedError(f"Step: party {sender} sent what it has sent before")
        if len({(place.step, place.tag) for place, _ in letters}) < len(letters):
            raise MessageError(f"Step: party {sender} sent one letter twice")
        inbox.put_all(sender, letters)
        inbox.lost |= lost
        if isinstance(message, Step):
            inbox.came(sender, message.place)

    def go_on(self) -> list[Message]:
        """Run on as far as possible, and return what is to be sent."""
        if self.ended:
            return []
        try:
            next(self._program)
        except StopIteration as end:
            self.ended, self.result = True, end.value
        except MessageError as error:  # of a message that was taken before, perhaps not of the last one
            raise CheatError(str(error), code=error.code, clients=error.clients) from None
        outbox = dict[int, list[Letter]]()
        for recipient, place, data in self.me.outbox:
            outbox.setdefault(recipient, []).append((place, data))
        self.me.outbox.clear()
        # The coordinator's comes last: when it is there, what others are sent is on the way.
        recipients = sorted(outbox, key=lambda recipient: recipient == COORDINATOR)
        messages = (self._message(recipient, outbox[recipient]) for recipient in recipients)
        return [one for one in messages if one is not None]

    def lose(self, client: int) -> list[Message]:
        """At the coordinator: wait no longer for a client, tell the others, and run on."""
        me, place = self.me, Place(self.me.step, LOST, bytes(DIGEST_BYTES))
        me.inbox.lost.add(client)
        others = [j for j in me.roles.everybody if j not in (COORDINATOR, client)]
        me.outbox += [(j, place, client.to_bytes(2)) for j in others]
        return self.go_on()

    def _message(self, recipient: int, letters: list[Letter]) -> Message | None:
        me = self.me
        common: dict[str, Any] = {"run": self._run, "round": me.round}
        if recipient == COORDINATOR:
            return StepReport(**common, sender=me.number, data=packed(letters))
        if me.number == COORDINATOR:
            return StepNotice(**common, recipient=recipient, data=packed(letters))
        assert self._channels is not None
        if recipient not in self._channels:
            return None  # it did not come
        place = self._sent.get(recipient, 0)
        self._sent[recipient] = place + 1
        sealed = self._channels[recipient].seal_parts(Step.purpose, part=place, parts=parts_of(letters))
        return Step(**common, sender=me.number, recipient=recipient, place=place, sealed=sealed)


def secrets_of(
    everybody: tuple[int, ...], channels: Channels, own: Callable[[], bytes]
) -> Mapping[int, bytes]:
    """What a party shares with each other one, 32 bytes; fresh ones for itself and for who did not come."""
    return {j: channels[j].mask_key(channels.transcript) if j in channels else own() for j in everybody}
