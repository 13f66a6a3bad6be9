"""A FLARE server and three sites, all of them needed: processes killed by signal 9 continue from logs."""

import json
import os
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
from simulator.kills import PLACES, SERVERS_PLACE
from sklearn.datasets import load_digits

from plaintext_baselines import ExactLloyd
from secfc.agreement.audit import audit
from secfc.agreement.key_files import COORDINATOR_KEY
from secfc.agreement.statement import read_summary
from secfc.drivers.flare.federation import Federation
from secfc.drivers.flare.jobs import LOGS, export_job
from secfc.drivers.flare.kits import SERVER
from secfc.drivers.in_process import run_in_process
from secfc.drivers.setup import Setup
from secfc.errors import PartyError
from secfc.protocol.job.limits import Limits

pytestmark = [pytest.mark.slow, pytest.mark.flare, pytest.mark.timeout(600)]

SABOTAGE = Path(__file__).parents[2] / "support" / "sabotage"


class Consortium:
    """Three organisations whose sites keep logs, and their federation."""

    def __init__(self, folder, made):
        self.made, self._folder = made, folder
        for name in made.names:
            made.configure(name, first=f'storage = "scratch-{name}"\n')
        self.plan = folder / "sabotage.json"
        self.plan.write_text("{}")
        self.federation = Federation(folder / "flare", made.names)
        for name in made.names:
            self.federation.join(name, made.site(name))
        self.federation.give_key(made.folder / COORDINATOR_KEY)

    def run(self, deadline=240.0, **sabotage):
        """Submit the job, with parties broken by a plan; return the summary if one was written."""
        self.plan.write_text(json.dumps({name.replace("_", "-"): how for name, how in sabotage.items()}))
        job = self._folder / "job"
        shutil.rmtree(job, ignore_errors=True)
        export_job(self.made.job, job, deadline=deadline, kit=self.federation.kits[SERVER])
        _, path = self.federation.run(job, timeout=300.0)
        return None if path is None else read_summary(path)

    @property
    def logs(self):
        kept = [*(self.federation.kits[SERVER] / LOGS).glob("*"), *self.made.folder.glob("scratch-*/job-*/*")]
        return [path.name for path in kept if path.suffix == ".log"]

    def assert_complete(self, summary, run):
        """The summary is that of the interrupted run; every site has its labels, and no log is left."""
        made = self.made
        assert (summary.coordinator["ended"], summary.coordinator["lost"]) == ("complete", {})
        assert [folder.name for name in made.names for folder in made.written(name)] == [run] * len(
            made.names
        )
        assert [finding.text for finding in audit(summary, made.agreement) if not finding.holds] == []
        for name, labels in zip(made.names, self._exact(), strict=True):
            np.testing.assert_array_equal(made.labels(name), labels)
        until = time.monotonic() + 60.0  # the log is removed after the summary is written
        while self.logs and time.monotonic() < until:
            time.sleep(0.1)
        assert self.logs == []

    def _exact(self):
        """Labels of Lloyd in exact integers from the start that the job's seed gives."""
        made, job = self.made, self.made.agreement.job
        here = run_in_process(
            Setup(
                job=job,
                rows=made.rows,
                starts=None,
                names=list(made.names),
                limits=Limits(),
            )
        )
        starts = np.split(here.start, np.cumsum([len(part) for part in made.rows])[:-1])
        exact = ExactLloyd(job.k, init=starts, bound=job.bound, precision=job.precision).fit(made.rows)
        assert exact.n_iter_ > 4  # later than the kills
        return exact.labels_


@pytest.fixture(scope="module")
def up(tmp_path_factory, organisations_of):
    folder = tmp_path_factory.mktemp("restart")
    rows, classes = load_digits(return_X_y=True)
    parts = [rows[at::12] + classes[at::12, None] / 16 for at in range(3)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(SABOTAGE), os.environ.get("PYTHONPATH", "")]))
        patch.setenv("SECFC_SABOTAGE", str(folder / "sabotage.json"))
        patch.setenv("OMP_NUM_THREADS", "1")
        made = Consortium(folder, organisations_of(folder, parts, k=6, t=1, ell=1))
        with made.federation:
            made.federation.start()
            yield made


@pytest.fixture
def consortium(up):
    """Three running sites, without results of other runs."""
    for name in up.made.names:
        up.made.forget(name)
    return up


def test_a_site_whose_job_process_was_killed_goes_on_when_the_job_is_submitted_again(consortium):
    first = consortium.run(site_2=(*PLACES["round 3"], "job"))
    assert first.coordinator["ended"] == "PartyError: stopped (client 2)"
    assert first.coordinator["interrupted"]
    assert len(consortium.logs) == 4
    consortium.assert_complete(consortium.run(), first.coordinator["run"])


def test_sites_that_were_killed_go_on_when_they_are_up_again(consortium):
    killed = {"site_2": (*PLACES["round 3"], "site"), "site_3": (*PLACES["round 3"], "site")}
    first = consortium.run(deadline=15.0, **killed)
    # The first that is lost ends the run.
    assert {"site-2", "site-3"} >= first.coordinator["lost"].keys() > set()
    assert first.coordinator["interrupted"]
    consortium.federation.start("site-2", "site-3")
    consortium.assert_complete(consortium.run(), first.coordinator["run"])


def test_a_coordinator_whose_job_process_was_killed_goes_on(consortium):
    assert consortium.run(server=(*SERVERS_PLACE, "job")) is None
    summary = consortium.run()
    consortium.assert_complete(summary, summary.coordinator["run"])


def test_a_server_of_which_every_process_was_killed_goes_on(consortium):
    with pytest.raises(PartyError):
        consortium.run(server=(*SERVERS_PLACE, "site"))
    assert not consortium.federation.alive(SERVER)
    consortium.federation.start(SERVER)
    summary = consortium.run()
    consortium.assert_complete(summary, summary.coordinator["run"])
