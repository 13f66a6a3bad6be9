"""Freed memory is kept for the next arrays of a run."""

import ctypes
import sys
from contextlib import suppress
from functools import cache

_KEPT = 1 << 28
"""Bytes: the largest arrays of a block of rows are 100 MB."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # malloc.h of the C library of Linux


@cache
def keep_memory() -> None:
    """Let the C library keep so much for the process, if it is Linux's and can.

    Else it gives the memory of each message back, and Linux fills the pages of the next one with zeros: a
    fifth of the time of a run.
    """
    if sys.platform == "linux":
        with suppress(AttributeError):  # another C library
            mallopt = ctypes.CDLL(None).mallopt
            mallopt(_MMAP_THRESHOLD, _KEPT)
            mallopt(_TRIM_THRESHOLD, _KEPT)
