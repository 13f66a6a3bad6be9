"""A retired name is one error that says what serves instead, wherever it is given."""

import json
import re
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import secfc
from secfc.cli.app import app
from secfc.protocol.job.options import Disclosure
from secfc.protocol.job.retired import CHOICES, COMMANDS, OPTIONS
from secfc.tables.toml_file import FileSchema, TomlFile

ROWS = [np.zeros((3, 2))] * 3


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize(
    "call", [secfc.run, secfc.choose_k, secfc.predict, secfc.SecureKMeans], ids=lambda call: call.__name__
)
def test_an_argument(name, call):
    assert name not in signature(call).parameters
    with pytest.raises(TypeError, match=re.escape(f"{name}: it was retired: {OPTIONS[name]}")):
        call(*(() if call is secfc.SecureKMeans else (ROWS, 2)), **{name: 1})


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_of_the_command(name):
    shown = _refused("run", "a.csv", "-k", "2", "--out", "o", f"--{name.replace('_', '-')}", "1")
    assert f"it was retired: {OPTIONS[name]}" in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command(name):
    assert f"it was retired: {COMMANDS[name]}" in _refused("job", name)


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


def test_a_file_has_a_line_for_each_retired_key_and_value(tmp_path: Path):
    path = tmp_path / "job.toml"
    path.write_text("[table]\nk = 2\n" + "".join(f"{name} = 1\n" for name in OPTIONS))
    with pytest.raises(secfc.ParameterError) as caught:
        TomlFile(path).check(_File)
    assert str(caught.value).splitlines() == [
        f"{path}:{3 + at}: table.{name}: it was retired: {instead}"
        for at, (name, instead) in enumerate(OPTIONS.items())
    ]
    for (name, value), instead in CHOICES.items():
        path.write_text(f'[table]\nk = 2\n{name} = "{value}"\n')
        with pytest.raises(secfc.ParameterError, match=re.escape(f"it was retired: {instead}")):
            TomlFile(path).check(_File)


def test_reserves_after_the_three_who_compare():
    with pytest.raises(secfc.ParameterError, match=re.escape(OPTIONS["reserves"])):
        secfc.run([*ROWS, *ROWS], 2, t=1, ell=1, comparers=(0, 1, 2, 3))


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
