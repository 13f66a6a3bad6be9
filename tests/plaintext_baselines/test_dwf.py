"""DWF and EWF: the aggregation by hand, equality with pooled Lloyd, the stops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plaintext_baselines import DWF, EWF, KFED, Lloyd
from plaintext_baselines._kmeans import kmeans
from plaintext_baselines.dwf import aggregate, local_update, request_score

PLAIN = {"learning_rate": 1.0, "momentum": 0.0, "local_iter": 1}


def column(*values):
    return np.array(values, dtype=float)[:, None]


def lists(labels):
    return [party.tolist() for party in labels]


def update(rows, centres, max_iter, tol=0.0):
    return local_update(rows, (rows**2).sum(axis=1), centres, max_iter, tol)


def test_aggregate_by_hand():
    # Cluster 0: (3*1 + 1*5) / 4. Cluster 1: all weights zero, the plain mean of 10 and 20.
    local = np.array([column(1, 10), column(5, 20)])
    weights = np.array([[3.0, 0.0], [1.0, 0.0]])
    assert aggregate(local, weights).ravel() == pytest.approx([2, 15])


def test_local_update_by_hand():
    # 0, 4 | 10: means 2 and 10; then 0, 4 | 10 again. Centroid 50 has no rows and stays.
    result = update(column(0, 4, 10), column(1, 9, 50), 5)
    assert result.centres.ravel() == pytest.approx([2, 10, 50])
    assert result.sizes.tolist() == [2, 1, 0]
    assert result.inertia == pytest.approx(1 + 9 + 1)


def test_sizes_are_counted_at_the_received_centroids():
    # Received 0, 4: labels 0 | 3, 10. Own centroids 0, 6.5: labels 0, 3 | 10.
    result = update(column(0, 3, 10), column(0, 4), 1)
    assert result.centres.ravel() == pytest.approx([0, 6.5])
    assert result.sizes.tolist() == [1, 2]


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("steps", [1, 2, 3, 5, 40])
def test_local_update_equals_that_many_steps_of_lloyd(seed, steps):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(60, 2))
    centres = rng.normal(size=(8, 2)) * 2
    expected = centres.copy()
    for _ in range(steps):
        labels = ((rows[:, None] - expected) ** 2).sum(axis=2).argmin(axis=1)
        for cluster in np.unique(labels):
            expected[cluster] = rows[labels == cluster].mean(axis=0)
    np.testing.assert_allclose(update(rows, centres, steps).centres, expected, atol=1e-12)


def test_one_round_by_hand():
    # Parties {0, 4} and {2, 10, 12}; centroids 0 and 8: 0 | 4 -> 0 (tie to the lower) and 2 | 10, 12.
    # Local centroids: 2, 8 (empty, stays) and 2, 11. Weights 2, 0 and 1, 2: D = 2, 11.
    parties = [column(0, 4), column(2, 10, 12)]
    start = column(0, 8.5)
    model = DWF(2, init=start, local_iter=1, learning_rate=0.5, momentum=0.0, max_iter=1).fit(parties)
    assert model.cluster_centers_.ravel() == pytest.approx([1, 9.75])
    assert (model.n_iter_, model.converged_) == (1, False)
    assert model.history_ == pytest.approx([0 + 16 + 4 + 2.25 + 12.25])
    # EWF also averages the empty cluster's centroid: D = 2, (8.5 + 11) / 2.
    equal = EWF(2, init=start, local_iter=1, learning_rate=1.0, momentum=0.0, max_iter=1).fit(parties)
    assert equal.cluster_centers_.ravel() == pytest.approx([2, 9.75])


def test_momentum_by_hand():
    # One row at 8, from 0: c1 = 4; c2 = 4 + (8 - 4)/2 + (4 - 0)/4 = 7; c3 = 7 + 1/2 + 3/4 = 8.25.
    settings_ = {"init": column(0), "learning_rate": 0.5, "momentum": 0.25}
    centres = [DWF(1, max_iter=n, **settings_).fit([column(8)]).cluster_centers_.item() for n in (1, 2, 3)]
    assert centres == pytest.approx([4, 7, 8.25])


def test_weights_at_the_updated_centroids_by_hand():
    # Party {0, 3, 10} as above: sizes 1, 2 received and 2, 1 updated; party {1} has 1, 0 in both.
    parties = [column(0, 3, 10), column(1)]
    received = DWF(2, init=column(0, 4), max_iter=1, **PLAIN).fit(parties)
    updated = DWF(2, init=column(0, 4), max_iter=1, weights="updated", **PLAIN).fit(parties)
    assert received.cluster_centers_.ravel() == pytest.approx([1 / 2, 6.5])
    assert updated.cluster_centers_.ravel() == pytest.approx([1 / 3, 6.5])


def test_a_cluster_without_rows_anywhere_keeps_its_centroid():
    model = DWF(3, init=column(0, 10, 99), **PLAIN).fit([column(0, 1), column(10, 11)])
    assert model.cluster_centers_.ravel() == pytest.approx([0.5, 10.5, 99])


@pytest.mark.some(5)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(20))
def test_dwf_is_pooled_lloyd_step_by_step(seed):
    rng = np.random.default_rng(seed)
    k, d = int(rng.integers(1, 7)), int(rng.integers(1, 6))
    sizes = rng.integers(0, 60, size=5)
    parties = [rng.normal(size=(size, d)) * rng.uniform(0.1, 10) + rng.normal(size=d) for size in sizes]
    start = rng.normal(size=(k, d)) * rng.choice([1.0, 10.0], size=(k, 1))  # some clusters stay empty
    final = Lloyd(k, init=start, empty="keep").fit(parties)
    for steps in range(1, final.n_iter_):
        pooled = Lloyd(k, init=start, empty="keep", max_iter=steps).fit(parties)
        model = DWF(k, init=start, max_iter=steps, **PLAIN).fit(parties)
        np.testing.assert_allclose(model.cluster_centers_, pooled.cluster_centers_, rtol=0, atol=1e-12)
        assert lists(model.labels_) == lists(pooled.labels_)
        assert model.history_ == pytest.approx(pooled.history_[:steps], rel=1e-12)
    model = DWF(k, init=start, tol=0, window=None, **PLAIN).fit(parties)
    np.testing.assert_allclose(model.cluster_centers_, final.cluster_centers_, rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", [EWF, DWF])
@pytest.mark.parametrize("seed", range(5))
def test_one_party_is_lloyd(method, seed):
    rng = np.random.default_rng(seed)
    rows, start = rng.normal(size=(80, 3)), rng.normal(size=(5, 3))
    model = method(5, init=start, **PLAIN).fit([rows])
    pooled = Lloyd(5, init=start, empty="keep").fit([rows])
    np.testing.assert_allclose(model.cluster_centers_, pooled.cluster_centers_, rtol=0, atol=1e-12)


def test_equal_chunks_of_equal_clusters_make_ewf_equal_dwf():
    rng = np.random.default_rng(0)
    parties = [np.concatenate([rng.normal(c, 0.1, size=(10, 2)) for c in (0, 5, 9)]) for _ in range(4)]
    start = np.array([[0.0, 0.0], [5.0, 5.0], [9.0, 9.0]])
    options = {"init": start, "learning_rate": 0.1, "momentum": 0.5}
    np.testing.assert_allclose(
        EWF(3, **options).fit(parties).cluster_centers_, DWF(3, **options).fit(parties).cluster_centers_
    )


@settings(deadline=None, max_examples=50, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_aggregate_is_a_convex_combination(seed):
    rng = np.random.default_rng(seed)
    n, k, d = rng.integers(1, 6, size=3)
    local = rng.normal(size=(n, k, d))
    result = aggregate(local, rng.integers(0, 3, size=(n, k)).astype(float))
    assert (result <= local.max(axis=0) + 1e-12).all()
    assert (result >= local.min(axis=0) - 1e-12).all()


def test_paper_defaults():
    expected = {
        "learning_rate": 0.01,
        "momentum": 0.8,
        "local_iter": 5,
        "tol": 1e-8,
        "max_iter": 10_000,
        "window": 300,
        "n_init": 1,
        "n_clients": None,
        "init": "k-fed",
    }
    for method in (EWF, DWF):
        assert expected.items() <= method(2).get_params().items()


def test_converges_with_the_paper_settings():
    rng = np.random.default_rng(1)
    parties = [rng.normal(c, 0.3, size=(30, 2)) for c in (0, 4, 8)]
    model = DWF(3, random_state=0).fit(parties)
    assert model.converged_
    pooled = Lloyd(3, init=model.cluster_centers_).fit(parties)
    np.testing.assert_allclose(model.cluster_centers_, pooled.cluster_centers_, atol=1e-6)


def test_window_ends_a_run_whose_movement_no_longer_falls():
    rng = np.random.default_rng(2)
    parties = [rng.normal(size=(20, 2)) for _ in range(6)]
    options = {"init": rng.normal(size=(4, 2)), "n_clients": 2, "random_state": 0, "max_iter": 400}
    assert DWF(4, window=None, **options).fit(parties).n_iter_ == 400
    stopped = DWF(4, window=5, **options).fit(parties)
    assert stopped.converged_
    assert stopped.n_iter_ < 100


def test_min_iter_delays_the_stop():
    options = {"init": column(5), **PLAIN}
    assert DWF(1, **options).fit([column(0, 10)]).n_iter_ == 1
    assert DWF(1, min_iter=16, **options).fit([column(0, 10)]).n_iter_ == 16


def test_start_is_the_one_shot_of_the_dwf_variant():
    rows = np.concatenate([np.random.default_rng(3).normal(c, 0.1, size=(40, 2)) for c in (0, 3, 6)])
    parties = [rows[::2], rows[1::2]]
    model = DWF(3, max_iter=1, learning_rate=1e-12, momentum=0.0, random_state=0).fit(parties)
    one_shot = KFED(3, variant="dwf", n_init=5, random_state=0).fit(parties)
    found, expected = model.cluster_centers_, one_shot.cluster_centers_
    np.testing.assert_allclose(found[found[:, 0].argsort()], expected[expected[:, 0].argsort()], atol=1e-9)


def test_best_of_several_runs_by_the_mean_of_the_parties_scores():
    rng = np.random.default_rng(4)
    parties = [rng.normal(c, 1, size=(n, 2)) for c, n in ((0, 10), (5, 40), (9, 5))]
    options = {"init": "random", "random_state": 7, **PLAIN}
    one, best = (DWF(4, n_init=n, **options).fit(parties) for n in (1, 6))
    assert request_score(parties, best.cluster_centers_) <= request_score(parties, one.cluster_centers_)


def test_request_score_by_hand():
    assert request_score([column(0, 2), column(10), np.empty((0, 1))], column(0, 7)) == pytest.approx(5.5)


def test_start_with_parties_smaller_than_k():
    parties = list(np.random.default_rng(5).normal(size=(9, 2, 2)))
    model = DWF(4, random_state=0, learning_rate=1.0, momentum=0.0).fit(parties)
    assert model.inertia_ < kmeans(np.concatenate(parties), 1, seed=0).labels.size * 10


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"learning_rate": 0}, r"learning_rate must be in \(0, 1\]"),
        ({"momentum": 1}, r"momentum must be in \[0, 1\)"),
        ({"local_iter": 0}, "local_iter must be at least 1"),
        ({"window": 0}, "window must be at least 1"),
        ({"weights": "equal"}, "weights must be one of"),
        ({"init": "k-means++"}, "init must be one of 'k-fed', 'random'"),
    ],
)
def test_refused_parameters(parameters, text):
    with pytest.raises(ValueError, match=text):
        DWF(2, **parameters).fit([column(0, 1, 2)])
