"""Which kernels a union computes with."""

import logging
from collections.abc import Callable
from functools import cache

from secfc import kernels as data_kernels
from secfc.kernels.loading import NoLoopsError
from secfc.kernels.threads import ALONE, Threads
from secfc.psu.kernels import UnionKernels

_LOG = logging.getLogger(__name__)

_RESIDUES = 32
"""NumPy loses as much time on this many residues of a run as on one value of a union, in all roles."""


def choose(values: int, threads: Threads = ALONE) -> UnionKernels:
    """Kernels for a union in which this many values are dealt to each client.

    The environment variable of `secfc.kernels` has effect here too.
    """
    if data_kernels.chosen_name(_RESIDUES * values) == "compiled":
        compiled = _compiled()
        if compiled is not None:
            return compiled(threads)
    return UnionKernels()


@cache
def _compiled() -> Callable[[Threads], UnionKernels] | None:
    """The compiled kernels, or None if Numba cannot be used."""
    if data_kernels.load() is None:
        return None
    try:
        from secfc.psu.compiled import CompiledUnionKernels  # noqa: PLC0415 - may run the compiler
    except NoLoopsError as error:
        _LOG.warning("unions use NumPy, because compiled code cannot be made: %s", error)
        return None
    return CompiledUnionKernels
