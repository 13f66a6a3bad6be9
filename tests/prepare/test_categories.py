"""Categories: missing ones by mode or as their own, one column for two; as pandas has it, or refused."""

import json

import numpy as np
import pandas as pd
import pytest

import secfc
from secfc import Prepare
from secfc.prepare import Column, Schema
from secfc.prepare.preparation_file import public_part, read_preparation, write_preparation
from secfc.prepare.statistics import Mode, of_column, opened

LEVELS = ("never", "former", "current")
_RNG = np.random.default_rng(8)
PARTIES = [
    pd.DataFrame({"smoker": _RNG.choice([*LEVELS, None], m, p=[0.2, 0.5, 0.2, 0.1])}) for m in (40, 31, 25)
]
POOLED = pd.concat(PARTIES, ignore_index=True)["smoker"]


def smoker(*, categories=LEVELS, smallest=1, **more):
    return Schema(columns=(Column(name="smoker", categories=categories, **more),), smallest=smallest)


def test_missing_categories_become_the_mode_of_the_pooled_rows(tmp_path):
    model = Prepare(smoker(missing="mode"), t=1)
    rows = np.concatenate(model.fit_transform(PARTIES))
    mode = POOLED.mode()[0]
    expected = pd.get_dummies(POOLED.fillna(mode)).reindex(columns=LEVELS)
    np.testing.assert_array_equal(rows, expected.to_numpy(dtype=float))
    known = model.preparation_.statistics["smoker"]
    counts = POOLED.value_counts().reindex(LEVELS)
    assert known == Mode(holders=3, count=int(counts.sum()), counts=tuple(counts), mode=mode)
    write_preparation(tmp_path / "preparation.json", model.preparation_)
    assert read_preparation(tmp_path / "preparation.json") == model.preparation_


def test_the_first_of_equally_frequent_categories_is_the_mode():
    tables = [{"smoker": [one, None]} for one in ("current", "former", "former")] + [{"smoker": ["current"]}]
    model = Prepare(smoker(missing="mode"), t=1).fit(tables)
    assert model.preparation_.statistics["smoker"].mode == "former"


def test_missing_categories_can_be_a_category_of_their_own():
    model = Prepare(smoker(missing="category"), t=1)
    rows = np.concatenate(model.fit_transform(PARTIES))
    expected = pd.get_dummies(POOLED.fillna("missing")).reindex(columns=[*LEVELS, "missing"])
    np.testing.assert_array_equal(rows, expected.to_numpy(dtype=float))
    assert model.preparation_.names[-1] == "smoker=missing"
    assert model.preparation_.statistics == {}
    assert model.preparation_.bound == 1


@pytest.mark.parametrize("missing", ["refuse", "mode"])
def test_two_categories_can_be_one_column_whose_rows_are_one_apart(missing):
    tables = [{"smoker": ["no", "yes", "yes"]}, {"smoker": ["no"]}, {"smoker": ["yes"]}]
    model = Prepare(smoker(categories=("no", "yes"), missing=missing, drop="first"), t=1)
    rows = np.concatenate(model.fit_transform(tables))
    pooled = pd.Series(["no", "yes", "yes", "no", "yes"])
    np.testing.assert_array_equal(rows, pd.get_dummies(pooled, drop_first=True).to_numpy(dtype=float))
    assert model.preparation_.names == ("smoker=yes",)
    assert ((rows[0] - rows[1]) ** 2).sum() == 1


def test_one_category_and_missing_ones_can_be_one_column():
    tables = [{"smoker": ["yes", None]}] * 3
    model = Prepare(smoker(categories=("yes",), missing="category", drop="first"), t=1)
    assert model.fit_transform(tables)[0].tolist() == [[0.0], [1.0]]
    assert model.preparation_.names == ("smoker=missing",)


