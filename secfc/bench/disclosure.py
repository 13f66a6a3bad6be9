"""What disclosure "distances" costs beside "coded": a client's and the server's iteration, in one run each.

The third way, masks that stay in the code, is counted instead of timed: such a mask is a polynomial of degree
2(ell + t - 1) whose values at the segments' points add up to zero; each of t + 1 dealers sends every client a
value of one for every answer that will ever be given.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from secfc.bench.iteration import blobs, take_turns
from secfc.bench.setting import PRECISION, Case, Setting, median, quartiles, stated
from secfc.field.packing import BYTES_PER_RESIDUE
from secfc.rows import largest_norm

ITERATIONS = 8
CASES = (
    Case(m=100_000, d=100, k=16, n=11, t=4, ell=2),
    Case(m=100_000, d=100, k=16, n=3, t=1, ell=1),
    Case(m=60_000, d=784, k=10, n=11, t=4, ell=2),
)
QUICK_CASES = (Case(m=20_000, d=20, k=4, n=5, t=1, ell=2),)


@dataclass(frozen=True, kw_only=True)
class DisclosureRow(Setting):
    """Medians over iterations; clients that answer, n = R.

    Attributes
    ----------
    neighbours : int
        Clients that each responder shares masks with, t + 1 (one of them t + 2 where t is even).
    coded_seconds, distances_seconds : float
        A client's iteration.
    ratio, server_ratio : float
        "distances" to "coded".
    dealt_bytes : int
        What a client would receive ahead of time, for each round, of masks that stay in the code.
    """

    turns: int
    neighbours: int
    coded_seconds: float
    distances_seconds: float
    ratio: float
    ratio_quartiles: tuple[float, float]
    server_ratio: float
    dealt_bytes: int


def measure_cases(cases: tuple[Case, ...], *, precision: int = PRECISION) -> Iterator[DisclosureRow]:
    """Measure each case with both disclosures from the same start."""
    for case in cases:
        rows = blobs(case)
        job = case.job(bound=largest_norm(rows, name="rows"), precision=precision, max_iter=ITERATIONS)
        coded = take_turns(job, rows, seeds=range(1))
        masked = take_turns(replace(job, disclosure="distances"), rows, seeds=range(1))
        ratios = np.asarray(masked.client / coded.client)
        yield DisclosureRow(
            **stated(job, m=case.m, residues=coded.residues),
            turns=len(ratios),
            neighbours=case.t + 1,
            coded_seconds=median(coded.client),
            distances_seconds=median(masked.client),
            ratio=median(ratios),
            ratio_quartiles=quartiles(ratios),
            server_ratio=median(masked.server / coded.server),
            dealt_bytes=(case.t + 1) * coded.residues * case.k * case.m * BYTES_PER_RESIDUE,
        )
