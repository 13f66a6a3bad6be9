"""A retired value is one error that says what serves instead, wherever it is given."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import secfc
from secfc.cli.app import app
from secfc.protocol.job.options import Disclosure
from secfc.protocol.job.retired import CHOICES
from secfc.tables.toml_file import FileSchema, TomlFile

ROWS = [np.zeros((3, 2))] * 3


@pytest.mark.parametrize(("name", "value"), CHOICES)
def test_a_value(name, value):
    with pytest.raises(secfc.ParameterError, match=re.escape(CHOICES[name, value])):
        secfc.run(ROWS, 2, **{name: value})
    shown = _refused("run", "a.csv", "-k", "2", "--out", "o", f"--{name}", value)
    assert CHOICES[name, value] in shown


class _Table(FileSchema):
    k: int
    disclosure: Disclosure = "labels"


class _File(FileSchema):
    table: _Table


def test_a_key_of_a_file(tmp_path: Path):
    path = tmp_path / "job.toml"
    for (name, value), instead in CHOICES.items():
        path.write_text(f'[table]\nk = 2\n{name} = "{value}"\n')
        with pytest.raises(secfc.ParameterError, match=re.escape(f"it was retired: {instead}")):
            TomlFile(path).check(_File)


@pytest.mark.parametrize(("name", "value"), CHOICES)
def test_the_summary_of_a_run_for_a_prediction(tmp_path: Path, name: str, value: str):
    (tmp_path / "a.csv").write_text("x\n1\n2\n")
    parameters = {"n": 1, "k": 1, "t": 1, "ell": 1, "bound": 2.0, "ids_cap": None, name: value}
    summary = {"run": "00", "parameters": parameters, "columns": ["x"], "id": None, "weight": None}
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    data = str(tmp_path / "a.csv")
    shown = _refused("predict", data, "--run", str(tmp_path), "--new", f"a={data}", "--out", "o")
    assert CHOICES[name, value] in shown


def _refused(*words: str) -> str:
    """What a command prints that is refused, as one line without the frame."""
    done = CliRunner().invoke(app, words, env={"COLUMNS": "1000", "TERMINAL_WIDTH": "1000"})
    assert done.exit_code == 2
    return " ".join(done.output.replace("│", " ").split())
