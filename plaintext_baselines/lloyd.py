"""Lloyd's k-means on the pooled rows in float64."""

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from plaintext_baselines._arrays import FloatArray
from plaintext_baselines._base import check_choice, check_count
from plaintext_baselines._floats import Floats, KeepingFloats
from plaintext_baselines._pooled import PooledClusterer
from plaintext_baselines._rounds import run_rounds
from plaintext_baselines._start import given_centres, starting_sets


@dataclass(eq=False, repr=False)
class Lloyd(PooledClusterer):
    """Lloyd's algorithm [1]_ on the concatenation of all parties' rows: k-means without any federation.

    With ``tol=0`` the rounds, their order of tests and the relocation of empty clusters are those of
    scikit-learn's ``KMeans(algorithm="lloyd", n_init=1, tol=0)`` from the same start. One difference: a run
    has at least two rounds, because it ends only on equal labels and not on centres that did not move.

    Parameters
    ----------
    n_clusters : int
    init : {"random", "separation"}, ndarray of shape (n_clusters, n_features), or list of int ndarray
        "random": the means of a random partition. "separation": two rounds from there, then the means of the
        rows that are at most 1/3 as far from their own centre as from any other. An array: the first centres.
        A list with one label array per party: the means of that partition, which must have no empty cluster.
        Rows of label -1 are in no cluster.
    max_iter : int
    tol : float
        Also stop when the squared movement of all centres is at most `tol` times the columns' mean variance.
    empty : {"relocate", "keep"}
        A cluster without rows moves to the row farthest from its own centre, or keeps its old centre.
    random_state : None or int
        Seed of the start, for ``numpy.random.default_rng``.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features), float64
        The centres from which `labels_` were computed; nan for an empty cluster that could not be relocated.
    labels_ : list of ndarray of shape (n_rows_of_the_party,), int64
    inertia_ : float
        Sum of squared distances of all rows to the `cluster_centers_` of their labels.
    history_ : list of float
        Inertia of each of the `n_iter_` rounds.
    n_iter_ : int
        Number of rounds, including the last one, which changed nothing.
    converged_ : bool
        False if the labels still changed in round `max_iter`. Then `labels_` come from one more assignment.

    References
    ----------
    .. [1] S. P. Lloyd, "Least squares quantization in PCM", IEEE Trans. Inf. Theory 28(2), 1982.

    Examples
    --------
    >>> import numpy as np
    >>> from plaintext_baselines import Lloyd
    >>> parties = [np.array([[0.0], [10.0]]), np.array([[1.0], [11.0]])]
    >>> model = Lloyd(2, init=np.array([[0.0], [1.0]])).fit(parties)
    >>> model.cluster_centers_.ravel().tolist(), [labels.tolist() for labels in model.labels_]
    ([0.5, 10.5], [[0, 1], [0, 1]])
    """

    n_clusters: int
    _: KW_ONLY
    init: Any = "random"
    max_iter: int = 300
    tol: float = 0.0
    empty: Literal["relocate", "keep"] = "relocate"
    random_state: int | None = None

    def _fit(self, data: list[FloatArray]) -> None:
        check_count("max_iter", self.max_iter)
        check_choice("empty", self.empty, ("relocate", "keep"))
        if not self.tol >= 0:
            raise ValueError(f"tol must be at least 0, got {self.tol}")
        centres = given_centres(self.init, self.n_clusters, data[0].shape[1])
        pool = np.concatenate(data)
        arithmetic = (Floats if self.empty == "relocate" else KeepingFloats)(pool, self.n_clusters)
        if centres is None:
            sets = starting_sets(arithmetic, self.init, data, self.random_state)
            first = arithmetic.means(sets)
        else:
            sets, first = None, arithmetic.frame.enter(centres)
        settled = partial(arithmetic.settled, self.tol) if self.tol > 0 else None
        rounds = run_rounds(arithmetic, first, self.max_iter, sets, settled)

        self.cluster_centers_ = arithmetic.frame.leave(rounds.centres)
        self._keep(rounds, data)
