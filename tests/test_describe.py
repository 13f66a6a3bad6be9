"""`describe=`: columns that are not clustered, by cluster, as pandas and SciPy compute of pooled rows."""

import csv
import datetime
import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from typer.testing import CliRunner

import secfc
from secfc.cli.app import app
from secfc.prepare.by_cluster import Table1, drafted, values_of
from secfc.prepare.schema import Column, Schema
from secfc.prepare.tables import as_table

CONSENT = secfc.Limits(describe=3)
NAMES = ["age", "bmi", "visits", "admitted", "smoker", "died"]


def frame(seed, m=40):
    """Three groups of rows, and columns of every kind with missing values."""
    rng = np.random.default_rng(seed)
    group = np.arange(m) % 3
    found = pd.DataFrame(
        {
            "x": group * 10 + rng.normal(size=m),
            "age": rng.integers(20, 90, m).astype(float),
            "bmi": rng.normal(25 + group, 3, m),
            "y": rng.normal(size=m),
            "visits": rng.integers(0, 4, m),
            "admitted": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, m), unit="D"),
            "smoker": rng.choice(["never", "former", "current"], m),
            "died": rng.random(m) < 0.3,
        }
    )
    found.loc[::11, "age"] = np.nan
    found.loc[::9, "smoker"] = None
    return found


FRAMES = {name: frame(seed) for seed, name in enumerate(("north", "south", "west", "east"))}


@pytest.fixture(scope="module")
def result():
    return secfc.run(FRAMES, 3, 1, 1, describe=NAMES, limits=CONSENT, seed=0)


@pytest.fixture(scope="module")
def pooled(result):
    labels = [one.to_numpy() for one in result.labels]
    return pd.concat([own.assign(label=one) for own, one in zip(FRAMES.values(), labels, strict=True)])


def records(table, column):
    return [one for one in table.records() if one["column"] == column]


def test_labels_are_those_of_the_other_columns_alone(result):
    assert result.columns == ("x", "y")
    alone = secfc.run([one[["x", "y"]] for one in FRAMES.values()], 3, 1, 1, seed=0)
    assert [one.tolist() for one in result.labels] == [one.tolist() for one in alone.labels]


def test_sizes_and_parties(result, pooled):
    table = result.table1()
    assert table.sizes == pooled.groupby("label").size().tolist() == result.sizes.tolist()
    assert (table.parties, table.clusters, table.too_few) == (tuple(FRAMES), (0, 1, 2), ())


@pytest.mark.parametrize("name", ["age", "bmi", "visits", "admitted"])
def test_counts_means_and_deviations_are_those_of_pooled_rows(result, pooled, name):
    numbers = pooled[name]
    if name == "admitted":
        numbers = (numbers - pd.Timestamp(0)).dt.days
    of = numbers.astype(float).groupby(pooled.label).agg(["count", "mean", "std"])
    found = pd.DataFrame(records(result.table1(), name))
    rtol = 1e-7 if name == "bmi" else 1e-14  # other columns are exact
    np.testing.assert_array_equal(found["count"], of["count"])
    np.testing.assert_array_equal(found["missing"], pooled.groupby("label").size() - of["count"])
    np.testing.assert_allclose(found["mean"], of["mean"], rtol=rtol)
    np.testing.assert_allclose(found["std"], of["std"], rtol=rtol)


def test_counts_by_category_are_those_of_pooled_rows(result, pooled):
    of = pd.crosstab(pooled.label, pooled.smoker)
    found = [one["counts"] for one in records(result.table1(), "smoker")]
    assert found == of.to_dict("records")


def test_truth_values_have_one_line_of_counts(result, pooled):
    of = pd.crosstab(pooled.label, pooled.died)
    found = [one["counts"] for one in records(result.table1(), "died")]
    assert found == [{"0": no, "1": yes} for no, yes in of.to_numpy().tolist()]
    assert result.table1().lines()[-1][:-1] == [
        "died, n (%)", *(f"{yes} ({100 * yes / (no + yes):.1f})" for no, yes in of.to_numpy().tolist())
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["age", "bmi", "visits"])
def test_f_is_that_of_pooled_rows(result, pooled, name):
    expected = stats.f_oneway(*(own.dropna() for _, own in pooled.groupby("label")[name]))
    np.testing.assert_allclose(result.table1().tests()[name], expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["smoker", "died"])
