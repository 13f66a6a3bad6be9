"""The client against an adversary: duplicates, replays, wrong shapes and values, early mail, its limits."""

import gc
import hashlib
import math
import struct
import weakref
from dataclasses import replace

import numpy as np
import pytest

from secfc.crypto.handshake import Session, digest_of
from secfc.crypto.identity import Identity, Roster
from secfc.crypto.randomness import MaskSource
from secfc.errors import DataError, LimitError, MessageError
from secfc.protocol.client import Client
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import make_job
from secfc.protocol.messages import (
    SERVER,
    Assignment,
    Finish,
    Hello,
    LeaveOut,
    Plan,
    Share,
)
from secfc.protocol.states import State

pytestmark = pytest.mark.questions

ROWS = [[[0.0, 1.0], [0.5, 1.0]], [[9.0, 1.0], [9.5, 2.0], [8.0, 1.0]], [[0.2, 1.0]]]
STARTS = [[0, 1], [0, 1, 0], [1]]
RUN = bytes(range(16))
P = 16760833
"""The first prime of the ring."""


@pytest.fixture
def shared(wire):
    """A run whose client 1 waits for a Share from client 2, and that Share."""
    net = wire(ROWS)
    return net, net.hold(Share, recipient=1, sender=2)


@pytest.fixture
def asked(wire):
    """A run whose client 1 waits for an Assignment, and that Assignment."""
    net = wire(ROWS, starts=STARTS)
    return net, net.hold(Assignment, recipient=1)


# Duplicates and replays


def test_a_second_share_of_the_same_client_is_refused(shared, refuses):
    net, share = shared
    net.deliver(share)
    refuses(net.clients[1], share, MessageError, "^Share: part 0 from client 2, expected part 1$")


def test_a_second_early_share_of_the_same_client_is_refused(wire, refuses):
    net = wire(ROWS)
    share = net.message(Share, sender=2, recipient=1)
    net.deliver(share)
    refuses(net.clients[1], share, MessageError, "^Share: part 0 from client 2 out of turn$")


def test_a_share_after_an_early_share_of_the_same_client_is_refused(wire, refuses):
    net = wire(ROWS)
    plan = net.hold(Plan, recipient=1)
    share = net.message(Share, sender=2, recipient=1)
    net.deliver(share)
    net.deliver(plan)
    assert net.clients[1].state is State.SHARE
    refuses(net.clients[1], share, MessageError, "^Share: part 0 from client 2, expected part 1$")


def test_a_replayed_assignment_is_refused(asked, refuses):
    net, assignment = asked
    net.deliver(assignment)
    refuses(net.clients[1], assignment, MessageError, "^Assignment: round 1 after round 1$")


def test_a_round_before_the_first_is_refused(asked, refuses):
    net, assignment = asked
    message = replace(assignment, round=0)
    refuses(net.clients[1], message, MessageError, "^Assignment: round 0 after round 0$")


@pytest.mark.parametrize("round_", [2, 3, 77])
def test_a_client_that_missed_rounds_answers_the_next_one_it_is_asked(asked, round_):
    net, assignment = asked
    (answer,) = net.clients[1].receive(replace(assignment, round=round_))
    assert (answer.round, answer.part) == (round_, 0)


def test_skipping_rounds_does_not_get_around_the_most_that_a_client_answers(asked, refuses):
    net, assignment = asked
    refuses(net.clients[1], replace(assignment, round=2**32 - 1), LimitError, "round 4294967295 would begin$")


# Plans


@pytest.mark.parametrize(
    ("clients", "text"),
    [
        ((1, 2), "^2 clients introduced, the roster has 3$"),
        ((1, 2, 3, 3), "^4 clients introduced, the roster has 3$"),
        ((), "^0 clients introduced, the roster has 3$"),
    ],
)
def test_a_plan_of_another_number_of_clients_is_refused(wire, refuses, clients, text):
    net = wire(ROWS)
    introductions = tuple(net.introductions[j - 1] for j in clients)
    plan = replace(net.hold(Plan, recipient=1), introductions=introductions)
    refuses(net.clients[1], plan, MessageError, text)


@pytest.mark.parametrize("counts", [(2, 2**32 - 1, 1), (2, 2**29, 2**29)])
def test_a_plan_of_more_rows_than_a_run_can_have_is_refused(wire, refuses, counts):
    net = wire(ROWS)
    introductions = tuple(net.introduction(j, rows=count) for j, count in enumerate(counts, 1))
    plan = replace(net.hold(Plan, recipient=1), introductions=introductions)
    try:
        refuses(net.clients[1], plan, MessageError, "Plan")
    except Exception as error:
        raise AssertionError(type(error).__name__) from None


