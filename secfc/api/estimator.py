"""`SecureKMeans`: `secfc.run` with the interface of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from secfc.api.arguments import constructed, written_out
from secfc.api.described import documented
from secfc.api.options import Execution, Ids, Revealing, RunOptions, Starting, Threshold
from secfc.api.predict import predict
from secfc.api.result import Result
from secfc.api.run import run
from secfc.api.scikit import (
    BaseEstimator,
    ClusterMixin,
    NotFittedError,
    check_is_fitted,
    pairwise_distances_argmin,
)
from secfc.errors import DataError, ParameterError
from secfc.errors.codes import Code
from secfc.field.array_types import Floats, Labels
from secfc.protocol.job.options import Agreed, shared
from secfc.tables.parties import as_parties


@constructed
@dataclass(frozen=True, eq=False, repr=False)
class _Parameters(Execution, Revealing, Starting, Threshold):
    n_clusters: int = 8
    _: KW_ONLY
    random_state: int | np.random.RandomState | None = None
    warm_start: bool = False


@documented
class SecureKMeans(ClusterMixin, BaseEstimator, _Parameters):
    """Exact k-means over the rows of several parties, which are not pooled (SecFC).

    It needs the extra "sklearn". Differences from ``sklearn.cluster.KMeans``: `fit` takes one array per
    party and `labels_` has one array per party. ``cluster_centers_`` and ``predict`` exist only if all
    parties agreed to reveal the centres. Without centres all parties predict together (`predict_parties`).

    Parameters
    ----------
    n_clusters : int
    random_state : None, int or numpy.random.RandomState
        Seed of the start. Without it nobody can repeat the draws of k-means++. Masks never depend on it.
    warm_start : bool
        Start from ``cluster_centers_`` of the previous fit, if there was one, instead of `init` and `n_init`.
        They must have been revealed (`reveal`). Columns with names are matched by name.
    **options
        As for `secfc.run`, with the same defaults.

    Notes
    -----
    `ids` belong to the data, so `fit` takes them. Their key is a secret, and parameters are shown in the
    model's repr.

    Attributes
    ----------
    labels_ : list of ndarray of shape (m_j,), int32
        One array per party; a pandas Series where the party was a DataFrame.
    inertia_ : float
        Sum of squared distances of the rows to their centres, in the data's units squared; with disclosure
        "labels" only when it was opened (`reveal`).
    n_iter_ : int
    converged_ : bool
    cluster_centers_ : ndarray of shape (n_clusters, d), float64
        Only if they were revealed (`reveal`), with noise if its epsilon was given; NaN for a cluster without
        rows. Revealed spreads are in ``result_.cluster_std``.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,), object
        When every party has columns whose names are strings.
    result_ : Result

    Examples
    --------
    >>> import numpy as np
    >>> from secfc import SecureKMeans
    >>> parties = [np.array([[0.0], [0.1]]), np.array([[9.0], [9.1]]), np.array([[0.2]])]
    >>> model = SecureKMeans(2, t=1, ell=1, init=[[0, 0], [0, 1], [1]]).fit(parties)
    >>> [labels.tolist() for labels in model.labels_]
    [[0, 0], [1, 1], [0]]
    >>> SecureKMeans(2, t=1, ell=1, random_state=0)
    SecureKMeans(ell=1, n_clusters=2, random_state=0, t=1)
    """

    __setattr__ = object.__setattr__  # scikit-learn sets parameters, and `fit` sets its results
    __delattr__ = object.__delattr__

    labels_: list[Any]
    n_iter_: int
    converged_: bool
    n_features_in_: int
    feature_names_in_: Any
    result_: Result

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @written_out()
    def fit(
        self,
        parties: Sequence[ArrayLike],
        y: None = None,
        *,
        sample_weight: Sequence[Any] | None = None,
        ids: Ids = None,
    ) -> Self:
        """Cluster the rows of all parties: an array, DataFrame or sparse matrix each. `y` is ignored.

        `sample_weight` and `ids` are as for `secfc.run`, and so are errors; ParameterError also if
        `warm_start` finds no centres.
        """
        members = as_parties(parties)
        columns = next((member.columns for member in members if member.columns), ())
        given = shared(self, RunOptions) | shared(self, Threshold)
        if not isinstance(self.warm_start, bool):
            raise ParameterError(f"warm_start: a bool is needed, {type(self.warm_start).__name__} was given")
        if self.warm_start and hasattr(self, "result_"):
            given |= {"init": self._centres_of(columns), "n_init": 1}
        seed = _seed(self.random_state)
        given |= {"sample_weight": sample_weight, "ids": ids}
        result = run(parties, self.n_clusters, seed=seed, **given)
        self.n_features_in_ = members[0].rows.shape[1]
        self._set_names(parties, members[0].columns)
        self.result_ = result
        self.labels_ = result.labels
        self.n_iter_ = result.n_iter
        self.converged_ = result.converged
        self._counts = [member.rows.shape[0] for member in members]
        self._columns, self._weights = columns, sample_weight
        return self

    @property
    def inertia_(self) -> float:
        """Sum of squared distances of rows to their centres; AttributeError if it was not opened."""
        how = "with disclosure='labels' by reveal=secfc.Reveal(inertia=True)"
        return float(self._opened("inertia_", "inertia", how))

    @property
    def cluster_centers_(self) -> Floats:
        """Centres of the final clusters, shape (n_clusters, d); nan for a cluster without rows.

        AttributeError before a fit, or if they were not opened.
        """
        known: Floats = self._opened(
            "cluster_centers_", "cluster_centers", "by reveal=secfc.Reveal(centres=...)"
        )
        return known

    def predict(self, X: ArrayLike) -> Labels:
        """The nearest centre of each row of an array of shape (m, d), as an ndarray of shape (m,), int32.

        It is computed locally from the centres in float64; no other party takes part. Without centres use
        `predict_parties`. AttributeError before a fit (NotFittedError), or if the centres were not opened.
        """
        how = "by reveal=secfc.Reveal(centres=...); predict_parties needs none"
        centres: Floats = self._opened("predict", "cluster_centers", how)
        (member,) = as_parties([X], ["X"], columns=tuple(getattr(self, "feature_names_in_", ())))
        if member.rows.shape[1] != self.n_features_in_:
            raise DataError(
                f"X: {member.rows.shape[1]} columns were given, the fit had {self.n_features_in_}"
            )
        filled = np.flatnonzero(~np.isnan(centres[:, 0]))
        nearest = pairwise_distances_argmin(member.rows, centres[filled])
        labels: Labels = filled[nearest].astype(np.int32)
        return labels

    def _opened(self, name: str, of_result: str, how: str) -> Any:
        """A value that is present only if all parties consented; else AttributeError says how to open it."""
        if not hasattr(self, "result_"):
            raise NotFittedError(f"{type(self).__name__} has no {name} before fit")
        found = getattr(self.result_, of_result)
        if found is None:
            what = of_result.replace("_", " ")
            raise AttributeError(f"{name}: {what} not opened; every party must consent: {how}")
        return found

    def predict_parties(self, parties: Sequence[ArrayLike], new_rows: Sequence[ArrayLike]) -> list[Any]:
        """The nearest centre of new rows of all parties, without revealing the centres (`secfc.predict`).

        This is a separate run of the protocol with this model's parameters. All parties take part, and each
        must consent (``Limits(predict=True)``). `parties` are those of the fit, whose rows the model does
        not keep; DataError if their shapes are others. The result is as `labels_`, for `new_rows`.
        ParameterError after a fit with IDs, because a prediction reveals how many rows each party holds.
        """
        check_is_fitted(self)
        self._check_parties(parties)
        if self.result_.ids is not None:
            raise ParameterError(
                "ids: no prediction is possible after a fit with ids, because a prediction discloses "
                "how many rows each party has"
            )
        given = shared(self, Execution) | shared(self, Agreed) | shared(self, Threshold)
        given["sample_weight"] = self._weights
        return predict(parties, self.labels_, new_rows, self.n_clusters, **given).labels

    def score(self, parties: Sequence[ArrayLike], y: None = None) -> float:
        """The negative of `inertia_`, greater is better. `y` is ignored.

        Only the rows of the fit have a score, because the centres may be unknown: DataError for other
        shapes.
        """
        check_is_fitted(self)
        self._check_parties(parties)
        return -self.inertia_

    def _check_parties(self, parties: Sequence[ArrayLike]) -> None:
        """Raise DataError unless the shapes equal those of the fit."""
        members = as_parties(parties)
        given = [member.rows.shape[0] for member in members]
        if given != self._counts or members[0].rows.shape[1] != self.n_features_in_:
            raise DataError(
                f"parties: rows {given} of {members[0].rows.shape[1]} columns, the fit had rows "
                f"{self._counts} of {self.n_features_in_} columns; only the rows of the fit are known"
            )

    def _centres_of(self, columns: Sequence[str]) -> Floats:
        """The centres of the previous fit, with columns in this order if both fits have names."""
        centres = self.result_.cluster_centers
        if centres is None:
            raise ParameterError(
                "warm_start: the centres of the previous fit were not opened; fit with "
                "reveal=secfc.Reveal(centres=...), to which every party must consent"
            )
        if not columns or not self._columns:
            return centres
        if set(self._columns) != set(columns):
            raise DataError("warm_start: the previous fit had other columns", code=Code.MISSING_COLUMN)
        return centres[:, [self._columns.index(name) for name in columns]]

    def _set_names(self, parties: Sequence[Any], columns: Sequence[str]) -> None:
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        named = [getattr(party, "columns", [None]) for party in parties]
        if all(isinstance(name, str) for names in named for name in names):
            self.feature_names_in_ = np.array(columns, dtype=object)


def _seed(random_state: Any) -> int | None:
    """A seed for `secfc.run`; a RandomState gives its next integer."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if random_state is None or isinstance(random_state, int):
        return random_state
    if isinstance(random_state, np.integer):
        return int(random_state)
    raise ParameterError(
        f"random_state: None, an integer or a numpy.random.RandomState is needed, "
        f"{type(random_state).__name__} was given"
    )
