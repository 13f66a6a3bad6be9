"""Weights of rows: labels and the inertia of exact Lloyd with weights, for every start."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from support.sweeps import tries

import secfc
from plaintext_baselines import ExactLloyd
from secfc import Limits, SecureKMeans
from secfc.errors import DataError, LimitError, ParameterError
from secfc.kmeans.sets import rows_hidden_among
from secfc.report.learned import who_learned_what

pytestmark = pytest.mark.filterwarnings("ignore")

PARTIES = [np.array([[0.0], [1.0]]), np.array([[9.0], [10.0], [4.0]]), np.array([[2.0]])]
WEIGHTS = [[1, 5], [2, 1, 3], [4]]
WILLING = Limits(reveal_centres=True, reveal_inertia=True, reveal_spread=10, predict=True)


def run(parties=PARTIES, k=2, **more):
    return secfc.run(parties, k, **{"t": 1, "ell": 1, "seed": 1, "sample_weight": WEIGHTS} | more)


def test_opened_centres_and_spreads_are_weighted():
    rng = np.random.default_rng(3)
    parties = [np.vstack([rng.normal(0, 1, (12, 2)), rng.normal(9, 1, (12, 2))]) for _ in range(3)]
    weights = [rng.integers(1, 9, 24) for _ in parties]
    opened = {"reveal": secfc.Reveal(centres="all", spread=True, inertia=True), "limits": WILLING}
    found = run(parties, sample_weight=weights, **opened)
    rows, w, labels = np.vstack(parties), np.concatenate(weights), np.concatenate(found.labels)
    for h in range(2):
        mean = np.average(rows[labels == h], axis=0, weights=w[labels == h])
        variance = np.average((rows[labels == h] - mean) ** 2, axis=0, weights=w[labels == h])
        np.testing.assert_allclose(found.cluster_centers[h], mean, rtol=1e-6)
        np.testing.assert_allclose(found.cluster_std[h], np.sqrt(variance), rtol=1e-6)
    model = KMeans(2, init=found.cluster_centers, n_init=1).fit(rows, sample_weight=w)
    assert found.inertia == pytest.approx(model.inertia_, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_oracle_agrees_with_scikit_learn_and_its_relocation(seed):
    rng = np.random.default_rng(seed)
    rows, weights = rng.normal(0, 3, (30, 2)), rng.integers(1, 20, 30)
    first = np.vstack([rows[:3], [[50.0, 50.0], [60.0, 60.0]]])  # two centres that are nearest to no row
    exact = ExactLloyd(5, init=first, precision=50).fit([rows], sample_weight=[weights])
    floats = KMeans(5, init=first, n_init=1, tol=0, algorithm="lloyd").fit(rows, sample_weight=weights)
    assert exact.labels_[0].tolist() == floats.labels_.tolist()
    assert exact.inertia_ == pytest.approx(floats.inertia_, rel=1e-9)


def test_the_page_of_a_run_says_that_everybody_was_told_weights():
    weighted, plainly = run(), run(sample_weight=None)
    assert "the weight of every row" in who_learned_what(weighted.job, 3)[0].what
    assert "weight" not in who_learned_what(plainly.job, 3)[0].what


def test_an_estimator_takes_weights_and_predicts_by_weighted_means():
    model = SecureKMeans(2, t=1, ell=1, random_state=1, limits=WILLING, init=[[0, 0], [1, 1, 0], [0]])
    weights = [[1, 1], [1, 1, 20], [1]]
    model.fit(PARTIES, sample_weight=weights)
    of = np.array([[1, 1, 1, 1, 20, 1], np.concatenate(model.labels_)])
    rows = np.concatenate(PARTIES)[:, 0]
    means = [np.average(rows[of[1] == h], weights=of[0][of[1] == h]) for h in range(2)]
    new = np.array([[np.mean(means) - 0.05], [np.mean(means) + 0.05]])
    nearest = [int(np.argmin([abs(one - mean) for mean in means])) for one in new[:, 0]]
    assert nearest[0] != nearest[1]
    assert model.predict_parties(PARTIES, [new, np.empty((0, 1)), np.empty((0, 1))])[0].tolist() == nearest


class TestSetsThatAreTooSmall:
    def test_a_weight_makes_no_set_of_one_row_large(self):
        with pytest.raises(LimitError, match=r"at least 2 rows, but round 1 has a set of 1$"):
            run(init=[[0, 0], [0, 0, 1], [0]], limits=Limits(smallest_set=2))

    def test_a_row_with_nearly_all_the_weight_of_a_set_is_not_hidden_in_it(self):
        start = [[0, 0], [1, 1, 1], [0]]
        given = {"init": start, "limits": Limits(smallest_set=2), "max_iter": 1}
        run(sample_weight=[[1, 1], [1, 1, 1], [1]], **given)
        with pytest.raises(LimitError, match=r"at least 2 rows, but round 1 has a set of 1$"):
            run(sample_weight=[[1, 1], [5, 1, 1], [1]], **given)

    def test_centres_are_not_opened_of_such_a_cluster(self):
        parties = [np.array([[0.0], [0.1]]), np.array([[9.0], [9.1]]), np.array([[0.2], [9.2]])]
        limits = Limits(reveal_centres=True, smallest_set=2)
        given = {"init": [[0, 0], [1, 1], [0, 1]], "reveal": secfc.Reveal(centres=[2]), "limits": limits}
        run(parties, sample_weight=[[1, 1], [5, 5], [1, 5]], **given)
        # Without the recipient's row, one row has five sixths of the weight.
        with pytest.raises(LimitError, match=r"for clients 3 a cluster has fewer"):
            run(parties, sample_weight=[[1, 1], [1, 5], [1, 5]], **given)

    @given(st.data())
    @tries(20)
    def test_a_set_counts_for_no_more_rows_than_it_has(self, data):
        m = data.draw(st.integers(1, 12))
        sets = np.array(data.draw(st.lists(st.integers(-1, 2), min_size=m, max_size=m)), dtype=np.int32)
        weights = np.array(data.draw(st.lists(st.integers(1, 2**20), min_size=m, max_size=m)))
        rows = np.bincount(sets[sets >= 0], minlength=3)
        counted = rows_hidden_among(sets, 3, weights)
        assert (counted <= rows).all()
        assert ((counted > 0) == (rows > 0)).all()
        assert rows_hidden_among(sets, 3, np.full(m, 5)).tolist() == rows.tolist()


@pytest.mark.parametrize(
    ("weights", "kind", "text"),
    [
        ([1, 1, 1], DataError, r"^parties\[0\]: sample_weight must be a one-dimensional array of whole num"),
        ([[1.0, 2.0], [1, 1, 1], [1]], DataError, r"^parties\[0\]: sample_weight must be a one-dim"),
        ([[True, True], [1, 1, 1], [1]], DataError, r"^parties\[0\]: sample_weight must be a one-dim"),
        ([[1, 1], [1, 1], [1]], DataError, r"^parties\[1\]: 2 weights for 3 rows$"),
        (
            [[1, 1], [1, 1, 1], [0]],
            DataError,
            r"^parties\[2\]: weights must lie in 1..8388608; leave a row",
        ),
        ([[1, 1], [1, -1, 1], [1]], DataError, r"^parties\[1\]: weights must lie in 1..8388608"),
        ([[1, 1], [1, 1, 1]], ParameterError, r"^sample_weight: a list with one integer array for each of 3"),
        ([[1, 1], [1, 2**23 + 1, 1], [1]], DataError, r"^parties\[1\]: weights must lie in 1..8388608"),
    ],
)
def test_weights_that_cannot_be_used_are_one_clear_error(weights, kind, text):
    with pytest.raises(kind, match=text):
        run(sample_weight=weights)


MANY = np.split(np.random.default_rng(5).normal(size=(65, 1)), [20, 40])


def test_weights_of_more_than_rows_can_be_are_one_clear_error():
    with pytest.raises(
        ParameterError, match=r"^sample_weight: at most 536870912 in all, 545259520 was given"
    ):
        run(MANY, sample_weight=[[2**23] * len(rows) for rows in MANY])


def test_weights_that_take_too_many_bits_are_named_with_what_they_count_as():
    weights = [[2**23] * len(rows) for rows in MANY[:2]] + [[2**23] * 20 + [1] * 5]
    with pytest.raises(
        ParameterError, match=r"^pairs of sets of .*; here a row counts as many times as its weight$"
    ):
        run(MANY, sample_weight=weights, n_init=2, precision=52)
