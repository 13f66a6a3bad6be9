"""k-FED: one-shot federated clustering by Dennis, Li and Smith (2021)."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import scipy.linalg
from scipy.spatial.distance import cdist
from sklearn.cluster import kmeans_plusplus

from plaintext_baselines._arrays import FloatArray, IntArray
from plaintext_baselines._base import check_choice, check_count
from plaintext_baselines._floats import assign, set_sizes, set_sums
from plaintext_baselines._frame import Frame
from plaintext_baselines._kmeans import Clustering, draw_seed, kmeans
from plaintext_baselines._method import FederatedMethod, Fit, check_number, total_inertia
from plaintext_baselines._start import check_init


@dataclass(eq=False, repr=False)
class KFED(FederatedMethod):
    """k-FED [1]_: every party sends the centres of its own k'-means once, and the server clusters them.

    *Party* (Algorithm 1, after Awasthi and Sheffet [2]_): the rows are projected on their first k' right
    singular vectors (uncentred). k-means++ chooses nu_1, ..., nu_k' among the projections. The group S_r has
    the rows that are at most 1/3 as far from nu_r as from any other nu_s. Lloyd's algorithm in the full space
    starts from the means of the groups. A party with at most k' rows sends its rows.

    *Server* (Algorithm 2): the seeds are the first party's centres. Then, up to k, the received centre
    farthest from those chosen is added. Lloyd's algorithm, unweighted, starts there on all received centres.

    Some cases in which the published code fails work here. With fewer columns than k', all directions are
    kept. An empty group S_r is replaced by all rows nearest to nu_r, or by nu_r itself if it is a duplicate.
    Centres without rows are not sent. With fewer received centres than `n_clusters`, some centres are
    repeated, and a repeated centre labels no row.

    Parameters
    ----------
    local_clusters : None, int or sequence of int
        k', for all parties or one per party, 1 to `n_clusters`. None: `n_clusters`. The paper assumes that
        k' <= sqrt(k) is known.
    variant : {"paper", "dwf"}
        "dwf": the simpler k-FED that [3]_ uses for comparison and as a start: k-means with k-means++ at the
        parties and at the server.
    init : {"auto", "farthest-first", "k-means++", "random"}, ndarray, or list of int ndarray
        Start of the server's k-means. "auto": the variant's own, "farthest-first" or "k-means++". "random":
        the means of a random partition of all rows. An array of shape (n_clusters, n_features): centres. A
        list with one label array per party: the means of that partition.
    n_init : int
        Runs of every k-means++ start. The best one is kept. [3]_ has 1 in experiments and 5 in starts.
    n_clients : int, optional
        Number of parties that take part, drawn at random [3]_. None: all.
    max_iter : int
        Rounds of every k-means.
    tol : float
        Relative tolerance of every k-means, as in ``sklearn.cluster.KMeans``; 0 runs until nothing changes.
    assignment : {"nearest", "induced"}
        `labels_` are the nearest of `cluster_centers_`, as in ``predict``, or the cluster that the server
        gave to the row's local centre (the clustering "induced" by Definition 3.3 of [1]_). For parties that
        took no part they are always the nearest.

    Attributes
    ----------
    cluster_centers_, labels_, inertia_
        As for :class:`ExactLloyd`.
    n_iter_ : int
        1, the number of rounds of communication.
    history_ : list of float
        The inertia if every row has the label of its nearest centre.

    References
    ----------
    .. [1] D. K. Dennis, T. Li and V. Smith, "Heterogeneity for the win: one-shot federated clustering", ICML
       2021.
    .. [2] P. Awasthi and O. Sheffet, "Improved spectral-norm bounds for clustering", APPROX 2012.
    .. [3] P. Holzer, T. Jacob and S. Kavane, "Dynamically weighted federated k-means", 2023, section 3.1.
    """

    n_clusters: int
    _: KW_ONLY
    local_clusters: int | Sequence[int] | None = None
    variant: Literal["paper", "dwf"] = "paper"
    init: Any = "auto"
    n_init: int = 1
    n_clients: int | None = None
    max_iter: int = 300
    tol: float = 0.0
    assignment: Literal["nearest", "induced"] = "nearest"
    random_state: int | None = None

    def _check_parameters(self, data: Sequence[FloatArray]) -> None:
        self._local_clusters(data)
        check_choice("variant", self.variant, ("paper", "dwf"))
        check_init(self.init, ("auto", "farthest-first", "k-means++", "random"))
        self._check_counts("n_init", "max_iter", optional=("n_clients",))
        check_number("tol", self.tol, 0)
        check_choice("assignment", self.assignment, ("nearest", "induced"))

    def _local_clusters(self, data: Sequence[FloatArray]) -> list[int]:
        if self.local_clusters is None:
            return [self.n_clusters] * len(data)
        if isinstance(self.local_clusters, Sequence | np.ndarray):
            counts = list(self.local_clusters)
        else:
            counts = [self.local_clusters] * len(data)
        if len(counts) != len(data):
            raise ValueError(f"local_clusters has {len(counts)} entries for {len(data)} parties")
        for index, count in enumerate(counts):
            check_count(f"local_clusters of party {index}", count)
            if count > self.n_clusters:
                raise ValueError(
                    f"local_clusters of party {index} is {count}, more than n_clusters={self.n_clusters}"
                )
        return counts

    def _run(self, parties: list[FloatArray], frame: Frame, rng: np.random.Generator) -> Fit:
        start = self._given_start(parties, frame, rng)
        counts = self._local_clusters(parties)
        run = partial(kmeans, n_init=self.n_init, max_iter=self.max_iter, tol=self.tol)
        sent: dict[int, Clustering] = {}
        for index in participants(parties, self.n_clients, rng):
            rows, count, seed = parties[index], counts[index], draw_seed(rng)
            if len(rows) <= count:
                sent[index] = Clustering(rows, np.arange(len(rows)))
            elif self.variant == "paper":
                local = run(rows, count, seed=seed, init=separated_start(rows, count, frame.mean, seed))
                sent[index] = without_empty(local)
            else:
                sent[index] = without_empty(run(rows, count, seed=seed))
        received = np.concatenate([local.centres for local in sent.values()])

        farthest = self.variant == "paper" if self._init_is("auto") else self._init_is("farthest-first")
        if start is None and farthest:
            n_first = len(next(iter(sent.values())).centres)
            start = farthest_first(received, n_first, self.n_clusters)
        init = "k-means++" if start is None else start
        server = run(received, self.n_clusters, seed=draw_seed(rng), init=init)
        labels = induced_labels(parties, sent, server) if self.assignment == "induced" else None
        return Fit(server.centres, [total_inertia(parties, server.centres)], labels)

    def _init_is(self, name: str) -> bool:
        return isinstance(self.init, str) and self.init == name


def plain_one_shot(
    parties: Sequence[FloatArray], n_clusters: int, n_init: int, rng: np.random.Generator
) -> FloatArray:
    """Centres of the "dwf" variant with all parties, with scikit-learn's tolerance: the start of DWF."""
    sent = []
    for rows in parties:
        if len(rows) > n_clusters:
            local = kmeans(rows, n_clusters, seed=draw_seed(rng), n_init=n_init, tol=1e-4)
            sent.append(without_empty(local).centres)
        else:
            sent.append(rows)
    received = np.concatenate(sent)
    return kmeans(received, n_clusters, seed=draw_seed(rng), n_init=n_init, tol=1e-4).centres


