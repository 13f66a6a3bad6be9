"""ExactLloyd: cases by hand, quantisation, and comparison with Python's fractions."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from support.lloyd import FractionLloyd, FractionRows, both, column, fit_quietly, lists
from support.sweeps import tries

import secfc
from plaintext_baselines import ExactLloyd
from plaintext_baselines._exact import ExactRows, digits, squared_norms
from plaintext_baselines._quantise import largest_norms, quantise, scale_exponent
from plaintext_baselines._start import random_start, separate

# by hand


@both
def test_four_points_by_hand(exact):
    # Start {0} and {10, 1, 11}: centres 0 and 22/3. Row 1 is nearer to 0, so labels 0 1 | 0 1 at a cost of
    # 0 + (10 - 22/3)^2 + 1 + (11 - 22/3)^2 = 64/9 + 1 + 121/9 = 194/9. Round 2: centres 1/2, 21/2, cost 1.
    parties = [column(0, 10), column(1, 11)]
    start = [np.array([0, 1]), np.array([1, 1])]
    model = exact(2, init=start, precision=4).fit(parties)
    assert lists(model.labels_) == [[0, 1], [0, 1]]
    assert model.cluster_centers_.tolist() == [[0.5], [10.5]]
    assert model.history_ == [194 / 9, 1.0]
    assert (model.n_iter_, model.inertia_, model.converged_) == (2, 1.0, True)
    assert (model.bound_, model.unit_) == (11.0, 1)


@both
def test_tie_goes_to_lowest_cluster(exact):
    # 1 is halfway between the centres 0 and 2, in either order of the clusters.
    for centres in ([[0.0], [2.0]], [[2.0], [0.0]]):
        model = fit_quietly(exact, [column(1, 3)], n_clusters=2, init=np.array(centres), max_iter=1)
        assert model.history_[0] == 2.0
        model = exact(2, init=np.array(centres), precision=4).fit([column(0, 2)])
        assert model.predict([column(1)])[0].tolist() == [0]


@both
def test_relocation_moves_the_farthest_row_to_the_empty_cluster(exact):
    # Centres 0, 100, 100: cluster 2 ties with 1 and gets no row. Row 7 is farthest from its own centre, so it
    # starts cluster 2. Round 2 has centres 1/2, 100 and 7.
    model = exact(3, init=column(0, 100, 100)).fit([column(0, 1, 7, 100)])
    assert lists(model.labels_) == [[0, 0, 2, 1]]
    assert model.history_[0] == 50.0
    assert model.inertia_ == 0.5


@both
def test_relocation_serves_empty_clusters_in_order_with_ties_by_row(exact):
    # All rows go to centre 0 of cluster 1. -5 and 5 are equally far, so the lower row starts cluster 0.
    model = exact(3, init=column(90, 0, 90)).fit([column(1, -5, 5, -1)])
    assert lists(model.labels_) == [[1, 0, 2, 1]]


@both
def test_donor_that_loses_its_only_row_stays_empty(exact):
    # Centres 0, 10, 80: labels 0 0 0 1, and cluster 2 is empty. Row 30, alone in cluster 1, is farthest from
    # its own centre, so it starts cluster 2. Cluster 1 has no row in round 2, then gets the farthest, 3.
    parties = [column(0, 1, 3, 30)]
    one = fit_quietly(exact, parties, n_clusters=3, init=column(0, 10, 80), max_iter=1)
    assert lists(one.labels_) == [[0, 0, 0, 2]]
    assert np.isnan(one.cluster_centers_).tolist() == [[False], [True], [False]]
    model = exact(3, init=column(0, 10, 80)).fit(parties)
    assert lists(model.labels_) == [[0, 0, 1, 2]]


@both
def test_nothing_is_relocated_when_all_rows_sit_on_their_centres(exact):
    model = exact(3, random_state=0).fit([np.full((5, 2), 7.5)])
    assert lists(model.labels_) == [[0] * 5]
    assert (model.n_iter_, model.inertia_, model.history_) == (2, 0.0, [0.0, 0.0])
    assert model.cluster_centers_[0].tolist() == [7.5, 7.5]
    assert np.isnan(model.cluster_centers_[1:]).all()


@both
def test_separation_by_hand(exact):
    # Sets {0, 1, 4}, {9, 10}: centres 5/3 and 19/2. The labels repeat the sets, so round 2 has the same
    # centres. Squared distances of 4 are 49/9 and 121/4: 49 <= 30.25 fails, so 4 is not in the core. The
    # others are (1: 4 <= 72.25, 9: 2.25 <= 53.8).
    pool = column(0, 1, 4, 9, 10)
    sets = separate(exact._arithmetic(pool, 2, 0), np.array([0, 0, 0, 1, 1]))
    assert sets.tolist() == [0, 0, -1, 1, 1]


@both
def test_separation_decides_to_the_last_of_51_bits(exact):
    # As above: 4a is three times as far from a as the centre 0 is; one less is not. Squares need 100 bits.
    for seed in range(20):
        a = int(np.random.default_rng(seed).integers(2**48, 2**49))
        for step, expected in ((-1, [0, -1, 1]), (0, [0, 0, 1]), (1, [0, 0, 1])):
            rows = exact._arithmetic(column(-a, a, 4 * a + step), 2, 0)
            assert separate(rows, np.array([0, 0, 1])).tolist() == expected


@both
def test_separation_keeps_all_rows_of_a_cluster_without_core(exact):
    # Centres 3/2 and 11/2: 0 is 3/2 and 11/2 away, 3 is 3/2 and 5/2. Both clusters have a core.
    kind = exact._arithmetic
    assert separate(kind(column(0, 3, 4, 7), 2, 0), np.array([0, 0, 1, 1])).tolist() == [0, -1, -1, 1]
    # Corners of squares around (0, 0) and (3, 0): squared distances 2 and 17 at best, so no row is in the
    # core.
    square = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]], dtype=float)
    pool = np.concatenate([square, square + np.array([3.0, 0.0])])
    assert separate(kind(pool, 2, 0), np.repeat([0, 1], 4)).tolist() == [0, 0, 0, 0, 1, 1, 1, 1]


@both
def test_start_rounds_of_separation_are_not_counted(exact):
    parties = [column(0, 1, 2), column(100, 101, 102)]
    model = exact(2, init="separation", random_state=3).fit(parties)
    assert (model.n_iter_, model.history_) == (1, [4.0])


@both
def test_max_iter_reports_one_more_assignment_and_warns(exact):
    start = [np.array([0, 1, 1, 1])]
    model = exact(2, init=start, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        model.fit([column(0, 1, 10, 11)])
    assert lists(model.labels_) == [[0, 0, 1, 1]]
    assert model.cluster_centers_.tolist() == [[0.5], [10.5]]
    assert (model.n_iter_, model.converged_, len(model.history_)) == (1, False, 1)
    assert model.inertia_ == 1.0


@both
@pytest.mark.parametrize(
    ("tol_moved", "n_iter", "first"),
    [(0, 5, 5), (0.1, 5, 5), (0.11, 3, 5), (0.2, 3, 5), (0.21, 2, 4), (0.999, 2, 4)],
)
def test_few_changed_labels_end_the_rounds_and_one_more_assignment_follows(exact, tol_moved, n_iter, first):
    # Cluster 0 has the first row, then 3, 4 and 5: the borders are 1/2, (0 + 5)/2, (1 + 6)/2 and, a tie,
    # (3/2 + 13/2)/2; then (2 + 7)/2 changes nothing. So rounds 2 to 5 change 2, 1, 1 and 0 of 10 labels.
    # The float 0.1 is more than 1/10, and 1 row is not fewer than 0.1 of 10.
    model = exact(2, init=column(0, 1), tol_moved=tol_moved).fit([column(*range(10))])
    assert lists(model.labels_) == [[0] * first + [1] * (10 - first)]
    assert (model.n_iter_, model.converged_, len(model.history_)) == (n_iter, True, n_iter)
    ended = fit_quietly(exact, [column(*range(10))], n_clusters=2, init=column(0, 1), max_iter=n_iter)
    assert (ended.inertia_, ended.history_) == (model.inertia_, model.history_)
    assert ended.cluster_centers_.tolist() == model.cluster_centers_.tolist()


@both
def test_no_tolerance_ends_the_first_round(exact):
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        model = exact(2, init=column(0, 1), tol_moved=0.999, max_iter=1).fit([column(*range(10))])
    assert (model.n_iter_, model.converged_) == (1, False)


@both
def test_a_cluster_that_is_emptied_in_the_last_round_has_got_its_row(exact):
    # Round 1 has 21 | 19, -19 | -21, so centres 21, 0, -21. Round 2 changes two labels of four and leaves
    # cluster 1 without a row, so it gets 19.
    model = exact(3, init=column(40, 0, -40), tol_moved=0.51).fit([column(21, 19, -19, -21)])
    assert lists(model.labels_) == [[0, 1, 2, 2]]
    assert (model.n_iter_, model.converged_) == (2, True)


def test_as_many_clusters_as_rows_gives_every_row_its_own():
    model = ExactLloyd(5, random_state=1).fit([column(0, 3, 1), column(9, 5)])
    assert sorted(np.concatenate(model.labels_).tolist()) == [0, 1, 2, 3, 4]
    assert model.inertia_ == 0.0


# quantisation


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        (0.0, 28),
        (1.0, 28),
        (1.5, 27),
        (2.0, 27),
        (0.5, 29),
        (0.75, 28),
        (5e-324, 28 + 1074),
        (1e300, 28 - 997),
        (np.nextafter(8.0, 9.0), 24),
        (np.nextafter(8.0, 7.0), 25),
    ],
)
def test_exponent_is_precision_less_ceil_log2_of_bound(bound, expected):
    assert scale_exponent(bound, 28) == expected


def test_halves_are_rounded_to_even():
    assert quantise([column(0.5, 1.5, 2.5, -0.5, -1.5)], Fraction(1)).ravel().tolist() == [0, 2, 2, 0, -2]


@pytest.mark.parametrize("scale", [1e-310, 1e-300, 1e-6, 1.0, 1e300])
def test_norms_neither_overflow_nor_vanish(scale):
    parties = [np.array([[3.0, 4.0]]) * scale, np.empty((0, 2)), np.array([[1.0, 0.0]]) * scale]
    assert largest_norms(parties) == pytest.approx([5 * scale, 0.0, scale])


@both
@pytest.mark.parametrize("scale", [2.0**-1000, 2.0**-20, 1.0, 2.0**1000])
def test_scaling_by_a_power_of_two_changes_nothing(exact, scale):
    rows = np.random.default_rng(5).normal(size=(60, 3))
    reference = exact(4, random_state=2).fit([rows])
    model = exact(4, random_state=2).fit([rows * scale])
    assert lists(model.labels_) == lists(reference.labels_)
    assert (model.cluster_centers_ / scale).tolist() == reference.cluster_centers_.tolist()
    square = Fraction(scale) ** 2 * Fraction(reference.inertia_)
    assert model.inertia_ == (np.inf if square > 2**1024 else float(square))


# comparison with fractions


def assert_same(parties, **parameters):
    reference = fit_quietly(FractionLloyd, parties, **parameters)
    model = fit_quietly(ExactLloyd, parties, **parameters)
    assert lists(model.labels_) == lists(reference.labels_)
    assert model.n_iter_ == reference.n_iter_
    assert model.converged_ == reference.converged_
    assert model.inertia_ == reference.inertia_
    assert model.history_ == reference.history_
    np.testing.assert_array_equal(model.cluster_centers_, reference.cluster_centers_)
    assert lists(model.predict(parties)) == lists(reference.labels_)
    assert lists(reference.predict(parties)) == lists(reference.labels_)


def as_fractions(centres):
    return [centre and [Fraction(entry, centre.size) for entry in centre.total] for centre in centres]


@st.composite
def tied_problems(draw):
    """Few distinct small integers, so that ties, duplicates and emptied clusters are common."""
    n_features = draw(st.integers(1, 3))
    n_rows = draw(st.integers(1, 14))
    reach = draw(st.sampled_from([1, 2, 5, 1000]))
    entry = st.integers(-reach, reach)
    rows = draw(
        st.lists(st.lists(entry, min_size=n_features, max_size=n_features), min_size=n_rows, max_size=n_rows)
    )
    offset = draw(st.sampled_from([0, 0, 10**6]))
    unit = draw(st.sampled_from([1.0, 1 / 3, 1e-300, 1e290]))
    pool = (np.array(rows, dtype=float) + offset) * unit
    cut = draw(st.integers(0, n_rows))
    n_clusters = draw(st.integers(1, min(n_rows, 6)))
    centres = st.lists(
        st.lists(entry, min_size=n_features, max_size=n_features), min_size=n_clusters, max_size=n_clusters
    )
    init = draw(st.one_of(st.sampled_from(["random", "separation"]), centres))
    return {
        "parties": [pool[:cut], pool[cut:]],
        "n_clusters": n_clusters,
        "init": init if isinstance(init, str) else (np.array(init) + offset) * unit,
        "n_init": draw(st.integers(1, 4)) if isinstance(init, str) else 1,
        "random_state": draw(st.integers(0, 10)),
        "precision": draw(st.sampled_from([1, 2, 3, 8, 20, 28, 51, 52])),
        "max_iter": draw(st.sampled_from([1, 2, 3, 50])),
        "tol_moved": draw(st.sampled_from([0, 0.05, 0.1, 0.3, 0.5, 0.99])),
    }


@tries(3)
@given(tied_problems())
def test_results_are_those_of_fractions_on_ties(problem):
    assert_same(**problem)


@tries(2)
@given(tied_problems())
def test_every_operation_gives_what_fractions_give(problem):
    exponent = scale_exponent(max(largest_norms(problem["parties"])), problem["precision"])
    pool = quantise(problem["parties"], Fraction(2) ** -exponent)
    k = problem["n_clusters"]
    sets = random_start(k, len(pool), problem["random_state"])
    slow, fast = FractionRows(pool, k, Fraction(1)), ExactRows(pool, k, Fraction(1))
    centres = fast.means(sets)
    assert as_fractions(slow.means(sets)) == as_fractions(centres)
    reference, assignment = slow.assign(centres), fast.assign(centres)
    assert reference.labels.tolist() == assignment.labels.tolist()
    lower, upper = assignment.distances
    bounds = zip(lower, reference.distances, upper, strict=True)
    assert all(low <= distance <= high for low, distance, high in bounds)
    assert slow.distances_from(0).tolist() == fast.distances_from(0).tolist()
    assert slow.score(centres, reference) == fast.score(centres, assignment)
    for count in range(1, len(pool) + 1):
        assert slow.farthest(centres, reference, count) == fast.farthest(centres, assignment, count)
    assert slow.separated(centres, reference).tolist() == fast.separated(centres, assignment).tolist()


@pytest.mark.some(6)
@pytest.mark.parametrize("precision", [1, 2, 7, 28, 40, 52])
@pytest.mark.parametrize(("n_rows", "n_features", "k"), [(200, 1, 3), (150, 7, 5), (40, 130, 4), (30, 2, 30)])
def test_results_are_those_of_fractions_on_real_numbers(precision, n_rows, n_features, k):
    rng = np.random.default_rng(n_rows + precision)
    pool = rng.normal(size=(n_rows, n_features)) + 3
    parties = [pool[:10], np.empty((0, n_features)), pool[10:]]
    for init in ("random", "separation", pool[:k] / 3):
        assert_same(parties, n_clusters=k, init=init, precision=precision, random_state=precision)


@pytest.mark.parametrize("far", [1e30, 1e200, 1e308])
def test_results_are_those_of_fractions_from_centres_far_away(far):
    rows = np.random.default_rng(0).normal(size=(30, 2))
    centres = np.array([[far, far], [0.0, 1.0], [-far, far]])
    assert_same([rows], n_clusters=3, init=centres)
    assert_same([rows * 1e-300], n_clusters=3, init=centres)


def test_results_are_those_of_fractions_on_offset_data_where_float64_cannot_decide():
    # At 52 bits, rows differ only in the last bits.
    rng = np.random.default_rng(1)
    pool = 1.0 + rng.integers(-8, 9, size=(60, 4)) * 2.0**-50
    assert_same([pool], n_clusters=5, precision=52, random_state=0)
    pool[:, 0] *= rng.choice([-1, 1], size=60)  # so that no common shift helps
    for seed in range(5):
        assert_same([pool], n_clusters=12, precision=52, random_state=seed)


def test_sums_beyond_53_and_64_bits_are_exact():
    # 2^20 rows of 52 bits sum to 2^72; one column of ones in the last bit checks that nothing is lost.
    n_rows = 2**20
    pool = np.empty((n_rows, 2))
    pool[:, 0] = 2.0**52
    pool[:, 1] = -(2.0**52) + 1
    pool[0] = 0.0
    sets = np.zeros(n_rows, dtype=np.int64)
    rows = ExactRows(pool, 1, Fraction(1))
    centres = rows.means(sets)
    assert centres[0].total.tolist() == [(n_rows - 1) * 2**52, (n_rows - 1) * (1 - 2**52)]
    assert centres[0].size == n_rows
    # One row apart: sum of squared distances is n (n-1) / n^2 times the squared step.
    step = 2**104 + (2**52 - 1) ** 2
    assignment = rows.assign(centres)
    assert rows.inertia(centres, assignment) == float(Fraction(n_rows - 1, n_rows) * step)


@pytest.mark.parametrize("rows", [FractionRows, ExactRows])
def test_unassigned_rows_belong_to_no_mean(rows):
    assert as_fractions(rows(column(1, 5, 100), 2, 0).means(np.array([0, 0, -1]))) == [[3], None]


@pytest.mark.parametrize("width", [1, 20, 26, 52])
def test_digits_are_short_and_add_up_to_the_numbers(width):
    whole = np.array([0.0, 1.0, -1.0, 2.0**53 - 1, 1 - 2.0**53, 2.0**52, -(2.0**51) - 1, 12345678901.0])
    found = list(digits(whole, 53, width))
    assert all((np.abs(digit) < 2.0**width).all() for digit in found)
    sums = [sum(int(digit[i]) << at * width for at, digit in enumerate(found)) for i in range(len(whole))]
    assert sums == [int(x) for x in whole]


@pytest.mark.parametrize("n_features", [1, 1023, 1024, 1025, 5000])
def test_squared_norms_of_the_largest_numbers_are_exact(n_features):
    rows = np.full((2, n_features), 2.0**53 - 1)
    rows[1] *= -1
    assert squared_norms(rows, 53).tolist() == [n_features * (2**53 - 1) ** 2] * 2


class TestFarthestRowsThatTie:
    """Emptied clusters get the farthest rows, of equally far ones the first; scikit-learn has no order."""

    @pytest.mark.parametrize("seed", range(10))
    def test_runs_and_the_oracle_agree(self, seed):
        rng = np.random.default_rng(seed)
        rows = [rng.integers(-4, 5, size=(4, 1)).astype(float) for _ in range(3)]
        start = [rng.permutation(np.arange(4) % 3) for _ in rows]
        exact = ExactLloyd(3, init=start, precision=20).fit(rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", secfc.ConvergenceWarning)
            found = secfc.run(rows, 3, 1, 1, init=start, precision=20)
        assert [one.tolist() for one in found.labels] == [one.tolist() for one in exact.labels_]
        assert found.n_iter == exact.n_iter_

    def test_a_case_in_which_scikit_learn_takes_another_row(self):
        """Rows 0, 1 and 5 are equally far when cluster 2 is emptied."""
        rows = np.array([[3.0], [-3.0], [-1.0], [2.0], [1.0], [-3.0], [1.0]])
        start = np.array([1, 2, 1, 2, 2, 0, 0])
        exact = ExactLloyd(3, init=[start], precision=20).fit([rows])
        assert exact.labels_[0].tolist() == [2, 0, 0, 1, 1, 0, 1]
        centres = np.array([rows[start == h].mean(axis=0) for h in range(3)])
        theirs = KMeans(3, init=centres, n_init=1, tol=0).fit(rows)
        assert theirs.labels_.tolist() != exact.labels_[0].tolist()
