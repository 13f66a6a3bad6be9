"""The kernels as compiled loops (Numba)."""

import numpy as np
from numpy.typing import NDArray

from secfc._arrays import Bools, Floats, Ints, Labels, Shares
from secfc.field.mixed_radix import MixedRadix
from secfc.kernels import loops
from secfc.kernels.interface import Bytes, EncodingTransform

_FOUR = 4


class CompiledKernels:
    """`secfc.kernels.interface.Kernels`, compiled."""

    name = "compiled"
    transform_gain = 18  # measured: even at ell + t = 128 of 256 clients (python benchmarks/crossover.py)

    def encode(self, values: Floats, basis: Floats, p: int, out: Bytes) -> None:
        """See `Kernels.encode`."""
        loops.encode(values, _padded(basis), p, out)

    def encode_by_transform(self, values: Floats, transform: EncodingTransform, p: int, out: Bytes) -> None:
        """See `Kernels.encode_by_transform`."""
        loops.encode_by_transform(
            values,
            transform.before,
            transform.spectrum,
            transform.after,
            transform.roots,
            transform.inverse_roots,
            p,
            out,
        )

    def store(self, packed: Bytes, p: int, shares: Shares, start: int) -> None:
        """See `Kernels.store`."""
        loops.store(packed, p, shares, start)

    def set_sums(self, shares: Shares, sets: Labels, k: int) -> Floats:
        """See `Kernels.set_sums`."""
        sums = np.zeros((k, shares.shape[0]))
        loops.set_sums(shares, sets, sums)
        return sums

    def move_rows(self, shares: Shares, rows: Ints, old: Labels, new: Labels, sums: Floats) -> None:
        """See `Kernels.move_rows`."""
        loops.move_rows(shares, rows, old, new, sums)

    def answer(
        self, shares: Shares, start: int, stop: int, matrix: Floats, constant: Floats, p: int, out: Bytes
    ) -> None:
        """See `Kernels.answer`."""
        padded = _padded(matrix)
        loops.answer(shares, start, stop, padded, np.resize(constant, padded.shape[0]), p, out)

    def below(self, packed: Bytes, p: int) -> bool:
        """See `Kernels.below`."""
        return bool(loops.below(packed, p))

    def decode(self, answers: list[Bytes], weights: Floats, start: int, stop: int, p: int) -> Floats:
        """See `Kernels.decode`."""
        total = np.zeros((answers[0].shape[0], stop - start))
        for at, (packed, weight) in enumerate(zip(answers, weights, strict=True), start=1):
            loops.accumulate(packed, start, stop, float(weight), total)
            # A canonical residue times a weight is below 2**47: 63 of them and a reduced rest below 2**53.
            if at % 63 == 0 or at == len(answers):
                loops.reduce_all(total, p)
        return total

    def nearest(
        self, residues: Floats, radix: MixedRadix, sizes: Ints, tolerance: float
    ) -> tuple[Floats, Floats, Labels, Bools]:
        """See `Kernels.nearest`."""
        _, k, rows = residues.shape
        value = np.empty((k, rows))
        labels = np.zeros(rows, dtype=np.int32)
        contested = np.empty(rows, dtype=np.bool_)
        loops.nearest(
            residues,
            np.array(radix.primes),
            radix.inverses,
            np.array(radix.radices, dtype=np.float64),
            sizes.astype(np.float64) ** 2,
            1 + tolerance,
            value,
            labels,
            contested,
        )
        return residues, value, labels, contested

    def accept(self, words: NDArray[np.uint32], p: int, kept: Floats) -> int:
        """See `Kernels.accept`."""
        return int(loops.accept(words, (1 << p.bit_length()) - 1, p, kept))


def _padded(matrix: Floats) -> Floats:
    """The matrix with zeros up to multiples of four, in C order."""
    rows, columns = (-(-size // _FOUR) * _FOUR for size in matrix.shape)
    padded = np.zeros((rows, columns))
    padded[: matrix.shape[0], : matrix.shape[1]] = matrix
    return padded
