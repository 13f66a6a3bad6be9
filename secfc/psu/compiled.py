"""The kernels of the set union as compiled loops (Numba)."""

from collections.abc import Callable

import numpy as np

from secfc.field.array_types import Ints
from secfc.kernels.loading import loops
from secfc.kernels.threads import ALONE, Threads, parts
from secfc.psu.kernels import UnionKernels
from secfc.psu.prime import Elements

_loops = loops("secfc.psu.loops")

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
            _loops.matmul(left, right, piece.start, piece.stop, product)

        self._threads.each(multiply, columns, size=size)
        return product

    def add_into(self, x: Elements, total: Elements) -> None:
        if x.shape != total.shape:
            raise ValueError(f"shapes {x.shape} and {total.shape} differ")
        _loops.add_into(np.ascontiguousarray(x), total)

    def add_outer(self, a: Elements, x: Elements, total: Elements) -> None:
        if total.shape != (a.size, x.size):
            raise ValueError(f"shapes {a.shape}, {x.shape} and {total.shape} do not fit")
        _loops.add_outer(np.ascontiguousarray(a), np.ascontiguousarray(x), total)

    def moments(self, poles: Elements, residues: Elements, bins: Ints, out: Elements) -> None:
        if not poles.shape == residues.shape == bins.shape:
            raise ValueError(f"shapes {poles.shape}, {residues.shape} and {bins.shape} differ")
        if bins.size and not 0 <= bins.min() <= bins.max() < out.shape[0]:
            raise ValueError(f"a bin is outside the {out.shape[0]} of the table")
        _loops.moments(poles, residues, bins, out)

    def correlate(self, series: Elements, weights: Elements, terms: int) -> Elements:
        if series.shape != (weights.shape[0], terms + weights.shape[1] - 1):
            raise ValueError(f"shapes {series.shape} and {weights.shape} do not fit {terms} terms")
        total = np.empty((series.shape[0], terms), dtype=np.uint64)
        left, right = np.ascontiguousarray(series), np.ascontiguousarray(weights)

        def correlate(bins: slice) -> None:
            _loops.correlate(left[bins], right[bins], total[bins])

        self._each(correlate, total.size * weights.shape[1], total)
        return total

    def poles(self, series: Elements, most: int) -> tuple[Elements, Ints]:
        found = np.zeros((series.shape[0], most), dtype=np.uint64)
        counts = np.empty(series.shape[0], dtype=np.int64)
        given = np.ascontiguousarray(series)

        def find(bins: slice) -> None:
            _loops.poles(given[bins], found[bins], counts[bins])

        self._each(find, _BITS * series.size * series.shape[1], found)
        return found, counts

    def _each(self, work: Callable[[slice], None], size: int, bins: Elements) -> None:
        """Do the work on all bins, in pieces. `size` is its number of multiplications."""
        pieces = parts(len(bins), 4 * self._threads.for_work(size))
        self._threads.each(work, pieces, size=size)
