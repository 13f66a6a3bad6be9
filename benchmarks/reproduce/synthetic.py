"""The synthetic datasets of the papers, and their methods to distribute one table among parties.

A method to distribute returns an array of row numbers for each party, in random order. A seed is anything
that ``numpy.random.default_rng`` accepts.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from secfc.field.array_types import Floats, Ints

SECFC_SETTINGS = {4: (10, 10_000), 16: (16, 16_384)}
"""SecFC's two settings (section 5.1): clusters: (parties, rows)."""

DWF_SEED = 18042023
DWF_NOISE_SEED = 1
"""Seeds in the published code for DWF's synthetic data: for the clusters and for the noise."""

NON_IID_ITER = 5
NON_IID_RUNS = 5
"""k-means in DWF's non-IID partition (section 3.2): 5 rounds, best of 5 runs."""


@dataclass(frozen=True, kw_only=True)
class FederatedData:
    """Rows of several parties, the clusters they were drawn from, and the means of these."""

    parties: list[Floats]
    labels: list[Ints]
    centers: Floats


def secfc_blobs(
    *,
    n_clusters: int = 4,
    sigma: float = 1.0,
    clusters_per_party: int | None = None,
    n_parties: int | None = None,
    n_rows: int | None = None,
    n_features: int = 100,
    random_state: Any = 42,
) -> FederatedData:
    """Isotropic Gaussian clusters of SecFC's Tables 1 (``sigma=1``) and 2 (``sigma=20``).

    The paper gives neither seed nor box. scikit-learn's ``make_blobs(random_state=42)`` with its default box
    (-10, 10) reproduces the accuracies of Table 2. Numbers of clusters other than 4 and 16 need `n_parties`
    and `n_rows`.
    """
    default_parties, default_rows = SECFC_SETTINGS.get(n_clusters, (0, 0))
    rows, labels, centers = make_blobs(
        n_samples=n_rows or default_rows,
        n_features=n_features,
        centers=n_clusters,
        cluster_std=sigma,
        random_state=random_state,
        return_centers=True,
    )
    parts = by_clusters(
        labels, n_parties or default_parties, clusters_per_party or n_clusters, random_state=random_state
    )
    return _spread(rows, labels, centers, parts)


def rotated_images(images: Floats, *, side: int = 28) -> tuple[Floats, Ints]:
    """Square images rotated by 0, 90, 180 and 270 degrees; the rotation is the class: SecFC's Table 3."""
    squares = np.asarray(images, dtype=np.float64).reshape(-1, side, side)
    turned = [np.rot90(squares, k=turns, axes=(1, 2)).reshape(len(squares), -1) for turns in range(4)]
    return np.concatenate(turned), np.repeat(np.arange(4), len(squares))


def dwf_blobs(*, n_parties: int = 100, distribution: str = "iid", random_state: Any = None) -> FederatedData:
    """Five clusters in the plane in a box, and uniform noise: DWF's synthetic data.

    Centres are uniform in [-1, 1]^2, and standard deviations are 0.2. The noise is uniform in [-1, 1]^2 and
    is a sixth class, as in the published code. Its centre, that of the box, is the last of `centers`. These
    are exactly the rows of the published code. The seed is that of the partition.
    """
    rows, labels, centers = make_blobs(
        n_samples=10_000,
        centers=5,
        cluster_std=0.2,
        center_box=(-1, 1),
        random_state=DWF_SEED,
        return_centers=True,
    )
    draw = random.Random(DWF_NOISE_SEED)
    noise = 2 * np.array([draw.random() for _ in range(200)]).reshape(100, 2) - 1
    rows, labels = np.concatenate([rows, noise]), np.concatenate([labels, np.full(100, 5)])
    parts = distributed(rows, n_parties, distribution, random_state=random_state)
    return _spread(rows, labels, np.concatenate([centers, np.zeros((1, 2))]), parts)


def ffcm_unequal(*, random_state: Any = None) -> FederatedData:
    """FFCM's case 1: three clusters in the plane and three parties, of which the third lacks a cluster.

    The paper gives no standard deviation; 0.5 agrees with the SSEs of Table 2.
    """
    counts = [[333] * 3, [333] * 3, [500, 500, 0]]
    return _gaussians([[-2, -2], [0, 0], [2, 2]], counts, 0.5, random_state)


def ffcm_hidden(*, random_state: Any = None) -> FederatedData:
    """FFCM's case 2, "hidden clusters" (Table 3)."""
    return _gaussians([[5, 0], [5, 10], [10, 10]], [[900, 50, 50], [50, 900, 50]], 1.1, random_state)


def ffcm_absent(*, sizes: Sequence[int] = (1000, 1000, 1000), random_state: Any = None) -> FederatedData:
    """FFCM's case 3, "locally absent clusters" (Table 4); `sizes` are the rows of the three parties.

    Party i has half its rows from cluster i and half from cluster i + 1.
    """
    counts = np.zeros((3, 4), dtype=int)
    for party, size in enumerate(sizes):
        counts[party, party : party + 2] = size // 2, size - size // 2
    return _gaussians([[0, 0], [0, 10], [10, 10], [10, 0]], counts.tolist(), 1.0, random_state)


