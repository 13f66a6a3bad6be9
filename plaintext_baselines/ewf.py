"""Equally Weighted Federated k-means by Holzer, Jacob and Kavane (2023)."""

from __future__ import annotations

import numpy as np

from plaintext_baselines._base import FloatArray
from plaintext_baselines._weighted import Update, WeightedFederated


class EWF(WeightedFederated):
    """EWF k-means [1]_: local k-means steps, averaged with equal weights; DWF's comparison, akin to FedAvg.

    As :class:`DWF` with the weights of equation 8: every party counts alike for every cluster, also with a
    centroid that has none of its rows.

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
    >>> from plaintext_baselines import EWF
    >>> parties = [np.array([[0.0], [1.0], [10.0]]), np.array([[2.0], [11.0], [12.0]])]
    >>> model = EWF(2, random_state=0).fit(parties)
    >>> sorted(model.cluster_centers_.round(6).ravel().tolist())
    [1.25, 10.75]
    """

    def _weights(self, rows: FloatArray, update: Update) -> FloatArray:
        return np.ones(self.n_clusters)
