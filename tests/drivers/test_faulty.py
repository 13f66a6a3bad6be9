"""Runs on a faulty network give the exact result or a clear stop; never a wrong result, never none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulator.faults import FAULTS, Fault, Scenario, run_faulty
from simulator.lying import Lie
from support.sweeps import crossed, sweep, tries

from plaintext_baselines import ExactLloyd
from secfc.errors import SecFCError, TooManyFaultsError

COUNTS = (4, 5, 3, 4, 0, 5, 2, 4)
"""Eight clients, of which five answers are enough with t=1, ell=2; one has no rows."""

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

searches = tries(0.6)


def assert_exact(setup, ending):
    """Labels and iterations equal those of exact Lloyd from the same start on the rows that took part."""
    parties = [
        rows if count else rows[:0] for rows, count in zip(setup.rows, ending.layout.counts, strict=True)
    ]
    ends = np.cumsum(ending.layout.counts)[:-1]
    exact = ExactLloyd(
        setup.job.k,
        init=np.split(ending.clustering.start, ends),
        precision=setup.job.precision,
        bound=setup.job.bound,
        max_iter=setup.job.method.max_iter,
    ).fit(parties)
    np.testing.assert_array_equal(ending.clustering.labels, np.concatenate(exact.labels_))
    assert ending.clustering.n_iter == exact.n_iter_
    for client, labels in ending.labels.items():
        np.testing.assert_array_equal(labels, exact.labels_[client - 1])


def run(setup, *faults, seed=0):
    return run_faulty(setup, Scenario(seed=seed, faults=faults))


def left(setup, ending):
    return {j for j, count in enumerate(ending.layout.counts, 1) if count != len(setup.rows[j - 1])}


@pytest.fixture
def eight(setup_of, part_rows):
    """Eight clients, R = 5, in parts of three rows. max_liars and other parameters may be given."""
    part_rows(3)
    return lambda **more: setup_of(COUNTS, **{"t": 1, "ell": 2} | more)


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("seed", "disclosure"), crossed(sweep(range(5), keep=(0, 1)), ["coded", "labels"], together=1)
)
def test_without_faults_the_order_of_delivery_changes_nothing(eight, seed, disclosure):
    setup = eight(disclosure=disclosure)
    ending = run(setup, seed=seed)
    assert ending.error is None
    assert ending.refused == ()
    assert_exact(setup, ending)
    assert sorted(ending.labels) == list(range(1, 9))


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("at", "more"),
    crossed(
        sweep(range(30), keep=range(0, 30, 6)),
        [{}, {"disclosure": "labels", "comparers": (6, 3, 8)}],
        together=1,
    ),
    ids=str,
)
def test_a_client_that_crashes_anywhere_is_in_with_all_its_rows_or_with_none(eight, at, more):
    setup = eight(**more)
    ending = run(setup, Fault(kind="crash", client=2, at=at), seed=at)
    assert ending.error is None
    assert_exact(setup, ending)
    assert left(setup, ending) in ({2}, set())
    assert left(setup, ending) == set(ending.faults.left_out)


@pytest.mark.parametrize(
    ("client", "at"), crossed((6, 3, 8), sweep(range(30), keep=range(0, 30, 5)), together=1)
)
def test_a_comparer_that_crashes_anywhere_ends_the_run_and_is_named(eight, client, at):
    setup = eight(disclosure="labels", comparers=(6, 3, 8))
    ending = run(setup, Fault(kind="crash", client=client, at=at), seed=at)
    assert isinstance(ending.error, TooManyFaultsError)
    assert str(ending.error).startswith(f"client {client}, a comparer, is absent")
    assert ending.error.clients == (client,)
    assert (ending.clustering, ending.labels) == (None, {})


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
@pytest.mark.parametrize("how", UNUSABLE)
def test_others_answers_are_used_where_they_are_enough(eight, how):
    setup = eight(disclosure="labels", comparers=(6, 3, 8))
    lies = tuple(Lie(client=j, what="MaskedAnswer", how=how) for j in (1, 2, 4))
    ending = run_faulty(setup, Scenario(lies=lies))
    assert ending.error is None
    assert_exact(setup, ending)


@pytest.mark.some(1)
@pytest.mark.parametrize("at", sweep((0, 1, 9, 20, 26, 40), keep=(0, 20, 40)))
def test_three_crashes_leave_r_and_a_fourth_stops_with_the_inequality(eight, at):
    setup = eight(disclosure="coded")
    crashes = [Fault(kind="crash", client=j, at=at) for j in (1, 4, 6, 8)]
    three = run(setup, *crashes[:3])
    assert three.error is None
    assert_exact(setup, three)
    four = run(setup, *crashes)
    assert isinstance(four.error, TooManyFaultsError)
    assert "n >= R + S: 8 < 5 + 4" in str(four.error)
    assert four.clustering is None


def test_the_rows_of_a_client_that_dies_after_sharing_stay_in(eight):
    setup = eight()
    shares = 7 * 2 + 2  # except Hello: two parts of shares for each other client, and its Readys
    ending = run(setup, Fault(kind="crash", client=1, at=1 + shares))
    assert ending.error is None
    assert 1 not in ending.labels
    assert left(setup, ending) == set()
    assert_exact(setup, ending)


def test_a_client_that_missed_a_round_comes_back(eight):
    setup = eight(max_liars=1)
    missed = [Fault(kind="deaf", client=j, at=20, count=6) for j in (3, 7)]
    ending = run(setup, *missed)
    assert ending.error is None
    assert ending.faults.absent == ()
    assert_exact(setup, ending)


@pytest.mark.some(1)
@pytest.mark.parametrize("liar", sweep(range(1, 9), keep=(1, 5, 8)))
def test_a_liar_is_named_and_heard_no_more(eight, liar):
    setup = eight(max_liars=1)
    ending = run(setup, Fault(kind="lie", client=liar, at=17, count=1000), seed=liar)
    assert ending.error is None
    assert_exact(setup, ending)
    assert ending.faults.liars == (liar,)
    assert liar in ending.labels


def test_one_wrong_residue_is_enough_to_be_found(eight):
    setup = eight(max_liars=1, max_iter=20)
    for at in range(20, 60, 8):
        ending = run(setup, Fault(kind="lie", client=3, at=at), seed=at)
        assert ending.error is None
        assert_exact(setup, ending)


def test_without_a_promise_nothing_is_checked_and_r_answers_are_waited_for(eight, monkeypatch):
    setup = eight()
    ending = run(setup, Fault(kind="lie", client=1, at=17, count=1000))
    assert ending.faults.liars == ()


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
    assert_exact(eight(max_liars=1), honest)
    three = run(eight(max_liars=1), *faults, Fault(kind="crash", client=4, at=17))
    assert isinstance(three.error, TooManyFaultsError)
    assert "n >= R + S + A: 8 < 5 + 3 + 1" in str(three.error)


def test_a_scenario_replays_delivery_by_delivery(eight):
    faults = (Fault(kind="delay", client=1, at=5, count=9), Fault(kind="crash", client=2, at=8))
    first, second = (run(eight(), *faults, seed=7) for _ in range(2))
    assert first.deliveries == second.deliveries
    assert first.refused == second.refused
    np.testing.assert_array_equal(first.clustering.labels, second.clustering.labels)


def fault(kind, client, at=0, count=1):
    return Fault(kind=kind, client=client, at=at, count=count)


SHARED = 9
"""Messages that a client with one part of rows sends before the check: Hello, shares, Ready."""
ECHOED = SHARED + 7
"""Messages that it sends before its report."""

# Scenarios that once failed or are likely to: faults, who is left out, who lied about shares, who lied later
KEPT = {
    "a dealer with one victim": ([fault("deal", 2, at=4)], {2}, {2}, set()),
    "a dealer with two victims, one of them absent": (
        [fault("deal", 2, at=3, count=2), fault("crash", 4, at=SHARED)],
        {2, 4},
        {2},
        set(),
    ),
    "a dealer that all others dispute": ([fault("deal", 6, at=0, count=7)], {6}, {6}, set()),
    # Its LeaveOut was sent twice.
    "a dealer that is gone when its victim has shown": (
        [fault("deal", 1, at=3), fault("crash", 1, at=SHARED + 1)],
        {1},
        {1},
        set(),
    ),
    "a memory that changes, of own shares": ([fault("rot", 3, at=0)], {3}, {3}, set()),
    "a memory that changes, of another's": ([fault("rot", 3, at=3)], {3}, {3}, set()),
    "a memory that changes and all dealers disputed": ([fault("rot", 3, at=0, count=90)], {3}, {3}, set()),
    "a memory that changes where no rows are": ([fault("rot", 5, at=0)], set(), set(), set()),
    "a lie in the first answer": ([fault("lie", 4, at=SHARED, count=1000)], set(), set(), {4}),
    "a report that never comes": ([fault("mute", 7, at=ECHOED)], {7}, set(), set()),
    "seeds that are told to nobody": ([fault("mute", 7, at=SHARED, count=7)], set(), set(), set()),
    "a challenge that is not heard": ([fault("deaf", 7, at=7, count=1000)], {7}, set(), set()),
    "a share that is not sent": ([fault("mute", 1, at=3)], {1}, set(), set()),
    "a share that cannot be read": ([fault("corrupt", 1, at=3)], set(), set(), set()),
    "shares that overtake the plan": (
        [fault("delay", j, at=0, count=60) for j in (1, 2)] + [fault("duplicate", 3, at=2)],
        set(),
        set(),
        set(),
    ),
}


@pytest.mark.some(4)
@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize("seed", sweep(range(3), keep=(0,)))
def test_scenarios_that_are_kept(setup_of, name, seed):
    faults, gone, cheats, liars = KEPT[name]
    setup = setup_of(COUNTS, t=1, ell=2, max_liars=1, seed=seed, max_iter=6)
    ending = run(setup, *faults, seed=seed)
    assert ending.error is None
    assert_exact(setup, ending)
    assert set(ending.faults.left_out) == gone
    assert set(ending.faults.cheats) == cheats
    assert set(ending.faults.liars) == liars


@pytest.mark.parametrize("withheld", sweep((1, 2, 3, 5, 7), keep=(1, 3, 7)))
def test_who_withholds_shares_is_left_out_and_its_recipients_are_not(setup_of, withheld):
    setup = setup_of(COUNTS, t=1, ell=2, max_liars=1, max_iter=6)
    ending = run(setup, fault("mute", 1, at=1, count=withheld))
    assert ending.error is None
    assert_exact(setup, ending)
    assert ending.faults.left_out == (1,)
    assert ending.faults.cheats == ()
    assert sorted(ending.labels) == list(range(2, 9))


LIES = ("lie", "deal", "rot")
"""Actions of clients that max_liars limits."""


@st.composite
def within_the_bound(draw):
    """n, t, ell, A and faults with n >= R + S + 2A."""
    t, ell = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    liars, vanished = draw(st.integers(0, 2)), draw(st.integers(0, 2))
    n = 2 * (t + ell) - 1 + vanished + 2 * liars + draw(st.integers(0, 1))
    order = draw(st.permutations(range(1, n + 1)))
    ats = st.integers(0, 90)
    faults = [Fault(kind="crash", client=j, at=draw(ats)) for j in order[:vanished]]
    faults += [
        Fault(
            kind=draw(st.sampled_from(LIES)),
            client=j,
            at=draw(ats),
            count=draw(st.sampled_from([1, 3, 1000])),
        )
        for j in order[vanished : vanished + draw(st.integers(0, liars))]
    ]
    faults += [
        Fault(kind="duplicate", client=draw(st.integers(1, n)), at=draw(ats))
        for _ in range(draw(st.integers(0, 3)))
    ]
    return n, t, ell, liars, faults


@pytest.mark.some(1)
@pytest.mark.parametrize("seed", range(3))
def test_a_share_that_is_repeated_costs_its_sender_nothing(setup_of, part_rows, seed):
    part_rows(1)
    counts = tuple((3, 5, 4, 2, 6)[j % 5] for j in range(8))
    setup = setup_of(counts, t=1, ell=2, max_liars=1, seed=seed, max_iter=6)
    ending = run(setup, fault("lie", 1, at=0, count=1000), fault("duplicate", 2, at=2), seed=seed)
    assert ending.error is None
    assert_exact(setup, ending)
    assert ending.faults.unread == ()
    assert set(ending.faults.liars) | set(ending.faults.cheats) <= {1}


@searches
@given(
    case=within_the_bound(),
    seed=st.integers(0, 10**6),
    starts=st.booleans(),
    rows=st.integers(1, 9),
)
def test_within_the_bound_every_run_ends_exact(setup_of, part_rows, case, seed, starts, rows):
    n, t, ell, liars, faults = case
    part_rows(rows)
    counts = tuple((3, 5, 4, 2, 6)[j % 5] for j in range(n))
    setup = setup_of(counts, t=t, ell=ell, max_liars=liars, seed=seed, max_iter=6, starts=starts)
    ending = run_faulty(setup, Scenario(seed=seed, faults=tuple(faults)))
    if starts and ending.error is not None:
        # The clients that are left out may have all rows of a start cluster.
        assert "init: " in str(ending.error)
        return
    assert ending.error is None, ending.error
    assert_exact(setup, ending)
    guilty = {fault.client for fault in faults if fault.kind in LIES}
    assert set(ending.faults.liars) | set(ending.faults.cheats) <= guilty
    assert left(setup, ending) <= {fault.client for fault in faults if fault.kind != "duplicate"}


LOSSES = st.lists(
    st.builds(
        Fault,
        kind=st.sampled_from([kind for kind in FAULTS if kind not in {*LIES, "corrupt"}]),
        client=st.integers(1, 8),
        at=st.integers(0, 60),
        count=st.integers(1, 20),
    ),
    max_size=8,
)


def assert_exact_or_none(setup, ending):
    assert (ending.error is None) == (ending.clustering is not None)
    if ending.error is None:
        assert_exact(setup, ending)
    else:
        assert isinstance(ending.error, SecFCError)
        assert "waits for nobody" not in str(ending.error)


@searches
@given(
    faults=LOSSES,
    liar=st.integers(1, 8),
    lies=st.sampled_from([*LIES, "corrupt"]),
    at=st.integers(0, 60),
    seed=st.integers(0, 10**6),
)
def test_whatever_goes_wrong_the_result_is_exact_or_there_is_none(eight, faults, liar, lies, at, seed):
    setup = eight(max_liars=1, seed=seed, max_iter=6)
    wrong = Fault(kind=lies, client=liar, at=at)
    ending = run_faulty(setup, Scenario(seed=seed, faults=(*faults, wrong)))
    assert_exact_or_none(setup, ending)
