"""Parties that are killed at any moment continue from their logs: same bytes, same labels.

`Processes` compares every repeated piece of every stream, and every repeated answer, with the original.
"""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulator.kills import KILLS
from support.restarting import KINDS, Restarting, assert_same, forget_last
from support.sweeps import sweep, tries

from secfc.agreement.logs import run_log
from secfc.agreement.logs.run_log import InUseError, RunLog
from secfc.drivers.in_process import run_in_process
from secfc.errors import StorageError, TooManyFaultsError
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import changed_job
from secfc.sharing import codewords

pytestmark = pytest.mark.usefixtures("clock")


# test_masks.py compares runs of these and other kinds, whose parties it kills.
@pytest.mark.some(2)
@pytest.mark.parametrize("kind", sweep(KINDS, keep=("random", "labels", "opened labels")))
def test_a_run_with_logs_is_that_without(setup_of, tmp_path, kind):
    setup = setup_of(**KINDS[kind])
    run = Restarting(setup, tmp_path)
    assert run.run() == 1
    assert_same(run.outcome(), run_in_process(setup), noise=setup.job.opened.noise is not None)


@pytest.mark.some(1)
@pytest.mark.parametrize("kind", ["opened labels", "helpers", "random"])
def test_killed_around_calls_public_choices_without_a_seed_stay(setup_of, tmp_path, kind):
    setup = setup_of(**KINDS[kind] | {"seed": None})
    run = Restarting(setup, tmp_path, {at: KILLS[at // 7 % len(KILLS)] for at in range(1, 400, 7)})
    assert run.run() > 1
    found = run.outcome()
    counts = [len(part) for part in setup.rows]
    again = replace(
        setup,
        job=changed_job(setup.job, init="labels", n_init=1),
        starts=np.split(found.start, np.cumsum(counts)[:-1]),
    )
    whole = run_in_process(again)
    for mine, theirs in zip(found.labels, whole.labels, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert found.n_iter == whole.n_iter


@given(data=st.data())
@tries(0.3)
def test_killed_at_any_calls_parties_send_the_same_bytes(setup_of, tmp_path_factory, data):
    setup = setup_of(**KINDS[data.draw(st.sampled_from(sorted(KINDS)))])
    plan = data.draw(st.dictionaries(st.integers(1, 150), st.sampled_from(KILLS), max_size=6))
    run = Restarting(setup, tmp_path_factory.mktemp("run"), plan)
    run.run()
    assert_same(run.outcome(), run_in_process(setup), noise=setup.job.opened.noise is not None)


@pytest.fixture
def stopped(setup_of, tmp_path):
    """A run whose coordinator and client 2 were killed at a call of the iterations."""

    def of(setup):
        run = Restarting(setup, tmp_path, {16: "coordinator after"})
        assert run.start().interrupted
        for name in setup.names:
            run.kill(name)
        return run

    return of


def assert_lost(run, text):
    """Run on: a party is lost for this reason, then or in the next round too few are left."""
    with pytest.raises(TooManyFaultsError):
        run.run()
    assert any(re.search(text, str(error)) for error in run.coordinator.lost.values())


CHANGES = {
    "rows": lambda setup: setup.rows[1].__setitem__((0, 0), 1.5),
    "a row less": lambda setup: setup.rows.__setitem__(1, setup.rows[1][:-1]),
    "labels": lambda setup: setup.starts[1].__setitem__(0, 1),
    "limits": lambda setup: object.__setattr__(setup, "limits", Limits(smallest_set=2)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_begun_with_anything_else_a_log_is_refused(setup_of, stopped, change):
    setup = setup_of(counts=(3, 4, 2), starts=True)
    run = stopped(setup)
    CHANGES[change](setup)
    run.kill("parties[1]")
    assert_lost(run, "the party was started with other rows, labels, IDs, limits or another job")


@pytest.mark.parametrize("name", ["version", "run", "party"])
def test_a_log_of_another_version_run_or_party_is_refused(setup_of, stopped, tmp_path, monkeypatch, name):
    run = stopped(setup_of())
    run_id = run.run_id
    if name == "version":
        monkeypatch.setattr(run_log, "VERSION", "0.0.0")
    elif name == "run":
        run_id = bytes(16)
    else:
        (tmp_path / "client-1.log").rename(tmp_path / "client-2.log")
    with pytest.raises(StorageError, match=rf"client-2\.log: (it was written by )?{name} "):
        run.parties[2].open_log(run_id)


def test_a_party_that_would_send_something_else_sends_nothing(setup_of, stopped, monkeypatch):
    run = stopped(setup_of())
    real = codewords.quantise
    monkeypatch.setattr(codewords, "quantise", lambda rows, unit: real(rows + 1.0, unit))
    assert_lost(run, r"call \d+ of the log now has a different answer")


def test_a_log_that_lacks_what_the_coordinator_has_is_an_error(setup_of, stopped, tmp_path):
    run = stopped(setup_of())
    log = RunLog.resume(tmp_path / "client-2.log")
    for _ in range(3):
        forget_last(log)
    log.commit()
    log.close()
    assert_lost(run, "entries are missing from its log")


@pytest.mark.usefixtures("closed_connections")
def test_a_log_that_is_open_or_no_database_is_refused(tmp_path):
    log = RunLog.begin(tmp_path / "open.log", {})
    with pytest.raises(InUseError, match="another process has it open"):
        RunLog.resume(tmp_path / "open.log")
    log.close()
    (tmp_path / "text.log").write_text("no database at all, but long enough to have a header " * 20)
    with pytest.raises(StorageError, match=r"text\.log: SQLITE_NOTADB"):
        RunLog.resume(tmp_path / "text.log")


def test_without_a_log_a_party_cannot_go_on(setup_of, stopped, tmp_path):
    run = stopped(setup_of())
    (tmp_path / "client-2.log").unlink()
    assert_lost(run, "it has no log of the run")


@pytest.mark.some(2)
@pytest.mark.parametrize("at", [8, 26])
def test_who_was_lost_stays_so_when_the_coordinator_goes_on(setup_of, tmp_path, at):
    setup = setup_of(counts=(3, 4, 0, 2, 3))  # without a comparer a run ends
    plan = {at: "client breaks", at + 4: "coordinator before", at + 9: "coordinator after"}
    run = Restarting(setup, tmp_path, plan)
    assert run.run() == 3
    outcome = run.outcome()
    (lost,) = run.coordinator.lost
    run.kill(setup.parties[lost - 1])  # it waits with its log for a call
    assert outcome.faults.absent + outcome.faults.left_out == (lost,)
    if not outcome.faults.left_out:
        assert_same_labels(outcome, run_in_process(setup), without=lost)


def assert_same_labels(found, expected, *, without):
    for number, (mine, theirs) in enumerate(zip(found.labels, expected.labels, strict=True), 1):
        assert number == without or mine.tolist() == theirs.tolist()
