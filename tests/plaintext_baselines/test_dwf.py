"""DWF and EWF: the aggregation by hand, equality with pooled Lloyd, the stops."""

import numpy as np
import pytest
from support.lloyd import column, lloyd_that_keeps

from plaintext_baselines import DWF, EWF, KFED
from plaintext_baselines.dwf import aggregate, local_update

PLAIN = {"learning_rate": 1.0, "momentum": 0.0, "local_iter": 1}


def test_aggregate_by_hand():
    # Cluster 0: (3*1 + 1*5) / 4. Cluster 1: all weights zero, the plain mean of 10 and 20.
    local = np.array([column(1, 10), column(5, 20)])
    weights = np.array([[3.0, 0.0], [1.0, 0.0]])
    assert aggregate(local, weights).ravel() == pytest.approx([2, 15])


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("steps", [1, 2, 3, 5, 40])
def test_local_update_equals_that_many_steps_of_lloyd(seed, steps):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(60, 2))
    centres = rng.normal(size=(8, 2)) * 2
    expected = lloyd_that_keeps([rows], centres, steps)
    np.testing.assert_allclose(local_update(rows, centres, steps, 0.0).centres, expected, atol=1e-12)


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


@pytest.mark.some(5)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(20))
def test_dwf_is_pooled_lloyd_step_by_step(seed):
    rng = np.random.default_rng(seed)
    k, d = int(rng.integers(1, 7)), int(rng.integers(1, 6))
    sizes = rng.integers(0, 60, size=5)
    parties = [rng.normal(size=(size, d)) * rng.uniform(0.1, 10) + rng.normal(size=d) for size in sizes]
    start = rng.normal(size=(k, d)) * rng.choice([1.0, 10.0], size=(k, 1))  # some clusters stay empty
    for steps in (1, 2, 3, 5):
        model = DWF(k, init=start, max_iter=steps, **PLAIN).fit(parties)
        expected = lloyd_that_keeps(parties, start, steps)
        np.testing.assert_allclose(model.cluster_centers_, expected, rtol=0, atol=1e-12)
    model = DWF(k, init=start, tol=0, window=None, **PLAIN).fit(parties)
    expected = lloyd_that_keeps(parties, start, 60)
    np.testing.assert_allclose(model.cluster_centers_, expected, rtol=0, atol=1e-12)


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


def test_window_ends_a_run_whose_movement_no_longer_falls():
    rng = np.random.default_rng(2)
    parties = [rng.normal(size=(20, 2)) for _ in range(6)]
    options = {"init": rng.normal(size=(4, 2)), "n_clients": 2, "random_state": 0, "max_iter": 400}
    assert DWF(4, window=None, **options).fit(parties).n_iter_ == 400
    stopped = DWF(4, window=5, **options).fit(parties)
    assert stopped.converged_
    assert stopped.n_iter_ < 100


def test_start_is_the_one_shot_of_the_dwf_variant():
    rows = np.concatenate([np.random.default_rng(3).normal(c, 0.1, size=(40, 2)) for c in (0, 3, 6)])
    parties = [rows[::2], rows[1::2]]
    model = DWF(3, max_iter=1, learning_rate=1e-12, momentum=0.0, random_state=0).fit(parties)
    one_shot = KFED(3, variant="dwf", n_init=5, random_state=0).fit(parties)
    found, expected = model.cluster_centers_, one_shot.cluster_centers_
    np.testing.assert_allclose(found[found[:, 0].argsort()], expected[expected[:, 0].argsort()], atol=1e-9)
