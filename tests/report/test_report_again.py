"""`secfc report`: the page of a run is made again from its folder, and nothing else is needed."""

import json
import re
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

from secfc.cli.app import app

_RUN = ["-k", "2", "--t", "1", "--ell", "1", "--seed", "1", "--driver", "in-process", "--quiet"]
_OPEN = ["--reveal-centres", "a", "--reveal-spread", "--consent", "all=10", "--reveal-inertia"]
_SCHEMA = """
[[column]]
name = "age"
unit = "years"
low = 0
high = 120
scale = "standardise"
missing = "mean"
clip = true

[[column]]
name = "dose"
low = 1
high = 100
log = true
"""


def secfc_(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def ran(folder, files, *more):
    done = secfc_("run", *files, *_RUN, *_OPEN, "--out", folder, "--report", f"{folder}.html", *more)
    assert done.exit_code == 0, done.output
    return folder


@pytest.fixture(scope="module", params=["plain", "prepared"])
def results(request, tmp_path_factory):
    """The folder of a run of three parties; it is moved, so that no path in it leads anywhere."""
    home = tmp_path_factory.mktemp(request.param)
    rng = np.random.default_rng(5)
    for name, m in zip("abc", (40, 30, 35), strict=True):
        kind = rng.integers(2, size=m)
        rows = np.stack([30 + 40 * kind + rng.random(m), 2.0 + 50 * kind + rng.random(m)], axis=1)
        np.savetxt(home / f"{name}.csv", rows, delimiter=",", header="age,dose", comments="")
    if request.param == "prepared":
        lines = (home / "b.csv").read_text().splitlines()
        lines[1:4] = [f",{lines[1].split(',')[1]}", "300,60", "-5,2.5"]
        (home / "b.csv").write_text("\n".join([*lines, ""]))
    files, more = [home / f"{name}.csv" for name in "abc"], []
    if request.param == "prepared":
        (home / "schema.toml").write_text(_SCHEMA)
        done = secfc_(
            "prepare", *files, "--schema", home / "schema.toml", "--t", 1, "--out", home / "p", "-q"
        )
        assert done.exit_code == 0, done.output
        files = [home / "p" / f"{name}.csv" for name in "abc"]
        more = ["--prepared", home / "p" / "preparation.json"]
    ran(home / "result", files, *more)
    for path in (*files, home / "p"):
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    return home


def same(page):
    """A page without its date, the comparison with pooled rows, and how rows fit."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "", page.read_text(encoding="utf-8"))
    text = re.sub(r"<h2 id=\"pooled\">.*?(?=<h2)", "", text, flags=re.DOTALL)
    text = re.sub(r"<h3>Own rows</h3>.*?(?=<h2)", "", text, flags=re.DOTALL)
    return text.replace("<", " <").split()


def again(results, *options):
    page = results / "again.html"
    page.unlink(missing_ok=True)
    done = secfc_("report", results / "result", "--out", page, *options)
    assert done.exit_code == 0, done.output
    return page


def test_the_operators_page_is_as_it_was(results):
    page = again(results)
    assert same(page) == same(results / "result.html")
    text = page.read_text(encoding="utf-8")
    prepared = "standardised by mean" in text
    assert prepared == ("b: 1 missing, 2 clipped of 30" in text) == ("c: 0 missing, 0 clipped of 35" in text)
    assert prepared == (results / "result" / "preparation.json").exists()


def test_a_partys_copy_is_as_it_was(results):
    before = results / "result" / "a.report.html"
    assert same(again(results, "--party", "a")) == same(before)
    assert "Profiles" not in again(results, "--party", "b").read_text(encoding="utf-8")


def test_clusters_get_an_order_and_names(results):
    text = again(results, "--party", "a", "--order", "age" if "plain" in str(results) else "size").read_text()
    named = again(results, "--party", "a", "--order", "age", "--names", "young, old").read_text()
    cells = named.split("<td>age")[1].split("</tr>")[0]
    means = [float(one) for one in re.findall(r">(\d+\.\d+)<small>", cells)]
    assert means == sorted(means)
    assert means[0] < 40 < 60 < means[1]
    headings = named.split('id="clusters"')[1].split("</thead>")[0]
    assert headings.index("young") < headings.index("old")
    assert "young" not in text


def changed(results, tmp_path, **values):
    folder = tmp_path / "result"
    shutil.copytree(results / "result", folder)
    summary = json.loads((folder / "summary.json").read_text())
    for name, value in values.items():
        whole = {**summary[name], **value} if isinstance(value, dict) else value
        summary[name] = whole
        if isinstance(whole, dict):
            summary[name] = {key: one for key, one in whole.items() if one != "left out"}
    (folder / "summary.json").write_text(json.dumps(summary))
    return folder


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"parameters": {"k": 0}}, "k: at least 1 is needed"),
        ({"parameters": {"t": "<b>"}}, "t: an integer"),
        ({"parameters": {"n": "left out"}}, "parameters: not those of a secfc run"),
        ({"result": {"sizes": [1, 104]}}, "its labels are not those of summary.json"),
        ({"result": {"inertia": "much"}}, "summary.json"),
        ({"parties": []}, "parties: 0, but n is 3"),
        ({"run": 3}, "summary.json"),
    ],
)
def test_a_summary_that_cannot_be_is_refused_and_leaves_no_page(results, tmp_path, values, text):
    folder = changed(results, tmp_path, **values)
    done = secfc_("report", folder, "--out", tmp_path / "page.html")
    assert isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == 2
    assert text in " ".join(done.output.split())
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("name", ["summary.json", "b.labels.csv"])
def test_a_file_that_is_missing_is_named(results, tmp_path, name):
    folder = changed(results, tmp_path)
    (folder / name).unlink()
    done = secfc_("report", folder, "--out", tmp_path / "page.html")
    assert done.exit_code == 2
    assert name in done.output


def test_no_path_leads_out_of_the_folder(results, tmp_path):
    told = json.loads((results / "result" / "summary.json").read_text())["parties"]
    folder = changed(results, tmp_path, parties=[{**one, "labels": f"../{one['labels']}"} for one in told])
    for one in told:
        (tmp_path / one["labels"]).write_text("row,label\n0,0\n")
    done = secfc_("report", folder, "--out", tmp_path / "page.html", "--party", "a")
    assert done.exit_code == 0, done.output


def test_labels_of_other_rows_are_refused(results, tmp_path):
    folder = changed(results, tmp_path)
    path = folder / "b.labels.csv"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    done = secfc_("report", folder, "--out", tmp_path / "page.html")
    assert done.exit_code == 2
    assert "not the labels of 30 rows" in " ".join(done.output.split())


def test_a_party_that_there_is_not_and_a_page_that_exists_are_refused(results):
    done = secfc_("report", results / "result", "--out", results / "new.html", "--party", "z")
    assert "--party: 'z' is not one of a, b, c" in " ".join(done.output.split())
    done = secfc_("report", results / "result", "--out", results / "result.html")
    assert done.exit_code == 2
    assert "already exists" in " ".join(done.output.split())


@pytest.mark.parametrize("results", ["prepared"], indirect=True)
def test_a_wrong_count_of_mended_values_is_refused_before_a_run(results, tmp_path):
    shutil.copy(results / "result" / "preparation.json", tmp_path)
    for name in "abc":
        (tmp_path / f"{name}.csv").write_text("age,dose\n0,0\n1,1\n")
    (tmp_path / "b.mended.json").write_text('{"rows": 2, "missing": {"age": -1}, "clipped": {}}')
    files, out = [tmp_path / f"{name}.csv" for name in "abc"], tmp_path / "out"
    done = secfc_("run", *files, *_RUN, "--prepared", tmp_path / "preparation.json", "--out", out)
    assert done.exit_code == 2
    assert "b.mended.json: missing" in " ".join(done.output.split())
    assert not out.exists()
