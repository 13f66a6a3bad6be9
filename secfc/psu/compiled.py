"""The kernels of the set union as compiled loops (Numba)."""

from collections.abc import Callable

import numpy as np

from secfc.field.array_types import Ints
from secfc.kernels.loading import loops
from secfc.kernels.threads import ALONE, Threads, parts
from secfc.psu.kernels import UnionKernels
from secfc.psu.prime import Elements

_loops = loops("secfc.psu.loops")
_read, _write = _loops.read, _loops.write
_U64, _I64 = np.dtype(np.uint64), np.dtype(np.int64)

_BITS = 61
"""Squarings to split a polynomial. Each costs about as many multiplications as the series has term pairs."""


class CompiledUnionKernels(UnionKernels):
    """The same operations, compiled."""

    name = "compiled"

    def __init__(self, threads: Threads = ALONE) -> None:
        self._threads = threads

    def matmul(self, a: Elements, x: Elements) -> Elements:
        if a.shape[1] != x.shape[0]:
            raise ValueError(f"shapes {a.shape} and {x.shape} do not multiply")
        product = np.empty((a.shape[0], x.shape[1]), dtype=np.uint64)
        left, right = np.ascontiguousarray(a), np.ascontiguousarray(x)
        size = a.size * x.shape[1]
        columns = parts(x.shape[1], 2 * self._threads.for_work(size))

        def multiply(piece: slice) -> None:
            _loops.matmul(
                _read(left, _U64, 2),
                *left.shape,
                _read(right, _U64, 2),
                right.shape[1],
                piece.start,
                piece.stop,
                _write(product, _U64, 2),
            )

        self._threads.each(multiply, columns, size=size)
        return product

    def add_into(self, x: Elements, total: Elements) -> None:
        if x.shape != total.shape:
            raise ValueError(f"shapes {x.shape} and {total.shape} differ")
        _loops.add_into(_read(np.ascontiguousarray(x), _U64, 1), _write(total, _U64, 1), total.size)

    def add_outer(self, a: Elements, x: Elements, total: Elements) -> None:
        if total.shape != (a.size, x.size):
            raise ValueError(f"shapes {a.shape}, {x.shape} and {total.shape} do not fit")
        left, right = np.ascontiguousarray(a), np.ascontiguousarray(x)
        _loops.add_outer(_read(left, _U64, 1), a.size, _read(right, _U64, 1), x.size, _write(total, _U64, 2))

    def moments(self, poles: Elements, residues: Elements, bins: Ints, out: Elements) -> None:
        if not poles.shape == residues.shape == bins.shape:
            raise ValueError(f"shapes {poles.shape}, {residues.shape} and {bins.shape} differ")
        if bins.size and not 0 <= bins.min() <= bins.max() < out.shape[0]:
            raise ValueError(f"a bin is outside the {out.shape[0]} of the table")
        _loops.moments(
            _read(poles, _U64, 1),
            _read(residues, _U64, 1),
            _read(bins, _I64, 1),
            bins.size,
            _write(out, _U64, 2),
            *out.shape,
        )

    def correlate(self, series: Elements, weights: Elements, terms: int) -> Elements:
        if series.shape != (weights.shape[0], terms + weights.shape[1] - 1):
            raise ValueError(f"shapes {series.shape} and {weights.shape} do not fit {terms} terms")
        total = np.empty((series.shape[0], terms), dtype=np.uint64)
        left, right = np.ascontiguousarray(series), np.ascontiguousarray(weights)

        def correlate(bins: slice) -> None:
            own, out = right[bins], total[bins]
            _loops.correlate(
                _read(left[bins], _U64, 2),
                *own.shape[:1],
                _read(own, _U64, 2),
                own.shape[1],
                _write(out, _U64, 2),
                terms,
            )

        self._each(correlate, total.size * weights.shape[1], total)
        return total

    def poles(self, series: Elements, most: int) -> tuple[Elements, Ints]:
        found = np.zeros((series.shape[0], most), dtype=np.uint64)
        counts = np.empty(series.shape[0], dtype=np.int64)
        given = np.ascontiguousarray(series)

        def find(bins: slice) -> None:
            own, out = given[bins], found[bins]
            _loops.poles(
                _read(own, _U64, 2), *own.shape, _write(out, _U64, 2), most, _write(counts[bins], _I64, 1)
            )

        self._each(find, _BITS * series.size * series.shape[1], found)
        return found, counts

    def _each(self, work: Callable[[slice], None], size: int, bins: Elements) -> None:
        """Do the work on all bins, in pieces. `size` is its number of multiplications."""
        pieces = parts(len(bins), 4 * self._threads.for_work(size))
        self._threads.each(work, pieces, size=size)
