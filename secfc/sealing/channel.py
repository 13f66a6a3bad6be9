"""A sealed channel between two clients: AES-256-GCM under keys that only they can derive.

::

    link  = "secfc seal 1" | sender (2) | recipient (2) | purpose
    key   = HKDF-SHA256(X25519 secret, salt = transcript, info = link)
    nonce = round (4) | part (8)
    associated data = link | 0 | nonce

A key belongs to one session, direction and purpose, and a nonce to one message under that key. This alone
binds a message to its place. The associated data repeat it.
"""

import hmac
import os
import struct
from typing import Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from secfc import large_memory
from secfc.errors import SealError, SecFCError
from secfc.payload import Payload

TAG_BYTES = 16
"""Bytes that sealing adds to a payload."""

_LABEL = b"secfc seal 1"
_MASK_LABEL = b"secfc mask 2"
_LINK = struct.Struct("<HH")  # sender, recipient
_NONCE = struct.Struct("<IQ")  # round, part


class Sealed(Payload):
    """A sealed payload: equally many bytes of ciphertext, and a tag."""

    __slots__ = ()

    @classmethod
    def empty(cls, size: int) -> Self:
        """Uninitialised, for a payload of this many bytes, with space for a header before it."""
        return cls._with_room(size + TAG_BYTES)


class Channel:
    """Seals messages from one client to another, and opens messages from that client.

    `secret` is the X25519 secret of both, `transcript` the digest of the session and all introductions.
    Places of sealed messages must ascend, so that no nonce is used twice. So a channel also refuses to be
    copied, pickled or used in a forked process. Opening has no state: the recipient knows the next place.
    """

    __slots__ = "_key", "_me", "_peer", "_process", "_sealed"

    def __init__(self, *, secret: bytes, transcript: bytes, me: int, peer: int) -> None:
        # The first step of HKDF (RFC 5869), common to all keys of the pair.
        self._key, self._me, self._peer = hmac.digest(transcript, secret, "sha256"), me, peer
        # The last place, by purpose: its round, and its part in the lower 64 bits.
        self._sealed: dict[bytes, int] = {}
        self._process = os.getpid()

    def __repr__(self) -> str:
        return f"Channel(client {self._me} and client {self._peer})"

    def __reduce__(self) -> tuple[object, ...]:
        raise SecFCError("a Channel cannot be copied or pickled: its nonces would repeat")

    def seal(
        self, purpose: bytes, *, part: int, payload: bytes | bytearray | memoryview, round_: int = 0
    ) -> Sealed:
        """Seal a payload for a place after all places sealed before. Otherwise SecFCError.

        The purpose is that of the message's type. part < 2**64, round_ < 2**32.
        """
        if os.getpid() != self._process:
            raise SecFCError("a Channel was used in a forked process: its nonces would repeat")
        place = round_ << 64 | part
        if place <= self._sealed.get(purpose, -1):
            raise SecFCError(
                f"{purpose.decode()}: part {part} of round {round_} to client {self._peer} is not after the "
                "last"
            )
        self._sealed[purpose] = place
        sealed, nonce = Sealed.empty(len(payload)), _NONCE.pack(round_, part)
        cipher, associated = self._cipher(self._me, self._peer, purpose)
        cipher.encrypt_into(nonce, payload, associated + nonce, sealed.payload)
        return sealed

    def open(
        self, purpose: bytes, *, part: int, sealed: bytes | bytearray | memoryview, round_: int = 0
    ) -> memoryview:
        """The payload that the other client sealed for this place. SealError if it sealed no such message."""
        nonce, size = _NONCE.pack(round_, part), len(sealed) - TAG_BYTES
        cipher, associated = self._cipher(self._peer, self._me, purpose)
        payload = large_memory.empty(size) if size >= large_memory.LARGE else None
        try:
            if payload is None:
                return memoryview(cipher.decrypt(nonce, sealed, associated + nonce))
            cipher.decrypt_into(nonce, sealed, associated + nonce, payload)
            return payload
        except InvalidTag:
            if payload is not None:
                payload[:] = bytes(size)  # it has what was decrypted before the tag was checked
                payload = None  # a traceback would keep it
            raise SealError(
                f"{purpose.decode()}: part {part} of round {round_} from client {self._peer} was not sealed "
                f"by it for client {self._me} and this place in this run"
            ) from None

    def mask_key(self, *, round_: int, part: int, question: bytes) -> bytes:
        """A 32-byte key that both clients derive for the masks of a part of a round's answer.

        `question` is a 32-byte digest of the question.
        """
        pair = _LINK.pack(min(self._me, self._peer), max(self._me, self._peer))
        return self._derive(_MASK_LABEL + pair + _NONCE.pack(round_, part) + question)

    def _cipher(self, sender: int, recipient: int, purpose: bytes) -> tuple[AESGCM, bytes]:
        """The cipher of one direction and purpose, and the start of the associated data of all its messages.

        It is made for each message, in microseconds. Stored ciphers would take kilobytes per pair of clients.
        """
        link = _LABEL + _LINK.pack(sender, recipient) + purpose
        return AESGCM(self._derive(link)), link + b"\0"

    def _derive(self, link: bytes) -> bytes:
        """The second step of HKDF. 32 bytes are one block."""
        return hmac.digest(self._key, link + b"\1", "sha256")
