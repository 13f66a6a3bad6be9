"""A FLARE server and seven sites, real processes with mutual TLS on loopback: whole runs and lost sites."""

import errno
import json
import os
import socket
import ssl
from pathlib import Path

import numpy as np
import psutil
import pytest
from simulator.kills import PLACES
from sklearn.datasets import load_digits

from plaintext_baselines import ExactLloyd
from secfc.agreement.audit import audit
from secfc.agreement.key_files import COORDINATOR_KEY
from secfc.agreement.statement import read_summary
from secfc.drivers.flare.federation import Federation
from secfc.drivers.flare.jobs import export_job
from secfc.drivers.flare.kits import SERVER
from secfc.drivers.in_process import run_in_process
from secfc.drivers.setup import Setup
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import changed_job

pytestmark = [pytest.mark.slow, pytest.mark.flare, pytest.mark.timeout(900)]

SABOTAGE = Path(__file__).parents[2] / "support" / "sabotage"
T, ELL = 2, 1  # R = 5 of 7


def digits():
    return np.array_split(load_digits().data, 7)


@pytest.fixture(scope="module")
def consortium(tmp_path_factory, organisations_of):
    """Seven organisations with digits as rows, with running server and sites. Nothing is left at the end."""
    folder = tmp_path_factory.mktemp("flare")
    made = organisations_of(folder, digits(), k=10, t=T, ell=ELL)
    plan = folder / "sabotage.json"
    plan.write_text("{}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(SABOTAGE), os.environ.get("PYTHONPATH", "")]))
        patch.setenv("SECFC_SABOTAGE", str(plan))
        patch.setenv("OMP_NUM_THREADS", "1")
        federation = Federation(folder / "flare", made.names)
        for name in made.names:
            federation.join(name, made.site(name))
        federation.give_key(made.folder / COORDINATOR_KEY)
        try:
            federation.start()
            yield made, federation, plan
        finally:
            federation.stop()
    assert [
        p for p in psutil.process_iter(["cmdline"]) if str(folder) in " ".join(p.info["cmdline"] or [])
    ] == []
    with socket.socket() as client:
        assert client.connect_ex(("127.0.0.1", federation.port)) == errno.ECONNREFUSED


@pytest.fixture
def run(consortium, tmp_path):
    """Run the consortium's job with some sites broken. Lost sites run again afterwards."""
    made, federation, plan = consortium
    for name in made.names:
        made.forget(name)

    def submit(deadline=60.0, **sabotage):
        plan.write_text(json.dumps({name.replace("_", "-"): how for name, how in sabotage.items()}))
        export_job(made.job, tmp_path / "job", deadline=deadline)
        number, path = federation.run(tmp_path / "job", timeout=300.0)
        return number, None if path is None else read_summary(path)

    yield submit
    plan.write_text("{}")
    down = [name for name in made.names if not federation.alive(name)]
    if down:
        federation.start(*down)


def assert_exact(made, lost=(), left_out=()):
    """All labels that exist equal those of Lloyd in exact integers on the rows that took part.

    Rows of left-out sites would have changed the start, so the parties here are only the others.
    """
    agreement = made.agreement
    inside = [at for at, name in enumerate(made.names) if name not in left_out]
    rows = [made.rows[at] for at in inside]
    here = run_in_process(
        Setup(
            job=changed_job(agreement.job, n=len(rows)),
            rows=rows,
            starts=None,
            names=[made.names[at] for at in inside],
            limits=Limits(),
        )
    )
    starts = np.split(here.start, np.cumsum([len(part) for part in rows])[:-1])
    job = agreement.job
    exact = ExactLloyd(job.k, init=starts, bound=job.bound, precision=job.precision).fit(rows)
    for at, labels, same in zip(inside, exact.labels_, here.labels, strict=True):
        np.testing.assert_array_equal(labels, same)
        if made.names[at] not in lost:
            np.testing.assert_array_equal(made.labels(made.names[at]), labels)


def assert_audited(summary, made, silent=()):
    """All statements except those of silent sites exist, are signed, and agree."""
    wrong = [finding.text for finding in audit(summary, made.agreement) if not finding.holds]
    assert wrong == [f"{name}: its statement is missing" for name in silent]


def test_labels_equal_exact_lloyd_and_all_sign_what_was_done(consortium, run):
    _, summary = run()
    assert summary.coordinator["ended"] == "complete"
    assert summary.coordinator["lost"] == {}
    assert_exact(consortium[0])
    assert_audited(summary, consortium[0])


def test_a_site_killed_in_round_3_is_done_without(consortium, run):
    made = consortium[0]
    _, summary = run(deadline=20.0, site_4=(*PLACES["round 3"], "site"))
    assert summary.coordinator["ended"] == "complete", summary
    assert list(summary.coordinator["lost"]) == ["site-4"]
    assert_exact(made, lost=["site-4"])
    assert_audited(summary, made, silent=["site-4"])


def test_only_a_sites_job_process_killed_is_said_clearly(consortium, run):
    number, summary = run(deadline=60.0, site_4=(*PLACES["round 3"], "job"))
    ended = summary.coordinator["ended"]
    assert ended == "PartyError: stopped (client 4)"
    assert consortium[1].ended(number, timeout=120.0) == "FINISHED:EXECUTION_EXCEPTION"


def test_the_server_refuses_a_job_that_ships_code(consortium, tmp_path):
    made, federation, _ = consortium
    export_job(made.job, tmp_path / "job", deadline=60.0)
    (tmp_path / "job" / "secfc" / "custom").mkdir()
    (tmp_path / "job" / "secfc" / "custom" / "shipped.py").write_text("")
    _, summary = federation.run(tmp_path / "job", timeout=120.0)
    assert summary is None
    assert "BYOC not permitted" in (federation.kits[SERVER] / "console.txt").read_text()


def test_the_text_of_an_exception_does_not_leave_the_site(consortium, run):
    made, federation, _ = consortium
    _, summary = run(site_4=(*PLACES["round 3"], "the value 123456.789"))
    assert summary.coordinator["ended"] == "complete"
    assert summary.coordinator["lost"] == {"site-4": "PartyError: internal"}
    assert_exact(made, lost=["site-4"])
    for path in federation.kits[SERVER].rglob("*"):
        assert not path.is_file() or b"123456.789" not in path.read_bytes(), path


def test_the_server_takes_no_one_without_a_certificate_of_the_consortium(consortium):
    federation = consortium[1]
    startup = federation.kits["site-1"] / "startup"

    def answer(context):
        plain = socket.create_connection(("127.0.0.1", federation.port), timeout=30)
        try:
            with context.wrap_socket(plain, server_hostname="localhost") as secure:
                secure.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                return secure.recv(4)
        except OSError:
            return b""

    context = ssl.create_default_context(cafile=str(startup / "rootCA.pem"))
    assert answer(context) == b""
    context.load_cert_chain(startup / "client.crt", startup / "client.key")
    assert answer(context) == b"HTTP"
