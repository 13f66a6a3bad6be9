"""Partitioners: no row is used twice, the promised sizes, the papers' definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plaintext_baselines import partition


def covers(parts, n_rows):
    return sorted(np.concatenate(parts).tolist()) == list(range(n_rows))


@settings(deadline=None, max_examples=40, derandomize=True)
@given(st.integers(1, 40), st.integers(1, 9), st.integers(0, 99))
def test_every_row_has_one_owner(n_rows, n_parties, seed):
    rows = np.random.default_rng(seed).normal(size=(n_rows, 2))
    for parts in (
        partition.iid(n_rows, n_parties, random_state=seed),
        partition.uniform(n_rows, n_parties, random_state=seed),
        partition.non_iid(rows, n_parties, random_state=seed),
        partition.half_iid(rows, n_parties, random_state=seed),
        partition.by_distance(rows, rows[:1].repeat(n_parties, axis=0), 1.0, random_state=seed),
    ):
        assert len(parts) == n_parties
        assert covers(parts, n_rows)


def test_iid_sizes_differ_by_at_most_one():
    assert sorted(len(part) for part in partition.iid(11, 4, random_state=0)) == [2, 3, 3, 3]


def test_non_iid_parties_hold_separate_regions():
    rows = np.concatenate([np.random.default_rng(0).normal(c, 0.1, size=(20, 2)) for c in (0, 5, 10)])
    parts = partition.non_iid(rows, 3, random_state=0)
    assert sorted(sorted(set((part // 20).tolist())) for part in parts) == [[0], [1], [2]]


@pytest.mark.parametrize(("n_parties", "k_prime"), [(10, 1), (10, 2), (4, 1), (10, 4), (2, 2), (3, 3)])
def test_parties_hold_at_most_k_prime_clusters(n_parties, k_prime):
    labels = np.repeat(np.arange(4), 30)
    parts = partition.by_clusters(labels, n_parties, k_prime, random_state=0)
    assert covers(parts, 120)
    assert all(0 < len(set(labels[part].tolist())) <= k_prime for part in parts)


def test_too_few_seats_for_the_clusters():
    with pytest.raises(ValueError, match="3 parties with clusters_per_party=1 cannot hold 4 clusters"):
        partition.by_clusters([0, 1, 2, 3], 3, 1)


def test_by_counts_gives_just_these():
    labels = np.array(["b"] * 5 + ["a"] * 6)
    parts = partition.by_counts(labels, [[2, 5], [3, 0], [0, 0]], random_state=0)
    assert [sorted(labels[part].tolist()) for part in parts] == [["a", "a", *"bbbbb"], ["a"] * 3, []]
    with pytest.raises(ValueError, match="counts ask for 6 rows of cluster b, it has 5"):
        partition.by_counts(labels, [[0, 6]])
    with pytest.raises(ValueError, match=r"of shape \(n_parties, 2\)"):
        partition.by_counts(labels, [[1, 1, 1]])


def test_distances_decide_at_small_beta():
    rows = np.random.default_rng(0).uniform(-10, 10, size=(400, 2))
    places = np.array([[-10.0, 0.0], [10.0, 0.0]])
    near = (rows[:, 0] > 0).astype(int)
    for beta, low, high in ((1e-6, 1.0, 1.0), (1e3, 0.4, 0.6)):
        parts = partition.by_distance(rows, places, beta, random_state=0)
        agree = np.mean([near[row] == party for party, part in enumerate(parts) for row in part])
        assert low <= agree <= high


def test_hits_have_the_probability_of_equation_2():
    # Distances 2 and 4, beta 1: p = 1 - e^-1/2, q = 1 - e^-1/4. If nobody hits, the nearest gets the row.
    p, q = 1 - np.exp(-1 / 2), 1 - np.exp(-1 / 4)
    parts = partition.by_distance(np.zeros((40_000, 1)), np.array([[2.0], [-4.0]]), 1.0, random_state=0)
    expected = p * (1 - q) + p * q / 2 + (1 - p) * (1 - q)
    assert len(parts[0]) / 40_000 == pytest.approx(expected, abs=0.01)


def test_a_row_at_a_partys_place_hits_it():
    parts = partition.by_distance(np.zeros((5, 1)), np.array([[0.0], [1e9]]), 1e-3, random_state=0)
    assert [len(part) for part in parts] == [5, 0]


def test_take_cuts_rows_and_labels():
    parts = [np.array([2, 0]), np.array([1])]
    assert [x.tolist() for x in partition.take(np.array([5, 6, 7]), parts)] == [[7, 5], [6]]


@pytest.mark.parametrize("beta", [0, -1.0, float("nan")])
def test_beta_is_positive(beta):
    with pytest.raises(ValueError, match="beta must be above 0"):
        partition.by_distance(np.zeros((1, 1)), np.zeros((1, 1)), beta)
