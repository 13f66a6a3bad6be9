"""Inner products that are folded until their vectors are short, and opened then."""

import numpy as np

from secfc.field.array_types import Floats
from secfc.field.residues import reduce
from secfc.kernels.threads import Threads
from secfc.operations.checking.coins import Tossed
from secfc.operations.checking.folding import BLOCKS, Fold, Vectors, block_length, value_at, values_of
from secfc.sharing.formula import Pair, moduli, products

SHORT = 1 << 12
"""Vectors above this length are folded once more before they are opened."""

LONGEST = SHORT * BLOCKS**10
"""No vectors are longer. They are folded ten times before the last, and no others need more numbers."""


class Lane:
    """Some combinations, each an inner product of two vectors with this length, opened under masks or not.

    Everybody has a lane; what it holds between `begin` and `line` is a holder's.
    """

    def __init__(self, combinations: int, length: int, *, masked: bool = False) -> None:
        self.combinations, self.masked, self._lengths = combinations, masked, [length]
        while self._lengths[-1] > SHORT:
            self._lengths.append(block_length(self._lengths[-1]))

    @property
    def folds(self) -> int:
        """How often its vectors are folded."""
        return len(self._lengths)

    @property
    def values(self) -> int:
        """How many values of polynomials are reduced in all folds."""
        return sum(map(self.values_at, range(self.folds)))

    def values_at(self, fold: int) -> int:
        """How many of them in a fold."""
        return 0 if fold >= self.folds else self.combinations * values_of(hides=self._is_last(fold))

    @property
    def hidden(self) -> int:
        """How many numbers of blocks of the dealer it needs."""
        return 2 * self.combinations * block_length(self._lengths[-1])

    @property
    def opened(self) -> int:
        """How many numbers are opened."""
        return self.hidden + self.combinations * (self.folds + 1)

    def _is_last(self, fold: int) -> bool:
        return fold == self.folds - 1

    def begin(self, primes: tuple[int, ...], pairs: list[Pair], dealt: Floats, threads: Threads) -> None:
        """Take the vectors, and shares of what the dealer has dealt, shape (P, masks + hidden).

        Masks are as many as combinations, or none.
        """
        self._primes, self._threads, shape = primes, threads, (len(primes), self.combinations)
        self._vectors = Vectors(pairs, shape, self._lengths[0])
        masks, blocks = np.split(dealt, [dealt.shape[1] - self.hidden], axis=1)
        both = blocks.reshape(len(primes), 2, self.combinations, -1)
        self._blocks = both[:, 0], both[:, 1]
        self._sums = list[Floats]()
        self._expected = -masks if masks.size else np.zeros(shape)  # of the present fold

    def make_values(self, fold: int) -> Floats:
        """The values of polynomials in a fold, shape (P, values)."""
        if fold >= self.folds:
            return np.zeros((len(self._primes), 0))
        hidden = self._blocks if self._is_last(fold) else None
        self._fold = Fold(self._vectors, self._primes, self._threads, hidden)
        return self._fold.values().reshape(len(self._primes), -1)

    def go_on(self, fold: int, values: Floats, coin: Tossed) -> None:
        """Go on, from the values as they were reduced, with the vectors at points that are tossed."""
        points = coin.points(self.combinations, 2 * BLOCKS + 1)
        if fold >= self.folds:
            return
        shape = len(self._primes), self.combinations
        values = values.reshape(*shape, -1)
        self._sums.append(values[..., :BLOCKS].sum(axis=2) - self._expected)
        self._expected = value_at(values, points, self._primes)
        self._folded = self._fold.at(points)
        self._vectors = Vectors([self._folded], shape, block_length(self._lengths[fold]))

    def line(self) -> Floats:
        """A holder's shares of what is opened, shape (P, opened)."""
        parts = [*self._folded, *(one[..., np.newaxis] for one in [*self._sums, self._expected])]
        found = np.concatenate([one.reshape(len(self._primes), -1) for one in parts], axis=1)
        return reduce(found, moduli(self._primes, 2))

    def sums_in(self, line: Floats, primes: tuple[int, ...]) -> tuple[Floats, bool]:
        """What is opened, shape (P, ell, opened): the sums, shape (P, ell, combinations), and if they agree.

        These are the inner products of the first vectors, plus the masks.
        """
        count, ell = self.combinations, line.shape[1]
        vectors, numbers = line[..., : self.hidden], line[..., self.hidden :]
        both = vectors.reshape(len(primes), ell, 2, count, -1)
        numbers = numbers.reshape(len(primes), ell, self.folds + 1, count)
        last = products(both[:, :, 0], both[:, :, 1], primes)
        agree = not reduce(last - numbers[:, :, -1], moduli(primes, 3)).any()
        return numbers[:, :, 0], agree and not numbers[:, :, 1:-1].any()