def participants(parties: Sequence[FloatArray], n_clients: int | None, rng: np.random.Generator) -> list[int]:
    """Indices, ascending, of `n_clients` random parties with rows, or of all parties with rows."""
    able = [index for index, rows in enumerate(parties) if len(rows)]
    if n_clients is None or n_clients >= len(able):
        return able
    return sorted(int(index) for index in rng.choice(able, size=n_clients, replace=False))


def separated_start(rows: FloatArray, n_clusters: int, origin: FloatArray, seed: int) -> FloatArray:
    """Start of a party's Lloyd by projection, k-means++ and the 1/3 rule: Algorithm 1, steps 1 to 3.

    `origin` is added to the rows first, because the projection depends on the position of 0.
    """
    uncentred = rows + origin
    directions = top_directions(uncentred, n_clusters)
    projected = uncentred @ directions
    # One trial per centre is plain D^2 sampling, as in the published code.
    nu, _ = kmeans_plusplus(projected, n_clusters, random_state=seed, n_local_trials=1)
    means = core_means(projected, nu)
    return np.asarray(means @ directions.T - origin)


def top_directions(rows: FloatArray, rank: int) -> FloatArray:
    """The first `rank` right singular vectors (or all, if there are fewer) as columns."""
    n_rows, n_features = rows.shape
    if n_rows < n_features:
        directions: FloatArray = np.linalg.svd(rows, full_matrices=False)[2][:rank].T
    else:
        first = max(0, n_features - rank)
        directions = scipy.linalg.eigh(rows.T @ rows, subset_by_index=[first, n_features - 1])[1][:, ::-1]
    return directions


def core_means(points: FloatArray, nu: FloatArray) -> FloatArray:
    """Means of the groups S_r = {i : ||x_i - nu_r|| <= 1/3 ||x_i - nu_s|| for every s != r}.

    An empty S_r is replaced by the points nearest to nu_r. If there are none, nu_r is returned.
    """
    distances = cdist(points, nu, "sqeuclidean")
    own = distances.argmin(axis=1)
    each = np.arange(len(points))
    nearest = distances[each, own]
    distances[each, own] = np.inf
    core = 9 * nearest <= distances.min(axis=1)  # 9 is the square of 3, the ratio of distances
    has_core = set_sizes(own[core], len(nu)) > 0
    groups = np.where(core | ~has_core[own], own, -1)
    sizes = set_sizes(groups, len(nu))
    means = set_sums(points, groups, len(nu)) / np.maximum(sizes, 1)[:, None]
    return np.where(sizes[:, None] > 0, means, nu)


def without_empty(clustering: Clustering) -> Clustering:
    """The clustering without the centres that have no rows."""
    used, labels = np.unique(clustering.labels, return_inverse=True)
    return Clustering(clustering.centres[used], labels)


def farthest_first(received: FloatArray, n_first: int, n_clusters: int) -> FloatArray:
    """The server's seeds: the first party's `n_first` centres, then the farthest from those chosen."""
    chosen = list(range(n_first))
    distances = cdist(received, received[:n_first], "sqeuclidean").min(axis=1)
    while len(chosen) < n_clusters:
        chosen.append(int(distances.argmax()))
        distances = np.minimum(distances, cdist(received, received[chosen[-1:]], "sqeuclidean")[:, 0])
    return received[chosen]


def induced_labels(
    parties: Sequence[FloatArray], sent: dict[int, Clustering], server: Clustering
) -> list[IntArray]:
    """Each row's cluster from that of its local centre; the nearest centre for parties that sent none."""
    of_party = np.split(server.labels, np.cumsum([len(local.centres) for local in sent.values()])[:-1])
    labels = [assign(rows, server.centres).labels for rows in parties]
    for (index, local), of_centre in zip(sent.items(), of_party, strict=True):
        labels[index] = of_centre[local.labels]
    return labels
