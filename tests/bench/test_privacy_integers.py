"""Rows from exact distances: what the server finds, and what one or two known rows or centres add."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sweeps import tries

from benchmarks.privacy import integers, opened
from benchmarks.privacy.lattice import lll
from benchmarks.privacy.measure import blobs
from benchmarks.privacy.view import watch
from secfc.protocol.job.limits import Limits


@pytest.fixture(scope="module")
def run_of_five():
    return watch(blobs(5, 60, 4), k=4, t=1, ell=2, seed=1)


def products(gram, coefficients):
    h = np.array(coefficients, dtype=object)
    return (h @ np.array(gram, dtype=object) @ h.T).tolist()


class TestLattice:
    def test_a_basis_of_z2_is_reduced_by_hand(self):
        # (5, 3) and (3, 2) generate Z^2.
        reduced = products([[34, 21], [21, 13]], lll([[34, 21], [21, 13]]))
        assert reduced == [[1, 0], [0, 1]]

    @tries()
    @given(
        st.integers(1, 5).flatmap(lambda n: st.lists(st.integers(-99, 99), min_size=n * n, max_size=n * n))
    )
    def test_what_is_reduced_generates_the_same_lattice_and_is_reduced(self, entries):
        n = int(len(entries) ** 0.5)
        basis = np.array(entries).reshape(n, n) + 1000 * np.eye(n, dtype=np.int64)
        found = np.array(lll((basis @ basis.T).tolist()))
        assert round(abs(np.linalg.det(found.astype(float)))) == 1
        _, r = np.linalg.qr((found @ basis).T.astype(float))
        lengths = np.abs(np.diag(r))
        for i in range(1, n):
            mu = r[i - 1, i] / r[i - 1, i - 1]
            assert abs(mu) <= 0.5 + 1e-9
            assert lengths[i] ** 2 >= (0.999 - mu**2) * lengths[i - 1] ** 2 * (1 - 1e-9)


class TestServerAlone:
    def test_exact_products_are_those_of_the_rows(self, run_of_five):
        shape, true = integers.exact_shape(run_of_five), integers.true_integers(run_of_five)
        differences = true[1:] - true[0]
        combined = shape.combinations @ shape.products @ shape.combinations.T
        assert (combined == differences @ differences.T * shape.denominator**2).all()

    def test_every_column_is_found_but_for_order_direction_and_shift(self):
        watched = watch(blobs(5, 60, 4), k=4, t=1, ell=2, seed=1)
        row = integers.from_distances(watched, attack="c-integers", swept="d", value=4)
        assert row.success == 1

    def test_nothing_is_found_before_centres_span_all_columns(self, run_of_five):
        early = run_of_five.after(1)
        assert len(integers.centres_asked(early)[1]) == 4
        assert integers.exact_shape(early) is None
        assert integers.from_distances(early, attack="c", swept="rounds", value=1).success == 0

    def test_low_precision_does_not_hide_them(self):
        watched = watch(blobs(5, 60, 3), k=3, t=1, ell=1, seed=1, precision=6)
        assert integers.from_distances(watched, attack="c", swept="precision", value=6).success == 1

    def test_columns_of_different_steps_are_found_too(self):
        # Halves, integers and fives: the lattice is not Z^3, but its basis is orthogonal.
        rng = np.random.default_rng(2)
        parties = [rng.integers(0, 40, size=(20, 3)) * np.array([0.5, 1.0, 5.0]) for _ in range(3)]
        watched = watch(parties, k=3, t=1, ell=1, seed=1)
        assert integers.from_distances(watched, attack="c", swept="d", value=3).success == 1

    def test_what_is_found_is_no_column_of_other_rows(self, run_of_five):
        found, other = (
            integers.columns_of(run_of_five),
            np.roll(integers.true_integers(run_of_five), 1, axis=0),
        )
        assert integers.up_to_order_and_sign(found, other) == 0
        assert integers.up_to_order_and_sign(None, other) == 0


class TestWithHelp:
    def test_one_known_row_is_not_enough_and_two_are(self, run_of_five):
        one, two = integers.with_known_rows(run_of_five, [1, 2])
        assert one.success == 0
        assert two.success == 1

    def test_a_column_where_both_known_rows_agree_stays_open(self):
        parties = blobs(3, 60, 3)
        parties[0][1, 0] = parties[0][0, 0]
        watched = watch(parties, k=3, t=1, ell=1, seed=1)
        two, three = integers.with_known_rows(watched, [2, 3])
        assert two.success == pytest.approx(2 / 3)
        assert three.success == 1

    def test_two_opened_centres_place_every_row_exactly(self):
        limits = Limits(reveal_centres=True)
        watched = watch(blobs(5, 200, 4), k=2, t=1, ell=1, seed=1, limits=limits, reveal_to=(1,))
        assert opened.exactly_with_centres(watched, swept="k", value=2).success == 1
        assert opened.server_with_centres([watched], attack="h", swept="k", value=2).success > 0.5
