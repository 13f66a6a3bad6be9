"""A run with more faults than it tolerates ends with names; the simulator draws others."""

import pytest
from simulator.faults import Fault, Scenario, run_faulty
from simulator.oracle import exact

from secfc.errors import TooManyFaultsError

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_a_liar_and_too_many_absent_end_the_run_and_are_named(setup_of):
    setup = setup_of((4, 5, 3, 4, 0, 5, 2, 4), t=1, ell=2, max_liars=1)  # five answers are enough
    crashes = tuple(Fault(kind="crash", client=j, at=9) for j in (1, 8))  # after they shared their rows
    lies = Fault(kind="rot", client=2, at=0, count=1000)
    ending = run_faulty(setup, Scenario(seed=0, faults=(*crashes, lies)))
    assert isinstance(ending.error, TooManyFaultsError)
    assert str(ending.error) == (
        "round 1: too few clients are left to decode and to locate wrong answers; absent: client 1, client 8"
    )
    honest = run_faulty(setup, Scenario(seed=0, faults=crashes))
    assert honest.error is None
    assert exact(setup, honest)