def g2(*, n_features: int = 2, sigma: float = 10.0, random_state: Any = None) -> FederatedData:
    """Two Gaussians at (500, ...) and (600, ...), cut to integers, as in FFCM's case 4 (Table 5).

    The paper uses the original files of the G2 sets (P. Fränti, R. Mariescu-Istodor and C. Zhong, *XNN
    graph*, 2016). This draws other rows from the same distribution. Numbers are rounded down: the originals'
    means are 499.5 and 599.5, which is nearly all of the knowledge gap at sigma = 10.
    """
    rng = np.random.default_rng(random_state)
    centers = np.full((2, n_features), [[500.0], [600.0]])
    labels = np.repeat([0, 1], 1024)
    rows = np.floor(rng.normal(centers[labels], sigma))
    return _spread(rows, labels, centers, uniform(2048, 10, random_state=rng))


def _gaussians(
    centers: list[list[int]], counts: list[list[int]], sigma: float, random_state: Any
) -> FederatedData:
    rng = np.random.default_rng(random_state)
    points = np.array(centers, dtype=np.float64)
    labels = [rng.permutation(np.repeat(np.arange(len(points)), own)) for own in counts]
    parties = [rng.normal(points[own], sigma) for own in labels]
    return FederatedData(parties=parties, labels=labels, centers=points)


def _spread(rows: Floats, labels: Ints, centers: Floats, parts: Sequence[Ints]) -> FederatedData:
    labels = np.asarray(labels, dtype=np.int64)
    return FederatedData(
        parties=[rows[part] for part in parts], labels=[labels[part] for part in parts], centers=centers
    )


def distributed(rows: Floats, n_parties: int, distribution: str, *, random_state: Any = None) -> list[Ints]:
    """DWF's three cases: parts of equal size, one cluster for each party, or half of the rows in each way."""
    if distribution == "iid":
        return iid(len(rows), n_parties, random_state=random_state)
    if distribution == "non-iid":
        return non_iid(rows, n_parties, random_state=random_state)
    rng = np.random.default_rng(random_state)
    order = rng.permutation(len(rows))
    first, second = order[: len(rows) // 2], order[len(rows) // 2 :]
    even = iid(len(first), n_parties, random_state=rng)
    uneven = non_iid(rows[second], n_parties, random_state=rng)
    return [np.concatenate([first[a], second[b]]) for a, b in zip(even, uneven, strict=True)]


def iid(n_rows: int, n_parties: int, *, random_state: Any = None) -> list[Ints]:
    """Shuffled rows in chunks of equal size (up to one row)."""
    return np.array_split(np.random.default_rng(random_state).permutation(n_rows), n_parties)


def non_iid(rows: Floats, n_parties: int, *, random_state: Any = None) -> list[Ints]:
    """Every party gets one cluster of a short k-means with as many clusters as parties."""
    rng = np.random.default_rng(random_state)
    model = KMeans(
        n_parties,
        n_init=NON_IID_RUNS,
        max_iter=NON_IID_ITER,
        tol=1e-4,
        random_state=int(rng.integers(2**32)),
        algorithm="lloyd",
    )
    return _shuffled(model.fit(rows).labels_, n_parties, rng)


def uniform(n_rows: int, n_parties: int, *, random_state: Any = None) -> list[Ints]:
    """Every row goes to a uniformly drawn party: FFCM's case 4 (G2 sets). A party may stay empty."""
    rng = np.random.default_rng(random_state)
    return _shuffled(rng.integers(n_parties, size=n_rows), n_parties, rng)


def by_clusters(
    labels: Ints, n_parties: int, clusters_per_party: int, *, random_state: Any = None
) -> list[Ints]:
    """Every party holds rows of at most k' clusters: SecFC's measure of heterogeneity.

    The clusters, in random order, are given to the parties in turn, k' to each (the paper does not say how).
    The rows of a cluster are split equally (up to one row) among its parties. k' = k is the IID case.
    """
    n_clusters = int(labels.max()) + 1
    assert clusters_per_party <= n_clusters <= n_parties * clusters_per_party
    rng = np.random.default_rng(random_state)
    dealt = np.resize(rng.permutation(n_clusters), (n_parties, clusters_per_party))
    owner = np.full(len(labels), -1)
    for cluster in range(n_clusters):
        holders = np.flatnonzero((dealt == cluster).any(axis=1))
        members = rng.permutation(np.flatnonzero(labels == cluster))
        for party, part in zip(holders, np.array_split(members, len(holders)), strict=True):
            owner[part] = party
    return _shuffled(owner, n_parties, rng)


def _shuffled(owner: Ints, n_parties: int, rng: np.random.Generator) -> list[Ints]:
    return [rng.permutation(np.flatnonzero(owner == party)) for party in range(n_parties)]
