"""Weights of rows are public and the same for every party. A party that sends others is refused."""

from dataclasses import replace

import numpy as np
import pytest

from secfc.errors import MessageError, SealError
from secfc.protocol.messages import SERVER, Hello, Plan

ROWS = [[[0.0], [1.0]], [[5.0]], [[6.0], [2.0]]]
WEIGHTS = [[3, 1], [2], [1, 9]]
STARTS = [[0, 0], [1], [1, 0]]


@pytest.fixture(params=["k-means++", "random", "labels"])
def net(request, wire):
    given = {"starts": STARTS} if request.param == "labels" else {"init": request.param}
    return wire(ROWS, weights=WEIGHTS, disclosure="labels", **given)


def plan_to(net, client):
    return net.hold(Plan, recipient=client, sender=SERVER)


def test_every_client_is_told_all_weights(net):
    assert plan_to(net, 2).weights.tolist() == [3, 1, 2, 1, 9]


def test_a_server_that_tells_one_client_other_weights_is_refused_before_anything_is_answered(net, refuses):
    plan = plan_to(net, 2)
    changed = plan.weights.copy()
    changed[0] += 1
    text = "^Plan: it has not the weights that client 1 signed$"
    refuses(net.clients[2], replace(plan, weights=changed), SealError, text)


@pytest.mark.parametrize("size", [0, 4, 6])
def test_weights_of_other_rows_are_refused(net, refuses, size):
    plan = plan_to(net, 3)
    other = None if not size else np.ones(size, dtype=np.int64)
    refuses(
        net.clients[3], replace(plan, weights=other), MessageError, "^Plan: other weights than those of 5"
    )


def test_weights_in_a_job_without_are_refused(wire, refuses):
    net = wire(ROWS, disclosure="labels", init="random")
    plan = plan_to(net, 1)
    more = replace(plan, weights=np.ones(5, dtype=np.int64))
    refuses(net.clients[1], more, MessageError, "^Plan: other weights than those of 5 rows, weighted=False$")


@pytest.mark.parametrize("weights", [None, [3], [3, 1, 1]])
def test_a_hello_with_weights_of_other_rows_is_refused(net, refuses, weights):
    hello = net.hold(Hello, recipient=SERVER, sender=1)
    other = None if weights is None else np.array(weights)
    refuses(net.server, replace(hello, weights=other), MessageError, r"^Hello: \d weights for 2 rows from cl")


def test_a_hello_with_other_weights_than_were_signed_is_refused(net, refuses):
    hello = net.hold(Hello, recipient=SERVER, sender=1)
    other = replace(hello, weights=hello.weights[::-1].copy())
    refuses(net.server, other, MessageError, "^Hello: client 1 signed other start labels or weights$")


def test_weights_of_a_client_that_does_not_come_are_those_of_nobody(wire):
    net = wire([*ROWS, [[7.0]]], weights=[*WEIGHTS, [100]], disclosure="labels", init="random")
    for sender in (1, 2, 3):
        net.deliver(net.hold(Hello, recipient=SERVER, sender=sender))
    plan = next(one for one in net.server.absent(4) if isinstance(one, Plan))
    assert plan.weights.tolist() == [3, 1, 2, 1, 9]


def test_no_error_shows_a_weight(net, refuses):
    plan = plan_to(net, 2)
    assert "9" not in repr(plan)
