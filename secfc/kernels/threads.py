"""Array work of one process in several threads, with the same result as in one thread.

Threads are started for one piece of work and end with it, and the caller's works too. So no thread exists
between two messages: no process is forked while threads run, and no thread outlives a run. Starting a thread
takes about 60 us.
"""

import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Found = TypeVar("Found")

LEAST = 1 << 18
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
        every, found, failed = iter(enumerate(items)), dict[int, Found](), dict[int, BaseException]()

        def go_on() -> None:
            self._working.now = True
            for at, item in every:  # of several threads each gets other items
                try:
                    found[at] = work(item)
                except BaseException as error:
                    failed[at] = error
                if failed:
                    break
            self._working.now = False

        others = [threading.Thread(target=go_on) for _ in range(several - 1)]
        for one in others:
            one.start()
        go_on()
        for one in others:
            one.join()
        if failed:
            raise failed[min(failed)]
        return [found[at] for at in range(len(items))]


ALONE = Threads()
"""Only the caller's thread."""


def parts(count: int, pieces: int, *, multiple: int = 1) -> list[slice]:
    """Up to `pieces` slices of `count`, of equal length except the last; the length is a `multiple`."""
    step = max(1, -(-count // (pieces * multiple)) * multiple)
    return [slice(low, min(low + step, count)) for low in range(0, count, step)]
