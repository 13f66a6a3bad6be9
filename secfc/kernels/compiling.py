"""How loops are compiled: with explicit types, once, when they are imported. Numba keeps the machine code.

All arithmetic on floats is on integers below 2**53. The compiler may only contract to fused multiply-add,
which does not change such results. Loops check no shapes. They get arrays in C order, which may be read-only
if they are only read; Numba refuses others. Indices start at 0 on slices that were made before. So the
compiler sees no negative one and vectorises.

Numba's cache does not see a change of this file: clear it then (CONTRIBUTING.md).
"""

import logging

from numba import njit, types

_LOG = logging.getLogger(__name__)

EXACT = {"error_model": "numpy"}
OPTIONS = {**EXACT, "fastmath": {"contract"}}

_said = []


def array(kind, axes):
    """The type of an array that a loop writes to."""
    return types.Array(kind, axes, "C")


def given(kind, axes):
    """The type of an array that a loop reads."""
    return types.Array(kind, axes, "C", readonly=True)


def loop(signature, options=OPTIONS):
    """Compile a function for these types, that runs beside other threads."""

    def compiled(function):
        try:
            made = njit(signature, cache=True, nogil=True, **options)(function)
        except RuntimeError:  # no folder for the cache can be written
            made = njit(signature, nogil=True, **options)(function)
        if not made.stats.cache_hits and not _said:
            _LOG.warning(
                "loops are compiled now, which takes about half a minute; later runs find them in a cache"
            )
        _said.append(function.__name__)
        return made

    return compiled
