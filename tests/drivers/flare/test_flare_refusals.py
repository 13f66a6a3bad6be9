"""A FLARE server and three sites, real processes with mutual TLS: what they refuse, and how they end."""

import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from secfc.agreement.key_files import COORDINATOR_KEY
from secfc.agreement.statement import read_summary
from secfc.drivers.flare import federation as module
from secfc.drivers.flare.federation import Federation
from secfc.drivers.flare.jobs import export_job
from secfc.drivers.flare.kits import SERVER
from secfc.errors import PartyError

pytestmark = [pytest.mark.slow, pytest.mark.flare, pytest.mark.timeout(900)]


SABOTAGE = Path(__file__).parents[2] / "support" / "sabotage"


def running(folder):
    """Command lines of processes that belong to a federation in this folder."""
    commands = [" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])]
    return [command for command in commands if str(folder) in command]


def taken(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) != errno.ECONNREFUSED


def assert_free(port):
    """A process that is ending has no command line any more, but may still have its port for a moment."""
    until = time.monotonic() + 20
    while taken(port) and time.monotonic() < until:
        time.sleep(0.2)
    assert not taken(port)


@pytest.fixture(scope="module")
def consortium(tmp_path_factory, organisations_of, blobs_of):
    folder = tmp_path_factory.mktemp("flare")
    made = organisations_of(folder, blobs_of(20, 10, 30))
    (folder / "sabotage.json").write_text("{}")
    # The server would run anything, so only the sites can refuse.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setenv("PYTHONPATH", os.pathsep.join([str(SABOTAGE), os.environ.get("PYTHONPATH", "")]))
        patch.setenv("SECFC_SABOTAGE", str(folder / "sabotage.json"))
        with Federation(folder / "flare", made.names) as federation:
            local = federation.kits[SERVER] / "local"
            (local / "authorization.json").unlink()
            resources = json.loads((local / "resources.json").read_text())
            (local / "resources.json").write_text(json.dumps(resources | {"class_allow_list": ["*"]}))
            for name in made.names:
                federation.join(name, made.site(name))
            federation.give_key(made.folder / COORDINATOR_KEY)
            federation.start()
            yield made, federation
    assert running(folder) == []
    assert_free(federation.port)


@pytest.fixture
def job(consortium, tmp_path):
    """A job's folder, which a test may change. The organisations' files are restored afterwards."""
    made, _ = consortium
    for name in made.names:
        made.forget(name)
    export_job(made.job, tmp_path / "job", deadline=60.0)
    yield tmp_path / "job"
    for name in made.names:
        made.configure(name)


def ship_code(job, folder):
    """Put code into a job; return the path of the file that the code would make."""
    marker = folder / "ran"
    custom = job / "secfc" / "custom"
    custom.mkdir()
    (custom / "shipped.py").write_text(
        f"import pathlib\npathlib.Path({str(marker)!r}).touch()\n"
        "from secfc.drivers.flare.components import SiteExecutor as Shipped\n"
    )
    spoil(
        job,
        "secfc/config/config_fed_client.json",
        executors=[{"tasks": ["*"], "executor": {"path": "shipped.Shipped", "args": {}}}],
    )
    return marker


def spoil(job, name, **changes):
    path = job / name
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def ended(path):
    """The ending of the run in the coordinator's summary."""
    return read_summary(path).coordinator["ended"]


def console(federation, name):
    return (federation.kits[name] / "console.txt").read_text()


def test_a_job_that_ships_code_is_refused_by_the_sites_and_nothing_of_it_runs(consortium, job, tmp_path):
    _, federation = consortium
    marker = ship_code(job, tmp_path)
    number, summary = federation.run(job, timeout=120.0)
    assert summary is None
    assert federation.ended(number, timeout=120.0) != "FINISHED:COMPLETED"
    assert not marker.exists()
    for name in federation.sites:
        assert f"{name}: NVFLARE_ERROR: BYOC not permitted" in console(federation, SERVER)


@pytest.mark.parametrize(
    "path",
    ["nvflare.app_common.executors.multi_process_executor.MultiProcessExecutor", "subprocess.Popen"],
)
def test_a_job_that_names_another_class_is_refused(consortium, job, path):
    _, federation = consortium
    spoil(
        job,
        "secfc/config/config_fed_client.json",
        executors=[{"tasks": ["*"], "executor": {"path": path, "args": {}}}],
    )
    _, summary = federation.run(job, timeout=120.0)
    assert summary is None or ended(summary) != "complete"
    assert any(f"'{path}'" in console(federation, name) for name in federation.sites)
    assert any("is not in allow_list" in console(federation, name) for name in federation.sites)


def test_a_site_with_a_certificate_of_another_authority_does_not_get_in(consortium, tmp_path, monkeypatch):
    _, federation = consortium
    other = Federation(tmp_path / "other", ["site-3"])
    federation.parties["site-3"].stop()
    startup = federation.kits["site-3"] / "startup"
    kept = tmp_path / "kept"
    shutil.copytree(startup, kept)
    monkeypatch.setattr(module, "_START_SECONDS", 30.0)
    try:
        for name in ("client.crt", "client.key"):
            shutil.copy(other.kits["site-3"] / "startup" / name, startup / name)
        with pytest.raises(PartyError, match="sites that did not register: site-3"):
            federation.start("site-3")
    finally:
        federation.parties["site-3"].stop()
        shutil.rmtree(startup)
        shutil.copytree(kept, startup)
    monkeypatch.undo()
    federation.start("site-3")


def test_a_federation_ends_with_its_starter_however_that_ends(tmp_path):
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from secfc.drivers.flare.federation import Federation\n"
        f"federation = Federation(Path({str(tmp_path / 'flare')!r}), ['site-1'])\n"
        "federation.start()\n"
        "print(federation.port, flush=True)\n"
        "time.sleep(600)\n"
    )
    starter = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    port = int(starter.stdout.readline())
    assert len(running(f"{tmp_path}/flare/")) == 2
    os.kill(starter.pid, signal.SIGKILL)
    starter.wait()
    starter.stdout.close()
    until = time.monotonic() + 60
    while running(f"{tmp_path}/flare/") and time.monotonic() < until:
        time.sleep(0.2)
    assert running(f"{tmp_path}/flare/") == []
    assert_free(port)
