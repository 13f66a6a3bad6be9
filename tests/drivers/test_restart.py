"""With storage, a party that is killed is started again and continues: real processes, real SIGKILL."""

import signal
import stat
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from support.killing import Killer, dying_at_step, patch, process
from support.sweeps import sweep

from secfc import row_layout
from secfc.drivers.in_process import run_in_process
from secfc.drivers.multiprocess import run_multiprocess
from secfc.drivers.processes import ForkServer
from secfc.errors import LimitError, TooManyFaultsError
from secfc.limits import Limits

pytestmark = pytest.mark.processes

KINDS = {
    "random": {"n_init": 4},
    "separation": {"init": "separation"},
    "k-means++": {"init": "k-means++", "n_init": 2},
    "labels": {"starts": True},
    "coded": {"disclosure": "coded", "n_init": 2},
    "opened labels": {"disclosure": "labels"},
    "spare masks": {"counts": (20, 30, 10, 20, 15), "disclosure": "labels", "comparers": (4, 1, 5)},
    "centres": {"reveal_to": (1, 3), "limits": Limits(reveal_centres=True)},
    "rounds": {"comparison": "rounds"},
    "liars": {"counts": (20, 30, 10, 20, 15), "max_liars": 1},
    "union": {"ids_cap": 120},
}


@pytest.fixture
def stored(stored_run):
    """A run with storage, by kind."""
    return lambda kind, **other: stored_run(**(KINDS[kind] | other))


@pytest.fixture
def starts(monkeypatch):
    """Code that processes execute before they work, by number of the start; and the started processes."""
    codes, started = {}, []

    def start(forks):
        started.append(process(codes.get(len(started), "")))
        return started[-1]

    monkeypatch.setattr(ForkServer, "start", start)
    yield codes, started
    assert all(one.poll() is not None for one in started)
    assert all(one.stdin.closed and one.stdout.closed for one in started)


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(row_layout, "PART_BYTES", 1)
    monkeypatch.setattr(row_layout, "PART_ROWS", 16)