def test_chi_square_is_that_of_pooled_rows(result, pooled, name):
    expected = stats.chi2_contingency(pd.crosstab(pooled.label, pooled[name]))
    assert result.table1().tests()[name] == pytest.approx(expected[:2], rel=1e-14)


def test_two_groups_and_two_categories_have_scipys_correction():
    texts = [pd.DataFrame({"x": [0.0] * 8 + [9.0] * 8, "event": list("yynnnnnn" + "yyyyynnn")})] * 3
    found = secfc.run(texts, 2, 1, 1, describe=["event"], limits=CONSENT, seed=0).table1()
    expected = stats.chi2_contingency([[6, 18], [15, 9]])
    assert found.tests()["event"] == pytest.approx(expected[:2], rel=1e-14)


def test_the_table_as_text_csv_frame_and_html(result, tmp_path):
    table = result.table1()
    head, *lines = table.lines()
    assert head == ["", "cluster 0", "cluster 1", "cluster 2", "p"]
    assert lines[0] == ["rows", *map(str, table.sizes), ""]
    assert [line[0] for line in lines[1:]] == [
        "age, mean (SD)", "  missing", "bmi, mean (SD)", "visits, mean (SD)", "admitted, mean (SD)",
        "smoker, n (%)", "  current", "  former", "  never", "  missing", "died, n (%)",
    ]  # fmt: skip
    one = records(table, "bmi")[0]
    assert lines[3][1] == f"{one['mean']:.4g} ({one['std']:.3g})"
    table.to_csv(tmp_path / "table1.csv")
    read = pd.read_csv(tmp_path / "table1.csv", keep_default_na=False)
    assert read.to_numpy().tolist() == lines
    assert table.to_frame().to_numpy().tolist() == [line[1:] for line in lines]
    assert str(table).splitlines()[0].split() == ["cluster", "0", "cluster", "1", "cluster", "2", "p"]
    assert table._repr_html_().count("<tr>") == 13


@pytest.mark.parametrize("driver", ["in-process", "multiprocess"])
def test_tables_beside_the_parties_and_arrays(result, driver):
    rows = {name: own[["x", "y"]].to_numpy() for name, own in FRAMES.items()}
    given = {
        "in-process": {name: pl.DataFrame(own[NAMES[:2]]) for name, own in reversed(FRAMES.items())},
        "multiprocess": [own[NAMES[:2]].to_numpy() for own in FRAMES.values()],
    }[driver]
    found = secfc.run(rows, 3, 1, 1, describe=given, limits=CONSENT, seed=0, driver=driver).table1()
    for one, name in zip(found.schema.columns, NAMES, strict=False):
        of = [{**record, "column": name} for record in records(found, one.name)]
        assert of == records(result.table1(), name)


def test_clusters_of_the_table_are_ordered_and_named_with_those_of_the_result(result):
    sizes = np.argsort(-result.sizes, kind="stable")
    assert sizes.tolist() != [0, 1, 2]
    for found in (
        result.ordered().named(["a", "b", "c"]),
        result.named([name for _, name in sorted(zip(sizes, "abc", strict=True))]).ordered(),
    ):
        table = found.table1()
        assert table.lines()[0] == ["", "a", "b", "c", "p"]
        assert table.sizes == found.sizes.tolist()
        for name, tested in table.tests().items():
            assert tested == pytest.approx(result.table1().tests()[name])
        for name in NAMES:
            old, new = (
                [{**one, "cluster": None} for one in records(of, name)] for of in (result.table1(), table)
            )
            assert new == [old[h] for h in sizes]
            assert [one["cluster"] for one in records(table, name)] == [0, 1, 2]


