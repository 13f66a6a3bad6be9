"""The papers' methods to distribute one table among parties.

Every partitioner returns one array of row numbers per party, in random order. :func:`take` splits arrays by
them. A seed is anything that ``numpy.random.default_rng`` accepts. Labels are integers of shape (n_rows,).

References
----------
- SecFC: S. Li et al., *Secure federated clustering*, section 5.1.
- FKM: S. Garst and M. Reinders, *Federated k-means clustering*, section 3.
- DWF: P. Holzer et al., *Dynamically weighted federated k-means*, section 3.2.
- FFCM: M. Stallmann and A. Wilbik, *Towards federated clustering*, test data.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from plaintext_baselines._arrays import AnyArray, FloatArray, IntArray
from plaintext_baselines._base import check_count
from plaintext_baselines._kmeans import draw_seed, kmeans

# k-means in DWF's non-IID partition (section 3.2): 5 rounds, best of 5 runs.
NON_IID_ITER = 5
NON_IID_RUNS = 5


def take(rows: AnyArray, parts: Sequence[IntArray]) -> list[AnyArray]:
    """Rows (or labels) of each party."""
    return [rows[part] for part in parts]


def iid(n_rows: int, n_parties: int, *, random_state: Any = None) -> list[IntArray]:
    """Shuffled rows in chunks of equal size (up to one row): DWF's IID case and FFCM's equal parties."""
    _check_parties(n_rows, n_parties)
    rng = np.random.default_rng(random_state)
    return np.array_split(rng.permutation(n_rows), n_parties)


def uniform(n_rows: int, n_parties: int, *, random_state: Any = None) -> list[IntArray]:
    """Every row goes to a uniformly drawn party: FFCM's case 4 (G2 sets). A party may stay empty."""
    _check_parties(n_rows, n_parties)
    rng = np.random.default_rng(random_state)
    return _shuffled(rng.integers(n_parties, size=n_rows), n_parties, rng)


def non_iid(rows: FloatArray, n_parties: int, *, random_state: Any = None) -> list[IntArray]:
    """Every party gets one cluster of a short k-means with as many clusters as parties: DWF's non-IID case.

    Rows have shape (n_rows, n_features). With fewer distinct rows than parties some parties stay empty.
    """
    _check_parties(len(rows), n_parties)
    rng = np.random.default_rng(random_state)
    labels = kmeans(
        np.asarray(rows, dtype=np.float64),
        n_parties,
        seed=draw_seed(rng),
        n_init=NON_IID_RUNS,
        max_iter=NON_IID_ITER,
        tol=1e-4,
    ).labels
    return _shuffled(labels, n_parties, rng)


