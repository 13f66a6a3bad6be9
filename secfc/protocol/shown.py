"""Proofs of the server's messages, which clients send each other.

A proof is SHA-256 of the body (32) | signature of the server (64). Its header follows from type, recipient
and round, and is not sent. Only the server can make the signature. Two valid proofs that differ show that the
server cheats. An invalid proof is the fault of the client that sent it.
"""

from secfc.errors import CheatError
from secfc.protocol.contradiction import Contradiction
from secfc.protocol.messages import SERVER, Message
from secfc.protocol.wire import header_of
from secfc.sealing.handshake import DIGEST_BYTES, Session
from secfc.sealing.proof import Proof


def shown(proof: Proof) -> bytes:
    """The bytes of a proof that a client sends."""
    return proof.digest + proof.signature


def proof_of(payload: bytes, kind: type[Message], *, session: Session, client: int, round_: int) -> Proof:
    """The proof of the message that `client` says it got in a round. It is not verified."""
    header = header_of(kind, run=session.run, sender=SERVER, recipient=client, round_=round_)
    return Proof(header=header, digest=payload[:DIGEST_BYTES], signature=payload[DIGEST_BYTES:])


def with_evidence(error: CheatError, *, session: Session, own: Proof, other: Proof) -> CheatError:
    """The error with two verified proofs that differ as evidence."""
    error.evidence = Contradiction(agreement=session.agreement, first=own, second=other).to_json()
    return error
