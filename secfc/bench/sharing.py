"""Sharing: float64 rows in, packed shares for n clients out, and how much of that the masks' generator takes.

Every client's rows are shared in the parts that a real run cuts them in. Seconds are CPU seconds of one
thread, so megabytes per second are per core; one of scikit-learn's Lloyd iterations on the same rows is
timed after each pass for comparison.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from secfc._arrays import Floats
from secfc.bench.iteration import blobs, plaintext_steps
from secfc.bench.setting import PRECISION, Case, Setting, median, quartiles, stated
from secfc.kernels import Kernels, choose
from secfc.kmeans.start import random_partition
from secfc.lagrange.sharer import Sharer
from secfc.params import Job, Layout, primes_of
from secfc.randomness import MaskSource
from secfc.rows import largest_norm

PASSES = 9
"""Passes over the rows; one before them, which may load compiled code, is not counted."""

# 20,000 rows make shares of 4 residues at 32 bits: a set of them all stays below 95 bits (params.Job).
CASES = tuple(Case(m=20_000, d=d, k=16, n=11, t=4, ell=2) for d in (100, 784))
QUICK_CASES = (Case(m=16_500, d=20, k=16, n=11, t=4, ell=2),)


@dataclass(frozen=True, kw_only=True)
class SharingRow(Setting):
    """Medians over the passes, with their quartiles.

    Attributes
    ----------
    megabytes : float
        10**6 bytes of float64 input, all clients together.
    seconds : float
        CPU seconds of quantising, masking, encoding and packing them.
    rate, rate_quartiles : float
        megabytes / seconds.
    generator_share : float
        Part of the seconds spent on masks: keystream and rejection.
    plaintext_ratio : float
        seconds / one Lloyd iteration of scikit-learn on the same rows.
    """

    passes: int
    megabytes: float
    seconds: float
    rate: float
    rate_quartiles: tuple[float, float]
    generator_share: float
    plaintext_seconds: float
    plaintext_ratio: float


class TimedMasks(MaskSource):
    """A mask source that adds up the CPU seconds it takes."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0

    def uniform(self, p: int, shape: tuple[int, ...], kernels: Kernels | None = None) -> Floats:
        """See `MaskSource.uniform`."""
        before = time.process_time()
        masks = super().uniform(p, shape, kernels)
        self.seconds += time.process_time() - before
        return masks


def share_once(job: Job, rows: Floats) -> tuple[float, float]:
    """CPU seconds of sharing every client's rows, and those of them that the masks took.

    Parameters
    ----------
    job : Job
    rows : ndarray of shape (m, d), float64
        Split evenly among the clients.
    """
    layout = Layout(tuple(len(part) for part in np.array_split(rows, job.n)))
    primes, parts = primes_of(job.residues(layout.m)), layout.parts(job)
    kernels = choose(layout.answer_residues(job))
    masks = TimedMasks()
    sharer = Sharer(job=job, primes=primes, masks=masks, kernels=kernels)
    before = time.process_time()
    for client in range(1, job.n + 1):
        for part in range(parts.shares):
            sharer.share(rows[parts.share_rows(client, part)])
    return time.process_time() - before, masks.seconds


def measure_sharing(case: Case, *, precision: int = PRECISION, passes: int = PASSES) -> SharingRow:
    """Share the rows of a case again and again."""
    rows = blobs(case)
    job = case.job(bound=largest_norm(rows, name="rows"), precision=precision)
    plaintext = plaintext_steps(rows, random_partition(np.random.default_rng(0), case.m, case.k), case.k)
    with threadpool_limits(1):
        share_once(job, rows)
        next(plaintext)
        times = np.array([(*share_once(job, rows), next(plaintext)) for _ in range(passes)])
    seconds, generator, plain = times.T
    megabytes = rows.nbytes / 1e6
    return SharingRow(
        **stated(job, m=case.m, residues=job.residues(case.m)),
        passes=passes,
        megabytes=megabytes,
        seconds=median(seconds),
        rate=median(megabytes / seconds),
        rate_quartiles=quartiles(megabytes / seconds),
        generator_share=median(generator / seconds),
        plaintext_seconds=median(plain),
        plaintext_ratio=median(seconds / plain),
    )


def measure_cases(cases: tuple[Case, ...], *, precision: int = PRECISION) -> Iterator[SharingRow]:
    """Measure each case."""
    for case in cases:
        yield measure_sharing(case, precision=precision)
