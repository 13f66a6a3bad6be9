"""The array work of a run in two interchangeable forms, and the choice between them."""

import os
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from secfc.errors import ParameterError
from secfc.kernels.interface import Kernels
from secfc.kernels.vectorised import VectorisedKernels

__all__ = ["Kernels", "choose", "chosen_name"]

VARIABLE = "SECFC_KERNELS"
"""Environment variable: "auto" (default), "compiled" or "numpy"."""

_LARGE = 1 << 20
"""Residues of an answer (m k P) from which loading the compiled code, about a second, is soon repaid."""


def chosen_name(answer_residues: int) -> str:
    """Which kernels a job of this size gets: "compiled" or "numpy".

    Parameters
    ----------
    answer_residues : int
        m k P of the job.

    Raises
    ------
    ParameterError
        The variable has another value, or asks for what cannot be had.
    """
    wanted = os.environ.get(VARIABLE, "auto")
    if wanted not in {"auto", "compiled", "numpy"}:
        raise ParameterError(f"{VARIABLE}: 'auto', 'compiled' or 'numpy' is needed, {wanted!r} was given")
    if wanted == "compiled" and not _can_compile():
        raise ParameterError(f"{VARIABLE}: compiled kernels need Numba, which is missing or disabled")
    if wanted != "auto":
        return wanted
    return "compiled" if answer_residues >= _LARGE and _can_compile() else "numpy"


def choose(answer_residues: int) -> Kernels:
    """The kernels for a job of this size; compiled now, or read from the cache, if need be."""
    return _load(chosen_name(answer_residues))


@cache
def _load(name: str) -> Kernels:
    if name == "numpy":
        return VectorisedKernels()
    _ensure_cache_folder()
    from secfc.kernels.compiled import CompiledKernels  # noqa: PLC0415 - imports, and may run, a compiler

    return CompiledKernels()


def _can_compile() -> bool:
    """Whether Numba is installed and not switched off by its own variable."""
    return find_spec("numba") is not None and os.environ.get("NUMBA_DISABLE_JIT", "0") in {"", "0"}


def _ensure_cache_folder() -> None:
    """Where neither the package nor the user's folder can be written, compile into a temporary folder.

    Processes started later inherit the variable, so they do not compile again.
    """
    if "NUMBA_CACHE_DIR" in os.environ:
        return
    package = Path(__file__).parent
    home = Path.home()
    if not any(os.access(folder, os.W_OK) for folder in (package, home) if folder.is_dir()):
        os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(prefix="secfc-kernels-")
