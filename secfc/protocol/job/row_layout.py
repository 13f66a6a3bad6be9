"""Which party owns which rows."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate

import numpy as np

from secfc.comparing.batch_plan import most_dealt_bytes
from secfc.crypto.handshake import Introduction
from secfc.errors import MessageError, ParameterError
from secfc.errors.codes import Code
from secfc.field.array_types import Ints
from secfc.field.packing import BYTES_PER_RESIDUE
from secfc.field.primes import PRIMES
from secfc.field.residues import MAX_ROWS
from secfc.protocol.job.cases import Deposited, LabelsOnly, Union
from secfc.protocol.job.job import Job
from secfc.protocol.job.thresholds import ROWS_FOR_RESAMPLE

MAX_MESSAGE_BYTES = 1 << 31  # of any message
PART_ROWS = 256  # rows that are dealt or answered together at least
_SHARES_OF_AN_ANSWER = 5
"""Residues dealt and kept that NumPy takes as much more time for as for one of an answer: 36 of 185 ns."""

_HEADER_ROOM = 64  # more than the fixed part of any message
PLANNED_ROOM = 256  # more than an introduction needs


@dataclass(frozen=True)
class Layout:
    """Which client owns which rows: rows are numbered by client, then in the client's own order.

    With membership privacy rows are common: every client shares a vector for every row, and all counts are m.
    Deposited rows are numbered by owner. Owners deal before the run, and no row leaves with a lost client.
    `weights`, shape (m,), int64, 1 or more, say how many times each row counts, or None. They are public.
    """

    counts: tuple[int, ...]
    common: bool = False
    deposited: bool = False
    weights: Ints | None = field(default=None, repr=False, compare=False)

    @cached_property
    def _ends(self) -> tuple[int, ...]:
        return (0, *accumulate(self.counts))

    @cached_property
    def m(self) -> int:
        """Rows in all."""
        return self.counts[0] if self.common else self._ends[-1]

    @cached_property
    def weight(self) -> int:
        """The sum of all weights, or m: sums are bounded as with this many rows of weight 1."""
        return self.m if self.weights is None else int(self.weights.sum())

    def weights_of(self, client: int) -> Ints | None:
        """The weights of a client's rows."""
        return None if self.weights is None else self.weights[self.rows(client)]

    def largest_shares(self) -> Iterator[tuple[float, int, str]]:
        """Of all rows, then of all weight: the largest share, who has it, and the amount in words.

        Nothing if rows are common. A share is the float of its fraction.
        """
        held = {} if self.common else {"{} of {} rows": list(self.counts)}
        if self.weights is not None:
            of_parties = (self.weights[self.rows(party)] for party in range(1, len(self.counts) + 1))
            held["{} of a total weight of {}"] = [int(weights.sum()) for weights in of_parties]
        for amount, parts in held.items():
            most, total = max(parts), sum(parts)
            yield most / (total or 1), parts.index(most) + 1, amount.format(most, total)

    def run_residues(self, job: Job) -> int:
        """The work of a client in a run of usual length, in residues of answers: kernels are chosen by it."""
        shared = job.width * (job.n if self.common else 1) // _SHARES_OF_AN_ANSWER
        return job.residues(self.weight) * self.m * (job.k * job.usual_rounds + shared)

    def rows(self, client: int) -> slice:
        """The rows that client 1..n shares, or that an owner deposited."""
        if self.common:
            return slice(0, self.m)
        return slice(self._ends[client - 1], self._ends[client])

    def without(self, clients: Collection[int]) -> "Layout":
        """The layout without the rows of these clients."""
        if self.deposited or not clients:
            return self
        counts = tuple(0 if client in clients else rows for client, rows in enumerate(self.counts, 1))
        if self.weights is None:
            return Layout(counts, common=self.common)
        kept = [self.weights[self.rows(j)] for j in range(1, len(counts) + 1) if j not in clients]
        return replace(self, counts=counts, weights=np.concatenate(kept))

    def _primes_of(self, job: Job) -> int:
        try:
            return job.residues(self.weight)
        except ParameterError as error:
            if self.weights is None:
                raise
            raise ParameterError(f"{error}; here a row counts as many times as its weight") from None

    def check(self, job: Job) -> None:
        """Raise ParameterError unless the job can run on this many rows."""
        if self.m > MAX_ROWS:
            raise ParameterError(f"parties: at most {MAX_ROWS} rows in all, {self.m} were given")
        if self.weight > MAX_ROWS:
            raise ParameterError(f"sample_weight: at most {MAX_ROWS} in all, {self.weight} was given")
        if job.k > self.m:
            raise ParameterError(
                f"k: {job.k} clusters asked for, the parties hold {self.m} rows in all",
                code=Code.TOO_FEW_ROWS,
            )
        # A resample has about 0.63 of all rows, and tells about one equation of others' rows.
        needed = max(2 * job.k, ROWS_FOR_RESAMPLE * job.method.resamples)
        if job.method.resamples and self.m < needed:
            raise ParameterError(
                f"resamples: at least {needed} rows are needed for {job.method.resamples} resamples and "
                f"k={job.k}, because tables of many tell few rows; the parties hold {self.m}",
                code=Code.TOO_FEW_ROWS,
            )
        primes = self._primes_of(job)
        columns = max(job.k, job.width) * PART_ROWS
        if job.opened.to:
            columns = max(columns, (1 if job.opened.spread is None else 2) * job.k * job.width)
        if isinstance(job.disclosure, LabelsOnly):
            most = PRIMES[0].p - 1  # whether a set has rows is opened modulo the first prime
            if self.m > most:
                raise ParameterError(f"parties: at most {most} rows with hidden labels, {self.m} were given")
            largest = most_dealt_bytes(1, job.k, primes) + _HEADER_ROOM  # of one row; more if they fit
            if largest > MAX_MESSAGE_BYTES:
                raise ParameterError(
                    f"k: labels of {job.k} clusters are compared in messages of {largest} bytes, at most "
                    f"{MAX_MESSAGE_BYTES} are sent"
                )
        largest = BYTES_PER_RESIDUE * primes * columns + _HEADER_ROOM
        if self.weights is not None and 4 * self.m + PLANNED_ROOM * job.parties > MAX_MESSAGE_BYTES:
            raise ParameterError(f"sample_weight: {self.m} weights do not fit in a message of the plan")
        if largest > MAX_MESSAGE_BYTES:
            raise ParameterError(
                f"k, d: {max(job.k, job.width)} columns in {primes} residues make messages of {largest} "
                f"bytes, at most {MAX_MESSAGE_BYTES} are sent"
            )


def planned_rows(job: Job, own: Layout) -> Layout:
    """All rows of a job: those that owners deposited, the most that a union may have, or the clients' own."""
    match job.rows:
        case Deposited():
            return Layout(job.rows.owners, deposited=True)
        case Union():
            return Layout((job.rows.cap,) * job.n, common=True)
        case _:
            return own


def check_told(job: Job, party: int, one: Introduction, *, kind: str) -> None:
    """Raise MessageError if an introduction tells of rows that its party has not, or is to hide."""
    if party > job.n and one.tells_of_rows:
        raise MessageError(f"{kind}: helper {party} has rows")
    if isinstance(job.rows, Union) and one.rows:
        raise MessageError(f"{kind}: client {party} tells a number of rows, which membership privacy hides")
    if isinstance(job.rows, Deposited) and one.rows:
        raise MessageError(f"{kind}: client {party} has rows, where owners deposit them")
