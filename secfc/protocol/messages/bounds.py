"""Upper bounds of the sizes of message fields in a job.

Until the rows are known the bounds follow from the job alone, afterwards from the rows too.
"""

from dataclasses import dataclass

from secfc.crypto.proof import SHOWN_BYTES
from secfc.field.packing import BYTES_PER_RESIDUE, packed_bytes
from secfc.field.primes import PRIMES
from secfc.field.residues import MAX_ROWS
from secfc.protocol.job.cases import Deposited, LabelsOnly, Union
from secfc.protocol.job.job import Job
from secfc.protocol.job.row_layout import (
    PART_ROWS,
    Layout,
    most_answer_bytes,
    most_compared_bytes,
    most_range_bytes,
    most_range_residues,
    most_share_bytes,
)
from secfc.protocol.program.sizes import most_report_bytes, most_step_bytes
from secfc.psu.plan import PART_BYTES
from secfc.psu.tokens import SALT_BYTES
from secfc.sharing.dealing import by_part, covers_of, proof_bytes

MOST_DEALT_BYTES = 2 * PART_BYTES
"""An upper bound of the bytes of a part of any stage of a union."""

ROUND_BYTES = 4
"""Bytes of a round's number, which comes before the proof of its assignment."""


@dataclass(frozen=True)
class Bounds:
    """Bounds of a job's encoded values, in bytes unless said otherwise. `layout` has all planned rows."""

    job: Job
    layout: Layout | None = None

    @property
    def rows(self) -> int:
        """Most rows of all parties."""
        if self.layout is not None:
            return self.layout.m
        return self.job.rows.cap if isinstance(self.job.rows, Union) else MAX_ROWS

    @property
    def primes(self) -> int:
        """Most primes of residues."""
        return len(PRIMES) if self.layout is None else self.job.residues(self.layout.weight)

    @property
    def dealt(self) -> int:
        """Residues, noise included, covers and signature of a part of shares."""
        columns = self.primes * self.job.width
        longest = self.rows if self.layout is None else max(self.layout.counts)
        noise = 0 if self.job.opened.noise is None else self.revealed(1)
        rows = min(most_share_bytes(columns), packed_bytes((columns, longest, 1)))
        return rows + noise + proof_bytes(self.job, self.primes)

    @property
    def share(self) -> int:
        """A part of shares, with shares of zero if spreads are opened."""
        return self.dealt + (0 if self.job.opened.spread is None else self.revealed(1))

    @property
    def answer(self) -> int:
        """Residues of a part of an answer, or of the proof that rows are within the bound."""
        columns = self.primes * self.job.k
        shown = packed_bytes((self.primes, most_range_residues(self.job, self.rows), 1))
        return max(shown, min(most_answer_bytes(columns), packed_bytes((columns, self.rows, 1))))

    @property
    def compared(self) -> int:
        """What the dealer sends for a part. If clients are left out, a round may use fewer primes."""
        if not isinstance(self.job.disclosure, LabelsOnly):
            return 0
        rows, k, init = self.rows, self.job.k, self.job.method.init
        of = (most_compared_bytes(rows, k, primes, init) for primes in range(1, self.primes + 1))
        return max(*of, most_range_bytes(self.job.dealers, rows, self.primes))

    def part_rows(self, primes: int = 1) -> int:
        """Rows of a part of an answer modulo this number of primes."""
        columns = primes * self.job.k
        return min(self.rows, most_answer_bytes(columns) // (BYTES_PER_RESIDUE * columns))

    @property
    def columns(self) -> int:
        """Number of parts of shares in a report."""
        if by_part(self.job):
            return self.job.n
        if isinstance(self.job.rows, Deposited):
            return 0
        if self.layout is None:
            return self.job.n + self.rows // PART_ROWS
        share = self.layout.parts(self.job).share
        return sum(-(-count // share) for count in self.layout.counts)

    @property
    def report(self) -> int:
        """Residues of a report."""
        return packed_bytes((self.primes, covers_of(self.job), self.columns))

    def revealed(self, sums: int) -> int:
        """Residues of `sums` kinds of sums over clusters."""
        return packed_bytes((self.primes, sums * self.job.width, self.job.k))

    @property
    def step(self) -> int:
        """What a party sends another in a step of a program."""
        return most_step_bytes(self.job, self.rows, self.primes)

    @property
    def step_report(self) -> int:
        """What a party sends the coordinator in a step, or the coordinator a party."""
        return most_report_bytes(self.job, self.rows, self.primes)

    @property
    def found(self) -> int:
        """A table of a union: counts of bins, and poles. 0 without IDs."""
        if not isinstance(self.job.rows, Union):
            return 0
        plan = self.job.union_plan(bytes(SALT_BYTES))  # the size does not depend on the salt
        table = plan.table(1, plan.cap)  # no later one is larger
        return 4 * table.bins + 8 * table.bins * table.capacity

    @property
    def witness(self) -> int:
        """Proofs of the result and of all assignments."""
        return SHOWN_BYTES + (ROUND_BYTES + SHOWN_BYTES) * self.job.max_rounds
