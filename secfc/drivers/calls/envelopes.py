"""Messages between the coordinator and a site: numbered calls, each with one answer.

Encoded messages are a stream of bytes in each direction. It is cut into pieces far below the limits of the
transport. The coordinator calls and a site answers, so a site needs no thread and no open port of its own. A
call without an answer in time is sent again with its number and gets the same answer.

A coordinator that was killed does not know its last call to a site. It sends the number after the last answer
on its disk. If the site has already taken that number, it gives the same answer again. So each call states
where its piece begins in the stream to the site, and each answer states how many bytes of it the site has.

::

    head      = magic (4) | kind (1) | number (4) | position (8) | run (16) | agreement (32) | recipient (2)
    call      = head | body | signature (64)
    answer    = magic (4) | kind (1) | number (4) | position (8) | body
    statement = "secfc call 2" | head | SHA-256 of the body

The coordinator signs the statement with its key from the roster. Others can call a site too over a transport,
so a site takes only signed calls.
"""

import hashlib
import json
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from secfc.crypto.hash_tree import DIGEST_BYTES
from secfc.crypto.identity import SIGNATURE_BYTES, Identity, Roster
from secfc.errors import MessageError
from secfc.protocol.messages import RUN_ID_BYTES
from secfc.protocol.messages.wire import check_magic, magic_of

MAGIC = magic_of("SFF")  # format of calls and answers, and its version

PIECE_BYTES = 1 << 23
"""Limit on the bytes of messages in a call or an answer, far below FLARE's and gRPC's limits."""

_HEAD = struct.Struct("<4sBIQ")  # magic, kind, number, position
_PLACE = struct.Struct(f"<{RUN_ID_BYTES}s{DIGEST_BYTES}sH")  # run, agreement, recipient
_CALL_BYTES = _HEAD.size + _PLACE.size
_LENGTH = struct.Struct("<Q")
MAX_CALL_BYTES = PIECE_BYTES + _CALL_BYTES + SIGNATURE_BYTES  # of a call or an answer
_STATEMENT = b"secfc call 2"
_COORDINATOR = 0


class Kind(IntEnum):
    """The kind of a call or an answer."""

    OPEN = 0  # call: take part in the run; no body
    MESSAGES = 1  # call: a piece of the stream to the site, possibly empty
    CLOSE = 2  # call: JSON with "complete", or type, code and client of the error that ended the run
    ANSWER = 3  # answer: a piece of the stream from the site
    MORE = 4  # answer: the same, and more is ready
    REPORT = 5  # answer to CLOSE: JSON
    ERROR = 6  # answer: JSON with the type and code of an error
    DONE = 7  # answer: a piece of the stream, and the run has ended for the site


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A site's answer. It has its call's number."""

    kind: Kind
    number: int
    position: int = 0  # bytes of the stream to the site that the site has
    body: bytes | memoryview = field(repr=False)

    def encode(self) -> bytes:
        """The encoded bytes."""
        return b"".join((_HEAD.pack(MAGIC, self.kind, self.number, self.position), self.body))


@dataclass(frozen=True, kw_only=True)
class Place:
    """The run, its agreement and the client that calls are for."""

    run: bytes = field(repr=False)
    agreement: bytes = field(repr=False)
    recipient: int


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call as received. `verify` checks that the coordinator signed it."""

    kind: Kind
    number: int
    position: int = 0  # where the body begins in the stream to the site
    place: Place
    body: bytes | memoryview = field(repr=False)
    signature: bytes = field(default=b"", repr=False)  # 64 bytes

    def signed(self, identity: Identity) -> bytes:
        """The encoded bytes with the coordinator's signature."""
        return b"".join((self._head(), self.body, identity.sign(self._statement())))

    def verify(self, roster: Roster) -> None:
        """Raise SealError unless the roster's coordinator signed it."""
        roster.verify(_COORDINATOR, self.signature, self._statement(), what="a call")

    def _head(self) -> bytes:
        head = _HEAD.pack(MAGIC, self.kind, self.number, self.position)
        return head + _PLACE.pack(self.place.run, self.place.agreement, self.place.recipient)

    def _statement(self) -> bytes:
        return _STATEMENT + self._head() + hashlib.sha256(self.body).digest()


def decode_answer(data: object) -> Answer:
    """Decode an answer, whose body is a view of the bytes. MessageError if they are not one."""
    whole, kind, number, position = _decode_head(data, _HEAD.size)
    return Answer(kind=kind, number=number, position=position, body=memoryview(whole)[_HEAD.size :])


