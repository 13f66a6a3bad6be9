"""A prediction's messages: sets that only their owners choose, one question, and nobody left out."""

from dataclasses import replace

import numpy as np
import pytest

from secfc.errors import LimitError, MessageError, SealError, TooManyFaultsError
from secfc.protocol.job.limits import Limits
from secfc.protocol.messages import SERVER, Assignment, Finish, Hello, LeaveOut, Plan, Ready
from secfc.protocol.states import State

# Old rows 0 and 2, 8 and 10; new ones 4, 5 and 6.
ROWS = [[[0.0], [4.0], [2.0]], [[8.0], [5.0]], [[6.0], [10.0]], [], []]
STARTS = [[0, -1, 0], [1, -1], [-1, 1], [], []]
FOUND = [[0, 0, 0], [1, 0], [1, 1], [], []]


@pytest.fixture
def net(wire):
    return wired(wire)


def wired(wire, more_clients=0, **more):
    """A prediction of these clients, and of more without rows."""
    rows = [np.array(part).reshape(-1, 1) for part in ROWS + [[]] * more_clients]
    given = {
        "starts": STARTS + [[]] * more_clients,
        "max_iter": 1,
        "predict": True,
        "limits": Limits(predict=True),
    }
    return wire(rows, **given | more)


@pytest.mark.questions
def test_the_server_is_told_nothing_but_the_question(net):
    finish = net.hold(Finish, recipient=2)
    assert (finish.n_iter, finish.converged, finish.inertia) == (0, True, 0.0)
    assert net.server.gathering.round == 1


@pytest.mark.parametrize(
    ("row", "label", "owner"),
    [(1, 0, 1), (1, 1, 1), (0, -1, 1), (0, 1, 1), (4, 0, 2), (3, -1, 2), (5, 1, 3)],
)
@pytest.mark.questions
def test_sets_other_than_those_that_each_client_signed_are_refused(net, refuses, row, label, owner):
    assignment = net.hold(Assignment, recipient=4)
    sets = assignment.sets.copy()
    sets[row] = label
    text = f"^Assignment: round 1 has not the start labels that client {owner} signed$"
    refuses(net.clients[4], replace(assignment, sets=sets), SealError, text)
    net.deliver(assignment)


@pytest.mark.questions
def test_a_second_round_is_refused(net, refuses):
    assignment = net.hold(Assignment, recipient=1)
    net.deliver(assignment)
    again = replace(assignment, round=2)
    refuses(
        net.clients[1],
        again,
        LimitError,
        "^client 1 answers 1 rounds at most, but round 2 would begin$",
    )


@pytest.mark.questions
def test_what_vanished_responders_left_is_asked_of_others_about_the_same_sets(wire, refuses, monkeypatch):
    monkeypatch.setattr("secfc.protocol.job.job._FEW_ANSWER", 4)
    net, gone = wired(wire, more_clients=5), {3, 4, 5, 6}
    assert (net.job.named, net.job.max_rounds) == (6, 3)
    net.hold(Assignment, recipient=1)
    for client in gone:
        net.post(net.server.absent(client))
    again = net.hold(Assignment, recipient=1)
    assert again.round == 2
    sets = again.sets.copy()
    sets[0] = 1
    text = "^Assignment: round 2 has not the start labels that client 1 signed$"
    refuses(net.clients[1], replace(again, sets=sets), SealError, text)
    net.deliver(again)
    net.run(drop=lambda message: message.recipient in gone)
    assert [net.clients[j].labels.tolist() for j in (1, 2)] == FOUND[:2]


@pytest.mark.questions
def test_a_client_refuses_a_result_with_another_label_for_its_old_row(net, refuses):
    finish = net.hold(Finish, recipient=1)
    labels = finish.labels.copy()
    labels[0] = 1
    text = "^Finish: a prediction has another label for a row that has one$"
    refuses(net.clients[1], replace(finish, labels=labels), MessageError, text)


@pytest.mark.questions
def test_nobody_can_be_left_out(wire, refuses):
    net = wired(wire)
    net.hold(Ready, recipient=SERVER, sender=5)
    text = (
        "^client 5: absent; a prediction can leave no party out, because the centres are means of all "
        "parties' rows$"
    )
    with pytest.raises(TooManyFaultsError, match=text):
        net.server.absent(5)
    net = wired(wire)
    plan = net.hold(Plan, recipient=1)
    without = replace(plan, introductions=(*plan.introductions[:4], None))
    refuses(
        net.clients[1], without, MessageError, "^Plan: without client 5, whom a prediction cannot do without$"
    )
    net = wired(wire)
    net.run(until=lambda: net.clients[1].state is State.ITERATE)
    out = LeaveOut(run=net.session.run, sender=SERVER, recipient=1, client=5)
    refuses(
        net.clients[1], out, MessageError, "^LeaveOut: without client 5, whom a prediction cannot do without$"
    )


@pytest.mark.questions
def test_a_client_that_deals_badly_ends_the_prediction(wire):
    net = wired(wire, max_liars=1)
    net.deal_badly(2, (1,))
    with pytest.raises(TooManyFaultsError, match=r"^client 2: .*; a prediction can leave no party out"):
        net.run()


def test_rows_without_a_start_label_are_for_predictions_only(wire, refuses):
    net = wire(ROWS[:3], starts=[[0, 1, 0], [1, 0], [1, 1]])
    hello = net.hold(Hello, recipient=SERVER, sender=1)
    message = replace(hello, start=np.array([0, -1, 0], dtype=np.int32))
    refuses(net.server, message, MessageError, "^Hello: a row of client 1 has no start label$")
