"""Lloyd in float64: cases by hand, compared with scikit-learn and ExactLloyd."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from support.lloyd import column, lists

from plaintext_baselines import ExactLloyd, Lloyd
from plaintext_baselines._floats import nearest
from plaintext_baselines._start import random_start


@pytest.mark.parametrize("seed", range(8))
def test_equals_scikit_learn_on_blobs(seed):
    k = 3 + seed % 3
    pool, _ = make_blobs(n_samples=300, centers=k, n_features=2 + seed, cluster_std=4.0, random_state=seed)
    start = random_start(k, len(pool), seed)
    centres = np.array([pool[start == cluster].mean(axis=0) for cluster in range(k)])
    reference = KMeans(k, init=centres, n_init=1, algorithm="lloyd", tol=0).fit(pool)
    for init in ("random", centres):
        model = Lloyd(k, init=init, random_state=seed).fit(np.split(pool, [40, 90]))
        assert np.concatenate(model.labels_).tolist() == reference.labels_.tolist()
        assert model.n_iter_ == reference.n_iter_
        assert model.inertia_ == pytest.approx(reference.inertia_)
        np.testing.assert_allclose(model.cluster_centers_, reference.cluster_centers_)


@pytest.mark.parametrize("tol", [1e-4, 1e-2, 1.0])
def test_tolerance_is_that_of_scikit_learn(tol):
    pool = np.random.default_rng(0).normal(size=(500, 3)) * [1, 2, 3]
    centres = pool[:5]
    reference = KMeans(5, init=centres, n_init=1, algorithm="lloyd", tol=tol).fit(pool)
    model = Lloyd(5, init=centres, tol=tol).fit([pool])
    assert (model.n_iter_, model.converged_) == (reference.n_iter_, True)
    assert model.labels_[0].tolist() == reference.labels_.tolist()
    assert model.inertia_ == pytest.approx(reference.inertia_)


def test_equals_scikit_learn_where_clusters_are_relocated():
    pool = np.random.default_rng(4).normal(size=(80, 2))
    centres = np.concatenate([pool[:2], np.full((3, 2), 50.0) + np.arange(3)[:, None]])
    reference = KMeans(5, init=centres, n_init=1, algorithm="lloyd", tol=0).fit(pool)
    model = Lloyd(5, init=centres).fit([pool])
    assert model.labels_[0].tolist() == reference.labels_.tolist()
    assert model.n_iter_ == reference.n_iter_


@pytest.mark.parametrize("init", ["random", "separation"])
@pytest.mark.parametrize("seed", range(5))
def test_equals_exact_lloyd_where_nothing_is_tied(init, seed):
    pool = np.random.default_rng(seed).normal(size=(120, 3))
    model = Lloyd(4, init=init, random_state=seed).fit([pool[:50], pool[50:]])
    exact = ExactLloyd(4, init=init, random_state=seed).fit([pool[:50], pool[50:]])
    assert lists(model.labels_) == lists(exact.labels_)
    assert model.history_ == pytest.approx(exact.history_)


def test_kept_empty_cluster_stays_where_it_was():
    model = Lloyd(3, init=column(0, 100, 200), empty="keep").fit([column(0, 1, 7, 100)])
    assert lists(model.labels_) == [[0, 0, 0, 1]]
    assert model.cluster_centers_.ravel() == pytest.approx([8 / 3, 100, 200])
    assert lists(model.predict([column(190)])) == [[2]]


def test_nearest_skips_missing_and_unreachable_centres():
    centres = np.array([[np.nan, np.nan], [1e300, 0.0], [1e-200, 0.0], [3e-200, 0.0]])
    assert nearest(np.array([[0.0, 0.0], [2.9e-200, 0.0]]), centres).tolist() == [2, 3]


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"tol": -1.0}, "tol must be at least 0"),
        ({"tol": np.nan}, "tol must be at least 0"),
        ({"empty": "drop"}, "empty must be one of 'relocate', 'keep'"),
    ],
)
def test_bad_parameters_are_named(parameters, text):
    with pytest.raises(ValueError, match=text):
        Lloyd(**({"n_clusters": 2} | parameters)).fit([column(1, 2), column(3, 7)])