def assert_exact(setup, outcome):
    whole = run_in_process(replace(setup, storage=None))
    for mine, theirs in zip(outcome.labels, whole.labels, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert (outcome.n_iter, outcome.history) == (whole.n_iter, whole.history)
    assert outcome.faults == whole.faults
    if setup.job.n == setup.job.threshold:  # no answer is late: each message was carried once
        assert sorted(outcome.costs.messages) == sorted(whole.costs.messages)


def assert_survives(setup, seed, monkeypatch, *, most):
    """Run with random kills; return their number."""
    killer = Killer(seed, most=most)
    with monkeypatch.context() as patches:
        patch(patches, killer)
        outcome = run_multiprocess(setup)
    assert_exact(setup, outcome)
    assert list(setup.storage.iterdir()) == []
    return killer.killed


@pytest.mark.some(1)
@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("kind", sweep(KINDS, keep=("random", "centres", "opened labels", "liars", "union")))
def test_parties_killed_at_random_go_on_and_the_result_is_exact(stored, monkeypatch, kind):
    assert_survives(stored(kind), 1, monkeypatch, most=4)


@pytest.mark.usefixtures("small_parts")
def test_a_prediction_whose_parties_are_killed_at_random_is_exact(stored, monkeypatch):
    setup = stored("labels", predict=True, max_iter=1, limits=Limits(predict=True))
    with_new = [np.where(np.arange(part.size) % 3, part, -1).astype(np.int32) for part in setup.starts]
    assert_survives(replace(setup, starts=with_new), 2, monkeypatch, most=4)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.usefixtures("small_parts")
def test_hundreds_of_runs_with_parties_killed_at_random_are_exact(stored, monkeypatch):
    killed = 0
    for seed in range(200):
        kind = sorted(KINDS)[seed % len(KINDS)]
        killed += assert_survives(stored(kind, seed=seed), seed, monkeypatch, most=1 + seed % 6)
        print(f"{seed + 1} runs, {killed} kills", flush=True)
    assert killed > 200


@pytest.mark.some(1)
@pytest.mark.parametrize("round_", [1, 3])
def test_a_party_killed_in_a_round_is_started_again(stored, starts, caplog, round_):
    _, started = starts

    def kill(progress):
        if progress.round == round_ and started[1].poll() is None:
            started[1].send_signal(signal.SIGKILL)

    setup = stored("random")
    assert_exact(setup, run_multiprocess(setup, kill))
    assert len(started) == 4
    assert caplog.messages[-1].endswith("its process ended (signal 9) and is started again")


@pytest.mark.some(1)
@pytest.mark.parametrize("count", [0, 1, 2, 3, 30])
def test_a_party_killed_while_it_writes_goes_on(stored, starts, count):
    codes, started = starts
    codes[0] = dying_at_step(count)
    setup = stored("random")
    assert_exact(setup, run_multiprocess(setup))
    assert [one.poll() for one in started].count(-signal.SIGKILL) == 1


DYING_IN_A_FRAME = """
import os, signal
from secfc.drivers import framing
answers, real = 0, framing.write_frame

def write_frame(stream, kind, payload):
    global answers
    answers += kind == framing.ANSWER
    if answers == 3:
        stream.write((framing._HEAD.pack(kind, len(payload)) + bytes(payload))[:{size}])
        stream.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    real(stream, kind, payload)

framing.write_frame = write_frame
"""


@pytest.mark.some(1)
@pytest.mark.parametrize("size", [5, 12])
def test_a_party_killed_inside_an_answer_is_started_again(stored, starts, size):
    codes, started = starts
    codes[1] = DYING_IN_A_FRAME.format(size=size)
    setup = stored("random")
    assert_exact(setup, run_multiprocess(setup))
    assert [one.poll() for one in started].count(-signal.SIGKILL) == 1


def test_no_party_is_started_again_once_the_run_is_interrupted(stored, starts, monkeypatch):
    _, started = starts
    begun, real = threading.Event(), ForkServer.start

    def start(forks):
        if len(started) == 3:
            begun.set()
            time.sleep(1)
        return real(forks)

    def interrupt(progress):
        if progress.round == 2:
            started[1].kill()
        # If the party had answered already, it is called, and started again, only after the run continues.
        if progress.round >= 2 and begun.wait(5):
            raise KeyboardInterrupt

    monkeypatch.setattr(ForkServer, "start", start)
    with pytest.raises(KeyboardInterrupt):
        run_multiprocess(stored("random"), interrupt)
    for thread in threading.enumerate():
        if thread.name.startswith("secfc-"):
            thread.join(300)
    assert all(one.poll() is not None for one in started)


def test_a_party_that_never_gets_further_is_started_three_times(stored, starts):
    codes, started = starts
    codes |= {number: "raise SystemExit(3)" for number in range(1, 9) if number != 2}  # 2 is client 3
    text = r"; the last: parties\[1\]: its process ended without a result \(exit status 3\)"
    with pytest.raises(TooManyFaultsError, match=text):
        run_multiprocess(stored("random"))
    assert len(started) == 5


def test_a_client_that_gets_no_further_is_absent(stored, starts):
    codes, started = starts
    codes[1] = dying_at_step(30)
    codes |= dict.fromkeys((5, 6, 7), "raise SystemExit(3)")
    setup = stored("random", counts=(40, 30, 50, 10, 10))
    outcome = run_multiprocess(setup)
    assert len(started) == 7
    assert 2 in (*outcome.faults.absent, *outcome.faults.left_out)


def test_a_comparer_that_gets_no_further_ends_the_run_by_name(stored, starts):
    codes, _ = starts
    codes[1] = dying_at_step(60)
    codes |= dict.fromkeys((5, 6, 7), "raise SystemExit(3)")
    setup = stored("opened labels", counts=(40, 30, 50, 10, 10), comparers=(1, 2, 3))
    with pytest.raises(TooManyFaultsError, match=r"^client 2, a comparer, is absent, and no other party"):
        run_multiprocess(setup)


@pytest.fixture
def corrupted(starts, monkeypatch, tmp_path):
    """Client 2 is killed while it writes, and a byte of its journal changes before it is started again."""
    codes, started = starts
    codes[1] = dying_at_step(30)
    real = ForkServer.start

    def start(forks):
        if len(started) > 2 and started[1].poll() is not None:
            (path,) = tmp_path.glob("run-*/client-2.log-wal")
            changed = bytearray(path.read_bytes())
            changed[len(changed) // 2] ^= 1
            path.write_bytes(changed)
        return real(forks)

    monkeypatch.setattr(ForkServer, "start", start)


@pytest.mark.usefixtures("corrupted")
def test_a_client_whose_journal_was_changed_is_absent(stored):
    setup = stored("random", counts=(40, 30, 50, 10, 10))
    outcome = run_multiprocess(setup)
    assert 2 in (*outcome.faults.absent, *outcome.faults.left_out)
    assert all((outcome.labels[at] >= 0).all() for at in (0, 2, 3, 4))


@pytest.mark.usefixtures("corrupted")
def test_without_spare_clients_a_changed_journal_ends_the_run_and_is_named(stored):
    text = r"too few clients are left: .*the last: parties\[1\]: .*entries are missing from its log$"
    with pytest.raises(TooManyFaultsError, match=text):
        run_multiprocess(stored("random"))


def test_journals_are_their_owners_alone_and_go_with_the_run(stored, starts, tmp_path):
    seen = set()

    def look(progress):
        if progress.round == 2:
            (folder,) = tmp_path.iterdir()
            seen.add((folder.name.partition("-")[0], stat.S_IMODE(folder.stat().st_mode)))
            seen.update((path.name, stat.S_IMODE(path.stat().st_mode)) for path in folder.iterdir())

    run_multiprocess(stored("random"), look)
    names = {"driver.log", "client-1.log", "client-2.log", "client-3.log"}
    assert {("run", 0o700), *((name, 0o600) for name in names)} <= seen
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("starts")
def test_a_run_that_fails_leaves_no_journal(stored, tmp_path):
    with pytest.raises(LimitError):
        run_multiprocess(stored("random", limits=Limits(smallest_set=100)))
    assert list(tmp_path.iterdir()) == []
