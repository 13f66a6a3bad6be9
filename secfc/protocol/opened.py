"""Opens and checks the sealed shares that a client received."""

from dataclasses import dataclass, field

from secfc.errors import MessageError
from secfc.field.packing import PackedResidues, packed_bytes
from secfc.kernels import Kernels
from secfc.protocol.context import SharePlan
from secfc.protocol.dealing import covers_of, proof_bytes
from secfc.protocol.messages import Share
from secfc.protocol.signed import share_statement
from secfc.sealing.channel import TAG_BYTES, Channel


@dataclass(frozen=True, kw_only=True)
class Dealt:
    """The content of a part of shares."""

    residues: PackedResidues  # (P, width, rows)
    covers: PackedResidues  # (P, c, 1); c is 0 where shares are not checked
    signature: bytes = field(repr=False)  # the dealer's, where liars are tolerated
    zeros: PackedResidues | None  # (P, width, k), of the dealer's first part, where spreads are opened


def open_share(message: Share, *, plan: SharePlan, channel: Channel, kernels: Kernels) -> Dealt:
    """Open a part of shares. MessageError or SealError if it is not valid, and nothing is kept of it."""
    job, primes, rows = plan.job, plan.primes, plan.parts.share_rows(message.sender, message.part)
    if rows.stop == rows.start:
        raise MessageError(
            f"Share: part {message.part} from client {message.sender}, which has no rows for it"
        )
    shape = len(primes), job.width, rows.stop - rows.start
    covers = len(primes), covers_of(job), 1
    zeros = len(primes), job.width, job.k
    with_zeros = job.reveal_spread is not None and message.part == 0
    proof = proof_bytes(job, len(primes)) + with_zeros * packed_bytes(zeros)
    size, expected = len(message.sealed.payload), packed_bytes(shape) + proof + TAG_BYTES
    if size != expected:
        raise MessageError(
            f"Share: {size} sealed bytes from client {message.sender}, shape {shape} takes {expected}"
        )
    payload = memoryview(channel.open(Share.purpose, part=message.part, sealed=message.sealed.payload))
    size, signed = packed_bytes(shape), packed_bytes(shape) + packed_bytes(covers)
    proved = packed_bytes(shape) + proof_bytes(job, len(primes))
    dealt = Dealt(
        residues=PackedResidues(shape=shape, payload=payload[:size]),
        covers=PackedResidues(shape=covers, payload=payload[size:signed]),
        signature=bytes(payload[signed:proved]),
        zeros=PackedResidues(shape=zeros, payload=bytes(payload[proved:])) if with_zeros else None,
    )
    dealt_here = [dealt.residues, *[dealt.covers] * (covers_of(job) > 0)]
    for residues in dealt_here + ([dealt.zeros] if dealt.zeros else []):
        for plane, p in zip(residues.planes(), primes, strict=True):
            if not kernels.below(plane.reshape(-1), p):
                raise MessageError(
                    f"Share: a residue from client {message.sender} is not below its prime {p}"
                )
    if dealt.signature:
        statement = share_statement(
            plan.transcript,
            dealer=message.sender,
            recipient=message.recipient,
            part=message.part,
            payload=payload[:signed],
        )
        plan.session.roster.verify(message.sender, dealt.signature, statement, what="a share")
    return dealt
