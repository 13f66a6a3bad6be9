"""`secfc consortium run --resumable`: signal 9 kills FLARE's server, and the same command continues."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.hospitals import NAMES, command, requests

from secfc.agreement.audit import audit
from secfc.agreement.job_file import read_job
from secfc.agreement.statement import read_summary
from secfc.drivers.flare.federation import free_port
from secfc.drivers.flare.jobs import LOGS
from secfc.drivers.flare.kits import SERVER
from secfc.drivers.in_process import run_in_process
from secfc.drivers.setup import Setup
from secfc.limits import Limits

pytestmark = [pytest.mark.slow, pytest.mark.flare, pytest.mark.timeout(600)]

SABOTAGE = Path(__file__).parents[2] / "support" / "sabotage"
JOB = """\
title = "Blood values"
roster = "roster.toml"
expires = 9999-12-31

[clustering]
k = 5
t = 1
ell = 1
seed = 3
disclosure = "distances"

[columns]
x = [-20, 20]
y = [-20, 20]
"""
KILLED_IN_ROUND = 3


@pytest.fixture
def signed(tmp_path):
    """Three hospitals with storage that have signed the coordinator's job, and their rows."""
    rng = np.random.default_rng(5)
    rows = [rng.normal(size=(60, 2)) * 3 for _ in NAMES]
    for name, own in zip(NAMES, rows, strict=True):
        folder = tmp_path / name
        folder.mkdir()
        pd.DataFrame(own, columns=["x", "y"]).to_csv(folder / "rows.csv", index=False)
        command("consortium", "request", name, "--rows", "rows.csv", "--folder", folder)
        site = folder / "site.toml"
        site.write_text('storage = "scratch"\n' + site.read_text())
    job, made = tmp_path / "job.toml", tmp_path / "consortium"
    job.write_text(JOB)
    place = ["--host", "localhost", "--port", free_port(), "--out", made]
    command("consortium", "new", job, *requests(tmp_path), *place)
    for name in NAMES:
        site = tmp_path / name / "site.toml"
        command("consortium", "accept", made / "consortium.toml", "--site", site)
        command("job", "sign", site)
    return tmp_path, rows


def test_a_consortium_whose_server_was_killed_goes_on_by_the_same_command(signed):
    folder, rows = signed
    made, plan = folder / "consortium", folder / "sabotage.json"
    environment = os.environ | {
        "HOME": str(folder),
        "PYTHONPATH": os.pathsep.join([str(SABOTAGE), os.environ.get("PYTHONPATH", "")]),
        "SECFC_SABOTAGE": str(plan),
        "OMP_NUM_THREADS": "1",
    }
    started = []

    def start(who, *words):
        with (folder / f"{who}.said").open("ab") as said:
            words = [sys.executable, "-m", "secfc", *map(str, words)]
            started.append(
                subprocess.Popen(
                    words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said
                )
            )
        return started[-1]

    def said(who):
        return (folder / f"{who}.said").read_text()

    given = [folder / name / "consortium" / "job.signatures" for name in NAMES]
    run = ["consortium", "run", made / "job.toml", *given, "--resumable", "--timeout", "240"]
    plan.write_text(json.dumps({"server": ["CodedDistances", KILLED_IN_ROUND, "site"]}))
    try:
        sites = [start(name, "consortium", "start", folder / name / "site.toml") for name in NAMES]
        assert start("first", *run).wait(timeout=300) == 2, said("first")
        assert "PartyError: the FLARE server has ended" in said("first")
        assert [one.name for one in (made / SERVER / LOGS).iterdir() if one.suffix == ".log"]
        assert not (made / "job.summary.json").exists()
        assert [site.poll() for site in sites] == [None] * len(sites)  # they wait for the server
        plan.write_text("{}")
        assert start("second", *run).wait(timeout=300) == 0, said("second")
        for name, site in zip(NAMES, sites, strict=True):
            assert site.wait(timeout=120) == 0, said(name)
    finally:
        for process in started:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)  # so that FLARE's processes end, too
                process.wait(timeout=60)
    agreement, summary = read_job(made / "job.toml"), read_summary(made / "job.summary.json")
    assert (summary.coordinator["ended"], summary.coordinator["lost"]) == ("complete", {})
    assert [one.text for one in audit(summary, agreement) if not one.holds] == []
    expected = run_in_process(
        Setup(job=agreement.job, rows=rows, starts=None, names=list(NAMES), limits=Limits())
    )
    assert summary.coordinator["result"]["n_iter"] == expected.n_iter > KILLED_IN_ROUND
    for name, labels in zip(NAMES, expected.labels, strict=True):
        (results,) = (folder / name / "results").iterdir()
        assert results.name == summary.coordinator["run"]
        np.testing.assert_array_equal(pd.read_csv(results / "labels.csv")["label"], labels)
        assert list((folder / name / "scratch").rglob("*.log")) == []
