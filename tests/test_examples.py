"""The examples run and print what they promise."""

import json
import runpy
from pathlib import Path

import pytest
from support.datasets import folder

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_registries(capsys):
    runpy.run_path(str(EXAMPLES / "registries.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "260 patients in clusters of [70, 79, 111]"
    assert lines[-1] == "a patient in two registries: ids: an ID is held more than once"
    assert len([line for line in lines if "looks up its own patients" in line]) == 3


def notebook(name):
    return json.loads((EXAMPLES / f"{name}.ipynb").read_text(encoding="utf-8"))


def run_notebook(name, tmp_path, monkeypatch):
    """Run all cells in one namespace, as a kernel does, in its own folder."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    monkeypatch.chdir(tmp_path)
    variables = {}
    for cell in notebook(name)["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"{name}, {cell['id']}", "exec"), variables)
    pyplot.close("all")
    assert (tmp_path / f"{name}.png").stat().st_size > 10_000
    return variables


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.ipynb")))
def test_notebooks_are_stored_without_outputs_and_shown_with_their_picture(name):
    cells = notebook(name)["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in cells)
    page = (EXAMPLES.parent / "docs" / "examples.md").read_text(encoding="utf-8")
    assert f"](../examples/{name}.ipynb)" in page
    assert f"](../examples/{name}.png)" in page
    assert (EXAMPLES / f"{name}.png").stat().st_size < 100_000


def test_hospitals(tmp_path, monkeypatch):
    found = run_notebook("hospitals", tmp_path, monkeypatch)
    assert found["result"].sizes.sum() == 442
    page = (tmp_path / "north.html").read_text(encoding="utf-8")
    assert "bmi (kg/m²)" in page
    centres = found["centres"]
    assert ((centres > [0, 10, 40, 10, 2, 30]) & (centres < [120, 70, 160, 150, 8, 300])).all()


def test_attacking_a_run(tmp_path, monkeypatch):
    found = run_notebook("attack", tmp_path, monkeypatch)
    errors = [found["geometry"].error(points, found["flowers"]) for points in found["placed"].values()]
    assert errors[0] < 1e-6
    assert errors[1] > 0.5
    assert errors[2] < 1e-6


def assert_federated(tmp_path, monkeypatch, source):
    found = run_notebook("federated", tmp_path, monkeypatch)
    assert found["source"] == source
    assert found["exact"] == 1
    assert found["inertia"] == pytest.approx(found["inertias"]["pooled Lloyd"])


def test_federated_baselines_on_digits(tmp_path, monkeypatch):
    monkeypatch.delenv("SECFC_DATA", raising=False)
    assert_federated(tmp_path, monkeypatch, "digits")


@pytest.mark.data
def test_federated_baselines_on_femnist(tmp_path, monkeypatch):
    folder()
    assert_federated(tmp_path, monkeypatch, "FEMNIST")
