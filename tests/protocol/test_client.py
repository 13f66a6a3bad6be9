"""A client before it shares rows: plans that it refuses, its limits, and what it keeps and shows."""

import gc
import hashlib
import struct
import weakref
from dataclasses import replace

import numpy as np
import pytest

from secfc.crypto.handshake import digest_of
from secfc.crypto.identity import Identity, Roster
from secfc.crypto.randomness import MaskSource
from secfc.errors import DataError, LimitError, MessageError
from secfc.protocol.client import Client
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import make_job
from secfc.protocol.messages import (
    Hello,
    Plan,
)
from secfc.protocol.states import State

ROWS = [[[0.0, 1.0], [0.5, 1.0]], [[9.0, 1.0], [9.5, 2.0], [8.0, 1.0]], [[0.2, 1.0]]]
STARTS = [[0, 1], [0, 1, 0], [1]]
RUN = bytes(range(16))


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


# Limits


def test_rows_too_few_for_sets_of_the_smallest_size_are_refused_before_a_share_is_made(wire, refuses):
    net = wire(ROWS, limits=Limits(smallest_set=4))
    text = "^client 1 answers for sets of at least 4 rows, but 6 rows are too few for k=2 such sets$"
    refuses(net.clients[1], net.hold(Plan, recipient=1), LimitError, text)


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
    session = job.session(roster, RUN)
    return Client(
        number=2, rows=rows, job=job, session=session, identity=identities[1], masks=MaskSource(), **more
    )


def test_own_rows_are_dropped_when_the_run_has_ended(wire):
    rows = np.array([[3.0, 1.0], [0.5, 4.0]])
    alive = weakref.ref(rows)
    net = wire([ROWS[0], rows.tolist(), ROWS[2]])
    net.replace_client(2, rows=rows)
    del rows
    gc.collect()
    assert alive() is not None
    net.run()
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
