"""Federated fuzzy c-means (FFCM) by Stallmann and Wilbik (2022)."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from plaintext_baselines._arrays import FloatArray
from plaintext_baselines._base import check_choice
from plaintext_baselines._frame import Frame
from plaintext_baselines._kmeans import draw_seed, in_order, kmeans
from plaintext_baselines._method import FederatedMethod, Fit, check_number, total_inertia
from plaintext_baselines._start import check_init

# The server's k-means, as in the published code.
SERVER_ITER = 500
SERVER_TOL = 1e-4
# The most local updates of a party that iterates to convergence, as in the published code.
LOCAL_LIMIT = 1000


@dataclass(eq=False, repr=False)
class FFCM(FederatedMethod):
    """FFCM [1]_: local fuzzy c-means updates, averaged by weight (avg_1) or by k-means (avg_2).

    In each round a party computes its memberships u_ij at the received centres (equation 5), then its local
    centres (equation 6) and their supports W_j (equation 7). The server computes the weighted mean of each
    centre (equation 8, ``averaging="weighted"``) or clusters all local centres by unweighted k-means
    (equation 9, ``averaging="kmeans"``). It starts by k-means++, in later rounds from the global centres.

    Memberships are those that minimise equation 4, as in Bezdek's algorithm and in the published code, u_ij =
    1 / sum_k (||x_i - c_j|| / ||x_i - c_k||)^(2/(m-1)), not equation 5 as printed, which has squared norms
    with the same exponent. A row on a centre has membership 1 there, in equal parts if on several. A centre
    without support (W_j = 0 at all parties) does not move.

    Parameters
    ----------
    averaging : {"weighted", "kmeans"}
        avg_1 or avg_2.
    fuzziness : float
        m > 1.
    init : {"uniform", "random"}, ndarray, or list of int ndarray
        "uniform": coordinates drawn from [0, 1), as in the published code; see `normalise`. The others are as
        for :class:`KFED`.
    local_iter : int, optional
        Updates of a party in each round: 1 as in step 3 of the paper. None: until the memberships change by
        less than `local_tol` (Frobenius norm), as in the published code.
    local_tol : float
        For ``local_iter=None``.
    weights : {"powers", "memberships"}
        W_j: the sum of u_ij^m over the memberships that made the local centres (equation 7), or the sum of
        u_ij at the local centres, as in the published code.
    normalise : bool
        Scale every column of the pool to [0, 1] first, so that the uniform start is among the rows. Centres
        are reported in the data's units.
    max_iter : int
        The most rounds.
    tol : float
        epsilon: the run ends when the centres move by at most this, in the data's units (scaled to [0, 1]
        with `normalise`). The paper gives no value; this is the code's.
    movement : {"sum", "frobenius"}
        The measure of movement: the sum over the centres of their distances moved, as in the paper, or the
        Frobenius norm of all movements, as in the published code.
    n_init : int
        Runs of the server's k-means in the first round.

    Attributes
    ----------
    cluster_centers_, labels_, inertia_, n_iter_
        As for :class:`ExactLloyd`. A row's nearest centre is the one with its largest membership.
    history_ : list of float
        Inertia at the global centres at the start of each round.
    converged_ : bool
        False if `max_iter` ended the run.
    local_centers_ : list of ndarray of shape (n_clusters, n_features), float64
        Each party's centres in the last round, before averaging; the global ones for a party without rows.

    References
    ----------
    .. [1] M. Stallmann and A. Wilbik, "Towards federated clustering: a federated fuzzy c-means algorithm
       (FFCM)", 2022.
    """

    n_clusters: int
    _: KW_ONLY
    averaging: Literal["weighted", "kmeans"] = "weighted"
    fuzziness: float = 2.0
    init: Any = "uniform"
    local_iter: int | None = 1
    local_tol: float = 1e-4
    weights: Literal["powers", "memberships"] = "powers"
    normalise: bool = False
    max_iter: int = 1000
    tol: float = 1e-4
    movement: Literal["sum", "frobenius"] = "sum"
    n_init: int = 10
    random_state: int | None = None
    converged_: bool = field(init=False)
    local_centers_: list[FloatArray] = field(init=False)

    def _check_parameters(self, data: Sequence[FloatArray]) -> None:
        check_choice("averaging", self.averaging, ("weighted", "kmeans"))
        check_number("fuzziness", self.fuzziness, 1, open_low=True)
        check_init(self.init, ("uniform", "random"))
        check_number("local_tol", self.local_tol, 0)
        check_choice("weights", self.weights, ("powers", "memberships"))
        self._check_counts("max_iter", "n_init", optional=("local_iter",))
        check_number("tol", self.tol, 0)
        check_choice("movement", self.movement, ("sum", "frobenius"))

    def _run(self, parties: list[FloatArray], frame: Frame, rng: np.random.Generator) -> Fit:
        low, width = columns_to_scale(np.concatenate(parties)) if self.normalise else (0.0, 1.0)
        inside = [(rows - low) / width for rows in parties if len(rows)]
        start = self._given_start(parties, frame, rng)
        if start is None:
            cube = rng.random((self.n_clusters, parties[0].shape[1]))  # in the data's or the scaled units
            centres = cube if self.normalise else frame.enter(cube)
        else:
            centres = (start - low) / width
        tol = self.tol if self.normalise else self.tol * frame.enter_length(1.0)
        history: list[float] = []
        converged = False
        while len(history) < self.max_iter and not converged:
            history.append(total_inertia(parties, centres * width + low))
            updates = [self._local_update(rows, centres) for rows in inside]
            local = np.array([update.centres for update in updates])
            supports = np.array([update.supports for update in updates])
            if self.averaging == "weighted":
                new = weighted_average(local, supports, centres)
            else:
                new = self._clustered(local, None if len(history) == 1 else centres, rng)
            lengths = np.linalg.norm(new - centres, axis=1)
            moved = lengths.sum() if self.movement == "sum" else np.linalg.norm(lengths)
            converged = bool(moved <= tol)
            centres = new
        found = centres * width + low
        own = iter(local * width + low)
        ends = [frame.leave(next(own) if len(rows) else found) for rows in parties]
        return Fit(found, history, attributes={"converged_": converged, "local_centers_": ends})

    def _clustered(
        self, local: FloatArray, centres: FloatArray | None, rng: np.random.Generator
    ) -> FloatArray:
        """avg_2, equation 9. `centres` are the last global ones, None in the first round."""
        points = local.reshape(-1, local.shape[2])
        if centres is None and len(local) > 1:
            (points,) = in_order(points)
        init = "k-means++" if centres is None else centres
        return kmeans(
            points,
            self.n_clusters,
            seed=draw_seed(rng),
            init=init,
            n_init=self.n_init,
            max_iter=SERVER_ITER,
            tol=SERVER_TOL,
        ).centres

    def _local_update(self, rows: FloatArray, centres: FloatArray) -> "LocalUpdate":
        power = 1.0 / (self.fuzziness - 1.0)
        used = memberships(rows, centres, power)
        for count in range(1, (self.local_iter or LOCAL_LIMIT) + 1):
            powers = used**self.fuzziness
            centres = fuzzy_means(rows, powers, centres)
            if count == self.local_iter and self.weights == "powers":
                break
            new = memberships(rows, centres, power)
            change = float(np.linalg.norm(new - used))
            used = new
            if self.local_iter is None and change < self.local_tol:
                break
        return LocalUpdate(centres, (powers if self.weights == "powers" else used).sum(axis=0))


class LocalUpdate(NamedTuple):
    """Local centres, shape (n_clusters, n_features), and their supports W, shape (n_clusters,), float64."""

    centres: FloatArray
    supports: FloatArray


def memberships(rows: FloatArray, centres: FloatArray, power: float) -> FloatArray:
    """Equation 5: u_ij = 1 / sum_k (||x_i - c_j||^2 / ||x_i - c_k||^2)^power, shape (n_rows, n_clusters)."""
    squares = cdist(rows, centres, "sqeuclidean")
    smallest = squares.min(axis=1, keepdims=True)
    on_centre = smallest == 0
    # Ratios to the smallest distance are at most 1, so no power overflows.
    ratios = np.where(on_centre, squares == 0, smallest / np.where(squares > 0, squares, 1.0))
    shares = ratios**power
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def fuzzy_means(rows: FloatArray, powers: FloatArray, centres: FloatArray) -> FloatArray:
    """Equation 6: c_j = sum_i u_ij^m x_i / sum_i u_ij^m. A centre without support does not move."""
    supports = powers.sum(axis=0)[:, None]
    sums = powers.T @ rows
    # Below the smallest normal number a quotient is not accurate.
    return np.where(
        supports > np.finfo(float).tiny, sums / np.maximum(supports, np.finfo(float).tiny), centres
    )


def weighted_average(local: FloatArray, supports: FloatArray, centres: FloatArray) -> FloatArray:
    """avg_1, equation 8: sum_l W_k^(l) c_k^(l) / sum_l W_k^(l). A centre without support does not move."""
    totals = supports.sum(axis=0)
    shares = supports / np.where(totals > 0, totals, 1.0)
    return np.where(totals[:, None] > 0, np.einsum("ij,ijd->jd", shares, local), centres)


def columns_to_scale(pool: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The least value of each column, and its width, 1 for a column of one value."""
    low, width = pool.min(axis=0), np.ptp(pool, axis=0)
    return low, np.where(width > 0, width, 1.0)
