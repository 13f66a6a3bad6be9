"""Runs on a union of IDs and a faulty network, some with tolerated liars: exact, or a stop with names."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulator.faults import FAULTS, Fault, Scenario, run_faulty
from support.sweeps import sweep, tries
from support.union import KEY

from plaintext_baselines import ExactLloyd
from secfc.drivers.in_process import run_in_process
from secfc.drivers.multiprocess import run_multiprocess
from secfc.errors import SecFCError, TooManyFaultsError
from secfc.tables.ids import row_ids

COUNTS = (3, 2, 1, 3, 0, 2, 1, 2)
"""Eight clients, of which five answers are enough with t=1, ell=2; one has no rows. Parts have four rows."""

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

searches = tries(0.3)


@pytest.fixture
def eight(setup_of, part_rows):
    part_rows(4)

    def make(**more):
        given = {"t": 1, "ell": 2, "max_liars": 1, "max_iter": 4, "ids_cap": 20}
        setup = setup_of(COUNTS, **given | more)
        held = [
            row_ids([f"{j}-{row}" for row in range(m)], key=KEY, name=f"party {j}")
            for j, m in enumerate(COUNTS)
        ]
        return setup.__class__(**vars(setup) | {"ids": held, "salt": bytes(16)})

    return make


@pytest.fixture
def assert_exact(eight):
    """Only hashes number the rows, so a run without faults gives the numbering."""
    setup = eight(max_iter=1)
    at = run_in_process(setup).union_rows
    pooled = np.empty((sum(COUNTS), setup.job.d))
    for own, rows in zip(at, setup.rows, strict=True):
        pooled[own] = rows

    def check(setup, ending):
        job = setup.job
        exact = ExactLloyd(
            job.k,
            init=[ending.clustering.start],
            precision=job.precision,
            bound=job.bound,
            max_iter=job.method.max_iter,
        ).fit([pooled])
        np.testing.assert_array_equal(ending.clustering.labels, exact.labels_[0])
        for client, labels in ending.labels.items():
            np.testing.assert_array_equal(labels, exact.labels_[0][at[client - 1]])

    return check


def run(setup, *faults, seed=0):
    return run_faulty(setup, Scenario(seed=seed, faults=faults))


@pytest.mark.some(1)
@pytest.mark.parametrize("seed", sweep(range(4), keep=(0, 1)))
def test_without_faults_the_order_of_delivery_changes_nothing(eight, assert_exact, seed):
    setup = eight()
    ending = run(setup, seed=seed)
    assert ending.error is None
    assert ending.refused == ()
    assert_exact(setup, ending)
    assert sorted(ending.labels) == list(range(1, 9))


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("dealer", "victims"),
    sweep(product(range(1, 9), (1, 6)), keep=[(1, 1), (5, 1), (5, 6), (8, 6)]),  # client 5 has no rows
)
def test_a_bad_dealer_is_named_with_or_without_rows_of_its_own(eight, dealer, victims):
    ending = run(eight(), Fault(kind="deal", client=dealer, at=dealer, count=victims), seed=dealer)
    assert isinstance(ending.error, TooManyFaultsError)
    assert f"lied about shares: client {dealer}: " in str(ending.error)
    assert ending.faults.cheats == (dealer,)
    assert ending.clustering is None


@pytest.mark.some(1)
@pytest.mark.parametrize("client", sweep(range(1, 9), keep=(1, 5, 8)))
def test_a_memory_that_changes_is_a_lie_of_the_iteration(eight, assert_exact, client):
    setup = eight()
    ending = run(setup, Fault(kind="rot", client=client, at=0, count=90), seed=client)
    assert ending.error is None
    assert_exact(setup, ending)
    assert set(ending.faults.liars) <= {client}
    assert ending.faults.cheats == ()


@pytest.mark.some(1)
@pytest.mark.parametrize("at", sweep(range(0, 130, 13), keep=range(0, 130, 39)))
def test_a_client_that_crashes_anywhere_stops_the_run_or_keeps_its_rows_in(eight, assert_exact, at):
    setup = eight()
    ending = run(setup, Fault(kind="crash", client=2, at=at), seed=at)
    if ending.error is None:
        assert_exact(setup, ending)
        assert set(ending.faults.absent) <= {2}
    else:
        assert isinstance(ending.error, TooManyFaultsError)
        assert "client 2 is absent before all rows were shared" in str(ending.error)


@searches
@given(
    faults=st.lists(
        st.builds(
            Fault,
            kind=st.sampled_from([kind for kind in FAULTS if kind not in {"lie", "deal", "rot", "corrupt"}]),
            client=st.integers(1, 8),
            at=st.integers(0, 160),
            count=st.integers(1, 20),
        ),
        max_size=3,
    ),
    lies=st.sampled_from(["lie", "deal", "rot", "corrupt"]),
    liar=st.integers(1, 8),
    at=st.integers(0, 160),
    seed=st.integers(0, 10**6),
)
def test_whatever_goes_wrong_the_result_is_exact_or_there_is_none(
    eight, assert_exact, faults, lies, liar, at, seed
):
    setup = eight(seed=seed)
    ending = run(setup, *faults, Fault(kind=lies, client=liar, at=at), seed=seed)
    assert (ending.error is None) == (ending.clustering is not None)
    assert set(ending.faults.cheats) <= {liar}
    if ending.error is None:
        assert_exact(setup, ending)
        assert set(ending.faults.liars) <= {liar}
    else:
        assert isinstance(ending.error, SecFCError)
        assert "waits for nobody" not in str(ending.error)


@pytest.mark.processes
def test_a_process_per_party_checks_the_same(eight, part_rows):
    setup = eight()
    part_rows(100)  # other processes do not know smaller parts
    ours, here = run_multiprocess(setup), run_in_process(setup)
    for one, other in zip(ours.labels, here.labels, strict=True):
        np.testing.assert_array_equal(one, other)
    # All rows are one part. Eight clients are challenged and report, and each tells seven others.
    kinds = Counter(one.kind for one in ours.costs.messages)
    assert (kinds["Challenge"], kinds["Echo"], kinds["Report"]) == (8, 56, 8)
    assert not kinds["Dispute"] + kinds["Evidence"]
