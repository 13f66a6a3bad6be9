"""Prepared files are complete or absent, and every command says what it did."""

import csv
import json
import os
import sqlite3
import sys
from contextlib import closing

import numpy as np
import pandas as pd
import pyarrow.csv
import pyarrow.parquet
import pytest
from support import warm

import secfc
from secfc.prepare import Schema
from secfc.prepare.preparation_file import MENDED, PREPARATION, public_part, read_mended, read_preparation
from secfc.prepare.prepared_files import prepare_by, prepare_files
from secfc.tables.number_texts import number_text

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
low = 0
high = 50
scale = "min-max"
clip = true

[[column]]
name = "smoker"
categories = ["never", "former"]
missing = "zero"
"""


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(4)
    for at, name in enumerate(("north", "south", "west")):
        frame = pd.DataFrame(
            {
                "patient": [f"{name}-{row:03}" for row in range(6 + at)],
                "dose": rng.normal(20, 30, 6 + at).round(2),
                "age": rng.integers(20, 90, 6 + at),
                "smoker": rng.choice(["never", "former"], 6 + at),
                "note": "x",
            }
        )
        frame["age"] = frame["age"].astype("Int64")
        frame.loc[2, "age"] = pd.NA
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "schema.toml").write_text(TOML)
    return tmp_path


def paths(folder, ending=".csv"):
    return [folder / f"{name}{ending}" for name in ("north", "south", "west")]


def listing(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def in_memory(folder):
    frames = [pd.read_csv(path).drop(columns=["patient", "note"]) for path in paths(folder)]
    model = secfc.Prepare(Schema.read(folder / "schema.toml"), t=1)
    return model.fit_transform(frames), model.preparation_


def test_files_are_prepared_as_tables_in_memory_are(folder):
    schema = Schema.read(folder / "schema.toml")
    done = prepare_files(paths(folder), schema, t=1, out=folder / "ready", id_column="patient")
    expected, preparation = in_memory(folder)
    assert done.preparation == preparation
    assert [one["rows"] for one in done.mended] == [6, 7, 8]
    assert [one["missing"] for one in done.mended] == [{"age": 1}] * 3
    for path, before, rows in zip(done.files, paths(folder), expected, strict=True):
        frame = pyarrow.csv.read_csv(path).to_pandas()
        assert tuple(frame.columns) == ("patient", *preparation.names)
        assert frame["patient"].tolist() == pd.read_csv(before)["patient"].tolist()
        np.testing.assert_array_equal(frame.drop(columns="patient").to_numpy(), rows)
    names = ["north", "south", "west"]
    files = [f"{name}{end}" for name in names for end in (".csv", MENDED)]
    assert listing(folder / "ready") == sorted([PREPARATION, *files])
    told = read_mended(folder / "ready", names)
    assert [one["missing"] for one in told.values()] == [{"age": 1}] * 3


def test_the_summary_is_what_all_know_and_no_more(folder):
    schema = Schema.read(folder / "schema.toml")
    done = prepare_files(paths(folder), schema, t=1, out=folder / "ready")
    summary = json.loads((folder / "ready" / PREPARATION).read_text())
    assert summary.keys() == {"schema", "digest", "columns", "bound", "statistics"}
    assert Schema.of(summary["schema"]) == schema
    assert summary["digest"] == schema.digest.hex()
    assert summary["statistics"]["age"]["mean"] == done.preparation.statistics["age"].mean
    assert summary["bound"] == done.preparation.bound
    assert summary["columns"]["dose"] == [0, 1]
    assert summary["columns"]["smoker=never"] == [0, 1]
    assert read_preparation(folder / "ready" / PREPARATION) == done.preparation


def test_a_file_is_prepared_by_a_summary_as_it_was_with_all_others(folder):
    schema = Schema.read(folder / "schema.toml")
    done = prepare_files(paths(folder), schema, t=1, out=folder / "ready", id_column="patient")
    again = prepare_by(
        paths(folder)[1:2],
        folder / "ready" / PREPARATION,
        out=folder / "mine",
        id_column="patient",
    )
    assert again.files[0].read_bytes() == done.files[1].read_bytes()
    assert (folder / "mine" / PREPARATION).read_bytes() == (folder / "ready" / PREPARATION).read_bytes()
    assert again.mended == done.mended[1:2]


@pytest.mark.parametrize(
    ("keys", "value", "text"),
    [
        (["schema"], None, "schema is needed"),
        (["schema", "column", 0, "low"], 130, "low must be below high"),
        (["schema", "column", 0, "scale"], "log", "scale"),
        (["schema", "column", 0, "high"], 121, "digest is not what follows"),
        (["digest"], "00", "digest is not what follows"),
        (["bound"], 1.0, "bound is not what follows"),
        (["columns", "dose"], [0, 2], "columns is not what follows"),
        (["statistics"], {}, "statistics of the columns age are needed"),
        (["statistics", "age"], {"mean": 3.0}, "statistics.age: holders is needed"),
        (["statistics", "age", "mean"], "3", "statistics.age: mean: a number is needed"),
        (["statistics", "age", "count"], True, "statistics.age: count: an integer is needed"),
        (["statistics", "age", "deviation"], -1.0, "statistics.age: deviation: Input should be greater"),
        (["statistics", "age", "mean"], float("nan"), "statistics.age: mean: Input should be a finite"),
        (["statistics", "age", "mean"], 121.0, "no values from 0 to 120 have this mean and deviation"),
        (["statistics", "age", "mean"], 60.0, "columns is not what follows"),
    ],
)
def test_a_summary_that_does_not_hold_together_is_refused(folder, keys, value, text):
    summary = public_part(in_memory(folder)[1])
    place = summary
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    (folder / "wrong.json").write_text(json.dumps(summary))
    before = listing(folder)
    with pytest.raises(secfc.ParameterError, match=rf"wrong\.json: .*{text}"):
        prepare_by(paths(folder), folder / "wrong.json", out=folder / "mine")
    assert listing(folder) == before


@pytest.mark.parametrize("text", ["", "[]", "{}", "[" * 100_000, "9" * 5000])
def test_what_is_no_summary_is_refused(folder, text):
    (folder / "wrong.json").write_text(text)
    with pytest.raises(secfc.ParameterError, match=r"wrong\.json(:1)?: "):
        read_preparation(folder / "wrong.json")


def test_files_that_do_not_fit_are_not_prepared_by_a_summary(folder):
    (folder / "known.json").write_text(json.dumps(public_part(in_memory(folder)[1])))
    for name in ("north", "south"):
        path = folder / f"{name}.csv"
        path.write_text(path.read_text().replace("age", "years", 1))
    before = listing(folder)
    with pytest.raises(secfc.DataError, match=r"(?s)north\.csv: .*south\.csv: "):
        prepare_by(paths(folder), folder / "known.json", out=folder / "mine")
    assert listing(folder) == before


def test_parquet_stays_parquet_and_files_of_one_name_are_told_apart(folder):
    parts = []
    for at, path in enumerate(paths(folder)):
        (folder / str(at)).mkdir()
        parts.append(folder / str(at) / ("rows.parquet" if at else "rows.csv"))
        frame = pd.read_csv(path).drop(columns=["patient", "note"])
        if at:
            frame.to_parquet(parts[-1])
        else:
            frame.to_csv(parts[-1], index=False)
    done = prepare_files(parts, Schema.read(folder / "schema.toml"), t=1, out=folder / "ready")
    assert [path.name for path in done.files] == ["rows-1.csv", "rows-2.parquet", "rows-3.parquet"]
    rows = pyarrow.parquet.read_table(done.files[1]).to_pandas().to_numpy()
    np.testing.assert_array_equal(rows, in_memory(folder)[0][1])


def spoilt(path, column, row, value):
    frame = pd.read_csv(path, dtype=str)
    frame.loc[row, column] = value
    frame.to_csv(path, index=False)


def test_every_file_that_does_not_fit_is_told_and_nothing_written(folder):
    north, south, _ = paths(folder)
    spoilt(north, "age", 4, "1952")
    spoilt(south, "smoker", 0, "secret")
    spoilt(south, "dose", 1, "a lot")
    before = listing(folder)
    with pytest.raises(secfc.DataError) as caught:
        prepare_files(
            paths(folder),
            Schema.read(folder / "schema.toml"),
            t=1,
            out=folder / "ready",
        )
    assert str(caught.value).splitlines() == [
        f"{north}: column 'age' has 1 values outside 0 to 120 years, the first in row 4; check the unit",
        f"{south}: 2 errors",
        "  column 'dose' is not numeric: it has 1 values that are no numbers, the first in row 1",
        "  column 'smoker' has 1 values outside the agreed categories, the first in row 0",
    ]
    assert listing(folder) == before


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"t": 2}, secfc.ThresholdError, "n >= 2t \\+ 1 must hold"),
        ({"id_column": "age"}, secfc.DataError, "column 'age' has the row IDs and is in the schema"),
        ({"id_column": "name"}, secfc.DataError, "north.csv: .*no column 'name'"),
        ({"files": ["north.csv", "south.csv", "gone.csv"]}, secfc.DataError, "gone.csv: no such file"),
        ({"files": ["north.csv", "south.csv", "schema.toml"]}, secfc.DataError, "unknown file type"),
        ({"schema": TOML.replace("[[", "smallest = 7\n[[", 1)}, secfc.LimitError, "at least 7 values"),
    ],
)
def test_what_cannot_be_prepared_leaves_nothing_behind(folder, change, error, text):
    (folder / "other.toml").write_text(change.pop("schema", TOML))
    given = {"t": 1, "id_column": "patient"} | change
    chosen = [folder / name for name in given.pop("files", ("north.csv", "south.csv", "west.csv"))]
    before = listing(folder)
    with pytest.raises(error, match=f"(?s){text}"):
        prepare_files(chosen, Schema.read(folder / "other.toml"), out=folder / "ready", **given)
    assert listing(folder) == before


def test_a_folder_that_holds_something_is_left_alone(folder):
    (folder / "ready").mkdir()
    (folder / "ready" / "mine").write_text("mine")
    with pytest.raises(secfc.ParameterError, match=r"--out: .*ready is not empty"):
        prepare_files(paths(folder), Schema.read(folder / "schema.toml"), t=1, out=folder / "ready")
    assert listing(folder / "ready") == ["mine"]


# The command


def command(*arguments, cwd, verb="prepare"):
    return warm.run(
        [sys.executable, "-m", "secfc", verb, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "COLUMNS": "140", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


CSV = ("north.csv", "south.csv", "west.csv")


def test_prepared_files_can_be_run_as_the_command_says(folder):
    options = ("--schema", "schema.toml", "--t", 1, "--id", "patient", "--out", "ready")
    done = command(*CSV, *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("north.csv: 6 rows fit; 1 missing in 'age', ")
    assert any(line.split("│")[1:4] == [" age    ", "       3 ", "     18 "] for line in lines)
    following = lines[-1].removeprefix("Next: secfc ").replace("K", "2").replace("FOLDER", "result").split()
    ran = warm.run([sys.executable, "-m", "secfc", *following, "-q"], cwd=folder, timeout=500, check=False)
    assert ran.returncode == 0
    with (folder / "result" / "north.labels.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 6


READY = ("ready/north.csv", "ready/south.csv", "ready/west.csv", "-k", 2, "--t", 1, "--ell", 1)
READY += ("--id", "patient", "--seed", 1, "--prepared", "ready/preparation.json")


def run(*options, cwd):
    return command(*READY, *options, cwd=cwd, verb="run")


def opened(path):
    return pd.read_csv(path, index_col="cluster")


@pytest.fixture
def ready(folder):
    rng = np.random.default_rng(8)
    for path in paths(folder):
        frame = pd.DataFrame({"patient": [f"{path.stem}-{row:03}" for row in range(30)]})
        frame["age"] = rng.choice([25, 75], 30) + rng.integers(-4, 5, 30)
        frame["dose"], frame["smoker"] = rng.uniform(1, 49, 30), rng.choice(["never", "former"], 30)
        frame.to_csv(path, index=False)
    prepare_files(
        paths(folder), Schema.read(folder / "schema.toml"), t=1, out=folder / "ready", id_column="patient"
    )
    return folder


def test_centres_spreads_and_pages_are_in_the_units_of_the_data_and_centres_are_read_so(ready):
    consent = ("--reveal-centres", "south", "--reveal-spread", "--consent", "north=10,south=10,west=10")
    done = run(*consent, "--out", "result", "--report", "page.html", cwd=ready)
    assert done.returncode == 0, done.stderr
    data = pd.concat([pd.read_csv(path) for path in paths(ready)], ignore_index=True)
    labels = pd.concat(
        [pd.read_csv(ready / "result" / f"{path.stem}.labels.csv") for path in paths(ready)],
        ignore_index=True,
    )
    by_cluster = data.groupby(labels["label"])
    for name, expected in (
        ("centres", by_cluster[["age", "dose"]].mean()),
        ("spreads", by_cluster[["age", "dose"]].std(ddof=0)),
    ):
        found = opened(ready / "result" / f"south.{name}.csv")
        assert list(found) == ["age", "dose", "smoker=never", "smoker=former"]
        np.testing.assert_allclose(found[["age", "dose"]], expected, atol=1e-5)
    page = (ready / "result" / "south.report.html").read_text(encoding="utf-8")
    for mean in by_cluster["age"].mean():
        assert f'title="{number_text(mean, 6)} ±' in page
    assert "<h3>Own rows</h3>" in page
    again = run("--init", "result/south.centres.csv", "--out", "again", cwd=ready)
    assert again.returncode == 0, again.stderr
    summary = json.loads((ready / "again" / "summary.json").read_text())
    assert summary["parameters"]["bound"] == read_preparation(ready / "ready" / PREPARATION).bound
    assert summary["result"]["n_iter"] == 1
    assert (ready / "again" / "north.labels.csv").read_bytes() == (
        ready / "result" / "north.labels.csv"
    ).read_bytes()


def test_new_rows_beyond_the_bound_of_the_preparation_are_refused(ready):
    assert run("--out", "result", cwd=ready).returncode == 0
    new = pd.read_csv(ready / "ready" / "south.csv")
    new.to_csv(ready / "new.csv", index=False)
    files = (*READY[:3], "--run", "result", "--new", "south=new.csv", "--consent", "all", *READY[-2:])
    done = command(*files, "--out", "predicted", cwd=ready, verb="predict")
    assert done.returncode == 0, done.stderr
    again, labels = (pd.read_csv(ready / one / "south.labels.csv") for one in ("predicted", "result"))
    assert list(again["label"]) == list(labels["label"])
    new["age"] += 100
    new.to_csv(ready / "new.csv", index=False)
    beyond = command(*files, "--out", "beyond", cwd=ready, verb="predict")
    assert beyond.returncode == 2
    assert "norm above the bound" in beyond.stderr
    summary = json.loads((ready / "result" / "summary.json").read_text())
    (ready / "result" / "summary.json").write_text(json.dumps(summary | {"columns": ["age"]}))
    other = command(*files, "--out", "beyond", cwd=ready, verb="predict")
    assert "--prepared: the columns of ready/preparation.json are not those of the run" in other.stderr


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--bound", 3), "--bound: not with --prepared, which gives columns and bound"),
        (("--columns", "age"), "--columns: not with --prepared"),
        (("--drop", "age"), "--drop: not with --prepared"),
        (("--prepared", "schema.toml"), "schema.toml:"),
        (("--prepared", "none.json"), "none.json"),
    ],
)
def test_what_does_not_go_with_a_preparation_is_named_and_nothing_is_written(ready, options, text):
    done = run(*options, "--out", "result", cwd=ready)
    assert done.returncode == 2
    assert text in done.stderr
    assert not (ready / "result").exists()


def test_databases_are_prepared_as_files_are(folder):
    pytest.importorskip("sqlalchemy")
    for path in paths(folder):
        with closing(sqlite3.connect(path.with_suffix(".db"))) as database, database:
            pd.read_csv(path).to_sql("visits", database, index=False)
    shared = ("--schema", "schema.toml", "--t", 1, "--id", "patient", "-q", "--out")
    assert command(*CSV, *shared, "from-files", cwd=folder).returncode == 0
    urls = [part for path in paths(folder) for part in ("--from", f"sqlite:///{path.with_suffix('.db')}")]
    query = "SELECT patient, age, dose, smoker FROM visits"
    done = command(*urls, "--query", query, *shared, "from-databases", cwd=folder)
    assert done.returncode == 0, done.stderr
    names = ["north", "south", "west"]
    files = [f"{name}{end}" for name in names for end in (".parquet", MENDED)]
    assert listing(folder / "from-databases") == sorted([PREPARATION, *files])
    for name in names:
        given = pyarrow.parquet.read_table(folder / "from-databases" / f"{name}.parquet")
        assert given.to_pylist() == pyarrow.csv.read_csv(folder / "from-files" / f"{name}.csv").to_pylist()
    wrong = command(*urls, "--query", "SELECT age FROM visits", *shared, "never", cwd=folder)
    assert wrong.returncode == 2
    assert "north.db: 3 errors" in wrong.stderr
    assert not (folder / "never").exists()


def test_files_can_be_checked_alone_and_nothing_is_written(folder):
    before = listing(folder)
    options = ("--schema", "schema.toml", "--id", "patient", "--check")
    one = command("south.csv", *options, cwd=folder)
    assert one.returncode == 0, one.stderr
    assert one.stdout.startswith("south.csv: 7 rows fit; 1 missing in 'age'")
    spoilt(folder / "south.csv", "age", 0, "-1")
    spoilt(folder / "west.csv", "age", 1, "-1")
    wrong = command(*CSV, *options, cwd=folder)
    assert wrong.returncode == 2
    assert "DataError: south.csv: column 'age' has 1 values outside 0 to 120 years, the first in row 0" in (
        wrong.stderr
    )
    assert "\nwest.csv: column 'age' has 1 values outside" in wrong.stderr
    assert listing(folder) == before


def test_a_folder_or_a_check_is_asked_for(folder):
    done = command(*CSV, "--schema", "schema.toml", cwd=folder)
    assert done.returncode == 2
    assert "--out: name a folder for the prepared files, or --check the files only" in done.stderr