def test_polars_frames_have_names_too():
    given = [pl.DataFrame(own[["x", "y", "age"]]) for own in FRAMES.values()]
    found = secfc.run(given, 3, 1, 1, describe=["age"], limits=CONSENT, seed=0)
    assert found.columns == ("x", "y")
    assert found.table1().too_few == ()


def test_a_party_with_too_few_rows_of_a_cell_hides_the_column_and_no_other(result):
    frames = {name: own[["x", "y", "age", "bmi"]].copy() for name, own in FRAMES.items()}
    labels = result.labels[1].to_numpy()
    frames["south"].loc[np.flatnonzero(labels == 1)[2:], "bmi"] = np.nan
    found = secfc.run(frames, 3, 1, 1, describe=["age", "bmi"], limits=CONSENT, seed=0).table1()
    assert found.too_few == ("bmi",)
    assert found.lines()[-1] == ["bmi", *["too few"] * 3, ""]
    assert records(found, "age") == records(result.table1(), "age")
    one_less = [CONSENT, secfc.Limits(describe=2), CONSENT, CONSENT]
    for limits, too_few in ((one_less, ("bmi",)), (secfc.Limits(describe=2), ())):
        found = secfc.run(frames, 3, 1, 1, describe=["age", "bmi"], limits=limits, seed=0)
        assert found.table1().too_few == too_few


def test_every_party_must_consent():
    text = (
        r"^describe: west did not consent; every party must, by limits=secfc.Limits\(describe=5\), in a comm"
    )
    frames = [own[["x", "y", "age"]] for own in FRAMES.values()]
    with pytest.raises(secfc.LimitError, match=text):
        secfc.run(
            dict(zip(FRAMES, frames, strict=True)),
            3,
            1,
            1,
            describe=["age"],
            limits=[CONSENT, CONSENT, secfc.Limits(), CONSENT],
        )
    hidden = secfc.Limits(describe=3, never_shared=("age",))
    with pytest.raises(secfc.LimitError, match=r"limits forbid sharing column 'age'"):
        secfc.run(frames, 3, 1, 1, describe=["age"], limits=hidden)


def test_a_name_of_two_columns_of_a_frame_is_refused():
    twice = {
        name: frame.set_axis(["age", *frame.columns[1:-1], "age"], axis=1) for name, frame in FRAMES.items()
    }
    with pytest.raises(secfc.DataError, match=r"column 'age' is named twice, or is two columns$"):
        secfc.run(twice, 3, 1, 1, describe=["age"], limits=CONSENT)


@pytest.mark.parametrize(
    ("describe", "text"),
    [
        ("age", "describe: a list of names of columns is needed, or a table for each party"),
        (["agee"], "north: no column 'agee' to describe"),
        (["age", "age"], "describe: north: column 'age' is named twice, or is two columns"),
        ([[1.0]], "describe: a table for each of 4 parties is needed"),
        ([[1.0] * 40] * 3 + [[1.0]], "describe: east: 1 rows, 40 are clustered"),
        ([{"a": [1] * 40}] * 3 + [{"b": [1] * 40}], "describe: east and north need the same columns, each"),
        ([[np.inf] * 40] * 4, "describe: column '0' has infinite values"),
        ([[]] * 4, "describe: north: 0 rows, 40 are clustered"),
        ([np.empty((40, 0))] * 4, "describe: north: it has no columns"),
        ([np.empty((4, 4, 4))] * 4, "describe: north: an array of shape (rows, columns) is needed"),
        ({"north": [1.0] * 40}, "describe: a dict needs the names of all parties and no other; differing: "),
    ],
)  # fmt: skip
def test_what_cannot_be_described_is_refused_before_anything_is_sent(describe, text):
    with pytest.raises(secfc.SecFCError) as caught:
        secfc.run(
            FRAMES if describe in ("age", ["agee"], ["age", "age"]) else NUMBERS,
            3,
            1,
            1,
            describe=describe,
            limits=CONSENT,
        )
    assert str(caught.value).startswith(text)


NUMBERS = {name: own[["x", "y"]] for name, own in FRAMES.items()}