# Shares


@pytest.mark.parametrize(
    "shape",
    [(3, 2, 2), (3, 2, 4), (3, 1, 3), (3, 3, 3), (2, 2, 3), (4, 2, 3), (0, 2, 3), (3, 2, 0)],
)
def test_a_share_of_wrong_rows_width_or_primes_is_refused(shared, refuses, shape):
    net, share = shared
    assert len(share.sealed.payload) == 54 + 16
    size = 3 * math.prod(shape) + 16
    text = rf"^Share: {size} sealed bytes from client 2, shape \(3, 2, 3\) takes 70$"
    refuses(net.clients[1], net.altered(share, shape=shape), MessageError, text)


@pytest.mark.parametrize("residue", [P, P + 1, 2**24 - 1])
def test_a_share_with_a_residue_not_below_its_prime_is_refused(shared, refuses, residue):
    net, share = shared
    refuses(net.clients[1], net.altered(share, first=residue), MessageError, f"not below its prime {P}$")


def test_a_share_with_the_largest_residue_is_taken(shared):
    net, share = shared
    assert net.clients[1].receive(net.altered(share, first=P - 1)) == []


# Early shares


@pytest.mark.parametrize("shape", [(3, 2, 2), (3, 1, 3), (2, 2, 3), (255, 0, 2**32 - 1), None])
def test_an_early_share_that_is_none_counts_as_not_sent_and_the_plan_is_taken(wire, shape):
    """`None`: the shape is right, but a number is not a residue."""
    net = wire(ROWS)
    plan = net.hold(Plan, recipient=1)
    client = net.clients[1]
    bad = net.message(Share, sender=2, recipient=1)
    client.receive(net.altered(bad, first=P) if shape is None else net.altered(bad, shape=shape))
    net.deliver(plan)
    assert client.state is State.SHARE
    assert client.phase.held.sharing.received == {2: 0, 3: 0}
    in_order = wire(ROWS)
    in_order.run()
    net.run()
    assert net.labels() == in_order.labels()


# Assignments


@pytest.mark.parametrize("size", [0, 5, 7])
def test_an_assignment_of_wrong_length_is_refused(asked, refuses, size):
    net, assignment = asked
    message = replace(assignment, sets=np.zeros(size, dtype=np.int32))
    refuses(net.clients[1], message, MessageError, f"^Assignment: of {size} rows, the parties hold 6$")


def test_an_assignment_with_no_row_in_a_set_is_refused(asked, refuses):
    net, assignment = asked
    message = replace(assignment, sets=np.full(6, -1, dtype=np.int32))
    refuses(net.clients[1], message, MessageError, "^Assignment: every set is empty$")


def test_a_small_set_is_answered_with_fewer_primes_than_a_large_one(wire):
    # Squared, with the margin: 2 * 1 * 2**20 takes 67 bits, 2 * 42 * 2**20 takes 77.
    rows = [[[float(i)] for i in range(40)], [[1.0]], [[2.0]]]
    net = wire(rows, bound=64.0, precision=20)
    few, many = (net.job.residues(size) for size in (1, 42))
    assert (few, many) == (3, 4)
    assignment = net.hold(Assignment, recipient=1)
    sets = np.full(42, -1, dtype=np.int32)
    sets[:2] = [0, 1]
    (answer,) = net.clients[1].receive(replace(assignment, sets=sets))
    assert answer.residues.shape == (few, 2, 42)


# The end


@pytest.mark.parametrize("size", [0, 5, 7])
def test_a_finish_of_wrong_length_is_refused(asked, refuses, size):
    net, _ = asked
    message = replace(net.message(Finish, sender=0, recipient=1), labels=np.zeros(size, dtype=np.int32))
    refuses(net.clients[1], message, MessageError, f"^Finish: labels of {size} rows, the parties hold 6$")


