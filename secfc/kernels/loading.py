"""Load compiled loops."""

import importlib
from typing import Any


class NoLoopsError(Exception):
    """Loops cannot be compiled here, for the reason that it states."""


def loops(module: str) -> Any:
    """A module of loops. NoLoopsError without Numba, or where it fails."""
    try:
        return importlib.import_module(module)
    except Exception as error:  # Numba has many kinds
        raise NoLoopsError(str(error)) from error
