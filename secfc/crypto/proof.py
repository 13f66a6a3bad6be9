"""The server's signature of each of its messages: a proof that the server sent it.

::

    statement = "secfc server 1" | agreement (32) | header of the message | SHA-256 of its body

The header names the run, the type, sender and round. Its recipient is 0, because the server signs once what
it sends to many. So a signature is of no use in another run, place or agreement, and everybody who has the
roster can check it.
"""

import hashlib

from secfc.crypto.handshake import Session
from secfc.crypto.identity import Identity
from secfc.errors import ParameterError

SERVER = 0


def _statement(agreement: bytes, header: bytes, body: bytes | memoryview) -> bytes:
    return b"secfc server 1" + agreement + header + hashlib.sha256(body).digest()


def verify(session: Session, header: bytes, body: bytes | memoryview, signature: bytes) -> None:
    """Raise SealError unless the server of this session's roster signed a message under its agreement."""
    statement = _statement(session.agreement, header, body)
    session.roster.verify(SERVER, signature, statement, what="its message")


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