def test_a_finish_with_a_row_without_label_is_refused(asked, refuses):
    net, _ = asked
    labels = np.array([0, 1, 0, 1, 0, -1], dtype=np.int32)
    message = replace(net.message(Finish, sender=0, recipient=1), labels=labels)
    refuses(net.clients[1], message, MessageError, "^Finish: a row has no label$")


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("n_iter", 301),
        ("n_iter", 2**32 - 1),
        ("inertia", float("nan")),
        ("inertia", -5e-324),
        ("inertia", float("-inf")),
    ],
)
def test_a_finish_whose_outcome_no_search_has_is_refused(wire, refuses, said, value):
    net = wire(ROWS)
    finish = net.hold(Finish, recipient=1)
    text = "0 to 300 iterations and a sum of squares are needed"
    refuses(net.clients[1], replace(finish, **{said: value}), MessageError, text)
    net.deliver(finish)


def test_a_finish_where_no_row_is_in_is_refused(wire, refuses):
    net = wire([[[0.0], [1.0]], [[2.0]], np.zeros((0, 1))])
    client = net.clients[3]
    net.run(until=lambda: client.state is State.ITERATE)
    for j in (1, 2):
        client.receive(LeaveOut(run=net.session.run, sender=SERVER, recipient=3, client=j))
    message = replace(net.message(Finish, sender=SERVER, recipient=3), labels=np.zeros(0, dtype=np.int32))
    refuses(client, message, MessageError, "^Finish: labels of 0 rows, the parties hold 0$")


# Limits


@pytest.mark.parametrize("smallest", [2, 3])
def test_a_set_below_the_smallest_is_refused_with_both_numbers(wire, refuses, smallest):
    net = wire(ROWS, starts=[[0, 0], [0, 0, 0], [1]], limits=Limits(smallest_set=smallest))
    assignment = net.hold(Assignment, recipient=1)
    text = f"^client 1 answers for sets of at least {smallest} rows, but round 1 has a set of 1$"
    refuses(net.clients[1], assignment, LimitError, text)


def test_rows_too_few_for_sets_of_the_smallest_size_are_refused_before_a_share_is_made(wire, refuses):
    net = wire(ROWS, limits=Limits(smallest_set=4))
    text = "^client 1 answers for sets of at least 4 rows, but 6 rows are too few for k=2 such sets$"
    refuses(net.clients[1], net.hold(Plan, recipient=1), LimitError, text)


def test_a_start_from_single_rows_is_refused_before_anything_is_sent(wire, monkeypatch):
    monkeypatch.setattr("secfc.protocol.job.limits.SINGLETON_STARTS", frozenset({"random"}))
    with pytest.raises(
        LimitError, match=r"^client 1 answers for sets of at least 2 rows, but init='random' uses"
    ):
        wire(ROWS, limits=Limits(smallest_set=2))
    wire(ROWS, limits=Limits(smallest_set=1))


def test_a_relocation_to_a_single_row_is_refused_in_its_round(wire, refuses):
    net = wire(ROWS, starts=STARTS, limits=Limits(smallest_set=2))
    net.deliver(net.hold(Assignment, recipient=1))
    alone = np.array([1, 0, 0, 0, 0, 0], dtype=np.int32)
    question = Assignment(run=net.session.run, sender=SERVER, recipient=1, round=2, sets=alone)
    refuses(net.clients[1], question, LimitError, "but round 2 has a set of 1$")


def test_a_set_of_the_smallest_size_is_answered(wire):
    net = wire(ROWS, starts=STARTS, limits=Limits(smallest_set=3))
    assert net.clients[1].receive(net.hold(Assignment, recipient=1))


def test_an_empty_set_is_below_no_limit(wire):
    net = wire(ROWS, limits=Limits(smallest_set=3))
    assignment = replace(net.hold(Assignment, recipient=1), sets=np.ones(6, dtype=np.int32))
    assert net.clients[1].receive(assignment)


def test_a_round_beyond_most_rounds_is_refused_with_both_numbers(wire, refuses):
    net = wire(ROWS, starts=STARTS, limits=Limits(most_rounds=1))
    first = net.hold(Assignment, recipient=1)
    net.deliver(first)
    text = "^client 1 answers 1 rounds at most, but round 2 would begin$"
    refuses(net.clients[1], replace(first, round=2), LimitError, text)


def test_more_rows_than_most_rows_are_refused_before_memory_is_taken_for_them(wire, refuses):
    net = wire(ROWS, limits=Limits(most_rows=5))
    net.replace_client(1, allocate=None)  # calling it would be a TypeError
    plan = net.hold(Plan, recipient=1)
    text = "keeps shares of 5 rows at most, but the parties have 6$"
    refuses(net.clients[1], plan, LimitError, text)


