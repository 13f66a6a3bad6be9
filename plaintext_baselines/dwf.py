"""Dynamically Weighted Federated k-means by Holzer, Jacob and Kavane (2023)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from plaintext_baselines._base import FloatArray, check_choice
from plaintext_baselines._floats import assign, set_sizes
from plaintext_baselines._weighted import Update, WeightedFederated


class DWF(WeightedFederated):
    """DWF k-means [1]_: local k-means steps, averaged with the sizes of the local clusters as weights.

    In each round a party runs `local_iter` steps of k-means from the received centroids; a centroid whose
    local cluster is empty stays (section 2.4). The server averages each cluster's local centroids with the
    weights omega_ij of equation 7, falls back to their plain mean where all weights are zero (equation 4),
    and moves by equation 6, ``C + learning_rate (D - C) + momentum (C - C_old)``.

    With ``learning_rate=1, momentum=0, local_iter=1`` and all parties this is Lloyd's algorithm on the pool
    that keeps empty clusters where they are (section 2.2).

    Parameters
    ----------
    n_clusters : int
    init : {"k-fed", "random"}, ndarray, or list of int ndarray
        "k-fed": the one-shot start of section 2.3, ``KFED(variant="dwf", n_init=5)`` on all parties.
        "random": the means of a random partition of all rows. An array of shape (n_clusters, n_features):
        centroids. A list with one label array per party: the means of that partition.
    learning_rate : float
        eta in (0, 1].
    momentum : float
        mu in [0, 1).
    local_iter : int
        Local rounds max_local.
    weights : {"received", "updated"}
        Which centroids the weights count the assignments to: those received (equation 7 and the published
        code's default), or the party's own after its steps (one reading of Algorithm 2, line 3).
    n_clients : int, optional
        Number of parties, drawn at random in each round, that take part. None: all.
    n_init : int
        Runs, of which the one with the best score (Algorithm 4) is kept.
    max_iter : int
        Global rounds max_global.
    min_iter : int
        The first global round that may end a run; 16 in the published experiments, 1 in Algorithm 1.
    tol : float
        epsilon, in the data's units: a run ends when the centroids move by less (Frobenius norm) or not at
        all. Local rounds end by the same rule.
    window : int, optional
        N_steps: a run also ends when the oldest of this many movements is the smallest. None: never.
    random_state : None or int

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features), float64
    labels_ : list of ndarray of shape (n_rows_of_the_party,), int64
        Every row's nearest centroid.
    inertia_ : float
        Sum of squared distances of all rows to their nearest `cluster_centers_`.
    history_ : list of float
        Inertia of the participants' rows at the centroids each global round began with.
    n_iter_ : int
        Global rounds.
    converged_ : bool
        False if `max_iter` ended the run.

    References
    ----------
    .. [1] P. Holzer, T. Jacob and S. Kavane, "Dynamically weighted federated k-means", 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from plaintext_baselines import DWF
    >>> parties = [np.array([[0.0], [1.0], [10.0]]), np.array([[2.0], [11.0], [12.0]])]
    >>> model = DWF(2, random_state=0).fit(parties)
    >>> sorted(model.cluster_centers_.round(6).ravel().tolist())
    [1.0, 11.0]
    """

    def __init__(
        self,
        n_clusters: int,
        *,
        init: Any = "k-fed",
        learning_rate: float = 0.01,
        momentum: float = 0.8,
        local_iter: int = 5,
        weights: Literal["received", "updated"] = "received",
        n_clients: int | None = None,
        n_init: int = 1,
        max_iter: int = 10_000,
        min_iter: int = 1,
        tol: float = 1e-8,
        window: int | None = 300,
        random_state: int | None = None,
    ) -> None:
        super().__init__(
            n_clusters,
            init=init,
            learning_rate=learning_rate,
            momentum=momentum,
            local_iter=local_iter,
            n_clients=n_clients,
            n_init=n_init,
            max_iter=max_iter,
            min_iter=min_iter,
            tol=tol,
            window=window,
            random_state=random_state,
        )
        self.weights = weights

    def _check_parameters(self, data: Sequence[FloatArray]) -> None:
        super()._check_parameters(data)
        check_choice("weights", self.weights, ("received", "updated"))

    def _weights(self, rows: FloatArray, update: Update) -> FloatArray:
        sizes = update.sizes
        if self.weights == "updated":
            sizes = set_sizes(assign(rows, update.centres).labels, self.n_clusters)
        return sizes.astype(float)
