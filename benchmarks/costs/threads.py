"""Iterations and sharing in several threads: 2 threads compared with 1, and 16 by counted work.

Runs with one thread and with two take turns. The best pair counts, because other work on the machine only
makes pairs worse. For more threads than cores, the work is split as for these threads, but one thread does
it, and the CPU seconds of each piece are counted. The time of 16 threads is that of the work that is not
split, plus the longest of 16 queues for each work that is split. A keystream that only one item at a time may
use makes it longer.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Any
from unittest.mock import patch

from threadpoolctl import threadpool_limits

from benchmarks.costs.iteration import blobs
from benchmarks.costs.setting import (
    PRECISION,
    Case,
    Setting,
    cpu_seconds,
    run_apart,
    same_kernels,
    split_evenly,
    stated,
)
from secfc.drivers import setup
from secfc.field.array_types import Floats
from secfc.kernels.threads import Threads, Turns
from secfc.protocol.job.job import Job
from secfc.protocol.job.making import changed_job
from secfc.protocol.job.options import Disclosure
from secfc.protocol.messages import SERVER
from secfc.protocol.messages.wire import Envelope
from secfc.sharing.row_checks import largest_norm

CASES = (Case(m=100_000, d=100, k=16, n=11, t=4, ell=2),)
QUICK_CASES = (Case(m=20_000, d=40, k=8, n=3, t=1, ell=1),)
DISCLOSURES: tuple[Disclosure, ...] = ("coded", "labels")
PAIRS = 3
ITERATIONS = 8
MANY = 16
"""The number of counted threads."""

Seconds = dict[str, float]
"""Seconds by role and phase."""


@dataclass(frozen=True, kw_only=True)
class ThreadsRow(Setting):
    """The work of one role in one phase with one disclosure.

    Attributes
    ----------
    seconds : float
        Seconds of a run with one thread, all parties of this role together.
    two : float
        Speed-up with two threads, measured, in the best pair.
    serial_share : float
        Fraction of the CPU seconds that threads cannot share, if the work is split for `MANY`.
    many : float
        Speed-up with `MANY` threads, counted.
    """

    disclosure: Disclosure
    work: str
    seconds: float
    two: float
    serial_share: float
    many: float


def measure_cases(cases: tuple[Case, ...], *, precision: int = PRECISION) -> Iterator[ThreadsRow]:
    """Measure each case with each disclosure."""
    with threadpool_limits(1), same_kernels():
        for case in cases:
            rows = blobs(case)
            job = case.job(bound=largest_norm(rows, name="rows"), precision=precision, max_iter=ITERATIONS)
            for disclosure in DISCLOSURES:
                yield from _measure(changed_job(job, disclosure=disclosure, seed=0), rows)


def _measure(job: Job, rows: Floats) -> Iterator[ThreadsRow]:
    _timed(job, rows, 1)  # compiles or loads code
    pairs = [(_timed(job, rows, 1), _timed(job, rows, 2)) for _ in range(PAIRS)]
    counted = _counted(job, rows)
    for work, (total, shared, longest) in counted.items():
        best = max(pairs, key=lambda pair: pair[0][work] / pair[1][work])
        yield ThreadsRow(
            **stated(job, m=len(rows), residues=job.residues(len(rows))),
            disclosure=job.disclosure.name,
            work=work,
            seconds=best[0][work],
            two=best[0][work] / best[1][work],
            serial_share=(total - shared) / total,
            many=total / (total - shared + longest),
        )


def _work(header: Envelope, job: Job) -> str:
    """Phase and role of a message's work. Sharing begins with the plan, an iteration with its question."""
    phase = "iterate" if header.work == "iterate" and header.round else "share"
    if header.recipient == SERVER:
        return f"{phase}, server"
    names = dict(zip(job.comparers, ("dealer", "first evaluator", "second evaluator"), strict=False))
    return f"{phase}, {names.get(header.recipient, 'clients')}"


def _timed(job: Job, rows: Floats, threads: int) -> Seconds:
    """Wall-clock seconds of each role and phase."""
    seconds: Seconds = defaultdict(float)

    def delivered(header: Envelope, taken: float) -> None:
        seconds[_work(header, job)] += taken

    run_apart(replace(split_evenly(job, rows), threads=threads), None, delivered)
    return seconds


class CountedThreads(Threads):
    """Splits work for `count` threads, does it in one thread, and counts the time that they would take.

    `shared` are CPU seconds of items. `longest` are the seconds that the threads would take for them.
    """

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.shared = self.longest = 0.0

    def each(
        self,
        work: Callable[[Any], Any],
        items: Sequence[Any],
        *,
        size: int,
        turns: Turns | None = None,
    ) -> list[Any]:
        """As `Threads.each`."""
        several = min(self.for_work(size), len(items))
        if several < 2:
            return [work(item) for item in items]
        found, queues, end = [], [0.0] * several, 0.0
        self._working.now = True
        try:
            for item in items:  # the next item goes to the first free thread
                started = time.thread_time()
                found.append(work(item))
                taken = time.thread_time() - started
                self.shared += taken
                free = heappop(queues) + taken
                heappush(queues, free)
                end = max(end, free)
        finally:
            self._working.now = False
        self.longest += max(end, _TURNS.pop(id(turns), 0.0))
        return found


_TURNS: dict[int, float] = defaultdict(float)
"""Seconds in the blocks of `Turns`."""


def _counted(job: Job, rows: Floats) -> dict[str, tuple[float, float, float]]:
    """CPU seconds of each role and phase: in all, of items, and of the longest queues of `MANY` threads."""
    found: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    threads, before = CountedThreads(MANY), [0.0, 0.0]
    leave = Turns.__exit__

    def enter(turns: Turns) -> None:
        _TURNS[id(turns)] -= time.thread_time()

    def exit_(turns: Turns, *error: Any) -> None:
        leave(turns, *error)
        _TURNS[id(turns)] += time.thread_time()

    def delivered(header: Envelope, taken: float) -> None:
        sums, now = found[_work(header, job)], [threads.shared, threads.longest]
        sums[0] += taken
        for at in range(2):
            sums[at + 1] += now[at] - before[at]
        before[:] = now

    with (
        patch.object(Turns, "__enter__", enter),
        patch.object(Turns, "__exit__", exit_),
        patch.object(setup, "Threads", lambda count: threads),
        cpu_seconds(),
    ):
        run_apart(replace(split_evenly(job, rows), threads=MANY), None, delivered)
    return {work: (total, shared, longest) for work, (total, shared, longest) in found.items()}
