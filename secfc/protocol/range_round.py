"""Before the first question with disclosure "labels": the trio finds whether all rows are within the bound.

Clients answer with random sums of their shares and with squared norms, under the dealer's masks, as for a
question. Coefficients follow from the seed of the check of shares. The trio opens only whether these values
are possible for rows within the bound (`secfc.comparing.bounded`). No label is opened before.
"""

import hashlib
import struct
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from secfc.comparing.bounded import (
    VALUES,
    bounded_question,
    coded_sums,
    lines_of,
    most_sum,
    within_norms,
    within_sums,
)
from secfc.comparing.masking import DecodingWeights
from secfc.comparing.question import Question
from secfc.comparing.role import Comparer, Role
from secfc.crypto.randomness import MaskSource
from secfc.errors import RangeError
from secfc.field.packing import PackedResidues, pack, unpack
from secfc.field.residues import canonical
from secfc.operations.trio import Evaluator
from secfc.protocol.answers.decoding import Weights
from secfc.protocol.comparers import RANGE_ROUND
from secfc.protocol.context import ClientContext, Peers
from secfc.protocol.job.job import Job
from secfc.protocol.job.row_layout import RangeParts
from secfc.protocol.messages import Message
from secfc.protocol.trio_round import Asked, Kept, UnaskedRound
from secfc.sharing.client_shares import ClientSharing

_MANY = 100  # from this many numbers on, errors list ranges
_QUESTION = b"secfc range 1"
_COEFFICIENTS = b"secfc range coefficients 2"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RangeAsked(Asked):
    """The question of this round. `sets` are empty."""

    parts: RangeParts


def range_asked(
    job: Job, members: tuple[int, ...], parts: RangeParts, left_out: Collection[int]
) -> RangeAsked:
    """The question about all rows, before the first question."""
    out = sorted(left_out)
    about = struct.pack(f"<H{len(out)}H", len(out), *out)
    return RangeAsked(
        round=RANGE_ROUND,
        digest=hashlib.sha256(_QUESTION + about).digest(),
        sets=np.empty(0, dtype=np.int32),
        sizes=np.ones(1, dtype=np.int64),
        members=members,
        parts=parts,
        # All primes that rounds may use: residues modulo unchecked primes could be those of other rows.
        residues=job.residues(parts.layout.weight),
    )


def coefficients_of(transcript: bytes, seed: bytes) -> MaskSource:
    """The source of the coefficients of sums."""
    return MaskSource(hashlib.sha256(_COEFFICIENTS + transcript + seed).digest())


class RangeRound(UnaskedRound):
    """A client's part in this round. A helper has no `sharing`. RangeError at an evaluator, at the end."""

    _asked: RangeAsked

    def __init__(
        self,
        context: ClientContext,
        peers: Peers,
        asked: RangeAsked,
        kept: Kept,
        sharing: ClientSharing | None,
    ) -> None:
        super().__init__(context, peers, asked, kept)
        self._sharing, self._transcript = sharing, peers.transcript
        self._segments = [Weights(self._job, segment) for segment in range(self._job.ell)]
        self._sums: PackedResidues | None = None  # of this client's shares, until they are sent
        self._beyond: set[tuple[int, ...]] = set()  # groups with rows beyond the bound
        self._checked = 0  # parts opened
        self._evaluates = self._as in (Comparer.E0, Comparer.E1)

    @property
    def over(self) -> bool:
        """Whether all rows are known to be in range. Always true at a party that is no evaluator."""
        return not self._evaluates or self._checked == self._parts.answers

    def _answer(self, part: int) -> PackedResidues:
        parts, sharing = self._asked.parts, self._sharing
        assert sharing is not None  # a party without shares has no masks for an answer
        rows = parts.answer_rows(part)
        answer = PackedResidues.empty(self._shape(part))
        if part >= parts.segments:
            for index, (plane, p) in enumerate(zip(answer.planes(), self._primes, strict=True)):
                plane[0] = pack(sharing.points.norms(index, rows).astype(np.float64), p)
            return answer
        if self._sums is None:
            self._sums = self._coded_sums(sharing)
        answer.planes()[:] = self._sums.planes()
        if part == parts.segments - 1:
            self._sums = None
        return answer

    def _coded_sums(self, sharing: ClientSharing) -> PackedResidues:
        """Random sums of the shares of each owner, for all segments at once."""
        sums, parts = PackedResidues.empty(self._shape(0)), self._asked.parts
        found = coded_sums(
            sharing.points.shares,
            [parts.owned(group) for group in parts.groups],
            width=self._job.width,
            source=coefficients_of(self._transcript, sharing.seed),
            primes=self._primes,
            threads=sharing.kernels.threads,
        )
        for plane, values, p in zip(sums.planes(), found, self._primes, strict=True):
            plane[0] = pack(values.reshape(-1), p)
        return sums

    def _weights(self, part: int) -> DecodingWeights:
        """Weights that decode sums segment by segment, and norms as sums over all segments."""
        segments = self._asked.parts.segments
        return self._segments[part].of if part < segments else self._kept.weights.of

    def _use_part(self, part: int, values: PackedResidues) -> list[Message]:
        return self._begin_comparison(part, *self._numbers(part, values))

    def _numbers(self, part: int, residues: PackedResidues) -> tuple[Question, PackedResidues]:
        """Numbers that must be at least 0, owner by owner: masked at an evaluator, masks at the dealer."""
        parts, primes, dealer = self._asked.parts, self._primes, self._deals_here
        planes = zip(residues.planes(), primes, strict=True)
        values = np.stack([canonical(unpack(plane[0]), p) for plane, p in planes])
        radius = self._job.radius
        if part >= parts.segments:
            numbers = within_norms(values, None if dealer else radius, primes)
        else:
            limits = [most_sum(radius, own.stop - own.start) for own in map(parts.owned, parts.groups)]
            by_group = values.reshape(len(primes), len(parts.groups), VALUES)
            numbers = within_sums(by_group, None if dealer else limits, primes).reshape(len(primes), -1)
        return bounded_question(numbers, parts.numbers(part), primes)

    def _ended(self, slot: int, role: Role) -> list[Message]:
        if not isinstance(role, Evaluator):
            return []
        parts = self._asked.parts
        whose, lines = parts.whose(slot), lines_of(parts.numbers(slot))
        self._beyond |= {whose[at] for at in lines[~role.core]}
        self._checked += 1
        if self._checked == self._parts.answers and self._beyond:
            raise self._error()
        return []

    def _error(self) -> RangeError:
        """The error. Without max_liars answers are not checked, so a wrong answer may be the cause."""
        named = sorted({client for group in self._beyond for client in group})
        some = "some of " if any(len(group) > 1 for group in self._beyond) else ""
        deposited = self._asked.parts.layout.deposited
        whose = f"of {some}{'owners' if deposited else 'clients'} {_listed(named)} " if named else ""
        wrongly = "" if self._job.max_liars else ", or a client answered wrongly about them"
        return RangeError(
            f"rows {whose}are beyond the public bound{wrongly}; no label was opened",
            clients=() if deposited else named,
            owners=named if deposited else (),
        )


def _listed(numbers: Sequence[int]) -> str:
    """Numbers in order. If there are many, consecutive ones are shown as a range."""
    if len(numbers) < _MANY:
        return ", ".join(map(str, numbers))
    runs: list[list[int]] = []
    for number in numbers:
        if not runs or number != runs[-1][1] + 1:
            runs.append([number, number])
        runs[-1][1] = number
    return ", ".join(f"{first} to {last}" if last > first else str(first) for first, last in runs)
