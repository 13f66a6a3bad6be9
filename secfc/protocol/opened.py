"""Shares and deals of other clients: kept while they are too early, then opened and checked."""

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from secfc.errors import MessageError
from secfc.field.packing import PackedResidues, packed_bytes
from secfc.kernels import Kernels
from secfc.params import Job
from secfc.protocol.bounds import MOST_DEALT_BYTES, Bounds
from secfc.protocol.context import SharePlan
from secfc.protocol.dealing import covers_of, proof_bytes
from secfc.protocol.messages import Share, UnionDeal
from secfc.protocol.signed import share_statement
from secfc.protocol.turns import turn_error
from secfc.row_layout import WINDOW
from secfc.sealing.channel import TAG_BYTES, Channel, Sealed

Part = TypeVar("Part", Share, UnionDeal)


class Early(Generic[Part]):
    """Parts that cannot be opened yet, at most `WINDOW` from each client."""

    def __init__(self) -> None:
        self.held: list[Part] = []
        self._known = Counter[int]()  # parts, by sender
        self.spoilt: set[int] = set()  # senders of unreadable shares, where liars are tolerated

    def hold(self, message: Part, *, most: int) -> None:
        """Keep a part. MessageError if it has more than `most` sealed bytes or is not the sender's next."""
        kind, sender, size = type(message).__name__, message.sender, len(message.sealed.payload)
        known = self._known[sender]
        if message.part != known or known == WINDOW:
            text = f"{kind}: part {message.part} from client {sender} out of turn"
            raise turn_error(message.part, known)(text)
        if size > most:
            raise MessageError(
                f"{kind}: {size} sealed bytes from client {sender}, no part has more than {most}"
            )
        self._known[sender] += 1
        self.held.append(message)


def hold_deal(deals: Early[UnionDeal], message: UnionDeal, *, stage: int) -> None:
    """Keep a deal of the next stage of a union. Raises what `Early.hold` does."""
    if message.round != stage:
        raise MessageError(f"UnionDeal: of stage {message.round} from client {message.sender} out of turn")
    deals.hold(message, most=MOST_DEALT_BYTES + TAG_BYTES)


def hold_share(shares: Early[Share], message: Share, *, job: Job) -> None:
    """Keep a share. Where liars are tolerated, one that is too large counts as unreadable."""
    most = Bounds(job).share + TAG_BYTES
    if len(message.sealed.payload) > most and job.max_liars:
        message = replace(message, sealed=Sealed(payload=b""))
    shares.hold(message, most=most)


@dataclass(frozen=True, kw_only=True)
class Dealt:
    """The content of a part of shares."""

    residues: PackedResidues  # (P, width, rows), noise included
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
    shape = len(primes), job.width, plan.parts.dealt(message.sender, message.part)
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
        refused = kernels.refused(residues.planes(), primes)
        if refused >= 0:
            raise MessageError(
                f"Share: a residue from client {message.sender} is not below its prime {primes[refused]}"
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
