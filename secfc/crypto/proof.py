"""The server's signature of each of its messages: a proof that the server sent it.

::

    statement = "secfc server 1" | agreement (32) | header of the message | SHA-256 of its body

The header names the run, the type, sender, recipient and round; recipient 0 stands for all, where the server
sends all the same. So a signature is of no use in another run, place or agreement, and everybody who has the
roster can check it.
"""

import hashlib
from dataclasses import dataclass, field

from secfc.crypto.handshake import Session
from secfc.crypto.identity import Identity
from secfc.errors import ParameterError

_STATEMENT = b"secfc server 1"
SERVER = 0


@dataclass(frozen=True, kw_only=True)
class Proof:
    """Proof that the server signed a message with this header and this SHA-256 of its body."""

    header: bytes = field(repr=False)
    digest: bytes = field(repr=False)
    signature: bytes = field(repr=False)

    def verify(self, session: Session) -> None:
        """Raise SealError unless the server of this session's roster signed it under its agreement."""
        statement = _STATEMENT + session.agreement + self.header + self.digest
        session.roster.verify(SERVER, self.signature, statement, what="its message")


class Signer:
    """The server's side: proofs of its messages in one session.

    Ed25519 is deterministic: the same message has the same signature, also after a restart. ParameterError if
    the identity's key is not the roster's.
    """

    def __init__(self, session: Session, identity: Identity) -> None:
        if identity.public != session.roster.coordinator:
            raise ParameterError("server: its identity is not the one pinned in the roster")
        self._agreement, self._identity = session.agreement, identity
        self._last: tuple[bytes, bytes, Proof] | None = None  # header, body and proof of the last message

    def __repr__(self) -> str:
        return "Signer()"

    def sign(self, header: bytes, body: bytes) -> Proof:
        """The proof of a message; one that is sent to many is signed once."""
        last = self._last
        if last is None or last[:2] != (header, body):  # comparing is faster than hashing again
            digest = hashlib.sha256(body).digest()
            signature = self._identity.sign(_STATEMENT + self._agreement + header + digest)
            last = self._last = header, body, Proof(header=header, digest=digest, signature=signature)
        return last[2]
