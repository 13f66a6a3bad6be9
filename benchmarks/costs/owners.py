"""The cost of owners of rows for a committee, by number of owners: deposits and a run, in CPU and memory."""

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
from secfc.drivers.committee import Committee
from secfc.drivers.costs import MessageRecord
from secfc.drivers.setup import Setup
from secfc.limits import Limits
from secfc.protocol import deposits
from secfc.protocol.deposits import Owner
from secfc.protocol.wire import Envelope
from secfc.rows import largest_norm
from secfc.sealing.identity import check_signature

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
        Iterations of the run.
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
    seconds: tuple[float, ...]
    milliseconds: tuple[float, ...]
    residues_swept: tuple[int, ...]
    exponent: float
    peak_bytes: tuple[int, ...]
    member_bytes: int
    deposit_bytes: int


@dataclass(frozen=True, kw_only=True)
class Deposited:
    """Deposits of owners, and the CPU seconds of all owners and of all members."""

    committee: Committee
    rows: list[Any] = field(repr=False)  # for each owner
    dealing: float
    opening: float
    peak: int


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A run: CPU seconds by phase and party, of sealing and opening labels, and of opening; its messages."""

    seconds: float
    phases: dict[tuple[str, int], float]
    labels: float
    opening: float
    iterations: int
    messages: tuple[MessageRecord, ...] = field(repr=False)
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
            points.append(
                (made.dealing + made.opening, made.peak, len(made.committee.call.primes), run(made))
            )
        call = made.committee.call
        of_deposits, of_runs = [one for one, *_ in points], [ran.seconds for *_, ran in points]
        peaks = tuple(ran.peak for *_, ran in points)
        for cost, seconds, peak in (
            ("deposits", of_deposits, tuple(peak for _, peak, *_ in points)),
            ("run", of_runs, peaks),
            ("together", [one + other for one, other in zip(of_deposits, of_runs, strict=True)], peaks),
        ):
            yield OwnersRow(
                **stated(made.committee.job, m=ROWS * owners[-1], residues=len(call.primes)),
                owners=tuple(owners),
                cost=cost,
                iterations=tuple(ran.iterations for *_, ran in points),
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
    job, clock = replace(job, disclosure="labels"), _Clock()
    started = time.process_time()
    with (
        patch.object(deposits, "check_signature", check_signature.__wrapped__),
        patch.object(Owner, "__init__", clock.timed(Owner.__init__)),
        patch.object(Owner, "deposit", clock.timed(Owner.deposit)),
    ):
        made = Committee.of(job, of_owners, keeps=False)
    opening = time.process_time() - started - clock.seconds
    return Deposited(committee=made, rows=of_owners, dealing=clock.seconds, opening=opening, peak=_peak())


def run(made: Deposited) -> Ran:
    """Run on the deposits."""
    job = made.committee.job
    names = [f"member {j}" for j in range(1, job.n + 1)]
    setup = Setup(
        job=job, rows=made.rows, starts=None, names=names, limits=Limits(), committee=made.committee
    )
    phases: dict[tuple[str, int], float] = defaultdict(float)
    started = since = time.process_time()

    def delivered(envelope: Envelope, _: float) -> None:
        nonlocal since
        now = time.process_time()
        phases[envelope.work, envelope.recipient] += now - since
        since = now

    clock = _Clock()
    with patch.object(Owner, "open", clock.timed(Owner.open)):
        outcome = run_apart(setup, on_delivery=delivered)
    ended = time.process_time()
    return Ran(
        seconds=ended - started,
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
            started = time.process_time()
            try:
                return function(*given, **named)
            finally:
                self.seconds += time.process_time() - started

        return call


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
