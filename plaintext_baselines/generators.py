"""The synthetic datasets of the papers, with the papers' parameters, distributed among parties.

Each `random_state` is an integer, or None for a different draw every time.

References
----------
- SecFC: S. Li et al., *Secure federated clustering*, sections 5.1 and 5.2.
- FKM: S. Garst and M. Reinders, *Federated k-means clustering*, section 3.
- DWF: P. Holzer et al., *Dynamically weighted federated k-means*, section 3.2.
- FFCM: M. Stallmann and A. Wilbik, *Towards federated clustering*, test cases 1 to 4.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.datasets import make_blobs

from plaintext_baselines import partition
from plaintext_baselines._arrays import FloatArray, IntArray

# SecFC's two settings (section 5.1): clusters: (parties, rows).
SECFC_SETTINGS = {4: (10, 10_000), 16: (16, 16_384)}
# Seeds in the published code for DWF's synthetic data: for the clusters and for the noise.
DWF_SEED = 18042023
DWF_NOISE_SEED = 1


@dataclass(frozen=True, kw_only=True)
class FederatedData:
    """Rows of several parties with their true clusters.

    Attributes
    ----------
    parties : list of ndarray of shape (n_rows_of_the_party, n_features), float64
    labels : list of ndarray of shape (n_rows_of_the_party,), int64
        The cluster that each row was drawn from.
    centers : ndarray of shape (n_clusters, n_features), float64
        Means of the distributions.
    """

    parties: list[FloatArray]
    labels: list[IntArray]
    centers: FloatArray


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
    (-10, 10) reproduces the accuracies of Table 2. For Figure 1: ``n_rows=1000, n_features=20``.

    Parameters
    ----------
    n_clusters : int
        k. The default is 10 parties and 10,000 rows for 4, and 16 parties and 16,384 rows for 16.
    sigma : float
    clusters_per_party : int, optional
        k' (see :func:`plaintext_baselines.partition.by_clusters`). None: k.
    n_parties, n_rows : int, optional
        Needed for other numbers of clusters.
    n_features : int
    """
    if n_clusters not in SECFC_SETTINGS and (n_parties is None or n_rows is None):
        raise ValueError(
            f"n_clusters={n_clusters} needs n_parties and n_rows: the paper has 4 and 16 clusters"
        )
    default_parties, default_rows = SECFC_SETTINGS.get(n_clusters, (0, 0))
    rows, labels, centers = make_blobs(
        n_samples=n_rows or default_rows,
        n_features=n_features,
        centers=n_clusters,
        cluster_std=sigma,
        random_state=random_state,
        return_centers=True,
    )
    parts = partition.by_clusters(
        labels, n_parties or default_parties, clusters_per_party or n_clusters, random_state=random_state
    )
    return _spread(rows, labels, centers, parts)


def rotated_images(images: FloatArray, *, side: int = 28) -> tuple[FloatArray, IntArray]:
    """Square images rotated by 0, 90, 180 and 270 degrees; the rotation is the class: SecFC's Table 3.

    Parameters
    ----------
    images : ndarray of shape (n_images, side * side), float64
        In the paper, MNIST's training images of one digit, 2 or 3.
    side : int

    Returns
    -------
    ndarray of shape (4 * n_images, side * side), float64
    ndarray of shape (4 * n_images,), int64
        Quarter turns, 0 to 3.
    """
    squares = np.asarray(images, dtype=np.float64).reshape(-1, side, side)
    turned = [np.rot90(squares, k=turns, axes=(1, 2)).reshape(len(squares), -1) for turns in range(4)]
    return np.concatenate(turned), np.repeat(np.arange(4), len(squares))


