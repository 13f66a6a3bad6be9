"""Liars through unreadable shares, and one more than a job tolerates."""

import numpy as np
import pytest
from simulator.cases import Case, draw_beyond, run
from simulator.faults import Scenario
from simulator.lying import Lie
from simulator.oracle import broken_promises

from secfc.drivers.setup import Setup
from secfc.protocol.job.cases import Coded
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import make_job


def lie(client, what, how, **given):
    return Lie(client=client, what=what, how=how, **given)


def kept(counts, *, liars, lies, faults=(), part_rows=256, seed, **given):
    """A run of clients with these numbers of rows."""
    n, values = len(counts), np.random.default_rng(seed)
    job = make_job(
        **{"n": n, "d": 2, "ell": 1, "bound": 8.0, "disclosure": "coded"} | given,
        seed=seed,
    )
    labels = np.split((np.arange(sum(counts)) % job.k).astype(np.int32), np.cumsum(counts)[:-1])
    return Case(
        setup=Setup(
            job=job,
            rows=[values.normal(size=(m, 2)).clip(-4, 4) for m in counts],
            starts=labels if job.method.init == "labels" else None,
            names=[f"client {j}" for j in range(1, n + 1)],
            limits=Limits(),
        ),
        scenario=Scenario(seed=seed, faults=faults, lies=lies),
        part_rows=part_rows,
        liars=frozenset(liars),
        unreliable=frozenset(fault.client for fault in faults),
    )


@pytest.mark.parametrize("disclosure", ["coded", "labels"])
def test_two_liars_of_whom_one_sends_shares_that_cannot_be_read_change_nothing(disclosure):
    """One sends shares that two clients cannot read, both lie later. R + 2A = 7, and two are set aside."""
    helpers = {"comparers": (10, 11, 12)} if disclosure == "labels" else {}
    answer = "hidden" if helpers else "answer"
    drawn = kept(
        [1, 1, 1, 1, 1, 2, 2, 1, 1],
        liars={2, 7},
        lies=(
            lie(7, "piece", "inside", count=2, towards=(3, 4)),
            lie(2, answer, "residue"),
            lie(7, answer, "residue"),
        ),
        seed=1,
        **{"k": 2, "t": 1, "precision": 12, "max_liars": 2, "max_iter": 2, "init": "labels"},
        disclosure=disclosure,
        **helpers,
    )
    ending = run(drawn)
    assert ending.error is None
    assert broken_promises(drawn, ending) == []
    assert ending.faults.unread == ((7, 3), (7, 4))


@pytest.mark.parametrize("comparers", [(3, 11, 12), (11, 3, 12), (11, 12, 3)])
def test_a_share_that_a_client_which_compares_cannot_read_ends_the_run_and_accuses_nobody(comparers):
    drawn = kept(
        [1, 1, 1, 1, 1, 1, 2, 2, 2, 1],
        liars={7},
        lies=(lie(7, "piece", "inside", count=1, towards=(3,)),),
        seed=1,
        **{"k": 2, "t": 1, "precision": 12, "max_liars": 1, "max_iter": 2, "init": "labels"},
        **{"disclosure": "labels", "comparers": comparers},
    )
    ending = run(drawn)
    assert str(ending.error).startswith(
        "client 3, a comparer, may be lying, and no other party can take its place; "
    )
    assert ending.error.clients == ()
    assert ending.faults.unread == ((7, 3),)
    assert broken_promises(drawn, ending) == []


@pytest.mark.parametrize("seed", range(12))
def test_one_liar_too_many_gets_nobody_honest_blamed_where_a_spare_client_answers(seed):
    case = draw_beyond(seed)
    job, ending = case.setup.job, run(case)
    assert len(case.liars) == job.max_liars + 1
    assert (ending.error is None) == (ending.clustering is not None)
    # With n = R + 2A the liars and R - 1 others agree; with "labels" not all who could answer are waited for.
    if isinstance(job.disclosure, Coded) and job.n > job.threshold + 2 * job.max_liars:
        assert set(ending.faults.liars) <= case.liars


def test_shares_that_evaluators_cannot_read_end_a_run_without_spare_clients_and_name_no_honest_one():
    """The server waits for those who compare, and they wait in vain."""
    drawn = kept(
        [1, 1, 1, 1, 1, 1, 1],
        liars={5, 6},
        lies=(
            lie(5, "piece", "cut", count=1000, towards=(1, 3)),
            lie(6, "share", "garbage", count=1000, towards=(8, 9)),
        ),
        seed=1,
        **{"k": 1, "t": 1, "precision": 12, "max_liars": 2, "max_iter": 2, "init": "random"},
        **{"disclosure": "labels", "comparers": (10, 9, 8)},
    )
    ending = run(drawn)
    assert str(ending.error).startswith(
        "too few clients are left whose shares can be read; without: client 6"
    )
    assert broken_promises(drawn, ending) == []
