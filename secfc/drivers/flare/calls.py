"""What the coordinator and a site say to each other: numbered calls, each with one answer.

Encoded messages travel as a stream of bytes in each direction, cut into pieces that no limit of the transport
is near to. The coordinator calls, a site answers, so a site needs no thread and no open port of its own.
A call that was not answered in time is sent again under its number and gets the same answer.
"""

import json
import struct
from collections import deque
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from secfc.errors import MessageError
from secfc.row_layout import MAX_MESSAGE_BYTES

MAGIC = b"SFF1"
"""Format of calls and answers, and its version."""

PIECE_BYTES = 1 << 23
"""Most bytes of messages in a call or an answer: far below FLARE's and gRPC's limits."""

_HEAD = struct.Struct("<4sBI")  # magic, kind, number
_LENGTH = struct.Struct("<Q")


class Kind(IntEnum):
    """What a call asks or an answer says."""

    OPEN = 0  # call: JSON that names the run, the agreement's digest and the site's number
    MESSAGES = 1  # call: a piece of the stream to the site, possibly empty
    CLOSE = 2  # call: JSON that says how the run ended
    ANSWER = 3  # answer: a piece of the stream from the site
    MORE = 4  # answer: the same, and more is ready
    REPORT = 5  # answer to CLOSE: JSON
    ERROR = 6  # answer: JSON with the type and text of an error of ours
    DONE = 7  # answer: a piece of the stream, and the run has ended for the site


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call or an answer. An answer carries its call's number."""

    kind: Kind
    number: int
    body: bytes = field(repr=False)

    def encode(self) -> bytes:
        """The bytes that travel."""
        return _HEAD.pack(MAGIC, self.kind, self.number) + self.body


def decode_call(data: object) -> Call:
    """The call or answer of these bytes.

    Raises
    ------
    MessageError
        When it is none of ours.
    """
    if not isinstance(data, bytes) or len(data) < _HEAD.size:
        raise MessageError("a call: not of this protocol")
    magic, kind, number = _HEAD.unpack_from(data)
    if magic != MAGIC or kind not in list(Kind):
        raise MessageError("a call: not of this protocol, or of another version")
    if len(data) > _HEAD.size + PIECE_BYTES:
        raise MessageError(f"a call: {len(data)} bytes, at most {PIECE_BYTES} and a header are taken")
    return Call(kind=Kind(kind), number=number, body=data[_HEAD.size :])


def to_json(value: dict[str, Any]) -> bytes:
    """A JSON body."""
    return json.dumps(value).encode()


def from_json(body: bytes) -> dict[str, Any]:
    """The object of a JSON body.

    Raises
    ------
    MessageError
        When it is none.
    """
    try:
        value = json.loads(body)
    except ValueError:
        raise MessageError("a call: its body is no JSON") from None
    if not isinstance(value, dict):
        raise MessageError("a call: its body is no JSON object")
    return value


class Outgoing:
    """Messages on their way to one party, taken piece by piece."""

    def __init__(self) -> None:
        self._waiting: deque[memoryview] = deque()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def put(self, message: bytes | memoryview) -> None:
        """Append a message."""
        self._waiting.append(memoryview(_LENGTH.pack(len(message))))
        self._waiting.append(memoryview(message))

    def take(self) -> bytes:
        """The next piece, empty when nothing waits."""
        taken, room = [], PIECE_BYTES
        while self._waiting and room:
            head = self._waiting.popleft()
            taken.append(head[:room])
            if len(head) > room:
                self._waiting.appendleft(head[room:])
            room -= len(taken[-1])
        return b"".join(taken)

    def clear(self) -> None:
        """Forget what waits."""
        self._waiting.clear()


class Incoming:
    """Messages put together again from the pieces of a stream."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, piece: bytes) -> list[bytes]:
        """Take a piece, return the messages that it completes.

        Raises
        ------
        MessageError
            When a larger message is announced than any of ours; nothing is allocated for what has not come.
        """
        self._buffer += piece
        messages, at = [], 0
        while len(self._buffer) - at >= _LENGTH.size:
            (size,) = _LENGTH.unpack_from(self._buffer, at)
            if size > MAX_MESSAGE_BYTES:
                raise MessageError(f"oversized message: {size} bytes, at most {MAX_MESSAGE_BYTES} are taken")
            end = at + _LENGTH.size + size
            if len(self._buffer) < end:
                break
            messages.append(bytes(memoryview(self._buffer)[at + _LENGTH.size : end]))
            at = end
        del self._buffer[:at]
        return messages
