"""Hooks and fixtures for all tests."""

import gc
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # pytest-xdist already has a process for each core

from support import sweeps, warm

sys.path.append(str(Path(__file__).parent.parent))
"""benchmarks/ is not installed. The folder is last on the path, so that tests use an installed secfc."""


_SLOW_MACHINES = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("default", deadline=None, max_examples=8, suppress_health_check=_SLOW_MACHINES)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=300)
settings.load_profile("default")


def pytest_configure(config: pytest.Config) -> None:
    """Collect no garbage during test collection: thousands of objects are made, and all stay.

    With pytest-xdist, compile loops before its processes start, which would all do that at once.
    """
    gc.disable()
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        compiled = ("secfc.kernels.compiled", "secfc.psu.compiled")
        imports = [[sys.executable, "-P", "-c", f"import {module}"] for module in compiled]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        for process in [subprocess.Popen(command, **quiet) for command in imports]:
            process.wait()  # without Numba it fails, and there is nothing to compile


def pytest_collection_finish() -> None:
    """Collect garbage from here on, but skip objects made so far."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)  # pytest runs without xdist too
def pytest_xdist_auto_num_workers() -> int:
    """One and a half processes for each core, because tests wait a third of the time for other processes."""
    return (os.cpu_count() or 1) * 3 // 2


@pytest.hookimpl(tryfirst=True)  # before slow tests are deselected
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave only some cases of tests that are marked `some`."""
    sweeps.leave_some(items)


@pytest.fixture(autouse=True)
def forked_processes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fork parties' processes from one that has imported everything, unless the test needs interpreters."""
    marked = request.node.get_closest_marker
    if marked("processes") is None or marked("interpreters") is not None:
        yield
        return
    with pytest.MonkeyPatch.context() as patches:
        warm.patch(patches)
        patches.setattr(
            "secfc.drivers.calls.conversation.PAUSE_SECONDS", 0.02
        )  # before a party is called again
        yield


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[object]:
    """A PostgreSQL server. Tests that need it are skipped, with the name, if none is installed."""
    from support.postgres import Postgres  # noqa: PLC0415 - it needs the driver

    with Postgres() as server:
        yield server


@pytest.fixture
def postgres(postgres_server, monkeypatch):
    """The server, with its credentials and no other setting of a driver in the environment."""
    for name in ("PGHOST", "PGPORT", "PGDATABASE", "PGPASSFILE", "PGSERVICE", "PGSSLMODE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in postgres_server.environment.items():
        monkeypatch.setenv(name, value)
    return postgres_server


@pytest.fixture(autouse=True)
def connections() -> Iterator[list[sqlite3.Connection]]:
    """SQLite connections of the test. At its end they are closed, as a system does when a process ends.

    Python 3.13 warns of others.
    """
    opened, connect = list[sqlite3.Connection](), sqlite3.connect

    def noted(*given: object, **named: object) -> sqlite3.Connection:
        opened.append(connect(*given, **named | {"check_same_thread": False}))
        return opened[-1]

    # Not by the test's own patches: these would then be undone after those of other fixtures.
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(sqlite3, "connect", noted)
        yield opened
    for one in opened:
        one.close()


@pytest.fixture
def closed_connections(connections: list[sqlite3.Connection]) -> Iterator[None]:
    """The test opens SQLite connections, and has closed them all at its end."""
    yield
    assert connections
    for one in connections:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            one.execute("SELECT 1")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """A clock for coordinator and sites that moves only when no thread can continue. No thread is left."""
    from support.clock import patch  # noqa: PLC0415 - it imports the drivers

    before = set(threading.enumerate())
    yield patch(monkeypatch)
    for thread in set(threading.enumerate()) - before:
        thread.join(60)
    assert set(threading.enumerate()) <= before
