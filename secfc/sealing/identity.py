"""Who the clients are: long-term Ed25519 keys, and the roster of public ones that every party has pinned."""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from secfc.errors import ParameterError, SealError, SecFCError

KEY_BYTES = 32
SIGNATURE_BYTES = 64
_ROSTER = b"secfc roster 1"


class Identity:
    """A client's long-term Ed25519 key pair, which signs what it says of itself.

    Parameters
    ----------
    private : bytes of length 32, optional
        A fresh key from the operating system by default.

    Attributes
    ----------
    public : bytes of length 32
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


@dataclass(frozen=True)
class Roster:
    """The public keys that are pinned, client 1's first. Every party of a run has the same.

    Parameters
    ----------
    keys : tuple of n bytes of length 32

    Raises
    ------
    ParameterError
        Naming the client whose key has another length or is another client's.
    """

    keys: tuple[bytes, ...] = field(repr=False)

    def __post_init__(self) -> None:
        seen: dict[bytes, int] = {}
        for client, key in enumerate(self.keys, 1):
            if len(key) != KEY_BYTES:
                raise ParameterError(
                    f"roster: the key of client {client} has {len(key)} bytes, {KEY_BYTES} are needed"
                )
            if key in seen:
                raise ParameterError(f"roster: clients {seen[key]} and {client} have the same key")
            seen[key] = client

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the keys in order, 32 bytes."""
        return hashlib.sha256(_ROSTER + b"".join(self.keys)).digest()

    def verify(
        self, client: int, signature: bytes, statement: bytes, *, what: str = "what it says of itself"
    ) -> None:
        """Raise SealError unless this client, 1 to n, signed the statement; `what` is it in words."""
        try:
            Ed25519PublicKey.from_public_bytes(self.keys[client - 1]).verify(signature, statement)
        except InvalidSignature:
            raise SealError(
                f"client {client}: {what} is not signed for this run, job and roster by the key that is "
                f"pinned for it"
            ) from None
