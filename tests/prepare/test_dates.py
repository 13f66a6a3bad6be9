"""Dates: from texts, frames and Arrow, as days, within an agreed range."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import secfc
from secfc import Prepare
from secfc.prepare import Column, Schema
from secfc.prepare.preparation_file import read_preparation, write_preparation

LOW, HIGH = datetime.date(2020, 1, 1), datetime.date(2024, 12, 31)
TEXTS = ["2020-01-01", " 2021-06-30", "2024-12-31"]
DAYS = [18262.0, 18808.0, 20088.0]
TOML = """
[[column]]
name = "seen"
low = 2020-01-01
high = 2024-12-31
scale = "standardise"
missing = "mean"
"""


def schema(**more):
    return Schema(columns=(Column(name="seen", low=LOW, high=HIGH, **more),))


def dates():
    return [datetime.date.fromisoformat(text.strip()) for text in TEXTS]


@pytest.mark.parametrize(
    "values",
    [
        TEXTS,
        dates(),
        pd.to_datetime(pd.Series(TEXTS).str.strip()) + pd.Timedelta(hours=23),
        pl.Series(dates()),
        pa.array(dates(), pa.date64()),
        np.array([text.strip() for text in TEXTS], dtype="datetime64[D]"),
    ],
    ids=["texts", "dates", "pandas", "Polars", "date64", "numpy"],
)
def test_dates_become_days(values):
    rows = Prepare(schema(), t=1).fit_transform([{"seen": values}] * 3)
    assert rows[0][:, 0].tolist() == DAYS


def test_dates_are_standardised_filled_in_and_restored_as_days(tmp_path):
    (tmp_path / "schema.toml").write_text(TOML)
    agreed = Schema.read(tmp_path / "schema.toml")
    assert agreed == schema(scale="standardise", missing="mean")
    model = Prepare(agreed, t=1)
    rows = model.fit_transform([{"seen": [*TEXTS, None, "n/a"]}] * 3)
    assert np.abs(rows[0][3:, 0]).max() < 1e-6
    np.testing.assert_allclose(model.inverse_transform(rows[0][:3])[:, 0], DAYS)
    write_preparation(tmp_path / "preparation.json", model.preparation_)
    assert read_preparation(tmp_path / "preparation.json") == model.preparation_
    assert Schema.of(agreed.to_dict()).digest == agreed.digest


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (["2019-12-31"], "has 1 values outside 2020-01-01 to 2024-12-31, the first in row 0"),
        (["2020-01-01", "31.12.2020"], "has 1 values that are no dates as 1950-01-31, the first in row 1"),
        (["2020-02-30", "x"], "has 2 values that are no dates"),
        (["20210131", "2021-W05-3"], "has 2 values that are no dates"),
        ([18262.0], "has no dates but double"),
        ([None], "misses 1 values, the first in row 0"),
    ],
)
def test_what_is_no_agreed_date_is_refused_without_a_value(values, text):
    with pytest.raises(secfc.DataError) as caught:
        Prepare(schema(), t=1).fit([{"seen": values}] * 3)
    assert str(caught.value).splitlines()[0].startswith(f"parties[0]: column 'seen' {text}")
    assert "31.12" not in str(caught.value)


@pytest.mark.parametrize(
    ("ends", "text"),
    [
        ("low = 2020-01-01\nhigh = 9", "low and high are needed"),
        ("low = 2020-01-01\nhigh = 2019-01-01", "low must be below high"),
        ("low = 2020-01-01T00:00:00\nhigh = 2021-01-01", "a number is needed, or a date such as 1950-01-31"),
        ('low = "2020-01-01"\nhigh = 2021-01-01', "a number is needed, or a date"),
        ("low = 2020-01-01\nhigh = 2021-01-01\nlog = true", "dates have no log"),
    ],
)
def test_ranges_that_are_none_of_dates_are_refused(tmp_path, ends, text):
    (tmp_path / "schema.toml").write_text(f'[[column]]\nname = "seen"\n{ends}\n')
    with pytest.raises(secfc.ParameterError, match=rf"schema\.toml:\d+: .*{text}"):
        Schema.read(tmp_path / "schema.toml")
