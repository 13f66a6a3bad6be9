"""Load compiled loops. Numba compiles them once and keeps the machine code in its own cache."""

import importlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray


class NoLoopsError(Exception):
    """Loops cannot be compiled here, for the reason that it states."""


def loops(*modules: str) -> SimpleNamespace:
    """The loops of some modules, by name, and `read` and `write`, which give them addresses of arrays.

    NoLoopsError without Numba, or where it fails.
    """
    try:
        from _cffi_backend import FFI  # noqa: PLC0415 - cryptography brings it; its calls are faster than ctypes

        from secfc.kernels.blocks import LOOPS  # noqa: PLC0415 - imports Numba

        ffi, found = FFI(), {}
        for module in modules:
            importlib.import_module(module)
            for name, loop in LOOPS[module].items():
                found[name] = ffi.cast(loop.declared, loop.compiled.address)
    except Exception as error:  # Numba has many kinds
        raise NoLoopsError(str(error)) from error
    return SimpleNamespace(**found, **_addresses(ffi))


def _addresses(ffi: Any) -> dict[str, Callable[[NDArray[Any], np.dtype[Any], int], Any]]:
    """Functions that give the address of an array, to read it and to write to it.

    TypeError unless the array has elements of this type and so many axes; ValueError unless it is in C order,
    and can be written if it is to be.
    """
    of, octets = ffi.from_buffer, ffi.typeof("char[]")

    def read(array: NDArray[Any], kind: np.dtype[Any], axes: int) -> Any:
        if array.dtype != kind or array.ndim != axes or not array.flags.aligned:
            raise _wrong(array, kind, axes)
        return of(array)

    def write(array: NDArray[Any], kind: np.dtype[Any], axes: int) -> Any:
        if array.dtype != kind or array.ndim != axes or not array.flags.aligned:
            raise _wrong(array, kind, axes)
        return of(octets, array, True)

    return {"read": read, "write": write}


def _wrong(array: NDArray[Any], kind: np.dtype[Any], axes: int) -> TypeError:
    return TypeError(
        f"an array of {array.ndim} axes of {array.dtype}; the loop needs {axes} of {kind}, aligned"
    )
