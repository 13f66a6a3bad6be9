"""RESULTS.md is made from the JSON files alone."""

import json

import pytest
from typer.testing import CliRunner

from benchmarks.app import app

ROW = {
    **{"m": 100_000, "d": 100, "k": 16, "n": 11, "t": 4, "ell": 2, "R": 11, "precision": 32, "bound": 1.0},
    **{"scale": 2.0**32, "residues": 4, "kernels": "compiled", "turns": 9, "moved": 10, "near_ties": 0},
    **{"plaintext_seconds": 0.01, "client_seconds": 0.015, "server_seconds": 0.04},
    **{"client_ratio": 1.5, "client_ratio_quartiles": [1.4, 1.6]},
    **{"matrix_rate": 50.0, "client_rate": 0.5},
    **{"server_ratio": 4.0, "server_ratio_quartiles": [3.5, 4.5]},
}


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "results"
    folder.mkdir()
    machine = {
        **{"processor": "Abacus 1", "cores": 2, "memory_gib": 1.0, "system": "Linux", "python": "3.11"},
        **{"packages": {"numpy": "2"}, "blas": ["openblas"], "matrix_rate": 50.8},
    }
    result = {
        **{"benchmark": "iteration", "command": "python -m benchmarks iteration --json", "quick": False},
        **{"commit": "abc123", "started": "2022-01-01", "seconds": 1.0, "machine": machine, "rows": [ROW]},
    }
    (folder / "iteration.json").write_text(json.dumps(result))
    return folder


def report(folder):
    return CliRunner().invoke(app, ["report", "--results", str(folder)])


def test_a_table_names_machine_rate_commit_and_command(results):
    done = report(results)
    assert done.exit_code == 0, done.output
    page = (results.parent / "RESULTS.md").read_text()
    for text in (
        "Abacus 1",
        "50.8 · 10⁹/s",
        "`abc123`",
        "`python -m benchmarks iteration --json`",
        "1.50 (1.40 to 1.60)",
    ):
        assert text in page


def test_no_results_are_an_error_and_no_page(tmp_path):
    done = report(tmp_path / "none")
    assert done.exit_code == 2
    assert "no results in" in done.output
    assert not (tmp_path / "RESULTS.md").exists()


def test_record_refuses_a_benchmark_that_there_is_not(tmp_path):
    done = CliRunner().invoke(app, ["record", "--only", "iterations", "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert "there is no benchmark 'iterations'" in done.output
    assert not (tmp_path / "out").exists()


def test_attacks_of_a_letter_are_stored_apart_and_are_not_on_the_page(tmp_path):
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["record", "--quick", "--only", "privacy-o", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert [path.name for path in out.iterdir()] == ["privacy-o.json"]
    stored = json.loads((out / "privacy-o.json").read_text())
    assert stored["command"] == "python -m benchmarks privacy --only o --json --quick"
    assert {row["attack"] for row in stored["rows"]} == {"o-pairs"}
    assert list(tmp_path.iterdir()) == [out]