def test_a_text_that_means_missing_is_missing_unless_it_is_a_category():
    texts = ["NA", "n/a", " null ", "", "None", None]
    for categories, missing in ((("never",), 6), (("never", "None"), 5)):
        model = Prepare(smoker(categories=categories, missing="category"), t=1)
        rows = np.concatenate(model.fit_transform([{"smoker": ["never", *texts]}] * 3))
        assert rows.sum(axis=0)[-1] == 3 * missing
    numbers = Schema(columns=(Column(name="age", low=0, high=120, missing="mean"),))
    tables = [{"age": [str(age), *texts]} for age in (30, 40, 50)]
    assert np.concatenate(Prepare(numbers, t=1).fit_transform(tables))[1:7, 0] == pytest.approx(40)


def test_of_modes_counts_are_opened_and_of_t_plus_2_parties_alone():
    column = smoker(missing="mode").columns[0]
    assert of_column(np.array([0, 2, 2, -1]), column).numbers == (1, 0, 2)
    # Parties that swap their values have equal counts: nothing says who has which category.
    one, other = (
        Prepare(smoker(missing="mode"), t=1).fit(tables).preparation_
        for tables in (PARTIES, [PARTIES[0], PARTIES[2], PARTIES[1]])
    )
    assert one == other
    tables = [{"smoker": ["never"] * count} for count in (5, 5, 4)]
    with pytest.raises(secfc.LimitError, match=r"t \+ 2 = 3 of 3 are needed, .*; column 'smoker' 2$"):
        Prepare(smoker(missing="mode", smallest=5), t=1).fit(tables)


def test_a_client_sees_that_another_has_a_rare_category():
    """The limit that the threat model states: the rule of holders is for a column, not for each category."""
    tables = [{"smoker": ["never"] * 9}, {"smoker": ["never"] * 9 + ["current"]}, {"smoker": ["former"] * 9}]
    known = Prepare(smoker(missing="mode", smallest=9), t=1).fit(tables).preparation_.statistics["smoker"]
    assert known.counts == (18, 9, 1)


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"missing": "mean"}, 'categories have no mean; missing = "mode", "category" or "zero" is possible'),
        ({"missing": "median"}, "categories have no median"),
        ({"missing": "category", "categories": ("a", "missing")}, "a category is listed twice"),
        ({"drop": "last", "categories": ("a", "b")}, 'drop is "first"'),
        ({"drop": "first"}, "drop needs two categories"),
        ({"drop": "first", "categories": ("a", "b"), "missing": "category"}, "drop needs two categories"),
        (
            {"drop": "first", "categories": ("a", "b"), "missing": "zero"},
            'with drop, missing = "zero" would mean the first category',
        ),
        ({"categories": (), "low": 0, "high": 1, "drop": "first"}, "drop is only for categories"),
        ({"categories": (), "low": 0, "high": 1, "missing": "mode"}, 'missing = "mode" is only for categ'),
        ({"categories": (), "low": 0, "high": 1, "missing": "category"}, 'missing = "category" is only for'),
    ],
)
def test_categories_that_cannot_be_are_refused(more, text):
    with pytest.raises(secfc.ParameterError, match=f"schema: column 'smoker': {text}"):
        smoker(**more)


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("counts", [1, 2], "counts: not 3 numbers of values"),
        ("counts", [0, 0, 0], "counts: not 3 numbers of values"),
        ("counts", [1, 1, 1], "is not what follows"),
        ("mode", "current", "is not what follows"),
        ("mode", 1, "mode: a text is needed"),
    ],
)
def test_a_summary_with_another_mode_is_refused(tmp_path, key, value, text):
    summary = public_part(Prepare(smoker(missing="mode"), t=1).fit(PARTIES).preparation_)
    summary["statistics"]["smoker"][key] = value
    (tmp_path / "wrong.json").write_text(json.dumps(summary))
    with pytest.raises(secfc.ParameterError, match=rf"wrong\.json: .*{text}"):
        read_preparation(tmp_path / "wrong.json")


def test_counts_that_no_values_have_are_noticed():
    column = smoker(missing="mode").columns[0]
    with pytest.raises(secfc.errors.CheatError, match="column 'smoker': no values have the opened totals"):
        opened((1, 1, 0), column, holders=3, smallest=1)
