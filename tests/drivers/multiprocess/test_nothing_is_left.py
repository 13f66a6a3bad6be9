"""After any ending of a run nothing is left: the fixture `started` asserts it."""

import os
import signal
import threading

import numpy as np
import pytest
from support.outcomes import assert_equal

from secfc.drivers.calls import conversation, pipes
from secfc.drivers.calls.processes import ForkServer
from secfc.drivers.in_process import run_in_process
from secfc.drivers.multiprocess import run_multiprocess
from secfc.errors import (
    DataError,
    TooManyFaultsError,
)

pytestmark = pytest.mark.processes


def test_each_process_has_a_session_of_its_own_so_that_ctrl_c_does_not_reach_it(setup_of, started):
    seen = []

    def note(progress):
        if progress.phase == "identify":
            seen.append([os.getsid(process.pid) for process in started])

    run_multiprocess(setup_of(), note)
    assert seen[0] == [process.pid for process in started]


@pytest.mark.some(1)
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_error_of_the_progress_callback_comes_out_and_ends_all(long, started, error):
    def stop(progress):
        if progress.round == 2:
            raise error("stop")

    with pytest.raises(error):
        run_multiprocess(long, stop)
    assert len(started) == 3


@pytest.mark.interpreters
def test_no_process_leaves_a_file_to_the_collector(setup_of, started, monkeypatch, capfd):
    monkeypatch.setenv("PYTHONWARNINGS", "error")  # of the processes that are started
    run_multiprocess(setup_of())
    setup = setup_of()
    setup.rows[0][0, 0] = np.nan
    with pytest.raises(DataError):
        run_multiprocess(setup)
    assert capfd.readouterr().err == ""


@pytest.fixture
def third_start_fails(started, monkeypatch):
    """The system refuses to start a third process."""
    real = ForkServer.start

    def start(forks):
        if len(started) == 2:
            raise OSError("no more processes")
        return real(forks)

    monkeypatch.setattr(ForkServer, "start", start)
    yield
    for process in started:
        process.stdin.close()


@pytest.mark.usefixtures("third_start_fails")
def test_a_process_that_cannot_be_started_ends_those_that_were(setup_of, started):
    with pytest.raises(OSError, match="no more processes"):
        run_multiprocess(setup_of())
    assert all(process.poll() in (0, -signal.SIGTERM) for process in started)


def test_a_thread_that_cannot_be_started_leaves_no_pipe_open(setup_of, started, monkeypatch):
    real, count, before = threading.Thread.start, iter(range(100)), set(threading.enumerate())

    def start(thread):
        if next(count) == 3:
            raise RuntimeError("no more threads")
        real(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    try:
        with pytest.raises(RuntimeError, match="no more threads"):
            run_multiprocess(setup_of())
        assert all(process.stdin.closed and process.stdout.closed for process in started)
    finally:
        for process in started:
            process.wait()
        for thread in set(threading.enumerate()) - before:
            thread.join()
        for process in started:
            process.stdin.close()
            process.stdout.close()


IGNORING = """
import pathlib, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
pathlib.Path({!r}).touch()
time.sleep(600)
"""
ENDING = """
import pathlib, time
while not pathlib.Path({!r}).exists():
    time.sleep(0.01)
raise SystemExit(4)
"""


def test_a_process_that_ignores_termination_is_killed(setup_of, started, sabotage, monkeypatch, tmp_path):
    monkeypatch.setattr(pipes, "GRACE_SECONDS", 0.5)
    monkeypatch.setattr(conversation, "CLOSING_SECONDS", 0.5)
    ignoring = str(tmp_path / "ignoring")
    sabotage(1, IGNORING.format(ignoring))
    sabotage(3, ENDING.format(ignoring))
    with pytest.raises(TooManyFaultsError, match=r"; the last: parties\[2\]: .*exit status 4"):
        run_multiprocess(setup_of())
    assert started[0].poll() == -signal.SIGKILL


def test_processes_that_do_not_end_are_given_the_same_seconds_together(setup_of, started, monkeypatch):
    monkeypatch.setattr(pipes, "GRACE_SECONDS", 0.5)
    monkeypatch.setattr(conversation, "CLOSING_SECONDS", 0.5)
    late, ends = [], pipes.PartyProcess.ends

    def note(one, until):
        late.append(until)
        return ends(one, until)

    def stop(progress):
        if progress.round == 1:
            for process in started:
                process.send_signal(signal.SIGSTOP)
            raise RuntimeError("stop")

    monkeypatch.setattr(pipes.PartyProcess, "ends", note)
    with pytest.raises(RuntimeError, match="stop"):
        run_multiprocess(setup_of(), stop)
    assert [process.poll() for process in started] == [-signal.SIGKILL] * 3
    assert len(late) == 6
    assert len(set(late)) == 2  # one deadline to end, one after they were told to


def test_a_process_that_does_not_end_after_its_result_is_terminated(setup_of, started, sabotage, monkeypatch):
    monkeypatch.setattr(pipes, "GRACE_SECONDS", 0.5)
    sabotage(2, "import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()")
    assert_equal(run_multiprocess(setup_of()), run_in_process(setup_of()))
    assert started[1].poll() == -signal.SIGTERM
