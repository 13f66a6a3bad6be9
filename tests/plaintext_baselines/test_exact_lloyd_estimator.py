"""ExactLloyd as an estimator, compared with scikit-learn, and its random start."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from support.lloyd import both, column, lists

from plaintext_baselines import ExactLloyd
from plaintext_baselines._start import random_start

# scikit-learn


@pytest.mark.parametrize("seed", range(8))
@both
def test_equals_scikit_learn_on_blobs(exact, seed):
    k = 3 + seed % 3
    pool, _ = make_blobs(n_samples=150, centers=k, n_features=2 + seed, cluster_std=4.0, random_state=seed)
    start = random_start(k, len(pool), seed)
    centres = np.array([pool[start == cluster].mean(axis=0) for cluster in range(k)])
    reference = KMeans(k, init=centres, n_init=1, algorithm="lloyd", tol=0).fit(pool)
    model = exact(k, random_state=seed).fit(np.split(pool, [40, 90]))
    assert np.concatenate(model.labels_).tolist() == reference.labels_.tolist()
    assert model.n_iter_ == reference.n_iter_
    assert model.inertia_ == pytest.approx(reference.inertia_, rel=1e-6)
    np.testing.assert_allclose(model.cluster_centers_, reference.cluster_centers_, atol=1e-6)


def test_equals_scikit_learn_where_clusters_are_relocated():
    rng = np.random.default_rng(4)
    pool = rng.normal(size=(80, 2))
    centres = np.concatenate([pool[:2], np.full((3, 2), 50.0) + np.arange(3)[:, None]])
    reference = KMeans(5, init=centres, n_init=1, algorithm="lloyd", tol=0).fit(pool)
    model = ExactLloyd(5, init=centres).fit([pool])
    assert model.labels_[0].tolist() == reference.labels_.tolist()
    assert model.n_iter_ == reference.n_iter_


# estimator


@both
def test_predict_rounds_rows_as_fit_does_and_takes_rows_beyond_the_bound(exact):
    model = exact(2, init=column(0, 8), precision=3).fit([column(0, 8)])
    assert lists(model.predict([column(4, 4.4, 4.6, 1e200), np.empty((0, 1))])) == [[0, 0, 1, 1], []]


def test_given_bound_sets_the_scale():
    model = ExactLloyd(1, bound=100.0, precision=10).fit([column(3)])
    assert (model.bound_, model.unit_) == (100.0, 1 / 8)


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"n_clusters": 0}, "n_clusters must be at least 1"),
        ({"n_init": 0}, "n_init must be at least 1"),
        ({"n_init": 2, "init": column(0, 8)}, "n_init must be 1 where the start is given, got 2"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"tol_moved": 1}, r"tol_moved must be in \[0, 1\), got 1"),
        ({"tol_moved": -0.5}, r"tol_moved must be in \[0, 1\), got -0.5"),
        ({"tol_moved": np.nan}, r"tol_moved must be in \[0, 1\), got nan"),
        ({"precision": 53}, "precision must be at most 52"),
        ({"precision": 0}, "precision must be at least 1"),
        ({"bound": -1.0}, "bound must be finite"),
        ({"bound": np.nan}, "bound must be finite"),
        ({"bound": 6.0}, "party 1 has a row whose Euclidean norm exceeds bound=6.0"),
        ({"init": np.full((2, 1), np.nan)}, "init has nan"),
        ({"init": [np.array([0, 0]), np.array([0, 0])]}, "init leaves cluster 1 empty"),
        ({"init": [np.array([0, 1])]}, "init has 1 label arrays for 2 parties"),
        ({"init": [np.array([0, 1]), np.array([0])]}, "init of party 1 has shape"),
        ({"init": [np.array([0, 1]), np.array([0, 2])]}, "init of party 1 has labels outside -1..1"),
        ({"n_clusters": 2.0}, "n_clusters must be an integer"),
        ({"precision": True}, "precision must be an integer"),
        ({"bound": "1"}, "bound must be a number"),
        ({"init": [np.array([0.0, 1.0]), np.array([0.0, 1.0])]}, "init of party 0 must hold integer labels"),
    ],
)
def test_bad_parameters_are_named(parameters, text):
    with pytest.raises((ValueError, TypeError), match=text):
        ExactLloyd(**({"n_clusters": 2} | parameters)).fit([column(1, 2), column(3, 7)])


@pytest.mark.parametrize(
    ("parties", "error", "text"),
    [
        ([], ValueError, "at least one party"),
        ([column(1, 2), np.array([1.0, 2.0])], ValueError, "party 1 must be a 2-D array"),
        ([column(1, 2), np.ones((2, 3))], ValueError, "party 1 has 3 columns, party 0 has 1"),
        ([np.ones((3, 0))], ValueError, "party 0 has no columns"),
        ([[[1.0], [1.0, 2.0]]], ValueError, "party 0 has rows of unequal length"),
        ([np.array([["a"], ["b"]])], TypeError, "party 0 must hold real numbers"),
        ([np.array([[1j], [2j]])], TypeError, "party 0 must hold real numbers"),
        (
            [np.ones((2, 2)), np.array([[1, 12345], [1, np.nan]])],
            ValueError,
            "party 1 has nan or infinity in column 1",
        ),
        ([np.array([[-np.inf], [1.0]])], ValueError, "party 0 has nan or infinity in column 0"),
        ([np.full((2, 9), 1.7e308)], ValueError, "largest row norm exceeds the range"),
    ],
)
def test_bad_parties_are_named(parties, error, text):
    with pytest.raises(error, match=text) as caught:
        ExactLloyd(2).fit(parties)
    assert "12345" not in str(caught.value)


def test_predict_checks_its_rows():
    with pytest.raises(NotFittedError):
        ExactLloyd(2).predict([column(1)])
    model = ExactLloyd(1).fit([column(1e-300, 2e-300)])
    with pytest.raises(ValueError, match="parties have 2 columns"):
        model.predict([np.ones((1, 2))])
    with pytest.raises(ValueError, match="party 1 has an entry beyond float64"):
        model.predict([column(1e-300), column(1e300)])


# random start


def test_random_start_redraws_until_no_cluster_is_empty():
    rng = np.random.default_rng(7)
    draws = [rng.integers(4, size=6) for _ in range(64)]
    expected = next(labels for labels in draws if len(set(labels.tolist())) == 4)
    assert expected is not draws[0]
    assert random_start(4, 6, 7).tolist() == expected.tolist()


def test_random_start_seats_clusters_when_redrawing_fails():
    rng = np.random.default_rng(7)
    for _ in range(65):
        expected = rng.integers(50, size=50)
    expected[rng.permutation(50)] = np.arange(50)
    assert random_start(50, 50, 7).tolist() == expected.tolist()
