"""A part of MNIST on a FLARE server with three sites and two helpers, which takes less than a minute."""

import numpy as np
import pytest
from support.datasets import mnist

from plaintext_baselines import ExactLloyd
from secfc.agreement.key_files import COORDINATOR_KEY
from secfc.agreement.statement import read_summary
from secfc.drivers.flare.federation import Federation
from secfc.drivers.flare.jobs import export_job
from secfc.drivers.in_process import run_in_process
from secfc.drivers.setup import Setup
from secfc.protocol.job.limits import Limits

pytestmark = [pytest.mark.slow, pytest.mark.flare, pytest.mark.data, pytest.mark.timeout(600)]

ROWS = 2000


def test_labels_of_mnist_equal_exact_lloyd(tmp_path, organisations_of, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    rows = mnist()[0][:ROWS]
    parties = np.split(rows, [ROWS // 10, ROWS // 2])
    made = organisations_of(tmp_path, parties, helpers=2, k=10, t=1, ell=1, disclosure="labels")
    export_job(made.job, tmp_path / "job", deadline=120.0)
    everybody = (*made.sites, *made.helpers)
    with Federation(tmp_path / "flare", everybody) as federation:
        for name in everybody:
            federation.join(name, made.config(name))
        federation.give_key(made.folder / COORDINATOR_KEY)
        federation.start()
        _, path = federation.run(tmp_path / "job", timeout=400.0)
        summary = read_summary(path).coordinator
    assert summary["ended"] == "complete", summary
    assert summary["lost"] == {}
    for name in made.helpers:
        assert made.statement(name)["ended"] == "complete"
    job = made.agreement.job
    names = list(made.sites)
    here = run_in_process(Setup(job=job, rows=parties, starts=None, names=names, limits=Limits()))
    assert summary["result"]["n_iter"] == here.n_iter
    starts = np.split(here.start, [ROWS // 10, ROWS // 2])
    exact = ExactLloyd(job.k, init=starts, bound=job.bound, precision=job.precision).fit(parties)
    for name, labels in zip(made.sites, exact.labels_, strict=True):
        np.testing.assert_array_equal(made.labels(name), labels)
