"""Preparing: equal to pooled exact arithmetic, within the public bound, never of one party's values alone."""

from dataclasses import replace
from fractions import Fraction
from math import hypot

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sweeps import tries

import secfc
from secfc import Prepare
from secfc.prepare import Column, Schema
from secfc.prepare.statistics import STEPS, of_column, opened, steps

SCHEMA = Schema(
    columns=(
        Column(name="age", unit="years", low=0, high=120, scale="standardise", missing="mean"),
        Column(name="dose", unit="mg", low=0, high=50, scale="min-max", clip=True),
        Column(name="sex", categories=("f", "m"), missing="zero"),
    )
)
PARTIES = [
    pd.DataFrame({"sex": ["f", "m"], "age": [30.0, np.nan], "dose": [10, 60]}),
    pd.DataFrame({"age": [50, 70], "dose": [0, 25], "sex": ["m", None]}),
    pd.DataFrame({"age": [40.0], "dose": [5.0], "sex": ["f"]}),
]


def test_a_table_worked_by_hand():
    done = Prepare(SCHEMA, t=1).fit(PARTIES)
    ages = np.array([30, 50, 70, 40.0])
    mean, deviation = ages.mean(), ages.std()
    age = done.preparation_.statistics["age"]
    assert done.preparation_.statistics.keys() == {"age"}
    assert (age.count, age.holders) == (4, 3)
    assert age.mean == pytest.approx(mean, abs=1e-6)
    assert age.deviation == pytest.approx(deviation, abs=1e-6)
    assert done.preparation_.names == ("age", "dose", "sex=f", "sex=m")
    expected = [
        [[(30 - mean) / deviation, 0.2, 1, 0], [0, 1, 0, 1]],
        [[(50 - mean) / deviation, 0, 0, 1], [(70 - mean) / deviation, 0.5, 0, 0]],
        [[(40 - mean) / deviation, 0.1, 1, 0]],
    ]
    for rows, wanted in zip(done.transform(PARTIES), expected, strict=True):
        np.testing.assert_allclose(rows, wanted, atol=1e-6)


def within(deviations, **more):
    age = replace(SCHEMA.columns[0], deviations=deviations, **more)
    return Schema(columns=(age, *SCHEMA.columns[1:]))


def test_values_beyond_the_agreed_deviations_are_refused_without_a_value():
    with pytest.raises(secfc.DataError) as caught:
        Prepare(within(1.25), t=1).fit_transform(PARTIES)
    told = "column 'age' has 1 values more than 1.25 deviations from the mean of all parties"
    assert str(caught.value) == f"parties[1]: {told}, the first in row 1"


def test_values_beyond_the_agreed_deviations_are_clipped_where_that_was_agreed():
    free, clipped = (Prepare(one, t=1).fit(PARTIES) for one in (SCHEMA, within(1, clip=True)))
    assert clipped.preparation_.statistics == free.preparation_.statistics
    assert clipped.preparation_.ranges["age"] == (-1, 1)
    assert clipped.preparation_.bound <= hypot(1, 1, 1)
    for was, rows in zip(free.transform(PARTIES), clipped.transform(PARTIES), strict=True):
        np.testing.assert_array_equal(rows[:, 0], np.clip(was[:, 0], -1, 1))
        np.testing.assert_array_equal(rows[:, 1:], was[:, 1:])


def test_what_is_agreed_before_covers_what_is_known_after():
    done = Prepare(within(3), t=1).fit(PARTIES)
    for column, (low, high) in within(3).ranges:
        for name in column.prepared:
            assert low <= done.preparation_.ranges[name][0] <= done.preparation_.ranges[name][1] <= high


