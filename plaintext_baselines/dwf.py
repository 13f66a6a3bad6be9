"""Weighted federated k-means, dynamic (DWF) and equal (EWF), by Holzer, Jacob and Kavane (2023)."""

import abc
from collections import deque
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from plaintext_baselines._arrays import FloatArray, IntArray
from plaintext_baselines._floats import assign, set_sizes, set_sums
from plaintext_baselines._frame import Frame
from plaintext_baselines._method import FederatedMethod, Fit, check_number
from plaintext_baselines._start import check_init
from plaintext_baselines.kfed import participants, plain_one_shot

# Runs of each k-means in the one-shot start, as in the published code.
START_RUNS = 5


class Update(NamedTuple):
    """The result of a party in one round.

    `centres` are the local centroids c_ij, or the received one if the local cluster stayed empty. `sizes` are
    the numbers of rows assigned to each *received* centroid. `inertia` is the inertia at these.
    """

    centres: FloatArray
    sizes: IntArray
    inertia: float


def local_update(rows: FloatArray, centres: FloatArray, max_iter: int, tol: float) -> Update:
    """Up to `max_iter` steps of classical k-means from the received centroids: Algorithm 2.

    Empty clusters are not relocated (section 2.4). The steps also end if centroids move by less than `tol`
    (Frobenius norm).
    """
    first = found = assign(rows, centres)
    received = set_sizes(first.labels, len(centres))
    local, sizes = centres, received
    for step in range(max_iter):
        if step:
            found = assign(rows, local)
            sizes = set_sizes(found.labels, len(centres))
        sums = set_sums(rows, found.labels, len(centres))
        means = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], local)
        movement = float(np.linalg.norm(means - local))
        local = means
        if movement == 0 or movement < tol:
            break
    return Update(local, received, float(first.distances.sum()))


