"""Runs with parties that vanish or lie: how many end exact, stop or end wrong, and the cost of checks.

Faults are drawn within n >= R + S + 2A and beyond it, where there is no guarantee. A run that ends is
compared with exact Lloyd on the rows that took part. Overheads are CPU seconds of a role's iterations, or of
sharing, with a check divided by those without, in turns on the same rows. The overhead of logs is for the
wall seconds of a run.
"""

import random
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from math import log2
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.costs.iteration import blobs
from benchmarks.costs.setting import PRECISION, Case, Setting, median, run_apart, split_evenly, stated
from secfc.drivers.setup import Outcome, Setup
from secfc.field.array_types import Floats
from secfc.field.primes import primes_of
from secfc.protocol.answers.consistency import combinations_for
from secfc.protocol.job.job import Job
from secfc.protocol.job.making import changed_job
from secfc.protocol.messages import SEED_BYTES, Phase
from secfc.protocol.range_round import RangeRound
from secfc.psu.tokens import KEY_BYTES, SALT_BYTES
from secfc.sharing.client_shares import ClientSharing
from secfc.sharing.row_checks import largest_norm
from secfc.tables.ids import row_ids
from tests.simulator.faults import Fault, Kind, Scenario, run_faulty
from tests.simulator.oracle import exact

RUNS, QUICK_RUNS = 100, 3
"""Scenarios of each kind."""

PASSES, QUICK_PASSES = 7, 1
ITERATIONS = 4
SPARE = 4
"""Clients beyond R: for two liars, or one liar and two that vanish, or four that vanish."""

CASE = Case(m=240, d=4, k=4, n=11, t=2, ell=2)
COST_CASES = (Case(m=40_000, d=50, k=16, n=15, t=4, ell=2),)
QUICK_COST_CASES = (Case(m=2000, d=10, k=4, n=11, t=2, ell=2),)
LABELS_CASES = (Case(m=10_000, d=100, k=16, n=3, t=1, ell=1),)
QUICK_LABELS_CASES = (Case(m=500, d=10, k=4, n=3, t=1, ell=1),)
"""Cases with disclosure "labels"."""


@dataclass(frozen=True, kw_only=True)
class ResilienceRow(Setting):
    """The results of runs with some faults, or the cost of a check.

    Attributes
    ----------
    what : str
    absent, liars, tolerated : int
        Clients that vanish, clients that lie, and max_liars.
    within : bool
        Whether n >= R + S + 2A holds for the clients that vanish and lie.
    missed_bits : float or None
        Over a whole run, a lie is missed with probability below 2 to the power of minus this.
    runs, exact, stopped, wrong : int
        Scenarios, and how they ended. For an overhead: passes, and how many gave the same labels.
    named : float or None
        Fraction of the liars that were named, in runs that ended. It counts liars that sent, dealt or kept
        something wrong. An answer that arrives after enough others have agreed is not checked.
    seconds : float or None
        Mean wall seconds of a run.
    overhead : float or None
        Median of CPU seconds with the check / without it; for logs, of wall seconds of a run.
    """

    what: str
    absent: int
    liars: int
    tolerated: int
    within: bool
    missed_bits: float | None
    runs: int
    exact: int
    stopped: int
    wrong: int
    named: float | None
    seconds: float | None
    overhead: float | None


def measure_resilience(*, precision: int = PRECISION, quick: bool = False) -> Iterator[ResilienceRow]:
    """Measure runs with faults, then overheads."""
    runs, passes = (QUICK_RUNS, QUICK_PASSES) if quick else (RUNS, PASSES)
    within: tuple[tuple[int, tuple[Kind, ...]], ...] = (
        (0, ()),
        (4, ()),
        (0, ("lie", "lie")),
        (2, ("lie",)),
        (0, ("deal", "deal")),
        (0, ("deal", "lie")),
        (2, ("rot",)),
    )
    beyond: tuple[tuple[int, tuple[Kind, ...]], ...] = (
        (5, ()),
        (1, ("lie", "lie")),
        (0, ("lie", "lie", "lie")),
        (0, ("deal", "deal", "deal")),
    )
    for absent, lies in (*within, *beyond):
        yield _faulty_runs(absent, lies, runs=runs, precision=precision)
    for case in QUICK_COST_CASES if quick else COST_CASES:
        yield from _overheads(case, passes=passes, precision=precision)
    for case in QUICK_LABELS_CASES if quick else LABELS_CASES:
        yield from _labels_overheads(case, passes=passes, precision=precision)


