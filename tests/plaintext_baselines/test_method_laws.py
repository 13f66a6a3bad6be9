"""Laws of every federated method: shapes, seeds, reordering and relabelling, and degenerate parties."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from support.lloyd import lists
from support.sweeps import tries

from plaintext_baselines import DWF, EWF, FFCM, FKM, KFED, ExactLloyd, ParentChildKMeans
from plaintext_baselines._floats import nearest

METHODS = {
    "KFED": KFED,
    "KFED-2": lambda k, **p: KFED(k, local_clusters=min(2, k), **p),
    "KFED-dwf": lambda k, **p: KFED(k, variant="dwf", **p),
    "FKM": partial(FKM, max_iter=8, n_init=3),
    "FKM-1": partial(FKM, max_iter=5, min_cluster_size=1, initial_iter=1, local_iter=3),
    "FFCM-1": partial(FFCM, max_iter=60),
    "FFCM-2": partial(FFCM, averaging="kmeans", max_iter=60),
    "FFCM-code": partial(
        FFCM, averaging="kmeans", local_iter=None, weights="memberships", movement="frobenius", max_iter=20
    ),
    "FFCM-normalised": partial(FFCM, fuzziness=1.1, normalise=True, max_iter=30),
    "ParentChild": ParentChildKMeans,
    "DWF": partial(DWF, learning_rate=0.5, momentum=0.2, max_iter=500),
    "DWF-plain": partial(DWF, learning_rate=1, momentum=0, local_iter=2, max_iter=50),
    "EWF": partial(EWF, learning_rate=0.5, momentum=0.2, max_iter=500),
}
ALL = pytest.mark.parametrize("make", METHODS.values(), ids=METHODS.keys())


def blobs(n=240, k=3, d=2, seed=3):
    return make_blobs(n, centers=k, n_features=d, cluster_std=0.3, random_state=seed)


def check(model, parties, k):
    d = parties[0].shape[1]
    assert model.cluster_centers_.shape == (k, d)
    assert np.isfinite(model.cluster_centers_).all()
    assert [len(own) for own in model.labels_] == [len(rows) for rows in parties]
    assert all(own.dtype == np.int64 and ((own >= 0) & (own < k)).all() for own in model.labels_)
    assert np.isfinite(model.inertia_)
    assert model.inertia_ >= 0
    assert model.n_iter_ == len(model.history_) >= 1
    assert np.isfinite(model.history_).all()
    inertia = sum(
        ((rows - model.cluster_centers_[own]) ** 2).sum()
        for rows, own in zip(parties, model.labels_, strict=True)
    )
    assert model.inertia_ == pytest.approx(
        inertia, rel=1e-9, abs=1e-18 + 1e-12 * sum((r**2).sum() for r in parties)
    )


@pytest.mark.some(19)
@ALL
@pytest.mark.parametrize("name", ["empty", "one-row", "duplicates", "k-is-m", "one-party", "wide"])
def test_degenerate_parties(make, name):
    rng = np.random.default_rng(0)
    parties, k = {
        "empty": ([np.empty((0, 2)), rng.normal(size=(30, 2)), np.empty((0, 2)), rng.normal(size=(9, 2))], 3),
        "one-row": ([rng.normal(size=(20, 2)), *rng.normal(size=(5, 1, 2))], 4),
        "duplicates": ([np.ones((6, 2)), np.ones((7, 2)), np.zeros((3, 2))], 3),
        "k-is-m": ([np.array([[0.0], [0.0], [5.0]]), np.array([[9.0], [9.0]])], 5),
        "one-party": ([rng.normal(size=(25, 3))], 4),
        "wide": ([rng.normal(size=(8, 40)), rng.normal(size=(7, 40))], 5),
    }[name]
    model = make(k, random_state=0).fit(parties)
    check(model, parties, k)
    assert lists(model.predict(parties)) == lists(model.labels_)


EVERY = {**METHODS, "ExactLloyd": ExactLloyd}


@pytest.mark.parametrize("make", EVERY.values(), ids=EVERY.keys())
class TestNewRows:
    def fitted(self, make):
        rows, _ = blobs()
        return make(3, random_state=0).fit(np.array_split(rows, 4)), blobs(n=20, seed=8)[0] + 3

    def test_one_array_has_one_array_of_labels(self, make):
        model, new = self.fitted(make)
        labels = model.predict(new)
        assert (labels.shape, labels.dtype) == ((20,), np.int64)
        expected = ((new[:, np.newaxis] - model.cluster_centers_) ** 2).sum(axis=2)
        assert labels.tolist() == expected.argmin(axis=1).tolist()
        assert lists(model.predict([new[:7], new[7:7], new[7:]])) == lists(
            [labels[:7], labels[:0], labels[7:]]
        )

    def test_the_score_is_the_negative_sum_of_squared_distances(self, make):
        model, new = self.fitted(make)
        expected = ((new[:, np.newaxis] - model.cluster_centers_) ** 2).sum(axis=2).min(axis=1).sum()
        assert model.score(new) == pytest.approx(-expected)
        assert model.score([new[:7], new[7:7], new[7:]]) == pytest.approx(-expected)
        assert model.score(new[:0]) == 0

    def test_they_are_checked(self, make):
        model, new = self.fitted(make)
        for use in (model.predict, model.score):
            with pytest.raises(ValueError, match="parties have 1 columns, the fit had 2"):
                use(new[:, :1])
            with pytest.raises(ValueError, match="party 0 has nan or infinity in column 1"):
                use(np.array([[0.0, np.nan]]))
        for use in (make(3).predict, make(3).score):
            with pytest.raises(NotFittedError):
                use(new)


@ALL
def test_clusters_that_are_empty_at_every_party(make):
    rows = np.random.default_rng(1).normal(size=(40, 2))
    start = np.array([[0.0, 0.0], [1e3, 1e3], [-1e3, 1e3]])
    model = make(3, init=start, random_state=0).fit(np.split(rows, [10, 11]))
    check(model, np.split(rows, [10, 11]), 3)


@pytest.mark.some(6)
@ALL
@settings(tries(0.15), derandomize=True)
@given(st.data())
def test_random_parties(make, data):
    k = data.draw(st.integers(1, 5))
    d = data.draw(st.integers(1, 3))
    sizes = data.draw(st.lists(st.integers(0, 8), min_size=1, max_size=4).filter(lambda s: max(s) >= 2 * k))
    rows = st.integers(-4, 4).map(float)
    parties = [
        np.array(data.draw(st.lists(rows, min_size=n * d, max_size=n * d))).reshape(n, d) for n in sizes
    ]
    seed = data.draw(st.integers(0, 99))
    model = make(k, random_state=seed).fit(parties)
    check(model, parties, k)
    again = make(k, random_state=seed).fit(parties)
    assert again.cluster_centers_.tolist() == model.cluster_centers_.tolist()


@ALL
def test_reordered_parties_get_the_same_labels(make):
    rows, truth = blobs()
    start = np.array([rows[truth == cluster][:5].mean(axis=0) for cluster in range(3)])
    parties = np.split(rows, [30, 31, 150])
    order = [2, 0, 3, 1]
    model = make(3, init=start, random_state=0).fit(parties)
    other = make(3, init=start, random_state=0).fit([parties[index] for index in order])
    assert lists(other.labels_) == [model.labels_[index].tolist() for index in order]
    np.testing.assert_allclose(other.cluster_centers_, model.cluster_centers_, atol=1e-6)


@ALL
def test_relabelled_start_changes_nothing_but_names(make):
    rows, truth = blobs()
    start = np.array([rows[truth == cluster][:5].mean(axis=0) for cluster in range(3)])
    parties = np.split(rows, [100])
    model = make(3, init=start, random_state=0).fit(parties)
    other = make(3, init=start[[1, 2, 0]], random_state=0).fit(parties)
    # FKM's server renumbers clusters in each round, so the renumbering is not that of the start.
    order = ((other.cluster_centers_[:, None] - model.cluster_centers_) ** 2).sum(axis=2).argmin(axis=1)
    assert sorted(order) == [0, 1, 2]
    assert [order[own].tolist() for own in other.labels_] == lists(model.labels_)
    np.testing.assert_allclose(other.cluster_centers_, model.cluster_centers_[order], atol=1e-6)


@ALL
def test_labels_as_a_start_are_the_means_of_their_sets(make):
    rows, truth = blobs()
    means = np.array([rows[truth == cluster].mean(axis=0) for cluster in range(3)])
    cuts = [60, 200]
    model = make(3, init=np.split(truth, cuts), random_state=0).fit(np.split(rows, cuts))
    other = make(3, init=means, random_state=0).fit(np.split(rows, cuts))
    assert lists(model.labels_) == lists(other.labels_)
    np.testing.assert_allclose(model.cluster_centers_, other.cluster_centers_)


@ALL
@pytest.mark.parametrize("offset", [0.0, 1e7])
@pytest.mark.parametrize("scale", [1.0, 2.0**40])
def test_random_start_on_moved_and_scaled_rows(make, offset, scale):
    rows, _ = blobs()
    parties = np.split(rows * scale + offset * scale, [120])
    model = make(3, init="random", random_state=1).fit(parties)
    check(model, parties, 3)


@ALL
@pytest.mark.parametrize("scale", [2.0**600, 2.0**-600])
def test_extreme_scales(make, scale):
    parties = np.split(blobs()[0] * scale, [120])
    model = make(3, init="random", random_state=0).fit(parties)
    assert np.isfinite(model.cluster_centers_).all()
    assert lists(model.predict(parties)) == lists(model.labels_)


@pytest.mark.parametrize("make", EVERY.values(), ids=EVERY.keys())
def test_refused_input(make):
    with pytest.raises(ValueError, match="n_clusters=9 exceeds the parties' 4 rows"):
        make(9).fit([np.zeros((4, 1))])
    with pytest.raises(ValueError, match="init has shape"):
        make(2, init=np.zeros((2, 3))).fit([np.zeros((4, 1))])
    with pytest.raises(ValueError, match="init must be one of"):
        make(2, init="nearby").fit([np.zeros((4, 1))])
    with pytest.raises(TypeError, match="init must be"):
        make(2, init=3).fit([np.zeros((4, 1))])
    with pytest.raises(ValueError, match="party 0 has nan or infinity in column 0"):
        make(2).fit([np.array([[np.nan], [1.0]])])


@pytest.mark.parametrize(
    ("method", "parameters", "text"),
    [
        (DWF, {"learning_rate": 0}, r"learning_rate must be in \(0, 1\]"),
        (DWF, {"momentum": 1}, r"momentum must be in \[0, 1\)"),
        (DWF, {"local_iter": 0}, "local_iter must be at least 1"),
        (DWF, {"window": 0}, "window must be at least 1"),
        (DWF, {"init": "k-means++"}, "init must be one of 'k-fed', 'random'"),
        (FFCM, {"fuzziness": 1}, r"fuzziness must be in \(1, inf\)"),
        (FFCM, {"averaging": "mean"}, "averaging must be one of"),
        (FFCM, {"local_iter": 0}, "local_iter must be at least 1"),
        (FFCM, {"weights": "equal"}, "weights must be one of"),
        (FFCM, {"movement": "max"}, "movement must be one of"),
        (FKM, {"max_iter": 0}, "max_iter must be at least 1"),
        (FKM, {"initial_iter": -1}, r"initial_iter must be in \[0, inf\)"),
        (FKM, {"min_cluster_size": 0}, "min_cluster_size must be at least 1"),
        (FKM, {"server_tol": -1.0}, "server_tol must be in"),
        (KFED, {"local_clusters": 4}, "local_clusters of party 0 is 4, more than n_clusters=2"),
        (KFED, {"local_clusters": 0}, "local_clusters of party 0 must be at least 1"),
        (KFED, {"local_clusters": [1]}, "local_clusters has 1 entries for 2 parties"),
        (KFED, {"variant": "other"}, "variant must be one of"),
        (KFED, {"init": "k-means"}, "init must be one of"),
        (KFED, {"n_clients": 0}, "n_clients must be at least 1"),
        (KFED, {"tol": -1}, "tol must be in"),
        (KFED, {"assignment": "local"}, "assignment must be one of"),
        (ParentChildKMeans, {"update_fraction": 1}, r"update_fraction must be in \[0, 1\)"),
        (ParentChildKMeans, {"child_clusters": 0}, "child_clusters must be at least 1"),
        (ParentChildKMeans, {"child_clusters": 1, "init": "random"}, "child_clusters must be None unless"),
        (ParentChildKMeans, {"n_init": 0}, "n_init must be at least 1"),
    ],
)
def test_refused_parameters(method, parameters, text):
    with pytest.raises(ValueError, match=text):
        method(2, **parameters).fit([np.array([[0.0], [1.0]]), np.array([[2.0], [3.0]])])


def test_nearest_skips_missing_and_unreachable_centres():
    centres = np.array([[np.nan, np.nan], [1e300, 0.0], [1e-200, 0.0], [3e-200, 0.0]])
    assert nearest(np.array([[0.0, 0.0], [2.9e-200, 0.0]]), centres).tolist() == [2, 3]
