"""The common base of all estimators: they take parties and return one label array per party."""

import abc
import numbers
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from plaintext_baselines._arrays import FloatArray, IntArray
from plaintext_baselines._floats import nearest, squared_distances


class FederatedClusterer(ClusterMixin, BaseEstimator, abc.ABC):  # type: ignore[misc]  # scikit-learn has no stubs
    """Base of the estimators: validation, pooling, and prediction by the nearest centre.

    A subclass is a dataclass of its parameters, which are never changed. Its ``_fit`` sets the attributes
    below except `n_features_in_`. :class:`ExactLloyd` describes them.
    """

    n_clusters: int
    cluster_centers_: FloatArray
    labels_: list[IntArray]
    inertia_: float
    n_iter_: int
    n_features_in_: int

    def fit(self, parties: Sequence[npt.ArrayLike], y: None = None) -> Self:
        """Cluster the rows of all parties, arrays of shape (n_rows_of_the_party, n_features). `y` is ignored.

        TypeError or ValueError, with its name and the party, for an invalid argument.
        """
        data = self._check_training_parties(parties)
        self._fit(data)
        self.n_features_in_ = data[0].shape[1]
        return self

    @abc.abstractmethod
    def _fit(self, data: list[FloatArray]) -> None:
        """Check the parameters, cluster the checked rows and set the other attributes."""

    def predict(self, X: Any) -> IntArray | list[IntArray]:
        """The nearest centre of each row of an array, or of a sequence of such; ties go to the lowest."""
        labels = self._nearest(self._check_fitted(X))
        return labels[0] if _is_array(X) else labels

    def score(self, X: Any, y: None = None) -> float:
        """The negative sum of squared distances of all rows to their nearest centres; greater is better."""
        data = self._check_fitted(X)
        each = zip(data, self._nearest(data), strict=True)
        return -float(sum(squared_distances(rows, self.cluster_centers_, own).sum() for rows, own in each))

    def _nearest(self, data: Sequence[FloatArray]) -> list[IntArray]:
        return [nearest(rows, self.cluster_centers_) for rows in data]

    def _check_fitted(self, X: Any) -> list[FloatArray]:
        """Validate rows for a fitted estimator. A single array is one party."""
        check_is_fitted(self)
        data = check_parties([X] if _is_array(X) else X)
        if data[0].shape[1] != self.n_features_in_:
            raise ValueError(f"parties have {data[0].shape[1]} columns, the fit had {self.n_features_in_}")
        return data

    def _check_training_parties(self, parties: Sequence[npt.ArrayLike]) -> list[FloatArray]:
        check_count("n_clusters", self.n_clusters)
        data = check_parties(parties)
        n_rows = sum(len(rows) for rows in data)
        if self.n_clusters > n_rows:
            raise ValueError(f"n_clusters={self.n_clusters} exceeds the parties' {n_rows} rows")
        return data


def _is_array(X: Any) -> bool:
    """Whether `X` is one table, not several parties."""
    return len(getattr(X, "shape", ())) == 2


def check_parties(parties: Sequence[npt.ArrayLike]) -> list[FloatArray]:
    """The parties' rows as C-contiguous float64. A party without rows has shape (0, n_features)."""
    data: list[FloatArray] = []
    for index, party in enumerate(parties):
        try:
            raw = np.asarray(party)
        except ValueError as error:  # rows of unequal length
            raise ValueError(f"party {index} has rows of unequal length") from error
        if raw.dtype.kind not in "buif":
            raise TypeError(f"party {index} must hold real numbers, has dtype {raw.dtype}")
        if raw.ndim != 2:
            raise ValueError(f"party {index} must be a 2-D array of rows, has {raw.ndim} dimension(s)")
        with np.errstate(over="ignore"):  # a long double beyond float64 becomes inf and is refused below
            rows = np.ascontiguousarray(raw, dtype=np.float64)
        if data and rows.shape[1] != data[0].shape[1]:
            raise ValueError(f"party {index} has {rows.shape[1]} columns, party 0 has {data[0].shape[1]}")
        if rows.shape[1] == 0:
            raise ValueError(f"party {index} has no columns")
        finite = np.isfinite(rows).all(axis=0)
        if not finite.all():
            raise ValueError(f"party {index} has nan or infinity in column {int(np.argmin(finite))}")
        data.append(rows)
    if not data:
        raise ValueError("parties is empty, at least one party is needed")
    return data


def check_count(name: str, value: Any) -> None:
    """Raise unless `value` is an integer >= 1."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}")


def check_integers(
    given: Sequence[Any], data: Sequence[FloatArray], *, name: str, arrays: str, numbers: str
) -> list[IntArray]:
    """An integer array of shape (rows,) for each party. `arrays` and `numbers` are their names in errors."""
    if len(given) != len(data):
        raise ValueError(f"{name} has {len(given)} {arrays} for {len(data)} parties")
    found = []
    for index, (one, rows) in enumerate(zip(given, data, strict=True)):
        array = np.asarray(one)
        if array.shape != (len(rows),):
            raise ValueError(f"{name} of party {index} has shape {array.shape}, expected ({len(rows)},)")
        if len(rows) and array.dtype.kind not in "ui":
            raise TypeError(f"{name} of party {index} must hold {numbers}, has dtype {array.dtype}")
        found.append(array)
    return found


def check_weights(given: Sequence[Any], data: Sequence[FloatArray]) -> IntArray:
    """Pool one integer array of weights per party. Raise unless they fit and are at least 1."""
    weights = check_integers(given, data, name="sample_weight", arrays="arrays", numbers="whole numbers")
    for index, array in enumerate(weights):
        if (array < 1).any():
            raise ValueError(f"sample_weight of party {index} must be at least 1")
    pooled = np.concatenate([array.astype(np.int64) for array in weights])
    if pooled.sum() >= 2**30:
        raise ValueError(f"sample_weight must be below 2^30 in all, got {pooled.sum()}")
    return pooled


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raise unless `value` is one of the names in `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def split(pooled: IntArray, data: Sequence[FloatArray]) -> list[IntArray]:
    """Split an array over the pool into one array per party."""
    return list(np.split(pooled, np.cumsum([len(rows) for rows in data])[:-1]))
