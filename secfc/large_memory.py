"""Memory for large messages, in large pages, which is used again.

A message of many rows takes some MiB, and the server reads R answers at once, a piece of each in turn. In
pages of 4 KiB the processor then spends a fifth of its time looking up addresses. New memory costs more than
that, because Linux fills it with zeros when it is first used. So memory is kept when nothing refers to it any
more, until the run ends.
"""

import itertools
import mmap
import weakref
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

LARGE = 1 << 21
"""Bytes of a large page. Less memory is NumPy's."""

_APART = 1 << 20
_STEP = 1021 * 64
"""Memory starts at different distances, below `_APART`, from the start of a page. Otherwise equal positions
of all answers have the same place in the processor's caches, and displace each other."""

_MOST_IDLE = 1 << 28
"""Bytes of kept memory at a request. What was kept first is dropped."""

# The C library of Linux maps memory of 128 KiB or more at each request, and gives it back at once, until some
# of a larger size was freed. Then it uses freed memory of up to that size again, and keeps twice as much,
# like in parties' processes (`secfc.drivers.processes`). 31 MiB is near the most that it takes for this.
np.empty(31 << 20, dtype=np.uint8)

_Memory = NDArray[np.uint8]
_starts = itertools.count()


class _Idle(list[_Memory]):
    """Memory that nothing refers to. Each use of it is one operation of a list, so threads need no lock.

    A lock could be held when memory is given back, which may happen at any time, and when a process forks.
    """

    def take(self, size: int) -> _Memory | None:
        """What was kept last, and has this many bytes or up to two large pages more."""
        others: list[_Memory] = []
        try:
            while not size <= (memory := self.pop()).size < size + 2 * LARGE:
                others.append(memory)
            return memory
        except IndexError:
            return None
        finally:
            self.extend(reversed(others))

    def limit(self) -> None:
        with suppress(IndexError):
            while sum(memory.size for memory in self) > _MOST_IDLE:
                self.pop(0)


class _Pool:
    """The memory that was kept since the last release."""

    def __init__(self) -> None:
        self._idle = _Idle()

    def take(self, size: int) -> memoryview:
        idle = self._idle
        memory = idle.take(size)
        idle.limit()
        if memory is None:
            try:
                memory = _new(size)
            except OSError:  # no large pages here, or no memory
                idle.clear()
                return np.empty(size, dtype=np.uint8).data
        taken = memory[:size]
        weakref.finalize(taken, _keep, weakref.ref(idle), memory).atexit = False
        return taken.data

    def release(self) -> None:
        self._idle = _Idle()


def _keep(idle: "weakref.ref[_Idle]", memory: _Memory) -> None:
    kept = idle()
    if kept is not None:
        kept.append(memory)


_POOL = _Pool()


def empty(size: int) -> memoryview:
    """Uninitialised memory of this many bytes.

    It is a memoryview, because NumPy's arrays do not keep the arrays alive of which they are a view. What is
    made from a memoryview does.
    """
    if size < LARGE or not hasattr(mmap, "MADV_HUGEPAGE"):
        return np.empty(size, dtype=np.uint8).data
    return _POOL.take(size)


def release() -> None:
    """Keep no memory any more that was taken before, at the end of a run."""
    _POOL.release()


def _new(size: int) -> _Memory:
    whole = -(-(size + _APART) // LARGE) * LARGE
    mapped = mmap.mmap(-1, whole + LARGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    mapped.madvise(mmap.MADV_HUGEPAGE)
    octets: _Memory = np.frombuffer(mapped, dtype=np.uint8)
    first = -octets.ctypes.data % LARGE
    return octets[first + next(_starts) * _STEP % _APART : first + whole]
