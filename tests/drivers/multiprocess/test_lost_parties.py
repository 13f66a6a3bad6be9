"""Parties that are killed, hang or break are named, and the run continues without them if possible."""

import signal

import numpy as np
import pytest
from support.outcomes import assert_equal

import secfc
from secfc.drivers.calls import pipes
from secfc.drivers.deposits.committee import Committee
from secfc.drivers.in_process import run_in_process
from secfc.drivers.multiprocess import run_multiprocess
from secfc.drivers.setup import Setup
from secfc.errors import (
    DataError,
    LimitError,
    SecFCError,
    TooManyFaultsError,
)
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import make_job

pytestmark = pytest.mark.processes


def test_a_partys_data_error_names_the_party(setup_of):
    setup = setup_of()
    setup.rows[2][3, 1] = np.nan
    with pytest.raises(DataError, match=r"^parties\[2\]: 1 values are NaN .* row 3, column 1$"):
        run_multiprocess(setup)


def test_a_clients_limit_error_names_the_client_and_the_numbers(setup_of):
    text = r"client \d answers for sets of at least 4 rows, but round 1 has a set of \d$"
    with pytest.raises(LimitError, match=text):
        run_multiprocess(setup_of(limits=Limits(smallest_set=4)))


@pytest.mark.some(1)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_killed_party_is_named_with_the_signal(long, started, number):
    def kill(progress):
        if progress.round == 2 and started[1].poll() is None:
            started[1].send_signal(number)

    text = (
        r"^too few clients are left: to decode, n >= R \+ S: 3 < 3 \+ 1; absent: client 2; lost of 3: "
        rf"parties\[1\]; the last: .* its process ended without a result \(signal {number.value}\)$"
    )
    with pytest.raises(TooManyFaultsError, match=text):
        run_multiprocess(long, kill)


@pytest.mark.parametrize("at", [44, -1])
def test_a_member_s_process_refuses_a_deposit_that_was_changed(at):
    """Of the owner's signature, or of the sealed piece: nobody has checked it before."""
    rows = [np.full((m, 2), float(m)) for m in (4, 1, 3)]
    made = Committee.of(make_job(n=3, k=2, t=1, ell=1, d=2, bound=9.0, seed=3), rows, keeps=True)
    changed = bytearray(made.deposits[1][2])
    changed[at] ^= 1
    made.deposits[1][2] = bytes(changed)
    names = ["a", "b", "c"]
    setup = Setup(job=made.job, rows=rows, starts=None, names=names, limits=Limits(), committee=made)
    with pytest.raises(SecFCError, match="owner 3: not"):
        run_multiprocess(setup)


def test_a_client_lost_in_the_union_stops_the_run_and_says_what_a_new_one_would_show(setup_of, started):
    setup = setup_of(ids=True, salt=bytes(16))

    def kill(progress):
        if progress.phase == "share" and started[1].poll() is None:
            started[1].send_signal(signal.SIGKILL)

    text = (
        r"^client 2 is absent before all rows were shared; .*the union of the new run would show how "
        r"many rows .*; the last: parties\[1\]: its process ended without a result \(signal 9\)$"
    )
    with pytest.raises(TooManyFaultsError, match=text):
        run_multiprocess(setup, kill)


BROKEN = """
    from secfc.errors import CheatError, LimitError, MessageError
    from secfc.protocol.client import Client
    from secfc.protocol.messages import {kind}
    real = Client.receive

    def broken(self, message):
        if isinstance(message, {kind}) and message.round == {round}:
            raise {error}("123456.789")
        return real(self, message)

    Client.receive = broken
"""


@pytest.mark.parametrize("error", ["ValueError", "MessageError"])
def test_a_client_that_breaks_in_the_iterations_is_done_without(setup_of, sabotage, error):
    sabotage(4, BROKEN.format(kind="StepNotice", round=2, error=error))
    setup = setup_of((4, 3, 5, 6, 2))
    outcome, whole = run_multiprocess(setup), run_in_process(setup)
    for ours, theirs in zip(outcome.labels, whole.labels, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert outcome.inertia == whole.inertia
    assert list(outcome.lost) == [4]
    assert str(outcome.lost[4]).startswith("parties[3]: ")


@pytest.mark.parametrize("error", ["LimitError", "CheatError"])
def test_a_clients_limit_or_a_cheating_server_ends_the_run_in_the_iterations_too(setup_of, sabotage, error):
    sabotage(4, BROKEN.format(kind="StepNotice", round=2, error=error))
    with pytest.raises(getattr(secfc.errors, error), match=r"^parties\[3\]: 123456\.789$"):
        run_multiprocess(setup_of((4, 3, 5, 6, 2)))


def test_a_client_that_breaks_while_rows_are_shared_is_left_out(setup_of, sabotage):
    sabotage(4, BROKEN.format(kind="Plan", round=0, error="ValueError"))
    outcome = run_multiprocess(setup_of((4, 3, 5, 6, 2)))
    assert outcome.faults.left_out == (4,)
    assert list(outcome.lost) == [4]
    assert str(outcome.lost[4]) == "parties[3]: ValueError at <string>:9 in broken"


FORGED = """
    from dataclasses import replace
    from secfc.protocol.client import Client
    from secfc.protocol.messages import StepReport
    real = Client.receive

    def receive(self, message):
        return [
            replace(one, data=bytes(one.data) + b"more") if type(one) is StepReport and one.round else one
            for one in real(self, message)
        ]

    Client.receive = receive
"""


def test_a_client_whose_answer_is_refused_is_absent_from_then_on(setup_of, sabotage):
    sabotage(2, FORGED)
    refused = r"absent: client 2; .*Step: 4 bytes are no letter"
    with pytest.raises(TooManyFaultsError, match=refused):  # three are needed
        run_multiprocess(setup_of((4, 3, 5)))


def test_a_call_to_a_process_that_hangs_has_no_answer_in_time_and_is_repeated(setup_of, started, monkeypatch):
    real, hung = pipes.PartyProcess.send, []

    def send(self, data, timeout):
        if self.process is started[1] and not hung:
            self.process.send_signal(signal.SIGSTOP)
            hung.append(real(self, data, 0.05))
            self.process.send_signal(signal.SIGCONT)
        return real(self, data, timeout)

    monkeypatch.setattr(pipes.PartyProcess, "send", send)
    assert_equal(run_multiprocess(setup_of()), run_in_process(setup_of()))
    assert hung == [None]