def decode_call(data: object) -> Call:
    """Decode a call, likewise, without verifying it. MessageError if the bytes are not one."""
    whole, kind, number, position = _decode_head(data, _CALL_BYTES + SIGNATURE_BYTES)
    run, agreement, recipient = _PLACE.unpack_from(whole, _HEAD.size)
    return Call(
        kind=kind,
        number=number,
        position=position,
        place=Place(run=run, agreement=agreement, recipient=recipient),
        body=memoryview(whole)[_CALL_BYTES:-SIGNATURE_BYTES],
        signature=whole[-SIGNATURE_BYTES:],
    )


def _decode_head(data: object, around: int) -> tuple[bytes, Kind, int, int]:
    """The bytes, and their kind, number and position. `around` is the number of bytes around the body."""
    if not isinstance(data, bytes) or len(data) < len(MAGIC):
        raise MessageError("a call: not of this protocol")
    check_magic(data[: len(MAGIC)], MAGIC)
    if len(data) < _HEAD.size:
        raise MessageError(f"a call: of {len(data)} bytes")
    _, kind, number, position = _HEAD.unpack_from(data)
    if kind >= len(Kind) or not around <= len(data) <= around + PIECE_BYTES:
        raise MessageError(f"a call: of type {kind} and {len(data)} bytes")
    return data, Kind(kind), number, position


def to_json(value: dict[str, Any]) -> bytes:
    """A JSON body."""
    return json.dumps(value).encode()


def from_json(body: bytes | memoryview) -> dict[str, Any]:
    """The object of a JSON body. MessageError if it is not a JSON object."""
    try:
        value = json.loads(bytes(body))
    except (ValueError, RecursionError):
        raise MessageError("a call: its body is no JSON") from None
    if not isinstance(value, dict):
        raise MessageError("a call: its body is no JSON object")
    return value


class Outgoing:
    """A stream of messages to one party. Pieces are kept until the party has them."""

    def __init__(self) -> None:
        self.position = 0  # bytes of the stream that the party has for certain
        self._rest = bytearray()  # of the stream, from `position` on
        self._taken = 0  # bytes of the last piece, until the party has it

    def __bool__(self) -> bool:
        return len(self._rest) > self._taken

    def put(self, message: bytes | memoryview) -> None:
        """Append a message."""
        self._rest += _LENGTH.pack(len(message))
        self._rest += message

    def take(self) -> bytes:
        """The next piece, or nothing. The party must have the last piece already."""
        self.reach(self.position + self._taken)
        with memoryview(self._rest) as rest:
            piece = bytes(rest[:PIECE_BYTES])
        self._taken = len(piece)
        return piece

    def reach(self, position: int) -> None:
        """Forget the stream up to `position`. MessageError if it is not after the last piece, or not sent."""
        if not self._taken <= position - self.position <= len(self._rest):
            raise MessageError(f"an answer: {position} bytes of the stream are said to be taken")
        del self._rest[: position - self.position]
        self.position, self._taken = position, 0

    def clear(self) -> None:
        """Forget everything that waits."""
        del self._rest[self._taken :]


class Incoming:
    """Reassembles messages from the pieces of a stream."""

    def __init__(self, most: Callable[[], int]) -> None:
        self._most = most  # returns the limit on the next message, in bytes
        self.position = 0  # bytes of the stream so far
        self._rest = bytearray()  # of the stream
        self._at = 0  # where the next message begins in it

    def feed(self, piece: bytes | memoryview, *, position: int | None = None) -> Iterator[bytes]:
        """Take a piece and yield the messages that it completes.

        `most` is called for each message after those before it were taken. `position` is where the piece
        begins in the stream: bytes that came before are skipped. Without it the piece follows the last.
        """
        if position is not None:
            if position > self.position:
                raise MessageError(f"a call: a piece at {position}, {self.position} bytes were taken")
            piece = piece[self.position - position :]
        self.position += len(piece)
        del self._rest[: self._at]
        self._at = 0
        self._rest += piece
        while (message := self._next()) is not None:
            yield message

    def _next(self) -> bytes | None:
        begin = self._at + _LENGTH.size
        if len(self._rest) < begin:
            return None
        (size,) = _LENGTH.unpack_from(self._rest, self._at)
        if size > (most := self._most()):
            self._rest, self._at = bytearray(), 0
            raise MessageError(f"oversized message: {size} bytes, at most {most} are taken")
        end = begin + size
        if len(self._rest) < end:
            return None
        with memoryview(self._rest) as rest:
            message = bytes(rest[begin:end])
        self._at = end
        if end == len(self._rest):  # its memory is free while the message is used
            self._rest, self._at = bytearray(), 0
        return message
