"""Callers of the driver: scripts, threads, programs that are interrupted."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from support.outcomes import assert_equal
from support.signals import heed_ctrl_c

import secfc
from secfc.drivers.in_process import run_in_process
from secfc.drivers.multiprocess import run_multiprocess

PACKAGE = str(Path(secfc.__file__).resolve().parent.parent)

pytestmark = [pytest.mark.processes, pytest.mark.interpreters]


def ended(pid):
    """Whether a process has ended. A zombie has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


SCRIPT = """
import sys
import numpy as np
import secfc
from secfc.drivers.calls.processes import ForkServer

started, real = [], ForkServer.start

def start(forks):
    started.append(real(forks))
    print("pid", started[-1].pid, flush=True)
    return started[-1]

def progress(now):
    if now.round == 1 and now.waiting_for == 3:
        print("iterating", flush=True)

ForkServer.start = start
rows = [np.random.default_rng(j).normal(size=(60, 2)) for j in range(3)]
n_init = int(sys.argv[1])
result = secfc.run(
    rows, 3, 1, 1, n_init=n_init, seed=1, driver="multiprocess", progress=progress, max_iter=1000,
    disclosure="coded",
)
print("labels", *(label for part in result.labels for label in part), flush=True)
"""


@pytest.fixture
def script(tmp_path):
    """Start a script that calls `secfc.run` at its top level, without a __main__ guard."""
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    running = []

    def start(n_init):
        command = [sys.executable, str(path), str(n_init)]
        environment = {**os.environ, "PYTHONPATH": PACKAGE}
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env=environment,
            start_new_session=True,
            preexec_fn=heed_ctrl_c if os.name == "posix" else None,
        )
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


def test_a_script_without_a_main_guard_can_call_it(script):
    output, errors = script(1).communicate(timeout=500)
    rows = [np.random.default_rng(j).normal(size=(60, 2)) for j in range(3)]
    expected = secfc.run(rows, 3, 1, 1, seed=1, disclosure="coded")
    labels = next(line for line in output.splitlines() if line.startswith("labels"))
    assert labels.split()[1:] == [str(label) for part in expected.labels for label in part]
    assert "Traceback" not in errors


@pytest.mark.some(1)
@pytest.mark.parametrize(("number", "tracebacks"), [(signal.SIGINT, 1), (signal.SIGKILL, 0)])
def test_no_party_outlives_a_script_that_is_interrupted_or_killed(script, number, tracebacks):
    process = script(100_000)
    pids = []
    for line in process.stdout:
        if line == "iterating\n":
            break
        pids.append(int(line.split()[1]))
    assert len(pids) == 3
    assert not any(map(ended, pids))
    os.killpg(process.pid, number)  # like a terminal: the script's whole process group gets it
    assert process.wait(300) != 0
    deadline = time.monotonic() + 300
    while not all(map(ended, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert all(map(ended, pids))
    assert process.stderr.read().count("Traceback") == tracebacks


def test_two_threads_can_call_it_at_once(setup_of):
    outcomes = {}
    seeds = (1, 2)
    threads = [
        threading.Thread(target=lambda s=s: outcomes.update({s: run_multiprocess(setup_of(seed=s))}))
        for s in seeds
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(500)
    for seed in seeds:
        assert_equal(outcomes[seed], run_in_process(setup_of(seed=seed)))
