"""The server before rows are shared: introductions that it refuses, what it plans, and its progress."""

from dataclasses import replace

import numpy as np
import pytest

from secfc.errors import MessageError, ParameterError, SealError
from secfc.field.primes import PRIMES
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.messages import SERVER, Hello, Plan

ROWS = [[[0.0, 1.0], [0.5, 1.0]], [[9.0, 1.0], [9.5, 2.0], [8.0, 1.0]], [[0.2, 1.0]]]
STARTS = [[0, 1], [0, 1, 0], [1]]


# Duplicates and replays


def test_a_second_hello_with_other_rows_is_refused(wire, refuses):
    net = wire(ROWS)
    hello = net.hold(Hello, recipient=SERVER, sender=1)
    net.deliver(hello)
    refuses(net.server, net.signed(hello, rows=5), MessageError, "^Hello: a second one from client 1$")


# Hellos


def test_start_labels_nobody_asked_for_are_refused(wire, refuses):
    net = wire(ROWS)
    hello = replace(net.hold(Hello, recipient=SERVER, sender=1), start=np.array([0, 1], dtype=np.int32))
    text = "^Hello: 2 start labels for 2 rows from client 1, init='random'$"
    refuses(net.server, hello, MessageError, text)


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        (None, "0 start labels for 2 rows from client 1, init='labels'"),
        ([0, 0, 0], "3 start labels for 2 rows from client 1, init='labels'"),
        ([0, -1], "a row of client 1 has no start label"),
    ],
)
def test_start_labels_that_are_none_of_these_rows_are_refused(wire, refuses, labels, text):
    net = wire(ROWS, starts=STARTS)
    hello = net.hold(Hello, recipient=SERVER, sender=1)
    start = None if labels is None else np.array(labels, dtype=np.int32)
    refuses(net.server, replace(hello, start=start), MessageError, f"^Hello: {text}$")


def test_start_labels_other_than_those_signed_are_refused(wire, refuses):
    net = wire(ROWS, starts=STARTS)
    hello = net.hold(Hello, recipient=SERVER, sender=1)
    message = replace(hello, start=1 - hello.start)
    refuses(net.server, message, MessageError, "^Hello: client 1 signed other start labels or weights$")
    net.deliver(net.signed(hello, start=1 - hello.start))


def test_another_agreement_is_refused_with_both_digests(wire, refuses):
    net = wire(ROWS)
    message = replace(net.hold(Hello, recipient=SERVER, sender=2), agreement=bytes(range(32)))
    text = "^Hello: client 2 agreed on another job or roster, digest 0001020304050607; the server's is "
    refuses(net.server, message, MessageError, text + net.session.agreement[:8].hex() + "$")


@pytest.mark.parametrize("changes", [{"rows": 4}, {"ephemeral": bytes(32)}, {"signature": bytes(64)}])
def test_a_hello_with_what_its_client_has_not_signed_is_refused(wire, refuses, changes):
    net = wire(ROWS)
    hello = net.hold(Hello, recipient=SERVER, sender=2)
    message = replace(hello, introduction=replace(hello.introduction, **changes))
    refuses(net.server, message, SealError, "^client 2: what it says of itself is not signed for this run")


def last_hello(net):
    """Deliver all Hellos but client 3's; return that one."""
    return net.hold(Hello, recipient=SERVER, sender=3)


def test_fewer_rows_than_clusters_end_the_run_before_a_plan(wire):
    net = wire([[[0.0]], np.zeros((0, 1)), np.zeros((0, 1))])
    with pytest.raises(ParameterError, match=r"^k: 2 clusters asked for, the parties hold 1 rows in all$"):
        net.server.receive(last_hello(net))
    assert net.pending() == []


def test_more_rows_than_a_run_can_have_end_it_before_a_plan(wire):
    net = wire(ROWS)
    with pytest.raises(ParameterError, match=f"at most {2**29} rows in all, {2**32 + 4} were given"):
        net.server.receive(net.signed(last_hello(net), rows=2**32 - 1))
    assert net.pending() == []


def test_columns_whose_messages_would_be_oversized_end_the_run_before_a_plan(wire):
    d = 2**31 // (3 * 3 * 256) + 1
    net = wire([np.zeros((1, d))] * 3)
    assert net.job.residues(3) == 3
    text = f"^k, d: {d} columns in 3 residues make messages of {9 * 256 * d + 64} bytes, at most {2**31} are"
    with pytest.raises(ParameterError, match=text):
        net.server.receive(last_hello(net))
    assert net.pending() == []


def test_as_many_rows_and_clusters_as_a_run_can_have_make_messages_that_are_sent(wire):
    net = wire(ROWS, k=65535)
    Layout((2, 3, 2**29 - 5)).check(net.job)
    with pytest.raises(ParameterError, match=f"at most {2**29} rows in all, {2**29 + 1} were given"):
        Layout((2, 3, 2**29 - 4)).check(net.job)


def test_sets_of_hidden_labels_have_fewer_rows_than_the_first_prime(wire):
    job = wire(ROWS, disclosure="labels").job
    Layout((2, 3, PRIMES[0].p - 6)).check(job)
    with pytest.raises(
        ParameterError, match=f"at most {PRIMES[0].p - 1} rows with hidden labels, {PRIMES[0].p} "
    ):
        Layout((2, 3, PRIMES[0].p - 5)).check(job)


def test_a_start_cluster_without_a_row_ends_the_run_before_a_plan(wire):
    net = wire(ROWS, starts=[[0, 0], [0, 0, 0], [0]])
    with pytest.raises(ParameterError, match="1 of 2 clusters have no row in the start labels"):
        net.server.receive(last_hello(net))
    assert net.pending() == []


def test_the_plan_tells_every_client_the_same_introductions(wire):
    net = wire(ROWS)
    plans = net.server.receive(last_hello(net))
    assert [plan.recipient for plan in plans] == [1, 2, 3]
    assert all(plan.introductions == tuple(net.introductions) for plan in plans)
    assert [one.rows for one in net.introductions] == [2, 3, 1]
    assert all(isinstance(plan, Plan) for plan in plans)


# What the server asks and shows


def test_progress_counts_whom_the_server_waits_for(wire):
    net = wire(ROWS)
    seen = [(net.server.progress.phase, net.server.progress.waiting_for)]

    def note():
        now = net.server.progress.phase, net.server.progress.waiting_for
        if now != seen[-1]:
            seen.append(now)
        return net.server.progress.round == 2

    net.run(until=note)
    assert seen[:3] == [("identify", 3), ("identify", 2), ("identify", 1)]
    assert ("share", 3) in seen
    assert seen[-1] == ("iterate", 3)
    assert all(0 <= waiting <= 3 for _, waiting in seen)


def test_progress_ends_with_reveal_and_the_inertia_in_data_units(wire):
    net = wire([[[0.0], [1.0]], [[8.0]], [[9.0]]], starts=[[0, 0], [1], [1]], bound=16.0)
    net.run()
    assert (net.server.progress.phase, net.server.progress.waiting_for) == ("reveal", 0)
    assert net.server.progress.inertia == 1.0
