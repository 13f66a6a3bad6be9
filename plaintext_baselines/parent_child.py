"""Parent and child k-means with running updates, from a published notebook on the Iowa Gambling Task."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import numpy as np

from plaintext_baselines._arrays import FloatArray, IntArray
from plaintext_baselines._frame import Frame
from plaintext_baselines._kmeans import draw_seed, kmeans
from plaintext_baselines._method import FederatedMethod, Fit, check_number, total_inertia
from plaintext_baselines._start import check_init


@dataclass(eq=False, repr=False)
class ParentChildKMeans(FederatedMethod):
    """One-shot k-means of [1]_: children cluster and update their own rows, a parent clusters their centres.

    *Child*: k-means runs on a party's rows without the first `update_fraction` of them, in the given order.
    Those first rows are then added one at a time: for row X the nearest centre C with N rows moves to the
    running mean (C N + X) / (N + 1).

    *Parent*: k-means, unweighted, on all children's centres.

    A child with at most `child_clusters` rows to cluster uses these rows as its centres. With fewer received
    centres than `n_clusters`, some are repeated, and a repeated centre labels no row.

    Parameters
    ----------
    n_clusters : int
        3 in the notebook.
    child_clusters : int, optional
        Clusters of a child. None: `n_clusters`. Must be None unless `init` is "k-means++".
    update_fraction : float
        In [0, 1). The number of these rows is rounded down.
    init : {"k-means++", "random"}, ndarray, or list of int ndarray
        Start of every k-means, as for :class:`KFED`.
    n_init : int
        Runs of every k-means++ start. The best one is kept. 10 was scikit-learn's default at that time.
    max_iter, tol
        As in ``sklearn.cluster.KMeans``, with its defaults.
    random_state : None or int
        An integer is the seed of each k-means (42 in the notebook).

    Attributes
    ----------
    cluster_centers_, labels_, inertia_
        As for :class:`ExactLloyd`. Labels are by the nearest centre. `inertia_` is the notebook's SSE.
    n_iter_ : int
        1, the number of rounds of communication.
    history_ : list of float
        The inertia.

    References
    ----------
    .. [1] A. Reidy, "Federated k-means", CA4015 first assignment (notebook).
    """

    n_clusters: int
    _: KW_ONLY
    child_clusters: int | None = None
    update_fraction: float = 0.25
    init: Any = "k-means++"
    n_init: int = 10
    max_iter: int = 300
    tol: float = 1e-4
    random_state: int | None = None

    def _check_parameters(self, data: Sequence[FloatArray]) -> None:
        check_number("update_fraction", self.update_fraction, 0, 1, open_high=True)
        check_init(self.init, ("k-means++", "random"))
        if self.child_clusters is not None and not (isinstance(self.init, str) and self.init == "k-means++"):
            raise ValueError("child_clusters must be None unless init is 'k-means++'")
        self._check_counts("n_init", "max_iter", optional=("child_clusters",))
        check_number("tol", self.tol, 0)

    def _run(self, parties: list[FloatArray], frame: Frame, rng: np.random.Generator) -> Fit:
        start = self._given_start(parties, frame, rng)
        init: FloatArray | str = "k-means++" if start is None else start
        # One seed for all, as in the notebook.
        seed = draw_seed(rng) if self.random_state is None else self.random_state
        run = partial(kmeans, seed=seed, init=init, n_init=self.n_init, max_iter=self.max_iter, tol=self.tol)
        sent = []
        for rows in parties:
            n_updates = int(self.update_fraction * len(rows))
            updates, base = rows[:n_updates], rows[n_updates:]
            if not len(base):
                continue
            count = min(self.child_clusters or self.n_clusters, len(base))
            clustering = run(base, count)
            used, sizes = np.unique(clustering.labels, return_counts=True)
            sent.append(running_means(clustering.centres[used], sizes, updates))
        centres = run(np.concatenate(sent), self.n_clusters).centres
        return Fit(centres, [total_inertia(parties, centres)])


def running_means(centres: FloatArray, sizes: IntArray, updates: FloatArray) -> FloatArray:
    """For each row X in turn, move the nearest centre C, with N rows, to (C N + X) / (N + 1)."""
    centres, sizes = centres.copy(), sizes.copy()
    for row in updates:
        nearest = int(((centres - row) ** 2).sum(axis=1).argmin())
        centres[nearest] = (centres[nearest] * sizes[nearest] + row) / (sizes[nearest] + 1)
        sizes[nearest] += 1
    return centres
