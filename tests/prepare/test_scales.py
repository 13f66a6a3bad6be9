"""Logarithms and robust scales: near pooled ones, restored, refused if impossible; and what is opened."""

import json

import numpy as np
import pytest

import secfc
from secfc import Prepare
from secfc.prepare import Column, Schema
from secfc.prepare.preparation_file import public_part, read_preparation, write_preparation
from secfc.prepare.statistics import of_column, opened

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
    np.testing.assert_allclose(preparation.scale_spreads(spread), rows.std(axis=0, keepdims=True), atol=1e-9)
    write_preparation(tmp_path / "preparation.json", preparation)
    assert read_preparation(tmp_path / "preparation.json") == preparation


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
        ({"categories": ("a",), "log": True}, "categories have no range, step, scale, clip or log"),
        ({"low": 1, "high": 9, "log": 1}, "log is true or false"),
        ({"low": 1e15, "high": 1e15 + 0.125, "log": True}, "the logarithms of low and high are equal"),
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


# Robust scales


def robust(**more):
    given = {"low": 0, "high": 100, "scale": "robust", "bins": 50} | more
    return Schema(columns=(Column(name="stay", **given),))


STAYS = [np.clip(_RNG.exponential(12, m), 0, 100) for m in (40, 31, 25)]
STAY_TABLES = [{"stay": values} for values in STAYS]


def test_counts_worked_by_hand():
    column = Column(name="a", low=0, high=8, scale="robust", bins=4)
    counts = of_column(np.array([0, 1, 2, 3, 7.9, 8, np.nan]), column)
    assert (counts.count, counts.numbers) == (6, (2, 2, 0, 2))
    known = opened(counts.numbers, column, holders=3, smallest=1)
    assert (known.lower, known.median, known.upper) == (1.5, 3.0, 6.5)  # 1.5, 3 and 4.5 of 6 values below
    assert (known.centre, known.unit, known.count) == (3.0, 5.0, 6)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("bins", [2, 50, 1024])
def test_quartiles_are_off_by_a_bin_at_most_and_counts_are_the_pooled_histogram(bins, log):
    schema = robust(bins=bins, low=0.5 if log else 0, log=log, clip=True)
    model = Prepare(schema, t=1)
    rows = np.concatenate(model.fit_transform(STAY_TABLES))[:, 0]
    pooled = np.clip(np.concatenate(STAYS), 0.5 if log else 0, 100)
    pooled = np.log(pooled) if log else pooled
    known = model.preparation_.statistics["stay"]
    ends = schema.columns[0].ends
    width = (ends[1] - ends[0]) / bins
    assert list(known.counts) == np.histogram(pooled, bins=bins, range=ends)[0].tolist()
    for found, part in ((known.lower, 0.25), (known.median, 0.5), (known.upper, 0.75)):
        below, above = np.quantile(pooled, part, method="lower"), np.quantile(pooled, part, method="higher")
        assert below - width <= found <= above + width
    np.testing.assert_allclose(rows, (pooled - known.median) / (known.upper - known.lower), atol=1e-9)
    assert np.abs(rows).max() <= model.preparation_.bound


def test_of_a_robust_column_counts_are_opened_and_no_sum():
    column = robust().columns[0]
    assert len(of_column(STAYS[0], column).numbers) == column.bins
    one, other = [0.5, 1.5, 99], [1.9, 0.1, 98.2]  # other values in the same bins
    first, second = (
        Prepare(robust(), t=1).fit([{"stay": values}, *STAY_TABLES[1:]]).preparation_
        for values in (one, other)
    )
    assert first == second


def test_missing_values_become_the_median_and_centres_are_restored(tmp_path):
    model = Prepare(robust(missing="median"), t=1)
    tables = [{"stay": [*values, np.nan]} for values in STAYS]
    rows = model.fit_transform(tables)
    median = model.preparation_.statistics["stay"].median
    assert [one[-1, 0] for one in rows] == [0, 0, 0]
    assert model.inverse_transform([[0.0]])[0, 0] == pytest.approx(median)
    write_preparation(tmp_path / "preparation.json", model.preparation_)
    assert read_preparation(tmp_path / "preparation.json") == model.preparation_


