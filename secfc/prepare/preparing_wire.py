"""Messages of a preparation as bytes, in the encoding of all messages. Other messages are refused."""

from secfc.errors import MessageError
from secfc.protocol.job.row_layout import MAX_PREPARE_BYTES
from secfc.protocol.messages import PREPARING, Message, wire

_K = 1
"""Any number of clusters: these messages contain no labels."""


def encode(message: Message) -> bytes | memoryview:
    """The bytes of a message."""
    return wire.encode(message, k=_K)


def decode(data: bytes | memoryview) -> Message:
    """The message in these bytes; MessageError for bytes that `encode` does not write."""
    return wire.decode(data, k=_K, session=None, most=_most_bytes)


def _most_bytes(kind: type[Message]) -> int:
    if kind not in PREPARING:
        raise MessageError(f"{kind.__name__}: not a message of a preparation")
    return MAX_PREPARE_BYTES
