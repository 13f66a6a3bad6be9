"""Federated k-means (FKM) by Garst and Reinders (2023)."""

import numbers
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import kmeans_plusplus

from plaintext_baselines._arrays import FloatArray
from plaintext_baselines._floats import assign, set_sizes, set_sums
from plaintext_baselines._frame import Frame
from plaintext_baselines._kmeans import draw_seed, in_order, kmeans
from plaintext_baselines._method import FederatedMethod, Fit, check_number, total_inertia
from plaintext_baselines._start import check_init


@dataclass(eq=False, repr=False)
class FKM(FederatedMethod):
    """FKM [1]_: rounds of one local k-means step and a weighted k-means of all local means at the server.

    *Start* (Algorithm 1, lines 2 to 5): each party draws min(k, rows) means by k-means++.

    *Server* (lines 8 to 11): k-means of all received means, each weighted with its number of rows
    (equation 1).

    *Party* (lines 13 to 18): rows are assigned to the received means, means without rows are dropped, and
    `local_iter` steps of k-means run from the rest. No upload, not even the first, contains means with fewer
    than `min_cluster_size` rows. If no mean at all is uploaded, the global means do not change. If this
    happens in the first upload, `fit` raises ValueError.

    There is no stopping rule: `max_iter` rounds are run.

    Parameters
    ----------
    n_clusters : int
        K_g.
    init : {"k-means++", "random"}, ndarray, or list of int ndarray
        "k-means++": the paper's start. Otherwise the first global means, as for :class:`KFED`. The parties
        then take their steps from these.
    max_iter : int
        Number of rounds. Each ends with a server step.
    local_iter : int
        Steps of k-means at a party in each round.
    initial_iter : int
        Steps of k-means after a party's k-means++. 0 in Algorithm 1; the published code uses `local_iter`.
    min_cluster_size : int
        p: means of fewer rows are not uploaded.
    n_init, server_iter, server_tol
        `n_init`, `max_iter` and `tol` of the server's k-means, as in ``sklearn.cluster.KMeans``.

    Attributes
    ----------
    cluster_centers_, labels_, inertia_, n_iter_
        As for :class:`ExactLloyd`. Labels are by the nearest global mean. With fewer uploaded means than
        `n_clusters`, some are repeated, and a repeated mean labels no row.
    history_ : list of float
        Inertia for the global means of each round.
    centers_history_ : list of ndarray of shape (n_clusters, n_features), float64
        The global means of each round.

    References
    ----------
    .. [1] S. Garst and M. Reinders, "Federated k-means clustering", 2023.
    """

    n_clusters: int
    _: KW_ONLY
    init: Any = "k-means++"
    max_iter: int = 100
    local_iter: int = 1
    initial_iter: int = 0
    min_cluster_size: int = 2
    n_init: int = 10
    server_iter: int = 300
    server_tol: float = 1e-4
    random_state: int | None = None
    centers_history_: list[FloatArray] = field(init=False)

    def _check_parameters(self, data: Sequence[FloatArray]) -> None:
        check_init(self.init, ("k-means++", "random"))
        self._check_counts("max_iter", "local_iter", "min_cluster_size", "n_init", "server_iter")
        check_number("initial_iter", self.initial_iter, 0)
        if not isinstance(self.initial_iter, numbers.Integral):
            raise TypeError(f"initial_iter must be an integer, got {self.initial_iter!r}")
        check_number("server_tol", self.server_tol, 0)

    def _run(self, parties: list[FloatArray], frame: Frame, rng: np.random.Generator) -> Fit:
        means = self._given_start(parties, frame, rng)
        if means is None:
            uploads = [
                self._upload(rows, self._seeds(rows, rng), self.initial_iter) for rows in parties if len(rows)
            ]
        else:
            uploads = [self._upload(rows, means, self.local_iter) for rows in parties if len(rows)]
        history: list[float] = []
        centres: list[FloatArray] = []
        for count in range(1, self.max_iter + 1):
            received, sizes = (np.concatenate(part) for part in zip(*uploads, strict=True))
            if len(received):
                means = self._server(received, sizes, rng)
            elif means is None:
                raise ValueError(
                    f"no party has a cluster of min_cluster_size={self.min_cluster_size} rows to upload"
                )
            centres.append(means)
            history.append(total_inertia(parties, means))
            if count < self.max_iter:
                uploads = [self._upload(rows, means, self.local_iter) for rows in parties if len(rows)]
        outside = [frame.leave(each) for each in centres]
        return Fit(centres[-1], history, attributes={"centers_history_": outside})

    def _server(self, received: FloatArray, sizes: FloatArray, rng: np.random.Generator) -> FloatArray:
        points, weights = in_order(received, sizes)
        return kmeans(
            points,
            self.n_clusters,
            seed=draw_seed(rng),
            weights=weights,
            n_init=self.n_init,
            max_iter=self.server_iter,
            tol=self.server_tol,
        ).centres

    def _seeds(self, rows: FloatArray, rng: np.random.Generator) -> FloatArray:
        count = min(len(rows), self.n_clusters)
        return np.asarray(kmeans_plusplus(rows, count, random_state=draw_seed(rng))[0])

    def _upload(self, rows: FloatArray, means: FloatArray, n_iter: int) -> "Upload":
        return client_step(rows, means, n_iter, min_size=self.min_cluster_size)


class Upload(NamedTuple):
    """A party's means, shape (n_means, n_features), and their numbers of rows, shape (n_means,), float64."""

    means: FloatArray
    sizes: FloatArray


def client_step(rows: FloatArray, means: FloatArray, n_iter: int, *, min_size: int) -> Upload:
    """Algorithm 1, lines 13 to 18. Sizes are counted by assignment to the updated means, as in the code."""
    labels = assign(rows, means).labels
    used, labels = np.unique(labels, return_inverse=True)
    means = means[used]
    for step in range(n_iter):
        if step:
            labels = assign(rows, means).labels
        sizes = set_sizes(labels, len(means))
        sums = set_sums(rows, labels, len(means))
        means = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], means)
    labels = assign(rows, means).labels
    sizes = set_sizes(labels, len(means))
    sent = sizes >= min_size
    return Upload(means[sent], sizes[sent].astype(float))
