"""The command as people use it: files in, files out, and clear refusals."""

import csv
import json
import os
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import typer
from support import warm
from support.signals import heed_ctrl_c, wait_for_end

import secfc
from secfc.cli.app import app
from secfc.cli.inputs import label_names
from secfc.cli.render import bytes_text

pytestmark = pytest.mark.processes


def secfc_command(*arguments, cwd, **options):
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    return warm.run(
        [sys.executable, "-m", "secfc", *map(str, arguments)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
        **options,
    )


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return np.vstack([rng.normal(0, 1, (12, 3)), rng.normal(8, 1, (9, 3))])


@pytest.fixture
def files(tmp_path, rows):
    """Three parties: CSV with an ID and a label column, Parquet with columns in another order, CSV."""
    names = ["age", "dose", "score"]
    parts = np.split(np.arange(21), [9, 15])
    for name, part in zip(["a.csv", "c.csv"], [parts[0], parts[2]], strict=True):
        with (tmp_path / name).open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["patient", *names, "diagnosis"])
            writer.writerows([f"p{i}", *rows[i].tolist(), "ill"] for i in part)
    table = {"score": rows[parts[1], 2], "age": rows[parts[1], 0], "dose": rows[parts[1], 1]}
    table |= {"patient": [f"p{i}" for i in parts[1]], "diagnosis": ["well"] * len(parts[1])}
    pa.parquet.write_table(pa.table(table), tmp_path / "b.parquet")
    return tmp_path


ARGUMENTS = ("a.csv", "b.parquet", "c.csv", "-k", 2, "--t", 1, "--ell", 1, "--seed", 1)
COLUMNS = ("--drop", "diagnosis", "--id", "patient")


