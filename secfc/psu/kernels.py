"""Array computations of the set union, compiled (Numba) and in NumPy, with equal results."""

import numpy as np

from secfc.field.array_types import Ints
from secfc.psu import prime
from secfc.psu.prime import Elements


class UnionKernels:
    """The operations, in NumPy and, for poles, GMP's integers.

    Elements are uint64 below p = 2**61 - 1, and arrays are C-contiguous.
    """

    name = "numpy"

    def matmul(self, a: Elements, x: Elements) -> Elements:
        """Product a @ x, shapes (q, c) and (c, N)."""
        return np.stack([prime.totals(prime.multiply(x, row[:, np.newaxis])) for row in a])

    def add_into(self, x: Elements, total: Elements) -> None:
        """Do total += x, shapes (N,)."""
        total[...] = prime.add(total, x)

    def add_outer(self, a: Elements, x: Elements, total: Elements) -> None:
        """Do total += outer(a, x), shapes (q,), (N,) and (q, N)."""
        for factor, row in zip(a, total, strict=True):
            row[...] = prime.add(row, prime.multiply(x, factor))

    def moments(self, poles: Elements, residues: Elements, bins: Ints, out: Elements) -> None:
        """Do out[bins[i], k] += residues[i] poles[i]**k for every i and k."""
        if poles.size == 0:
            return
        order = np.argsort(bins, kind="stable")
        of_bin = bins[order]
        first = np.flatnonzero(np.diff(of_bin, prepend=-1))
        rank = np.arange(order.size) - np.repeat(first, np.diff(first, append=order.size))
        values = residues.copy()
        layers = [order[rank == r] for r in range(int(rank.max()) + 1)]  # at most one token of each bin
        for k in range(out.shape[1]):
            for layer in layers:
                out[bins[layer], k] = prime.add(out[bins[layer], k], values[layer])
            values = prime.multiply(values, poles)

    def correlate(self, series: Elements, weights: Elements, terms: int) -> Elements:
        """Of shape (bins, terms): sum over i of weights[b, i] series[b, k + i]."""
        total = np.zeros((series.shape[0], terms), dtype=np.uint64)
        for i in range(weights.shape[1]):
            total = prime.add(total, prime.multiply(series[:, i : i + terms], weights[:, i : i + 1]))
        return total

    def poles(self, series: Elements, most: int) -> tuple[Elements, Ints]:
        """Poles of every series, ascending, of shape (bins, most), and how many each has.

        The number is -1 if a series is not a sum of `most` or fewer simple fractions over the field.
        """
        from secfc.psu import roots  # noqa: PLC0415 - imports gmpy2, which takes 40 ms

        found = np.zeros((series.shape[0], most), dtype=np.uint64)
        counts = np.full(series.shape[0], -1, dtype=np.int64)
        for b, terms in enumerate(series.tolist()):
            of_bin = roots.poles(terms, most)
            if of_bin is not None:
                counts[b] = len(of_bin)
                found[b, : counts[b]] = of_bin
        return found, counts
