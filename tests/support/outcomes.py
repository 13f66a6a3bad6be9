"""Comparison of outcomes of runs."""

import numpy as np


def assert_equal(one, other):
    for mine, theirs in zip(one.labels, other.labels, strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(one.start, other.start)
    for name in ("n_iter", "converged", "inertia", "history", "near_ties"):
        assert getattr(one, name) == getattr(other, name)
    assert sorted(one.costs.messages) == sorted(other.costs.messages)
