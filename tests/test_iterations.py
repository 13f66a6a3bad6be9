"""Iterations are counted as scikit-learn counts them, from the same start."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

import secfc
from plaintext_baselines import ExactLloyd

pytestmark = pytest.mark.filterwarnings("ignore")


def problems(count):
    """Small rows and start labels; every second start is a result of a run."""
    rng = np.random.default_rng(0)
    for number in range(count):
        m, d = int(rng.integers(2, 20)), int(rng.integers(1, 4))
        k = int(rng.integers(1, min(m, 5) + 1))
        rows = rng.normal(size=(m, d)) if number % 3 else rng.integers(-4, 5, (m, d)).astype(float)
        start = rng.integers(k, size=m)
        start[rng.permutation(m)[:k]] = np.arange(k)
        if number % 2:
            start = ExactLloyd(k, init=[start]).fit([rows]).labels_[0]
        if np.unique(start).size == k:
            yield rows, start, k


def scikit(rows, start, k, tol):
    centres = np.array([rows[start == h].mean(axis=0) for h in range(k)])
    return KMeans(k, init=centres, n_init=1, tol=tol, algorithm="lloyd").fit(rows)


def test_exact_lloyd_and_scikit_learn_stop_at_the_same_iteration():
    """tol=1e-20 stops if centres move only by rounding. With tol=0 such an iteration counts one more."""
    compared = stopped_at_once = 0
    for rows, start, k in problems(120):
        exact = ExactLloyd(k, init=[start]).fit([rows])
        near, zero = (scikit(rows, start, k, tol) for tol in (1e-20, 0))
        if (near.labels_ != exact.labels_[0]).any() or (zero.labels_ != exact.labels_[0]).any():
            continue  # a tie that rounding decided
        compared += 1
        stopped_at_once += exact.n_iter_ == 1
        assert exact.n_iter_ == near.n_iter_
        assert zero.n_iter_ - exact.n_iter_ in (0, 1)
    assert compared > 105
    assert stopped_at_once > 45


def test_centres_that_do_not_move_take_one_iteration_where_nothing_is_rounded():
    rows, start = np.array([[-3.0], [-1.0], [1.0], [3.0]]), np.array([0, 0, 1, 1])
    result = secfc.run([rows[:1], rows[1:2], rows[2:]], 2, 1, 1, init=[start[:1], start[1:2], start[2:]])
    assert result.n_iter == scikit(rows, start, 2, 0).n_iter_ == 1
    assert result.converged
    once = secfc.run([rows[:1], rows[1:2], rows[2:]], 2, 1, 1, init=[[0], [0], [1, 1]], max_iter=1)
    assert once.converged