def test_centres_are_restored_to_the_units_of_the_schema():
    done = Prepare(SCHEMA, t=1).fit(PARTIES)
    rows = np.vstack(done.transform(PARTIES))
    restored = done.inverse_transform(rows)
    ages = done.preparation_.statistics["age"].mean
    np.testing.assert_allclose(restored[:, 0], [30, ages, 50, 70, 40])
    np.testing.assert_allclose(restored[:, 1], [10, 50, 0, 25, 5])
    np.testing.assert_array_equal(restored[:, 2:], rows[:, 2:])
    centre = done.inverse_transform(rows[[0, 2]].mean(axis=0, keepdims=True))
    np.testing.assert_allclose(centre, [[40, 5, 0.5, 0.5]])
    with pytest.raises(secfc.DataError, match="rows: 4 columns are needed, the shape given is \\(5, 3\\)"):
        done.inverse_transform(rows[:, 1:])


def pooled(columns, column):
    """Count, mean and variance of all parties' values as rationals, for rounded and for given values."""
    values = [Fraction(one) for part in columns for one in part.tolist()]
    low, width = Fraction(column.low), Fraction(column.high) - Fraction(column.low)
    rounded = [
        low + width * one / STEPS for part in columns for one in steps(np.asarray(part), column).tolist()
    ]
    return [(sum(one) / len(one), _variance(one)) for one in (rounded, values)]


def _variance(values):
    mean = sum(values) / len(values)
    return sum((one - mean) ** 2 for one in values) / len(values)


