"""`python -m benchmarks`, run in this process."""

import json
from math import frexp

import pytest
from typer.testing import CliRunner

from benchmarks.app import app


@pytest.fixture
def rows_of():
    """The rows of `python -m benchmarks NAME --json`, which must be the only text on standard output."""

    def run(*arguments):
        rows = printed_rows(*arguments)
        for row in rows:
            check_setting(row)
        return rows

    return run


@pytest.fixture
def rows_of_drivers():
    """The same for rows without threshold and scale."""
    return printed_rows


def printed_rows(*arguments):
    done = CliRunner().invoke(app, [*map(str, arguments), "--json"])
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)
    assert isinstance(rows, list)
    assert rows
    return rows


def check_setting(row):
    """Every row states its parameters, and its threshold and scale are valid for a run."""
    assert row["R"] == 2 * (row["ell"] + row["t"]) - 1 <= row["n"]
    assert row["k"] <= row["m"]
    assert row["d"] >= 1
    assert frexp(row["scale"])[0] == 0.5, "a power of two"
    assert row["scale"] * row["bound"] <= 2.0 ** row["precision"] < 2 * row["scale"] * row["bound"]
    assert 1 <= row["residues"] <= 8
    assert row["kernels"] in {"compiled", "numpy"}
