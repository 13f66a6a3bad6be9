"""`secfc run --reveal-centres`, `--reveal-spread` and `secfc predict`: what is opened, what is refused."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import secfc
from secfc.cli.app import app

NAMES = ("north", "south", "west")
COLUMNS = ["age", "dose"]


def rows_of(m, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, 2)) + rng.permutation(np.arange(m) % 2)[:, None] * 20


OLD = [rows_of(m, seed) for seed, m in enumerate((24, 26, 28))]
NEW = [rows_of(m, seed) for seed, m in enumerate((5, 0, 3), start=7)]


def write(path, rows, ids=None):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["patient", *COLUMNS])
        ids = [f"{100 + at}" for at in range(len(rows))] if ids is None else ids
        writer.writerows([name, *row] for name, row in zip(ids, rows.tolist(), strict=True))


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    for name, old, new in zip(NAMES, OLD, NEW, strict=True):
        write(f"{name}.csv", old)
        write(f"{name}-new.csv", new)
    return tmp_path


def secfc_(command, *options, driver="in-process"):
    parties = [f"{name}.csv" for name in NAMES]
    return CliRunner().invoke(app, [command, *parties, "--driver", driver, *map(str, options)])


def run(*options, **more):
    fixed = ("-k", 2, "--t", 1, "--ell", 1, "--seed", 1, "--id", "patient", "--out", "result", "--quiet")
    return secfc_("run", *fixed, *options, **more)


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def numbers(path):
    return np.array([[float(row[name]) for name in COLUMNS] for row in read(path)])


def results(folder="result"):
    return sorted(path.name for path in folder.iterdir())


LABELS = [f"{name}.labels.csv" for name in NAMES]


def expected():
    return secfc.run(
        OLD, 2, 1, 1, seed=1, reveal=secfc.Reveal(centres="all", spread=True),
        limits=secfc.Limits(reveal_centres=True, reveal_spread=10),
    )  # fmt: skip


# Centres and spreads


@pytest.mark.some(1)
@pytest.mark.parametrize("driver", ["in-process", pytest.param("multiprocess", marks=pytest.mark.processes)])
def test_centres_are_written_for_those_that_learn_them_exactly_under_the_columns_of_the_data(files, driver):
    done = run("--reveal-centres", "north,west", "--consent", "all", driver=driver)
    assert done.exit_code == 0, done.stderr
    opened = ["north.centres.csv", "west.centres.csv"]
    assert results(files / "result") == sorted([*LABELS, *opened, "summary.json"])
    for name in opened:
        np.testing.assert_array_equal(numbers(files / "result" / name), expected().cluster_centers)
        assert [list(row) for row in read(files / "result" / name)] == [["cluster", *COLUMNS]] * 2
    assert json.loads((files / "result/summary.json").read_text())["parameters"]["reveal_to"] == [1, 3]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--centres-epsilon", 1, "--centres-delta", 1e-6), "--centres-epsilon: only with --reveal-centres"),
        (("--centres-delta", 1e-6), "--centres-delta: only with --reveal-centres"),
        (("--reveal-centres", "all", "--consent", "all", "--centres-epsilon", 1), "only with centres_delta"),
    ],
)
def test_numbers_of_noise_that_stand_alone_are_refused(files, options, text):
    done = run(*options)
    assert done.exit_code != 0
    assert text in done.stderr
    assert not (files / "result").exists()


def test_spreads_take_a_number_of_rows_from_every_party_and_the_largest_holds(files):
    done = run("--reveal-centres", "south", "--reveal-spread", "--consent", "all=10,west=12")
    assert done.exit_code == 0, done.stderr
    assert results(files / "result") == sorted(
        [*LABELS, "south.centres.csv", "south.spreads.csv", "summary.json"]
    )
    np.testing.assert_array_equal(numbers(files / "result/south.spreads.csv"), expected().cluster_std)
    assert json.loads((files / "result/summary.json").read_text())["parameters"]["reveal_spread"] == 12


@pytest.mark.parametrize(
    ("named", "comparers"),
    [("west,north,south", [3, 1, 2]), ("west,helper,south", [3, 4, 2]), ("helper,helper,north", [4, 5, 1])],
)
def test_parties_that_compare_are_named_in_their_order(files, named, comparers):
    done = run("--disclosure", "labels", "--comparers", named)
    assert done.exit_code == 0, done.stdout
    parameters = json.loads((files / "result/summary.json").read_text())["parameters"]
    assert (parameters["disclosure"], parameters["comparers"]) == ("labels", comparers)
    for name, labels in zip(LABELS, expected().labels, strict=True):
        assert [int(row["label"]) for row in read(files / "result" / name)] == labels.tolist()


@pytest.mark.some(5)
@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--consent", "all"), "--consent: only with --reveal-centres"),
        (("--disclosure", "labels", "--comparers", "north,ost"), "--comparers: there is no party 'ost'"),
        (("--disclosure", "labels", "--comparers", "north,west"), "comparers: three different parties"),
        (("--disclosure", "labels", "--comparers", ""), "--comparers: no party is named"),
        (
            ("--disclosure", "coded", "--comparers", "west,north,south"),
            "comparers: not with disclosure 'coded': nobody compares",
        ),
        (("--reveal-spread",), "--reveal-spread: only with --reveal-centres"),
        (
            ("--reveal-centres", "north"),
            "north.csv, south.csv, west.csv did not consent; every party must, by "
            "limits=secfc.Limits(reveal_centres=True), in a command by --consent all; nothing was sent",
        ),
        (("--reveal-centres", "north", "--consent", "north,west"), "south.csv did not consent"),
        (("--reveal-centres", "nord", "--consent", "all"), "--reveal-centres: there is no party 'nord'; the"),
        (("--reveal-centres", "", "--consent", "all"), "--reveal-centres: no party is named; the parties"),
        (("--reveal-centres", "all", "--consent", "all,ost"), "--consent: there is no party 'ost'; the"),
        (("--reveal-centres", "all", "--consent", "all=ten"), "--consent: north=ten: a number of rows"),
        (
            ("--reveal-centres", "all", "--reveal-spread", "--consent", "all=9"),
            "--consent: north=9: limits.reveal_spread: at",
        ),
        (("--reveal-centres", "all", "--consent", "all=9"), "--consent: north=9: only with"),
        (
            ("--reveal-centres", "all", "--reveal-spread", "--consent", "all,west=10"),
            "reveal_spread: north.csv, south.csv did not consent; every party must, by "
            "limits=secfc.Limits(reveal_centres=True, reveal_spread=10), in a command by --consent all=10;",
        ),
        (
            ("--reveal-centres", "all", "--reveal-spread", "--consent", "all=70"),
            "centres are opened only of clusters with 70 rows or more that are not the recipient's",
        ),
        (
            ("--reveal-centres", "all", "--reveal-spread", "--consent", "all=10", "--membership"),
            "reveal_spread: not with ids",
        ),
        (
            ("--reveal-centres", "all", "--consent", "all", "--smallest-set", 39, "--init", "random"),
            "sets of at least 39 rows",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_opened_is_named_and_nothing_is_written(files, options, text):
    before = sorted(files.iterdir())
    done = run(*options)
    assert done.exit_code == (3 if "LimitError" in done.stderr else 2), done.output
    assert text in " ".join(done.stderr.split())
    assert sorted(files.iterdir()) == before


# Predicting


def predict(*options, **more):
    return secfc_("predict", "--run", "result", "--out", "predicted", *options, **more)


NEWS = ("--new", "west=west-new.csv", "--new", "north=north-new.csv", "--consent", "all")


@pytest.mark.some(1)
@pytest.mark.parametrize("driver", ["in-process", pytest.param("multiprocess", marks=pytest.mark.processes)])
def test_new_rows_get_the_labels_of_the_python_function_beside_their_ids(files, driver):
    assert run().exit_code == 0
    done = predict(*NEWS, driver=driver)
    assert done.exit_code == 0, done.stderr
    assert results(files / "predicted") == ["north.labels.csv", "summary.json", "west.labels.csv"]
    of_run = secfc.run(OLD, 2, 1, 1, seed=1)
    found = secfc.predict(
        OLD, of_run.labels, NEW, 2, 1, 1, bound=of_run.job.bound, limits=secfc.Limits(predict=True)
    )
    for at, name in ((0, "north"), (2, "west")):
        written = read(files / f"predicted/{name}.labels.csv")
        assert [int(row["label"]) for row in written] == found.labels[at].tolist()
        assert [row["patient"] for row in written] == [f"{100 + i}" for i in range(len(NEW[at]))]
    summary = json.loads((files / "predicted/summary.json").read_text())
    assert summary["of"] == json.loads((files / "result/summary.json").read_text())["run"]
    assert [party["rows"] for party in summary["parties"]] == [5, 3]
    assert summary["parameters"]["predict"]


def test_a_prediction_has_the_bound_of_the_run_unless_new_rows_are_beyond_it(files):
    run()
    of_run = json.loads((files / "result/summary.json").read_text())["parameters"]["bound"]
    bounds = []
    for largest in (1.0, 500.0):
        write("far.csv", np.array([[largest, 0.0]]))
        done = predict(
            "--new", "south=far.csv", "--consent", "all", "--json", "--quiet", "--out", f"to {largest}"
        )
        bounds.append(json.loads(done.stdout)["result"]["parameters"]["bound"])
    assert bounds == [of_run, 500.0]


def other_ids():
    write("south.csv", OLD[1], ids=[f"{100 + at}" for at in range(len(OLD[1]))][::-1])


def one_row_more():
    write("south.csv", np.vstack([OLD[1], OLD[1][:1]]))


def another_column():
    with open("north-new.csv", "w") as file:
        file.write("patient,age\n1,2\n")


def spoiled(text):
    def spoil():
        with open("result/south.labels.csv", "w") as file:
            file.write(text)

    return spoil


def no_summary():
    with open("result/summary.json", "w") as file:
        file.write("{}")


REFUSED = {
    "nobody consents": (NEWS[:4], None, "north.csv, south.csv, west.csv did not consent; every"),
    "one does not": ((*NEWS[:4], "--consent", "south,west"), None, "predict: north.csv did not consent"),
    "unknown party": (("--new", "nord=north-new.csv"), None, "NAME=FILE is needed, NAME of north, south"),
    "no name": (("--new", "north-new.csv"), None, "--new: 'north-new.csv': NAME=FILE is needed"),
    "twice": ((*NEWS, "--new", "north=west-new.csv"), None, "--new: 'north' is given twice"),
    "no new row": (("--new", "south=south-new.csv", "--consent", "all"), None, "predict: no party has a new"),
    "no file": ((*NEWS, "--new", "south=nowhere.csv"), None, "nowhere.csv: no such file"),
    "other columns": (NEWS, another_column, "north-new.csv: no column 'dose'; it has patient, age"),
    "beyond the bound": ((*NEWS, "--bound", 1), None, "rows have a norm above the bound 1.0"),
    "smallest set": ((*NEWS, "--smallest-set", 60), None, "rows are predicted only from sets with 60 rows"),
    "never shared": ((*NEWS, "--never-share", "dose"), None, "limits forbid sharing column 'dose'"),
    "a party too many": ((*NEWS, "--", "west-new.csv"), None, "FILES: 4 parties, the run in result had 3"),
    "no run": ((*NEWS, "--run", "nowhere"), None, "--run: nowhere/summary.json: No such file or directory"),
    "no summary": (NEWS, no_summary, "--run: result/summary.json: run is needed"),
    "rows were added": (NEWS, one_row_more, "result/south.labels.csv: 26 labels, south.csv has 27 rows"),
    "rows were moved": (NEWS, other_ids, "result/south.labels.csv: its IDs are not those of south.csv"),
    "no labels": (NEWS, spoiled("patient,age,dose\n"), "columns 'patient' and 'label' are needed"),
    "labels of text": (
        NEWS, spoiled("patient,label\n" + "100,x\n" * 26), "column 'label' is not of integers"
    ),
    "labels too large": (
        NEWS,
        spoiled("patient,label\n" + "".join(f"{100 + at},{1 << 40}\n" for at in range(26))),
        "south.csv: labels must lie in -1..1",
    ),
}  # fmt: skip


@pytest.mark.some(2)
@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_predicted_is_named_and_nothing_is_written(files, case):
    options, prepare, text = REFUSED[case]
    assert run().exit_code == 0
    if prepare is not None:
        prepare()
    before = sorted(files.rglob("*"))
    done = predict(*options)
    assert done.exit_code == (3 if "LimitError" in done.stderr else 2), done.output
    assert text in " ".join(done.stderr.split())
    assert sorted(files.rglob("*")) == before


def test_a_run_with_membership_privacy_is_not_predicted_for(files):
    for name, old in zip(NAMES, OLD, strict=True):
        write(f"{name}.csv", old, ids=[f"{name}{at}" for at in range(len(old))])
    assert run("--membership").exit_code == 0
    done = predict(*NEWS)
    assert done.exit_code == 2
    assert "not possible after a run with --membership" in " ".join(done.stderr.split())


def test_a_folder_of_results_is_not_written_over(files):
    run()
    done = predict(*NEWS, "--out", "result")
    assert "--out: result is not empty" in " ".join(done.stderr.split())
