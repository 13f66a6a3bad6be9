"""Array work of one process in several threads, with the same result as in one thread.

Threads are started for one piece of work and end with it. So no thread exists between two messages: no
process is forked while threads run, and no thread outlives a run. Starting a thread takes about 60 us.
"""

import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Self, TypeVar

Item = TypeVar("Item")
Found = TypeVar("Found")

LEAST = 1 << 20
"""Residues, or 64-bit words, per thread, at about a nanosecond each: ten times as long as starting it.

With 2**16 two threads took more CPU time, and more time, than one thread for an iteration of 10,000 x 50.
With 2**19 masks of such an iteration took more CPU time too.
"""


def cores(processes: int = 1) -> int:
    """Cores that this process may use if this many processes share them: at least one."""
    if sys.version_info >= (3, 13):
        there = os.process_cpu_count()
    else:
        there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, (there or 1) // processes)


class _Left(Exception):  # noqa: N818 - internal: the error of another item is raised instead
    """An item waits for another item that has failed."""


class Turns:
    """Lets threads that take the numbers 0, 1, ... enter a block one after another, in this order."""

    def __init__(self) -> None:
        self._next, self._left = 0, False
        self._changed = threading.Condition()

    def take(self, number: int) -> Self:
        """Wait until all lower numbers have left the block that starts here."""
        if self._next != number:
            with self._changed:
                self._changed.wait_for(lambda: self._left or self._next == number)
                if self._left:
                    raise _Left
        return self

    def __enter__(self) -> None:
        """Begin the block."""

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        """Let the next number in, unless the block has failed."""
        if kind is None:
            with self._changed:
                self._next += 1
                self._changed.notify_all()

    def leave(self) -> None:
        """End all waiting: waiting threads raise `_Left`."""
        with self._changed:
            self._left = True
            self._changed.notify_all()


class Threads:
    """Up to `count` threads, including the caller's; the roles in one process share them."""

    def __init__(self, count: int = 1) -> None:
        self.count = count
        self._working = threading.local()

    def __repr__(self) -> str:
        return f"Threads({self.count})"

    def for_work(self, size: int) -> int:
        """Number of threads for work of `size` residues or words; 1 inside the work of these threads."""
        most = min(self.count, size // LEAST)
        return most if most > 1 and not getattr(self._working, "now", False) else 1

    def each(
        self,
        work: Callable[[Item], Found],
        items: Sequence[Item],
        *,
        size: int,
        turns: Turns | None = None,
    ) -> list[Found]:
        """The result of `work` for each item, in order; `size` counts all residues or words together.

        Items begin in order. `turns` are what they wait for. If items fail, the error of the first of
        them is raised once all threads have ended. Items that have not begun by then are skipped.
        """
        several = min(self.for_work(size), len(items)) if len(items) > 1 else 1
        if several < 2:
            return [work(item) for item in items]
        found: list[Found | None] = [None] * len(items)
        errors: dict[int, BaseException] = {}
        numbers = iter(range(len(items)))

        def take() -> None:
            self._working.now = True
            try:
                while not errors and (at := next(numbers, None)) is not None:
                    try:
                        found[at] = work(items[at])
                    except BaseException as error:
                        errors[at] = error
                        if turns is not None:
                            turns.leave()
            finally:
                self._working.now = False

        others = [threading.Thread(target=take, daemon=True) for _ in range(several - 1)]
        started = []
        try:
            for other in others:
                other.start()
                started.append(other)
            take()
        finally:
            if turns is not None and errors:
                turns.leave()
            for other in started:
                other.join()
        for at in sorted(errors, key=lambda at: (isinstance(errors[at], _Left), at)):
            raise errors[at]
        return found  # type: ignore[return-value]


ALONE = Threads()
"""Only the caller's thread."""


def parts(count: int, pieces: int, *, multiple: int = 1) -> list[slice]:
    """Up to `pieces` slices of `count`, of equal length except the last; the length is a `multiple`."""
    step = max(1, -(-count // (pieces * multiple)) * multiple)
    return [slice(low, min(low + step, count)) for low in range(0, count, step)]
