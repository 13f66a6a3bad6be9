"""The state of the coordinator's conversations, as bytes, from which a run is continued.

Plain values, fractions and arrays are stored as JSON and in NumPy's format without pickle, so reading them
executes nothing.
"""

import io
import json
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

_PLAIN = "plain"


def pack(value: Any) -> memoryview:
    """Encode a value of dicts, lists, numbers, texts, None, bytes, fractions and arrays as bytes."""
    arrays: dict[str, NDArray[Any]] = {}
    known: dict[int, Any] = {}  # repeated arrays are written once

    def plain(one: Any) -> Any:
        match one:
            case np.ndarray():
                if id(one) not in known:
                    known[id(one)] = {"array": [len(arrays), one.dtype.str]}
                    arrays[f"a{len(arrays)}"] = _narrow(one)
                return known[id(one)]
            case bytes() | memoryview():
                arrays[f"a{len(arrays)}"] = np.frombuffer(one, dtype=np.uint8)
                return {"bytes": len(arrays) - 1}
            case Fraction():
                return {"fraction": [one.numerator, one.denominator]}
            case dict():
                # A list of pairs, because keys may be numbers or equal to the markers above.
                return {"dict": [[key, plain(entry)] for key, entry in one.items()]}
            case list() | tuple():
                return [plain(entry) for entry in one]
        return one

    text = json.dumps(plain(value)).encode()
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **{_PLAIN: np.frombuffer(text, dtype=np.uint8)}, **arrays)
    return buffer.getbuffer()


def unpack(data: bytes | memoryview) -> Any:
    """The value that `pack` encoded. Tuples become lists."""
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        known: dict[int, NDArray[Any]] = {}

        def value(one: Any) -> Any:
            match one:
                case {"array": [number, dtype]}:
                    if number not in known:
                        known[number] = file[f"a{number}"].astype(dtype)
                    return known[number]
                case {"bytes": number}:
                    return file[f"a{number}"].tobytes()
                case {"fraction": [numerator, denominator]}:
                    return Fraction(numerator, denominator)
                case {"dict": pairs}:
                    return {key: value(entry) for key, entry in pairs}
                case list():
                    return [value(entry) for entry in one]
            return one

        return value(json.loads(file[_PLAIN].tobytes()))


def _narrow(array: NDArray[Any]) -> NDArray[Any]:
    """The array with the smallest integer type that fits its values."""
    if array.dtype.kind not in "iu" or not array.size:
        return array
    return array.astype(np.result_type(np.min_scalar_type(array.min()), np.min_scalar_type(array.max())))