def read_labels(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def test_run_tells_what_is_wrong_with_all_files_at_once(files):
    spoiled = (files / "a.csv").read_text().replace("ill", "", 1).replace("p3,", ",", 1)
    (files / "a.csv").write_text(spoiled.replace(",dose,", ",amount,", 1))
    text = (files / "c.csv").read_text()
    (files / "c.csv").write_text(text.replace("dose", "a day").replace("score", "points"))
    done = secfc_command("run", *ARGUMENTS, *COLUMNS, "--columns", "dose,score", "--out", "result", cwd=files)
    assert done.returncode == 2
    told = " ".join(done.stderr.split())
    assert "a.csv: no column 'dose'" in told
    assert "c.csv: no column 'dose', 'score'" in told
    assert not (files / "result").exists()
    done = secfc_command("run", "a.csv", "gone.csv", "lost.csv", "-k", 2, "--out", "result", cwd=files)
    assert "gone.csv: no such file" in done.stderr
    assert "lost.csv: no such file" in done.stderr


def test_run_writes_a_label_per_row_beside_its_id(files, rows):
    done = secfc_command("run", *ARGUMENTS, *COLUMNS, "--out", "result", cwd=files)
    assert done.returncode == 0, done.stderr
    expected = secfc.run(np.split(rows, [9, 15]), 2, 1, 1, seed=1)
    found = [read_labels(files / "result" / f"{name}.labels.csv") for name in "abc"]
    assert [row["patient"] for part in found for row in part] == [f"p{i}" for i in range(21)]
    assert [int(row["label"]) for part in found for row in part] == np.concatenate(expected.labels).tolist()


@pytest.mark.parametrize("more", [(), ("--quiet",)])
@pytest.mark.some(1)
def test_how_a_file_is_written_is_found_and_said(files, more):
    semicolons = (files / "c.csv").read_text().replace(",", ";").replace(".", ",")
    (files / "d.csv").write_text(semicolons)
    done = secfc_command("run", *ARGUMENTS, *COLUMNS, *more, "--out", "as-ever", cwd=files)
    assert "between values" not in done.stderr
    arguments = ("a.csv", "b.parquet", "d.csv", *ARGUMENTS[3:])
    done = secfc_command("run", *arguments, *COLUMNS, *more, "--out", "found", cwd=files)
    assert done.returncode == 0, done.stderr
    assert ("d.csv: semicolons between values, decimal commas\n" in done.stderr) == (not more)
    for before, name in (("a", "a"), ("b", "b"), ("c", "d")):
        assert read_labels(files / "found" / f"{name}.labels.csv") == read_labels(
            files / "as-ever" / f"{before}.labels.csv"
        )


def test_run_writes_a_summary_with_parameters_threshold_costs_and_versions(files):
    secfc_command("run", *ARGUMENTS, *COLUMNS, "--out", "result", cwd=files)
    summary = json.loads((files / "result" / "summary.json").read_text())
    assert summary["parameters"]["k"] == 2
    assert summary["parameters"]["driver"] == "multiprocess"
    assert summary["threshold"]["inequality"] == "n >= 2(ell + t) - 1: 3 >= 2(1 + 1) - 1 = 3"
    assert summary["columns"] == ["age", "dose", "score"]
    assert [party["rows"] for party in summary["parties"]] == [9, 6, 6]
    assert sum(summary["result"]["sizes"]) == 21
    assert summary["costs"]["bytes"] == sum(phase["sent_bytes"] for phase in summary["costs"]["phases"])
    assert summary["versions"]["secfc"] == secfc.__version__


def test_quiet_prints_nothing(files):
    done = secfc_command("run", *ARGUMENTS, *COLUMNS, "--out", "result", "--quiet", cwd=files)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_columns_are_chosen_by_name_and_order(files, rows):
    secfc_command(
        "run", *ARGUMENTS, "--columns", "score,age", "--out", "result", "--driver", "in-process", cwd=files
    )
    expected = secfc.run(np.split(rows[:, [2, 0]], [9, 15]), 2, 1, 1, seed=1)
    found = [int(row["label"]) for name in "abc" for row in read_labels(files / f"result/{name}.labels.csv")]
    assert found == np.concatenate(expected.labels).tolist()


def test_arrays_are_read_and_rows_numbered(tmp_path, rows):
    for name, part in zip("xyz", np.array_split(rows, 3), strict=True):
        np.save(tmp_path / f"{name}.npy", part)
    done = secfc_command(
        "run", "x.npy", "y.npy", "z.npy", "-k", 2, "--t", 1, "--ell", 1, "--out", "r", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert [row["row"] for row in read_labels(tmp_path / "r/y.labels.csv")] == [str(i) for i in range(7)]


def broken_csv(files, text):
    (files / "c.csv").write_text(text)


def folder_for_file(files):
    (files / "c.csv").unlink()
    (files / "c.csv").mkdir()


REFUSED = {
    "no such file": (
        lambda files: (files / "c.csv").unlink(),
        COLUMNS,
        "DataError: c.csv: no such file",
    ),
    "unknown column": (lambda files: None, ("--columns", "age,weight"), "a.csv: no column 'weight'"),
    "text column": (lambda files: None, (), "a.csv: column 'patient' is not numeric"),
    "empty file": (
        lambda files: (files / "c.csv").write_bytes(b"") and None,
        COLUMNS,
        "c.csv: not a readable .csv file: it is empty",
    ),
    "a folder": (
        folder_for_file,
        COLUMNS,
        "c.csv: a folder, not a file",
    ),
    "infinite value": (
        lambda files: broken_csv(files, "patient,age,dose,score,diagnosis\np,1.5,inf,3.5,x\n"),
        COLUMNS,
        "c.csv: column 'dose' has 1 NaN or infinite values, the first in row 0",
    ),
    "a column that no file has": (
        lambda files: None,
        (*COLUMNS, "--drop", "diagnosis,weight"),
        "a.csv: no column 'weight'; it has patient, age, dose, score, diagnosis",
    ),
    "an output folder that is a file": (
        lambda files: None,
        (*COLUMNS, "--out", "a.csv"),
        "--out: a.csv is a file; name a new folder",
    ),
    "a report in no folder": (
        lambda files: None,
        (*COLUMNS, "--report", "nowhere/report.html"),
        "--report: nowhere/report.html cannot be written, there is no folder nowhere",
    ),
    "weights that are no whole numbers": (
        lambda files: None,
        (*COLUMNS, "--weight", "dose"),
        "a.csv: column 'dose' of weights is not one of whole numbers (double)",
    ),
    "more clusters than rows": (lambda files: None, (*COLUMNS, "-k", 22), "k: 22 clusters asked for"),
    "a file given twice": (
        lambda files: None,
        (*COLUMNS, "../{}/a.csv"),
        "FILES: ../{}/a.csv is given twice, each party needs its own file",
    ),
    "a file of two names": (
        lambda files: (files / "d.csv").hardlink_to(files / "a.csv"),
        (*COLUMNS, "d.csv"),
        "FILES: d.csv is given twice, each party needs its own file",
    ),
    "a link to itself": (
        lambda files: (files / "d.csv").symlink_to("d.csv"),
        (*COLUMNS, "d.csv"),
        "d.csv: no such file",
    ),
    "too few clients": (
        lambda files: None,
        (*COLUMNS, "--t", 4, "--ell", 2),
        "n >= 2(ell + t) - 1 must hold, but 3 < 2(2 + 4) - 1 = 11",
    ),
    "bound": (lambda files: None, (*COLUMNS, "--bound", 0.5), "a.csv: 9 rows have a norm above the bound"),
}


@pytest.mark.some(3)
@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_one_clear_line_and_leaves_nothing(files, case):
    prepare, arguments, text = REFUSED[case]
    prepare(files)
    before = sorted(files.iterdir())
    arguments, text = [str(one).format(files.name) for one in arguments], text.format(files.name)
    done = secfc_command("run", *ARGUMENTS, "--out", "result", *arguments, cwd=files)
    assert done.returncode == 2
    assert text in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert sorted(files.iterdir()) == before


def test_weights_of_a_column_weigh_a_run_and_a_prediction(tmp_path):
    parts = {"a": ([0.0, 1.0], [1, 1]), "b": ([9.0, 10.0, 4.0], [1, 1, 50]), "c": ([2.0], [1])}
    for name, (values, weights) in parts.items():
        lines = [f"{value},{weight}" for value, weight in zip(values, weights, strict=True)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["x,beds", *lines, ""]))
    (tmp_path / "new.csv").write_text("x,beds\n5.0,1\n7.5,1\n")
    files, quick = ("a.csv", "b.csv", "c.csv"), ("--driver", "in-process")
    done = secfc_command(
        "run", *files, "-k", 2, "--t", 1, "--ell", 1, "--seed", 1, "--weight", "beds", "--out", "r", *quick,
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    assert (summary["columns"], summary["weight"]) == (["x"], "beds")
    found = secfc.run(
        [np.array(values)[:, np.newaxis] for values, _ in parts.values()],
        2, 1, 1, seed=1, sample_weight=[weights for _, weights in parts.values()],
    )  # fmt: skip
    told = [
        [int(row["label"]) for row in read_labels(tmp_path / "r" / f"{name}.labels.csv")] for name in parts
    ]
    assert told == [part.tolist() for part in found.labels]
    new = ("--new", "a=new.csv", "--consent", "all", "--out", "p", *quick)
    done = secfc_command("predict", *files, "--run", "r", *new, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(read_labels(tmp_path / "p" / "a.labels.csv")) == 2


def test_ids_of_a_csv_file_are_written_as_they_stand_there(files):
    (files / "c.csv").write_text("patient,age,dose,score,diagnosis\n007,1,2,3,x\n08.50,2,3,4,x\n")
    done = secfc_command("run", *ARGUMENTS, *COLUMNS, "--out", "result", cwd=files)
    assert done.returncode == 0, done.stderr
    assert [row["patient"] for row in read_labels(files / "result" / "c.labels.csv")] == ["007", "08.50"]


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("plot", "text"),
    [
        ("nowhere/k.png", "--plot: nowhere/k.png cannot be written, there is no folder nowhere"),
        ("k.xyz", "--plot: k.xyz: matplotlib writes"),
    ],
)
def test_a_plot_that_cannot_be_written_is_refused_before_anything_runs(files, plot, text):
    pytest.importorskip("matplotlib")
    done = secfc_command("choose-k", *ARGUMENTS[:3], "--t", 1, "--ell", 1, "--plot", plot, cwd=files)
    assert done.returncode == 2
    assert text in done.stderr


def test_an_output_folder_with_something_in_it_is_not_touched(files):
    (files / "result").mkdir()
    (files / "result" / "old").write_text("kept")
    done = secfc_command("run", *ARGUMENTS, *COLUMNS, "--out", "result", cwd=files)
    assert done.returncode == 2
    assert "is not empty" in done.stderr
    assert [path.name for path in (files / "result").iterdir()] == ["old"]


def test_an_output_folder_that_cannot_be_made_is_refused_before_anything_runs(files):
    done = secfc_command("run", "missing.csv", "-k", 2, "--out", "a.csv/result", cwd=files)
    assert done.returncode == 2
    assert "--out: a.csv/result cannot be written" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_ctrl_c_ends_every_process_and_writes_nothing(tmp_path):
    for j in range(3):
        np.save(tmp_path / f"{j}.npy", np.random.default_rng(j).normal(size=(20_000, 8)))
    command = [sys.executable, "-m", "secfc", "run", "0.npy", "1.npy", "2.npy", "-k", "40", "--t", "1"]
    process = subprocess.Popen(
        [*command, "--ell", "1", "--out", "r", "--quiet"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=heed_ctrl_c,
    )
    started = wait_for_processes(process.pid, 4)  # the three, and the process that forked them
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=500)
    assert process.returncode == 130
    assert "interrupted" in error
    assert "Traceback" not in error
    wait_for_end(started)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.npy", "1.npy", "2.npy"]


def wait_for_processes(pid, count):
    """Wait until a process has `count` descendants (children and their children); return these."""
    for _ in range(3000):  # the test's own limit ends earlier
        listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True)
        parents = dict(map(int, line.split()) for line in listed.stdout.splitlines())
        started = [one for one, parent in parents.items() if pid in (parent, parents.get(parent))]
        if len(started) >= count:
            return started
        time.sleep(0.1)
    raise AssertionError(f"{len(started)} of {count} processes started")


def test_version_and_help(tmp_path):
    version = [sys.executable, "-m", "secfc", "--version"]  # a new interpreter, as for a user
    done = subprocess.run(version, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == f"secfc {secfc.__version__}\n"
    shown = secfc_command("run", "--help", cwd=tmp_path).stdout
    assert "Example: secfc run a.csv b.csv c.csv" in " ".join(shown.split())


def test_demo_shows_identical_labels(tmp_path):
    done = secfc_command("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1797 of 1797" in done.stdout
    assert "5 clients, t = 1 may collude" in done.stdout


def test_label_files_of_inputs_with_one_name_are_told_apart(tmp_path):
    paths = [tmp_path / "a" / "x.csv", tmp_path / "b" / "x.csv", tmp_path / "y.csv"]
    assert label_names(paths) == ["x-1.labels.csv", "x-2.labels.csv", "y.labels.csv"]
    paths[2] = tmp_path / "x-1.csv"
    assert label_names(paths) == ["x-1.labels.csv", "x-2.labels.csv", "x-1-3.labels.csv"]


@pytest.mark.parametrize(("count", "text"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2e9, "2.00 GB")])
def test_bytes_are_shown_in_decimal_units(count, text):
    assert bytes_text(count) == text


def test_run_writes_a_report_beside_the_results(files):
    done = secfc_command("run", *ARGUMENTS, *COLUMNS, "--out", "result", "--report", "r.html", cwd=files)
    assert done.returncode == 0, done.stderr
    page = (files / "r.html").read_text(encoding="utf-8")
    run = json.loads((files / "result" / "summary.json").read_text())["run"]
    assert run in page
    assert "21 of 21" in page


def test_a_report_that_is_there_already_is_refused_before_anything_runs(files):
    (files / "r.html").write_text("mine")
    done = secfc_command("run", *ARGUMENTS, *COLUMNS, "--out", "result", "--report", "r.html", cwd=files)
    assert done.returncode == 2
    assert "--report: r.html already exists" in done.stderr
    assert not (files / "result").exists()


def test_a_log_file_has_the_run_and_no_id_of_a_row(files):
    secfc_command("run", *ARGUMENTS, *COLUMNS, "--out", "result", "--log", "run.log", "-q", cwd=files)
    log = (files / "run.log").read_text()
    assert json.loads((files / "result" / "summary.json").read_text())["run"] in log
    assert "p0" not in log


CHOOSE = shlex.split(
    "choose-k a.csv b.parquet c.csv --t 1 --ell 1 --seed 1 --from 1 --to 4 --disclosure coded"
)


def test_choose_k_prints_a_table(files):
    done = secfc_command(*CHOOSE, "--drop", "diagnosis,patient", "-q", cwd=files)
    assert done.returncode == 0, done.stderr
    assert "k = 2 is recommended: its silhouette (" in done.stdout


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--membership",), "--membership: --id must name the column of row IDs"),
        (("--id", "patient", "--ids-cap", 9), "--ids-cap: only with --membership"),
        (("--id", "patient", "--max-iter", 0), "max_iter: at least 1 is needed"),
        (("--id", "patient", "--deadline", 0), "deadline: None or a number of seconds > 0"),
    ],
)
def test_choose_k_says_which_option_cannot_be(files, options, text):
    done = secfc_command(*CHOOSE, "--drop", "diagnosis", *options, cwd=files)
    assert done.returncode == 2
    assert text in " ".join(done.stderr.split())


def leaves(command, path=()):
    """Every subcommand that is not a group."""
    for name, one in getattr(command, "commands", {}).items():
        yield from leaves(one, (*path, name)) if hasattr(one, "commands") else [((*path, name), one)]


@pytest.mark.parametrize(("path", "command"), list(leaves(typer.main.get_command(app))), ids=str)
def test_every_subcommand_has_an_example(path, command):
    assert command.epilog, path
    example = shlex.split(command.epilog.removeprefix("Example: "))
    assert example[: len(path) + 1] == ["secfc", *path]
    command.make_context(path[-1], example[len(path) + 1 :])  # it has these options


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete(tmp_path, shell, monkeypatch):
    # As the installed script asks, in whatever shell the tests run, if any.
    monkeypatch.setenv("_SECFC_COMPLETE", f"source_{shell}")
    done = secfc_command(cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "_SECFC_COMPLETE" in done.stdout
