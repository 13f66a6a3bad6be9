"""Runs with a process per party equal those in one process."""

from dataclasses import replace

import pytest
from support.outcomes import assert_equal

from secfc.drivers import setup as setups
from secfc.drivers.in_process import run_in_process
from secfc.drivers.multiprocess import run_multiprocess
from secfc.operations.decoding import distances

pytestmark = pytest.mark.processes


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "start",
    [
        {"init": "random"},
        {"init": "separation", "disclosure": "coded"},
        {"starts": True},
        {"n_init": 3},
        {"disclosure": "labels", "init": "k-means++", "n_init": 2},
    ],
)
def test_outcome_and_messages_equal_those_of_the_in_process_driver(setup_of, start):
    setup = setup_of((5, 0, 7), **start)
    assert_equal(run_multiprocess(setup), run_in_process(setup))


@pytest.mark.some(1)
@pytest.mark.parametrize("rows", [1, 3])
def test_outcome_and_messages_in_many_parts_are_equal(setup_of, sabotage, monkeypatch, rows):
    setup = setup_of((5, 0, 7, 4))
    whole = run_in_process(setup)
    monkeypatch.setattr(distances, "rows_at_once", lambda k, primes: rows)
    for party in range(1, 5):
        sabotage(
            party,
            "from secfc.operations.decoding import distances\n"
            f"distances.rows_at_once = lambda k, primes: {rows}",
        )
    outcome = run_multiprocess(setup)
    assert_equal(outcome, run_in_process(setup))
    assert len(outcome.costs.messages) > len(whole.costs.messages)


def test_progress_is_that_of_the_in_process_driver(setup_of):
    one, other = [], []
    run_multiprocess(setup_of(), one.append)
    run_in_process(setup_of(), other.append)
    # How much was sent when the server took a message depends on timing.
    alike = [[replace(standing, sent_bytes=0) for standing in seen] for seen in (one, other)]
    assert alike[0] == alike[1]


@pytest.mark.parametrize(("threads", "of_a_party"), [(None, 2), (3, 3)])
def test_cores_are_divided_by_the_processes_unless_threads_are_given(
    setup_of, monkeypatch, sabotage, threads, of_a_party
):
    setup = replace(setup_of((5, 4, 7)), threads=threads)
    there = 2 * (setup.job.parties + 1)
    monkeypatch.setattr(setups, "cores", lambda processes=1: there // processes)
    assert setup.threads_of(setup.job.parties + 1).count == of_a_party
    for party in range(1, setup.job.n + 1):
        sabotage(
            party,
            f"""
            from secfc.protocol.client import Client

            def made(self, *, kernels, before=Client.__init__, **given):
                before(self, kernels=kernels, **given)
                assert kernels(0).threads.count == {of_a_party}

            Client.__init__ = made
            """,
        )
    assert_equal(run_multiprocess(setup), run_in_process(setup))
