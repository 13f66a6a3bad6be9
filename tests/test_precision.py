"""What docs/precision.md says about the only error: rounding rows once."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import secfc
from secfc.field.fixed_point import quantise, scale_exponent
from secfc.sharing.row_checks import largest_norm
from secfc.tables.rounding import rounded_away

LARGEST = 100.0


@st.composite
def rounded(draw):
    """Rows, the same rows rounded, in the data's units, and the largest change of a row."""
    m, d = draw(st.integers(2, 30)), draw(st.integers(1, 6))
    rows = draw(
        arrays.arrays(np.float64, (m, d), elements=st.floats(-LARGEST, LARGEST, allow_subnormal=False))
    )
    bound = max(float(np.linalg.norm(rows, axis=1).max()), 1.0)
    precision = draw(st.integers(2, 20))  # far above float64's own rounding
    exponent = scale_exponent(bound, precision)
    step = 2.0**-exponent
    assert bound * 2.0**-precision <= step < 2 * bound * 2.0**-precision
    return rows, quantise(rows, Fraction(step)) * step, step * np.sqrt(d) / 2


def centres(rows, labels):
    return np.array([rows[labels == h].mean(axis=0) for h in range(labels.max() + 1)])


def distances(rows, labels):
    return np.linalg.norm(rows[:, None, :] - centres(rows, labels)[None], axis=2)


def sets_of(draw_from, m, k):
    return np.concatenate([np.arange(k), draw_from.integers(k, size=m - k)])


@given(problem=rounded(), seed=st.integers(0, 2**32), k=st.integers(1, 5))
def test_a_row_moves_by_delta_and_a_distance_to_a_mean_by_twice_that(problem, seed, k):
    rows, near, delta = problem
    labels = sets_of(np.random.default_rng(seed), len(rows), min(k, len(rows)))
    slack = 1 + 1e-9
    assert np.linalg.norm(near - rows, axis=1).max() <= delta * slack
    assert np.abs(distances(near, labels) - distances(rows, labels)).max() <= 2 * delta * slack


@given(problem=rounded(), seed=st.integers(0, 2**32), k=st.integers(2, 5))
def test_a_label_differs_only_where_two_distances_differ_by_four_delta_at_most(problem, seed, k):
    rows, near, delta = problem
    labels = sets_of(np.random.default_rng(seed), len(rows), min(k, len(rows)))
    of_rows, of_near = distances(rows, labels), distances(near, labels)
    two = np.sort(of_rows, axis=1)[:, :2]
    differs = of_rows.argmin(axis=1) != of_near.argmin(axis=1)
    assert (two[differs, 1] - two[differs, 0] <= 4 * delta * (1 + 1e-9)).all()


@given(problem=rounded(), seed=st.integers(0, 2**32), k=st.integers(1, 5))
def test_the_root_of_the_inertia_moves_by_delta_times_the_root_of_m_at_most(problem, seed, k):
    rows, near, delta = problem
    labels = sets_of(np.random.default_rng(seed), len(rows), min(k, len(rows)))

    def root(of):
        return np.linalg.norm(of - centres(of, labels)[labels])

    assert abs(root(near) - root(rows)) <= delta * np.sqrt(len(rows)) * (1 + 1e-9)


@pytest.mark.parametrize("bound", [1.0, 20.0, 200.0, 256.0])
def test_integers_within_the_bound_are_not_rounded_at_32_bits(bound):
    rows = np.array([[0.0, 1.0], [-3.0, 7.0], [bound // 2, bound // 4]])
    exponent = scale_exponent(bound, 32)
    np.testing.assert_array_equal(np.ldexp(quantise(rows, Fraction(2) ** -exponent), -exponent), rows)


FAR = pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda rows: np.vstack([rows[:3], [[1e300, 0.0]], rows[3:]]), id="one row far away"),
        pytest.param(lambda rows: rows + 1e12, id="columns far from 0"),
    ],
)


def far_parties(change):
    rng = np.random.default_rng(6)
    parties = [rng.normal(size=(30, 2)) for _ in range(3)]
    parties[1] = change(parties[1])
    if len(parties[1]) == 30:
        parties = [change(rows) if at != 1 else rows for at, rows in enumerate(parties)]
    return parties


@FAR
def test_rows_that_are_rounded_away_are_refused_by_party_and_row(change):
    with pytest.raises(secfc.DataError, match=r"^precision: 32 bits of .* of row \d+ of parties\[\d\]"):
        secfc.run(far_parties(change), 2, t=1, ell=1, seed=0)


@FAR
@pytest.mark.filterwarnings("ignore::secfc.ConvergenceWarning")
def test_a_given_bound_runs_though_rows_are_rounded_away_and_is_warned_of(change):
    parties = far_parties(change)
    bound = max(largest_norm(rows, name="") for rows in parties)
    with pytest.warns(secfc.PrecisionWarning, match=r"^precision: 32 bits of the bound"):
        secfc.run(parties, 2, t=1, ell=1, seed=0, bound=bound, max_iter=50)


def test_the_row_that_is_far_away_is_named():
    rng = np.random.default_rng(6)
    parties = [rng.normal(size=(30, 2)) for _ in range(3)]
    parties[1][7] = [0.0, -1e10]
    with pytest.raises(secfc.DataError, match=r"row 7 of parties\[1\]"):
        secfc.run(parties, 2, t=1, ell=1, seed=0)


def test_integers_that_are_not_rounded_are_no_error_beside_a_row_far_away():
    rows = np.random.default_rng(6).integers(0, 5, size=(30, 2)).astype(float)
    rows[3] = [2.0**31, 0.0]
    assert not rounded_away([rows], bound=2.0**31, precision=32)
    assert rounded_away([rows], bound=2.0**35, precision=32)


@pytest.mark.parametrize(
    "rows",
    [
        np.eye(8).repeat(5, axis=0),
        np.vstack([np.zeros((60, 2)), [[1.0, 5.0]]]),
        np.random.default_rng(1).normal(size=(40, 2)) * 1e-200,
        np.random.default_rng(2).lognormal(sigma=3, size=(400, 2)),
        np.full((40, 2), 7.0),
    ],
)
def test_ordinary_rows_are_not_warned_of(rows):
    assert not rounded_away(np.array_split(rows, 3), bound=largest_norm(rows, name="all"), precision=32)


def test_few_bits_that_were_asked_for_are_not_warned_of():
    rows = np.random.default_rng(2).normal(size=(40, 2))
    assert not rounded_away([rows], bound=largest_norm(rows, name="all"), precision=4)
