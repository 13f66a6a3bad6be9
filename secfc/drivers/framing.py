"""How a party's process and the process that started it talk: frames over pipes.

A frame is one byte of kind, eight bytes of length, and that many bytes: an encoded protocol message, a JSON
object for the driver, an array in NumPy's .npy format (read without pickle), how many frames a party has on
its disk, or, to a party, how many of its messages another party has on its own.
"""

import io
import json
import struct
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from secfc.row_layout import MAX_MESSAGE_BYTES

Kind = Literal[b"M", b"J", b"A", b"K", b"S"]
MESSAGE: Kind = b"M"
JSON: Kind = b"J"
ARRAY: Kind = b"A"
KEPT: Kind = b"K"
SETTLED: Kind = b"S"

_PIECE_BYTES = 1 << 24
_HEAD = struct.Struct("<cQ")
_COUNT = struct.Struct("<Q")
_COUNT_OF = struct.Struct("<QQ")
_MOST_BYTES = {MESSAGE: MAX_MESSAGE_BYTES, JSON: 1 << 26, ARRAY: 1 << 40, KEPT: 8, SETTLED: 16}
"""Larger frames are refused unread: text that begins like a frame must not be waited for."""


def write_frame(stream: BinaryIO, kind: Kind, payload: bytes | bytearray | memoryview) -> None:
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


class CutOffError(EOFError):
    """The stream ends inside a frame: whoever wrote it has died."""


def read_frame(stream: BinaryIO, most: int = MAX_MESSAGE_BYTES) -> tuple[bytes, bytes] | None:
    """The next frame's kind and payload, None at the end of the stream.

    Parameters
    ----------
    stream : binary stream
    most : int
        Bytes of the largest message that is taken; a larger one is refused unread.

    Raises
    ------
    EOFError
        When the frame is not one of ours; `CutOffError` when the stream ends inside it.
    """
    head = stream.read(_HEAD.size)
    if not head:
        return None
    if len(head) < _HEAD.size:
        raise CutOffError("a frame was cut off")
    kind, size = _HEAD.unpack(head)
    if kind not in _MOST_BYTES:
        raise EOFError("not a frame")
    if size > (most if kind == MESSAGE else _MOST_BYTES[kind]):
        raise EOFError("an oversized frame")
    return kind, _read_exactly(stream, size)


def _read_exactly(stream: BinaryIO, size: int) -> bytes:
    """`size` bytes, asked for piece by piece: a length that is a lie costs no memory."""
    pieces = []
    while size:
        piece = stream.read(min(size, _PIECE_BYTES))
        if not piece:
            raise CutOffError("a frame was cut off")
        pieces.append(piece)
        size -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def write_kept(stream: BinaryIO, count: int) -> None:
    """Say how many frames need not be sent again."""
    write_frame(stream, KEPT, _COUNT.pack(count))


def load_count(payload: bytes) -> int:
    """The count of such a frame."""
    return int(_COUNT.unpack(payload)[0])


def settled(recipient: int, count: int) -> bytes:
    """The payload that says how many messages a recipient has on its disk."""
    return _COUNT_OF.pack(recipient, count)


def load_settled(payload: bytes) -> tuple[int, int]:
    """Recipient and count of such a frame."""
    recipient, count = _COUNT_OF.unpack(payload)
    return recipient, count


def read_json(stream: BinaryIO) -> dict[str, Any]:
    """The next frame, which must be JSON."""
    value = json.loads(expect_json(stream))
    assert isinstance(value, dict)
    return value


def expect_json(stream: BinaryIO) -> bytes:
    """The next frame, which must be JSON, as its bytes."""
    return _expect(stream, JSON)


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
