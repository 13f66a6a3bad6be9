"""Lloyd's k-means on the pooled, quantised rows, with no rounding after the quantisation."""

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from fractions import Fraction
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from plaintext_baselines._arrays import FloatArray, IntArray
from plaintext_baselines._base import FederatedClusterer, check_count, check_parties, check_weights, split
from plaintext_baselines._exact import Centre, Centres, ExactRows
from plaintext_baselines._method import check_number
from plaintext_baselines._plus_plus import plus_plus_rows
from plaintext_baselines._quantise import MAX_PRECISION, check_bound, check_step, quantise, scale_exponent
from plaintext_baselines._rounds import Rounds, run_rounds
from plaintext_baselines._start import given_centres, starting_sets


@dataclass(eq=False, repr=False)
class ExactLloyd(FederatedClusterer):
    """Lloyd's algorithm [1]_ in exact arithmetic: the labels that a secure protocol must reproduce.

    Rows are divided by ``unit_ = 2^(ceil(log2(bound)) - precision)``, or by the step, and rounded to the
    nearest integers (halves to even). From then on nothing is rounded: a centre is a rational vector mu_h /
    s_h (sum and size of a set of rows), distances ||mu_h - s_h x||^2 / s_h^2 are compared as rationals, and
    ties go to the lowest cluster. Rounds, relocation of empty clusters and the stop are those of
    ``KMeans(algorithm="lloyd", n_init=1, tol=0)`` of scikit-learn from the same start. But a run has at least
    two rounds, because it ends only on equal labels. And emptied clusters, in ascending index, get the
    farthest rows in descending distance, and of equally far rows the lowest first: scikit-learn promises no
    order of these.

    Parameters
    ----------
    n_clusters : int
    init : {"random", "separation", "k-means++"}, ndarray of shape (n_clusters, n_features), or list of int
        ndarray. "random": the means of a random partition. "separation": two rounds from there, then the
        means of the rows that are at most 1/3 as far from their own centre as from any other. "k-means++":
        scikit-learn's greedy one, on exact distances. An array: the first centres, which are not quantised.
        A list with one label array per party: the means of that partition, which must have no empty cluster.
        Rows of label -1 are in no cluster.
    n_init : int
        Number of starts, drawn one after the other. The first with the least score is kept. The score is the
        sum over clusters h of c_h sum ||mu_h - s_h x||^2 over the rows of label h. With L the bit length of
        the number of rows, b = 2 L + 16 + max(0, L - 14), and t_h the first 14 bits of s_h, c_h is
        floor(2^b / t_h^2) - round(2^(b + 1) / t_h^3) (s_h - t_h). Must be 1 for a given start. With weights,
        sums are weighted, s_h is the weight of a set, and the weight of all rows replaces their number.
    max_iter : int
    tol_moved : float
        At least 0, below 1. Also stop after a round in which fewer labels changed than this fraction of all
        rows, and assign once more. The fraction counts as its decimal number: 0.1 of 30 rows are exactly 3.
    precision : int
        Bits of a quantised row relative to `bound`, 1 to 52; without part in it where a step is given.
    step : float, optional
        A number above 0, the decimal one that is written, that no value is further than ``2^-50 bound`` from
        a multiple of; at least ``2^-44 bound``.
    bound : float, optional
        Public bound on a row's Euclidean norm, in the data's units. Default: the largest norm (float64).
    random_state : None or int

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features), float64
        The centres from which `labels_` were computed; nan for an empty cluster that could not be relocated.
        Like the inertia they are of the quantised rows, in data units, correctly rounded; inf beyond float64.
    labels_ : list of ndarray of shape (n_rows_of_the_party,), int64
    inertia_ : float
        Sum of squared distances of all rows to the `cluster_centers_` of their labels.
    history_ : list of float
        Inertia of each of the `n_iter_` rounds.
    n_iter_ : int
        Number of rounds, including the last one, which changed nothing.
    converged_ : bool
        False if more labels than `tol_moved` allows still changed in round `max_iter`. In this case, and if
        `tol_moved` ended the rounds, `labels_` come from one more assignment.
    bound_ : float
    unit_ : Fraction
        The length in the data that is 1 between quantised rows.

    References
    ----------
    .. [1] S. P. Lloyd, "Least squares quantization in PCM", IEEE Trans. Inf. Theory 28(2), 1982.

    Examples
    --------
    >>> import numpy as np
    >>> from plaintext_baselines import ExactLloyd
    >>> parties = [np.array([[0.0], [10.0]]), np.array([[1.0], [11.0]])]
    >>> model = ExactLloyd(2, init=[np.array([0, 1]), np.array([1, 1])], precision=4).fit(parties)
    >>> model.unit_, model.inertia_, [labels.tolist() for labels in model.labels_]
    (Fraction(1, 1), 1.0, [[0, 1], [0, 1]])
    """

    n_clusters: int
    _: KW_ONLY
    init: Any = "random"
    n_init: int = 1
    max_iter: int = 300
    tol_moved: float = 0.0
    precision: int = 32
    step: float | None = None
    bound: float | None = None
    random_state: int | None = None
    history_: list[float] = field(init=False)
    converged_: bool = field(init=False)
    bound_: float = field(init=False)
    unit_: Fraction = field(init=False)

    _arithmetic = ExactRows
    _weights: IntArray | None = None

    def fit(
        self, parties: Sequence[npt.ArrayLike], y: None = None, *, sample_weight: Sequence[Any] | None = None
    ) -> Self:
        """Cluster the rows of all parties, arrays of shape (n_rows_of_the_party, n_features). `y` is ignored.

        Parameters
        ----------
        sample_weight : sequence of integer array-like of shape (n_rows_of_the_party,), optional
            How many times each row counts in means, the inertia, scores and k-means++: at least 1 each, and
            below 2^30 in all. Relocation ignores weights, as in scikit-learn.

        Warns
        -----
        ConvergenceWarning
            If `max_iter` rounds were not enough.
        """
        self._weights = None
        if sample_weight is not None:
            self._weights = check_weights(sample_weight, check_parties(parties))
        return super().fit(parties)

    def _fit(self, data: list[FloatArray]) -> None:
        check_count("n_init", self.n_init)
        if self.n_init > 1 and not isinstance(self.init, str):
            raise ValueError(f"n_init must be 1 where the start is given, got {self.n_init}")
        check_count("max_iter", self.max_iter)
        check_number("tol_moved", self.tol_moved, 0, 1, open_high=True)
        check_count("precision", self.precision)
        if self.precision > MAX_PRECISION:
            raise ValueError(f"precision must be at most {MAX_PRECISION} bits, got {self.precision}")
        centres = given_centres(self.init, self.n_clusters, data[0].shape[1])
        bound = check_bound(self.bound, data)
        if self.step is None:
            unit = Fraction(2) ** -scale_exponent(bound, self.precision)
        else:
            unit = check_step(self.step, bound, data)
        weighted = {} if self._weights is None else {"weights": self._weights}
        arithmetic = self._arithmetic(quantise(data, unit), self.n_clusters, unit, **weighted)
        if centres is None:
            rounds = self._best(arithmetic, data)
        else:
            first = [Centre.of_floats(point, unit) for point in centres]
            rounds = self._rounds(arithmetic, first)

        self.bound_ = bound
        self.unit_ = unit
        self._centres: Centres = rounds.centres
        absent = [np.nan] * data[0].shape[1]
        self.cluster_centers_ = np.array([c.to_floats(unit) if c else absent for c in rounds.centres])
        self.labels_ = split(rounds.assignment.labels, data)
        self.inertia_ = rounds.inertia
        self.history_ = rounds.history
        self.n_iter_ = len(rounds.history)
        self.converged_ = rounds.converged
        if not rounds.converged:
            warnings.warn(
                f"labels still change after max_iter={self.max_iter} rounds", ConvergenceWarning, stacklevel=4
            )

    def _nearest(self, data: Sequence[FloatArray]) -> list[IntArray]:
        """Label every row, quantised as in ``fit``, with its nearest centre, by exact comparison."""
        labels = []
        for index, rows in enumerate(data):
            pool = quantise([rows], self.unit_)
            if not np.isfinite(pool).all():
                raise ValueError(f"party {index} has an entry beyond float64 over the unit {self.unit_}")
            if len(rows):
                labels.append(
                    self._arithmetic(pool, self.n_clusters, self.unit_).assign(self._centres).labels
                )
            else:
                labels.append(np.empty(0, dtype=np.int64))
        return labels

    def _best(self, arithmetic: ExactRows, data: Sequence[FloatArray]) -> Rounds:
        rng = np.random.default_rng(self.random_state)
        found = []
        for _ in range(self.n_init):
            sets = self._starting_sets(arithmetic, data, rng)
            found.append(self._rounds(arithmetic, arithmetic.means(sets), sets))
        if self.n_init == 1:
            return found[0]
        return min(found, key=lambda one: arithmetic.score(one.centres, one.assignment))

    def _rounds(self, arithmetic: ExactRows, first: Centres, sets: IntArray | None = None) -> Rounds:
        few = Fraction(str(float(self.tol_moved)))
        return run_rounds(arithmetic, first, self.max_iter, sets, tol_moved=few)

    def _starting_sets(
        self, arithmetic: ExactRows, data: Sequence[FloatArray], rng: np.random.Generator
    ) -> IntArray:
        if not (isinstance(self.init, str) and self.init == "k-means++"):
            return starting_sets(arithmetic, self.init, data, rng)
        n_rows = sum(len(rows) for rows in data)
        rows = plus_plus_rows(arithmetic.distances_from, n_rows, self.n_clusters, rng, self._weights)
        sets = np.full(n_rows, -1, dtype=np.int64)
        sets[rows[::-1]] = np.arange(self.n_clusters)[::-1]  # a row chosen again stays in its first set
        return sets
