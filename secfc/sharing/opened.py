"""Shares and deals of other clients: kept while they are too early, then opened and checked."""

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

from secfc.crypto.channel import TAG_BYTES, Channel, Sealed
from secfc.errors import MessageError
from secfc.field.packing import PackedResidues, packed_bytes
from secfc.kernels import Kernels
from secfc.protocol.context import SharePlan
from secfc.protocol.job.job import Job
from secfc.protocol.job.row_layout import WINDOW
from secfc.protocol.messages import Share, UnionDeal
from secfc.protocol.messages.bounds import MOST_DEALT_BYTES, Bounds
from secfc.protocol.messages.turns import turn_error
from secfc.protocol.signed import share_statement
from secfc.sharing.dealing import covers_of, proof_bytes

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


class EarlyShares(Early[Share]):
    """As `Early`. Where liars are tolerated, a share that is too large counts as unreadable."""

    def __init__(self, job: Job) -> None:
        super().__init__()
        self._most, self._tolerant = Bounds(job).share + TAG_BYTES, job.max_liars > 0

    def keep(self, message: Share) -> None:
        """Keep a share. Raises what `hold` does."""
        if len(message.sealed.payload) > self._most and self._tolerant:
            message = replace(message, sealed=Sealed(payload=b""))
        self.hold(message, most=self._most)


_Shape = tuple[int, int, int]


@dataclass(kw_only=True, eq=False, slots=True)
class Dealt:
    """The content of a part of shares."""

    residues: PackedResidues  # (P, width, rows), noise included
    covers: PackedResidues | None  # (P, c, 1), where shares are checked
    signature: bytes = field(repr=False)  # the dealer's, where liars are tolerated
    zeros: PackedResidues | None  # (P, width, k), of the dealer's first part, where spreads are opened


class _Form(NamedTuple):
    """Shapes of what is in a part of shares, and the byte after each piece."""

    residues: _Shape
    covers: _Shape
    zeros: _Shape
    residues_end: int
    covers_end: int  # the dealer signs all before
    signature_end: int
    end: int


@lru_cache
def _form(primes: int, width: int, dealt: int, covers: int, proof: int, zeros: int) -> _Form:
    """The form of a part of so many vectors, computed once for all parts of this size."""
    residues, of_covers, of_zeros = (primes, width, dealt), (primes, covers, 1), (primes, width, zeros)
    size = packed_bytes(residues)
    covers_end, signature_end = size + packed_bytes(of_covers), size + proof
    end = signature_end + packed_bytes(of_zeros)
    return _Form(residues, of_covers, of_zeros, size, covers_end, signature_end, end)


class Opener:
    """Opens the shares of a plan."""

    def __init__(self, plan: SharePlan, kernels: Kernels) -> None:
        self._plan, self._kernels, job, primes = plan, kernels, plan.job, len(plan.primes)
        self._sizes = primes, job.width
        self._proof = covers_of(job), proof_bytes(job, primes)
        self._zeros = 0 if job.opened.spread is None else job.k

    def open(self, message: Share, rows: slice, channel: Channel) -> Dealt:
        """Open a part of shares of these rows. MessageError or SealError if it is not valid: drop it then."""
        plan, part, count = self._plan, message.part, rows.stop - rows.start
        if not count:
            raise MessageError(f"Share: part {part} from client {message.sender}, which has no rows for it")
        more, hidden = (plan.parts.noise, self._zeros) if part == 0 else (0, 0)
        form = _form(*self._sizes, count + more, *self._proof, hidden)
        sealed = message.sealed.payload
        if len(sealed) != form.end + TAG_BYTES:
            raise MessageError(
                f"Share: {len(sealed)} sealed bytes from client {message.sender}, shape {form.residues} "
                f"takes {form.end + TAG_BYTES}"
            )
        payload = channel.open(Share.purpose, part=part, sealed=sealed)
        residues = PackedResidues(shape=form.residues, payload=payload[: form.residues_end])
        self._check(residues, message.sender)
        covers = zeros = None
        if form.covers_end > form.residues_end:
            covers = PackedResidues(shape=form.covers, payload=payload[form.residues_end : form.covers_end])
            self._check(covers, message.sender)
        if form.end > form.signature_end:
            zeros = PackedResidues(shape=form.zeros, payload=bytes(payload[form.signature_end :]))
            self._check(zeros, message.sender)
        signature = b""
        if form.signature_end > form.covers_end:
            signature = bytes(payload[form.covers_end : form.signature_end])
            statement = share_statement(
                plan.transcript,
                dealer=message.sender,
                recipient=message.recipient,
                part=part,
                payload=payload[: form.covers_end],
            )
            plan.session.roster.verify(message.sender, signature, statement, what="a share")
        return Dealt(residues=residues, covers=covers, signature=signature, zeros=zeros)

    def _check(self, residues: PackedResidues, sender: int) -> None:
        primes = self._plan.primes
        refused = self._kernels.refused(residues.planes(), primes)
        if refused >= 0:
            raise MessageError(
                f"Share: a residue from client {sender} is not below its prime {primes[refused]}"
            )