def test_values_too_many_interquartile_ranges_from_the_median_are_refused_or_clipped():
    text = r"column 'stay' has \d+ values more than 1 interquartile ranges from the median of all parties"
    with pytest.raises(secfc.DataError, match=text):
        Prepare(robust(deviations=1), t=1).fit_transform(STAY_TABLES)
    model = Prepare(robust(deviations=1, clip=True), t=1)
    assert max(np.abs(one).max() for one in model.fit_transform(STAY_TABLES)) == 1
    assert robust(deviations=1).ranges[0][1] == (-1, 1)


def test_columns_of_several_kinds_are_opened_together():
    schema = Schema(
        columns=(
            Column(name="age", low=0, high=120, scale="standardise"),
            Column(name="stay", low=0, high=100, scale="robust", bins=10),
            Column(name="dose", low=0, high=50, missing="mean"),
        )
    )
    tables = [{"age": [30.0 + at, 60], "stay": [1.0, 50], "dose": [at, 9.0]} for at in range(3)]
    known = Prepare(schema, t=1).fit(tables).preparation_.statistics
    assert known["age"].mean == pytest.approx(45.5, abs=1e-5)
    assert known["stay"].counts == (3, 0, 0, 0, 0, 3, 0, 0, 0, 0)
    assert known["dose"].mean == pytest.approx(5, abs=1e-5)


@pytest.mark.parametrize(
    "counts", [(0, 0, 0, 0), (1, 0, 0, 1), ((1 << 29) + 1, 0, 0, 0), (1 << 118, 3, 0, 0)]
)
def test_counts_that_no_values_have_are_noticed(counts):
    column = Column(name="a", low=0, high=8, scale="robust", bins=4)
    with pytest.raises(secfc.errors.CheatError, match="column 'a': no values have the opened totals"):
        opened(counts, column, holders=3, smallest=1)


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (
            {"bins": None},
            "bins is needed: all values are counted in so many parts of the range, and counts are",
        ),
        ({"scale": "standardise"}, 'bins are of scale = "robust"'),
        ({"bins": 1}, "bins is a whole number, 2 to 1024"),
        ({"bins": 1025}, "bins is a whole number, 2 to 1024"),
        ({"bins": True}, "bins is a whole number"),
        ({"missing": "mean"}, 'the mean is not opened with this scale; missing = "median" is possible'),
        (
            {"scale": "none", "bins": None, "missing": "median"},
            'the median is not opened with this scale; missing = "mean" is',
        ),
        ({"scale": "min-max", "bins": None, "deviations": 2}, 'deviations are of scale = "standardise" or'),
    ],
)
def test_robust_columns_that_cannot_be_are_refused(more, text):
    with pytest.raises(secfc.ParameterError, match=f"schema: column 'stay': {text}"):
        robust(**more)


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("counts", [1, 2], "counts: not 50 numbers of values"),
        ("counts", [-1] * 50, "counts.1.: Input should be greater than or equal to 0"),
        ("counts", [0] * 50, "counts: not 50 numbers of values"),
        ("counts", [1.0] * 50, "counts.1.: an integer is needed"),
        ("holders", "3", "holders: an integer is needed"),
        ("median", 99.0, "is not what follows"),
        ("count", 3, "is not what follows"),
    ],
)
def test_a_summary_with_other_quartiles_is_refused(tmp_path, key, value, text):
    summary = public_part(Prepare(robust(), t=1).fit(STAY_TABLES).preparation_)
    summary["statistics"]["stay"][key] = value
    (tmp_path / "wrong.json").write_text(json.dumps(summary))
    with pytest.raises(secfc.ParameterError, match=rf"wrong\.json: .*{text}"):
        read_preparation(tmp_path / "wrong.json")
