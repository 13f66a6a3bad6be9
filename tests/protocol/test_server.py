"""The server against an adversary: duplicates, replays, wrong answers, reordered, late and missing mail."""

from dataclasses import replace

import numpy as np
import pytest

from secfc.errors import MessageError, ParameterError, RangeError, SealError
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.messages import SERVER, CodedDistances, Hello, Plan, Ready
from secfc.protocol.states import State

pytestmark = pytest.mark.questions

ROWS = [[[0.0, 1.0], [0.5, 1.0]], [[9.0, 1.0], [9.5, 2.0], [8.0, 1.0]], [[0.2, 1.0]]]
STARTS = [[0, 1], [0, 1, 0], [1]]
P = 16760833
"""The first prime of the ring."""

_RNG = np.random.default_rng(5)
MANY = [_RNG.normal(size=(size, 3)).round(3) for size in (6, 9, 0, 5, 8)]
"""Five clients, of which three answers are enough."""


@pytest.fixture
def answered(wire):
    """A run with given starts, and client 1's first answer, not delivered."""
    net = wire(ROWS, starts=STARTS)
    return net, net.hold(CodedDistances, recipient=SERVER, sender=1)


@pytest.fixture(scope="module")
def expected(wire):
    """How the run of MANY ends if all mail arrives in order."""
    return ending(wire(MANY, k=4, seed=3))


def ending(net, **how):
    """Run with a delivery order; return labels and number of iterations."""
    net.run(**how)
    assert net.server.state is State.DONE
    return net.labels(), net.server.outcome.n_iter, net.server.outcome.inertia


# Duplicates and replays


def test_a_second_hello_with_other_rows_is_refused(wire, refuses):
    net = wire(ROWS)
    hello = net.hold(Hello, recipient=SERVER, sender=1)
    net.deliver(hello)
    refuses(net.server, net.signed(hello, rows=5), MessageError, "^Hello: a second one from client 1$")


def test_a_second_ready_is_refused(wire, refuses):
    net = wire(ROWS)
    ready = net.hold(Ready, recipient=SERVER)
    net.deliver(ready)
    refuses(
        net.server,
        ready,
        MessageError,
        f"^Ready: part 0 from client {ready.sender}, which is at part 1 of 1$",
    )


def test_a_second_answer_in_a_round_is_refused(answered, refuses):
    net, answer = answered
    net.deliver(answer)
    text = "part 0 of round 1 from client 1, part 0 of round 2 is next; the server is in round 1$"
    refuses(net.server, answer, MessageError, f"^CodedDistances: {text}")


@pytest.mark.parametrize("round_", [0, 2, 2**32 - 1])
def test_an_answer_to_a_round_never_asked_is_refused(answered, refuses, round_):
    net, answer = answered
    text = f"part 0 of round {round_} from client 1, part 0 of round 1 is next; the server is in round 1$"
    refuses(net.server, replace(answer, round=round_), MessageError, f"^CodedDistances: {text}")


# Hellos


def test_start_labels_nobody_asked_for_are_refused(wire, refuses):
    net = wire(ROWS)
    hello = replace(net.hold(Hello, recipient=SERVER, sender=1), start=np.array([0, 1], dtype=np.int32))
    text = "^Hello: given start labels from client 1, init='random'$"
    refuses(net.server, hello, MessageError, text)


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        (None, "no start labels from client 1, init='labels'"),
        ([], "0 start labels for 2 rows from client 1"),
        ([0, 0, 0], "3 start labels for 2 rows from client 1"),
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


# Answers


@pytest.mark.parametrize(
    "shape", [(2, 2, 6), (4, 2, 6), (0, 2, 6), (3, 2, 5), (3, 2, 7), (3, 1, 6), (3, 3, 6), (3, 6, 2)]
)
def test_an_answer_of_wrong_primes_rows_or_clusters_is_refused(answered, refuses, shape):
    net, answer = answered
    assert answer.residues.shape == (3, 2, 6)
    shown = ", ".join(map(str, shape))
    text = rf"^CodedDistances: of shape \({shown}\) from client 1, expected \(3, 2, 6\)$"
    refuses(net.server, net.altered(answer, shape=shape), MessageError, text)


