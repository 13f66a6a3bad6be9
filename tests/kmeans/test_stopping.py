"""When a start stops, by hand."""

import numpy as np
import pytest

from secfc.kmeans.stopping import After, Iterated, Stopping

A, B, C = (np.array(labels, dtype=np.int32) for labels in ([0] * 10, [1] + [0] * 9, [1] * 2 + [0] * 8))
NONE = np.full(10, -1, dtype=np.int32)


def after(n_iter=5, *, tol_moved=0.0, max_iter=9, asked=NONE, previous=A, labels=B, sets=None):
    rule = Stopping(m=10, max_iter=max_iter, tol_moved=tol_moved)
    sets = labels if sets is None else sets
    return rule.after(n_iter, asked=asked, previous=previous, labels=labels, sets=sets)


@pytest.mark.parametrize(
    ("tol_moved", "m", "fewest"),
    [
        (0.0, 10, 1),
        (5e-324, 10, 1),
        (0.05, 10, 1),
        (0.1, 10, 1),
        (0.11, 10, 2),
        (0.1, 30, 3),  # the floats 0.1 and 0.7 are not these decimals, and 0.7 * 10 in floats is not 7
        (0.7, 10, 7),
        (0.07, 100, 7),
        (0.001, 190_000, 190),
        (0.001, 190_001, 191),
        (1e-9, 1 << 29, 1),
        (0.999, 1, 1),
        (0.9999999999999999, 1 << 29, 1 << 29),
    ],
)
def test_as_many_rows_as_the_decimal_fraction_asks_for(tol_moved, m, fewest):
    assert Stopping(m=m, max_iter=1, tol_moved=tol_moved).fewest == fewest


def test_without_a_tolerance_it_stops_when_no_label_changes():
    assert after() == Iterated(moved=1, after=After.ITERATION, converged=False)
    assert after(labels=A) == Iterated(moved=0, after=After.NOTHING, converged=True)


@pytest.mark.parametrize("tol_moved", [0.0, 0.2, 0.99])
def test_where_nothing_would_change_no_assignment_follows(tol_moved):
    nothing = Iterated(moved=0, after=After.NOTHING, converged=True)
    assert after(1, tol_moved=tol_moved, previous=None, asked=B) == nothing
    assert after(tol_moved=tol_moved, labels=A) == nothing
    assert after(tol_moved=tol_moved, labels=A, sets=B) == nothing  # as scikit-learn, for all tol_moved
    assert after(tol_moved=tol_moved, labels=C, asked=C) == Iterated(
        moved=2, after=After.NOTHING, converged=True
    )
