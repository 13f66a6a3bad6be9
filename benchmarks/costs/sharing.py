"""Sharing of float64 rows to sealed shares for n clients, and the part of masks, sealing and opening.

Every client's rows are shared in the same blocks as in a real run, without the proofs of a run. Seconds
are CPU seconds of one thread, so megabytes per second are per core. For comparison, one of scikit-learn's
Lloyd iterations on the same rows is timed after each pass.
"""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.costs.iteration import blobs, plaintext_steps
from benchmarks.costs.setting import PRECISION, Case, Setting, median, quartiles, stated
from secfc.crypto.channel import Channel, Channels
from secfc.crypto.randomness import MaskSource
from secfc.field.array_types import Floats
from secfc.field.primes import primes_of
from secfc.kernels import choose
from secfc.kmeans.sets import random_partition
from secfc.operations.beginning.rows import BLOCK
from secfc.protocol.job.job import Job
from secfc.protocol.job.row_layout import Layout
from secfc.sharing.codewords import Codewords
from secfc.sharing.proof import with_covers
from secfc.sharing.row_checks import largest_norm

PASSES = 9
"""Passes over the rows. One more pass before them, which may load compiled code, is not counted."""

# 20,000 rows make shares of 4 residues at 32 bits: a set of all rows stays below 95 bits (params.Job).
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
        CPU seconds to quantise, mask, encode, pack and seal the rows.
    rate, rate_quartiles : float
        megabytes / seconds.
    generator_share : float
        Fraction of the seconds for masks: keystream and rejection.
    sealing_share : float
        Fraction of the seconds for sealing.
    opening_ratio : float
        CPU seconds of opening all shares / seconds.
    plaintext_ratio : float
        seconds / one Lloyd iteration of scikit-learn on the same rows.
    """

    passes: int
    megabytes: float
    seconds: float
    rate: float
    rate_quartiles: tuple[float, float]
    generator_share: float
    sealing_share: float
    opening_ratio: float
    plaintext_seconds: float
    plaintext_ratio: float


class TimedMasks(MaskSource):
    """A mask source that adds up its CPU seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0

    def uniform(self, p: int, shape: tuple[int, ...]) -> Floats:
        """See `MaskSource.uniform`."""
        before = time.process_time()
        masks = super().uniform(p, shape)
        self.seconds += time.process_time() - before
        return masks


class Shared(NamedTuple):
    """CPU seconds of sharing all rows, of the masks and the sealing in it, and of opening all shares."""

    seconds: float
    generator: float
    sealing: float
    opening: float


def share_once(job: Job, rows: Floats) -> Shared:
    """Share every client's rows, seal each share and open it.

    Parameters
    ----------
    job : Job
    rows : ndarray of shape (m, d), float64
        They are split evenly among the clients.
    """
    layout = Layout(tuple(len(part) for part in np.array_split(rows, job.n)))
    primes = primes_of(job.residues(layout.m))
    step = max(1, BLOCK // (len(primes) * job.width))
    kernels = choose(layout.run_residues(job))
    masks = TimedMasks()
    code = Codewords(n=job.n, t=job.t, ell=job.ell, primes=primes)
    sharing = sealing = opening = 0.0
    for client in range(1, job.n + 1):
        pairs = [_channels(client, j) for j in range(1, job.n + 1) if j != client]
        own = rows[layout.rows(client)]
        for part, first in enumerate(range(0, len(own), step)):
            start = time.process_time()
            segments = code.segments(own[first : first + step], job.unit)
            dealt = code.deal(with_covers(code, segments, masks), kernels)
            made = time.process_time()
            payloads = [one.data for j, one in enumerate(dealt, 1) if j != client]
            sealed = [
                mine.seal(b"share", part=part, payload=payload)
                for (mine, _), payload in zip(pairs, payloads, strict=True)
            ]
            done = time.process_time()
            for (_, other), one in zip(pairs, sealed, strict=True):
                other.open(b"share", part=part, sealed=one.payload)
            opening += time.process_time() - done
            sealing += done - made
            sharing += made - start
    return Shared(sharing + sealing, masks.seconds, sealing, opening)


def _channels(client: int, other: int) -> tuple[Channel, Channel]:
    """Both ends of a channel."""
    secret, transcript = os.urandom(32), bytes(32)
    return (
        Channels(secrets={other: secret}, transcript=transcript, me=client)[other],
        Channels(secrets={client: secret}, transcript=transcript, me=other)[client],
    )


def measure_case(case: Case, *, precision: int = PRECISION) -> Iterator[SharingRow]:
    """Share the rows of a case repeatedly."""
    rows = blobs(case)
    job = case.job(bound=largest_norm(rows, name="rows"), precision=precision)
    plaintext = plaintext_steps(rows, random_partition(np.random.default_rng(0), case.m, case.k), case.k)
    with threadpool_limits(1):
        share_once(job, rows)
        next(plaintext)
        times = np.array([(*share_once(job, rows), next(plaintext)) for _ in range(PASSES)])
    seconds, generator, sealing, opening, plain = times.T
    megabytes = rows.nbytes / 1e6
    yield SharingRow(
        **stated(job, m=case.m, residues=job.residues(case.m)),
        passes=PASSES,
        megabytes=megabytes,
        seconds=median(seconds),
        rate=median(megabytes / seconds),
        rate_quartiles=quartiles(megabytes / seconds),
        generator_share=median(generator / seconds),
        sealing_share=median(sealing / seconds),
        opening_ratio=median(opening / seconds),
        plaintext_seconds=median(plain),
        plaintext_ratio=median(seconds / plain),
    )