def _setup(case: Case, rows: Floats, *, precision: int, seed: int) -> Setup:
    job = case.job(bound=largest_norm(rows, name="rows"), precision=precision, max_iter=ITERATIONS, seed=seed)
    return split_evenly(job, rows)


def _faulty_runs(absent: int, lies: tuple[Kind, ...], *, runs: int, precision: int) -> ResilienceRow:
    rows, liars = blobs(CASE), len(lies)
    setup = _setup(CASE, rows, precision=precision, seed=0)
    tolerated = min(liars, SPARE // 2)
    setup = replace(setup, job=changed_job(setup.job, max_liars=tolerated))
    same = stopped = wrong = named = guilty = 0
    began = time.perf_counter()
    for seed in range(runs):
        faults = _drawn(setup.job, absent, lies, seed)
        ending = run_faulty(
            replace(setup, job=changed_job(setup.job, seed=seed)), Scenario(seed=seed, faults=faults)
        )
        if ending.error is not None:
            stopped += 1
            continue
        right = exact(setup, ending)
        same, wrong = same + right, wrong + (not right)
        lied = {*ending.lied, *(fault.client for fault in faults if fault.kind in {"deal", "rot"})}
        guilty += len(lied)
        named += len(lied & {*ending.faults.liars, *ending.faults.left_out})
    return ResilienceRow(
        **stated(setup.job, m=CASE.m, residues=setup.job.residues(CASE.m)),
        what=_title(absent, lies, tolerated),
        absent=absent,
        liars=liars,
        tolerated=tolerated,
        within=setup.job.n >= setup.job.threshold + absent + 2 * liars,
        missed_bits=_missed_bits(setup.job),
        runs=runs,
        exact=same,
        stopped=stopped,
        wrong=wrong,
        named=named / guilty if guilty else None,
        seconds=(time.perf_counter() - began) / runs,
        overhead=None,
    )


def _missed_bits(job: Job) -> float | None:
    """`missed_bits` from the bound of docs/faults.md, eq. 13."""
    if not job.max_liars:
        return None
    smallest = min(primes_of(job.residues(CASE.m)))
    return combinations_for(job.max_liars) * log2(smallest) - log2(2 * job.max_liars)


_WORDS = {"lie": "answer wrongly", "deal": "deal badly", "rot": "keep shares badly"}


def _title(absent: int, lies: tuple[Kind, ...], tolerated: int) -> str:
    parts = [f"{absent} crash"] if absent else []
    parts += [f"{lies.count(kind)} {words}" for kind, words in _WORDS.items() if kind in lies]
    return ", ".join([*parts, f"{tolerated} tolerated"] if lies else parts) or "none"


def _drawn(job: Job, absent: int, lies: tuple[Kind, ...], seed: int) -> tuple[Fault, ...]:
    """Draw crashes at any point, lies in one answer or in all from some point on, and wrong shares."""
    rng = random.Random(seed)
    who = rng.sample(range(1, job.n + 1), absent + len(lies))
    crash: Kind = "crash"
    kinds = [crash] * absent + [*lies]
    return tuple(
        Fault(
            kind=kind,
            client=client,
            at=rng.randrange(20),
            count=rng.randrange(1, job.n) if kind == "deal" else rng.choice((1, 1000)),
        )
        for kind, client in zip(kinds, who, strict=True)
    )


def _overheads(case: Case, *, passes: int, precision: int) -> Iterator[ResilienceRow]:
    rows = blobs(case)
    plain = _setup(case, rows, precision=precision, seed=0)
    spare = (case.n - plain.job.threshold) // 2
    iterate: tuple[Phase, ...] = ("iterate",)
    hidden = _with_ids(plain)
    checked: list[tuple[str, str, tuple[Phase, ...], Setup]] = [
        ("server: check of answers", "server", iterate, plain),
        ("client: check of shares", "client", ("share", "check"), plain),
        ("client: check of shares, rows of a union", "client", ("share", "check"), hidden),
    ]
    for what, role, phases, without in checked:
        job = changed_job(without.job, max_liars=spare)
        with_check = replace(without, job=job)
        ratios, equal = [], 0
        run_apart(with_check)  # loads compiled code
        for _ in range(passes):
            ours, theirs = run_apart(with_check), run_apart(without)
            ratios.append(_seconds(ours, role, phases) / _seconds(theirs, role, phases))
            equal += all(map(np.array_equal, ours.labels, theirs.labels))
        yield _overhead(job, case, what, ratios, equal)


def _labels_overheads(case: Case, *, passes: int, precision: int) -> Iterator[ResilienceRow]:
    """The cost, for all parties together, of the checks of shares and rows before the first label."""
    plain = _setup(case, blobs(case), precision=precision, seed=0)
    setup = replace(plain, job=changed_job(plain.job, disclosure="labels"))
    shares: tuple[Phase, ...] = ("share", "check")
    no_rows = [
        patch.object(RangeRound, "start", lambda self: []),
        patch.object(RangeRound, "over", property(lambda self: True)),
    ]
    no_shares = [
        *no_rows,
        patch.object(Job, "checks_shares", property(lambda self: False)),
        patch.object(ClientSharing, "seed", property(lambda self: bytes(SEED_BYTES))),
    ]
    compared: list[tuple[str, tuple[Phase, ...], list[Any]]] = [
        ("all, labels: check of shares", shares, no_shares),
        (f"all, labels: rows within the bound, beside {ITERATIONS} iterations", ("iterate",), no_rows),
    ]
    run_apart(setup)  # loads compiled code
    for what, phases, patches in compared:
        ratios, equal = [], 0
        for _ in range(passes):
            ours = run_apart(setup)
            with ExitStack() as stack:
                for one in patches:
                    stack.enter_context(one)
                theirs = run_apart(setup)
            both = [
                sum(_seconds(one, role, phases) for role in ("client", "server")) for one in (ours, theirs)
            ]
            ratios.append(both[0] / both[1])
            equal += all(map(np.array_equal, ours.labels, theirs.labels))
        yield _overhead(setup.job, case, what, ratios, equal)


def _with_ids(setup: Setup) -> Setup:
    """The same run with membership privacy, where every row has a different ID."""
    ends = np.cumsum([0, *(rows.shape[0] for rows in setup.rows)]).tolist()
    job = changed_job(setup.job, ids_cap=ends[-1])
    held = [
        row_ids(range(first, end), key=bytes(KEY_BYTES), name=name)
        for first, end, name in zip(ends, ends[1:], setup.names, strict=False)
    ]
    return replace(setup, job=job, ids=held, salt=bytes(SALT_BYTES))  # the same order of rows in each run


def _overhead(job: Job, case: Case, what: str, ratios: list[float], equal: int) -> ResilienceRow:
    """The cost of a protection in runs without faults. `equal` of them gave the same labels as without it."""
    return ResilienceRow(
        **stated(job, m=case.m, residues=job.residues(case.m)),
        what=what,
        absent=0,
        liars=0,
        tolerated=job.max_liars,
        within=True,
        missed_bits=_missed_bits(job),
        runs=len(ratios),
        exact=equal,
        stopped=0,
        wrong=len(ratios) - equal,
        named=None,
        seconds=None,
        overhead=median(ratios),
    )


def _seconds(outcome: Outcome, role: str, phases: tuple[Phase, ...]) -> float:
    """CPU seconds of a role in some phases."""
    told = outcome.costs.phases
    return sum(one.seconds for one in told if one.phase in phases and one.role == role)
