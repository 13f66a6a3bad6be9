"""ExactLloyd, and for small cases a simple reference in Python's fractions without a filter."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from plaintext_baselines import ExactLloyd
from plaintext_baselines._exact import Centre, ratio_to_float
from plaintext_baselines._floats import NearestCentres
from secfc.operations.beginning.plus_plus import repeated_draws


def by_name(job):
    """What lets `ExactLloyd` begin as a run did, by the name and the seed of its start."""
    return {"init": job.method.init, "random_state": job.seed}


def begun_as(job, start):
    """The same, but from its first sets where these are public and have all rows."""
    return {"init": start} if job.method.init in ("random", "labels") else by_name(job)


def first_sets(parties, result):
    """The first sets of all rows, -1 for rows in none: of a simulation without IDs, that has a seed."""
    job = result.job
    if job.method.init == "k-means++":
        return repeated_draws(np.concatenate(parties), job.k, unit=job.unit, seed=job.seed)
    return np.concatenate(result.start)


class FractionRows:
    """What `ExactRows` does, directly from its definition."""

    def __init__(self, rows, n_clusters, unit):
        self.n_clusters = n_clusters
        self._unit = unit
        self._rows = [[int(entry) for entry in row] for row in rows.tolist()]

    def means(self, sets):
        members = [[] for _ in range(self.n_clusters)]
        for row, h in zip(self._rows, sets, strict=True):
            if h >= 0:
                members[h].append(row)
        return [
            Centre(np.array([sum(column) for column in zip(*rows, strict=True)], dtype=object), len(rows))
            if rows
            else None
            for rows in members
        ]

    def assign(self, centres):
        labels, own = [], []
        for distances in self._distances(centres):
            labels.append(min(distances, key=distances.__getitem__))  # the first, hence lowest, of equals
            own.append(distances[labels[-1]])
        return NearestCentres(np.array(labels, dtype=np.int64), own)

    def inertia(self, centres, assignment):
        total = sum(assignment.distances, Fraction(0))
        return ratio_to_float(*Fraction(total * self._unit**2).as_integer_ratio())

    def score(self, centres, assignment):
        own = zip(assignment.distances, (centres[h].size for h in assignment.labels), strict=True)
        bits = 2 * len(self._rows).bit_length() + 16
        return sum(2**bits // size**2 * int(distance * size**2) for distance, size in own)

    def farthest(self, centres, assignment, count):
        own = assignment.distances
        return sorted(range(len(own)), key=lambda row: (-own[row], row))[:count] if max(own) else []

    def separated(self, centres, assignment):
        # 9: squares of the distances' ratio 3.
        core = [
            all(9 * distances[own] <= other for h, other in distances.items() if h != own)
            for distances, own in zip(self._distances(centres), assignment.labels, strict=True)
        ]
        return np.array(core, dtype=bool)

    def distances_from(self, row):
        return np.array(
            [sum((x - y) ** 2 for x, y in zip(other, self._rows[row], strict=True)) for other in self._rows],
            dtype=object,
        )

    def _distances(self, centres):
        """Squared distances of each row to every existing centre, clusters ascending."""
        existing = [(h, c.total.tolist(), c.size) for h, c in enumerate(centres) if c is not None]
        return [
            {
                h: Fraction(
                    sum((above - size * x) ** 2 for above, x in zip(total, row, strict=True)), size**2
                )
                for h, total, size in existing
            }
            for row in self._rows
        ]


class FractionLloyd(ExactLloyd):
    _arithmetic = FractionRows


both = pytest.mark.parametrize("exact", [ExactLloyd, FractionLloyd])


def lloyd_that_keeps(parties, centres, steps):
    """Centres after steps of Lloyd's algorithm in float64, in which a cluster without rows does not move."""
    rows = np.concatenate(parties)
    for _ in range(steps):
        labels = ((rows[:, np.newaxis] - centres) ** 2).sum(axis=2).argmin(axis=1)
        means = [
            rows[labels == h].mean(axis=0) if (labels == h).any() else old for h, old in enumerate(centres)
        ]
        centres = np.array(means)
    return centres


def column(*values):
    return np.array(values, dtype=float)[:, None]


def fit_quietly(exact, parties, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return exact(**parameters).fit(parties)


def lists(labels):
    return [party.tolist() for party in labels]
