"""Identities of the parties: long-term Ed25519 keys, and the roster of public keys that all have pinned.

A public key of small order is refused. Signatures of such a key can be valid for others of them, and for
other statements. Without such keys a signature is of one key and one statement (Chalkias, Garillot,
Nikolaenko, "Taming the many EdDSAs", 2020; Brendel, Cremers, Jackson, Zhao, "The provable security of
Ed25519", 2021).

Others can seal to an identity: its X25519 key is the same point on the birationally equivalent curve (RFC
7748, 4.1), u = (1 + y) / (1 - y). The private X25519 key is the scalar that Ed25519 signs with, as in
libsodium. Ed25519 signatures and an X25519 KEM under one such key are secure together (Thormarker, eprint
2021/509).
"""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from secfc.errors import ParameterError, SealError, SecFCError

KEY_BYTES = 32
SIGNATURE_BYTES = 64
P25519 = 2**255 - 19
"""The prime of edwards25519, -x² + y² = 1 + EDWARDS_D x² y² (RFC 8032, 5.1)."""

EDWARDS_D = -121665 * pow(121666, -1, P25519) % P25519
_ROSTER = b"secfc roster 2"

KNOWN = 1 << 13
"""Number of public values whose check a process remembers: more than one per party of the largest job."""


class Identity:
    """A party's long-term Ed25519 key pair. A client signs its introduction, the server all its messages.

    `private`, 32 bytes, is a fresh key from the operating system by default.
    """

    def __init__(self, private: bytes | None = None) -> None:
        if private is None:
            self._key = Ed25519PrivateKey.generate()
        else:
            if len(private) != KEY_BYTES:
                raise ParameterError(
                    f"identity: a private key has {KEY_BYTES} bytes, {len(private)} were given"
                )
            self._key = Ed25519PrivateKey.from_private_bytes(private)
        self.public = self._key.public_key().public_bytes_raw()

    def __repr__(self) -> str:
        return "Identity()"

    def __reduce__(self) -> tuple[object, ...]:
        raise SecFCError("an Identity cannot be copied or pickled: its private key stays where it is")

    def sign(self, statement: bytes) -> bytes:
        """The signature, 64 bytes."""
        return self._key.sign(statement)

    def secret_with(self, public: X25519PublicKey) -> bytes:
        """The X25519 secret of this key and another one, 32 bytes.

        ValueError if the other is a point of small order: the secret would be zero (RFC 7748, 6.1).
        """
        return self._sealing_key.exchange(public)

    @cached_property
    def _sealing_key(self) -> X25519PrivateKey:
        scalar = hashlib.sha512(self._key.private_bytes_raw()).digest()[:KEY_BYTES]  # X25519 clamps it
        return X25519PrivateKey.from_private_bytes(scalar)


@dataclass(frozen=True)
class Roster:
    """The pinned public keys, of 32 bytes each. Every party of a run has the same.

    The server's key is None if clients work without a server. ParameterError names a party whose key has
    another length or is another party's.
    """

    keys: tuple[bytes, ...] = field(repr=False)
    coordinator: bytes | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        seen: dict[bytes, int] = {}
        for party, key in self._all().items():
            if len(key) != KEY_BYTES:
                raise ParameterError(
                    f"roster: the key of {_name(party)} has {len(key)} bytes, {KEY_BYTES} are needed"
                )
            if key in seen:
                raise ParameterError(f"roster: {_name(seen[key])} and {_name(party)} have the same key")
            seen[key] = party

    def _all(self) -> dict[int, bytes]:
        """Every key by party. 0 is the server."""
        server = {} if self.coordinator is None else {0: self.coordinator}
        return server | dict(enumerate(self.keys, 1))

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of all keys in order, the server's first, 32 bytes."""
        head = _ROSTER + bytes([self.coordinator is not None])
        return hashlib.sha256(head + b"".join(self._all().values())).digest()

    def verify(
        self, party: int, signature: bytes, statement: bytes, *, what: str = "what it says of itself"
    ) -> None:
        """Raise SealError unless this party (0: the server) signed the statement, `what` in words."""
        key = self.coordinator if party == 0 else None
        if 0 < party <= len(self.keys):
            key = self.keys[party - 1]
        try:
            if key is None:
                raise InvalidSignature
            check_signature(key, signature, statement)
        except (InvalidSignature, ValueError):
            raise SealError(
                f"{_name(party)}: {what} is not signed for this run, job and roster by the key that is "
                f"pinned for it"
            ) from None


@lru_cache(maxsize=KNOWN)
def check_signature(key: bytes, signature: bytes, statement: bytes) -> None:
    """Raise InvalidSignature unless this key signed the statement, ValueError if it is no key.

    A process verifies a statement once for all its parties. A refused statement is verified again.
    """
    _public_key(key).verify(signature, statement)


def y_of(public: bytes) -> int:
    """The y-coordinate in an Ed25519 public key. That there is a point with it is not checked.

    ValueError for another length, a y that is not below the prime (RFC 8032, 5.1.3), or a small order: one
    that divides the cofactor 8. Points of order 1, 2 and 4 have y = 1, -1 and 0. Twice a point has
    y = (y² + x²) / (1 - d x² y²). For order 8 this is 0, so x² = -y², and the curve gives d y⁴ + 2 y² = 1.
    """
    y = int.from_bytes(public, "little") & ((1 << 255) - 1)  # the last bit is the sign of x
    if len(public) != KEY_BYTES or y >= P25519:
        raise ValueError("no canonical encoding of a point")
    square = y * y % P25519
    if y * (square - 1) * ((EDWARDS_D * square + 2) * square - 1) % P25519 == 0:
        raise ValueError("a point of small order")
    return y


@lru_cache(maxsize=KNOWN)
def _public_key(key: bytes) -> Ed25519PublicKey:
    y_of(key)
    return Ed25519PublicKey.from_public_bytes(key)


def _name(party: int) -> str:
    return f"client {party}" if party else "the server"


def x25519_key(public: bytes) -> bytes:
    """The X25519 key of an Ed25519 key, both of 32 bytes.

    ValueError if the input is no canonical encoding of a point of edwards25519, or a point of small order.
    """
    p, y = P25519, y_of(public)  # y is not 1, which has no u
    square = (y * y - 1) * pow(EDWARDS_D * y * y + 1, -1, p) % p  # of x; -1/d is no square: it has an inverse
    if pow(square, (p - 1) // 2, p) != 1:
        raise ValueError("no point of the curve")
    return ((1 + y) * pow(1 - y, -1, p) % p).to_bytes(KEY_BYTES, "little")
