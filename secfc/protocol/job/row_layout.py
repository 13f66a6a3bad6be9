"""Which party owns which rows, and how messages about rows are split into parts."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import accumulate, chain
from operator import attrgetter

import numpy as np

from secfc.comparing.batch_plan import most_dealt_bytes
from secfc.comparing.bounded import ANDED, NUMBERS, VALUES, most_bounded_bytes
from secfc.errors import ParameterError
from secfc.errors.codes import Code
from secfc.field.array_types import Ints, Labels
from secfc.field.packing import BYTES_PER_RESIDUE
from secfc.field.residues import MAX_ROWS
from secfc.kmeans.plus_plus import candidates_of
from secfc.kmeans.sets import rows_hidden_among, set_weights
from secfc.operations.draw import most_draw_bytes
from secfc.operations.farthest import most_farthest_bytes
from secfc.operations.plus_plus_steps import most_nearer_bytes
from secfc.protocol.job.cases import LabelsOnly, Start
from secfc.protocol.job.job import Job

MAX_MESSAGE_BYTES = 1 << 31  # of any message; the largest is an assignment of `MAX_ROWS` rows
MAX_PREPARE_BYTES = 1 << 24  # no message of a preparation is larger: 300,000 columns fit
PART_BYTES = 1 << 21  # shares travel in parts of about this size: a few of them are all that is buffered
ANSWER_PARTS = 3  # parts of answers are so many times larger: a server takes n of them (docs/decisions/008)
KEPT_PARTS = 16  # whole parts of others' shares that a client has room for, of each of the `WINDOW`
PART_ROWS = 256  # a part has a multiple of so many rows, no fewer, so that none is dominated by its header
WINDOW = 2  # parts asked for before the first has come back, so that nobody waits for the network
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

    def divisors(self, sets: Labels, k: int) -> Ints:
        """The divisor of each set's sum (`secfc.kmeans.sets.set_weights`), shape (k,)."""
        return set_weights(sets, k, self.weights)

    def hidden_among(self, sets: Labels, k: int, client: int | None = None) -> Ints:
        """How many rows each set counts for in limits (`rows_hidden_among`), without those of `client`."""
        if client is not None:
            sets = sets.copy()
            sets[self.rows(client)] = -1
        return rows_hidden_among(sets, k, self.weights)

    def run_residues(self, job: Job) -> int:
        """The work of a client in a run of usual length, in residues of answers: kernels are chosen by it."""
        shared = job.width * (job.n if self.common else 1) // _SHARES_OF_AN_ANSWER
        return job.residues(self.weight) * self.m * (job.k * job.usual_rounds + shared)

    def parts(self, job: Job) -> "Parts":
        """How messages about these rows are split."""
        primes = job.residues(self.weight)
        # Parts that are checked before they are summed are kept from every client, so they must be smaller.
        kept = max(1, job.n // KEPT_PARTS) if self.common and job.checks_shares else 1
        return Parts(
            share=_rows_of_a_part(PART_BYTES // kept, primes * job.width),
            answer=_rows_of_a_part(ANSWER_PARTS * PART_BYTES, primes * job.k),
            layout=self,
            noise=0 if job.opened.noise is None else job.k,
        )

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
        primes = self._primes_of(job)
        columns = max(job.k, job.width) * PART_ROWS
        if job.opened.to:
            columns = max(columns, job.sums_revealed * job.k * job.width)
        if job.opened.spread is not None or job.opened.noise is not None:  # sent with the first part
            columns += job.k * job.width
        if isinstance(job.disclosure, LabelsOnly):
            compared = most_compared_bytes(self.m, job.k, primes, job.method.init)
            largest = max(compared, most_range_bytes(job.dealers, self.m, primes)) + _HEADER_ROOM
            if largest > MAX_MESSAGE_BYTES:
                raise ParameterError(
                    f"k: labels of {job.k} clusters are compared in messages of {largest} bytes, at most "
                    f"{MAX_MESSAGE_BYTES} are sent"
                )
        largest = BYTES_PER_RESIDUE * primes * columns + _HEADER_ROOM
        if self.weights is not None and 4 * self.m + PLANNED_ROOM * job.parties > MAX_MESSAGE_BYTES:
            raise ParameterError(f"sample_weight: {self.m} weights do not fit in a message of the plan")
        if max(largest, 2 * self.m + _HEADER_ROOM) > MAX_MESSAGE_BYTES:
            raise ParameterError(
                f"k, d: {max(job.k, job.width)} columns in {primes} residues make messages of {largest} "
                f"bytes, at most {MAX_MESSAGE_BYTES} are sent"
            )


def most_share_bytes(columns: int) -> int:
    """Most bytes of packed residues in a part of a share with this many columns."""
    return max(PART_BYTES, BYTES_PER_RESIDUE * columns * PART_ROWS)


def most_answer_bytes(columns: int) -> int:
    """Most bytes of packed residues in a part of an answer with this many columns."""
    return max(ANSWER_PARTS * PART_BYTES, BYTES_PER_RESIDUE * columns * PART_ROWS)


@cache
def most_compared_bytes(rows: int, k: int, primes: int, init: Start) -> int:
    """Most bytes of a message by which labels are compared, with this many rows in all."""
    columns = primes * k
    of_part = min(rows, most_answer_bytes(columns) // (BYTES_PER_RESIDUE * columns))
    of_labels = max(most_dealt_bytes(of_part, k, primes), most_farthest_bytes(rows, k, primes))
    if init != "k-means++":
        return of_labels
    candidates = candidates_of(k)
    of_start = most_nearer_bytes(of_part, candidates, primes), most_draw_bytes(rows, candidates, primes)
    return max(of_labels, *of_start)


def _rows_of_a_part(size: int, columns: int) -> int:
    return max(1, size // (BYTES_PER_RESIDUE * columns * PART_ROWS)) * PART_ROWS


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Number of rows in each part of shares and of answers, except the last part.

    `noise` is the number of vectors of noise that a client shares after the rows of its first part.
    """

    share: int
    answer: int
    layout: Layout
    noise: int = 0

    @cached_property
    def shares(self) -> int:
        """Parts of the longest client's shares, at least one; one if rows were deposited before."""
        if self.layout.deposited:
            return 1
        return max(1, -(-max(self.layout.counts) // self.share))

    @cached_property
    def answers(self) -> int:
        """Number of parts of an answer."""
        return self._answers()

    def _answers(self) -> int:
        return -(-self.layout.m // self.answer)

    def share_rows(self, client: int, part: int) -> slice:
        """The rows, among all rows, that a client shares in a part; empty after its last part."""
        own = self.layout.rows(client)
        start = min(own.start + part * self.share, own.stop)
        return slice(start, min(start + self.share, own.stop))

    def dealt(self, client: int, part: int) -> int:
        """How many vectors a client shares in a part: rows, and after those of its first part the noise."""
        rows = self.share_rows(client, part)
        count: int = rows.stop - rows.start
        return count + self.noise if count and part == 0 else count

    def answer_rows(self, part: int) -> slice:
        """The rows of an answer's part."""
        return slice(part * self.answer, min((part + 1) * self.answer, self.layout.m))


RANGE_GROUPS = 32
"""Most groups of clients whose rows are summed together: each client answers for every group."""

RANGE_ROWS = 1 << 16
"""Rows of a part of the range check; the dealer sends some MiB for it."""

_FEW = 1 << 12
"""Number of clients, or owners, whose incomplete last lines are about as many as the lines of a full part."""


@dataclass(frozen=True, kw_only=True)
class RangeParts(Parts):
    """Parts of the check that rows are within the bound: sums of each segment, then squared norms."""

    segments: int

    @classmethod
    def of(cls, layout: Layout, job: Job) -> "RangeParts":
        """The parts for a run of these rows."""
        rows = _range_rows(len(layout.counts))
        return cls(share=rows, answer=rows, layout=layout, segments=job.ell)

    @cached_property
    def owners(self) -> list[tuple[int, ...]]:
        """Clients that have rows, ascending, one per tuple; one empty tuple if rows are common."""
        counts = self.layout.counts
        return [()] if self.layout.common else [(j,) for j, count in enumerate(counts, 1) if count]

    @cached_property
    def groups(self) -> list[tuple[int, ...]]:
        """The same clients, grouped: the rows of a group are summed together."""
        size = -(-len(self.owners) // RANGE_GROUPS)
        starts = range(0, len(self.owners), size)
        return [tuple(chain(*self.owners[start : start + size])) for start in starts]

    def owned(self, owners: tuple[int, ...]) -> slice:
        """Rows of consecutive clients; of the empty tuple all rows."""
        if not owners:
            return slice(0, self.layout.m)
        return slice(self.layout.rows(owners[0]).start, self.layout.rows(owners[-1]).stop)

    def whose(self, part: int) -> list[tuple[int, ...]]:
        """The clients whose sums, or norms, are in a part."""
        return self.groups if part < self.segments else self.owners[self._within(part)]

    def _within(self, part: int) -> slice:
        """The slice of `owners` that have rows in this part."""
        rows, owned = self.answer_rows(part), self._owned
        return slice(
            bisect_right(owned, rows.start, key=attrgetter("stop")),
            bisect_left(owned, rows.stop, key=attrgetter("start")),
        )

    @cached_property
    def _owned(self) -> list[slice]:
        return [self.owned(owner) for owner in self.owners]

    def _answers(self) -> int:
        return self.segments + super()._answers()

    def answer_rows(self, part: int) -> slice:
        """Residues, of each prime, in a part: for the sums of all groups, or for rows."""
        if part < self.segments:
            return slice(0, len(self.groups) * VALUES)
        return super().answer_rows(part - self.segments)

    def numbers(self, part: int) -> list[int]:
        """How many numbers a part has for each entry of `whose`."""
        if part < self.segments:
            return [NUMBERS] * len(self.groups)
        rows, owned = self.answer_rows(part), self._owned[self._within(part)]
        return [min(rows.stop, own.stop) - max(rows.start, own.start) for own in owned]


def _range_rows(clients: int) -> int:
    """Rows of a part; fewer for many clients, because a line holds rows of one client only."""
    return RANGE_ROWS if clients <= _FEW else RANGE_ROWS // ANDED


def most_range_residues(job: Job, rows: int) -> int:
    """Most residues, of each prime, in a part of a `RangeParts`, with this many rows in all."""
    return (
        max(min(job.dealers, RANGE_GROUPS) * VALUES, min(rows, _range_rows(job.dealers)))
        if isinstance(job.disclosure, LabelsOnly)
        else 0
    )


@cache
def most_range_bytes(clients: int, rows: int, primes: int) -> int:
    """Most bytes that the dealer sends for a part of a `RangeParts`."""
    sums, squared = min(clients, RANGE_GROUPS) * -(-NUMBERS // ANDED), min(rows, _range_rows(clients))
    # A line has the squares of one client's rows, and of at least one row.
    squares = min(squared, squared // ANDED + clients)
    return most_bounded_bytes(max(sums, squares), primes)
