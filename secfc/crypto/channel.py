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
from collections.abc import Iterator, Mapping, Sequence
from typing import Self

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from secfc.errors import SealError, SecFCError
from secfc.field.packing import Payload

TAG_BYTES = 16
"""Bytes that sealing adds to a payload."""

SMALL = 1 << 13
"""Fewer bytes are copied faster, with a header before them, than space for a header is reserved."""

LARGE = 1 << 16
"""More bytes are sealed part by part, because joining them would copy them, and opened into an array, for
which the system gives memory in larger pieces than for bytes."""

_LABEL = b"secfc seal 1"
_MASK_LABEL = b"secfc mask 2"
_LINK = struct.Struct("<HH")  # sender, recipient
_NONCE = struct.Struct("<IQ")  # round, part


Sent = dict[bytes, dict[int, int]]
"""By purpose and peer, the last place sealed for: its round, and its part in the lower 64 bits."""


class Sealed(Payload):
    """A sealed payload: equally many bytes of ciphertext, and a tag."""

    __slots__ = ()

    @classmethod
    def empty(cls, size: int) -> Self:
        """Uninitialised, for a payload of this many bytes, with space for a header before it."""
        return cls._with_room(size + TAG_BYTES)


class Channel:
    """Seals messages from one client to another, and opens messages from that client.

    `Channels` makes it. Places of sealed messages must ascend, so that no nonce is used twice. So a channel
    also refuses to be copied, pickled or used in a forked process. Opening has no state: the recipient knows
    the next place.
    """

    __slots__ = "_key", "_me", "_peer", "_process", "_sealed"

    def __init__(self, key: bytes, me: int, peer: int, sealed: Sent, process: int) -> None:
        self._key, self._me, self._peer = key, me, peer
        self._sealed, self._process = sealed, process

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
        return self.seal_parts(purpose, part=part, parts=[payload], round_=round_)

    def seal_parts(
        self, purpose: bytes, *, part: int, parts: Sequence[bytes | bytearray | memoryview], round_: int = 0
    ) -> Sealed:
        """The same of a payload in parts that follow one another. They are not copied if they are large."""
        if os.getpid() != self._process:
            raise SecFCError("a Channel was used in a forked process: its nonces would repeat")
        # Threads seal to different peers, so what one of them adds must not replace what another added.
        place, places = round_ << 64 | part, self._sealed.setdefault(purpose, {})
        if place <= places.get(self._peer, -1):
            raise SecFCError(
                f"{purpose.decode()}: part {part} of round {round_} to client {self._peer} is not after the "
                "last"
            )
        places[self._peer] = place
        nonce = _NONCE.pack(round_, part)
        key, associated = self._key_of(self._me, self._peer, purpose, nonce)
        size = sum(map(len, parts))
        if size > LARGE and len(parts) > 1:
            return _sealed(key, nonce, associated, parts, size)
        payload = parts[0] if len(parts) == 1 else b"".join(parts)
        if size < SMALL:
            return Sealed(payload=AESGCM(key).encrypt(nonce, payload, associated))
        sealed = Sealed.empty(size)
        AESGCM(key).encrypt_into(nonce, payload, associated, sealed.payload)
        return sealed

    def open(
        self, purpose: bytes, *, part: int, sealed: bytes | bytearray | memoryview, round_: int = 0
    ) -> memoryview:
        """The payload that the other client sealed for this place. SealError if it sealed no such message."""
        nonce = _NONCE.pack(round_, part)
        key, associated = self._key_of(self._peer, self._me, purpose, nonce)
        try:
            if len(sealed) < LARGE:
                return memoryview(AESGCM(key).decrypt(nonce, sealed, associated))
            opened = np.empty(len(sealed) - TAG_BYTES, dtype=np.uint8).data
            AESGCM(key).decrypt_into(nonce, sealed, associated, opened)
            return opened
        except InvalidTag:
            raise SealError(
                f"{purpose.decode()}: part {part} of round {round_} from client {self._peer} was not sealed "
                f"by it for client {self._me} and this place in this run"
            ) from None

    def mask_key(self, transcript: bytes) -> bytes:
        """A 32-byte secret that both parties derive for a run. `transcript` is a digest of 32 bytes.

        Keys of the run's masks are derived from it.
        """
        pair = _LINK.pack(min(self._me, self._peer), max(self._me, self._peer))
        return self._derive(_MASK_LABEL + pair + transcript)

    def _key_of(self, sender: int, recipient: int, purpose: bytes, nonce: bytes) -> tuple[bytes, bytes]:
        """The key of one direction and purpose, and the associated data of a message.

        It is derived for each message, in microseconds. Stored keys would take kilobytes per pair of clients.
        """
        link = _LABEL + _LINK.pack(sender, recipient) + purpose
        return self._derive(link), link + b"\0" + nonce

    def _derive(self, link: bytes) -> bytes:
        """The second step of HKDF. 32 bytes are one block."""
        return hmac.digest(self._key, link + b"\1", "sha256")


def _sealed(
    key: bytes, nonce: bytes, associated: bytes, parts: Sequence[bytes | bytearray | memoryview], size: int
) -> Sealed:
    """What `AESGCM` gives for the joined parts, without joining them."""
    sealed, at = Sealed.empty(size), 0
    out = memoryview(sealed.payload)
    cipher = Cipher(algorithms.AES256(key), modes.GCM(nonce)).encryptor()
    cipher.authenticate_additional_data(associated)
    for one in parts:
        at += cipher.update_into(one, out[at:])
    cipher.finalize()
    out[size:] = cipher.tag
    return sealed


class Channels(Mapping[int, Channel]):
    """One client's channels, by other client. Each is made when it is used.

    `secrets` are the X25519 secrets of this client and each other one, `transcript` is the digest of the
    session and all introductions. A process with all parties of a run has n**2 keys: so it keeps no object
    for each.
    """

    __slots__ = "_keys", "_me", "_process", "_sealed", "transcript"

    def __init__(self, *, secrets: Mapping[int, bytes], transcript: bytes, me: int) -> None:
        # The first step of HKDF (RFC 5869), common to all keys of a pair.
        self._keys = {peer: hmac.digest(transcript, secret, "sha256") for peer, secret in secrets.items()}
        self.transcript, self._me = transcript, me
        self._process, self._sealed = os.getpid(), Sent()

    def __repr__(self) -> str:
        return f"Channels(client {self._me} and {len(self)} others)"

    def __reduce__(self) -> tuple[object, ...]:
        raise SecFCError("Channels cannot be copied or pickled: their nonces would repeat")

    def __getitem__(self, peer: int) -> Channel:
        return Channel(self._keys[peer], self._me, peer, self._sealed, self._process)

    def __contains__(self, peer: object) -> bool:
        return peer in self._keys

    def __iter__(self) -> Iterator[int]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)
