"""Helpers: parties without rows and shares that compare, so that any t clients still learn nothing."""

from dataclasses import replace

import numpy as np
import pytest
from support.wire import Wire

from secfc.errors import MessageError, ParameterError
from secfc.protocol.messages import SERVER, Hello, Plan, Step, StepNotice, StepReport
from secfc.protocol.states import State

_RNG = np.random.default_rng(6)
ROWS = [_RNG.normal(size=(m, 2)).round(2) for m in (4, 5, 6, 3, 4, 2)]
FIRST, SECOND = HELPERS = 7, 8


@pytest.fixture
def of():
    """Six clients, any two of whom may collude, and two helpers."""

    def made(rows=ROWS, **more):
        return Wire(rows, t=2, **{"k": 3, "disclosure": "labels", **more})

    return made


@pytest.fixture
def net(of):
    return of()


def test_a_client_deals_and_helpers_evaluate_by_default(net):
    assert (net.job.comparers, net.job.parties) == ((1, FIRST, SECOND), 8)
    net.run()
    assert all(client.state is State.DONE for client in net.clients.values())
    assert [net.clients[j].labels.size for j in HELPERS] == [0, 0]


def test_a_helper_is_sent_what_is_for_helpers_alone(net):
    kinds = {j: set() for j in HELPERS}

    def drop(message):
        for j in HELPERS:
            if j in (message.sender, message.recipient):
                kinds[j].add(type(message))
        return False

    net.run(drop=drop)
    assert kinds[SECOND] == {Hello, Plan, Step, StepReport, StepNotice}


class TestRows:
    def test_a_helper_is_made_without_rows_start_and_ids(self, net):
        with pytest.raises(ParameterError, match=r"^client 8: a helper has no rows$"):
            net.client(SECOND, rows=ROWS[0], name="client 8")
        with pytest.raises(ParameterError, match="a helper has no rows"):
            net.client(SECOND, start=np.zeros(0, dtype=np.int32))

    def test_the_server_refuses_one_with_rows(self, net, refuses):
        hello = net.hold(Hello, recipient=SERVER, sender=SECOND)
        refuses(net.server, net.signed(hello, rows=1), MessageError, "^Hello: helper 8 has rows$")
        labels = np.zeros(1, dtype=np.int32)
        refuses(net.server, net.signed(hello, start=labels), MessageError, "^Hello: helper 8 has rows$")

    @pytest.mark.parametrize("client", [1, 4, FIRST, SECOND])
    def test_so_does_everybody_in_the_plan(self, net, refuses, client):
        plan = net.hold(Plan, recipient=client)
        helper = SECOND if client == FIRST else FIRST
        said = list(plan.introductions)
        said[helper - 1] = net.introduction(helper, rows=1)
        forged = replace(plan, introductions=tuple(said))
        refuses(net.clients[client], forged, MessageError, f"^Plan: helper {helper} has rows$")
        said[helper - 1] = None
        forged = replace(plan, introductions=tuple(said))
        refuses(
            net.clients[client], forged, MessageError, "^Plan: one of those who are to compare did not come$"
        )
