"""Logarithms: equal to pooled ones, restored as geometric means, and refused where there are none."""

import numpy as np
import pytest

import secfc
from secfc import Prepare
from secfc.prepare import Column, Schema
from secfc.prepare.summary import read_summary, write_summary

LOW, HIGH = 0.1, 5000.0
_RNG = np.random.default_rng(6)
VALUES = [np.clip(_RNG.lognormal(3, 1.5, m), LOW, HIGH) for m in (20, 15, 25)]
TABLES = [{"marker": values} for values in VALUES]


def logs(**more):
    return Schema(columns=(Column(name="marker", low=LOW, high=HIGH, log=True, **more),))


@pytest.mark.parametrize("scale", ["none", "min-max", "standardise"])
def test_logarithms_are_scaled_as_pooled_ones(scale):
    model = Prepare(logs(scale=scale), t=1)
    rows = np.concatenate(model.fit_transform(TABLES))[:, 0]
    pooled = np.log(np.concatenate(VALUES))
    least, most = np.log(LOW), np.log(HIGH)
    expected = {
        "none": pooled,
        "min-max": (pooled - least) / (most - least),
        "standardise": (pooled - pooled.mean()) / pooled.std(),
    }
    np.testing.assert_allclose(rows, expected[scale], atol=1e-6)
    low, high = model.preparation_.ranges["marker"]
    assert low <= rows.min() <= rows.max() <= high
    assert np.abs(rows).max() <= model.preparation_.bound


def test_centres_are_restored_to_geometric_means_and_spreads_to_factors(tmp_path):
    model = Prepare(logs(scale="standardise"), t=1)
    rows = np.concatenate(model.fit_transform(TABLES))
    pooled = np.log(np.concatenate(VALUES))
    centre = rows.mean(axis=0, keepdims=True)
    restored = model.inverse_transform(centre)
    assert restored[0, 0] == pytest.approx(np.exp(pooled.mean()), rel=1e-6)
    preparation = model.preparation_
    np.testing.assert_allclose(preparation.scale(restored), centre, atol=1e-9)
    spread = preparation.restore_spreads(rows.std(axis=0, keepdims=True))
    assert spread[0, 0] == pytest.approx(np.exp(pooled.std()), rel=1e-6)
    write_summary(tmp_path / "preparation.json", preparation)
    assert read_summary(tmp_path / "preparation.json") == preparation


def test_missing_values_become_the_mean_of_logarithms():
    model = Prepare(logs(missing="mean", scale="none"), t=1)
    tables = [{"marker": [*values, np.nan]} for values in VALUES]
    rows = model.fit_transform(tables)
    assert rows[0][-1, 0] == pytest.approx(np.log(np.concatenate(VALUES)).mean(), abs=1e-6)


def test_values_outside_are_refused_or_clipped_before_logarithms_are_taken():
    spoiled = [{"marker": [-1.0, 0.0, *VALUES[0]]}, *TABLES[1:]]
    with pytest.raises(secfc.DataError, match=r"has 2 values outside 0\.1 to 5000, the first in row 0"):
        Prepare(logs(), t=1).fit(spoiled)
    rows = Prepare(logs(clip=True, scale="min-max"), t=1).fit_transform(spoiled)[0]
    assert rows[:2, 0].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ({"low": 0, "high": 9, "log": True}, "low must be above 0 for log; with clip smaller values become"),
        ({"low": -2, "high": 9, "log": True}, "low must be above 0"),
        ({"categories": ("a",), "log": True}, "categories have no range, scale, clip or log"),
        ({"low": 1, "high": 9, "log": 1}, "log is true or false"),
        ({"low": 1e15, "high": 1e15 + 0.125, "log": True}, "the logarithms of low and high are one number"),
    ],
)
def test_columns_without_logarithms_are_refused(column, text):
    with pytest.raises(secfc.ParameterError, match=rf"schema: column 'a': {text}"):
        Column(name="a", **column)


def test_logarithms_are_part_of_what_is_agreed():
    plain = Schema(columns=(Column(name="marker", low=LOW, high=HIGH),))
    assert plain.digest != logs().digest
    assert Schema.of(logs().to_dict()) == logs()
    ((_, ends),) = logs().ranges
    assert ends == (pytest.approx(np.log(LOW)), pytest.approx(np.log(HIGH)))
