"""The k-means++ start in the clear, its distribution, and whole runs with it."""

from collections import Counter

import numpy as np
import pytest
from sklearn.cluster import kmeans_plusplus

import secfc
from plaintext_baselines._plus_plus import plus_plus_rows
from secfc.kmeans.sets import asked_about
from secfc.operations.beginning.plus_plus import candidates_of
from secfc.protocol.job.making import make_job


def distances(rows, row):
    return [sum((x - y) ** 2 for x, y in zip(other, rows[row], strict=True)) for other in rows]


def choose(rows, k, seed):
    return plus_plus_rows(lambda row: np.array(distances(rows, row), dtype=object), len(rows), k, seed)


@pytest.mark.parametrize(("k", "count"), [(1, 1), (2, 2), (3, 3), (10, 4), (100, 6)])
def test_candidates_are_as_many_as_scikit_learns(k, count):
    assert candidates_of(k) == count


def test_far_rows_are_drawn_in_proportion_to_their_squared_distance():
    # From row 0 the squared distances are 0, 1 and 9. With k = 2 two candidates are drawn, so the farther row
    # is missed only if both draws give the nearer one: 1/100.
    rows = [[0], [1], [-3]]
    picked = Counter(tuple(choose(rows, 2, seed)) for seed in range(3000))
    from_first = picked[0, 1] + picked[0, 2]
    assert from_first / 3000 == pytest.approx(1 / 3, abs=0.03)
    assert picked[0, 1] / from_first == pytest.approx(0.01, abs=0.01)


def test_the_potential_is_distributed_as_scikit_learns():
    rng = np.random.default_rng(2)
    rows = np.vstack([rng.integers(0, 40, (25, 2)) + at for at in ([0, 0], [200, 0], [0, 200], [90, 90])])

    def potential(chosen):
        return float(((rows[:, None] - rows[chosen]) ** 2).sum(axis=2).min(axis=1).sum())

    ours = [potential(choose(rows.tolist(), 4, seed)) for seed in range(150)]
    theirs = [potential(kmeans_plusplus(rows.astype(float), 4, random_state=seed)[1]) for seed in range(150)]
    assert np.mean(ours) == pytest.approx(np.mean(theirs), rel=0.1)


# In a whole run

_RNG = np.random.default_rng(3)
ROWS = [(_RNG.normal(size=(m, 3)) + _RNG.integers(5, size=(m, 1)) * 4).round(4) for m in (9, 0, 14, 12, 5)]


def test_the_best_of_several_starts_is_kept():
    options = {"init": "k-means++", "seed": 0, "reveal": secfc.Reveal(inertia=True)}
    options["limits"] = secfc.Limits(reveal_inertia=True)
    one = secfc.run(ROWS, 4, 1, 2, **options)
    many = secfc.run(ROWS, 4, 1, 2, **options, n_init=3)
    assert many.inertia <= one.inertia


def test_the_smallest_set_is_not_about_rows_that_nobody_sees_drawn():
    options = {"init": "k-means++", "seed": 0}
    limited = secfc.run(ROWS, 2, 1, 2, **options, limits=secfc.Limits(smallest_set=20))
    free = secfc.run(ROWS, 2, 1, 2, **options)
    assert [one.tolist() for one in limited.labels] == [one.tolist() for one in free.labels]
    with pytest.raises(secfc.LimitError, match="40 rows are too few for k=2 such sets"):
        secfc.run(ROWS, 2, 1, 2, **options, limits=secfc.Limits(smallest_set=21))


@pytest.mark.filterwarnings("ignore::secfc.ConvergenceWarning")
def test_rounds_of_a_run_stay_within_the_jobs_own_limit():
    result = secfc.run(ROWS, 9, 1, 2, init="k-means++", n_init=2, max_iter=2, seed=0)
    assert max(m.round for m in result.costs.messages) <= result.job.max_rounds
    assert make_job(n=3, k=9, t=1, ell=1, d=1, bound=1.0, init="k-means++", max_iter=2).max_rounds == 12


def test_sets_asked_about_end_with_the_last_that_has_a_row():
    assert asked_about(np.array([0, 3, 0, 1, 0])) == 4
