"""A retired value is one error that says what serves instead, wherever it is given."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import secfc
from secfc.cli.app import app
from secfc.protocol.job.options import RETIRED, Disclosure
from secfc.tables.toml_file import FileSchema, TomlFile

ROWS = [np.zeros((3, 2))] * 3


@pytest.mark.parametrize(("name", "value"), RETIRED)
def test_a_value(name, value):
    with pytest.raises(secfc.ParameterError, match=re.escape(RETIRED[name, value])):
        secfc.run(ROWS, 2, **{name: value})
    shown = _refused("run", "a.csv", "-k", "2", "--out", "o", f"--{name}", value)
    assert RETIRED[name, value] in shown


class _Table(FileSchema):
    k: int
    disclosure: Disclosure = "labels"


class _File(FileSchema):
    table: _Table


def test_a_key_of_a_file(tmp_path: Path):
    path = tmp_path / "job.toml"
    for (name, value), instead in RETIRED.items():
        path.write_text(f'[table]\nk = 2\n{name} = "{value}"\n')
        with pytest.raises(secfc.ParameterError, match=re.escape(f"it was retired: {instead}")):
            TomlFile(path).check(_File)


@pytest.mark.parametrize(("name", "value"), RETIRED)
def test_the_summary_of_a_run_for_a_prediction(tmp_path: Path, name: str, value: str):
    files = [str(tmp_path / f"{party}.csv") for party in "abc"]
    for file in files:
        Path(file).write_text("x\n1\n2\n")
    out, path = str(tmp_path / "out"), tmp_path / "out" / "summary.json"
    words = ["run", *files, "-k", "2", "--t", "1", "--ell", "1", "--driver", "in-process", "--out", out]
    assert CliRunner().invoke(app, words).exit_code == 0
    summary = json.loads(path.read_text())
    summary["parameters"][name] = value
    path.write_text(json.dumps(summary))
    shown = _refused("predict", *files, "--run", out, "--new", f"a={files[0]}", "--out", "o")
    assert RETIRED[name, value] in shown


def _refused(*words: str) -> str:
    """What a command prints that is refused, as one line without the frame."""
    done = CliRunner().invoke(app, words, env={"COLUMNS": "1000", "TERMINAL_WIDTH": "1000"})
    assert done.exit_code == 2
    return " ".join(done.output.replace("│", " ").split())
