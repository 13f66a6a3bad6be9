"""The promise: labels always equal exact-integer Lloyd on the pooled quantised rows.

Most jobs with ties, duplicates and emptied clusters are in tests/simulator.
"""

import numpy as np
import pytest
from support.lloyd import begun_as
from support.sweeps import sweep

import secfc
from plaintext_baselines import ExactLloyd
from secfc.protocol.job.cases import LabelsOnly

pytestmark = pytest.mark.filterwarnings("ignore::secfc.ConvergenceWarning")


def assert_equals_exact_lloyd(parties, k, result, **options):
    exact = ExactLloyd(k, **begun_as(result.job, result.start), **options).fit(parties)
    for ours, theirs in zip(result.labels, exact.labels_, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert result.n_iter == exact.n_iter_
    assert result.converged == exact.converged_
    if isinstance(result.job.disclosure, LabelsOnly):
        assert result.inertia is None
        return
    assert result.inertia == exact.inertia_
    np.testing.assert_array_equal(result.history, exact.history_)


def fitting_pairs(n):
    return [(t, ell) for t in range(1, n) for ell in range(1, n) if 2 * (ell + t) - 1 <= n]


@pytest.mark.parametrize("disclosure", ["labels", "coded"])
def test_a_cluster_that_the_last_iteration_empties_gets_its_row(disclosure):
    rows = np.array([12, 27, 18, -28, 25, 18, -28, 25], dtype=float)[:, np.newaxis]
    start = np.array([1, 0, 1, 2, 0, 0, 1, 2])
    parties, starts = np.split(rows, [2, 5]), np.split(start, [2, 5])
    options = {"tol_moved": 0.3, "bound": 64.0}
    result = secfc.run(parties, 3, 1, 1, init=starts, disclosure=disclosure, **options)
    assert_equals_exact_lloyd(parties, 3, result, **options)
    assert (result.n_iter, result.converged, result.sizes.tolist()) == (2, True, [5, 2, 1])


def assert_pairs_give_equal_labels(parties, pairs):
    expected = None
    for t, ell in pairs:
        result = secfc.run(parties, 4, t, ell, seed=1, disclosure="coded")
        if expected is None:
            assert_equals_exact_lloyd(parties, 4, result)
            expected = np.concatenate(result.labels)
        np.testing.assert_array_equal(np.concatenate(result.labels), expected)


@pytest.mark.some(1)
@pytest.mark.parametrize("n", sweep((3, 4, 5, 6, 7, 8, 10, 13), keep=range(9)))
def test_every_t_and_ell_that_fits_n_clients_gives_the_same_labels(n):
    rows = np.random.default_rng(n).normal(size=(60, 5)).round(1)
    assert_pairs_give_equal_labels(np.array_split(rows, n), fitting_pairs(n))


@pytest.mark.parametrize("n", sweep((20, 40), keep=(20,)))
def test_the_extreme_t_and_ell_give_the_same_labels_when_many_clients_have_rows(n):
    rows, most = np.random.default_rng(n).normal(size=(60, 5)).round(1), (n + 1) // 2 - 1
    pairs = [(1, 1), (1, most), (most, 1), (most // 2 + 1, most // 2)]
    assert not set(pairs) - set(fitting_pairs(n))
    assert_pairs_give_equal_labels(np.array_split(rows, n), pairs)


@pytest.mark.some(1)
@pytest.mark.parametrize("scale", [5e-324 * 2**40, 1e-300, 1e-6, 1.0, 255.0, 1e300])
def test_the_scale_of_the_data_does_not_matter(scale):
    parties = np.array_split(np.random.default_rng(0).normal(size=(40, 3)) * scale, 5)
    result = secfc.run(parties, 3, t=1, ell=2, seed=0)
    exact = ExactLloyd(3, **begun_as(result.job, result.start)).fit(parties)
    np.testing.assert_array_equal(np.concatenate(result.labels), np.concatenate(exact.labels_))


def test_four_points_by_hand():
    # Sets {0, 10}, {1, 11} have means 5 and 6; 0 and 1 go to the first, 10 and 11 to the second: means 1/2
    # and 21/2, nothing moves. Inertia of the first iteration: 25 + 16 + 16 + 25.
    result = secfc.run(
        [[[0.0], [1.0]], [[10.0]], [[11.0]]], 2, 1, 1, init=[[0, 1], [0], [1]], disclosure="coded"
    )
    assert [labels.tolist() for labels in result.labels] == [[0, 0], [1], [1]]
    assert result.n_iter == 2
    assert result.converged
    np.testing.assert_allclose(result.history, [82.0, 1.0], rtol=1e-7)
    assert result.sizes.tolist() == [2, 2]
