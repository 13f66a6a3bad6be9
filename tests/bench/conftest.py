"""`secfc bench` as a program calls it, in this process."""

import json
from math import frexp

import pytest
from typer.testing import CliRunner

from secfc.cli.app import app


@pytest.fixture
def rows_of():
    """The rows of `secfc bench NAME --json`: the only thing on standard output."""

    def run(*arguments):
        done = CliRunner().invoke(app, ["bench", *map(str, arguments), "--json"])
        assert done.exit_code == 0, done.output
        rows = json.loads(done.stdout)
        assert isinstance(rows, list)
        assert rows
        for row in rows:
            check_setting(row)
        return rows

    return run


def check_setting(row):
    """Every row says what it was measured with, and its threshold and scale are those of a run."""
    assert row["R"] == 2 * (row["ell"] + row["t"]) - 1 <= row["n"]
    assert row["k"] <= row["m"]
    assert row["d"] >= 1
    assert frexp(row["scale"])[0] == 0.5, "a power of two"
    assert row["scale"] * row["bound"] <= 2.0 ** row["precision"] < 2 * row["scale"] * row["bound"]
    assert 1 <= row["residues"] <= 8
    assert row["kernels"] in {"compiled", "numpy"}
