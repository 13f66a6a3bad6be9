"""`SecureKMeans`: `secfc.run` in scikit-learn's manners."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from secfc._run import Driver, run
from secfc.errors import DataError, ParameterError
from secfc.params import Disclosure, Limits
from secfc.parties import as_parties
from secfc.result import Result


class SecureKMeans(ClusterMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no stubs
    """Exact k-means over several parties' rows that are not pooled (SecFC).

    It differs from ``sklearn.cluster.KMeans`` where the data does: `fit` takes one array per party, `labels_`
    has one array per party, and there are neither ``cluster_centers_`` nor ``predict``, since nobody learns
    the centres.

    Parameters
    ----------
    n_clusters : int
    t : int
        Parties that may collude and still learn nothing about other parties' rows.
    ell : int
        Segments of a row; at least 2(ell + t) - 1 parties are needed.
    init, n_init, max_iter, precision, bound, disclosure, limits, storage, driver
        As for `secfc.run`.
    random_state : None, int or numpy.random.RandomState
        Of public choices (the start). Masks never depend on it.

    Attributes
    ----------
    labels_ : list of ndarray of shape (m_j,), int32
        One array a party; a pandas Series where the party was a DataFrame.
    inertia_ : float
        Sum of squared distances of the rows to their centres, in the data's units squared.
    n_iter_ : int
    converged_ : bool
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

    labels_: list[Any]
    inertia_: float
    n_iter_: int
    converged_: bool
    n_features_in_: int
    feature_names_in_: Any
    result_: Result

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        t: int = 4,
        ell: int = 2,
        init: str | Sequence[Any] = "random",
        n_init: int = 1,
        max_iter: int = 300,
        precision: int = 32,
        bound: float | None = None,
        disclosure: Disclosure = "coded",
        limits: Limits | None = None,
        storage: str | os.PathLike[str] | None = None,
        driver: Driver = "in-process",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.t = t
        self.ell = ell
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.precision = precision
        self.bound = bound
        self.disclosure = disclosure
        self.limits = limits
        self.storage = storage
        self.driver = driver
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, parties: Sequence[ArrayLike], y: None = None) -> Self:
        """Cluster the rows of all parties.

        Parameters
        ----------
        parties : sequence of array of shape (m_j, d), DataFrame or sparse matrix
            One per party.
        y : ignored

        Raises
        ------
        SecFCError
            As `secfc.run`.
        """
        members = as_parties(parties)
        result = run(
            parties,
            self.n_clusters,
            self.t,
            self.ell,
            init=self.init,
            n_init=self.n_init,
            max_iter=self.max_iter,
            precision=self.precision,
            bound=self.bound,
            disclosure=self.disclosure,
            limits=self.limits,
            storage=self.storage,
            driver=self.driver,
            seed=_seed(self.random_state),
        )
        self.n_features_in_ = members[0].rows.shape[1]
        self._set_names(parties)
        self.result_ = result
        self.labels_ = result.labels
        self.inertia_ = result.inertia
        self.n_iter_ = result.n_iter
        self.converged_ = result.converged
        self._counts = [member.rows.shape[0] for member in members]
        return self

    def score(self, parties: Sequence[ArrayLike], y: None = None) -> float:
        """The negative of `inertia_`, greater is better.

        Rows outside the fit cannot be scored, since nobody knows the centres.

        Parameters
        ----------
        parties : sequence
            The parties of the fit; their shapes are checked.
        y : ignored

        Raises
        ------
        DataError
            When the parties have other shapes than those of the fit.
        """
        check_is_fitted(self)
        members = as_parties(parties)
        given = [member.rows.shape[0] for member in members]
        if given != self._counts or members[0].rows.shape[1] != self.n_features_in_:
            raise DataError(
                f"parties: rows {given} of {members[0].rows.shape[1]} columns, the fit had rows "
                f"{self._counts} of {self.n_features_in_} columns; only the rows of the fit have a score"
            )
        return -self.inertia_

    def _set_names(self, parties: Sequence[Any]) -> None:
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        columns = getattr(parties[0], "columns", None)
        if columns is not None and all(isinstance(name, str) for name in columns):
            self.feature_names_in_ = np.array(list(columns), dtype=object)


def _seed(random_state: Any) -> int | None:
    """A seed for `secfc.run`; a generator gives the next of its integers."""
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
