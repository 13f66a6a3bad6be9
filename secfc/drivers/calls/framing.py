"""Frames over the pipes between a party's process and the process that started it.

A frame is one byte of kind, eight bytes of length, and that many bytes of payload. The payload is a JSON
object, an array in NumPy's .npy format (read without pickle), a call, or its answer
(`secfc.drivers.calls.envelopes`). The answer to a dropped call is empty.
"""

import io
import json
import struct
from collections.abc import Collection
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from secfc.drivers.calls.envelopes import MAX_CALL_BYTES


class NoFrameError(EOFError):
    """The bytes are not one of our frames. A stream that ends inside a frame is another EOFError."""


FrameKind = Literal[b"J", b"A", b"C", b"R"]
JSON: FrameKind = b"J"
ARRAY: FrameKind = b"A"
CALL: FrameKind = b"C"
ANSWER: FrameKind = b"R"

_PIECE_BYTES = 1 << 24
_HEAD = struct.Struct("<cQ")
_MOST_BYTES = {JSON: 1 << 26, ARRAY: 1 << 40, CALL: MAX_CALL_BYTES, ANSWER: MAX_CALL_BYTES}
"""Larger frames are refused unread, so that no reader waits for text that looks like a frame head."""


def write_frame(stream: BinaryIO, kind: FrameKind, payload: bytes | bytearray | memoryview) -> None:
    """Write a frame and flush it."""
    stream.write(_HEAD.pack(kind, len(payload)))
    stream.write(payload)
    stream.flush()


def write_json(stream: BinaryIO, value: dict[str, Any]) -> None:
    """Write a JSON frame."""
    write_frame(stream, JSON, json.dumps(value).encode())


def write_array(stream: BinaryIO, array: NDArray[Any]) -> None:
    """Write an array frame."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    write_frame(stream, ARRAY, buffer.getbuffer())


def read_frame(stream: BinaryIO, *, kinds: Collection[bytes] = ()) -> tuple[bytes, bytes] | None:
    """The next frame's kind and payload, None at the end. `kinds` are allowed, by default all."""
    head = stream.read(_HEAD.size)
    if not head:
        return None
    if len(head) < _HEAD.size:
        raise EOFError("a frame was cut off")
    kind, size = _HEAD.unpack(head)
    if kind not in (kinds or _MOST_BYTES):
        raise NoFrameError("not a frame")
    if size > _MOST_BYTES[kind]:
        raise NoFrameError("an oversized frame")
    return kind, _read_exactly(stream, size)


def _read_exactly(stream: BinaryIO, size: int) -> bytes:
    """Read `size` bytes piece by piece, so that a false length costs no memory."""
    pieces = []
    while size:
        piece = stream.read(min(size, _PIECE_BYTES))
        if not piece:
            raise EOFError("a frame was cut off")
        pieces.append(piece)
        size -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def read_json(stream: BinaryIO) -> dict[str, Any]:
    """The next frame, which must be a JSON object, else NoFrameError."""
    value = json.loads(_expect(stream, JSON))
    if not isinstance(value, dict):
        raise NoFrameError("not a JSON object")
    return value


def read_array(stream: BinaryIO) -> NDArray[Any]:
    """The next frame, which must be an array."""
    return load_array(_expect(stream, ARRAY))


def load_array(payload: bytes) -> NDArray[Any]:
    """The array of an array frame."""
    array: NDArray[Any] = np.load(io.BytesIO(payload), allow_pickle=False)
    return array


def _expect(stream: BinaryIO, kind: bytes) -> bytes:
    frame = read_frame(stream)
    if frame is None or frame[0] != kind:
        raise EOFError(f"a {kind!r} frame was expected")
    return frame[1]