def fkm_grid(
    *,
    beta: float = 1.0,
    noise: float = 1.0,
    points_per_cluster: int = 50,
    n_parties: int = 5,
    locations: FloatArray | None = None,
    random_state: Any = None,
) -> FederatedData:
    """Sixteen clusters on a 4 x 4 grid 5 apart, distributed by distance: FKM's Figures 1 to 3 and 6.

    Parameters
    ----------
    beta : float
        0.1, 1 or 10 (see :func:`plaintext_baselines.partition.by_distance`).
    noise : float
        Standard deviation of a cluster, 1 to 1.5.
    points_per_cluster : int
        50, 100 or 200.
    n_parties : int
        Five in the figures and the published data; the text says four.
    locations : ndarray of shape (n_parties, 2), float64, optional
        Locations of the parties. None: drawn uniformly from (-12.5, 12.5)^2, the area in the text.
    """
    rng = np.random.default_rng(random_state)
    rows, labels, centers = _grid(noise, points_per_cluster, rng)
    if locations is None:
        locations = rng.uniform(-12.5, 12.5, size=(n_parties, 2))
    return _spread(rows, labels, centers, partition.by_distance(rows, locations, beta, random_state=rng))


def fkm_nested(
    *,
    clusters_of_party: Sequence[int] = (16, 1, 3, 10, 7),
    noise: float = 1.0,
    points_per_cluster: int = 50,
    random_state: Any = None,
) -> FederatedData:
    """The grid of `fkm_grid` with very different numbers of clusters per party: FKM's Figure 4.

    Parameters
    ----------
    clusters_of_party : sequence of int
        See :func:`plaintext_baselines.partition.nested_clusters`.
    noise, points_per_cluster, random_state
        As for :func:`fkm_grid`.
    """
    rng = np.random.default_rng(random_state)
    rows, labels, centers = _grid(noise, points_per_cluster, rng)
    parts = partition.nested_clusters(labels, clusters_of_party, random_state=rng)
    return _spread(rows, labels, centers, parts)


def dwf_blobs(
    *,
    n_parties: int = 100,
    distribution: Literal["iid", "half-iid", "non-iid"] = "iid",
    n_rows: int = 10_000,
    n_noise: int = 100,
    random_state: Any = None,
) -> FederatedData:
    """Five clusters in the plane in a box, and uniform noise: DWF's synthetic data.

    Centres are uniform in [-1, 1]^2, and standard deviations are 0.2. The noise is uniform in [-1, 1]^2 and
    is a sixth class, as in the published code. Its centre, that of the box, is the last of `centers`. With
    the default sizes these are exactly the rows of the published code.

    Parameters
    ----------
    n_parties : int
        100, or 10 in the paper's appendix B.
    distribution : {"iid", "half-iid", "non-iid"}
    n_rows, n_noise : int
    random_state : None or int
        Seed of the partition, which differs in each of the paper's 100 runs.
    """
    rows, labels, centers = make_blobs(
        n_samples=n_rows,
        centers=5,
        cluster_std=0.2,
        center_box=(-1, 1),
        random_state=DWF_SEED,
        return_centers=True,
    )
    draw = random.Random(DWF_NOISE_SEED)  # noqa: S311 - data, not a secret
    noise = 2 * np.array([draw.random() for _ in range(2 * n_noise)]).reshape(n_noise, 2) - 1
    rows, labels = np.concatenate([rows, noise]), np.concatenate([labels, np.full(n_noise, 5)])
    if distribution == "iid":
        parts = partition.iid(len(rows), n_parties, random_state=random_state)
    elif distribution == "half-iid":
        parts = partition.half_iid(rows, n_parties, random_state=random_state)
    elif distribution == "non-iid":
        parts = partition.non_iid(rows, n_parties, random_state=random_state)
    else:
        raise ValueError(f"distribution must be 'iid', 'half-iid' or 'non-iid', got {distribution!r}")
    return _spread(rows, labels, np.concatenate([centers, np.zeros((1, 2))]), parts)


def ffcm_unequal(*, balanced: bool = False, sigma: float = 0.5, random_state: Any = None) -> FederatedData:
    """FFCM's case 1: three clusters in the plane at (-2, -2), (0, 0), (2, 2) and three parties.

    Parameters
    ----------
    balanced : bool
        True: 333 rows of each cluster at every party. False (Table 2): the third party has 500 rows of each
        of the first two clusters and none of the third.
    sigma : float
        Standard deviation. The paper gives none; 0.5 agrees with the SSEs of Table 2.
    """
    counts = [[333] * 3, [333] * 3, [333] * 3 if balanced else [500, 500, 0]]
    return _gaussians([[-2, -2], [0, 0], [2, 2]], counts, sigma, random_state)


