"""Runs for the tests of both drivers, and clinics that deposit rows."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.clinics import Clinics
from support.organisations import Organisations
from support.setups import make

from secfc.drivers.setup import Setup


@pytest.fixture(scope="session")
def setup_of() -> Callable[..., Setup]:
    return make


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
