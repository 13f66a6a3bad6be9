"""The multiprocess driver: equal to the in-process one, and no process outlives a run, however it ends."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.signals import heed_ctrl_c

import secfc
from secfc.drivers import carrier, framing, multiprocess
from secfc.drivers.in_process import run_in_process
from secfc.drivers.multiprocess import run_multiprocess
from secfc.errors import (
    DataError,
    LimitError,
    MessageError,
    ParameterError,
    PartyError,
    SealError,
    TooManyFaultsError,
)
from secfc.limits import Limits
from secfc.protocol.wire import envelope
from secfc.psu.tokens import tokens
from secfc.sealing.identity import Identity

pytestmark = pytest.mark.processes

PACKAGE = str(Path(secfc.__file__).resolve().parent.parent)
SECRET = 123456.789


def ended(pid):
    """Whether a process has ended; a zombie that nobody waits for has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.fixture
def sabotage(monkeypatch):
    """Code that a party's process executes before it starts to work."""
    codes = {}
    real = carrier._start
    count = iter(range(1000))

    def start(held=None):
        code = codes.get(next(count))
        if code is None:
            return real(held)
        main = "import sys\nfrom secfc.drivers.party_process import main\nsys.exit(main())\n"
        return subprocess.Popen(
            [sys.executable, "-P", "-c", f"{textwrap.dedent(code)}\n{main}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": PACKAGE},
            start_new_session=True,
        )

    monkeypatch.setattr(carrier, "_start", start)
    return codes.__setitem__


@pytest.fixture(autouse=True)
def started(monkeypatch, sabotage):
    """The processes that the test starts; none of them, their pipes and threads is left behind."""
    processes, real = [], carrier._start
    threads = set(threading.enumerate())

    def start(held=None):
        processes.append(real(held))
        return processes[-1]

    monkeypatch.setattr(carrier, "_start", start)
    yield processes
    assert [process.poll() for process in processes if process.poll() is None] == []
    assert all(process.stdin.closed and process.stdout.closed for process in processes)
    assert set(threading.enumerate()) == threads


@pytest.fixture
def written(monkeypatch, started):
    """What is written to each party's standard input: (party, kind, payload)."""
    frames, real = [], framing.write_frame

    def write_frame(stream, kind, payload):
        party = next(j for j, process in enumerate(started) if process.stdin is stream)
        frames.append((party, kind, bytes(payload)))
        real(stream, kind, payload)

    monkeypatch.setattr(framing, "write_frame", write_frame)
    return frames


@pytest.fixture
def long(setup_of):
    """A run of thousands of rounds, for those who end it."""
    return setup_of((50, 60, 70), n_init=2000)


