"""Runs for the tests of both drivers, and clinics that deposit rows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import standstill
from support.clinics import Clinics
from support.organisations import Organisations

from secfc.drivers.setup import Setup
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import make_job


def make(
    counts: tuple[int, ...] = (5, 0, 7),
    *,
    k: int = 3,
    t: int = 1,
    ell: int = 1,
    d: int = 4,
    starts: bool = False,
    precision: int = 16,
    limits: Limits | None = None,
    seed: int | None = 1,
    **parameters: Any,
) -> Setup:
    """A run on three blobs; `starts` gives start labels too.

    Unless `disclosure` is given, the server compares: such a run has fewer messages, and no helpers or
    comparers.
    """
    rng = np.random.default_rng(2)
    rows = [rng.normal(size=(m, d)) + rng.integers(3, size=(m, 1)) * 3 for m in counts]
    m = sum(counts)
    labels = np.split((np.arange(m) % k).astype(np.int32), np.cumsum(counts)[:-1])
    if starts:
        parameters["init"] = "labels"
    parameters.setdefault("disclosure", "coded")
    return Setup(
        job=make_job(
            n=len(counts), k=k, t=t, ell=ell, d=d, bound=64.0, precision=precision, seed=seed, **parameters
        ),
        rows=rows,
        starts=labels if starts else None,
        names=[f"parties[{j}]" for j in range(len(counts))],
        limits=limits or Limits(),
    )


@pytest.fixture(scope="session")
def setup_of() -> Callable[..., Setup]:
    return make


@pytest.fixture
def deadlines_pass_at_a_standstill(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deadlines are not in seconds: they pass when no party can continue."""
    standstill.patch(monkeypatch)


@pytest.fixture
def clinics(tmp_path):
    """Members of a committee, and clinics that they have admitted."""
    made = Clinics(tmp_path)
    made.admit()
    return made


@pytest.fixture
def depositors(clinics):
    """Clinics that have deposited their rows."""
    clinics.deposit()
    return clinics


@pytest.fixture
def closed_clinics(depositors):
    """Clinics whose deposits all members have closed."""
    depositors.close()
    return depositors


@pytest.fixture
def organisations(tmp_path: Path) -> Organisations:
    """North has 12 rows, south 9 and west 5; all have signed."""
    made = Organisations(tmp_path)
    made.replace(made.job, "k = 2", 'k = 2\ndisclosure = "coded"')
    made.sign()
    return made
