"""Kernels, the array computations of a run, in two interchangeable forms, and the choice between them."""

import logging
import os
import sys
import threading
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec

from secfc.errors import ParameterError
from secfc.kernels import shared_folder
from secfc.kernels.interface import Kernels
from secfc.kernels.vectorised import VectorisedKernels
from secfc.threads import ALONE, Threads

__all__ = ["Choose", "Kernels", "choose", "chosen_name"]

_LOG = logging.getLogger(__name__)
_loading = threading.Lock()

VARIABLE = "SECFC_KERNELS"
"""Environment variable: "auto" (default), "compiled" or "numpy"."""

_LARGE = 1 << 22
"""Residues of all answers of a process from which loading compiled code, 0.7 s, is repaid with "labels".

NumPy then takes 47 ns more for each residue, with "distances" 37 and with "coded" 11 (docs/decisions, 007).
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
            raise ParameterError(f"{VARIABLE}: compiled kernels need Numba and a folder that can be written")
    elif run_residues >= _LARGE and VARIABLE not in os.environ and not _installed():
        _warn_of_numpy()
    return VectorisedKernels(threads)


def load() -> Callable[[Threads], Kernels] | None:
    """The compiled kernels; None if Numba cannot be imported, or there is no folder for its cache."""
    with _loading:  # otherwise threads make several folders, and get a module whose import has failed
        return _loaded()


@cache
def _loaded() -> Callable[[Threads], Kernels] | None:
    adopted = shared_folder.adopt()
    try:
        import numba  # noqa: PLC0415 - takes half a second
    except ImportError:
        return None
    if not adopted:
        vars(numba.config)["CACHE_DIR"] = ""  # read when it was imported
    compiled = _compiled()
    if compiled is None:  # Numba can write neither beside the package nor in the user's cache folder
        folder = shared_folder.make()
        if folder is None:
            return None
        vars(numba.config)["CACHE_DIR"] = folder
        compiled = _compiled()
    return compiled


def _compiled() -> Callable[[Threads], Kernels] | None:
    """The compiled kernels; None if Numba finds no folder for its cache, or that folder is full."""
    try:
        from secfc.kernels.compiled import CompiledKernels  # noqa: PLC0415 - may run the compiler
    except (RuntimeError, OSError):
        return None
    return CompiledKernels


@cache
def _warn_of_numpy() -> None:
    """Say once in a process that a large run uses NumPy."""
    _LOG.warning("Numba is not installed, so this large run is slower: pip install '.[numba]'")


def _installed() -> bool:
    """Whether Numba is installed."""
    return sys.modules["numba"] is not None if "numba" in sys.modules else find_spec("numba") is not None


def _can_compile() -> bool:
    """Whether Numba is installed and not switched off by its own variable."""
    return _installed() and os.environ.get("NUMBA_DISABLE_JIT", "0") in {"", "0"}
