"""Whether an object keeps values of rows, wherever they are."""

import gc
from types import FunctionType, ModuleType

import numpy as np

from secfc.field.fixed_point import quantise

FEW = 3
"""So many of the values are in no array of other numbers by chance."""


def keeps_some(role, rows, unit):
    """Whether an array, or bytes, that a role reaches has a few of the values."""
    wanted = [{value.tobytes() for value in array.reshape(-1)} for array in _forms(rows, unit)]
    for part in _parts_of(role):
        data = part.tobytes() if isinstance(part, np.ndarray) else bytes(part)
        if any(sum(value in data for value in values) >= FEW for values in wanted):
            return True
    return False


def _forms(rows, unit):
    """The values as they are given and as integers, in the number types of the package."""
    integers = quantise(rows, unit)  # of few bits, so they are their own residues
    return [rows, *(integers.astype(kind) for kind in (np.float64, np.int64, np.float32, np.int32))]


def _parts_of(role):
    """All arrays and bytes that a role reaches, also by variables of programs that wait."""
    seen, found, left = set(), [], [role]
    while left:
        one = left.pop()
        if id(one) in seen or isinstance(one, type | ModuleType):
            continue
        seen.add(id(one))
        if isinstance(one, np.ndarray | bytes | bytearray | memoryview):
            found.append(one)
        if isinstance(one, np.ndarray):
            left.append(one.base)
        elif isinstance(one, FunctionType):  # not the globals of its module
            left += [one.__closure__, one.__defaults__, one.__kwdefaults__]
        else:
            left += gc.get_referents(one)
    return found
