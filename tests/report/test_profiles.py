"""Profiles of clusters: by hand, compared with scikit-learn, and in the units of a schema."""

from datetime import date as day

import numpy as np
import pytest
from sklearn.metrics import davies_bouldin_score

import secfc
from secfc.prepare import Schema
from secfc.report.profiles import profile

CENTRES = np.array([[0.0, 10.0], [4.0, 10.0], [8.0, 30.0]])
SIZES = np.array([1, 1, 2])


def test_three_clusters_by_hand():
    found = profile(CENTRES, None, SIZES, inertia=None, columns=["a", "b"])
    assert found.unit == "standard deviations between clusters"
    by_name = {line.name: line for line in found.columns}
    assert by_name["a"].mean == 5.0  # (0 + 4 + 2 * 8) / 4
    assert [cell.mean for cell in by_name["b"].cells] == [10, 10, 30]
    assert [cell.away for cell in by_name["a"].cells] == pytest.approx(np.array([-5, -1, 3]) / 11**0.5)
    assert [cell.away for cell in by_name["b"].cells] == pytest.approx([-1, -1, 1])
    first = found.clusters[0]
    assert first.most == [("b", False), ("a", False)]  # 100 and 25 of 125
    assert (first.nearest, first.distance, first.spread, first.overlap) == (1, 4.0, None, None)
    assert found.clusters[1].most == [("b", False)]  # 100 of 101
    assert [line.name for line in found.columns] == ["b", "a"]
    assert found.by_distance
    assert found.explained is None


def test_spreads_give_deviations_of_all_rows_and_what_scikit_learn_gives():
    rng = np.random.default_rng(1)
    labels = rng.integers(3, size=90)
    rows = rng.normal(size=(90, 4)) * [1, 2, 3, 1] + 4 * rng.normal(size=(3, 4))[labels]
    groups = [rows[labels == h] for h in range(3)]
    centres, deviations = (
        np.array([getattr(one, what)(axis=0) for one in groups]) for what in ("mean", "std")
    )
    found = profile(centres, deviations, np.bincount(labels), inertia=None, columns=["a", "b", "c", "d"])
    assert found.unit == "standard deviations of all rows"
    away = (centres - rows.mean(axis=0)) / rows.std(axis=0)
    assert not found.by_distance
    for one in found.clusters:
        order = np.argsort(-np.abs(away[one.cluster]))[:3]
        assert one.most == [
            ("abcd"[j], away[one.cluster, j] > 0) for j in order if abs(away[one.cluster, j]) >= 0.5
        ]
    for line in found.columns:
        assert [cell.away for cell in line.cells] == pytest.approx(away[:, "abcd".index(line.name)])
    apart = np.bincount(labels) @ away**2
    assert [line.name for line in found.columns] == ["abcd"[j] for j in np.argsort(-apart)]
    within = sum(((group - group.mean(axis=0)) ** 2).sum() for group in groups)
    assert found.explained == pytest.approx(1 - within / ((rows - rows.mean(axis=0)) ** 2).sum())
    # scikit-learn's Davies-Bouldin index has mean distances, ours has root mean squares.
    overlaps = np.mean([one.overlap for one in found.clusters])
    assert overlaps == pytest.approx(davies_bouldin_score(rows, labels), rel=0.2)
    assert overlaps > davies_bouldin_score(rows, labels)


def test_a_cluster_without_rows_and_a_column_without_differences_are_shown_as_such():
    centres = np.array([[1.0, 5.0], [np.nan, np.nan], [3.0, 5.0]])
    found = profile(centres, None, np.array([2, 0, 2]), inertia=None, columns=["a", "same"])
    assert [[cell and cell.away for cell in line.cells] for line in found.columns] == [
        [-1, None, 1],
        [0, None, 0],
    ]
    assert [(one.cluster, one.nearest) for one in found.clusters] == [(0, 2), (2, 0)]


def test_other_than_d_names_are_refused():
    with pytest.raises(secfc.ParameterError, match="columns: 2 names are needed, 1 were given"):
        profile(CENTRES, None, SIZES, inertia=None, columns=["a"])


SCHEMA = {
    "column": [
        {"name": "age", "unit": "years", "low": 0, "high": 120, "scale": "standardise"},
        {"name": "smoker", "categories": ["no", "yes"]},
    ]
}


