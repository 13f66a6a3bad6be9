"""The server's signature of each of its messages: a proof that the server sent it.

::

    statement = "secfc server 1" | agreement (32) | header of the message | SHA-256 of its body

The header has the run, the type, sender, recipient and round. So a signature is invalid in another run, place
or agreement. Everybody who has the roster can verify it.
"""

import hashlib
from dataclasses import dataclass, field

from secfc.errors import ParameterError
from secfc.sealing.handshake import DIGEST_BYTES, Session
from secfc.sealing.identity import SIGNATURE_BYTES, Identity

_STATEMENT = b"secfc server 1"
SERVER = 0

SHOWN_BYTES = DIGEST_BYTES + SIGNATURE_BYTES
"""Bytes of a proof that is shown to others (`secfc.protocol.shown`)."""


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

    def __repr__(self) -> str:
        return "Signer()"

    def sign(self, header: bytes, body: bytes) -> Proof:
        """The proof of a message."""
        digest = hashlib.sha256(body).digest()
        signature = self._identity.sign(_STATEMENT + self._agreement + header + digest)
        return Proof(header=header, digest=digest, signature=signature)
