"""Upper bounds of the sizes of message fields in a job.

Until the rows are known the bounds follow from the job alone, afterwards from the rows too.
"""

from dataclasses import dataclass

from secfc.field.primes import PRIMES
from secfc.field.residues import MAX_ROWS
from secfc.protocol.job.cases import Union
from secfc.protocol.job.job import Job
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.program.sizes import most_report_bytes, most_step_bytes
from secfc.psu.plan import PART_BYTES
from secfc.psu.tokens import SALT_BYTES

MOST_DEALT_BYTES = 2 * PART_BYTES
"""An upper bound of the bytes of a part of any stage of a union."""


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
