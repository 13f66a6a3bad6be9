"""Benchmarks run and refuse what they cannot measure. No test checks how long anything took."""

import json

import pytest
from typer.testing import CliRunner

from benchmarks.app import app
from benchmarks.costs.tables import TABLES, TITLES


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "arguments",
    [("iteration", "--cases", "300,6,3,5,1,2"), ("timeline", "--quick")],
    ids=lambda arguments: arguments[0],
)
def test_a_benchmark_runs_and_prints_only_rows(arguments):
    done = CliRunner().invoke(app, [*arguments, "--json"])
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)
    assert rows
    assert all(isinstance(row, dict) for row in rows)


def test_two_workers_of_a_holder_send_what_one_sends():
    pytest.importorskip("distributed")
    done = CliRunner().invoke(app, ["workers", "--quick", "--json"])
    assert done.exit_code == 0, done.output
    one, two = json.loads(done.stdout)
    assert (one["workers"], two["workers"]) == (1, 2)
    assert one["same"]
    assert two["same"]
    assert two["bytes"] == one["bytes"]


def test_a_table_is_printed_without_json():
    done = CliRunner().invoke(app, ["iteration", "--cases", "200,4,2,3,1,1"])
    assert done.exit_code == 0
    assert TITLES["iteration"] in done.stdout


def test_every_benchmark_has_a_table_and_a_title():
    assert TABLES.keys() == TITLES.keys()


@pytest.mark.parametrize("text", ["1,2,3", "a,b,c,d,e,f", "0,4,2,3,1,1", "200,4,2,3,1,-1", ""])
def test_a_malformed_case_is_one_clear_line(text):
    done = CliRunner().invoke(app, ["iteration", "--cases", text])
    assert done.exit_code == 2
    assert "m,d,k,n,t,ell" in done.output
    assert "Traceback" not in done.output


def test_too_few_clients_are_refused_as_everywhere():
    done = CliRunner().invoke(app, ["iteration", "--cases", "200,4,2,3,4,2"])
    assert done.exit_code == 2
    assert "ThresholdError" in done.output
