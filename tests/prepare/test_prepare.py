"""Tables against an agreed schema, statistics as sums, and sums from shares."""

from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import secfc
from secfc.prepare import Column, Schema, prepare
from secfc.prepare.aggregate import LIMIT, SumParty, add_up, open_sums
from secfc.randomness import MaskSource

TOML = """
[[column]]
name = "age"
unit = "years"
low = 0
high = 120
scale = "standardise"
missing = "mean"

[[column]]
name = "dose"
unit = "mg"
low = 0.0
high = 50.0
scale = "min-max"
clip = true

[[column]]
name = "sex"
categories = ["f", "m"]
missing = "mean"
"""
PARTIES = [
    pd.DataFrame({"sex": ["f", "m"], "age": [30.0, np.nan], "dose": [10, 60]}),
    pd.DataFrame({"age": [50, 70], "dose": [0, 25], "sex": ["m", None]}),
    pd.DataFrame({"age": [40.0], "dose": [5.0], "sex": ["f"]}),
]


@pytest.fixture
def schema(tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text(TOML)
    return Schema.read(path)


def test_a_table_worked_by_hand(schema):
    done = prepare(PARTIES, schema, t=1)
    ages = np.array([30, 50, 70, 40.0])
    mean, deviation = ages.mean(), ages.std()
    assert done.preparation.counts == {"age": 4}
    assert done.preparation.means["age"] == pytest.approx(mean, abs=1e-6)
    assert done.preparation.deviations["age"] == pytest.approx(deviation, abs=1e-6)
    assert done.preparation.names == ("age", "dose", "sex=f", "sex=m")
    expected = [
        [[(30 - mean) / deviation, 0.2, 1, 0], [0, 1, 0, 1]],
        [[(50 - mean) / deviation, 0, 0, 1], [(70 - mean) / deviation, 0.5, 0, 0]],
        [[(40 - mean) / deviation, 0.1, 1, 0]],
    ]
    for rows, wanted in zip(done.rows, expected, strict=True):
        np.testing.assert_allclose(rows, wanted, atol=1e-6)


def test_prepared_rows_lie_within_the_public_bound(schema):
    done = prepare(PARTIES, schema, t=1)
    assert max(np.linalg.norm(rows, axis=1).max() for rows in done.rows) <= done.preparation.bound
    result = secfc.run(done.rows, 2, 1, 1, bound=done.preparation.bound, seed=0)
    assert result.sizes.sum() == 5


@pytest.mark.parametrize(
    "convert", [dict, lambda frame: frame, pl.from_pandas], ids=["dict", "pandas", "Polars"]
)
def test_tables_of_every_kind_are_taken(schema, convert):
    parties = [frame.assign(age=frame["age"].astype(float)) for frame in PARTIES]
    done = prepare([convert(party) for party in parties], schema, t=1)
    np.testing.assert_allclose(done.rows[1], prepare(PARTIES, schema, t=1).rows[1])


def broken(**columns):
    return [PARTIES[0], PARTIES[1].assign(**columns), PARTIES[2]]


@pytest.mark.parametrize(
    ("parties", "text"),
    [
        (broken(dose=[None, 1.0]), "parties[1]: column 'dose' misses 1 values, the first in row 0"),
        (broken(dose=["much", "more"]), "parties[1]: column 'dose' is not numeric"),
        (
            broken(age=[3.0, 1234.5]),
            "column 'age' has 1 values outside 0 to 120 years, the first in row 1; check",
        ),
        (broken(age=[np.inf, 1.0]), "column 'age' has 1 values outside 0 to 120 years, the first in row 0"),
        (
            broken(sex=["f", "x-secret"]),
            "'sex' has 1 values outside the agreed categories, the first in row 1",
        ),
        (broken(height=[1, 2]), "parties[1]: column 'height' is not in the schema; leave it out by name"),
        ([PARTIES[0], PARTIES[1].drop(columns="age"), PARTIES[2]], "parties[1]: no column 'age'; the schema"),
    ],
)
def test_what_a_data_manager_must_mend_is_named_and_no_value_shown(schema, parties, text):
    with pytest.raises(secfc.DataError) as caught:
        prepare(parties, schema, t=1)
    assert text in str(caught.value)
    assert "1234" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_too_many_colluders_are_refused(schema):
    with pytest.raises(secfc.ParameterError, match="t: 1 to 1 of 3 parties may collude, 2 was given"):
        prepare(PARTIES, schema, t=2)


def test_a_column_without_any_value_is_named():
    schema = Schema(columns=(Column(name="a", low=0, high=1, missing="mean"),))
    with pytest.raises(secfc.DataError, match="column 'a' has no value at any party"):
        prepare([{"a": [np.nan]}] * 3, schema, t=1)


def test_a_constant_column_becomes_zeros():
    schema = Schema(columns=(Column(name="a", low=0, high=9, scale="standardise"),))
    done = prepare([{"a": [3.0, 3.0]}] * 3, schema, t=1)
    np.testing.assert_allclose(done.rows[0], 0, atol=1e-6)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "a list of"),
        ("[[column]]\nlow = 1", "needs a name"),
        ('[[column]]\nname = "a"', "column 'a': low and high are needed, or categories"),
        ('[[column]]\nname = "a"\nlow = 2\nhigh = 1', "low must be below high"),
        ('[[column]]\nname = "a"\nlow = nan\nhigh = 1', "low and high are needed"),
        (
            '[[column]]\nname = "a"\nlow = 0\nhigh = 1\nscale = "log"',
            "scale is one of none, min-max, standardise",
        ),
        ('[[column]]\nname = "a"\nlow = 0\nhigh = 1\nunits = "m"', "column 'a' has an unknown key 'units'"),
        ('[[column]]\nname = "a"\ncategories = ["x", "x"]', "a category is listed twice"),
        ('[[column]]\nname = "a"\ncategories = ["x"]\nlow = 0', "categories have no range"),
        ('[[column]]\nname = "a"\nlow = 0\nhigh = 1\n' * 2, "two columns have the same name"),
        ("column = ", "is no readable TOML file"),
    ],
)
def test_a_schema_that_cannot_be_used_says_why(tmp_path, text, error):
    path = tmp_path / "schema.toml"
    path.write_text(text)
    with pytest.raises(secfc.ParameterError, match=error.replace("[", r"\[")):
        Schema.read(path)


