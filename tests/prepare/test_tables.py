"""Tables and the schema: all errors are reported at once, by party, column and row; never a value."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import secfc
from secfc.prepare import Column, Schema
from secfc.prepare.tables import as_table, checked, read

SCHEMA = Schema(
    columns=(
        Column(name="age", unit="years", low=0, high=120, missing="mean"),
        Column(name="dose", unit="mg", low=0, high=50, clip=True),
        Column(name="sex", categories=("f", "m"), missing="zero"),
    )
)
GOOD = {"age": [30.0, None, 120.0], "dose": [10.0, 60.0, -1.0], "sex": ["f", "m", None]}


def check(table, schema=SCHEMA, **more):
    return checked(as_table(table, "south.csv"), schema, name="south.csv", **more)


KINDS = [
    dict,
    lambda table: {name: np.array(values, dtype=object) for name, values in table.items()},
    pd.DataFrame,
    lambda table: pd.DataFrame(table).convert_dtypes(),
    lambda table: pd.DataFrame(table).astype({"sex": "category"}),
    pl.DataFrame,
    lambda table: pl.DataFrame(table).with_columns(pl.col("sex").cast(pl.Categorical)),
    pa.table,
    lambda table: pa.table({name: pa.array(table[name]).cast(pa.string()) for name in table}),
]


@pytest.mark.parametrize("kind", KINDS)
def test_tables_of_every_kind_are_taken(kind):
    done = check(kind(GOOD))
    np.testing.assert_array_equal(done.numbers["age"], [30, np.nan, 120])
    np.testing.assert_array_equal(done.numbers["dose"], [10, 50, 0])
    np.testing.assert_array_equal(done.categories["sex"], [0, 1, -1])
    assert (done.rows, done.clipped, done.missing) == (3, {"dose": 2}, {"age": 1, "sex": 1})


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"dose": [None, 1.0, None]}, "column 'dose' misses 2 values, the first in row 0"),
        ({"dose": ["1", "much-secret", "2"]}, "'dose' is not numeric: it has 1 values that are no numbers, "),
        ({"dose": pd.to_datetime(["2020-01-01"] * 3)}, "column 'dose' is not numeric (timestamp[us])"),
        ({"age": [3.0, 1234.5, 1.0]}, "'age' has 1 values outside 0 to 120 years, the first in row 1; check"),
        ({"age": [3, np.inf, -np.inf]}, "column 'age' has 2 infinite values, the first in row 1"),
        ({"dose": [3, np.inf, 1]}, "column 'dose' has 1 infinite values, the first in row 1"),
        (
            {"sex": ["f", "secret", "m"]},
            "'sex' has 1 values outside the agreed categories, the first in row 1",
        ),
        ({"sex": ["F", "m", "M"]}, "; 2 differ from one in upper and lower case alone"),
        ({"sex": [1.5, 2.0, 1.0]}, "'sex' has 3 values outside the agreed categories"),
        ({"sex": [["f"], ["m"], ["m"]]}, "column 'sex' has no categories but list<"),
    ],
)
def test_what_a_data_manager_must_mend_is_named_and_no_value_shown(columns, text):
    with pytest.raises(secfc.DataError) as caught:
        check(GOOD | columns)
    assert str(caught.value).startswith("south.csv: column")
    assert text in str(caught.value)
    for value in ("1234", "secret", "inf,"):
        assert value not in str(caught.value)


def test_everything_is_told_at_once():
    table = {"age": [1e9, None], "dose": ["x", "y"], "extra": [0, 0]}
    with pytest.raises(secfc.DataError) as caught:
        check(table)
    assert str(caught.value).splitlines() == [
        "south.csv: 3 things to mend",
        "  no column 'sex'; the schema needs it",
        "  column 'age' has 1 values outside 0 to 120 years, the first in row 0; check the unit",
        "  column 'dose' is not numeric: it has 2 values that are no numbers, the first in row 0",
    ]


def test_other_columns_are_left_alone_and_must_be_there():
    assert check(GOOD | {"patient": [7, 8, 9]}, others=["patient"]).rows == 3
    with pytest.raises(secfc.DataError, match=r"south\.csv: no column 'patient'"):
        check(GOOD, others=["patient"])


def test_a_column_that_is_there_twice_is_named():
    twice = pa.table([pa.array([1.0]), pa.array([2.0])], names=["dose", "dose"])
    with pytest.raises(secfc.DataError, match="column 'dose' is there twice"):
        checked(twice, Schema(columns=SCHEMA.columns[1:2]), name="south.csv")


def test_codes_are_categories_whether_they_are_texts_or_whole_numbers():
    schema = Schema(columns=(Column(name="code", categories=("1", "2", "007"), missing="zero"),))
    assert check({"code": [1, 2, 1]}, schema).categories["code"].tolist() == [0, 1, 0]
    assert check({"code": [1.0, np.nan, 2.0]}, schema).categories["code"].tolist() == [0, -1, 1]
    assert check({"code": ["007", " 2 ", ""]}, schema).categories["code"].tolist() == [2, 1, -1]


CSV = "age,dose,sex,note\n30, 5 ,f,x\nNA,7.5,NA,x\n,1e1,,x\n"


def test_a_csv_file_keeps_its_texts(tmp_path):
    path = tmp_path / "north.csv"
    path.write_text(CSV)
    schema = Schema(columns=(*SCHEMA.columns[:2], Column(name="sex", categories=("f", "NA"), missing="zero")))
    done = checked(read(path, schema), schema, name="north.csv", others=["note"])
    np.testing.assert_array_equal(done.numbers["age"], [30, np.nan, np.nan])
    np.testing.assert_array_equal(done.numbers["dose"], [5, 7.5, 10])
    # Namibia's code NA is a category if the schema says so; an empty cell is not.
    assert done.categories["sex"].tolist() == [0, 1, -1]


def test_a_csv_file_without_rows_has_none(tmp_path):
    path = tmp_path / "empty.csv"
    path.write_text("age,dose,sex\n")
    assert checked(read(path, SCHEMA), SCHEMA, name="empty.csv").rows == 0


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ([1, 2], "a DataFrame or a mapping is needed, list was given"),
        (np.zeros((2, 2)), "a DataFrame or a mapping is needed, ndarray was given"),
        ({"age": ["x", 1]}, "column 'age' has values of several types"),
        ({"age": [1], "dose": [1, 2]}, "its columns have different lengths"),
        (pd.DataFrame([[1, 2]]), "names of columns are texts, int was found"),
    ],
)
def test_what_is_no_table_is_refused(table, text):
    with pytest.raises(secfc.DataError, match=text):
        as_table(table, "south.csv")


@settings(deadline=None)
@given(st.lists(st.text(max_size=6) | st.floats().map(str) | st.integers().map(str), max_size=8))
def test_any_text_is_a_number_in_range_or_missing_or_told(texts):
    schema = Schema(columns=(Column(name="a", low=-9, high=9, missing="mean"),))
    try:
        numbers = check({"a": pa.array(texts, pa.string())}, schema).numbers["a"]
    except secfc.DataError:
        return
    assert (np.isnan(numbers) | (np.abs(numbers) <= 9)).all()
    for text, number in zip(texts, numbers, strict=True):
        assert np.isnan(number) or float(text) == number
