"""The messages of a preparation, from client to client, and their one binary encoding.

::

    header       "SFP2" | type (1) | run (16) | sender (2) | recipient (2) | round (4)
    0 Introduce  agreement (32) | rows (4) | digest of start labels (32) | ephemeral key (32) | signature (64)
    1 Holds      sealed: a byte for each column, 1 or 0
    2 Deal       sealed: shares
    3 Complete   sealed: digest of everybody's Holds (32)
    4 Opening    sealed: sum of shares

Integers are little-endian. The round is 0. The number of rows is 0 and the digest that of nothing: a
preparation hides both.
"""

import struct
from dataclasses import dataclass, field

from secfc.errors import MessageError
from secfc.protocol.magic import check_magic, magic_of
from secfc.protocol.messages import RUN_ID_BYTES, Message
from secfc.protocol.wire import Envelope
from secfc.row_layout import MAX_PREPARE_BYTES
from secfc.sealing.channel import TAG_BYTES
from secfc.sealing.handshake import DIGEST_BYTES, Introduction
from secfc.sealing.identity import KEY_BYTES, SIGNATURE_BYTES

MAGIC = magic_of("SFP")
"""Format and its version."""

_HEADER = struct.Struct(f"<4sB{RUN_ID_BYTES}sHHI")
_INTRODUCE = struct.Struct(f"<{DIGEST_BYTES}sI{DIGEST_BYTES}s{KEY_BYTES}s{SIGNATURE_BYTES}s")


@dataclass(frozen=True, kw_only=True, eq=False)
class Introduce(Message):
    """Who a client is: its key for this run, signed, and the digest of what it agreed on."""

    agreement: bytes = field(repr=False)
    introduction: Introduction


@dataclass(frozen=True, kw_only=True, eq=False)
class SealedMessage(Message):
    """What only its recipient reads."""

    sealed: bytes = field(repr=False)


class Holds(SealedMessage):
    """Of which columns the sender has enough values."""

    purpose = b"prepare holds"


class Deal(SealedMessage):
    """The recipient's shares of what the sender adds to the totals."""

    purpose = b"prepare deal"


class Complete(SealedMessage):
    """The sender has everybody's shares; a digest of what all told it that they hold."""

    purpose = b"prepare complete"


class Opening(SealedMessage):
    """The sender's sum of all clients' shares."""

    purpose = b"prepare opening"


_SEALED: tuple[type[SealedMessage], ...] = (Holds, Deal, Complete, Opening)
_TYPES: tuple[type[Message], ...] = (Introduce, *_SEALED)
"""The position is the type's number on the wire."""


def encode(message: Message) -> bytes:
    """The bytes of a message."""
    match message:
        case Introduce(agreement=agreement, introduction=one):
            body = _INTRODUCE.pack(agreement, one.rows, one.start, one.ephemeral, one.signature)
        case SealedMessage(sealed=sealed):
            body = sealed
        case _:
            raise AssertionError(type(message))
    number = _TYPES.index(type(message))
    return _HEADER.pack(MAGIC, number, message.run, message.sender, message.recipient, message.round) + body


def decode(data: bytes) -> Message:
    """The message of these bytes.

    Raises
    ------
    MessageError
        For everything that `encode` would not have written.
    """
    if not _HEADER.size <= len(data) <= MAX_PREPARE_BYTES:
        raise MessageError(
            f"a message of {len(data)} bytes, {_HEADER.size} to {MAX_PREPARE_BYTES} are possible"
        )
    magic, number, run, sender, recipient, round_ = _HEADER.unpack_from(data)
    check_magic(magic, MAGIC)
    if number >= len(_TYPES):
        raise MessageError(f"unknown message type {number}")
    kind, body = _TYPES[number], data[_HEADER.size :]
    if kind is Introduce:
        if len(body) != _INTRODUCE.size:
            raise MessageError(f"Introduce: a body of {len(body)} bytes, {_INTRODUCE.size} are needed")
        agreement, rows, start, ephemeral, signature = _INTRODUCE.unpack(body)
        one = Introduction(rows=rows, start=start, ephemeral=ephemeral, signature=signature)
        return Introduce(
            run=run, sender=sender, recipient=recipient, round=round_, agreement=agreement, introduction=one
        )
    if len(body) < TAG_BYTES:
        raise MessageError(f"{kind.__name__}: {len(body)} sealed bytes, at least {TAG_BYTES} are needed")
    sealed: type[SealedMessage] = _SEALED[number - 1]
    return sealed(run=run, sender=sender, recipient=recipient, round=round_, sealed=body)


def envelope(data: bytes | bytearray | memoryview) -> Envelope:
    """The header of a message, for those who carry it and do not read it.

    Raises
    ------
    MessageError
        When it is no header of ours.
    """
    if len(data) < _HEADER.size:
        raise MessageError("not a message of a preparation")
    magic, number, _, sender, recipient, round_ = _HEADER.unpack_from(data)
    check_magic(magic, MAGIC)
    if number >= len(_TYPES):
        raise MessageError(f"unknown message type {number}")
    return Envelope(
        kind=_TYPES[number].__name__,
        phase="prepare",
        work="prepare",
        sender=sender,
        recipient=recipient,
        round=round_,
    )
