"""Three organisations with their files in one folder."""

from pathlib import Path

import pytest
from support.organisations import Organisations


@pytest.fixture
def organisations(tmp_path: Path) -> Organisations:
    return Organisations(tmp_path)
