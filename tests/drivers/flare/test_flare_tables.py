"""A job with resamples and described columns on a FLARE server, killed between two resamples."""

import json
import os
from pathlib import Path

import pytest
from support.describing import Describing
from support.organisations import NAMES

from secfc.agreement.audit import audit
from secfc.agreement.statement import read_summary
from secfc.drivers.flare.federation import Federation
from secfc.drivers.flare.jobs import export_job
from secfc.drivers.flare.kits import SERVER

pytestmark = [pytest.mark.slow, pytest.mark.flare, pytest.mark.timeout(300)]

SABOTAGE = Path(__file__).parents[2] / "support" / "sabotage"


def test_sites_have_the_tables_of_all_rows_after_one_was_killed_between_two_resamples(tmp_path, monkeypatch):
    made, plan = Describing(tmp_path), tmp_path / "sabotage.json"
    made.resample()
    for name in NAMES:
        made.replace(made.site(name), "[data]\n", f'storage = "scratch-{name}"\n[data]\n')
    made.sign()
    monkeypatch.setenv("PYTHONPATH", str(SABOTAGE), prepend=os.pathsep)
    monkeypatch.setenv("SECFC_SABOTAGE", str(plan))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    summaries = []
    with Federation(tmp_path / "flare", NAMES) as federation:
        for name in NAMES:
            federation.join(name, made.site(name))
        federation.give_key(made.coordinator_key)
        federation.start()
        for at, killed in enumerate(({"south": ("Step", 5, "job")}, {})):
            plan.write_text(json.dumps(killed))
            job = tmp_path / f"job-{at}"
            export_job(made.job, job, deadline=120.0, kit=federation.kits[SERVER])
            _, path = federation.run(job, timeout=200.0)
            summaries.append(read_summary(path))
    first, second = (one.coordinator for one in summaries)
    assert (first["ended"], first["interrupted"]) == ("PartyError: stopped (client 2)", True)
    assert (second["ended"], second["run"]) == ("complete", first["run"])
    assert all(one.holds for one in audit(summaries[1], made.agreement))
    made.assert_tables()
    made.assert_stability()
    for name in NAMES:
        assert len(json.loads((tmp_path / f"results-{name}.ledger").read_text())["openings"]) == 1
