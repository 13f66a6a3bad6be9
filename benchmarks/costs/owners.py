"""What owners of rows cost a committee, by their number: seconds and memory of deposits and of a run."""

import resource
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.costs.iteration import blobs
from benchmarks.costs.scaling import fit_exponent
from benchmarks.costs.setting import PRECISION, Case, Setting, run_apart, same_kernels, stated
from secfc.crypto.identity import check_signature
from secfc.drivers.costs import Sent
from secfc.drivers.deposits.committee import Committee
from secfc.drivers.setup import Setup
from secfc.kernels.threads import Threads, cores
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import changed_job
from secfc.protocol.messages.wire import Envelope
from secfc.sharing import deposits
from secfc.sharing.deposits import Owner
from secfc.sharing.row_checks import largest_norm

OWNERS, QUICK_OWNERS = (1000, 10_000, 100_000), (20, 40)
ROWS = 10
"""Rows of each owner."""

BASE = Case(m=ROWS, d=20, k=16, n=11, t=4, ell=2)
QUICK_BASE = Case(m=ROWS, d=4, k=2, n=3, t=1, ell=1)
ITERATIONS = 20
"""The most iterations. Few rows may need fewer."""


@dataclass(frozen=True, kw_only=True)
class OwnersRow(Setting):
    """One cost. m is the number of rows of all owners for the largest number of owners.

    Attributes
    ----------
    owners : tuple of int
        Numbers of owners, of `ROWS` rows each.
    cost : {"deposits", "run", "together"}
        "deposits": dealing, sealing, opening, and checks at all members. "run": a run with disclosure
        "labels", including sealing and opening of labels.
    iterations : tuple of int
        Of the run.
    wall_seconds : tuple of float
        In threads, as many as there are cores: other work on the machine adds to them.
    seconds : tuple of float
        CPU seconds of all parties.
    milliseconds : tuple of float
        The same per owner.
    residues_swept : tuple of int
        Primes at each number of owners. If they differ, the exponent includes that step.
    exponent : float
        Slope of log(seconds) against log(owners).
    peak_bytes : tuple of int
        Peak resident memory so far of the process with all rows and all parties.
    member_bytes : int
        The last of these, divided by the number of members.
    deposit_bytes : int
        Bytes that an owner sends to each member.
    """

    owners: tuple[int, ...]
    cost: str
    iterations: tuple[int, ...]
    wall_seconds: tuple[float, ...]
    seconds: tuple[float, ...]
    milliseconds: tuple[float, ...]
    residues_swept: tuple[int, ...]
    exponent: float
    peak_bytes: tuple[int, ...]
    member_bytes: int
    deposit_bytes: int


@dataclass(frozen=True, kw_only=True)
class Deposited:
    """Deposits of some owners, the CPU seconds of all owners and of all members, and wall-clock seconds."""

    committee: Committee
    rows: list[Any] = field(repr=False)  # for each owner
    dealing: float
    opening: float
    wall: float
    peak: int


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A run: CPU and wall-clock seconds, and what was sent.

    Where parties were measured one by one also CPU seconds by phase and party, of sealing and opening labels,
    and of opening.
    """

    seconds: float
    wall: float
    phases: dict[tuple[str, int], float]
    labels: float
    opening: float
    iterations: int
    messages: Sent = field(repr=False)
    peak: int


def measure_owners(
    *, base: Case = BASE, owners: Sequence[int] = OWNERS, precision: int = PRECISION
) -> Iterator[OwnersRow]:
    """Measure both costs and their sum, one row each. A tenth of the fewest owners is the warm-up."""
    with same_kernels(), threadpool_limits(1):
        run(deposit(base, max(2, owners[0] // 10), ROWS, precision))
        points = []
        for count in owners:
            made = deposit(base, count, ROWS, precision)
            cost = made.dealing + made.opening, made.wall
            points.append((cost, made.peak, len(made.committee.call.primes), run(made)))
        call = made.committee.call
        of_deposits = np.array([cost for cost, *_ in points])
        of_runs = np.array([(ran.seconds, ran.wall) for *_, ran in points])
        peaks = tuple(ran.peak for *_, ran in points)
        for name, both, peak in (
            ("deposits", of_deposits, tuple(peak for _, peak, *_ in points)),
            ("run", of_runs, peaks),
            ("together", of_deposits + of_runs, peaks),
        ):
            seconds, walls = both.T.tolist()
            yield OwnersRow(
                **stated(made.committee.job, m=ROWS * owners[-1], residues=len(call.primes)),
                owners=tuple(owners),
                cost=name,
                iterations=tuple(ran.iterations for *_, ran in points),
                wall_seconds=tuple(walls),
                seconds=tuple(seconds),
                milliseconds=tuple(1e3 * of / count for of, count in zip(seconds, owners, strict=True)),
                residues_swept=tuple(primes for _, _, primes, _ in points),
                exponent=fit_exponent(tuple(owners), tuple(seconds))[0],
                peak_bytes=peak,
                member_bytes=peak[-1] // base.n,
                deposit_bytes=call.deposit_bytes(ROWS),
            )


def deposit(base: Case, count: int, each: int, precision: int) -> Deposited:
    """Owners of `each` rows deal them. Each member verifies signatures itself."""
    rows = blobs(replace(base, m=each * count))
    of_owners = np.array_split(rows, count)
    job = base.job(bound=largest_norm(rows, name="rows"), precision=precision, max_iter=ITERATIONS, seed=0)
    job, clock = changed_job(job, disclosure="labels"), _Clock()
    started, wall = time.process_time(), time.perf_counter()
    with (
        patch.object(deposits, "check_signature", check_signature.__wrapped__),
        patch.object(Owner, "__init__", clock.timed(Owner.__init__)),
        patch.object(Owner, "deposit", clock.timed(Owner.deposit)),
    ):
        made = Committee.of(job, of_owners, keeps=False, threads=Threads(cores()))
    wall = time.perf_counter() - wall
    opening = time.process_time() - started - clock.seconds
    return Deposited(
        committee=made, rows=of_owners, dealing=clock.seconds, opening=opening, wall=wall, peak=_peak()
    )


def run(made: Deposited, *, one_by_one: bool = False) -> Ran:
    """A run on what was deposited, with parties measured one by one or all together."""
    job = made.committee.job
    names = [f"member {j}" for j in range(1, job.n + 1)]
    setup = Setup(
        job=job, rows=made.rows, starts=None, names=names, limits=Limits(), committee=made.committee
    )
    phases: dict[tuple[str, int], float] = defaultdict(float)
    wall = time.perf_counter()
    started = since = time.process_time()

    def delivered(envelope: Envelope, _: float) -> None:
        nonlocal since
        now = time.process_time()
        phases[envelope.work, envelope.recipient] += now - since
        since = now

    clock = _Clock()
    with patch.object(Owner, "open", clock.timed(Owner.open)):
        outcome = run_apart(setup, on_delivery=delivered if one_by_one else None)
    ended = time.process_time()
    return Ran(
        seconds=ended - started,
        wall=time.perf_counter() - wall,
        phases=dict(phases),
        labels=ended - since,
        opening=clock.seconds,
        iterations=outcome.n_iter,
        messages=outcome.costs.messages,
        peak=_peak(),
    )


class _Clock:
    """Adds up the CPU seconds of calls of functions."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            started = time.thread_time()
            try:
                return function(*given, **named)
            finally:
                self.seconds += time.thread_time() - started

        return call


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
