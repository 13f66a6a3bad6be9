"""Processes of parties that tests observe and sabotage."""

import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest
from support import warm

import secfc
from secfc.drivers.calls import framing
from secfc.drivers.calls.processes import ForkServer

PACKAGE = str(Path(secfc.__file__).resolve().parent.parent)


@pytest.fixture
def sabotage(monkeypatch):
    """Code that a process executes before it starts to work, for clients 1, 2 and so on."""
    codes = {}
    real = ForkServer.start
    count = iter(range(1, 1000))

    def start(forks):
        code = codes.get(next(count))
        if code is None:
            return real(forks)
        main = "import sys\nfrom secfc.drivers.calls.party_process import main\nsys.exit(main())\n"
        return warm.Popen(
            [sys.executable, "-P", "-c", f"{textwrap.dedent(code)}\n{main}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": PACKAGE},
            start_new_session=True,
        )

    monkeypatch.setattr(ForkServer, "start", start)
    return codes.__setitem__


@pytest.fixture(autouse=True)
def started(monkeypatch, sabotage):
    """The processes that the test starts. None of them, of their pipes or of their threads may be left."""
    processes, real = [], ForkServer.start
    threads = set(threading.enumerate())

    def start(forks):
        processes.append(real(forks))
        return processes[-1]

    monkeypatch.setattr(ForkServer, "start", start)
    yield processes
    assert [process.poll() for process in processes if process.poll() is None] == []
    assert all(process.stdin.closed and process.stdout.closed for process in processes)
    for thread in set(threading.enumerate()) - threads:
        thread.join(300)  # threads that waited for an answer of an ended process
    assert set(threading.enumerate()) == threads


@pytest.fixture
def written(monkeypatch, started):
    """What is written to each client's standard input: (client, kind, payload)."""
    frames, real = [], framing.write_frame

    def write_frame(stream, kind, payload):
        party = next(j for j, process in enumerate(started, 1) if process.stdin is stream)
        frames.append((party, kind, bytes(payload)))
        real(stream, kind, payload)

    monkeypatch.setattr(framing, "write_frame", write_frame)
    return frames


@pytest.fixture
def long(setup_of):
    """A run of thousands of rounds, for tests that end it early."""
    return setup_of((50, 60, 70), n_init=2000)
