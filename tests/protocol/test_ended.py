"""A client whose run ended with an error refuses every message and sends nothing."""

from dataclasses import replace

import numpy as np
import pytest

from secfc.errors import CheatError, LimitError, MessageError, TooManyFaultsError
from secfc.protocol.job.limits import Limits
from secfc.protocol.messages import (
    RUNNING,
    SERVER,
    Assignment,
    CentreShare,
    Challenge,
    Echo,
    Finish,
    FromServer,
    Plan,
    Witness,
)
from secfc.protocol.shown import shown
from secfc.protocol.states import State
from secfc.protocol.witness import END

ROWS = [[[0.0], [0.5]], [[9.0], [9.5], [8.0]], [[0.2], [7.0]], [[8.5]], [[8.0]]]


def plan_of_too_many_rows(wire):
    net = wire(ROWS, limits=Limits(most_rows=3))
    return net, net.hold(Plan, recipient=1), LimitError


def question_of_too_small_a_set(wire):
    net = wire(ROWS, limits=Limits(smallest_set=3))
    question = net.hold(Assignment, recipient=1)
    sets = np.zeros(9, dtype=np.int32)
    sets[0] = 1
    return net, replace(question, sets=sets), LimitError


def other_seeds(wire):
    net = wire(ROWS, max_liars=1)
    other = replace(net.hold(Challenge, recipient=1), seed=bytes(32))
    net.clients[1].receive(net.decode(net.encode(other)))
    return net, net.hold(Echo, recipient=1), CheatError


def another_result_after_those_of_others(wire):
    net = wire(ROWS)
    net.run(drop=lambda message: isinstance(message, Finish) and message.recipient == 1)
    other = np.arange(9, dtype=np.int32) % 2
    finish = {"run": net.server.run, "sender": SERVER, "recipient": 1}
    message = Finish(**finish, labels=other, n_iter=1, converged=True, inertia=0.5)
    return net, net.decode(net.encode(message)), CheatError


def another_result_before_those_of_others(wire):
    net = wire(ROWS)
    held = []
    net.run(
        drop=lambda message: (
            isinstance(message, Witness) and message.recipient == 1 and not held.append(message)
        )
    )
    assert net.clients[1].state is State.COMPARE
    sender = held[0].sender
    other = shown(net.proof(net.message(Finish, sender=SERVER, recipient=sender)))
    return net, replace(held[0], sealed=net.seal(sender, 1, 0, other, b"witness", round_=END)), CheatError


def shares_of_no_centre(wire):
    net = wire(ROWS[:3], reveal_to=(1,), limits=Limits(reveal_centres=True))
    net.run(drop=lambda message: isinstance(message, CentreShare))
    wrong = net.message(CentreShare, sender=2, recipient=1)
    net.deliver(wrong)
    return net, replace(net.message(CentreShare, sender=3, recipient=1)), TooManyFaultsError


ENDINGS = [
    plan_of_too_many_rows,
    question_of_too_small_a_set,
    other_seeds,
    another_result_after_those_of_others,
    another_result_before_those_of_others,
    shares_of_no_centre,
]


def of_every_kind(net):
    """A well-formed message to client 1 of each type that a client ever accepts, in several rounds."""
    for kind in RUNNING:
        if kind.phase == "union":
            continue
        sender = SERVER if issubclass(kind, FromServer) else 2
        message = net.message(kind, sender=sender, recipient=1, at=(0, 0))
        yield message
        for round_ in (1, 2, 7):
            yield replace(message, round=round_)


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda one: one.__name__)
def test_after_an_error_that_ends_its_run_a_client_refuses_everything(wire, ending, pictured):
    net, last, kind = ending(wire)
    client = net.clients[1]
    with pytest.raises(kind):
        client.receive(last)
    assert client.state is State.ENDED
    before = pictured(client)
    for message in (last, *of_every_kind(net)):
        with pytest.raises(MessageError, match=r"^\w+: "):
            client.receive(message)
    assert pictured(client) == before
