"""Parties that are killed, hang or break are named, and the run continues without them if possible."""

import signal
from dataclasses import replace

import numpy as np
import pytest

import secfc
from plaintext_baselines import ExactLloyd
from secfc.drivers.calls.coordinator import Coordinator
from secfc.drivers.deposits.committee import Committee
from secfc.drivers.in_process import run_in_process
from secfc.drivers.multiprocess import run_multiprocess
from secfc.drivers.setup import Setup
from secfc.errors import (
    DataError,
    LimitError,
    MessageError,
    ParameterError,
    SecFCError,
    TooManyFaultsError,
)
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import make_job
from secfc.protocol.messages.wire import envelope
from secfc.tables.ids import row_ids

pytestmark = pytest.mark.processes


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
    text = r"client \d answers for sets of at least 4 rows, but round 1 has a set of \d$"
    with pytest.raises(LimitError, match=text):
        run_multiprocess(setup_of(limits=Limits(smallest_set=4)))


def test_an_error_of_the_server_ends_the_run(setup_of):
    setup = setup_of((1, 0, 1), k=2, starts=True)
    setup.starts[2][0] = 0
    with pytest.raises(ParameterError, match=r"^init: 1 of 2 clusters have no row"):
        run_multiprocess(setup)


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


def test_a_killed_member_of_a_committee_takes_no_rows_with_it(started):
    """The other members' copies of labels are enough for every owner."""
    rng = np.random.default_rng(2)
    rows = [rng.normal(size=(m, 2)) for m in (40, 1, 0, 30, 9, 25, 60)]
    job = make_job(n=5, k=4, t=1, ell=1, d=2, bound=9.0, seed=3)
    made = Committee.of(job, rows, keeps=True)
    names = [f"member {j}" for j in range(1, 6)]
    setup = Setup(job=made.job, rows=rows, starts=None, names=names, limits=Limits(), committee=made)

    def kill(progress):
        if progress.round == 2 and started[4].poll() is None:
            started[4].send_signal(signal.SIGKILL)

    outcome = run_multiprocess(setup, kill)
    exact = ExactLloyd(4, init=outcome.by_party(outcome.start), bound=9.0).fit(rows)
    for ours, theirs in zip(outcome.labels, exact.labels_, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert list(outcome.lost) == [5]  # perhaps only after the last round, which needs no answer of it
    assert list(outcome.lost) == [5]


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
    ids = [list(range(5)), [], list(range(10, 17))]
    held = [row_ids(one, key=bytes(32), name="party") for one in ids]
    setup = replace(setup_of(ids_cap=12), ids=held, salt=bytes(16))

    def kill(progress):
        if progress.phase == "union" and started[1].poll() is None:
            started[1].send_signal(signal.SIGKILL)

    text = (
        r"^client 2 is absent before all rows were shared; .*the union of the new run would show how "
        r"many rows .*; the last: parties\[1\]: its process ended without a result \(signal 9\)$"
    )
    with pytest.raises(TooManyFaultsError, match=text):
        run_multiprocess(setup, kill)


@pytest.mark.usefixtures("deadlines_pass_at_a_standstill")
def test_a_client_that_hangs_in_the_union_stops_the_run_after_the_deadline(setup_of, started):
    ids = [list(range(5)), [], list(range(10, 17))]
    held = [row_ids(one, key=bytes(32), name="party") for one in ids]
    setup = replace(setup_of(ids_cap=12), ids=held, salt=bytes(16), deadline=15.0)

    def stop(progress):
        if progress.phase == "union" and started[1].poll() is None:
            started[1].send_signal(signal.SIGSTOP)

    with pytest.raises(TooManyFaultsError, match=r"; the last: parties\[1\]: no answer within 15 s"):
        run_multiprocess(setup, stop)


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
    sabotage(4, BROKEN.format(kind="Assignment", round=2, error=error))
    setup = setup_of((4, 3, 5, 6, 2))
    outcome, whole = run_multiprocess(setup), run_in_process(setup)
    for ours, theirs in zip(outcome.labels, whole.labels, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert outcome.inertia == whole.inertia
    assert list(outcome.lost) == [4]
    assert str(outcome.lost[4]).startswith("parties[3]: ")


@pytest.mark.some(1)
@pytest.mark.parametrize("kind", ["Plan", "CoinRequest"])
def test_a_helper_that_breaks_before_the_first_question_ends_the_run_by_name(setup_of, sabotage, kind):
    setup = setup_of((4, 3, 5), k=2, disclosure="labels", comparers=(1, 4, 5), seed=None)
    sabotage(5, BROKEN.format(kind=kind, round=0, error="ValueError"))
    with pytest.raises(TooManyFaultsError, match=r"^helper 5, a comparer, is absent, and no other party"):
        run_multiprocess(setup)


@pytest.mark.parametrize("error", ["LimitError", "CheatError"])
def test_a_clients_limit_or_a_cheating_server_ends_the_run_in_the_iterations_too(setup_of, sabotage, error):
    sabotage(4, BROKEN.format(kind="Assignment", round=2, error=error))
    with pytest.raises(getattr(secfc.errors, error), match=r"^parties\[3\]: 123456\.789$"):
        run_multiprocess(setup_of((4, 3, 5, 6, 2)))


def test_a_client_that_breaks_while_rows_are_shared_is_left_out(setup_of, sabotage):
    sabotage(4, BROKEN.format(kind="Plan", round=0, error="ValueError"))
    outcome = run_multiprocess(setup_of((4, 3, 5, 6, 2)))
    assert outcome.faults.left_out == (4,)
    assert list(outcome.lost) == [4]
    assert str(outcome.lost[4]) == "parties[3]: ValueError at <string>:9 in broken"


def test_a_client_that_refuses_something_while_rows_are_shared_ends_the_run(setup_of, sabotage):
    sabotage(4, BROKEN.format(kind="Plan", round=0, error="MessageError"))
    with pytest.raises(MessageError, match=r"^parties\[3\]: "):
        run_multiprocess(setup_of((4, 3, 5, 6, 2)))


FORGED = """
    from dataclasses import replace
    from secfc.protocol.client import Client
    from secfc.protocol.messages import CodedDistances, Ready
    real = Client.receive

    def receive(self, message):
        return [
            replace(one, part=one.part + 7) if type(one) is {kind} and one.round == {round} else one
            for one in real(self, message)
        ]

    Client.receive = receive
"""


def test_a_client_whose_answer_is_refused_is_absent_from_then_on(setup_of, sabotage):
    sabotage(2, FORGED.format(kind="CodedDistances", round=2))
    refused = r"absent: client 2; .*CodedDistances: part 7 of round 2 from client 2"
    with pytest.raises(TooManyFaultsError, match=refused):  # three are needed
        run_multiprocess(setup_of((4, 3, 5)))


def test_a_client_whose_message_is_refused_while_rows_are_shared_ends_the_run(setup_of, sabotage):
    sabotage(2, FORGED.format(kind="Ready", round=0))
    with pytest.raises(MessageError, match=r"Ready: .*client 2"):
        run_multiprocess(setup_of((4, 3, 5, 6, 2)))


def test_why_a_client_was_lost_is_said_in_the_warning(setup_of, sabotage):
    sabotage(2, BROKEN.format(kind="Assignment", round=2, error="ValueError"))
    rows = setup_of((4, 3, 5, 6, 2)).rows
    with pytest.warns(secfc.FaultWarning, match=r"ValueError at <string>:9") as told:
        secfc.run(rows, 3, 1, 1, seed=1, driver="multiprocess", disclosure="coded")
    assert "123456" not in str(told[0].message)


@pytest.mark.usefixtures("deadlines_pass_at_a_standstill")
def test_where_too_few_are_left_to_open_the_centres_clients_have_their_labels(
    setup_of, sabotage, monkeypatch
):
    # Four of five are needed to open. The last one vanishes with its result, and client 4 confirms to nobody.
    real = Coordinator._carry

    def carry(self, client, data):
        if (envelope(data).kind, client) != ("Witness", 4):
            real(self, client, data)

    monkeypatch.setattr(Coordinator, "_carry", carry)
    sabotage(5, BROKEN.format(kind="Finish", round=0, error="ValueError"))
    setup = setup_of((4, 3, 5, 6, 2), reveal_to=(1,), limits=Limits(reveal_centres=True))
    outcome, whole = run_multiprocess(setup), run_in_process(setup)
    assert whole.centres is not None
    assert outcome.centres is None
    for ours, theirs in zip(outcome.labels[:4], whole.labels[:4], strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.usefixtures("deadlines_pass_at_a_standstill")
def test_labels_that_fewer_than_r_confirm_are_nobodys_where_centres_are_opened_too(setup_of, sabotage):
    sabotage(3, BROKEN.format(kind="Finish", round=0, error="ValueError"))
    setup = setup_of((4, 3, 5), reveal_to=(1,), limits=Limits(reveal_centres=True))
    with pytest.raises(
        secfc.TooManyFaultsError, match=r"^too few parties can confirm the result to parties\[0\]"
    ):
        run_multiprocess(setup)


@pytest.mark.parametrize("round_", [1, 2])
def test_a_killed_client_leaves_its_rows_in_when_enough_are_left(setup_of, started, round_):
    def kill(progress):
        if progress.round == round_ and started[3].poll() is None:
            started[3].send_signal(signal.SIGKILL)

    setup = setup_of((4, 3, 5, 6, 2))
    outcome, whole = run_multiprocess(setup, kill), run_in_process(setup)
    for ours, theirs in zip(outcome.labels, whole.labels, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert outcome.inertia == whole.inertia


def test_a_client_that_dies_while_sharing_is_left_out_as_a_whole(setup_of, sabotage):
    code = """
        import os, signal
        from secfc.protocol.phases.client_identify import ClientIdentify

        def killed(self, plan):
            os.kill(os.getpid(), signal.SIGKILL)

        ClientIdentify.step = killed
    """
    sabotage(2, code)
    setup = setup_of((4, 3, 5, 6, 2))
    outcome = run_multiprocess(setup)
    assert outcome.faults.left_out == (2,)
    assert (outcome.labels[1] == -1).all()
    assert all((outcome.labels[at] >= 0).all() for at in (0, 2, 3, 4))


@pytest.mark.usefixtures("deadlines_pass_at_a_standstill")
def test_a_client_that_hangs_is_given_up_after_the_deadline(setup_of, started):
    def stop(progress):
        if progress.round == 2 and started[0].poll() is None:
            started[0].send_signal(signal.SIGSTOP)

    setup = replace(setup_of((4, 3, 5, 6, 2), max_liars=1), deadline=5.0)
    outcome = run_multiprocess(setup, stop)
    assert all((labels >= 0).all() for labels in outcome.labels)


@pytest.mark.usefixtures("deadlines_pass_at_a_standstill")
def test_a_client_that_hangs_before_it_is_introduced_is_named_after_the_deadline(setup_of, sabotage):
    sabotage(2, "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)")
    text = r"; the last: parties\[1\]: no answer within 15 s$"
    with pytest.raises(TooManyFaultsError, match=text):
        run_multiprocess(replace(setup_of(), deadline=15.0))