def test_a_schema_gives_units_names_and_deviations():
    tables = [
        {"age": [20.0, 30.0], "smoker": ["no", "no"]},
        {"age": [70.0], "smoker": ["yes"]},
        {"age": [80.0], "smoker": ["no"]},
    ]
    model = secfc.Prepare(Schema.of(SCHEMA), t=1)
    rows = np.concatenate(model.fit_transform(tables))
    centres = np.array([rows[:2].mean(axis=0), rows[2:].mean(axis=0)])
    deviations = np.array([rows[:2].std(axis=0), rows[2:].std(axis=0)])
    sizes = np.array([2, 2])
    for given in (None, deviations):
        found = profile(centres, given, sizes, inertia=None, columns=model.preparation_)
        assert found.unit == "standard deviations of all rows"
        age, *smoker = found.columns
        assert (age.name, age.mean) == ("age (years)", pytest.approx(50))
        assert [cell.mean for cell in age.cells] == pytest.approx([25, 75])
        assert [cell.away for cell in age.cells] == pytest.approx([-25 / 650**0.5, 25 / 650**0.5])
        assert {line.name for line in smoker} == {"smoker=no", "smoker=yes"}
        for line in smoker:
            assert [abs(cell.away) for cell in line.cells] == pytest.approx([0.25 / 0.1875**0.5] * 2)
    assert [cell.deviation for cell in age.cells] == pytest.approx([5, 5])


def test_columns_of_logarithms_have_geometric_means_and_factors():
    schema = {"column": [{"name": "dose", "low": 1, "high": 100, "log": True, "scale": "standardise"}]}
    parties = [{"dose": values} for values in ([1.0, 4.0, 2.0], [4.0, 1.0, 2.0], [50.0, 100.0, 50.0, 100.0])]
    model = secfc.Prepare(Schema.of(schema), t=1)
    rows = np.concatenate(model.fit_transform(parties))
    groups = [rows[:6], rows[6:]]
    centres, deviations = (
        np.array([getattr(one, what)(axis=0) for one in groups]) for what in ("mean", "std")
    )
    found = profile(centres, deviations, np.array([6, 4]), inertia=None, columns=model.preparation_)
    (dose,) = found.columns
    assert dose.log
    assert [cell.mean for cell in dose.cells] == pytest.approx([2, 5000**0.5])
    assert [cell.deviation for cell in dose.cells] == pytest.approx([4 ** (1 / 6**0.5), 2**0.5])


@pytest.mark.filterwarnings("ignore::secfc.PrivacyWarning")
def test_the_page_says_where_means_are_geometric(tmp_path):
    schema = {
        "column": [
            {"name": "<dose>", "unit": "mg", "low": 1, "high": 100, "log": True, "scale": "standardise"},
            {"name": "age", "low": 0, "high": 120, "scale": "standardise"},
            {"name": "seen", "low": day(2020, 1, 1), "high": day(2020, 1, 31), "scale": "min-max"},
        ]
    }
    rng = np.random.default_rng(0)
    kinds = [np.repeat([0, 1], 20) for _ in range(3)]
    tables = [
        {
            "<dose>": 2 + 50 * kind * rng.random(40),
            "age": 40 + 9 * rng.random(40),
            "seen": [day(2020, 1, 5)] * 40,
        }
        for kind in kinds
    ]
    model = secfc.Prepare(Schema.of(schema), t=1)
    limits = secfc.Limits(reveal_centres=True, reveal_spread=10)
    result = secfc.run(
        model.fit_transform(tables),
        2,
        1,
        1,
        seed=0,
        reveal=secfc.Reveal(centres=[0], spread=True),
        limits=limits,
    )
    page = result.report(tmp_path / "r.html", party=0, columns=model.preparation_).read_text(encoding="utf-8")
    assert "<td>&lt;dose&gt; (mg), geometric mean</td>" in page
    assert "<td>age</td>" in page
    assert page.split("<td>seen</td>")[1].split("</tr>")[0].count(">2020-01-05<") == 3  # of all, and of each
    dose, age = (page.split(f"<td>{name}")[1].split("</tr>")[0] for name in ("&lt;dose", "age<"))
    assert (dose.count("<small>×/÷"), dose.count("<small>±")) == (2, 0)
    assert (age.count("<small>×/÷"), age.count("<small>±")) == (0, 2)
