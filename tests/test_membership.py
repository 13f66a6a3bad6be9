"""Runs with membership privacy: exact on the union, equal with both drivers, no ID held twice."""

from itertools import pairwise

import numpy as np
import pytest

import secfc
from secfc import Membership
from secfc.field.primes import PRIMES
from secfc.lagrange.basis import evaluation_points, lagrange_basis

pytestmark = pytest.mark.filterwarnings("ignore::secfc.ConvergenceWarning")


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


def test_centres_of_a_union_are_means_of_the_labels_that_its_owners_open():
    rows = np.random.default_rng(4).normal(size=(20, 2))
    result = secfc.run(
        [rows[:7], rows[7:12], rows[12:]],
        2,
        1,
        1,
        ids=[list(range(7)), list(range(7, 12)), list(range(12, 20))],
        seed=0,
        reveal=secfc.Reveal(centres=[1]),
        limits=secfc.Limits(reveal_centres=True, smallest_set=2),
    )
    labels = np.concatenate(result.labels)
    means = [rows[labels == h].mean(axis=0) for h in range(2)]
    np.testing.assert_allclose(result.cluster_centers, means, atol=1e-6)


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
