"""Messages between clients in a round: opened on arrival, and kept until this client can use them."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from secfc.crypto.channel import Channel, Sealed
from secfc.errors import MessageError
from secfc.protocol.comparers import is_sent
from secfc.protocol.job.job import Job
from secfc.protocol.job.row_layout import WINDOW, Layout, RangeParts
from secfc.protocol.messages import MaskedAnswer, Message, RoundMessage
from secfc.protocol.messages.turns import turn_error

_MOST_ANSWERS = 2 * WINDOW
"""Answers kept of each client: one for each part that is asked for, in this round and the next."""

_MOST = 64
"""Messages kept of each comparer and type. To find farthest rows the dealer sends a message for each level of
a tournament at once, of at most 2**29 rows."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Letter:
    """A message without its sealed payload, and the opened payload."""

    message: RoundMessage
    data: memoryview = field(repr=False)


class Mail:
    """A client's messages of rounds. Parts that show that rows are within the bound come unasked."""

    def __init__(self, job: Job, me: int, channels: Mapping[int, Channel], layout: Layout) -> None:
        self._job, self._me, self._channels = job, me, channels
        self._before = RangeParts.of(layout, job).answers
        self._held: dict[tuple[int, type[Message]], deque[Letter]] = {}
        self._last: dict[tuple[int, type[Message]], tuple[int, int]] = {}  # round and place
        self.round = 0  # of the current question; no answer is more than one round ahead
        self._closed = False

    def __repr__(self) -> str:
        return f"Mail(held={sum(map(len, self._held.values()))})"

    def hold(self, message: RoundMessage) -> bool:
        """Open and keep a message. MessageError if it is out of order, too far ahead or not for this client.

        True if it is the only one kept of its sender and type, so it may be taken next.
        """
        kind, sender = type(message), message.sender
        if sender not in self._channels or not is_sent(kind.__name__, self._job, sender, self._me):
            raise MessageError(f"{kind.__name__}: client {sender} does not send this to client {self._me}")
        if self._closed:
            return False
        at, last = (message.round, message.place), self._last.get((sender, kind), (0, -1))
        if at <= last:
            raise turn_error(0, 1)(
                f"{kind.__name__}: message {at[1]} of round {at[0]} from client {sender}, after message "
                f"{last[1]} of round {last[0]}"
            )
        answers = isinstance(message, MaskedAnswer)
        if answers and message.round > self.round + 1:
            raise MessageError(
                f"{kind.__name__}: of round {message.round} from client {sender}, in round {self.round}"
            )
        ahead = len(self._held.get((sender, kind), ()))
        if ahead == self._before + (_MOST_ANSWERS if answers else _MOST):
            raise MessageError(f"{kind.__name__}: client {sender} is {ahead} messages ahead")
        data = memoryview(b"")  # stays empty for an answer that could not be read
        if message.sealed.payload or not answers:
            data = self._channels[sender].open(
                kind.purpose, part=message.place, sealed=message.sealed.payload, round_=message.round
            )
        self._last[sender, kind] = at
        held = self._held.setdefault((sender, kind), deque())
        # Without what was sealed, which may keep the bytes of other messages in memory.
        held.append(Letter(message=replace(message, sealed=Sealed(payload=b"")), data=data))
        return len(held) == 1

    def take(self, ready: Callable[[RoundMessage], bool]) -> Letter | None:
        """Take out the oldest message of some sender and type, if it is ready."""
        for held in self._held.values():
            if held and ready(held[0].message):
                return held.popleft()
        return None

    def close(self) -> None:
        """Drop kept and later messages, because the result has arrived."""
        self._closed = True
        self._held.clear()