def aggregate(local: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted mean of the local centroids, shape (n_participants, n_clusters, n_features): equations 3 to 5.

    If all weights of a cluster are zero, lambda is 1/|I_t| (equation 4). Algorithm 3, line 8, as printed
    divides by zero in this case.
    """
    totals = weights.sum(axis=0)
    shares = np.where(totals > 0, weights / np.where(totals > 0, totals, 1), 1 / len(weights))
    return np.asarray(np.einsum("ij,ijd->jd", shares, local))


def request_score(parties: Sequence[FloatArray], centres: FloatArray) -> float:
    """Mean over all parties of their mean squared distance to the nearest centre: Algorithm 4."""
    scores = [float(assign(rows, centres).distances.mean()) for rows in parties if len(rows)]
    return float(np.mean(scores))


@dataclass(eq=False, repr=False)
class WeightedFederated(FederatedMethod):
    """Algorithm 1. A subclass chooses the weights omega_ij and documents the parameters."""

    n_clusters: int
    _: KW_ONLY
    init: Any = "k-fed"
    learning_rate: float = 0.01
    momentum: float = 0.8
    local_iter: int = 5
    n_clients: int | None = None
    n_init: int = 1
    max_iter: int = 10_000
    min_iter: int = 1
    tol: float = 1e-8
    window: int | None = 300
    random_state: int | None = None
    converged_: bool = field(init=False)

    @abc.abstractmethod
    def _weights(self, update: Update) -> FloatArray:
        """Weights omega_ij of a party, ndarray of shape (n_clusters,), float64."""

    def _check_parameters(self, data: Sequence[FloatArray]) -> None:
        check_init(self.init, ("k-fed", "random"))
        check_number("learning_rate", self.learning_rate, 0, 1, open_low=True)
        check_number("momentum", self.momentum, 0, 1, open_high=True)
        self._check_counts("local_iter", "n_init", "max_iter", "min_iter", optional=("n_clients", "window"))
        check_number("tol", self.tol, 0)

    def _run(self, parties: list[FloatArray], frame: Frame, rng: np.random.Generator) -> Fit:
        best: Fit | None = None
        best_score = np.inf
        for _ in range(self.n_init):
            start = self._given_start(parties, frame, rng)
            if start is None:
                start = plain_one_shot(parties, self.n_clusters, START_RUNS, rng)
            outcome = self._one_run(parties, start, frame.enter_length(self.tol), rng)
            score = request_score(parties, outcome.centres)
            if best is None or score < best_score:
                best, best_score = outcome, score
        assert best is not None  # n_init >= 1
        return best

    def _one_run(
        self,
        parties: list[FloatArray],
        centres: FloatArray,
        tol: float,
        rng: np.random.Generator,
    ) -> Fit:
        old = centres
        history: list[float] = []
        movements: deque[float] = deque(maxlen=self.window)
        converged = False
        for count in range(1, self.max_iter + 1):
            chosen = participants(parties, self.n_clients, rng)
            updates = [local_update(parties[index], centres, self.local_iter, tol) for index in chosen]
            history.append(sum(update.inertia for update in updates))
            aggregated = aggregate(
                np.array([update.centres for update in updates]),
                np.array([self._weights(update) for update in updates]),
            )
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
        return Fit(centres, history, attributes={"converged_": converged})


@dataclass(eq=False, repr=False, kw_only=True)
class DWF(WeightedFederated):
    """DWF k-means [1]_: local k-means steps, averaged with the sizes of the local clusters as weights.

    In each round a party runs `local_iter` steps of k-means from the received centroids. A centroid whose
    local cluster is empty does not move (section 2.4). The server averages each cluster's local centroids
    with the weights omega_ij of equation 7, sizes at the received centroids, or without weights if all are
    zero (equation 4). It then moves by equation 6, ``C + learning_rate (D - C) + momentum (C - C_old)``.

    With ``learning_rate=1, momentum=0, local_iter=1`` and all parties this is Lloyd's algorithm on the pool
    that does not move empty clusters (section 2.2).

    Parameters
    ----------
    init : {"k-fed", "random"}, ndarray, or list of int ndarray
        "k-fed": the one-shot start of section 2.3, ``KFED(variant="dwf", n_init=5)`` on all parties. The
        others as for :class:`KFED`.
    learning_rate : float
        eta in (0, 1].
    momentum : float
        mu in [0, 1).
    local_iter : int
        Local rounds max_local.
    n_clients : int, optional
        Number of parties that take part, drawn at random in each round. None: all.
    n_init : int
        Number of runs. The one with the best score (Algorithm 4) is kept.
    max_iter : int
        Global rounds max_global.
    min_iter : int
        The first global round that may end a run; 16 in the published experiments, 1 in Algorithm 1.
    tol : float
        epsilon, in the data's units. A run ends when the centroids move by less (Frobenius norm) or not at
        all. Local rounds end by the same rule.
    window : int, optional
        N_steps: a run also ends when the oldest of this many movements is the smallest. None: never.

    Attributes
    ----------
    cluster_centers_, labels_, inertia_, n_iter_
        As for :class:`ExactLloyd`. Labels are by the nearest centroid, and rounds are global rounds.
    history_ : list of float
        Inertia of the participants' rows at the centroids at the start of each global round.
    converged_ : bool
        False if `max_iter` ended the run.

    References
    ----------
    .. [1] P. Holzer, T. Jacob and S. Kavane, "Dynamically weighted federated k-means", 2023.
    """

    def _weights(self, update: Update) -> FloatArray:
        return update.sizes.astype(float)


class EWF(WeightedFederated):
    """EWF k-means: local k-means steps, averaged with equal weights; DWF's comparison, similar to FedAvg.

    It is from the same paper as :class:`DWF` and has its attributes and its parameters. The
    weights are those of equation 8: every party has the same weight for every cluster, also for a centroid
    that has none of its rows.
    """

    def _weights(self, update: Update) -> FloatArray:
        return np.ones(self.n_clusters)
