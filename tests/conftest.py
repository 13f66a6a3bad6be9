"""What tests of several folders share."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent.parent))
"""benchmarks/ is not installed. The folder comes last, so that an installed secfc is what is tested."""


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[object]:
    """A PostgreSQL server; tests that ask for it skip by name where none is installed."""
    from support.postgres import Postgres  # noqa: PLC0415 - it needs the driver

    with Postgres() as server:
        yield server


@pytest.fixture
def postgres(postgres_server, monkeypatch):
    """The server, with its credentials in the environment and nothing else that a driver reads."""
    for name in ("PGHOST", "PGPORT", "PGDATABASE", "PGPASSFILE", "PGSERVICE", "PGSSLMODE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in postgres_server.environment.items():
        monkeypatch.setenv(name, value)
    return postgres_server
