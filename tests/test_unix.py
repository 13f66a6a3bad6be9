"""What needs Linux or macOS is refused by name elsewhere; simulations are not."""

import pytest
from typer.testing import CliRunner

import secfc
from secfc import errors
from secfc.agreement.deposits.store import Store
from secfc.cli.app import app
from secfc.errors import ParameterError

NEEDED = "Linux or macOS is needed, this is "


@pytest.fixture
def elsewhere(monkeypatch):
    monkeypatch.setattr(errors, "UNIX", False)


@pytest.mark.parametrize(
    "words",
    [
        ["keygen", "north.key", "--name", "north"],
        ["ids-key", "ids.key"],
        ["ids-key", "there.key", "--show"],
        ["consortium", "check", "site.toml"],
        ["consortium", "run", "job.toml"],
    ],
    ids=" ".join,
)
def test_a_command_that_needs_file_modes_or_locks_is_refused_by_name(elsewhere, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, words, env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert NEEDED in done.output
    assert [*tmp_path.iterdir()] == []


def test_a_store_that_is_a_folder_is_refused_by_name(elsewhere, tmp_path):
    with pytest.raises(ParameterError, match=NEEDED):
        Store(str(tmp_path))


def test_a_simulation_runs(elsewhere):
    rows = [[[0.0], [9.0]], [[0.5], [8.5]], [[1.0], [8.0]]]
    assert secfc.run(rows, k=2, t=1, ell=1, seed=1).sizes.tolist() == [3, 3]
