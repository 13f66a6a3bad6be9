"""Memory for large messages, in large pages, which is used again.

A message of many rows takes some MiB, and the server reads R answers at once, a piece of each in turn. In
pages of 4 KiB the processor then spends a fifth of its time looking up addresses. New memory costs more than
that, because Linux fills it with zeros when it is first used. So memory is kept when nothing refers to it any
more, until the run ends.
"""

import itertools
import mmap
import threading
import weakref

import numpy as np
from numpy.typing import NDArray

LARGE = 1 << 21
"""Bytes of a large page. Less memory is NumPy's."""

_APART = 1 << 20
_STEP = 1021 * 64
"""Memory starts at different distances, below `_APART`, from the start of a page. Otherwise equal positions
of all answers have the same place in the processor's caches, and displace each other."""

_MOST_IDLE = 1 << 28
"""Bytes of kept memory, when new memory is needed. What was kept first is dropped."""

_Memory = NDArray[np.uint8]
_starts = itertools.count()


class _Pool:
    """Memory that nothing refers to."""

    def __init__(self) -> None:
        self._idle: list[_Memory] = []
        self._taking = threading.Lock()

    def take(self, size: int) -> memoryview:
        idle = self._idle
        memory = self._found(size, idle)
        taken = memory[:size]
        # It may be called at any time, also during `_found`, so it takes no lock.
        weakref.finalize(taken, idle.append, memory).atexit = False
        return taken.data

    def release(self) -> None:
        self._idle = []  # memory in use is kept by the old list, and goes with it

    def _found(self, size: int, idle: list[_Memory]) -> _Memory:
        """What was kept last, and has this many bytes or up to two large pages more, or new memory."""
        with self._taking:
            for at in range(len(idle) - 1, -1, -1):
                memory = idle[at]
                if size <= memory.size < size + 2 * LARGE:
                    del idle[at]
                    return memory
            while sum(memory.size for memory in idle) > _MOST_IDLE:
                del idle[0]
        return _new(size)


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
    try:
        mapped = mmap.mmap(-1, whole + LARGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        mapped.madvise(mmap.MADV_HUGEPAGE)
    except OSError:  # no large pages, or no memory: then this raises MemoryError
        return np.empty(size, dtype=np.uint8)
    octets: _Memory = np.frombuffer(mapped, dtype=np.uint8)
    first = -octets.ctypes.data % LARGE
    return octets[first + next(_starts) * _STEP % _APART : first + whole]
