"""What labels reveal to a client about others' rows: by rows within the bound, and by integers beyond it."""

import numpy as np
import pytest
from scipy.optimize import check_grad

from benchmarks.privacy import in_range, label_fit
from benchmarks.privacy.measure import blobs


def test_the_derivative_is_that_of_the_cross_entropy():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(12, 2))
    rounds = [(rng.permutation(12) % 3, rng.integers(0, 3, 12)) for _ in range(3)]  # set 3 is empty

    def of(flat):
        loss, slope = label_fit.violated(flat.reshape(12, 2), rounds, 4, 0.3)
        return loss, slope.ravel()

    assert check_grad(lambda x: of(x)[0], lambda x: of(x)[1], rows.ravel()) < 1e-4


def test_own_rows_find_centres_and_others_rows_roughly():
    rng = np.random.default_rng(1)
    parties = blobs(2, 30, 2)
    few, many = (
        [
            row.success
            for row in in_range.within_bound(
                parties,
                own=rng.uniform(-2, 2, (count, 2)),
                k=3,
                starts=1,
                seed=1,
                adversary="client that chooses rows",
            )
        ]
        for count in (4, 150)
    )
    assert 0.1 < many[0] < 0.9
    assert many[1] < 0.2 < few[1]


@pytest.mark.parametrize("levels", [5, 40])
def test_integers_beyond_the_bound_read_every_value(levels):
    values = np.random.default_rng(levels).integers(0, levels, 15)
    assert in_range.beyond_bound(values, levels=levels, rounds=100, seed=1).success == 1
    # Labels of one round are one bit.
    assert in_range.beyond_bound(values, levels=levels, rounds=1, seed=1).success < 0.7