def test_arrays_have_no_names():
    arrays = [own.to_numpy() for own in NUMBERS.values()]
    with pytest.raises(
        secfc.ParameterError, match=r"^describe: parties\[0\] has no names of columns; give a tab"
    ):
        secfc.run(arrays, 3, 1, 1, describe=["x"], limits=CONSENT)


@pytest.mark.parametrize("party", [0, None])
def test_the_page_shows_the_table_and_who_learned_it(result, tmp_path, party):
    page = result.report(tmp_path / "page.html", party=party).read_text()
    assert all(f">{line[1]}</td>" in page for line in result.table1().lines()[1:])
    assert "Every party learned this, because all consented; the server did not." in page
    assert "of 6 described columns, by cluster" in page
    assert "too few" not in page.split('id="table"')[1].split("<h2")[0]


def test_a_run_without_described_columns_has_no_table():
    with pytest.raises(secfc.ParameterError, match=r"^describe: no columns were described in this run$"):
        secfc.run(NUMBERS, 3, 1, 1, seed=0).table1()


class TestWholeNumbers:
    """What a value becomes, and what it stands for."""

    @pytest.mark.parametrize(
        "column",
        [
            Column(name="a", low=-3, high=7, step=0.25),
            Column(name="a", low=0.3, high=2, step=0.1),
            Column(name="a", low=datetime.date(2020, 1, 1), high=datetime.date(2020, 3, 1)),
        ],
    )
    def test_columns_with_a_step_are_exact(self, column):
        low, high = column.range
        unit = column.step or 1
        values = [one for one in (np.arange(-100, 20000) * unit).round(9) if low <= one <= high]
        if column.date:
            values = [datetime.date(1970, 1, 1) + datetime.timedelta(days=int(one)) for one in values]
        table = as_table({"a": values}, "a")
        assert values_of(table, Schema(columns=(column,)), name="a")[0].tolist() == list(range(len(values)))

    def test_ranges_and_categories_are_those_of_all_parties(self):
        tables = [
            as_table({"a": [1.5, None], "b": ["x", None], "c": [3, 4], "d": [None, None]}, "a"),
            as_table({"a": [-1, 4], "b": ["NA", " y "], "c": [9, None], "d": [None, None]}, "b"),
        ]
        a, b, c, d = drafted(tables).columns
        assert (a.range, a.step, b.categories, c.range, c.step) == ((-1, 4), None, ("x", "y"), (3, 9), 1)
        assert d.range == (0, 1)
        assert values_of(tables[1], drafted(tables), name="b")[1].tolist() == [-1, 1]

    @pytest.mark.parametrize("value", [2.0**60, -3.0, 0.5, 1e308, 5e-324])
    def test_a_column_of_one_value_has_it_as_its_mean(self, value):
        given = [[value] * len(own) for own in NUMBERS.values()]
        table = secfc.run(NUMBERS, 3, 1, 1, describe=given, limits=CONSENT, seed=0).table1()
        assert {(one["mean"], one["std"]) for one in table.records()} == {(value, 0.0)}

    @pytest.mark.parametrize("value", [0.0, 1.0])
    def test_a_column_of_0_or_of_1_alone_is_one_of_both(self, value):
        (column,) = drafted([as_table({"a": [value]}, "a")]).columns
        assert (column.range, column.step) == ((0, 1), 1)


def test_a_table_of_one_cluster_has_no_tests():
    found = secfc.run(NUMBERS, 1, 1, 1, describe=[[1.0, 2.0] * 20] * 4, limits=CONSENT, seed=0).table1()
    assert isinstance(found, Table1)
    assert np.isnan(found.tests()["0"]).all()
    assert found.lines()[2] == ["0, mean (SD)", "1.5 (0.502)", ""]


