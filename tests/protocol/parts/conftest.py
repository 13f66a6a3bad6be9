"""Runs with parts of two rows."""

import pytest
from support.parts import MANY


@pytest.fixture
def by_twos(part_rows):
    """Parts of two rows: five of shares, fourteen of an answer."""
    part_rows(2)


@pytest.fixture
def many(wire, by_twos):
    """Make runs of MANY with parts of two rows."""
    return lambda **more: wire(MANY, **{"k": 4, "seed": 3} | more)
