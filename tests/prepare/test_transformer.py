"""`secfc.Prepare` with scikit-learn's tools: pipelines, clones, frames, and what it refuses."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.pipeline import make_pipeline

import secfc
from secfc import Prepare, SecureKMeans
from secfc.prepare import Column, Schema

SCHEMA = Schema(
    columns=(
        Column(name="age", low=0, high=120, scale="standardise"),
        Column(name="dose", low=0, high=50, scale="min-max"),
    )
)
CONSENT = secfc.Limits(reveal_centres=True)


def tables():
    rng = np.random.default_rng(3)
    made = []
    for at, m in enumerate((12, 9, 11)):
        kind = rng.integers(2, size=m)
        rows = {"age": 30 + 40 * kind + rng.normal(0, 2, m), "dose": 10 + 30 * kind + rng.normal(0, 1, m)}
        made.append(pd.DataFrame(rows, index=[f"{at}-{row}" for row in range(m)]))
    return made


def arrays():
    return [table.to_numpy() for table in tables()]


def pipeline(**options):
    given = {"n_clusters": 2, "t": 1, "ell": 1, "random_state": 0} | options
    return make_pipeline(Prepare(SCHEMA, t=1), SecureKMeans(**given))


def opened():
    return pipeline(reveal=secfc.Reveal(centres="all"), limits=CONSENT)


def lists(labels):
    return [np.asarray(part).tolist() for part in labels]


def test_a_pipeline_gives_the_labels_of_its_steps_one_after_the_other():
    model = pipeline()
    labels = model.fit_predict(tables())
    rows = Prepare(SCHEMA, t=1).fit_transform(tables())
    expected = secfc.run(rows, 2, 1, 1, seed=0)
    assert lists(labels) == lists(expected.labels) == lists(model.fit(tables())[-1].labels_)


def test_a_pipeline_predicts_one_table_as_its_parties_were_labelled():
    model = opened().fit(tables())
    for table, labels in zip(tables(), model[-1].labels_, strict=True):
        np.testing.assert_array_equal(model.predict(table), labels)


def test_without_consent_a_pipeline_predicts_nothing_and_the_error_names_the_option():
    model = pipeline().fit(tables())
    with pytest.raises(
        AttributeError, match=r"by reveal=secfc.Reveal\(centres=...\); predict_parties needs none$"
    ):
        model.predict(tables()[0])
    with pytest.raises(AttributeError, match=r"by reveal=secfc.Reveal\(centres=...\)$"):
        _ = model[-1].cluster_centers_


@pytest.mark.parametrize("kind", [float, object])
def test_parties_may_be_arrays(kind):
    rows = Prepare(SCHEMA, t=1).fit_transform([table.astype(kind) for table in arrays()])
    for found, expected in zip(rows, Prepare(SCHEMA, t=1).fit_transform(tables()), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_frames_keep_index_and_names_through_a_pipeline():
    model = opened().set_output(transform="pandas")
    labels = model.fit_predict(tables())
    assert [part.index.tolist() for part in labels] == [table.index.tolist() for table in tables()]
    assert (
        model[-1].feature_names_in_.tolist() == model[0].get_feature_names_out().tolist() == ["age", "dose"]
    )
    assert lists(labels) == lists(opened().fit_predict(tables()))
    never = pipeline(limits=secfc.Limits(never_shared=("dose",))).set_output(transform="pandas")
    with pytest.raises(secfc.LimitError, match="dose"):
        never.fit(tables())


def test_output_may_be_set_to_polars_and_for_all_of_scikit_learn():
    model = Prepare(SCHEMA, t=1).fit(tables())
    frame = model.set_output(transform="polars").transform(tables())[0]
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == ["age", "dose"]
    assert model.set_output() is model
    assert isinstance(model.transform(tables()[0]), pl.DataFrame)
    assert isinstance(model.set_output(transform="default").transform(tables())[0], np.ndarray)
    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(Prepare(SCHEMA, t=1).fit_transform(arrays())[0], pd.DataFrame)
    with pytest.raises(secfc.ParameterError, match=r"^transform: default, pandas, polars are possible$"):
        model.set_output(transform="arrow")


def test_columns_that_are_not_in_the_schema_are_told_once_and_not_used():
    more = [table.assign(note="private", id=1) for table in tables()[:2]]
    parties = [*more, tables()[2]]
    model = Prepare(SCHEMA, t=1)
    with pytest.warns(secfc.ColumnWarning) as told:
        model.fit(parties)
    (warning,) = told
    text = "columns that are not in the schema are not used: 'note' (parties[0]), 'id' (parties[0])"
    assert str(warning.message) == text
    assert warning.filename == __file__
    assert lists(model.transform(parties)) == lists(Prepare(SCHEMA, t=1).fit_transform(tables()))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: Prepare("schema.toml", t=1).fit(tables()),
            "ParameterError",
            "schema: a Schema is needed, str",
        ),
        (lambda: Prepare(SCHEMA, t=1).fit(tables()[0]), "ParameterError", "a list with one table per party"),
        (
            lambda: Prepare(SCHEMA, t=1).fit([rows[:, :1] for rows in arrays()]),
            "DataError",
            r"^parties\[0\]: 2 columns are needed, the shape given is \(12, 1\)",
        ),
        (
            lambda: Prepare(SCHEMA, t=1).fit(tables()).transform([{"age": [130], "dose": [1]}]),
            "DataError",
            r"^parties\[0\]: column 'age' has 1 values outside 0 to 120, the first in row 0",
        ),
        (
            lambda: Prepare(SCHEMA, t=1).fit(tables()).transform({"age": [13]}),
            "DataError",
            "^table: no column 'dose'",
        ),
        (
            lambda: Prepare(SCHEMA, t=1).fit(tables()).inverse_transform([["a", 1]]),
            "DataError",
            "centres: an array of numbers is needed",
        ),
        (
            lambda: Prepare(SCHEMA, t=1).fit(tables()).inverse_transform([1.0, 2.0]),
            "DataError",
            r"2 columns are needed, the shape given is \(2,\)",
        ),
    ],
)
def test_what_it_refuses(call, error, text):
    with pytest.raises(getattr(secfc, error), match=text):
        call()


def test_centres_of_clusters_without_rows_stay_undefined():
    restored = Prepare(SCHEMA, t=1).fit(tables()).inverse_transform([[np.nan, np.nan], [0.0, 0.5]])
    assert np.isnan(restored[0]).all()
    assert restored[1, 1] == 25