# Sums from shares

NUMBERS = st.integers(0, LIMIT // 16) | st.integers(0, 9)


@settings(deadline=None, max_examples=50)
@given(st.data(), st.integers(3, 9), st.integers(1, 4))
def test_totals_are_the_sums(data, n, length):
    values = data.draw(st.lists(st.lists(NUMBERS, min_size=length, max_size=length), min_size=n, max_size=n))
    t = data.draw(st.integers(1, n - 2))
    assert add_up(values, t=t) == [sum(column) for column in zip(*values, strict=True)]


def summed(n=5, t=2, values=(7, 11)):
    parties = [SumParty(number=j, n=n, t=t, length=2, masks=MaskSource()) for j in range(1, n + 1)]
    for sender, party in enumerate(parties, start=1):
        for recipient, plane in zip(parties, party.shares(values), strict=True):
            recipient.hold(sender, plane)
    return {party.number: party.summed() for party in parties}


@pytest.mark.parametrize("responders", list(combinations(range(1, 6), 3)))
def test_any_t_plus_1_clients_open_the_total(responders):
    sums = summed()
    assert open_sums({j: sums[j] for j in responders}, n=5, t=2) == [35, 55]


def test_t_clients_do_not_suffice():
    sums = summed()
    with pytest.raises(secfc.MessageError, match="2 clients answered, 3 are needed"):
        open_sums({1: sums[1], 2: sums[2]}, n=5, t=2)


def test_a_sum_that_contradicts_the_others_is_noticed():
    sums = summed()
    sums[4] = sums[4] + 1
    with pytest.raises(secfc.MessageError, match="contradict"):
        open_sums(sums, n=5, t=2)


def test_shares_of_equal_numbers_differ_every_time():
    party = SumParty(number=1, n=4, t=2, length=1, masks=MaskSource())
    assert not np.array_equal(party.shares([5]), party.shares([5]))


@pytest.mark.parametrize(
    ("sender", "plane", "text"),
    [
        (1, np.zeros((5, 2)), "out of turn"),
        (9, np.zeros((5, 2)), "out of turn"),
        (2, np.zeros((5, 3)), r"of shape \(5, 3\)"),
        (2, np.full((5, 2), np.nan), "no residues"),
        (2, np.full((5, 2), 0.5), "no residues"),
        (2, np.full((5, 2), 2.0**24), "no residues"),
    ],
)
def test_shares_that_cannot_be_are_refused(sender, plane, text):
    party = SumParty(number=1, n=3, t=1, length=2, masks=MaskSource())
    party.hold(1, np.zeros((5, 2)))
    with pytest.raises(secfc.MessageError, match=text):
        party.hold(sender, plane)
    assert repr(party) == "SumParty(number=1, held=1)"


def test_a_sum_waits_for_everybody():
    party = SumParty(number=1, n=3, t=1, length=2, masks=MaskSource())
    with pytest.raises(secfc.MessageError, match="shares of 3 clients are missing"):
        party.summed()
