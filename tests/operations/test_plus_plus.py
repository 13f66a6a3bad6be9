"""Rows that are drawn in secret: the first sets with shares, in the clear, and by Python's integers."""

import numpy as np
import pytest
from operations.own_net import Net, drawn_case, in_the_clear

from plaintext_baselines import ExactLloyd
from secfc.operations.starts.plus_plus import numbers_of, plain_plus_plus
from secfc.operations.starts.random_numbers import plain_numbers


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("shape", [(3, 1, 1), (5, 1, 2), (6, 2, 1)], ids=str)
def test_shares_give_the_labels_of_the_start_in_the_clear(seed, shape):
    n, t, ell = shape
    rng, rows, _, k = drawn_case(seed)
    options = {"max_iter": int(rng.integers(1, 8)), "fewest": int(rng.integers(1, 3))}
    weights = rng.integers(1, 4, len(rows)) if seed % 2 else np.ones(len(rows), dtype=np.int64)
    roles = {"dealer": 1, "first": n + 1, "second": n + 2} if t > 1 else {}
    net = Net(rows, seed, k, n=n, t=t, ell=ell, weights=weights, **options, **roles)
    numbers = plain_numbers(numbers_of(k), np.random.default_rng(seed))
    start = plain_plus_plus(rows.astype(object), weights, numbers, k)
    net.assert_as(in_the_clear(rows, start, k, weights=weights, **options), *net.run())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(200))
def test_the_start_in_the_clear_is_that_of_exact_lloyd(seed):
    rng, rows, _, k = drawn_case(seed)
    k = len(rows) if seed % 10 == 0 else k
    weights = rng.integers(1, 9, len(rows)) if seed % 3 else None
    numbers = plain_numbers(numbers_of(k), np.random.default_rng(seed))
    times = np.ones(len(rows), dtype=np.int64) if weights is None else weights
    start = plain_plus_plus(rows.astype(object), times, numbers, k)
    exact = ExactLloyd(k, init="k-means++", random_state=seed, step=1.0, bound=100.0, max_iter=4)
    exact.fit([rows.astype(float)], sample_weight=None if weights is None else [weights])
    found = in_the_clear(rows, start, k, weights=weights, max_iter=4)
    assert found.labels.tolist() == exact.labels_[0].tolist()
    assert (found.n_iter, found.converged) == (exact.n_iter_, exact.converged_)
