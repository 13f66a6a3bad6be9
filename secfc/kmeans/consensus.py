"""How stable clusters are: bootstrap samples of rows, and measures of how partitions of all rows overlap.

Tables have shape (B + 1, B + 1, k, k): element (p, q, i, j) is the number of rows in set i of partition p and
set j of partition q. Partition 0 is that of all rows; the others are those of resamples.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from secfc.field.array_types import Floats, Ints


def bootstrap(seed: int, m: int, *, k: int, resamples: int) -> tuple[list[Ints], int]:
    """How often each of m rows is in each resample, shape (m,) each, and how many were drawn again.

    m rows are drawn with replacement, and again if fewer than k of them are different. All follows from the
    seed.
    """
    rng, found, again = np.random.default_rng([seed, 0]), list[Ints](), 0
    while len(found) < resamples:
        counts = np.bincount(rng.integers(m, size=m), minlength=m)
        if np.count_nonzero(counts) >= k:
            found.append(counts)
        else:
            again += 1
    return found, again


@dataclass(frozen=True, kw_only=True)
class Resampled:
    """What clients learn of resamples: the tables of each k, ascending, and how many were drawn again."""

    tables: list[Ints] = field(repr=False)
    again: int

    @property
    def stable(self) -> tuple["Stable", ...]:
        """The measures of each k."""
        return tuple(map(stable_of, self.tables))

    def to_dict(self) -> dict[str, Any]:
        """Tables and measures as JSON values."""
        return {"stability": [one.to_dict() for one in self.stable], "again": self.again}

    @classmethod
    def of(cls, given: dict[str, Any]) -> "Resampled":
        """From what `to_dict` gives."""
        tables = [np.array(one["tables"], dtype=np.int64) for one in given["stability"]]
        return cls(tables=tables, again=given["again"])


@dataclass(frozen=True, kw_only=True, eq=False)
class Stable:
    """Measures of one number of clusters.

    Attributes
    ----------
    k : int
    jaccard : ndarray of shape (k,)
        For each cluster the mean, over resamples, of the largest Jaccard coefficient with a cluster of the
        resample (Hennig: *Cluster-wise assessment of cluster stability*, 2007, but of all rows and not only
        of those in the resample). 0 to 1; NaN for a cluster without rows.
    ari : float
        Mean adjusted Rand index of each two resamples. 1 if all are the same, about 0 if they are random.
    aris : ndarray of shape (B (B - 1) / 2,), float64
        That of each two, in the order of `itertools.combinations`.
    dispersion : float
        Kim and Park's coefficient: the mean over all pairs of rows of (2 c - 1)^2, where c is the part of the
        resamples in which both are in one cluster. 1 if all partitions are the same.
    tables : ndarray of shape (B + 1, B + 1, k, k), int64
        Rows in cluster i of partition p and cluster j of partition q. Partition 0 is that of all rows.
    """

    k: int
    jaccard: Floats
    ari: float
    aris: Floats = field(repr=False)
    dispersion: float
    tables: Ints = field(repr=False)

    @property
    def sizes(self) -> Ints:
        """Rows in each cluster of the partition of all rows, shape (k,), int64."""
        found: Ints = self.tables[0, 0].diagonal()
        return found

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON values; None for NaN."""
        jaccard = [None if np.isnan(one) else one for one in self.jaccard.tolist()]
        arrays = {"sizes": self.sizes, "aris": self.aris, "tables": self.tables}
        given = {"k": self.k, "dispersion": self.dispersion, "ari": self.ari, "jaccard": jaccard}
        return given | {name: one.tolist() for name, one in arrays.items()}


def stable_of(tables: Ints) -> Stable:
    """The measures of the partitions with these tables."""
    resamples = range(1, len(tables))
    aris = np.array([adjusted_rand(tables[p, q]) for p, q in combinations(resamples, 2)])
    return Stable(
        k=tables.shape[-1],
        jaccard=_jaccard(tables),
        ari=float(aris.mean()),
        aris=aris,
        dispersion=_dispersion(tables[1:, 1:]),
        tables=tables,
    )


def _jaccard(tables: Ints) -> Floats:
    both = tables[0, 1:]  # shape (B, k, k)
    sizes, of_resamples = both[0].sum(axis=1), both.sum(axis=1)
    either = sizes[:, np.newaxis] + of_resamples[:, np.newaxis] - both
    best = np.divide(both, either, out=np.zeros(both.shape), where=either > 0).max(axis=2)
    means: Floats = np.where(sizes > 0, best.mean(axis=0), np.nan)
    return means


def adjusted_rand(table: Ints) -> float:
    """The adjusted Rand index of two partitions, from their table, shape (k, k) (Hubert, Arabie 1985)."""
    first, second = (int((table.sum(axis=axis) ** 2).sum()) for axis in (1, 0))
    m, both = int(table.sum()), int((table**2).sum())
    # Ordered pairs of rows that are together in both, in one alone, and in none.
    together, alone, other = both - m, first - both, second - both
    apart = m**2 - first - second + both
    if not alone and not other:
        return 1.0
    below = (together + alone) * (alone + apart) + (together + other) * (other + apart)
    return 2 * (together * apart - alone * other) / below


def _dispersion(tables: Ints) -> float:
    """From the sums over pairs of rows of c and of c^2. The last is that of squares of all tables."""
    resamples, m = len(tables), int(tables[0, 0].sum())
    of_one = sum(int((tables[b, b] ** 2).sum()) for b in range(resamples))
    of_two = sum(int((tables[b] ** 2).sum()) for b in range(resamples))
    first, second = Fraction(of_one, resamples), Fraction(of_two, resamples**2)
    return float(1 - 4 * (first - second) / m**2)
