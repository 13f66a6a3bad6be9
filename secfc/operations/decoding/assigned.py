"""What the coordinator finds in a round: each row's nearest mean, and figures about it."""

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from secfc.field.array_types import Bools, Floats, Ints, Labels, Objects, Shares
from secfc.field.mixed_radix import MixedRadix
from secfc.kmeans.clustering import SearchResult, describe, inertia_of, sums_of
from secfc.kmeans.compare import Nearest, Quotients, relocate
from secfc.kmeans.measures import CentreDistances
from secfc.kmeans.score import score
from secfc.kmeans.sets import separated_sets


@dataclass(kw_only=True, eq=False)
class Assigned:
    """The nearest of k means of `sets` for each row, filled block by block, as in `Nearest`."""

    labels: Labels = field(repr=False)
    own: Shares = field(repr=False)
    second: Floats = field(repr=False)
    core: Bools = field(repr=False)
    sets: Labels = field(repr=False)
    sizes: Ints
    radix: MixedRadix
    centres: CentreDistances | None  # if several k are compared
    near_ties: int = 0

    @classmethod
    def empty(cls, sets: Labels, sizes: Ints, radix: MixedRadix, *, compared: bool) -> "Assigned":
        """Before the first block."""
        return cls(
            labels=np.empty(sets.size, dtype=np.int32),
            own=np.empty((len(radix.primes), sets.size), dtype=np.float32),
            second=np.empty(sets.size),
            core=np.empty(sets.size, dtype=np.bool_),
            sets=sets,
            sizes=sizes,
            radix=radix,
            centres=CentreDistances(sets, sizes) if compared else None,
        )

    def put(self, rows: slice, part: Nearest, found: Quotients) -> None:
        """Fill in some rows."""
        self.labels[rows], self.own[:, rows] = part.labels, part.own
        self.second[rows], self.core[rows] = part.second, part.core
        if self.centres is not None:
            self.centres.add(rows, found.values())

    @property
    def score(self) -> int:
        """The value by which starts are compared. Less is better."""
        return score(self._sums, self.sizes, self.labels.size)

    @property
    def inertia(self) -> Fraction:
        """In squared quantised units."""
        return inertia_of(self._sums, self.sizes)

    @property
    def _sums(self) -> Objects:
        return sums_of(self.labels, self.own, self.radix, self.sizes.size)

    def relocated(self) -> Labels:
        """The labels, with the farthest rows moved to empty sets."""
        return relocate(self.labels, self.own, self.radix, self.sizes)

    def separated(self) -> Labels:
        """Sets of the rows that are much nearer to their mean than to any other."""
        return separated_sets(self.relocated(), self.labels, self.core, self.sizes.size)

    def describe(self, run: SearchResult, total: Fraction | None) -> None:
        """Add figures about distances. `total` is the inertia of one cluster, if several k are compared."""
        describe(
            run,
            own=self.own,
            second=self.second,
            radix=self.radix,
            sizes=self.sizes,
            centres=self.centres,
            total=total,
        )