def ffcm_hidden(*, random_state: Any = None) -> FederatedData:
    """FFCM's case 2, "hidden clusters" (Table 3; use ``fuzziness=1.1``).

    Clusters at (5, 0), (5, 10), (10, 10), standard deviation 1.1. One party has 900, 50, 50 rows of them, the
    other 50, 900, 50.
    """
    return _gaussians([[5, 0], [5, 10], [10, 10]], [[900, 50, 50], [50, 900, 50]], 1.1, random_state)


def ffcm_absent(*, sizes: Sequence[int] = (1000, 1000, 1000), random_state: Any = None) -> FederatedData:
    """FFCM's case 3, "locally absent clusters" (Table 4).

    Clusters at (0, 0), (0, 10), (10, 10), (10, 0), standard deviation 1. There are three parties. Party i has
    half its rows from cluster i and half from cluster i + 1.

    Parameters
    ----------
    sizes : sequence of 3 int
        Rows of the parties: (100, 1000, 100), (100, 1000, 1000), (1000, 100, 100) or (1000, 1000, 1000).
    """
    if len(sizes) != 3:
        raise ValueError(f"sizes must be the rows of 3 parties, got {len(sizes)}")
    counts = np.zeros((3, 4), dtype=int)
    for party, size in enumerate(sizes):
        counts[party, party : party + 2] = size // 2, size - size // 2
    return _gaussians([[0, 0], [0, 10], [10, 10], [10, 0]], counts.tolist(), 1.0, random_state)


def g2(
    *,
    n_features: int = 2,
    sigma: float = 10.0,
    n_parties: int = 10,
    n_rows: int = 2048,
    random_state: Any = None,
) -> FederatedData:
    """Two Gaussians at (500, ...) and (600, ...), cut to integers, as in FFCM's case 4 (Table 5).

    The paper uses the original files of the G2 sets (P. Fränti, R. Mariescu-Istodor and C. Zhong, *XNN
    graph*, 2016). This draws other rows from the same distribution. Numbers are rounded down: the originals'
    means are 499.5 and 599.5, which is nearly all of the knowledge gap at sigma = 10. Rows go to parties
    uniformly at random.

    Parameters
    ----------
    n_features : int
        2, 4, 8, ..., 1024.
    sigma : float
        10, 20, ..., 100.
    n_parties, n_rows : int
    """
    rng = np.random.default_rng(random_state)
    centers = np.full((2, n_features), [[500.0], [600.0]])
    labels = np.repeat([0, 1], [n_rows // 2, n_rows - n_rows // 2])
    rows = np.floor(rng.normal(centers[labels], sigma))
    return _spread(rows, labels, centers, partition.uniform(n_rows, n_parties, random_state=rng))


def _grid(noise: float, points: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray, FloatArray]:
    ticks = np.array([-7.5, -2.5, 2.5, 7.5])
    centers = np.array([[x, y] for x in ticks for y in ticks])
    labels = np.repeat(np.arange(16), points)
    return rng.normal(centers[labels], noise), labels, centers


def _gaussians(
    centers: list[list[int]], counts: list[list[int]], sigma: float, random_state: Any
) -> FederatedData:
    rng = np.random.default_rng(random_state)
    points = np.array(centers, dtype=np.float64)
    labels = [rng.permutation(np.repeat(np.arange(len(points)), own)) for own in counts]
    parties = [rng.normal(points[own], sigma) for own in labels]
    return FederatedData(parties=parties, labels=labels, centers=points)


def _spread(
    rows: FloatArray, labels: IntArray, centers: FloatArray, parts: Sequence[IntArray]
) -> FederatedData:
    labels = np.asarray(labels, dtype=np.int64)
    return FederatedData(
        parties=partition.take(rows, parts), labels=partition.take(labels, parts), centers=centers
    )
