"""Weighted Federated k-means, what EWF and DWF share: Holzer, Jacob and Kavane (2023), Algorithm 1."""

from __future__ import annotations

import abc
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from plaintext_baselines._base import FloatArray, IntArray, check_count
from plaintext_baselines._floats import assign, set_sizes, set_sums
from plaintext_baselines._frame import Frame
from plaintext_baselines._method import (
    FederatedMethod,
    Outcome,
    check_init,
    check_number,
    check_optional_count,
)
from plaintext_baselines.kfed import participants, plain_one_shot

# Runs of every k-means of the one-shot start, as in the published code.
START_RUNS = 5


class Update(NamedTuple):
    """What a party computes in one round.

    Attributes
    ----------
    centres : ndarray of shape (n_clusters, n_features), float64
        Local centroids c_ij; one whose local cluster stayed empty is the received centroid.
    sizes : ndarray of shape (n_clusters,), int64
        Rows assigned to each *received* centroid.
    inertia : float
        Sum of squared distances to the received centroids.
    """

    centres: FloatArray
    sizes: IntArray
    inertia: float


def local_update(
    rows: FloatArray, norms: FloatArray, centres: FloatArray, max_iter: int, tol: float
) -> Update:
    """Up to `max_iter` steps of classical k-means from the received centroids: Algorithm 2.

    Nothing is relocated (section 2.4). Only clusters that gained or lost rows are computed anew.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features), float64
    norms : ndarray of shape (n_rows,), float64
        Squared norms of the rows.
    centres : ndarray of shape (n_clusters, n_features), float64
    max_iter : int
    tol : float
        A step that moves the centroids by less (Frobenius norm) is the last.
    """
    n_clusters = len(centres)
    local = centres.copy()
    # |x - c|^2 without |x|^2, which does not change the argmin.
    scores = rows @ (-2.0 * centres.T)
    scores += np.einsum("ij,ij->i", centres, centres)
    labels = scores.argmin(axis=1)
    received = set_sizes(labels, n_clusters)
    nearest = norms + scores[np.arange(len(rows)), labels]
    touched = np.flatnonzero(received)
    for step in range(1, max_iter + 1):
        position = np.full(n_clusters, -1)
        position[touched] = np.arange(len(touched))
        sets = position[labels]
        sizes = set_sizes(sets, len(touched))
        moved = touched[sizes > 0]
        means = set_sums(rows, sets, len(touched))[sizes > 0] / sizes[sizes > 0, None]
        movement = float(np.linalg.norm(means - local[moved]))
        local[moved] = means
        if step == max_iter or movement < tol:
            break
        scores[:, moved] = rows @ (-2.0 * means.T) + np.einsum("ij,ij->i", means, means)
        previous, labels = labels, scores.argmin(axis=1)
        changed = labels != previous
        if not changed.any():
            break
        touched = np.union1d(labels[changed], previous[changed])
    return Update(local, received, float(np.maximum(nearest, 0).sum()))


def aggregate(local: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted mean of the local centroids: equations 3 to 5.

    Where all weights of a cluster are zero, lambda is 1/|I_t| (equation 4). Algorithm 3, line 8, as printed
    divides by zero there.

    Parameters
    ----------
    local : ndarray of shape (n_participants, n_clusters, n_features), float64
    weights : ndarray of shape (n_participants, n_clusters), float64, >= 0

    Returns
    -------
    ndarray of shape (n_clusters, n_features), float64
    """
    totals = weights.sum(axis=0)
    shares = np.where(totals > 0, weights / np.where(totals > 0, totals, 1), 1 / len(weights))
    return np.asarray(np.einsum("ij,ijd->jd", shares, local))


class WeightedFederated(FederatedMethod):
    """Algorithm 1; a subclass chooses the weights omega_ij and documents the parameters."""

    converged_: bool

    def __init__(
        self,
        n_clusters: int,
        *,
        init: Any = "k-fed",
        learning_rate: float = 0.01,
        momentum: float = 0.8,
        local_iter: int = 5,
        n_clients: int | None = None,
        n_init: int = 1,
        max_iter: int = 10_000,
        min_iter: int = 1,
        tol: float = 1e-8,
        window: int | None = 300,
        random_state: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.local_iter = local_iter
        self.n_clients = n_clients
        self.n_init = n_init
        self.max_iter = max_iter
        self.min_iter = min_iter
        self.tol = tol
        self.window = window
        self.random_state = random_state

    @abc.abstractmethod
    def _weights(self, rows: FloatArray, update: Update) -> FloatArray:
        """Weights omega_ij of a party, ndarray of shape (n_clusters,), float64."""

    def _check_parameters(self, data: Sequence[FloatArray]) -> None:
        check_init(self.init, ("k-fed", "random"))
        check_number("learning_rate", self.learning_rate, 0, 1, open_low=True)
        check_number("momentum", self.momentum, 0, 1, open_high=True)
        check_count("local_iter", self.local_iter)
        check_optional_count("n_clients", self.n_clients)
        check_count("n_init", self.n_init)
        check_count("max_iter", self.max_iter)
        check_count("min_iter", self.min_iter)
        check_number("tol", self.tol, 0)
        check_optional_count("window", self.window)

    def _run(self, parties: list[FloatArray], frame: Frame, rng: np.random.Generator) -> Outcome:
        norms = [np.einsum("ij,ij->i", rows, rows) for rows in parties]
        best: Outcome | None = None
        best_score = np.inf
        for _ in range(self.n_init):
            start = self._given_start(parties, frame, rng)
            if start is None:
                start = plain_one_shot(parties, self.n_clusters, START_RUNS, rng)
            outcome = self._one_run(parties, norms, start, frame.enter_length(self.tol), rng)
            score = request_score(parties, outcome.centres)
            if best is None or score < best_score:
                best, best_score = outcome, score
        assert best is not None  # n_init >= 1
        return best

    def _one_run(
        self,
        parties: list[FloatArray],
        norms: list[FloatArray],
        centres: FloatArray,
        tol: float,
        rng: np.random.Generator,
    ) -> Outcome:
        old = centres
        history: list[float] = []
        movements: deque[float] = deque(maxlen=self.window)
        converged = False
        buffer = np.empty((0, *centres.shape))
        for count in range(1, self.max_iter + 1):
            chosen = participants(parties, self.n_clients, rng)
            if len(buffer) != len(chosen):
                buffer = np.empty((len(chosen), *centres.shape))
            weights = np.empty((len(chosen), self.n_clusters))
            inertia = 0.0
            for place, index in enumerate(chosen):
                update = local_update(parties[index], norms[index], centres, self.local_iter, tol)
                buffer[place] = update.centres
                weights[place] = self._weights(parties[index], update)
                inertia += update.inertia
            history.append(inertia)
            aggregated = aggregate(buffer, weights)
            # Equation 6, with c^(-1) = c^(0).
            new = centres + self.learning_rate * (aggregated - centres) + self.momentum * (centres - old)
            movement = float(np.linalg.norm(new - centres))
            centres, old = new, centres
            if count < self.min_iter:
                continue
            movements.append(movement)
            stalled = len(movements) == self.window and movements[0] == min(movements)
            converged = movement < tol or movement == 0 or stalled
            if converged:
                break
        return Outcome(centres, history, attributes={"converged_": converged})


def request_score(parties: Sequence[FloatArray], centres: FloatArray) -> float:
    """Mean over all parties of their mean squared distance to the nearest centre: Algorithm 4."""
    scores = [float(assign(rows, centres).distances.mean()) for rows in parties if len(rows)]
    return float(np.mean(scores))
