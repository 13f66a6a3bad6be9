"""A job with deposits on a FLARE server, whose sites are the members of the committee."""

import pytest
from support.clinics import Clinics
from support.organisations import NAMES

from secfc.agreement.audit import audit
from secfc.agreement.statement import read_summary
from secfc.drivers.flare.federation import Federation
from secfc.drivers.flare.jobs import export_job

pytestmark = [pytest.mark.slow, pytest.mark.flare, pytest.mark.timeout(300)]


def test_clinics_that_are_no_sites_open_the_labels_of_a_run_over_flare(tmp_path, monkeypatch):
    made = Clinics(tmp_path)
    made.admit()
    made.deposit()
    made.close()
    export_job(made.job, tmp_path / "job", deadline=120.0)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    with Federation(tmp_path / "flare", NAMES) as federation:
        for name in NAMES:
            federation.join(name, made.site(name))
        federation.give_key(made.coordinator_key)
        federation.start()
        _, path = federation.run(tmp_path / "job", timeout=200.0)
    summary = read_summary(path)
    assert all(one.holds for one in audit(summary, made.agreement))
    run = bytes.fromhex(summary.coordinator["run"])
    there = {name: [label for _, label in made.labels(name, run)] for name in made.clinics}
    network = made.network()
    network.run()
    assert there == {name: [label for _, label in made.labels(name)] for name in made.clinics}