def others_answer(net):
    """Let clients 2 and 3 answer too; return what the last answer causes, or the error."""
    net.deliver(net.hold(CodedDistances, recipient=SERVER, sender=2))
    return net.server.receive(net.hold(CodedDistances, recipient=SERVER, sender=3))


@pytest.mark.parametrize("residue", [P, P + 1, 2**24 - 1])
def test_an_answer_with_a_residue_not_below_its_prime_is_refused_when_it_is_decoded(
    answered, pictured, residue
):
    net, answer = answered
    assert net.server.receive(net.altered(answer, first=residue)) == []
    before = pictured(net.server.phase.search)
    text = f"^CodedDistances: a residue from client 1 is not below its prime {P}$"
    with pytest.raises(MessageError, match=text):
        others_answer(net)
    assert pictured(net.server.phase.search) == before
    assert (net.server.progress.round, net.server.progress.waiting_for) == (1, 1)
    assert net.server.gathering.expected == {1: (1, 0), 2: (2, 0), 3: (2, 0)}


def test_an_answer_with_the_largest_residue_is_taken(answered):
    net, answer = answered
    assert net.server.receive(net.altered(answer, first=P - 1)) == []
    with pytest.raises(RangeError, match="an answer, are wrong"):  # of the distances, not of the message
        others_answer(net)


# Mail in another order, late or lost


@pytest.mark.parametrize("silent", [(1, 2), (1, 5), (3, 4), (4, 5)])
def test_two_of_five_clients_may_fall_silent_for_good(wire, expected, silent):
    def drop(message):
        return isinstance(message, CodedDistances) and message.sender in silent

    assert ending(wire(MANY, k=4, seed=3), drop=drop) == expected


def test_too_few_answers_leave_the_round_open(wire):
    net = wire(MANY, k=4)
    net.run(drop=lambda message: isinstance(message, CodedDistances) and message.sender > 2)
    assert net.server.state is State.ITERATE
    assert (net.server.progress.round, net.server.progress.waiting_for) == (1, 1)


def test_a_late_answer_changes_nothing_but_the_count_of_its_rounds(wire, expected):
    net = wire(MANY, k=4, seed=3)
    late = net.hold(CodedDistances, recipient=SERVER, sender=5)
    net.run(until=lambda: net.server.progress.round == 2)
    sets = net.server.phase.search.sets.copy()
    assert net.server.receive(late) == []
    assert net.server.gathering._answers == {}
    np.testing.assert_array_equal(net.server.phase.search.sets, sets)
    assert ending(net) == expected


def test_a_late_answer_may_skip_rounds_but_neither_skip_a_part_nor_go_back(wire, refuses):
    net = wire(MANY, k=4, seed=3)
    first = net.hold(CodedDistances, recipient=SERVER, sender=5)
    net.run(drop=lambda message: message.sender == 5 and message.recipient == SERVER)
    last = net.server.progress.round
    assert last >= 3
    for round_, part in [(1, 1), (2, 1), (last, 1), (last + 1, 0)]:
        text = f"^CodedDistances: part {part} of round {round_} from client 5, part 0 of round 1 is next"
        refuses(net.server, replace(first, round=round_, part=part), MessageError, text)
    assert net.server.receive(replace(first, round=2)) == []
    for round_ in (1, 2):
        text = f"^CodedDistances: part 0 of round {round_} from client 5, part 0 of round 3 is next"
        refuses(net.server, replace(first, round=round_), MessageError, text)
    assert net.server.receive(replace(first, round=3)) == []


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
    phases = ["identify"] * 3 + ["share"] * 3 + ["iterate"] * 3
    assert seen == [*zip(phases, [3, 2, 1] * 3, strict=True), ("iterate", 3)]


def test_progress_ends_with_reveal_and_the_inertia_in_data_units(wire):
    net = wire([[[0.0], [1.0]], [[8.0]], [[9.0]]], starts=[[0, 0], [1], [1]], bound=16.0)
    net.run()
    assert (net.server.progress.phase, net.server.progress.waiting_for) == ("reveal", 0)
    assert net.server.progress.inertia == 1.0
