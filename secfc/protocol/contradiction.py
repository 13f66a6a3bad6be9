"""Evidence that the server cheated: two of its signed messages that cannot both be honest.

The server must send some messages to all clients alike. Two of the same type, run and round with different
bodies contradict each other, whoever the recipients are. Anyone with the roster can check the evidence, and
only the server can produce it.
"""

import json
from dataclasses import dataclass

from secfc.crypto.handshake import DIGEST_BYTES, Session
from secfc.crypto.identity import SIGNATURE_BYTES, Roster
from secfc.crypto.proof import Proof
from secfc.errors import MessageError, SealError
from secfc.protocol.messages import KINDS, SERVER
from secfc.protocol.messages.wire import HEADER_BYTES, Envelope, envelope, run_of

_FORMAT = "secfc evidence 1"
_ALIKE = frozenset(kind.__name__ for kind in KINDS if kind.alike)
_SIZES = {"header": HEADER_BYTES, "digest": DIGEST_BYTES, "signature": SIGNATURE_BYTES}


@dataclass(frozen=True, kw_only=True)
class Contradiction:
    """Two proofs under one agreement."""

    agreement: bytes
    first: Proof
    second: Proof

    def check(self, roster: Roster) -> Envelope:
        """The header of the second proof.

        SealError unless the roster's server signed both and they contradict each other.
        """
        headers = []
        for proof in (self.first, self.second):
            run = run_of(proof.header)
            proof.verify(Session(run=run, agreement=self.agreement, roster=roster))
            try:
                headers.append((run, envelope(proof.header)))
            except MessageError as error:
                raise SealError(f"evidence: {error}") from None
        (run, one), (other_run, other) = headers
        same = (run, one.kind, one.round) == (other_run, other.kind, other.round)
        alike = one.sender == SERVER and one.kind in _ALIKE
        if not (same and alike) or self.first.digest == self.second.digest:
            raise SealError("evidence: the two messages do not contradict each other")
        return other

    def to_json(self) -> bytes:
        """The content of an evidence file."""
        proofs = {
            name: {field: getattr(proof, field).hex() for field in _SIZES}
            for name, proof in (("first", self.first), ("second", self.second))
        }
        content = {"format": _FORMAT, "agreement": self.agreement.hex(), **proofs}
        return json.dumps(content, indent=2).encode() + b"\n"

    @classmethod
    def of_json(cls, text: bytes) -> "Contradiction":
        """Read what `to_json` wrote. MessageError for anything else."""
        try:
            content = json.loads(text)
            if content["format"] != _FORMAT:
                raise ValueError
            proofs = [_proof(content[name]) for name in ("first", "second")]
            agreement = _octets(content["agreement"], DIGEST_BYTES)
        except (ValueError, KeyError, TypeError, RecursionError):
            raise MessageError(f"not evidence in the form {_FORMAT!r}") from None
        return cls(agreement=agreement, first=proofs[0], second=proofs[1])


def _proof(values: dict[str, str]) -> Proof:
    return Proof(**{name: _octets(values[name], size) for name, size in _SIZES.items()})


def _octets(text: str, size: int) -> bytes:
    data = bytes.fromhex(text)
    if len(data) != size:
        raise ValueError
    return data
