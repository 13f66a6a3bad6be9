"""`python -m benchmarks rehearsal`: FLARE sites behind a relay."""

import json

import psutil
import pytest
from typer.testing import CliRunner

from benchmarks.app import app

pytestmark = [pytest.mark.slow, pytest.mark.flare, pytest.mark.timeout(600)]

NO_DELAY, SLOW = (0.0, None, 0.0), (50.0, 100.0, 0.0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder for files of rehearsals. At the end no file and no process that uses it may be left."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    yield tmp_path
    known = [" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])]
    assert [one for one in known if str(tmp_path) in one] == []
    assert list(tmp_path.iterdir()) == []


def test_three_sites_behind_slow_lines_get_exact_labels(folder):
    done = CliRunner().invoke(app, ["rehearsal", "--quick", "--json", "--loss", "0"])
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)
    assert [(row["delay_ms"], row["mbit"], row["loss"]) for row in rows] == [NO_DELAY, SLOW] * 2
    assert [row["disclosure"] for row in rows] == ["labels", "labels", "coded", "coded"]
    for row in rows:
        assert row["exact"]
        assert (row["n"], row["helpers"]) == (3, 0)
        assert row["message_bytes"] > row["line_bytes"] > 0
        assert row["relay_bytes"] > 0
        assert row["computed_seconds"] == pytest.approx(
            8 * row["line_bytes"] / (1e6 * row["mbit"]) + row["legs"] * row["delay_ms"] / 2e3
            if row["mbit"]
            else 0.0
        )


def test_an_interrupted_rehearsal_leaves_nothing_behind(folder, monkeypatch):
    def interrupted(federation, _):
        assert all(map(federation.alive, federation.sites))
        raise KeyboardInterrupt

    monkeypatch.setattr("benchmarks.costs.rehearsal.run_job", interrupted)
    done = CliRunner().invoke(app, ["rehearsal", "--quick"])
    assert done.exit_code == 130, done.output
