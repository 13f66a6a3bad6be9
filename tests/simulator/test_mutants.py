"""The table of mistakes fits the source. `python tests/simulator/mutants.py` shows that they are found."""

import pytest
from simulator.mutants import MUTANTS


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_each_mistake_can_still_be_made(mutant):
    before, after = mutant.path.read_text(), mutant.source()
    assert after != before
    compile(after, mutant.path, "exec")
