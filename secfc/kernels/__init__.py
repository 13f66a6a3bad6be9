"""Kernels, the array computations of a run, in two interchangeable forms, and the choice between them."""

import logging
import os
import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec

from secfc.errors import ParameterError
from secfc.kernels.loading import NoLoopsError
from secfc.kernels.threads import ALONE, Threads
from secfc.kernels.vectorised import VectorisedKernels

__all__ = ["Choose", "Kernels", "choose", "chosen_name"]

_LOG = logging.getLogger(__name__)

Kernels = VectorisedKernels
"""Either form: compiled kernels are a subclass."""

VARIABLE = "SECFC_KERNELS"
"""Environment variable: "auto" (default), "compiled" or "numpy"."""

_LARGE = 1 << 22
"""Residues of all answers of a process from which it uses compiled code.

To compile it takes some 20 s, once. For each residue NumPy takes 47 ns more with "labels" and 11 with "coded"
(docs/decisions, 007).
"""


Choose = Callable[[int], Kernels]
"""New kernels for the residues of a client's answers in a run."""


def chosen_name(run_residues: int) -> str:
    """Which kernels a job of this size gets: "compiled" or "numpy".

    Parameters
    ----------
    run_residues : int
        Of answers and shares (`Layout.run_residues`), times the roles in this process.

    Raises
    ------
    ParameterError
        The variable has another value, or compiled kernels are wanted but not available.
    """
    wanted = os.environ.get(VARIABLE, "auto")
    if wanted not in {"auto", "compiled", "numpy"}:
        raise ParameterError(f"{VARIABLE}: 'auto', 'compiled' or 'numpy' is needed, {wanted!r} was given")
    if wanted == "compiled" and not _can_compile():
        raise ParameterError(
            f"{VARIABLE}: compiled kernels need Numba, which is disabled or missing, pip install '.[numba]' "
            "in a checkout of secfc"
        )
    if wanted != "auto":
        return wanted
    return "compiled" if run_residues >= _LARGE and _can_compile() else "numpy"


def choose(run_residues: int, threads: Threads = ALONE) -> Kernels:
    """New kernels for a job of this size. Compiled ones are compiled now or read from the cache.

    Each role has its own kernels, because they hold buffers that two threads must not share.
    """
    if chosen_name(run_residues) == "compiled":
        kernels = load()
        if kernels is not None:
            return kernels(threads)
        if os.environ.get(VARIABLE) == "compiled":
            raise ParameterError(f"{VARIABLE}: compiled kernels need Numba, which does not work here")
    elif run_residues >= _LARGE and VARIABLE not in os.environ and not _installed():
        _warn_of_numpy()
    return VectorisedKernels(threads)


@cache
def load() -> Callable[[Threads], Kernels] | None:
    """The compiled kernels; None if Numba cannot be imported, or does not work."""
    try:
        from secfc.kernels.compiled import CompiledKernels  # noqa: PLC0415 - may run the compiler
    except NoLoopsError as error:
        _LOG.warning("large runs use NumPy, because compiled code cannot be made: %s", error)
        return None
    return CompiledKernels


@cache
def _warn_of_numpy() -> None:
    """Say once in a process that a large run uses NumPy."""
    _LOG.warning("Numba is not installed, so this large run is slower: pip install '.[numba]'")


def _installed() -> bool:
    """Whether Numba is installed. It is if its loops are loaded, and to look for it takes 2 ms."""
    if "numba" in sys.modules:
        return sys.modules["numba"] is not None
    return "secfc.kernels.compiled" in sys.modules or find_spec("numba") is not None


def _can_compile() -> bool:
    """Whether Numba is installed and not switched off by its own variable."""
    return _installed() and os.environ.get("NUMBA_DISABLE_JIT", "0") in {"", "0"}
