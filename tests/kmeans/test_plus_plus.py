"""The k-means++ start: its draws, its greedy choice and its questions, compared with Python's integers."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import kmeans_plusplus
from support.sweeps import tries

import secfc
from plaintext_baselines import ExactLloyd
from plaintext_baselines._plus_plus import plus_plus_rows
from secfc.field.mixed_radix import MixedRadix
from secfc.field.primes import primes_of
from secfc.kmeans.plus_plus import PlusPlus, candidates_of
from secfc.kmeans.sets import asked_about, set_sizes
from secfc.params import Job

RADIX = MixedRadix(primes_of(3))


def distances(rows, row):
    return [sum((x - y) ** 2 for x, y in zip(other, rows[row], strict=True)) for other in rows]


def digits_of(values):
    found, rest = [], np.array(values, dtype=object)
    for p in RADIX.primes:
        found.append((rest % p).astype(float))
        rest = rest // p
    return np.array(found)


def choose(rows, k, seed, block=None):
    """The final rows of `PlusPlus`, and the sets that it asked about."""
    seeds = PlusPlus(m=len(rows), k=k, rng=np.random.default_rng(seed))
    asked = []
    more = True
    while more:
        asked.append(seeds.sets)
        candidates = [int(np.flatnonzero(seeds.sets == h)[0]) for h in range(int(seeds.sets.max()) + 1)]
        every = digits_of([distances(rows, row) for row in candidates])
        step = block or len(rows)
        for start in range(0, len(rows), step):
            part = slice(start, min(start + step, len(rows)))
            seeds.add(part, every[:, :, part], RADIX)
        more = seeds.end_round()
    return [int(np.flatnonzero(seeds.sets == h)[0]) for h in range(k)], asked


@pytest.mark.parametrize(("k", "count"), [(1, 1), (2, 2), (3, 3), (10, 4), (100, 6)])
def test_candidates_are_as_many_as_scikit_learns(k, count):
    assert candidates_of(k) == count


@settings(deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=15),
    data=st.data(),
    scale=st.sampled_from([1, 2**30]),
    seed=st.integers(0, 99),
)
def test_chosen_rows_are_those_of_python_integers(rows, data, scale, seed):
    rows = [[x * scale for x in row] for row in rows]
    k = data.draw(st.integers(1, len(rows)))
    block = data.draw(st.integers(1, len(rows)))
    expected = plus_plus_rows(lambda row: np.array(distances(rows, row), dtype=object), len(rows), k, seed)
    assert choose(rows, k, seed, block)[0] == expected


def test_a_question_is_about_single_rows():
    rows = np.random.default_rng(0).integers(0, 100, (30, 2)).tolist()
    for sets in choose(rows, 6, seed=1)[1]:
        assert set_sizes(sets, 6).max() == 1


def test_as_many_questions_as_clusters():
    rows = np.random.default_rng(0).integers(0, 100, (30, 2)).tolist()
    assert len(choose(rows, 6, seed=1)[1]) == 6


def test_no_row_is_chosen_twice_where_rows_coincide():
    chosen, asked = choose([[0, 0], [5, 5], [0, 0], [5, 5]], 4, seed=0)
    assert sorted(chosen) == [0, 1, 2, 3]
    assert len(asked) == 2  # after two questions every row is at a centre


def test_far_rows_are_drawn_in_proportion_to_their_squared_distance():
    # From row 0 the squared distances are 0, 1 and 9. With k = 2 two candidates are drawn, so the farther row
    # is missed only if both draws give the nearer one: 1/100.
    rows = [[0], [1], [-3]]
    picked = Counter(tuple(choose(rows, 2, seed)[0]) for seed in range(3000))
    from_first = picked[0, 1] + picked[0, 2]
    assert from_first / 3000 == pytest.approx(1 / 3, abs=0.03)
    assert picked[0, 1] / from_first == pytest.approx(0.01, abs=0.01)


def test_the_potential_is_distributed_as_scikit_learns():
    rng = np.random.default_rng(2)
    rows = np.vstack([rng.integers(0, 40, (25, 2)) + at for at in ([0, 0], [200, 0], [0, 200], [90, 90])])

    def potential(chosen):
        return float(((rows[:, None] - rows[chosen]) ** 2).sum(axis=2).min(axis=1).sum())

    ours = [potential(choose(rows.tolist(), 4, seed)[0]) for seed in range(150)]
    theirs = [potential(kmeans_plusplus(rows.astype(float), 4, random_state=seed)[1]) for seed in range(150)]
    assert np.mean(ours) == pytest.approx(np.mean(theirs), rel=0.1)


# In a whole run

_RNG = np.random.default_rng(3)
ROWS = [(_RNG.normal(size=(m, 3)) + _RNG.integers(5, size=(m, 1)) * 4).round(4) for m in (9, 0, 14, 12, 5)]


@pytest.mark.some(4)
@pytest.mark.parametrize("precision", [3, 32, 52])
@pytest.mark.parametrize("k", [1, 2, 7])
def test_labels_equal_exact_lloyds_with_the_same_public_seed(precision, k):
    result = secfc.run(ROWS, k, 1, 2, init="k-means++", precision=precision, seed=6, disclosure="coded")
    exact = ExactLloyd(k, init="k-means++", precision=precision, random_state=6).fit(ROWS)
    for ours, theirs in zip(result.labels, exact.labels_, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert (result.inertia, result.n_iter) == (exact.inertia_, exact.n_iter_)


def test_the_start_of_a_result_is_one_row_for_each_cluster():
    result = secfc.run(ROWS, 4, 1, 2, init="k-means++", seed=0)
    start = np.concatenate(result.start)
    assert sorted(start[start >= 0]) == [0, 1, 2, 3]


def test_starts_share_once_and_the_best_is_kept():
    options = {"init": "k-means++", "seed": 0, "disclosure": "coded"}
    one = secfc.run(ROWS, 6, 1, 2, **options)
    many = secfc.run(ROWS, 6, 1, 2, **options, n_init=5)
    shares = [[m for m in result.costs.messages if m.kind == "Share"] for result in (one, many)]
    assert len(shares[0]) == len(shares[1]) > 0
    assert many.inertia <= one.inertia


def test_an_answer_about_candidates_is_no_wider_than_they_are():
    result = secfc.run(
        [rows[:30] for rows in np.random.default_rng(0).normal(size=(3, 300, 2))],
        20,
        1,
        1,
        init="k-means++",
        seed=0,
        disclosure="coded",
    )
    sizes = {m.round: m.size for m in result.costs.messages if m.kind == "CodedDistances"}
    assert sizes[2] < max(sizes.values()) / 4


def test_a_client_that_answers_for_no_single_row_refuses_before_anything_is_shared():
    told = []
    with pytest.raises(
        secfc.LimitError, match=r"parties\[0\] .* at least 2 rows, but init='k-means\+\+' uses"
    ):
        secfc.run(ROWS, 2, 1, 2, init="k-means++", limits=secfc.Limits(smallest_set=2), progress=told.append)
    assert told == []


@pytest.mark.filterwarnings("ignore::secfc.ConvergenceWarning")
def test_rounds_of_a_run_stay_within_the_jobs_own_limit():
    result = secfc.run(ROWS, 9, 1, 2, init="k-means++", n_init=2, max_iter=2, seed=0, disclosure="coded")
    assert max(m.round for m in result.costs.messages) <= result.job.max_rounds
    assert (
        Job(n=3, k=9, t=1, ell=1, d=1, bound=1.0, init="k-means++", max_iter=2, disclosure="coded").max_rounds
        == 12
    )


def test_sets_asked_about_end_with_the_last_that_has_a_row():
    assert asked_about(np.array([0, 3, 0, 1, 0])) == 4


@tries(0.5)
@given(seed=st.integers(0, 10**6))
def test_any_seed_gives_exact_lloyds_labels(seed):
    rows = np.random.default_rng(seed).integers(0, 4, (20, 2)).astype(float)
    parties = np.split(rows, [7, 9])
    result = secfc.run(parties, 5, 1, 1, init="k-means++", seed=seed)
    exact = ExactLloyd(5, init="k-means++", random_state=seed).fit(parties)
    assert [part.tolist() for part in result.labels] == [part.tolist() for part in exact.labels_]