def half_iid(rows: FloatArray, n_parties: int, *, random_state: Any = None) -> list[IntArray]:
    """A random half of the rows as in :func:`iid`, the others as in :func:`non_iid`: DWF's half-IID case."""
    _check_parties(len(rows), n_parties)
    rng = np.random.default_rng(random_state)
    order = rng.permutation(len(rows))
    first, second = order[: len(rows) // 2], order[len(rows) // 2 :]
    even = iid(len(first), n_parties, random_state=rng) if len(first) else [first] * n_parties
    uneven = non_iid(rows[second], n_parties, random_state=rng)
    return [np.concatenate([first[a], second[b]]) for a, b in zip(even, uneven, strict=True)]


def by_clusters(
    labels: npt.ArrayLike, n_parties: int, clusters_per_party: int, *, random_state: Any = None
) -> list[IntArray]:
    """Every party holds rows of at most k' clusters: SecFC's measure of heterogeneity.

    The clusters, in random order, are given to the parties in turn, k' to each (the paper does not say how).
    The rows of a cluster are split equally (up to one row) among its parties. k' = k is the IID case.

    Parameters
    ----------
    labels : array-like of shape (n_rows,), int
    n_parties : int
    clusters_per_party : int
        k'. ValueError if it is more than the number of clusters, or n_parties k' is less.
    """
    given, counts = np.unique(np.asarray(labels), return_inverse=True)
    _check_parties(len(counts), n_parties)
    check_count("clusters_per_party", clusters_per_party)
    if not clusters_per_party <= len(given) <= n_parties * clusters_per_party:
        raise ValueError(
            f"{n_parties} parties with clusters_per_party={clusters_per_party} cannot hold {len(given)}"
            f" clusters: needed are clusters_per_party <= {len(given)} <= n_parties * clusters_per_party"
        )
    rng = np.random.default_rng(random_state)
    dealt = np.resize(rng.permutation(len(given)), (n_parties, clusters_per_party))
    return _shared(counts, [set(row.tolist()) for row in dealt], rng)


def nested_clusters(
    labels: npt.ArrayLike, clusters_of_party: Sequence[int], *, random_state: Any = None
) -> list[IntArray]:
    """Party i holds rows of the first c_i clusters, and each cluster is split equally: FKM's figure 4.

    As in the published code, every holder gets floor(rows / holders) rows of a cluster; the rest is dropped.

    Parameters
    ----------
    labels : array-like of shape (n_rows,), int
    clusters_of_party : sequence of int
        c_i: 16, 1, 3, 10, 7 in the published data, but 1, 4, 7, 10 and 16 in the text of the paper.
    """
    given, counts = np.unique(np.asarray(labels), return_inverse=True)
    if max(clusters_of_party) > len(given):
        raise ValueError(f"clusters_of_party has {max(clusters_of_party)}, there are {len(given)} clusters")
    rng = np.random.default_rng(random_state)
    return _shared(counts, [set(range(count)) for count in clusters_of_party], rng, drop_rest=True)


def by_counts(labels: npt.ArrayLike, counts: npt.ArrayLike, *, random_state: Any = None) -> list[IntArray]:
    """Every party gets a fixed number of rows of every cluster, without replacement: FFCM's cases 1 to 3.

    Parameters
    ----------
    labels : array-like of shape (n_rows,), int
    counts : array-like of shape (n_parties, n_clusters), int
        Columns in ascending order of the labels. ValueError if a cluster has too few rows.
    """
    given, own = np.unique(np.asarray(labels), return_inverse=True)
    table = np.asarray(counts)
    if table.ndim != 2 or table.shape[1] != len(given) or (table < 0).any():
        raise ValueError(
            f"counts must be numbers of rows of shape (n_parties, {len(given)}), got {table.shape}"
        )
    rng = np.random.default_rng(random_state)
    owner = np.full(len(own), -1)
    for cluster, wanted in enumerate(table.T):
        members = rng.permutation(np.flatnonzero(own == cluster))
        if wanted.sum() > len(members):
            raise ValueError(
                f"counts ask for {wanted.sum()} rows of cluster {given[cluster]}, it has {len(members)}"
            )
        owner[members[: wanted.sum()]] = np.repeat(np.arange(len(table)), wanted)
    return _shuffled(owner, len(table), rng)


def by_distance(
    rows: FloatArray, locations: FloatArray, beta: float, *, random_state: Any = None
) -> list[IntArray]:
    """A row goes to a party whose location has distance d with probability 1 - exp(-beta/d): FKM.

    If several parties come out for a row, one of them is drawn. If none does, the row goes to the nearest.
    This is equation 2, after M. Servetnyk et al., *Unsupervised federated learning for unbalanced data*,
    2020.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features), float64
    locations : ndarray of shape (n_parties, n_features), float64
    beta : float
        If it is small, every party gets rows near its location; if large, rows from everywhere.
    """
    if not beta > 0:
        raise ValueError(f"beta must be above 0, got {beta}")
    rng = np.random.default_rng(random_state)
    distances = cdist(rows, locations)
    with np.errstate(divide="ignore"):
        probabilities = -np.expm1(-beta / distances)  # 1 at distance 0
    hits = rng.random(distances.shape) < probabilities
    # The largest of independent uniform numbers is at each hit with the same probability.
    drawn = np.where(hits, rng.random(distances.shape), -1.0).argmax(axis=1)
    owner = np.where(hits.any(axis=1), drawn, distances.argmin(axis=1))
    return _shuffled(owner, len(locations), rng)


def _check_parties(n_rows: int, n_parties: int) -> None:
    check_count("n_rows", n_rows)
    check_count("n_parties", n_parties)


def _shared(
    clusters: IntArray, held: Sequence[set[int]], rng: np.random.Generator, *, drop_rest: bool = False
) -> list[IntArray]:
    """Split every cluster's rows equally among the parties that hold it."""
    owner = np.full(len(clusters), -1)
    for cluster in range(int(clusters.max()) + 1):
        holders = [party for party, own in enumerate(held) if cluster in own]
        members = rng.permutation(np.flatnonzero(clusters == cluster))
        if not holders:
            continue
        if drop_rest:
            members = members[: len(members) // len(holders) * len(holders)]
        for party, part in zip(holders, np.array_split(members, len(holders)), strict=True):
            owner[part] = party
    return _shuffled(owner, len(held), rng)


def _shuffled(owner: IntArray, n_parties: int, rng: np.random.Generator) -> list[IntArray]:
    """Row numbers of every party in random order. Owner -1 means no party."""
    return [rng.permutation(np.flatnonzero(owner == party)) for party in range(n_parties)]
