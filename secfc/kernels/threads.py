"""Array work of one process in several threads, with the same result as in one thread.

Threads are started for one piece of work and end with it. So no thread exists between two messages: no
process is forked while threads run, and no thread outlives a run. Starting a thread takes about 60 us.
"""

import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Found = TypeVar("Found")

LEAST = 1 << 20
"""Residues, or 64-bit words, per thread, at about a nanosecond each: ten times as long as starting it.

With 2**16 two threads took more CPU time, and more time, than one thread for an iteration of 10,000 x 50.
"""


def cores(processes: int = 1) -> int:
    """Cores that this process may use if this many processes share them: at least one."""
    if sys.version_info >= (3, 13):
        there = os.process_cpu_count()
    else:
        there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, (there or 1) // processes)


class Threads:
    """Up to `count` threads that work at a time; the roles in one process share them."""

    def __init__(self, count: int = 1) -> None:
        self.count = count
        self._working = threading.local()

    def __repr__(self) -> str:
        return f"Threads({self.count})"

    def for_work(self, size: int) -> int:
        """Number of threads for work of `size` residues or words; 1 inside the work of these threads."""
        most = min(self.count, size // LEAST)
        return most if most > 1 and not getattr(self._working, "now", False) else 1

    def each(self, work: Callable[[Item], Found], items: Sequence[Item], *, size: int) -> list[Found]:
        """The result of `work` for each item, in order; `size` counts all residues or words together.

        Items begin in order. If items fail, the error of the first of them is raised once all threads have
        ended. Items that have not begun by then are skipped.
        """
        several = min(self.for_work(size), len(items))
        if several < 2:
            return [work(item) for item in items]
        with ThreadPoolExecutor(several, initializer=self._begin) as pool:
            return list(pool.map(work, items))

    def _begin(self) -> None:
        self._working.now = True


ALONE = Threads()
"""Only the caller's thread."""


def parts(count: int, pieces: int, *, multiple: int = 1) -> list[slice]:
    """Up to `pieces` slices of `count`, of equal length except the last; the length is a `multiple`."""
    step = max(1, -(-count // (pieces * multiple)) * multiple)
    return [slice(low, min(low + step, count)) for low in range(0, count, step)]