def assert_equal(one, other):
    for mine, theirs in zip(one.labels, other.labels, strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(one.start, other.start)
    for name in ("n_iter", "converged", "inertia", "history", "near_ties"):
        assert getattr(one, name) == getattr(other, name)
    assert sorted(one.costs.messages) == sorted(other.costs.messages)


# Equal to the in-process driver


@pytest.mark.parametrize(
    "start", [{"init": "random"}, {"init": "separation"}, {"starts": True}, {"n_init": 3}]
)
def test_outcome_and_messages_equal_those_of_the_in_process_driver(setup_of, start):
    setup = setup_of((5, 0, 7), **start)
    assert_equal(run_multiprocess(setup), run_in_process(setup))


def test_outcome_and_messages_are_equal_with_eleven_parties(setup_of, started):
    setup = setup_of((3, 4, 1, 0, 2, 5, 3, 3, 2, 1, 4), t=4, ell=2)
    assert_equal(run_multiprocess(setup), run_in_process(setup))
    assert len(started) == 12


def test_outcome_and_messages_are_equal_with_more_parties_than_needed(setup_of):
    setup = setup_of((5, 2, 7, 3))
    assert setup.job.threshold == 3
    assert_equal(run_multiprocess(setup), run_in_process(setup))


@pytest.mark.parametrize("rows", [1, 3])
def test_outcome_and_messages_in_many_parts_are_equal(setup_of, sabotage, part_rows, rows):
    part_rows(rows)
    for party in range(5):
        sabotage(
            party,
            f"import secfc.row_layout\nsecfc.row_layout.PART_BYTES, secfc.row_layout.PART_ROWS = 1, {rows}",
        )
    setup = setup_of((5, 0, 7, 4))
    outcome = run_multiprocess(setup)
    assert_equal(outcome, run_in_process(setup))
    assert any(message.kind == "Continue" for message in outcome.costs.messages)


def test_run_gives_equal_results_with_both_drivers(setup_of):
    rows = setup_of().rows
    one, other = (
        secfc.run(rows, k=3, t=1, ell=1, seed=4, driver=driver) for driver in ("multiprocess", "in-process")
    )
    assert [part.tolist() for part in one.labels] == [part.tolist() for part in other.labels]
    assert (one.n_iter, one.inertia) == (other.n_iter, other.inertia)
    assert one.history.tolist() == other.history.tolist()
    assert sorted(one.costs.messages) == sorted(other.costs.messages)


def test_progress_is_that_of_the_in_process_driver(setup_of):
    one, other = [], []
    run_multiprocess(setup_of(), one.append)
    run_in_process(setup_of(), other.append)
    # How much was sent when the server took a message depends on who was faster.
    alike = [[replace(standing, sent_bytes=0) for standing in seen] for seen in (one, other)]
    assert alike[0] == alike[1]


def test_bytes_and_messages_of_each_phase_equal_those_of_the_in_process_driver(setup_of):
    def counts(outcome):
        return [(cost.phase, cost.role, cost.sent_bytes, cost.messages) for cost in outcome.costs.phases]

    one = run_multiprocess(setup_of())
    assert counts(one) == counts(run_in_process(setup_of()))
    assert all(cost.seconds > 0 for cost in one.costs.phases if cost.phase in ("share", "iterate"))


# Who is sent what


def test_a_process_receives_no_rows_but_its_own(setup_of, written):
    setup = setup_of((4, 3, 5))
    run_multiprocess(setup)
    for party in range(4):
        received = b"".join(payload for to, _, payload in written if to == party)
        for owner, rows in enumerate(setup.rows, start=1):
            held = [value.tobytes() in received for value in rows.ravel()]
            assert all(held) if owner == party else not any(held)


def test_a_process_receives_no_start_labels_but_its_own(setup_of, written):
    setup = setup_of((4, 3, 5), starts=True)
    run_multiprocess(setup)
    for party in range(4):
        arrays = [framing.load_array(p) for to, kind, p in written if (to, kind) == (party, framing.ARRAY)]
        expected = [] if party == 0 else [setup.rows[party - 1], setup.starts[party - 1]]
        assert [array.tolist() for array in arrays] == [array.tolist() for array in expected]


def test_messages_reach_their_recipient_only(setup_of, written):
    run_multiprocess(setup_of())
    messages = [(to, payload) for to, kind, payload in written if kind == framing.MESSAGE]
    assert messages
    assert all(int.from_bytes(payload[23:25], "little") == to for to, payload in messages)


def test_only_the_server_is_told_the_seed(setup_of, written):
    run_multiprocess(setup_of(seed=77))
    told = {party: {} for party in range(4)}
    for to, kind, payload in written:
        if kind == framing.JSON:
            told[to] |= json.loads(payload)
    assert told[0]["seed"] == 77
    assert not any("seed" in told[party] for party in (1, 2, 3))


def test_identities_are_made_in_the_parties_processes_and_only_public_keys_leave_them(
    setup_of, written, monkeypatch
):
    told, real = {}, carrier.Parties.identify

    def identify(self, party, public, **more):
        told[party] = public
        real(self, party, public, **more)

    monkeypatch.setattr(carrier.Parties, "identify", identify)
    run_multiprocess(setup_of())
    assert sorted(told) == [1, 2, 3]
    assert len(set(told.values())) == 3
    for party in range(4):
        rosters = [json.loads(p) for to, kind, p in written if (to, kind) == (party, framing.JSON)]
        assert [one["roster"] for one in rosters if "roster" in one] == [[told[1], told[2], told[3]]]


@pytest.mark.parametrize("change", ["flip", "swap"])
def test_a_relay_that_touches_a_share_ends_the_run_with_a_seal_error(setup_of, monkeypatch, change):
    real, first = carrier.Parties._carry, []

    def carry(self, party, payload):
        if envelope(payload).kind == "Share" and envelope(payload).recipient == 2:
            if change == "flip":
                payload = payload[:-1] + bytes([payload[-1] ^ 1])
            else:
                first.append(payload[33:])
                payload = payload[:33] + first[0]
        real(self, party, payload)

    monkeypatch.setattr(carrier.Parties, "_carry", carry)
    text = r"^client 2 \(parties\[1\]\): Share: part 0 of round 0 from client [13] was not sealed by it "
    with pytest.raises(SealError, match=text):
        run_multiprocess(setup_of((5, 5, 5)))


def test_a_relay_that_gives_a_client_another_key_in_the_roster_is_found(setup_of, monkeypatch):
    real = carrier.Parties.identify

    def identify(self, party, public, **more):
        real(self, party, Identity().public.hex() if party == 2 else public, **more)

    monkeypatch.setattr(carrier.Parties, "identify", identify)
    with pytest.raises(ParameterError, match=r"client 2: its identity is not the one pinned in the roster$"):
        run_multiprocess(setup_of())


def test_two_runs_have_different_run_identifiers(setup_of, written, started):
    runs = []
    for _ in range(2):
        run_multiprocess(setup_of())
        told = [json.loads(payload) for _, kind, payload in written if kind == framing.JSON]
        runs.append({one["run"] for one in told if "run" in one})
        written.clear()
        started.clear()
    assert [len(run) for run in runs] == [1, 1]
    assert runs[0] != runs[1]


# However a run ends, nothing is left (the fixture `started` asserts it)


def test_all_processes_end_by_themselves_after_a_run(setup_of, started):
    run_multiprocess(setup_of())
    assert [process.poll() for process in started] == [0, 0, 0, 0]


def test_each_process_has_a_session_of_its_own_so_that_ctrl_c_does_not_reach_it(setup_of, started):
    seen = []

    def note(progress):
        if progress.phase == "identify":
            seen.append([os.getsid(process.pid) for process in started])

    run_multiprocess(setup_of(), note)
    assert seen[0] == [process.pid for process in started]


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_error_of_the_progress_callback_comes_out_and_ends_all(long, started, error):
    def stop(progress):
        if progress.round == 2:
            raise error("stop")

    with pytest.raises(error):
        run_multiprocess(long, stop)
    assert len(started) == 4


def test_no_open_file_is_left(setup_of, started):
    before = len(os.listdir("/proc/self/fd"))
    run_multiprocess(setup_of())
    setup = setup_of()
    setup.rows[0][0, 0] = np.nan
    with pytest.raises(DataError):
        run_multiprocess(setup)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.fixture
def third_start_fails(started, monkeypatch):
    """The system refuses to start a third process."""
    real = carrier._start

    def start(held=None):
        if len(started) == 2:
            raise OSError("no more processes")
        return real(held)

    monkeypatch.setattr(carrier, "_start", start)
    yield
    for process in started:
        process.stdin.close()


@pytest.mark.usefixtures("third_start_fails")
def test_a_process_that_cannot_be_started_ends_those_that_were(setup_of, started):
    with pytest.raises(OSError, match="no more processes"):
        run_multiprocess(setup_of())
    assert [process.poll() for process in started] == [-signal.SIGTERM] * 2


@pytest.mark.usefixtures("third_start_fails")
def test_a_process_that_cannot_be_started_leaves_no_pipe_open(setup_of, started):
    with pytest.raises(OSError, match="no more processes"):
        run_multiprocess(setup_of())
    assert all(process.stdin.closed and process.stdout.closed for process in started)


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


def test_a_process_that_ignores_termination_is_killed(setup_of, started, sabotage, monkeypatch):
    monkeypatch.setattr(carrier, "GRACE_SECONDS", 0.5)
    sabotage(1, "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(60)")
    sabotage(3, "import time\ntime.sleep(1)\nraise SystemExit(4)")
    with pytest.raises(PartyError, match=r"^client 3 \(parties\[2\]\): .*exit status 4"):
        run_multiprocess(setup_of())
    assert started[1].poll() == -signal.SIGKILL


def test_a_process_that_does_not_end_after_its_result_is_terminated(setup_of, started, sabotage, monkeypatch):
    monkeypatch.setattr(carrier, "GRACE_SECONDS", 0.5)
    sabotage(2, "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()")
    assert_equal(run_multiprocess(setup_of()), run_in_process(setup_of()))
    assert started[2].poll() == -signal.SIGTERM


# Errors of parties


def test_a_partys_data_error_names_the_party(setup_of):
    setup = setup_of()
    setup.rows[2][3, 1] = np.nan
    with pytest.raises(DataError, match=r"^parties\[2\]: 1 values are NaN .* row 3, column 1$"):
        run_multiprocess(setup)


def test_a_partys_error_about_start_labels_names_the_party(setup_of):
    setup = setup_of((4, 3, 5), starts=True)
    setup.starts[1][0] = 3
    with pytest.raises(DataError, match=r"^parties\[1\]: start labels must lie in 0\.\.2$"):
        run_multiprocess(setup)


def test_a_clients_limit_error_names_the_client_and_the_numbers(setup_of):
    text = r"client \d answers for sets of at least 4 rows, round 1 has one of \d$"
    with pytest.raises(LimitError, match=text):
        run_multiprocess(setup_of(limits=Limits(smallest_set=4)))


def test_an_error_of_the_server_names_the_server(setup_of):
    setup = setup_of((1, 0, 1), k=2, starts=True)
    setup.starts[2][0] = 0
    with pytest.raises(ParameterError, match=r"^server: init: 1 of 2 clusters have no row"):
        run_multiprocess(setup)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_killed_party_is_named_with_the_signal(long, started, number):
    def kill(progress):
        if progress.round == 2 and started[2].poll() is None:
            os.kill(started[2].pid, number)

    text = (
        r"^server: too few clients are left: to decode, n >= R \+ S: 3 < 3 \+ 1; clients absent: 2; "
        rf"client 2 \(parties\[1\]\): its process ended without a result \(signal {number.value}\)$"
    )
    with pytest.raises(TooManyFaultsError, match=text):
        run_multiprocess(long, kill)


def test_a_client_lost_in_the_union_stops_the_run_and_says_what_a_new_one_would_show(setup_of, started):
    ids = [list(range(5)), [], list(range(10, 17))]
    held = [tokens(one, key=bytes(32), salt=bytes(16), name="party") for one in ids]
    setup = replace(setup_of(ids_cap=12, ids_salt=bytes(16).hex()), tokens=held)

    def kill(progress):
        if progress.phase == "union" and started[2].poll() is None:
            os.kill(started[2].pid, signal.SIGKILL)

    text = (
        r"^server: client 2 is absent before all rows were shared; .*the union of the new run would show how "
        r"many rows .*; client 2 \(parties\[1\]\): its process ended without a result \(signal 9\)$"
    )
    with pytest.raises(TooManyFaultsError, match=text):
        run_multiprocess(setup, kill)


def test_a_client_that_hangs_in_the_union_stops_the_run_after_the_deadline(setup_of, started, monkeypatch):
    monkeypatch.setattr(carrier, "GRACE_SECONDS", 0.5)
    ids = [list(range(5)), [], list(range(10, 17))]
    held = [tokens(one, key=bytes(32), salt=bytes(16), name="party") for one in ids]
    setup = replace(setup_of(ids_cap=12, ids_salt=bytes(16).hex()), tokens=held, deadline=15.0)

    def stop(progress):
        if progress.phase == "union" and started[2].poll() is None:
            os.kill(started[2].pid, signal.SIGSTOP)

    with pytest.raises(TooManyFaultsError, match=r"nothing was heard from those waited for: .*client 2"):
        run_multiprocess(setup, stop)


BROKEN = """
    from secfc.errors import CheatError, LimitError, MessageError
    from secfc.protocol.client import Client
    from secfc.protocol.messages import {kind}
    real = Client.receive

    def broken(self, message, **options):
        if isinstance(message, {kind}) and message.round == {round}:
            raise {error}("123456.789")
        return real(self, message, **options)

    Client.receive = broken
"""


@pytest.mark.parametrize("error", ["ValueError", "MessageError"])
def test_a_client_that_breaks_in_the_iterations_is_done_without(setup_of, sabotage, error):
    sabotage(4, BROKEN.format(kind="Assignment", round=2, error=error))
    setup = setup_of((4, 3, 5, 6, 2))
    outcome, whole = run_multiprocess(setup), run_in_process(setup)
    for ours, theirs in zip(outcome.labels, whole.labels, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert outcome.inertia == whole.inertia
    assert list(outcome.lost) == [4]
    assert outcome.lost[4].startswith("client 4 (parties[3]): ")


@pytest.mark.parametrize("error", ["LimitError", "CheatError"])
def test_a_clients_limit_or_a_cheating_server_ends_the_run_in_the_iterations_too(setup_of, sabotage, error):
    sabotage(4, BROKEN.format(kind="Assignment", round=2, error=error))
    with pytest.raises(getattr(secfc.errors, error), match=r"^client 4 \(parties\[3\]\): 123456\.789$"):
        run_multiprocess(setup_of((4, 3, 5, 6, 2)))


def test_a_client_that_breaks_while_rows_are_shared_is_left_out(setup_of, sabotage):
    sabotage(4, BROKEN.format(kind="Plan", round=0, error="ValueError"))
    outcome = run_multiprocess(setup_of((4, 3, 5, 6, 2)))
    assert outcome.faults.left_out == (4,)
    assert outcome.lost == {4: "client 4 (parties[3]): ValueError at <string>:9 in broken"}


def test_a_client_that_refuses_something_while_rows_are_shared_ends_the_run(setup_of, sabotage):
    sabotage(4, BROKEN.format(kind="Plan", round=0, error="MessageError"))
    with pytest.raises(MessageError, match=r"^client 4 \(parties\[3\]\): "):
        run_multiprocess(setup_of((4, 3, 5, 6, 2)))


FORGED = """
    from dataclasses import replace
    from secfc.protocol.client import Client
    from secfc.protocol.messages import CodedDistances, Ready
    real = Client.receive

    def receive(self, message, **options):
        return [
            replace(one, part=one.part + 7) if type(one) is {kind} and one.round == {round} else one
            for one in real(self, message, **options)
        ]

    Client.receive = receive
"""


def test_a_client_whose_answer_is_refused_is_absent_from_then_on(setup_of, sabotage):
    setup = setup_of((4, 3, 5, 6, 2))  # client 2 is one of those that a round cannot do without
    sabotage(2, FORGED.format(kind="CodedDistances", round=2))
    outcome = run_multiprocess(setup)
    assert outcome.faults.absent == (2,)
    honest = run_in_process(setup)
    assert [list(part) for part in outcome.labels] == [list(part) for part in honest.labels]


def test_a_client_whose_message_is_refused_while_rows_are_shared_ends_the_run(setup_of, sabotage):
    sabotage(2, FORGED.format(kind="Ready", round=0))
    with pytest.raises(MessageError, match=r"Ready: .*client 2"):
        run_multiprocess(setup_of((4, 3, 5, 6, 2)))


def test_why_a_client_was_lost_is_said_in_the_warning(setup_of, sabotage):
    sabotage(2, BROKEN.format(kind="Assignment", round=2, error="ValueError"))
    rows = setup_of((4, 3, 5, 6, 2)).rows
    with pytest.warns(
        secfc.FaultWarning, match=r"did not answer to the end; .*ValueError at <string>:9"
    ) as told:
        secfc.run(rows, 3, 1, 1, seed=1, driver="multiprocess")
    assert "123456" not in str(told[0].message)


def test_where_too_few_are_left_to_open_the_centres_clients_have_their_labels(
    setup_of, sabotage, monkeypatch
):
    # Four of five are needed to open: the last vanishes with its result, and client 4 confirms to nobody.
    monkeypatch.setattr(multiprocess, "_COMPARE_SECONDS", 15.0)
    real = framing.write_frame

    def write_frame(stream, kind, payload):
        header = envelope(payload) if kind == framing.MESSAGE else None
        if header is None or (header.kind, header.sender) != ("Witness", 4):
            real(stream, kind, payload)

    monkeypatch.setattr(framing, "write_frame", write_frame)
    sabotage(5, BROKEN.format(kind="Finish", round=0, error="ValueError"))
    setup = setup_of((4, 3, 5, 6, 2), reveal_to=(1,), limits=Limits(reveal_centres=True))
    outcome, whole = run_multiprocess(setup), run_in_process(setup)
    assert whole.centres is not None
    assert outcome.centres is None
    for ours, theirs in zip(outcome.labels[:4], whole.labels[:4], strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_labels_that_fewer_than_r_confirm_are_nobodys_where_centres_are_opened_too(
    setup_of, sabotage, monkeypatch
):
    monkeypatch.setattr(multiprocess, "_COMPARE_SECONDS", 5.0)
    sabotage(3, BROKEN.format(kind="Finish", round=0, error="ValueError"))
    setup = setup_of((4, 3, 5), reveal_to=(1,), limits=Limits(reveal_centres=True))
    with pytest.raises(secfc.TooManyFaultsError, match=r"^nobody confirms the result to client 1 "):
        run_multiprocess(setup)


@pytest.mark.parametrize("round_", [1, 2])
def test_a_killed_client_leaves_its_rows_in_when_enough_are_left(setup_of, started, round_):
    def kill(progress):
        if progress.round == round_ and started[4].poll() is None:
            os.kill(started[4].pid, signal.SIGKILL)

    setup = setup_of((4, 3, 5, 6, 2))
    outcome, whole = run_multiprocess(setup, kill), run_in_process(setup)
    for ours, theirs in zip(outcome.labels, whole.labels, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert outcome.inertia == whole.inertia


def test_a_client_that_dies_while_sharing_is_left_out_as_a_whole(setup_of, sabotage):
    code = """
        import os, signal
        from secfc.protocol.client import Client

        def killed(self, plan):
            os.kill(os.getpid(), signal.SIGKILL)

        Client._on_plan = killed
    """
    sabotage(2, code)
    setup = setup_of((4, 3, 5, 6, 2))
    outcome = run_multiprocess(setup)
    assert outcome.faults.left_out == (2,)
    assert (outcome.labels[1] == -1).all()
    assert all((outcome.labels[at] >= 0).all() for at in (0, 2, 3, 4))


def test_a_client_that_hangs_is_given_up_after_the_deadline(setup_of, started, monkeypatch):
    monkeypatch.setattr(carrier, "GRACE_SECONDS", 0.5)

    def stop(progress):
        if progress.round == 2 and started[1].poll() is None:
            os.kill(started[1].pid, signal.SIGSTOP)

    setup = replace(setup_of((4, 3, 5, 6, 2), max_liars=1), deadline=5.0)
    outcome = run_multiprocess(setup, stop)
    assert all((labels >= 0).all() for labels in outcome.labels)


def test_a_client_that_hangs_before_it_is_introduced_is_named_after_the_deadline(
    setup_of, sabotage, monkeypatch
):
    monkeypatch.setattr(carrier, "GRACE_SECONDS", 0.5)
    sabotage(2, "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)")
    text = r"^nothing was heard for 15 s from .*client 2 \(parties\[1\]\)"
    with pytest.raises(PartyError, match=text):
        run_multiprocess(replace(setup_of(), deadline=15.0))


def test_a_killed_server_is_named_with_the_signal(long, started):
    def kill(progress):
        if progress.round == 2 and started[0].poll() is None:
            os.kill(started[0].pid, signal.SIGKILL)

    with pytest.raises(PartyError, match=r"^server: its process ended without a result \(signal 9\)$"):
        run_multiprocess(long, kill)


@pytest.mark.parametrize("party", [0, 2])
def test_a_party_that_ends_before_it_is_introduced_is_named_with_its_exit_status(setup_of, sabotage, party):
    sabotage(party, "raise SystemExit(3)")
    name = ["server", "", r"client 2 \(parties\[1\]\)"][party]
    with pytest.raises(PartyError, match=rf"^{name}: its process ended without a result \(exit status 3\)$"):
        run_multiprocess(setup_of())


def test_an_unexpected_exception_is_told_by_type_and_place_but_not_its_text(setup_of, sabotage, capfd):
    code = f"""
        from secfc.protocol.client import Client

        def broken(self, plan):
            raise ValueError("a row is {SECRET}")

        Client._on_plan = broken
    """
    sabotage(2, code)
    with pytest.raises(TooManyFaultsError) as caught:
        run_multiprocess(setup_of())
    assert str(caught.value).endswith("; client 2 (parties[1]): ValueError at <string>:5 in broken")
    assert "123456" not in "".join(capfd.readouterr())


def test_the_place_of_an_exception_in_secfc_is_a_path_in_the_package(setup_of, sabotage):
    sabotage(3, "import secfc.lagrange.sharer\nsecfc.lagrange.sharer.quantise = None")
    text = r"; client 3 \(parties\[2\]\): TypeError at secfc/lagrange/sharer\.py:\d+ in share$"
    with pytest.raises(TooManyFaultsError, match=text):
        run_multiprocess(setup_of())


def test_an_unexpected_exception_of_the_server_names_the_server(setup_of):
    with pytest.raises(PartyError, match=r"^server: ValueError at "):
        run_multiprocess(setup_of(seed=-1))


def test_what_a_library_prints_does_not_break_the_frames(setup_of, sabotage, capfd):
    code = """
        from secfc.protocol.client import Client
        real = Client._on_plan

        def noisy(self, plan):
            print("a library says hello", flush=True)
            return real(self, plan)

        Client._on_plan = noisy
    """
    sabotage(1, code)
    assert_equal(run_multiprocess(setup_of()), run_in_process(setup_of()))
    assert "a library says hello" in capfd.readouterr().err


@pytest.mark.parametrize("text", ["no frame at all", "Just a library's text", "Message of a library"])
def test_output_that_is_no_frame_ends_the_run_and_names_the_party(setup_of, sabotage, monkeypatch, text):
    monkeypatch.setattr(carrier, "GRACE_SECONDS", 0.5)
    sabotage(1, f"print({text!r}, flush=True)")
    with pytest.raises(PartyError, match=r"^client 1 \(parties\[0\]\): "):
        run_multiprocess(setup_of())


@pytest.mark.parametrize("output", [b"A library's text", b"A" + b"\xff" * 8])
def test_output_that_begins_as_an_array_frame_of_any_size_is_no_frame(output):
    # In the reading thread anything but EOFError is lost, and with it the event that ends the run: it hangs.
    reader, writer = os.pipe()
    os.write(writer, output)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream, pytest.raises(EOFError):
        framing.read_frame(stream)


def test_output_that_begins_as_an_endless_array_frame_does_not_hang_the_run(
    setup_of, started, sabotage, monkeypatch
):
    monkeypatch.setattr(carrier, "GRACE_SECONDS", 0.5)
    sabotage(1, "print('A library says hello', flush=True)")

    def kill():
        started[1].kill()

    watchdog = threading.Timer(5, kill)
    watchdog.start()
    try:
        with pytest.raises(PartyError, match=r"^client 1 \(parties\[0\]\): ") as caught:
            run_multiprocess(setup_of())
    finally:
        watchdog.cancel()
        watchdog.join()
    assert "signal 9" not in str(caught.value)


def test_a_forged_sender_ends_the_run_and_names_the_forger(setup_of, sabotage, monkeypatch):
    monkeypatch.setattr(carrier, "GRACE_SECONDS", 0.5)
    code = """
        import dataclasses
        import secfc.drivers.party_process as process
        real = process.encode

        def forged(message, *, k):
            return real(dataclasses.replace(message, sender=3), k=k)

        process.encode = forged
    """
    sabotage(2, code)
    with pytest.raises(PartyError, match=r"^client 2 \(parties\[1\]\): "):
        run_multiprocess(setup_of())


# Where it is called from

SCRIPT = """
import sys
import numpy as np
import secfc
from secfc.drivers import carrier

started, real = [], carrier._start

def start(held=None):
    started.append(real(held))
    print("pid", started[-1].pid, flush=True)
    return started[-1]

def progress(now):
    if now.round == 1 and now.waiting_for == 3:
        print("iterating", flush=True)

carrier._start = start
rows = [np.random.default_rng(j).normal(size=(60, 2)) for j in range(3)]
n_init = int(sys.argv[1])
result = secfc.run(
    rows, 3, 1, 1, n_init=n_init, seed=1, driver="multiprocess", progress=progress, max_iter=1000
)
print("labels", *(label for part in result.labels for label in part), flush=True)
"""


@pytest.fixture
def script(tmp_path):
    """Start a script that calls `secfc.run` at its top level, without a __main__ guard."""
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    running = []

    def start(n_init):
        command = [sys.executable, str(path), str(n_init)]
        environment = {**os.environ, "PYTHONPATH": PACKAGE}
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env=environment,
            start_new_session=True,
            preexec_fn=heed_ctrl_c if os.name == "posix" else None,
        )
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


def test_a_script_without_a_main_guard_can_call_it(script):
    output, errors = script(1).communicate(timeout=60)
    rows = [np.random.default_rng(j).normal(size=(60, 2)) for j in range(3)]
    expected = secfc.run(rows, 3, 1, 1, seed=1)
    labels = next(line for line in output.splitlines() if line.startswith("labels"))
    assert labels.split()[1:] == [str(label) for part in expected.labels for label in part]
    assert "Traceback" not in errors


@pytest.mark.parametrize(("number", "tracebacks"), [(signal.SIGINT, 1), (signal.SIGKILL, 0)])
def test_no_party_outlives_a_script_that_is_interrupted_or_killed(script, number, tracebacks):
    process = script(100_000)
    pids = []
    for line in process.stdout:
        if line == "iterating\n":
            break
        pids.append(int(line.split()[1]))
    assert len(pids) == 4
    assert not any(map(ended, pids))
    os.killpg(process.pid, number)  # as a terminal does: whoever is in the script's group gets it
    assert process.wait(20) != 0
    deadline = time.monotonic() + 10
    while not all(map(ended, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert all(map(ended, pids))
    assert process.stderr.read().count("Traceback") == tracebacks


def test_a_thread_can_call_it(setup_of):
    outcomes = []
    thread = threading.Thread(target=lambda: outcomes.append(run_multiprocess(setup_of())))
    thread.start()
    thread.join(60)
    assert_equal(outcomes[0], run_in_process(setup_of()))


def test_two_threads_can_call_it_at_once(setup_of):
    outcomes = {}
    seeds = (1, 2)
    threads = [
        threading.Thread(target=lambda s=s: outcomes.update({s: run_multiprocess(setup_of(seed=s))}))
        for s in seeds
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for seed in seeds:
        assert_equal(outcomes[seed], run_in_process(setup_of(seed=seed)))
