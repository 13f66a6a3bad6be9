"""The cost of disclosure "distances" compared with "coded": CPU seconds of a client's iteration, in turns.

A third method, masks that stay in the code, is counted and not timed. Such a mask is a polynomial of degree
2(ell + t - 1) whose values at the segments' points add up to zero. For every later answer, each of t + 1
dealers sends every client a value of such a polynomial.
"""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.costs.setting import PRECISION, Case, Setting, median, quartiles, stated
from secfc.field.packing import BYTES_PER_RESIDUE, PackedResidues, pack
from secfc.field.primes import primes_of
from secfc.kernels import choose
from secfc.kmeans.coded_distance import CodedPoints
from secfc.kmeans.sets import set_sizes
from secfc.protocol.decoding import Weights
from secfc.protocol.pairwise import PairwiseMasks
from secfc.protocol.question import question_digest
from secfc.randomness import MaskSource
from secfc.row_layout import Layout
from secfc.sealing.channel import Channels

ITERATIONS = 8
"""Turns of each, after one for warm-up."""

CASES = (
    Case(m=100_000, d=100, k=16, n=11, t=4, ell=2),
    Case(m=100_000, d=100, k=16, n=3, t=1, ell=1),
    Case(m=60_000, d=784, k=10, n=11, t=4, ell=2),
)
QUICK_CASES = (Case(m=20_000, d=20, k=4, n=5, t=1, ell=2),)


@dataclass(frozen=True, kw_only=True)
class DisclosureRow(Setting):
    """Medians over iterations of an answering client, without message transport; a tenth of the rows moves.

    Attributes
    ----------
    neighbours : int
        Clients with which each responder shares masks: t + 1 (for one of them t + 2 if t is even).
    coded_seconds, distances_seconds : float
        CPU seconds of a client's iteration.
    ratio : float
        "distances" divided by "coded".
    dealt_bytes : int
        Bytes of masks that stay in the code, which a client would receive in advance for each round.
    """

    turns: int
    neighbours: int
    coded_seconds: float
    distances_seconds: float
    ratio: float
    ratio_quartiles: tuple[float, float]
    dealt_bytes: int


def measure_cases(cases: tuple[Case, ...], *, precision: int = PRECISION) -> Iterator[DisclosureRow]:
    """Measure each case, with both disclosures in turns."""
    with threadpool_limits(1):
        for case in cases:
            yield _measure(case, precision)


def _measure(case: Case, precision: int) -> DisclosureRow:
    job = case.job(bound=1.0, precision=precision)
    layout = Layout((case.m,) + (0,) * (case.n - 1))
    parts, primes, kernels = layout.parts(job), primes_of(job.residues(case.m)), choose(1 << 60)
    points = CodedPoints(
        shares=np.empty((len(primes), job.width + 1, case.m), dtype=np.float32),
        primes=primes,
        k=case.k,
        kernels=kernels,
    )
    masks = MaskSource()
    shares = PackedResidues.empty((len(primes), job.width, case.m))
    for plane, p in zip(shares.planes(), primes, strict=True):
        plane[...] = pack(masks.uniform(p, (job.width, case.m), kernels), p)
    points.store(shares, 0)
    responders = tuple(range(1, job.threshold + 1))
    factors = Weights(job).of(responders)[:, 0]
    secrets = {j: os.urandom(32) for j in responders[1:]}
    channels = Channels(secrets=secrets, transcript=bytes(32), me=1)
    rng = np.random.default_rng(0)
    sets = rng.integers(0, case.k, case.m).astype(np.int32)
    residues = job.residues(int(set_sizes(sets, case.k).max()))
    seconds: dict[bool, list[float]] = {False: [], True: []}
    for round_ in range(1, 2 * ITERATIONS + 3):
        masked = round_ % 2 == 0
        sets = sets.copy()
        moved = rng.integers(0, case.m, case.m // 10)
        sets[moved] = rng.integers(0, case.k, moved.size)
        sizes, started = set_sizes(sets, case.k), time.process_time()
        points.ask(sets, sizes, residues, factors if masked else None)
        if masked:
            pairwise = PairwiseMasks(
                me=1,
                responders=responders,
                t=case.t,
                channels=channels,
                question=question_digest(sets, responders, ()),
                round_=round_,
                primes=primes[:residues],
                kernels=kernels,
            )
        for part in range(parts.answers):
            rows = parts.answer_rows(part)
            answer = points.answer(rows.start, rows.stop)
            if masked:
                pairwise.add(answer)
        seconds[masked].append(time.process_time() - started)
    coded, distances = (np.array(seconds[masked][1:]) for masked in (False, True))  # without the warm-up
    return DisclosureRow(
        **stated(job, m=case.m, residues=residues),
        turns=ITERATIONS,
        neighbours=case.t + 1,
        coded_seconds=median(coded),
        distances_seconds=median(distances),
        ratio=median(distances / coded),
        ratio_quartiles=quartiles(distances / coded),
        dealt_bytes=(case.t + 1) * residues * case.k * case.m * BYTES_PER_RESIDUE,
    )
