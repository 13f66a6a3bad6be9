"""Upper bounds of the bytes that a party sends in a step of a program."""

from functools import cache

from secfc.comparing.batch_plan import most_dealt_bytes
from secfc.field.packing import packed_bytes
from secfc.operations.beginning.in_range import most_numbers
from secfc.operations.beginning.rows import BLOCK
from secfc.protocol.job.job import Job
from secfc.protocol.parties.dealing import most_piece_bytes, most_told_bytes


@cache
def most_step_bytes(job: Job, rows: int, primes: int) -> int:
    """Bytes of the largest message between parties, about so many rows. 0 for a job with questions."""
    if not job.is_program:
        return 0
    pairs, columns = job.k * (job.k - 1) // 2, job.k * (job.width + 3)
    values = max(BLOCK // primes + job.width, job.k * rows, pairs * columns, most_numbers(job, rows))
    answers = max(pairs * rows, values) * job.ell
    gates = most_dealt_bytes(rows, job.k, primes), most_dealt_bytes(most_numbers(job, rows), 2, primes)
    return max(most_piece_bytes(job.n, primes, values), packed_bytes((primes, answers, 1)), *gates)


def most_report_bytes(job: Job, primes: int) -> int:
    """Bytes of the largest message to or from the coordinator."""
    if not job.is_program:
        return 0
    return packed_bytes((primes, 2 * job.k, 1)) + most_told_bytes(job.n, primes, job.ell + job.t) + 64
