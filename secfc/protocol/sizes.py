"""How large a message of each type can be in a job: what is larger is refused before it is read.

The bounds follow from the job alone until the rows are known, and from these then.
"""

from collections.abc import Callable
from dataclasses import dataclass

from secfc.field.packing import packed_bytes
from secfc.field.primes import PRIMES
from secfc.params import MAX_ROWS, Job
from secfc.protocol import wire
from secfc.protocol.dealing import by_part, covers_of, proof_bytes
from secfc.protocol.label_packing import bits_of, packed_size
from secfc.protocol.messages import (
    SEED_BYTES,
    Assignment,
    CentreShare,
    Challenge,
    CodedDistances,
    Continue,
    Dispute,
    Echo,
    Evidence,
    Finish,
    FromServer,
    Hello,
    LeaveOut,
    Message,
    Plan,
    Ready,
    Report,
    Share,
    UnionCheck,
    UnionContinue,
    UnionDeal,
    UnionFound,
    UnionOpening,
    UnionVerdict,
    Witness,
)
from secfc.protocol.shown import SHOWN_BYTES
from secfc.protocol.union import most_dealt_bytes, most_found_bytes
from secfc.protocol.witness import most_witness_bytes
from secfc.psu.stages import CHECKS
from secfc.row_layout import MAX_MESSAGE_BYTES, PART_ROWS, Layout, most_answer_bytes, most_share_bytes
from secfc.sealing.channel import TAG_BYTES
from secfc.sealing.identity import SIGNATURE_BYTES

_COUNT = 4


@dataclass(frozen=True)
class Sizes:
    """Bounds of a job's messages.

    Parameters
    ----------
    job : Job
    layout : Layout, optional
        The rows as planned, once they are known.
    """

    job: Job
    layout: Layout | None = None

    def most_bytes(self, kind: type[Message]) -> int:
        """Bytes of the largest message of a type."""
        signature = SIGNATURE_BYTES if issubclass(kind, FromServer) else 0
        return min(MAX_MESSAGE_BYTES, wire.HEADER_BYTES + _BODIES[kind](self) + signature)

    @property
    def most_from_client(self) -> int:
        """Bytes of the largest message that a client sends, to whomever."""
        return max(self.most_bytes(kind) for kind in _BODIES if not issubclass(kind, FromServer))

    @property
    def most_to_client(self) -> int:
        """Bytes of the largest message that a client takes: no round begins before the rows are known."""
        rounds = () if self.layout is not None else (Assignment, Finish)
        return max(self.most_bytes(kind) for kind in _BODIES if kind not in rounds)

    @property
    def rows(self) -> int:
        """Rows in all, at most."""
        if self.layout is not None:
            return self.layout.m
        return MAX_ROWS if self.job.ids_cap is None else self.job.ids_cap

    @property
    def primes(self) -> int:
        """Primes that residues are of, at most."""
        return len(PRIMES) if self.layout is None else self.job.residues(self.layout.m)

    @property
    def dealt(self) -> int:
        """Residues and covers of a part of shares; with them travel a tag and a signature."""
        columns = self.primes * self.job.width
        longest = self.rows if self.layout is None else max(self.layout.counts)
        return min(most_share_bytes(columns), packed_bytes((columns, longest, 1))) + proof_bytes(
            self.job, self.primes
        )

    @property
    def columns(self) -> int:
        """Parts of shares that a report is about."""
        if by_part(self.job):
            return self.job.n
        if self.layout is None:
            return self.job.n + self.rows // PART_ROWS
        share = self.layout.parts(self.job).share
        return sum(-(-count // share) for count in self.layout.counts)

    @property
    def report(self) -> int:
        """Residues of a report."""
        return packed_bytes((self.primes, covers_of(self.job), self.columns))

    def labels(self, largest: int) -> int:
        """Labels of all rows."""
        return _COUNT + packed_size(self.rows, bits_of(largest))

    def revealed(self, sums: int) -> int:
        """Sums over clusters, of so many kinds."""
        return packed_bytes((self.primes, sums * self.job.width, self.job.k))


def _hello(sizes: Sizes) -> int:
    start = sizes.labels(sizes.job.k) if sizes.job.init == "labels" else 0
    return wire.HELLO_BYTES + start


def _share(sizes: Sizes) -> int:
    zeros = 0 if sizes.job.reveal_spread is None else sizes.revealed(1)
    return _COUNT + sizes.dealt + zeros + TAG_BYTES


def _distances(sizes: Sizes) -> int:
    columns = sizes.primes * sizes.job.k
    return wire.DISTANCES_BYTES + min(most_answer_bytes(columns), packed_bytes((columns, sizes.rows, 1)))


def _clients(sizes: Sizes) -> int:
    """Who was left out."""
    return 2 + 2 * sizes.job.n


_BODIES: dict[type[Message], Callable[[Sizes], int]] = {
    Hello: _hello,
    Plan: lambda sizes: wire.INTRODUCTION_BYTES * sizes.job.n,
    Share: _share,
    Ready: lambda sizes: _COUNT,
    Continue: lambda sizes: _COUNT,
    LeaveOut: lambda sizes: _COUNT,
    Assignment: lambda sizes: sizes.labels(sizes.job.k) + 2 + 2 * sizes.job.threshold + _clients(sizes),
    CodedDistances: _distances,
    Finish: lambda sizes: wire.OUTCOME_BYTES + sizes.labels(sizes.job.k - 1) + _clients(sizes),
    UnionDeal: lambda sizes: _COUNT + most_dealt_bytes() + TAG_BYTES,
    UnionOpening: lambda sizes: _COUNT + most_dealt_bytes(),
    UnionContinue: lambda sizes: _COUNT,
    UnionFound: lambda sizes: most_found_bytes(sizes.job),
    UnionVerdict: lambda sizes: wire.VERDICT_BYTES,
    UnionCheck: lambda sizes: 8 * (CHECKS + sizes.job.count_duplicates) + TAG_BYTES,
    Witness: lambda sizes: most_witness_bytes(sizes.job) + TAG_BYTES,
    Challenge: lambda sizes: SEED_BYTES,
    Echo: lambda sizes: SHOWN_BYTES + TAG_BYTES,
    Report: lambda sizes: wire.RESIDUES_BYTES + SIGNATURE_BYTES + sizes.report,
    Dispute: lambda sizes: wire.RESIDUES_BYTES + sizes.job.n * (wire.REPORT_BYTES + sizes.report),
    Evidence: lambda sizes: wire.EVIDENCE_BYTES + sizes.dealt,
    CentreShare: lambda sizes: sizes.revealed(sizes.job.sums_revealed) + TAG_BYTES,
}
