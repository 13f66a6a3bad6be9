"""Runs with membership privacy: exact on the union, equal with both drivers, no ID held twice."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sweeps import tries

import secfc
from plaintext_baselines import ExactLloyd
from secfc import Membership
from secfc.field.primes import PRIMES
from secfc.lagrange.basis import lagrange_basis
from secfc.lagrange.points import evaluation_points
from secfc.protocol.job import row_layout
from secfc.protocol.job.cases import LabelsOnly

pytestmark = pytest.mark.filterwarnings("ignore::secfc.ConvergenceWarning")


def named(parties):
    return [[f"patient {j}-{i}" for i in range(len(rows))] for j, rows in enumerate(parties)]


def in_union_order(parties, result):
    """The rows and first sets of all parties, as one party in the order of the union."""
    m = sum(map(len, parties))
    rows, start, labels = np.empty((m, parties[0].shape[1])), np.full(m, -9), np.full(m, -9)
    for part, at, first, last in zip(parties, result.union_rows, result.start, result.labels, strict=True):
        rows[at], start[at], labels[at] = part, first, last
    assert start.min() >= -1
    return rows, start, labels


def assert_exact_on_the_union(parties, k, result, **options):
    rows, start, labels = in_union_order(parties, result)
    exact = ExactLloyd(k, init=[start], **options).fit([rows])
    np.testing.assert_array_equal(labels, exact.labels_[0])
    assert result.n_iter == exact.n_iter_
    if not isinstance(result.job.disclosure, LabelsOnly):
        assert result.inertia == exact.inertia_


@tries(0.4)
@given(
    owners=st.lists(st.integers(0, 3), min_size=2, max_size=25),
    k=st.integers(1, 2),
    seed=st.integers(0, 5),
)
@pytest.mark.filterwarnings("ignore")
def test_labels_equal_exact_lloyd_on_the_union_with_ties_and_emptied_clusters(owners, k, seed):
    grid = np.random.default_rng(seed).integers(-2, 3, size=(len(owners), 2)).astype(float)
    parties = [grid[np.array(owners) == j] for j in range(4)]
    result = secfc.run(parties, k, t=1, ell=1, ids=named(parties), seed=seed)
    assert_exact_on_the_union(parties, k, result)


@pytest.mark.some(1)
@pytest.mark.parametrize("disclosure", ["labels", "coded"])
def test_a_tolerance_is_a_fraction_of_the_rows_of_the_union(disclosure):
    parties = np.array_split(np.random.default_rng(0).normal(size=(90, 3)).round(2), 3)
    given = {"ids": Membership(named(parties), cap=500), "seed": 1, "disclosure": disclosure}
    whole, result = (secfc.run(parties, 4, 1, 1, **given, tol_moved=few) for few in (0.0, 0.1))
    assert result.converged
    assert 1 < result.n_iter < whole.n_iter
    assert_exact_on_the_union(parties, 4, result, tol_moved=0.1)


@pytest.mark.some(1)
@pytest.mark.parametrize(("n", "t", "ell"), [(3, 1, 1), (5, 1, 2), (11, 4, 2), (24, 4, 2)])
@pytest.mark.parametrize(("kernels", "disclosure"), [("numpy", "coded"), ("compiled", "labels")])
def test_thresholds_segments_and_kernels(monkeypatch, n, t, ell, kernels, disclosure):
    monkeypatch.setenv("SECFC_KERNELS", kernels)
    rows = np.random.default_rng(n).normal(size=(80, 5)).round(1)
    parties = np.array_split(rows, n)
    result = secfc.run(parties, 3, t, ell, ids=named(parties), seed=1, disclosure=disclosure)
    assert_exact_on_the_union(parties, 3, result)


@pytest.mark.processes
def test_both_drivers_give_the_same():
    parties = np.array_split(np.random.default_rng(1).normal(size=(40, 3)), 3)
    results = [
        secfc.run(parties, 3, 1, 1, ids=Membership(named(parties), cap=64), seed=2, driver=driver)
        for driver in ("in-process", "multiprocess")
    ]
    for one, other in zip(results[0].union_rows, results[1].union_rows, strict=True):
        np.testing.assert_array_equal(one, other)
    assert results[0].by_id() == results[1].by_id()
    sent = [sorted(map(str, result.costs.messages)) for result in results]
    assert sent[0] == sent[1]


def test_many_rows_travel_in_parts(monkeypatch):
    monkeypatch.setattr(row_layout, "PART_BYTES", 1)
    monkeypatch.setattr(row_layout, "PART_ROWS", 7)
    parties = np.array_split(np.random.default_rng(1).normal(size=(40, 3)), 3)
    result = secfc.run(parties, 3, 1, 1, ids=named(parties), seed=2)
    assert_exact_on_the_union(parties, 3, result)


def test_who_holds_a_row_does_not_change_its_label():
    rows = np.random.default_rng(3).normal(size=(30, 2))
    ids = list(range(100, 130))
    splits = ([0, 10, 20, 30], [0, 0, 0, 30], [0, 1, 29, 30])
    found = [
        secfc.run(
            [rows[a:b] for a, b in pairwise(at)],
            3,
            1,
            1,
            ids=[ids[a:b] for a, b in pairwise(at)],
            seed=0,
        ).by_id()
        for at in splits
    ]
    assert found[0] == found[1] == found[2]
    assert sorted(found[0]) == ids


def test_what_the_server_and_a_client_see_of_rows_does_not_depend_on_their_owner():
    """Client 3's view with the row at client 1 is also a view with it at client 2, for other masks of these
    clients.

    If client 3 has equal shares, the sums of shares are equal, and everything else is computed from them.
    """
    prime = PRIMES[0]
    points = evaluation_points(prime, n=3, coded=2)
    basis = lagrange_basis(points.beta, points.alpha, prime.p).astype(np.int64)
    rng = np.random.default_rng(0)
    for _ in range(50):
        row, *dealt = (int(x) for x in rng.integers(0, prime.p, 3))

        def polynomial(value, share):
            """Shares of a value with the mask that gives client 3 this share."""
            mask = (share - value * int(basis[2, 0])) * pow(int(basis[2, 1]), -1, prime.p) % prime.p
            return [(value * int(a) + mask * int(b)) % prime.p for a, b in basis]

        sums = [
            [sum(pair) % prime.p for pair in zip(*map(polynomial, owned, dealt), strict=True)]
            for owned in ((row, 0), (0, row))
        ]
        assert sums[0] == sums[1]


class TestBadInput:
    ROWS = (np.zeros((2, 1)), np.ones((2, 1)), np.full((1, 1), 5.0))

    def run(self, ids, **options):
        return secfc.run(self.ROWS, 2, 1, 1, ids=ids, **options)

    @pytest.mark.processes
    @pytest.mark.parametrize("driver", ["in-process", "multiprocess"])
    def test_an_id_at_two_parties(self, driver):
        with pytest.raises(secfc.DuplicateIdError, match=r"ids: an ID is held more than once$") as error:
            self.run([["a", "twice"], ["twice", "b"], ["c"]], driver=driver)
        assert "twice" not in str(error.value)

    def test_an_id_twice_at_one_party(self):
        with pytest.raises(
            secfc.DuplicateIdError,
            match=r"^parties\[1\]: 1 of its IDs are repeated, the first of them in rows 0 and 1$",
        ):
            self.run([["a", "b"], ["c", "c"], ["d"]])

    @pytest.mark.parametrize(
        ("ids", "text"),
        [
            ("abc", "ids: a list with one sequence"),
            (7, "ids: a list with one sequence"),
            ([["a", "b"], ["c", "d"]], "ids: IDs of 2 parties were given, there are 3"),
            ([["a", "b"], ["c"], ["d"]], r"parties\[1\]: 1 IDs for 2 rows"),
            ([["a", "b"], "cd", ["d"]], r"parties\[1\]: a sequence of IDs is needed, str was given"),
            ([["a", "b"], ["c", None], ["d"]], r"parties\[1\]: ID 1 is of type NoneType"),
        ],
    )
    def test_ids_that_cannot_be_used(self, ids, text):
        with pytest.raises(secfc.SecFCError, match=text):
            self.run(ids)

    @pytest.mark.parametrize("given", [{}, {"key": bytes(32)}, {"cap": 9}], ids=str)
    def test_a_membership_without_ids(self, given):
        with pytest.raises(secfc.ParameterError, match=r"^ids: .* needs the IDs of every party"):
            self.run(Membership(None, **given))

    @pytest.mark.parametrize("given", [{"cap": 0}, {"cap": 1.5}, {"key": b""}])
    def test_a_key_or_a_cap_that_cannot_be(self, given):
        with pytest.raises(secfc.ParameterError):
            self.run(Membership([["a", "b"], ["c", "d"], ["e"]], **given))

    def test_its_repr_shows_neither_ids_nor_key(self):
        assert repr(Membership([["secret"]], bytes(32), 9)) == "Membership(cap=9)"

    def test_start_labels(self):
        with pytest.raises(secfc.ParameterError, match="which party has which rows"):
            self.run([["a", "b"], ["c", "d"], ["e"]], init=[[0, 1], [0, 1], [0]])

    def test_a_result_without_ids_maps_none(self):
        with pytest.raises(secfc.ParameterError, match="the run had none"):
            self.run(None, seed=0).by_id()


def test_masked_distances_and_membership_privacy_together_are_exact_on_the_union():
    rng = np.random.default_rng(3)
    parties = [rng.normal(size=(m, 3)) for m in (9, 14, 7)]
    result = secfc.run(parties, 3, t=1, ell=1, ids=named(parties), disclosure="coded", seed=1)
    assert_exact_on_the_union(parties, 3, result)
