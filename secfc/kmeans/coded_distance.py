"""A client's side of an iteration: coded centres and coded distances (docs/protocol.md, eq. 5-6).

The squared norm of a share is stored as one more column. A coded distance is then one inner product,

    ||mu~ - s x~||^2 = ||mu~||^2 + <(-2 s mu~, s^2), (x~, ||x~||^2)>,

so a round is a matrix product, a reduction and the packing of its result.

A question is a partition of rows into sets. Its answer is the distances of the rows to the means of the sets.
"""

import numpy as np

from secfc.field.array_types import Floats, Ints, Labels, Shares
from secfc.field.packing import PackedResidues
from secfc.field.residues import reduce, squared_norms
from secfc.kernels import Kernels


class CodedPoints:
    """A client's shares of every row, and the coded distances and sums that it computes from them.

    `shares`, ndarray of shape (P, width + 1, m), float32, is memory for the shares and their squared norms.
    `Kernels.store` fills it.
    """

    def __init__(self, *, shares: Shares, primes: tuple[int, ...], k: int, kernels: Kernels) -> None:
        self._shares, self._primes, self._kernels = shares, primes, kernels
        self._moduli = np.array(primes, dtype=np.float64)[:, np.newaxis]
        self._sums = np.zeros((len(primes), k, shares.shape[1]))
        self._summed: Labels = np.full(shares.shape[2], -1, dtype=np.int32)  # of which sets the sums are
        self._questions: list[tuple[Floats, Floats]] = []
        self._asked = 0

    def __repr__(self) -> str:
        return f"CodedPoints(shape={self._shares.shape})"

    def ask(self, sets: Labels, sizes: Ints, residues: int, about: tuple[int, ...] = ()) -> None:
        """Prepare to answer about these sets, shape (m,), modulo the first `residues` primes.

        `sizes`, shape (asked,), are those of the first sets. `about` are those of the sets to answer about,
        ascending, () for all of them.
        """
        self._move(sets)
        sums, primes = self._sums[:residues], self._moduli[:residues]
        if about:
            asked = list(about)
            sums, sizes = sums[:, asked], sizes[asked]
        self._asked = sizes.size
        centres = sums[:, : self._asked]
        scales = reduce(sizes.astype(np.float64), primes)
        constants = squared_norms(centres[..., :-1].swapaxes(1, 2), primes)
        products = centres * (-2.0 * scales)[..., np.newaxis]  # below 2**48
        products[..., -1] = scales**2
        matrices = reduce(products, primes[..., np.newaxis])
        self._questions = list(zip(matrices, constants, strict=True))

    def answer(self, start: int, stop: int) -> PackedResidues:
        """Coded distances of rows [start, stop) to the mean of every asked set, (residues, sets, rows)."""
        packed = PackedResidues.empty((len(self._questions), self._asked, stop - start))

        def answer(index: int) -> None:
            held, p, out = self._shares[index], self._primes[index], packed.planes()[index]
            self._kernels.affine(held, slice(start, stop), *self._questions[index], p, out)

        count = len(self._questions)
        size = (stop - start) * self._shares.shape[1] * count
        self._kernels.threads.each(answer, range(count), size=size)
        return packed

    def _move(self, sets: Labels) -> None:
        """Update the exact sums of the shares in each set by the rows that moved."""

        def move(index: int) -> None:
            p, sums = self._primes[index], self._sums[index]
            change = self._kernels.moved_sums(self._shares[index], self._summed, sets, len(sums), p)
            self._sums[index] = reduce(sums + change, p)

        count, moved = len(self._primes), np.count_nonzero(self._summed != sets)
        self._kernels.threads.each(move, range(count), size=count * self._shares.shape[1] * moved)
        self._summed = sets
