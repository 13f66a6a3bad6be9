"""A run with more faults than it tolerates ends with names or the inequality; the simulator draws others."""

import pytest
from simulator.faults import Fault, Scenario, run_faulty
from simulator.lying import Lie
from simulator.oracle import exact
from support.sweeps import crossed, sweep

from secfc.errors import TooManyFaultsError

COUNTS = (4, 5, 3, 4, 0, 5, 2, 4)
"""Eight clients, of which five answers are enough with t=1, ell=2; one has no rows."""

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def run(setup, *faults, seed=0):
    return run_faulty(setup, Scenario(seed=seed, faults=faults))


@pytest.fixture
def eight(setup_of, part_rows):
    """Eight clients, R = 5, in parts of three rows. max_liars and other parameters may be given."""
    part_rows(3)
    return lambda **more: setup_of(COUNTS, **{"t": 1, "ell": 2} | more)


UNUSABLE = ("garbage", "cut", "residue")
"""Answers that cannot be opened, have another size, or are no residues."""


@pytest.mark.some(4)
@pytest.mark.parametrize(("how", "comparers"), crossed(UNUSABLE, [(4, 3, 5), (6, 7, 8)], together=1), ids=str)
@pytest.mark.parametrize("at", [0, 1, 3])
def test_who_sends_an_answer_that_cannot_be_used_is_named_where_all_are_needed(
    setup_of, part_rows, how, comparers, at
):
    part_rows(3)
    setup = setup_of(COUNTS[:5], t=1, ell=2, disclosure="labels", comparers=comparers)
    ending = run_faulty(setup, Scenario(lies=(Lie(client=2, what="MaskedAnswer", how=how, at=at),)))
    assert isinstance(ending.error, TooManyFaultsError)
    assert str(ending.error) == "too few answers are left: those of clients 2 cannot be used"
    assert ending.error.clients == (2,)
    assert (ending.clustering, ending.labels) == (None, {})


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
    lies = [Fault(kind="lie", client=j, at=0, count=1000) for j in (2, 5, 6)]
    ending = run(eight(max_liars=1), *lies)
    assert isinstance(ending.error, TooManyFaultsError)
    assert "more than max_liars=1 clients lie" in str(ending.error)


def test_a_liar_and_too_many_absent_name_the_inequality(eight):
    faults = [Fault(kind="crash", client=j, at=17) for j in (1, 8)]
    ending = run(eight(max_liars=1), *faults, Fault(kind="lie", client=2, at=0, count=1000))
    assert isinstance(ending.error, TooManyFaultsError)
    assert "n >= R + S + 2A must hold: 8 < 5 + 2 + 2 * 1" in str(ending.error)
    honest = run(eight(max_liars=1), *faults)
    assert honest.error is None
    assert exact(eight(max_liars=1), honest)
    three = run(eight(max_liars=1), *faults, Fault(kind="crash", client=4, at=17))
    assert isinstance(three.error, TooManyFaultsError)
    assert "n >= R + S + A: 8 < 5 + 3 + 1" in str(three.error)
