"""A prototype: worker processes of one holder share the blocks of its rows.

A holder that also deals has two operations that grow with rows: answers for each set, and gates. A block of
rows has keys of its own, so a worker needs nothing of another's blocks. The workers are those of Dask, on
loopback, and stay inside one organisation. Shares are random numbers: work and masks do not depend on them.
"""

import hashlib
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.costs.setting import Case, Setting, stated
from secfc.comparing.batch import Arena, Dealing
from secfc.comparing.batch_plan import BatchPlan, wins
from secfc.crypto.keystream import Keys, ResidueStream
from secfc.errors import missing
from secfc.field.array_types import Floats
from secfc.field.packing import PackedResidues
from secfc.field.primes import primes_of
from secfc.kernels import choose
from secfc.operations.signs import rows_at_once
from secfc.protocol.job.making import changed_job
from secfc.sharing.rows import Rows
from secfc.sharing.shared import Shared

CASES = (Case(m=200_000, d=50, k=8, n=11, t=4, ell=2),)
QUICK_CASES = (Case(m=600, d=4, k=3, n=3, t=1, ell=1),)
_BLOCKS = 8  # at least


@dataclass(frozen=True, kw_only=True)
class WorkersRow(Setting):
    """CPU seconds of the worker that works longest for a round, and whether letters are those of one worker.

    `speed` is one worker's CPU seconds by these, and `bytes` are of all letters.
    """

    workers: int
    blocks: int
    bytes: int
    busiest_seconds: float
    speed: float
    same: bool


@dataclass(frozen=True, kw_only=True)
class Block:
    """What a worker knows: shares of rows, (P, width + 1, rows), of what they are multiplied by, a secret."""

    number: int
    primes: tuple[int, ...]
    shares: Floats
    directions: Floats
    offsets: Floats
    secret: bytes


def letters(block: Block) -> tuple[bytes, int, float]:
    """SHA-256 and bytes of a holder's answers under masks and products of gates, and CPU seconds."""
    started = time.thread_time()
    primes, (count, _, rows) = block.primes, block.shares.shape
    kernels = choose(block.shares.size * block.offsets.shape[1])
    planes = [Shared(primes, found.shape[1:], found) for found in (block.directions, block.offsets)]
    held = Rows(primes, block.directions.shape[2], rows, block.shares.astype(np.float32), kernels)
    answers = held.affine(planes[0], planes[1]).packed
    assert answers is not None
    keys = [Keys(block.secret, run=b"prototype", round_=1, phase=name, part=block.number) for name in "ab"]
    ResidueStream(keys[0].key("answers", 0), kernels).add(answers.planes(), primes)
    plan = BatchPlan(primes, rows, wins(block.offsets.shape[1]))
    masks, products = PackedResidues.empty((count, plan.columns, rows)), np.empty(plan.dealt, dtype=np.uint64)
    ResidueStream(keys[0].key("gates", 0), kernels).fill(masks.planes(), primes)
    Dealing((keys[0], keys[1]), kernels, Arena(), products).hidden(plan, masks.planes())
    seconds, sent = time.thread_time() - started, bytes(answers.payload) + products.tobytes()
    return hashlib.sha256(sent).digest(), len(sent), seconds


def blocks_of(case: Case, primes: tuple[int, ...]) -> Iterator[Block]:
    """Blocks of rows as an iteration compares them, with random shares and one secret."""
    rng, width, secret = np.random.default_rng(0), -(-case.d // case.ell), secrets.token_bytes(32)

    def centred(*shape: int) -> Floats:
        return np.stack([rng.integers(-(p // 2), p // 2, shape, endpoint=True) for p in primes]).astype(float)

    directions, offsets = centred(case.k, width), centred(case.k)
    count = max(_BLOCKS, -(-case.m // rows_at_once(case.k, len(primes))))
    for number, rows in enumerate(np.array_split(np.arange(case.m), count + count % 2)):
        shares = centred(width + 1, rows.size)
        yield Block(
            number=number,
            primes=primes,
            shares=shares,
            directions=directions,
            offsets=offsets,
            secret=secret,
        )


def measure_case(case: Case, *, precision: int) -> Iterator[WorkersRow]:
    """Compare two workers with one. ParameterError if Dask is not installed."""
    if find_spec("distributed") is None:
        raise missing("Dask", "workers", "dev")
    job = changed_job(case.job(bound=1.0, precision=precision), disclosure="labels", init="random")
    primes = primes_of(job.residues(case.m))
    blocks = list(blocks_of(case, primes))
    alone = by_workers(blocks, 1)
    for count, found in (1, alone), (2, by_workers(blocks, 2)):
        busiest = max(sum(seconds for *_, seconds in found[at::count]) for at in range(count))
        yield WorkersRow(
            **stated(job, m=case.m, residues=len(primes)),
            workers=count,
            blocks=len(blocks),
            bytes=sum(size for _, size, _ in found),
            busiest_seconds=busiest,
            speed=sum(seconds for *_, seconds in alone) / busiest,
            same=[digest for digest, *_ in found] == [digest for digest, *_ in alone],
        )


def by_workers(blocks: list[Block], count: int) -> list[tuple[bytes, int, float]]:
    """`letters` of all blocks, in order, by so many workers in turn."""
    dask: Any = import_module("distributed")
    with (
        dask.LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None) as cluster,
        dask.Client(cluster) as client,
    ):
        names = list(client.scheduler_info()["workers"])
        client.run(letters, blocks[0])  # compiled loops are loaded before seconds count
        held = [client.scatter(block, workers=names[at % count]) for at, block in enumerate(blocks)]
        found: list[tuple[bytes, int, float]] = client.gather(
            [client.submit(letters, one, pure=False) for one in held]
        )
    return found