def test_as_many_rows_as_most_rows_are_kept(wire):
    net = wire(ROWS, limits=Limits(most_rows=6))
    net.run()
    assert net.server.state is State.DONE


def answered_to_the_jobs_end(net):
    """Let client 1 answer as many rounds as the job can have; return its next question."""
    question = net.hold(Assignment, recipient=1)
    for round_ in range(1, net.job.max_rounds + 1):
        net.clients[1].receive(replace(question, round=round_))
    return replace(question, round=net.job.max_rounds + 1)


@pytest.mark.parametrize("limits", [None, Limits(most_rounds=1000)], ids=["no limit", "a limit above"])
def test_a_round_that_no_honest_run_reaches_is_refused(wire, refuses, limits):
    net = wire(ROWS, starts=STARTS, max_iter=2, limits=limits)
    question = answered_to_the_jobs_end(net)
    text = "^client 1 answers 5 rounds at most, but round 6 would begin$"
    refuses(net.clients[1], question, LimitError, text)


# What the client keeps and shows


def client_of(rows, **more):
    job = make_job(
        n=3,
        k=2,
        t=1,
        ell=1,
        d=2,
        bound=20.0,
        init="labels" if "start" in more else "random",
        disclosure="coded",
    )
    identities = [Identity() for _ in range(3)]
    roster = Roster(tuple(identity.public for identity in identities), Identity().public)
    session = Session.of(job=job, roster=roster, run=RUN)
    return Client(
        number=2, rows=rows, job=job, session=session, identity=identities[1], masks=MaskSource(), **more
    )


def test_own_rows_are_dropped_after_sharing(wire):
    rows = np.array([[3.0, 1.0], [0.5, 4.0]])
    alive = weakref.ref(rows)
    net = wire([ROWS[0], rows.tolist(), ROWS[2]])
    net.replace_client(2, rows=rows)
    del rows
    gc.collect()
    assert alive() is not None
    net.deliver(net.hold(Plan, recipient=2))
    gc.collect()
    assert alive() is None


def test_the_rows_handed_over_are_not_changed(wire):
    rows = np.array([[3.0, 1.0], [0.5, 4.0]])
    before = rows.copy()
    net = wire([ROWS[0], rows.tolist(), ROWS[2]])
    net.replace_client(2, rows=rows)
    net.run()
    assert net.clients[2].state is State.DONE
    np.testing.assert_array_equal(rows, before)


def test_hello_tells_the_number_of_rows_only():
    (hello,) = client_of(np.zeros((7, 2))).start()
    assert isinstance(hello, Hello)
    assert (hello.introduction.rows, hello.start) == (7, None)
    assert hello.introduction.start == digest_of(None)


def test_hello_carries_given_start_labels():
    (hello,) = client_of(np.zeros((2, 2)), start=np.array([1, 0], dtype=np.int32)).start()
    assert hello.start.tolist() == [1, 0]
    assert hello.introduction.start == hashlib.sha256(struct.pack("<2i", 1, 0)).digest()


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (np.zeros((2, 3)), "3 columns, the other parties have 2"),
        (np.zeros((2, 2), dtype=np.float32), "two-dimensional float64 array"),
        (np.zeros(2), "two-dimensional float64 array"),
        ([[1.0, 2.0]], "two-dimensional float64 array"),
        (np.array([[1.0, np.nan]]), "1 values are NaN or infinite, the first in row 0, column 1"),
        (
            np.array([[1.0, 1.0], [99.0, 1.0]]),
            r"1 rows have a norm above the bound 20\.0, the first is row 1",
        ),
    ],
)
@pytest.mark.parametrize("name", [None, "hospital"])
def test_rows_that_cannot_be_used_are_an_error_that_names_the_party(rows, text, name):
    with pytest.raises(DataError, match=f"^{name or 'client 2'}: .*{text}"):
        client_of(rows, name=name)


@pytest.mark.parametrize(
    ("start", "text"),
    [
        (np.array([0]), "1 start labels for 2 rows"),
        (np.array([0, 2]), r"start labels must lie in 0\.\.1"),
        (np.array([0, -1]), r"start labels must lie in 0\.\.1"),
        (np.array([0.0, 1.0]), "one-dimensional integer array"),
        (np.array([[0, 1]]), "one-dimensional integer array"),
    ],
)
def test_start_labels_that_cannot_be_used_are_an_error_that_names_the_party(start, text):
    with pytest.raises(DataError, match=f"^client 2: .*{text}"):
        client_of(np.zeros((2, 2)), start=start)
