"""The examples run and print what they promise."""

import re
import runpy
from pathlib import Path

import pytest
from support.datasets import folder

from examples import store

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_registries(capsys):
    runpy.run_path(str(EXAMPLES / "registries.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "260 patients in clusters of [70, 79, 111]"
    assert lines[-1] == "a patient in two registries: ids: an ID is held more than once"
    assert len([line for line in lines if "looks up its own patients" in line]) == 3


NOTEBOOKS = sorted(path.stem for path in EXAMPLES.glob("*.ipynb"))


def code_cells(name):
    return [cell for cell in store.read_notebook(name)["cells"] if cell["cell_type"] == "code"]


def kinds(outputs):
    """What each cell shows, without the values."""
    return [[(one["output_type"], *sorted(one.get("data", ()))) for one in cell] for cell in outputs]


def texts(outputs):
    """All texts that cells show: printed, or of a value."""
    for one in (one for cell in outputs for one in cell):
        shown = {"text": one["text"]} if one["output_type"] == "stream" else one["data"]
        yield from ("".join(value) for name, value in shown.items() if name != "image/png")


def run_notebook(name, tmp_path):
    """Run a notebook as `store` does. It shows what is stored, and writes no file that is stored."""
    pytest.importorskip("matplotlib.pyplot").switch_backend("agg")
    variables, outputs = store.run_notebook(name, tmp_path)
    assert kinds(outputs) == kinds(cell["outputs"] for cell in code_cells(name))
    assert {path.suffix for path in tmp_path.iterdir()} <= {".html"}  # .gitignore has them
    return variables, outputs


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks_are_stored_with_outputs_and_shown_with_their_picture(name):
    cells = store.read_notebook(name)["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    assert [cell["execution_count"] for cell in code_cells(name)] == [
        1 + number for number in range(len(code_cells(name)))
    ]
    page = (EXAMPLES.parent / "docs" / "examples.md").read_text(encoding="utf-8")
    assert f"](../examples/{name}.ipynb)" in page
    assert f"](../examples/{name}.png)" in page
    outputs = [cell["outputs"] for cell in code_cells(name)]
    shown = store.pictures_of(outputs)
    assert shown[-1] == (EXAMPLES / f"{name}.png").read_bytes()
    assert 10_000 < len(shown[-1]) < 100_000


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_stored_outputs_have_no_error_warning_or_path_of_a_machine(name):
    outputs = [cell["outputs"] for cell in code_cells(name)]
    every = [one for cell in outputs for one in cell]
    assert {one["output_type"] for one in every} <= {"stream", "execute_result", "display_data"}
    assert {one.get("name", "stdout") for one in every} == {"stdout"}
    found = list(texts(outputs))
    assert len(found) >= len(every) > 3
    for text in found:
        assert text.strip()
        assert not re.search(r"warning|error:|traceback| at 0x", text, re.IGNORECASE)
        assert not re.search(r"""(^|[\s"'(])(/\w+/|[A-Z]:\\)""", text)


def test_hospitals(tmp_path):
    found, outputs = run_notebook("hospitals", tmp_path)
    assert list(texts(outputs)) == list(texts(cell["outputs"] for cell in code_cells("hospitals")))
    assert found["result"].sizes.sum() == 442
    page = (tmp_path / "north.html").read_text(encoding="utf-8")
    assert "bmi (kg/m²)" in page
    centres = found["centres"]
    assert ((centres > [0, 10, 40, 10, 2, 30]) & (centres < [120, 70, 160, 150, 8, 300])).all()


def test_attacking_a_run(tmp_path):
    found, _ = run_notebook("attack", tmp_path)
    errors = [found["geometry"].error(points, found["flowers"]) for points in found["placed"].values()]
    assert errors[0] < 1e-6
    assert errors[1] > 0.5
    assert errors[2] < 1e-6


def assert_federated(tmp_path, source):
    found, _ = run_notebook("federated", tmp_path)
    assert found["source"] == source
    assert found["exact"] == 1
    assert found["inertia"] == pytest.approx(found["inertias"]["pooled Lloyd"])


def test_federated_baselines_on_digits(tmp_path, monkeypatch):
    monkeypatch.delenv("SECFC_DATA", raising=False)
    assert_federated(tmp_path, "digits")


@pytest.mark.data
def test_federated_baselines_on_femnist(tmp_path):
    folder()
    assert_federated(tmp_path, "FEMNIST")
