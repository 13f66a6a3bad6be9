"""The public question of a round to the trio: which centres, which rows, and how many primes."""

from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np

from secfc.comparing.batch_plan import BatchPlan, Bracket
from secfc.comparing.widths import FEW, USUAL, WIDE, GateWidths
from secfc.errors import ParameterError
from secfc.field.array_types import Bools, Floats, Ints, Labels
from secfc.field.mixed_radix import MixedRadix
from secfc.field.primes import primes_above
from secfc.field.residues import centre
from secfc.kernels.interface import Differences
from secfc.kmeans.compare import CORE_FACTOR

_PAIRS = 1 << 17
"""Pairs per batch. A wire of them is 16 KiB, and a level of gates a few MiB."""

_FEWEST_ROWS = 1024
"""Least number of rows in a batch: the compiled loop takes so many at a time."""


def comparison_residues(radius: int, sizes: Ints, *, core: bool = False) -> int:
    """Number of primes of a round: for all candidates |w_a D_b - w_b D_a| < Q / 2.

    With w = |S|^2 and 0 <= D <= (2 |S| radius)^2, each difference is at most (2 |S_a| |S_b| radius)^2
    (docs/proofs.md, "Labels by a trio"). A size of 0 means no candidate. For the core the condition is
    |w_a D_b - 9 w_b D_a| < Q / 2. ParameterError if all primes together are not enough.
    """
    largest = sorted(map(int, sizes))[-2:]  # Python integers: NumPy's would overflow
    limit = 2 * (2 * prod(size for size in largest if size) * radius) ** 2 * (CORE_FACTOR if core else 1)
    return primes_above(limit, what=f"comparisons of sets of {' and '.join(map(str, largest))} rows")


@dataclass(frozen=True, kw_only=True)
class Question:
    """The rows and centres of a round. The dealer and both evaluators have the same.

    Sets without rows are no candidates. `rows` is m. `champions` are the sets that the rows are in, shape
    (m,). With them, each row's own centre is compared with the others first, and only rows whose set is not
    nearest are compared further. Without them all pairs are compared. `core` asks for the core instead of
    labels: rows at most a third as far from their champion's centre as from any other.
    """

    primes: tuple[int, ...]
    sizes: Ints = field(repr=False)
    rows: int
    champions: Labels | None = field(default=None, repr=False)
    core: bool = False
    widths: GateWidths = USUAL

    def __post_init__(self) -> None:
        if not self.candidates.size:
            raise ParameterError("sizes: one set with a row is needed at least")
        if self.rows < 1:
            raise ParameterError(f"rows: 1 or more are needed, {self.rows} was given")
        if self.core and self.champions is None:
            raise ParameterError("core: champions are needed")
        if self.champions is not None:
            if self.champions.shape != (self.rows,):
                raise ParameterError(f"champions: {self.champions.shape} given, ({self.rows},) needed")
            numbers = self.champions
            known = 0 <= numbers.min() <= numbers.max() < self.sizes.size
            if not known or not self.sizes[numbers].all():
                raise ParameterError("champions: a set has no rows, or there is none of that number")

    @classmethod
    def about(
        cls, *, primes: tuple[int, ...], sizes: Ints, rows: int, champions: Labels | None
    ) -> "Question":
        """The cheapest question about labels. For few rows it has the fewest exchanges."""
        slots = int(np.count_nonzero(sizes))
        if rows * (slots - 1) * (slots - 2) // 2 <= FEW:
            champions = None
        widths = WIDE if rows * slots * (slots - 1) // 2 <= FEW else USUAL
        return cls(primes=primes, sizes=sizes, rows=rows, champions=champions, widths=widths)

    @cached_property
    def candidates(self) -> Ints:
        """Centres that are compared, ascending."""
        return self.sizes.nonzero()[0]

    @cached_property
    def own(self) -> Labels:
        """Each row's champion as its index among the candidates, or the number of candidates if none."""
        if self.champions is None:
            return np.full(self.rows, self.candidates.size, dtype=np.int32)
        place = np.zeros(self.sizes.size, dtype=np.int32)
        place[self.candidates] = np.arange(self.candidates.size)
        own: Labels = place[self.champions]
        return own

    @property
    def slots(self) -> int:
        """Candidates that are not a row's champion."""
        return self.candidates.size - (self.champions is not None)

    def plans(self, bracket: Bracket, own: Labels) -> list[BatchPlan]:
        """Batches of rows with these own columns, in order."""
        weights = self._weights.take(self.candidates, axis=1)
        return self._plans(bracket, self.candidates, weights, own, 0)

    @cached_property
    def by_champion(self) -> Ints:
        """All rows, by champion."""
        assert self.champions is not None
        return np.argsort(self.champions, kind="stable")

    def core_plans(self) -> list[BatchPlan]:
        """Batches of rows in the order of `by_champion`. The champion is the first column of each."""
        bracket, found, start = Bracket.champion(self.slots), list[BatchPlan](), 0
        of_others = self._doubled(CORE_FACTOR)
        for at, rows in enumerate(np.bincount(self.own, minlength=self.candidates.size)):
            columns = np.append(self.candidates[at], np.delete(self.candidates, at))
            # The champion is beaten if w_own D_b < 9 w_b D_own. It is the first column, so it wins ties.
            weights = of_others.take(columns, axis=1)
            weights[:, 0] = self._weights[:, columns[0]]
            found += self._plans(bracket, columns, weights, np.zeros(rows, dtype=np.int32), start)
            start += int(rows)
        return found

    def _plans(
        self, bracket: Bracket, columns: Ints, weights: Floats, own: Labels, start: int
    ) -> list[BatchPlan]:
        step = max(_FEWEST_ROWS, _PAIRS // bracket.first.size // _FEWEST_ROWS * _FEWEST_ROWS)
        differences = Differences(
            columns=columns, weights=weights, first=bracket.first, second=bracket.second, radix=self._radix
        )
        return [
            BatchPlan(
                bracket=bracket,
                question=differences,
                own=own[low : low + step],
                widths=self.widths,
                start=start + low,
            )
            for low in range(0, own.size, step)
        ]

    @cached_property
    def _weights(self) -> Floats:
        return self._doubled(1)

    def _doubled(self, factor: int) -> Floats:
        """Centred residues of 2 w times a factor, of all sets."""
        primes = np.array(self.primes)[:, np.newaxis]
        sizes = self.sizes % primes  # below 2**24, so products are below 2**53
        return centre((2 * factor * sizes**2 % primes).astype(np.float64), primes)

    def winners(self, won: Bools, own: Labels) -> Labels:
        """Labels of rows, from the slot that won in each row. `won` has shape (slots, rows)."""
        slot = won.argmax(axis=0)
        found: Labels = self.candidates[slot + (own <= slot)].astype(np.int32)
        return found

    @cached_property
    def _radix(self) -> MixedRadix:
        return MixedRadix(self.primes)