class TestCommand:
    @pytest.fixture
    def files(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        for name, own in FRAMES.items():
            own.assign(died=own.died.map({True: "yes", False: "no"})).to_csv(f"{name}.csv", index=False)

    def run(self, *more):
        files = [f"{name}.csv" for name in FRAMES]
        words = ["run", *files, "-k", "3", "--t", "1", "--ell", "1", "--seed", "0", "--driver", "in-process"]
        return CliRunner().invoke(app, [*words, "--out", "result", *more], env={"COLUMNS": "200"})

    @pytest.mark.parametrize("centres", [[], ["--reveal-centres", "all"]])
    def test_a_table_is_in_the_folder_of_results(self, files, result, centres):
        done = self.run(
            *centres,
            "--describe",
            "age,bmi,smoker",
            "--describe",
            "died",
            "--drop",
            "visits,admitted",
            "--consent",
            "all=3",
        )
        assert done.exit_code == 0, done.output
        found = list(csv.reader(Path("result/table1.csv").read_text().splitlines()))
        expected = result.table1().lines()
        assert found[0] == expected[0]
        assert [line[0] for line in found[-3:]] == ["died, n (%)", "  no", "  yes"]
        kept = [line for line in expected[1:] if line[0].startswith(("rows", "age", "bmi"))]
        assert [line for line in found[1:] if line[0].startswith(("rows", "age", "bmi"))] == kept
        assert "age, mean (SD)" in done.output
        assert "too few" not in done.output

    def test_the_command_says_why_a_column_was_not_opened(self, files):
        done = self.run("--columns", "x,y", "--describe", "age", "--consent", "all=100")
        assert done.exit_code == 0, done.output
        assert re.search(r"^age +too few +too few +too few$", done.output, re.MULTILINE)
        assert (
            '"too few": a column is not opened if in a cluster fewer than 3 parties have 100 of its values, '
            "or one has some, but fewer\n"
        ) in done.output

    def test_the_page_made_again_has_the_table_with_its_clusters_in_order(self, files, result):
        done = self.run("--columns", "x,y", "--describe", "age,smoker", "--consent", "all=3")
        assert done.exit_code == 0, done.output
        report = ["report", "result", "--out", "page.html", "--order", "size", "--names", "a,b,c"]
        assert CliRunner().invoke(app, report).exit_code == 0
        text = Path("page.html").read_text().split('id="table"')[1].split("</table>")[0]
        lines = [re.findall(r"<t[hd][^>]*>([^<]*)<", line) for line in text.split("<tr>")[1:]]
        of = result.ordered().named(["a", "b", "c"]).table1().lines()
        assert lines[0] == ["", "a", "b", "c", "p"]
        assert lines[1:4] == of[1:4]
        assert [line[0] for line in lines[4:]] == [
            "smoker, n (%)", "  current", "  former", "  never", "  missing",
        ]  # fmt: skip

    @pytest.mark.parametrize("text", ["", ",cluster 0,p\n", ",cluster 0,p\nrows,1,\n", ",a\nrows\n", "\xff"])
    def test_another_table_is_refused(self, files, text):
        self.run("--columns", "x,y", "--describe", "age", "--consent", "all=3")
        Path("result/table1.csv").write_text(text, encoding="latin-1")
        done = CliRunner().invoke(app, ["report", "result", "--out", "page.html"])
        assert done.exit_code == 2
        assert "result/table1.csv: no" in " ".join(done.output.split())
        assert not Path("page.html").exists()

    @pytest.mark.parametrize(
        ("options", "status", "text"),
        [
            (
                ["--describe", "age", "--consent", "north=3,south=3,west=3"],
                3,  # of limits
                "describe: east.csv did not consent",
            ),
            (["--describe", "agee", "--consent", "all"], 2, "no column 'agee'"),
            (
                ["--describe", "age", "--consent", "all=1"],
                2,
                "--consent: north=1: limits.describe: at least 2 rows",
            ),
            (
                ["--consent", "all"],
                2,
                "--consent: only with --reveal-centres, --reveal-inertia, --describe or",
            ),
        ],
    )
    def test_what_cannot_be_described_is_named_and_nothing_is_written(self, files, options, status, text):
        done = self.run("--drop", "bmi,visits,admitted,smoker,died", *options)
        assert done.exit_code == status
        assert text in " ".join(done.output.split())
        assert not Path("result").exists()
