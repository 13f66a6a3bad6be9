"""Upper bounds of the bytes that a party sends in a step of a program."""

from secfc.comparing.batch_plan import most_dealt_bytes
from secfc.field.label_packing import bits_of, packed_size
from secfc.field.packing import packed_bytes
from secfc.field.residues import MAX_ROWS
from secfc.operations.beginning.in_range import most_numbers
from secfc.operations.beginning.rows import BLOCK
from secfc.operations.decoding.distances import rows_at_once as rows_answered
from secfc.operations.ending.fit import most_looked_up
from secfc.operations.nearest import rows_at_once
from secfc.operations.starts.plus_plus import most_compared, most_dealt
from secfc.protocol.job.cases import Coded, Union
from secfc.protocol.job.job import Job
from secfc.protocol.parties.dealing import most_piece_bytes, most_told_bytes
from secfc.protocol.parties.random_sharings import LEAST
from secfc.psu.plan import PART_BYTES
from secfc.psu.tokens import SALT_BYTES

_LETTERS = 1 << 13
"""Bytes of small letters, and of what letters begin with."""

_PART = 2 * PART_BYTES
"""Upper bound of a part of any stage of a union, that is dealt or opened."""

_AHEAD = 8
"""Largest messages of a sender that are held."""


def most_step_bytes(job: Job, rows: int, primes: int) -> int:
    """Upper bound of the bytes of a message between parties, about so many rows.

    A message has letters of at most two or three steps, because then its sender waits for others.
    """
    united = 3 * _PART if isinstance(job.rows, Union) else 0
    return _LETTERS + max(united, _most_shared_bytes(job, rows, primes))


def _most_shared_bytes(job: Job, rows: int, primes: int) -> int:
    """The same of all steps after a union is found, without small letters."""
    if isinstance(job.disclosure, Coded):
        dealt = max(BLOCK // primes + job.width, job.k * job.width)  # rows, or masks of sums of squares
        return 2 * most_piece_bytes(job.n, primes, dealt)
    pairs, at_once = job.k * (job.k - 1) // 2, min(rows, rows_at_once(max(job.k, 2), primes))
    starts, weight = job.method.n_init, MAX_ROWS if job.rows.weighted else rows
    ending = max(most_looked_up(job.k, weight), starts * (starts - 1) // 2, 2 * starts)
    numbers = max(rows, most_numbers(job, rows), min(ending, rows_at_once(2, primes)))
    of_rows = min(BLOCK // primes, rows * (job.width + 1)) + job.width + 1
    of_pairs = pairs * (2 * job.width + 3)
    values = max(of_rows, LEAST, 2 * job.k * max(rows, job.width + 1), of_pairs, 2 * starts)
    if job.method.init == "k-means++":
        numbers = max(numbers, most_compared(job.k, rows, primes))
        values = max(values, most_dealt(job.k))
    values = max(values, numbers, job.k * (2 * job.width + 1))  # the last: sums, sizes and sums of squares
    answers = max(pairs * at_once, values) * job.ell
    gates = most_dealt_bytes(at_once, job.k, primes), most_dealt_bytes(numbers, 2, primes)
    pieces = most_piece_bytes(job.n, primes, values)
    return 2 * pieces + 2 * packed_bytes((primes, answers, 1)) + max(gates)


def most_held_bytes(job: Job, rows: int, primes: int) -> int:
    """Upper bound of the bytes of one sender that a party holds until it comes to their steps.

    Parties that compare wait for each other. Another one may be behind by a `WINDOW`, which are 32 iterations
    of eight steps. In each it is sent shares of the new sets, an eighth of the largest message.
    """
    return _AHEAD * max(most_step_bytes(job, rows, primes), most_report_bytes(job, rows, primes))


def most_report_bytes(job: Job, rows: int, primes: int) -> int:
    """Upper bound of the bytes of a message to or from the coordinator, about so many rows."""
    told = most_told_bytes(job.n)
    counted, opened = max(job.k, job.method.n_init, len(job.opened.to)), 64 * len(job.method.compared)
    opened += 2 * packed_bytes((primes, 2 * counted, job.ell))
    if isinstance(job.disclosure, Coded):
        answers = packed_bytes((primes, job.k, min(rows, rows_answered(job.k, primes))))
        opened = 2 * max(answers, packed_size(rows, bits_of(job.k)))
    if isinstance(job.rows, Union):
        table = job.union_plan(bytes(SALT_BYTES)).table(1, job.rows.cap)  # no later one is larger
        opened = max(opened, 3 * _PART, 4 * table.bins + 8 * table.bins * table.capacity)
    return _LETTERS + job.dealers + opened + told
