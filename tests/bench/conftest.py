"""`python -m benchmarks` in this process."""

import json
from math import frexp

import pytest
from typer.testing import CliRunner

from benchmarks.app import app


@pytest.fixture
def rows_of():
    """The rows of `python -m benchmarks NAME --json`: the only thing on standard output."""

    def run(*arguments):
        rows = printed_rows(*arguments)
        for row in rows:
            check_setting(row)
        return rows

    return run


@pytest.fixture
def rows_of_drivers():
    """Likewise, rows that state no threshold and no scale."""
    return printed_rows


def printed_rows(*arguments):
    done = CliRunner().invoke(app, [*map(str, arguments), "--json"])
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)
    assert isinstance(rows, list)
    assert rows
    return rows


def check_setting(row):
    """Every row says what it was measured with, and its threshold and scale are those of a run."""
    assert row["R"] == 2 * (row["ell"] + row["t"]) - 1 <= row["n"]
    assert row["k"] <= row["m"]
    assert row["d"] >= 1
    assert frexp(row["scale"])[0] == 0.5, "a power of two"
    assert row["scale"] * row["bound"] <= 2.0 ** row["precision"] < 2 * row["scale"] * row["bound"]
    assert 1 <= row["residues"] <= 8
    assert row["kernels"] in {"compiled", "numpy"}
