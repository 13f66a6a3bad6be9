"""Runs of a few rows."""

from functools import partial

import pytest
from support.setups import make


@pytest.fixture(scope="session")
def setup_of():
    return partial(make, d=3, precision=32, salt=bytes(16))