@tries()
@given(
    st.data(),
    st.integers(3, 7),
    st.sampled_from([(0.0, 1.0), (-3.5, 120.25), (1e-9, 2e-9), (-1e300, 1e307), (1e15, 1e15 + 2)]),
)
def test_statistics_are_those_of_pooled_exact_arithmetic(data, n, ends):
    column = Column(name="a", low=ends[0], high=ends[1], scale="standardise")
    numbers = st.lists(st.floats(*ends), min_size=1, max_size=9)
    columns = [np.array(data.draw(numbers)) for _ in range(n)]
    t = data.draw(st.integers(1, (n - 1) // 2))
    done = Prepare(Schema(columns=(column,)), t=t).fit([{"a": part} for part in columns])
    opened = done.preparation_.statistics["a"]
    (mean, variance), (given_mean, _) = pooled(columns, column)
    assert (opened.count, opened.holders) == (sum(map(len, columns)), n)
    assert opened.mean == float(mean)  # correctly rounded from the exact totals
    # Three correctly rounded operations in floats, and a square root.
    width = Fraction(ends[1]) - Fraction(ends[0])
    assert abs(Fraction(opened.deviation) ** 2 - variance) <= variance / 2**48
    # Change by rounding to steps: half a step at most, and the error of their float computation.
    assert abs(mean - given_mean) <= width / (2 * STEPS) + 3 * (width + abs(Fraction(ends[0]))) / 2**52


def test_sums_of_many_values_are_exact():
    column = Column(name="a", low=0, high=1)
    values = np.full(70_000, 1.0)
    assert of_column(values, column).numbers == (70_000, 70_000 * STEPS, 70_000 * STEPS**2)


def test_a_party_without_values_is_counted_in_no_column():
    parties = [*PARTIES, pd.DataFrame({"age": [np.nan], "dose": [1.0], "sex": ["f"]})]
    done = Prepare(SCHEMA, t=1).fit(parties)
    age = done.preparation_.statistics["age"]
    assert (age.holders, age.count) == (3, 4)
    assert done.transform(parties)[3][0, 0] == 0  # the mean, standardised


@pytest.mark.parametrize(("holding", "t"), [(2, 1), (1, 1), (0, 1), (3, 2)])
def test_columns_that_too_few_parties_hold_stay_closed(holding, t):
    values = [[1.0, 2.0]] * holding + [[np.nan]] * (5 - holding)
    schema = Schema(columns=(Column(name="a", low=0, high=9, missing="mean"),))
    with pytest.raises(
        secfc.LimitError,
        match=rf"at least 1 value: t \+ 2 = {t + 2} of 5 are needed, .*; column 'a' {holding}$",
    ):
        Prepare(schema, t=t).fit([{"a": one} for one in values])


def test_parties_with_fewer_than_the_agreed_number_are_no_holders_but_in_the_totals():
    schema = Schema(columns=(Column(name="a", low=0, high=9, scale="standardise"),), smallest=2)
    parties = [{"a": [1.0, 2.0]}, {"a": [3.0, 4.0]}, {"a": [5.0]}]
    with pytest.raises(secfc.LimitError, match=r"at least 2 values.*column 'a' 2"):
        Prepare(schema, t=1).fit(parties)
    done = Prepare(schema, t=1).fit([*parties, {"a": [6.0, 7.0]}])
    opened = done.preparation_.statistics["a"]
    assert (opened.holders, opened.count) == (3, 7)
    assert opened.mean == pytest.approx(4.0, abs=1e-6)


def test_nothing_is_opened_where_nothing_is_needed():
    schema = Schema(columns=(Column(name="a", low=0, high=4, scale="min-max"),))
    done = Prepare(schema, t=1)
    prepared = done.fit_transform([{"a": [1.0]}, {"a": []}, {"a": [4.0]}])
    assert done.preparation_.statistics == {}
    assert [rows.tolist() for rows in prepared] == [[[0.25]], [], [[1.0]]]


def test_a_constant_column_becomes_zeros():
    schema = Schema(columns=(Column(name="a", low=0, high=9, scale="standardise"),))
    done = Prepare(schema, t=1)
    prepared = done.fit_transform([{"a": [3.0, 3.0]}] * 3)
    assert done.preparation_.statistics["a"].deviation == 0
    np.testing.assert_allclose(prepared[0], 0, atol=1e-6)


@pytest.mark.parametrize(
    ("n", "t", "text"),
    [
        (3, 2, "n >= 2t \\+ 1 must hold, but 3 < 2 \\* 2 \\+ 1; with 3 parties at most t=1 fits"),
        (2, 1, "no t fits fewer than 3 parties"),
        (0, 1, "no t fits fewer than 3 parties"),
        (3, 0, "an integer from 1 is needed, 0 was given"),
        (3, True, "an integer from 1"),
        (3, 1.0, "an integer from 1"),
    ],
)
def test_too_many_colluders_are_refused(n, t, text):
    with pytest.raises(secfc.ParameterError, match=text):
        Prepare(SCHEMA, t=t).fit((PARTIES * 2)[:n])


def test_names_are_for_all_parties():
    with pytest.raises(secfc.ParameterError, match="names: 1 names of 3 parties"):
        Prepare(SCHEMA, t=1, names=["north"]).fit(PARTIES)
    with pytest.raises(secfc.DataError, match=r"^west: no column 'sex'"):
        Prepare(SCHEMA, t=1, names=["north", "south", "west"]).fit(
            [*PARTIES[:2], PARTIES[2].drop(columns="sex")]
        )


@pytest.mark.parametrize(
    "totals",
    [
        (0, 0, 0),
        (5, 0, 0),  # fewer than three holders of two
        (6, 7 * STEPS, 7 * STEPS**2),
        (6, 5, 4),
        (6, 6, 6 * STEPS + 1),
        (6, 13, 28),
    ],
    ids=str,
)
def test_totals_that_no_values_have_are_noticed(totals):
    column = Column(name="a", low=0, high=1)
    with pytest.raises(secfc.errors.CheatError, match="column 'a': no values have the opened totals"):
        opened(totals, column, holders=3, smallest=2)


def test_totals_that_values_have_are_taken():
    column = Column(name="a", low=0, high=1)
    known = opened((6, 13, 29), column, holders=3, smallest=2)
    assert known.mean == 13 / 6 / STEPS


def test_contributions_show_nothing():
    one = of_column(np.array([0.12345]), Column(name="a", low=0, high=1))
    assert not any(str(number) in repr(one) for number in one.numbers[1:])
