"""The compact binary encoding of messages, canonical by construction.

A message is a fixed header and the body that its class declares: fixed-width little-endian integers, then at
most one array whose length follows from them. Every message has one encoding, its size is known before
anything is allocated, and nothing in it is executable. The table is in docs/protocol.md, "Messages".

The server signs each of its messages::

    statement = "secfc server 1" | agreement (32) | header of the message | SHA-256 of its body

The header names the run, the type, sender and round. Its recipient is 0, because the server signs once what
it sends to many. So a signature is of no use in another run, place or agreement, and everybody who has the
roster can check it.
"""

import hashlib
import struct
from collections.abc import Callable
from typing import NamedTuple

from secfc.crypto.handshake import Session
from secfc.crypto.identity import SIGNATURE_BYTES, Identity
from secfc.errors import MessageError, ParameterError, SecFCError
from secfc.protocol.job.row_layout import MAX_MESSAGE_BYTES
from secfc.protocol.messages.encodings import Reader
from secfc.protocol.messages.kinds import KINDS, RUN_ID_BYTES, SERVER, FromServer, Message, Phase
from secfc.version import PROTOCOL


def magic_of(name: str) -> bytes:
    """The first bytes of a format's messages: three letters and the version of the protocol."""
    return f"{name}{PROTOCOL}".encode()


def check_magic(found: bytes, magic: bytes) -> None:
    """Raise MessageError for another format, or for another version, with both versions in the text."""
    if found == magic:
        return
    version = bytes(found[len(magic) - 1 :])
    if found[: len(magic) - 1] == magic[:-1] and version.isdigit():
        raise MessageError(
            f"a message of version {version.decode()} of the protocol; this party has version {PROTOCOL}"
        )
    raise MessageError("not a secfc message, or not where it belongs")


MAGIC = magic_of("SFC")
"""Format and its version."""

# magic, type, run, sender, recipient, round
_HEADER = struct.Struct(f"<4sB{RUN_ID_BYTES}sHHI")
HEADER_BYTES = _HEADER.size
"""Bytes of the header before the body of every message."""

Most = Callable[[type[Message]], int]
"""Bytes of the largest message of a type."""


class Envelope(NamedTuple):
    """The content of a message's header, for carriers, which do not read the body."""

    kind: str
    phase: Phase
    work: Phase
    sender: int
    recipient: int
    round: int


class Signer:
    """The server's side: signatures of its messages in one session.

    Ed25519 is deterministic: the same message has the same signature, also after a restart. ParameterError if
    the identity's key is not the roster's.
    """

    def __init__(self, session: Session, identity: Identity) -> None:
        if identity.public != session.roster.coordinator:
            raise ParameterError("server: its identity is not the one pinned in the roster")
        self._agreement, self._identity = session.agreement, identity
        self._last: tuple[bytes, bytes, bytes] | None = None  # header, body and signature

    def __repr__(self) -> str:
        return "Signer()"

    def sign(self, header: bytes, body: bytes) -> bytes:
        """The signature of a message; one that is sent to many is signed once."""
        last = self._last
        if last is None or last[:2] != (header, body):  # comparing is faster than hashing again
            signature = self._identity.sign(_statement(self._agreement, header, body))
            last = self._last = header, body, signature
        return last[2]


def verify(session: Session, header: bytes, body: bytes | memoryview, signature: bytes) -> None:
    """Raise SealError unless the server of this session's roster signed a message under its agreement."""
    statement = _statement(session.agreement, header, body)
    session.roster.verify(SERVER, signature, statement, what="its message")


def _statement(agreement: bytes, header: bytes, body: bytes | memoryview) -> bytes:
    return b"secfc server 1" + agreement + header + hashlib.sha256(body).digest()


def encode(message: Message, *, k: int, signer: Signer | None = None) -> bytes | memoryview:
    """The bytes of a message. Labels take the bits of k - 1, sets those of k. `signer` is the server's."""
    place = message.sender, message.recipient, message.round
    header = _HEADER.pack(MAGIC, message.number, message.run, *place)
    body, bulk = message.body.pack(message, k)
    if bulk is not None:
        return bulk.framed(header + body)
    if isinstance(message, FromServer):
        if signer is None:
            raise SecFCError(f"{type(message).__name__}: the server signs its messages")
        return b"".join((header, body, signer.sign(signed_header(header), body)))
    return header + body


def _no_more(kind: type[Message]) -> int:
    return MAX_MESSAGE_BYTES


def decode(data: bytes | memoryview, *, k: int, session: Session, most: Most = _no_more) -> Message:
    """The message of these bytes. Residues, labels and sealed bytes in it keep a view of them.

    A message larger than `most` allows is refused unread. A message of the server must have the signature of
    the session's server, which is verified before the body is read. MessageError for bytes that `encode`
    would not write, SealError for a wrong signature.
    """
    octets = memoryview(data)
    reader = Reader(octets)
    kind, run, sender, recipient, round_ = _read_header(reader)
    if len(octets) > most(kind):
        raise MessageError(f"oversized message: {kind.__name__} of {len(octets)} bytes, at most {most(kind)}")
    if issubclass(kind, FromServer):
        end = len(octets) - SIGNATURE_BYTES
        if end < HEADER_BYTES:
            raise MessageError(f"truncated message: {len(octets)} bytes, without the server's signature")
        header, body = signed_header(bytes(octets[:HEADER_BYTES])), octets[HEADER_BYTES:end]
        verify(session, header, body, bytes(octets[end:]))
        reader = Reader(octets[:end], at=HEADER_BYTES)
    fields = kind.body.unpack(reader, k)
    if reader.left:
        raise MessageError(f"{kind.__name__}: {reader.left} bytes after its end")
    return kind(run=run, sender=sender, recipient=recipient, round=round_, **fields)


def signed_header(header: bytes) -> bytes:
    """A header as the server signs it, once for all recipients: it has recipient 0."""
    *before, _, round_ = _HEADER.unpack(header)
    return _HEADER.pack(*before, SERVER, round_)


def envelope(data: bytes | bytearray | memoryview) -> Envelope:
    """The header of a message's bytes. MessageError if it is not valid."""
    kind, _, sender, recipient, round_ = _read_header(Reader(memoryview(data)))
    return _envelope(kind, sender, recipient, round_)


def envelope_of(one: Message) -> Envelope:
    """The header that a message has once it is encoded."""
    return _envelope(type(one), one.sender, one.recipient, one.round)


def _envelope(kind: type[Message], sender: int, recipient: int, round_: int) -> Envelope:
    first = None if round_ else kind.at_first
    phases = first or kind.phase, first or kind.work
    return Envelope(kind.__name__, *phases, sender, recipient, round_)


def _read_header(reader: Reader) -> tuple[type[Message], bytes, int, int, int]:
    magic, number, run, sender, recipient, round_ = reader.unpack(_HEADER)
    check_magic(magic, MAGIC)
    if number >= len(KINDS):
        raise MessageError(f"unknown message type {number}")
    return KINDS[number], run, sender, recipient, round_
