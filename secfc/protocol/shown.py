"""Proofs of the server's messages, which clients send each other.

Messages that all clients are sent alike are shown. The signed header follows from type and round and is not
sent: SHA-256 of the body (32) | signature of the server (64). The signature is the server's alone to make.
Two proofs that differ and hold show that it cheats; one that does not hold is the fault of the client that
showed it.
"""

from secfc.crypto.handshake import DIGEST_BYTES, Session
from secfc.crypto.proof import Proof
from secfc.errors import CheatError
from secfc.protocol.contradiction import Contradiction
from secfc.protocol.messages import SERVER, Message
from secfc.protocol.messages.wire import header_of


def shown(proof: Proof) -> bytes:
    """The bytes of a proof that a client sends."""
    return proof.digest + proof.signature


def proof_of(payload: bytes, kind: type[Message], *, session: Session, round_: int) -> Proof:
    """What a client was given in a round, as it says; not verified."""
    header = header_of(kind, run=session.run, sender=SERVER, recipient=SERVER, round_=round_)
    return Proof(header=header, digest=payload[:DIGEST_BYTES], signature=payload[DIGEST_BYTES:])


def with_evidence(error: CheatError, *, session: Session, own: Proof, other: Proof) -> CheatError:
    """The error with two verified proofs that differ as evidence."""
    error.evidence = Contradiction(agreement=session.agreement, first=own, second=other).to_json()
    return error
