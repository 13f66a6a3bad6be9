"""A run with more faults than it tolerates ends with names or the inequality; the simulator draws others."""

import pytest
from simulator.faults import Fault, Scenario, run_faulty
from simulator.oracle import exact
from support.sweeps import sweep

from secfc.errors import TooManyFaultsError

COUNTS = (4, 5, 3, 4, 0, 5, 2, 4)
"""Eight clients, of which five answers are enough with t=1, ell=2; one has no rows."""

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def run(setup, *faults, seed=0):
    return run_faulty(setup, Scenario(seed=seed, faults=faults))


@pytest.fixture
def eight(setup_of):
    """Eight clients, R = 5. max_liars and other parameters may be given."""
    return lambda **more: setup_of(COUNTS, **{"t": 1, "ell": 2} | more)


@pytest.mark.some(1)
@pytest.mark.parametrize("at", sweep((0, 1, 9, 20, 26, 40), keep=(0, 20, 40)))
def test_three_crashes_leave_r_and_a_fourth_stops_with_the_inequality(eight, at):
    setup = eight(disclosure="coded")
    crashes = [Fault(kind="crash", client=j, at=at) for j in (1, 4, 6, 8)]
    three = run(setup, *crashes[:3])
    assert three.error is None
    assert exact(setup, three)
    four = run(setup, *crashes)
    assert isinstance(four.error, TooManyFaultsError)
    assert "n >= R + S: 8 < 5 + 4" in str(four.error)
    assert four.clustering is None


def test_three_liars_where_one_is_tolerated_end_the_run(eight):
    # Any seven answers include two of their lies, but seven answers can detect only one.
    lies = [Fault(kind="rot", client=j, at=0, count=1000) for j in (2, 5, 6)]
    ending = run(eight(max_liars=1), *lies)
    assert isinstance(ending.error, TooManyFaultsError)
    assert "more than max_liars=1 holders sent wrong shares" in str(ending.error)


def test_a_liar_and_too_many_absent_end_the_run_and_are_named(eight):
    faults = [Fault(kind="crash", client=j, at=9) for j in (1, 8)]  # after they shared their rows
    ending = run(eight(max_liars=1), *faults, Fault(kind="rot", client=2, at=0, count=1000))
    assert isinstance(ending.error, TooManyFaultsError)
    assert str(ending.error) == (
        "round 1: too few clients are left to decode and to locate wrong answers; absent: client 1, client 8"
    )
    honest = run(eight(max_liars=1), *faults)
    assert honest.error is None
    assert exact(eight(max_liars=1), honest)
