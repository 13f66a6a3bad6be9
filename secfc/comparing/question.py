"""What a round asks of the trio: which centres of which rows, all public; and the primes that it takes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np

from secfc.array_types import Bools, Ints, Labels
from secfc.comparing.plan import BatchPlan, Bracket
from secfc.comparing.widths import FEW, GateWidths
from secfc.errors import ParameterError
from secfc.field.mixed_radix import MixedRadix
from secfc.field.primes import primes_above
from secfc.field.residues import centred
from secfc.kernels.interface import Differences
from secfc.kmeans.compare import CORE_FACTOR
from secfc.options import Link

_PAIRS = 1 << 17
"""Pairs of a batch: a wire of them is 16 KiB, and a level of gates takes a few MiB."""

_FEWEST_ROWS = 1024
"""Rows of a batch at least, as many as the compiled loop takes at a time."""


def comparison_residues(radius: int, sizes: Ints, *, core: bool = False) -> int:
    """Number of primes of a round: for all candidates |w_a D_b - w_b D_a| < Q / 2.

    With w = |S|^2 and D <= (2 |S| radius)^2, which is 0 at least, each difference is at most
    (2 |S_a| |S_b| radius)^2 (docs/proofs.md, "Labels by a trio").

    Parameters
    ----------
    radius : int
        No quantised row has a larger norm.
    sizes : ndarray of shape (k,), int64
        |S_h|, 0 for no candidate.
    core : bool
        Whether the core is asked for: |w_a D_b - 9 w_b D_a| < Q / 2.

    Raises
    ------
    ParameterError
        When all primes together are not enough.
    """
    largest = sorted(map(int, sizes))[-2:]  # Python's: NumPy's would overflow
    limit = 2 * (2 * prod(size for size in largest if size) * radius) ** 2 * (CORE_FACTOR if core else 1)
    return primes_above(limit, what=f"comparisons of sets of {' and '.join(map(str, largest))} rows")


@dataclass(frozen=True, kw_only=True)
class Question:
    """The rows and centres of a round; the dealer and both evaluators have the same.

    Parameters
    ----------
    primes : tuple of int
        `comparison_residues` says how many.
    sizes : ndarray of shape (k,), int64
        |S_h| of the centres asked about; sets without rows are no candidates.
    rows : int
        m.
    champions : ndarray of shape (m,), int32, optional
        The set that each row is in: its centre is compared with the others first, and only rows whose set is
        not nearest go on. Without it all pairs of centres are compared.
    core : bool
        Whether it is asked, instead of labels, which rows are at most a third as far from their champion's
        centre as from any other.
    widths : GateWidths
    """

    primes: tuple[int, ...]
    sizes: Ints = field(repr=False)
    rows: int
    champions: Labels | None = field(default=None, repr=False)
    core: bool = False
    widths: GateWidths = field(default_factory=GateWidths)

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
        cls, *, primes: tuple[int, ...], sizes: Ints, rows: int, champions: Labels | None, link: Link
    ) -> "Question":
        """The question about labels that takes least: about few rows, in as few exchanges as there can be.

        Parameters
        ----------
        primes, sizes, rows
            As above.
        champions : ndarray of shape (m,), int32, or None
            The set that each row is in, if known.
        link : {"lan", "wan"}
        """
        slots, few = int(np.count_nonzero(sizes)), FEW[link]
        if rows * (slots - 1) * (slots - 2) // 2 <= few.at_once:
            champions = None
        widths = few.widths(rows * slots * (slots - 1) // 2)
        return cls(primes=primes, sizes=sizes, rows=rows, champions=champions, widths=widths)

    @cached_property
    def candidates(self) -> Ints:
        """Centres that are compared, ascending."""
        return np.flatnonzero(self.sizes)

    @cached_property
    def own(self) -> Labels:
        """Each row's champion as its index among the candidates; their number where there is none."""
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
        sizes = [int(size) for size in self.sizes[self.candidates]]
        return self._plans(bracket, self.candidates, [size**2 for size in sizes], own)

    @cached_property
    def by_champion(self) -> Ints:
        """All rows, by champion."""
        assert self.champions is not None
        return np.argsort(self.champions, kind="stable")

    def core_plans(self) -> list[BatchPlan]:
        """Batches of rows in the order of `by_champion`; of each the champion is the first column."""
        bracket, found = Bracket.champion(self.slots), list[BatchPlan]()
        for at, rows in enumerate(np.bincount(self.own, minlength=self.candidates.size)):
            columns = np.append(self.candidates[at], np.delete(self.candidates, at))
            # The champion is beaten if w_own D_b < 9 w_b D_own. It is the first, so ties are its.
            weights = [int(size) ** 2 * CORE_FACTOR for size in self.sizes[columns]]
            weights[0] //= CORE_FACTOR
            found += self._plans(bracket, columns, weights, np.zeros(rows, dtype=np.int32))
        return found

    def _plans(self, bracket: Bracket, columns: Ints, weights: Sequence[int], own: Labels) -> list[BatchPlan]:
        step = max(_FEWEST_ROWS, _PAIRS // bracket.first.size // _FEWEST_ROWS * _FEWEST_ROWS)
        differences = Differences(
            columns=columns,
            weights=np.array([[float(centred(2 * one, p)) for one in weights] for p in self.primes]),
            first=bracket.first,
            second=bracket.second,
            radix=self._radix,
        )
        parts = [own[low : low + step] for low in range(0, own.size, step)]
        return [
            BatchPlan(rows=part.size, bracket=bracket, question=differences, own=part, widths=self.widths)
            for part in parts
        ]

    def winners(self, won: Bools, own: Labels) -> Labels:
        """Labels of rows whose slots won as given.

        Parameters
        ----------
        won : ndarray of shape (slots, rows), bool
            One a row.
        own : ndarray of shape (rows,), int32
        """
        slot = won.argmax(axis=0)
        found: Labels = self.candidates[slot + (own <= slot)].astype(np.int32)
        return found

    @cached_property
    def _radix(self) -> MixedRadix:
        return MixedRadix(self.primes)
