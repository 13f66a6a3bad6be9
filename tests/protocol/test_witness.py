"""A server that does not give all clients the same is found out by them."""

from dataclasses import replace

import numpy as np
import pytest

from secfc.errors import CheatError, MessageError, SealError
from secfc.protocol.messages import (
    SERVER,
    Assignment,
    Challenge,
    CodedDistances,
    Continue,
    Finish,
    LeaveOut,
    Witness,
)
from secfc.protocol.states import State
from secfc.protocol.witness import END
from secfc.sealing.channel import Sealed

ROWS = [[[0.0], [0.5]], [[9.0], [9.5], [8.0]], [[0.2], [7.0]]]
FIVE = [*ROWS, [[8.5]], [[1.0], [2.0]]]


def deliver_all(net, change):
    """Run, with every message passed through `change`."""
    while links := net.pending():
        net.deliver(change(net.take(links[0])))


def swapped(message, recipient, kind, round_=None):
    """The message, with other labels if it is of this kind, round and recipient."""
    if not isinstance(message, kind) or message.recipient != recipient:
        return message
    if isinstance(message, Assignment):
        return replace(message, sets=message.sets[::-1].copy()) if message.round == round_ else message
    return replace(message, labels=message.labels[::-1].copy())


@pytest.mark.parametrize("comparison", ["end", "rounds"])
def test_an_honest_server_is_confirmed_by_all(wire, comparison):
    net, plain = wire(ROWS, comparison=comparison), wire(ROWS)
    net.run()
    plain.run()
    assert all(client.state is State.DONE for client in net.clients.values())
    assert net.labels() == plain.labels()


@pytest.mark.parametrize("comparison", ["end", "rounds"])
@pytest.mark.parametrize("victim", [1, 2, 3])
def test_another_assignment_for_one_client_is_found(wire, comparison, victim):
    net = wire(ROWS, comparison=comparison)
    with pytest.raises(CheatError, match=r"gave the assignment of round 1 with digest [0-9a-f]{16} to"):
        deliver_all(net, lambda message: swapped(message, victim, Assignment, 1))


def test_asked_to_compare_every_round_no_client_answers_before_two_others_confirm(wire):
    net = wire(ROWS, comparison="rounds")
    assignment = net.hold(Assignment, recipient=1)
    sent = net.clients[1].receive(assignment)
    assert {type(message) for message in sent} == {Witness}


def test_comparing_rounds_a_continue_makes_no_client_answer_before_two_others_confirm(wire, refuses):
    net = wire(ROWS, comparison="rounds")
    client = net.clients[1]
    net.post(client.receive(net.hold(Assignment, recipient=1)))
    early = net.message(Continue, sender=SERVER, recipient=1)
    assert (early.round, early.part) == (1, 0)
    refuses(client, early, MessageError, "^Continue: part 0 of round 1, whose answer has not begun$")
    net.run(until=lambda: client._answers._sent > 0)
    assert len(client._witnesses._agreed[1]) == 2
    assert any(isinstance(net.take(at), CodedDistances) for at in net.pending() if at == (1, SERVER))


def test_another_result_for_one_client_is_found(wire):
    net = wire(ROWS)
    with pytest.raises(CheatError, match=r"^client \d: the server gave the result with digest"):
        deliver_all(net, lambda message: swapped(message, 3, Finish))


def finish_without_a_round(net, told):
    """Everybody has all shares; clients are told what `told` has for them, and then the same labels."""
    net.run(until=lambda: all(client.state is State.ITERATE for client in net.clients.values()))
    net._links.clear()
    for j, (kind, more) in told.items():
        client, head = net.clients[j], {"run": net.session.run, "sender": SERVER, "recipient": j}
        client.receive(kind(**head, **more))
        labels = np.arange(client._sharing.remaining().m, dtype=np.int32) % 2
        net.post(client.receive(Finish(**head, labels=labels, n_iter=1, converged=True, inertia=0.5)))
    net.run()


def test_that_others_are_left_out_is_found_where_no_assignment_was_given(wire):
    # Clients 4 and 5 hold one row each, so there are as many labels.
    net = wire([*FIVE[:4], [[1.0]]])
    with pytest.raises(CheatError, match="gave the result with digest"):
        finish_without_a_round(net, {j: (LeaveOut, {"client": 4 if j < 3 else 5}) for j in (1, 2, 3)})


def test_that_another_seed_was_given_is_found_where_no_assignment_was_given(wire):
    net = wire(FIVE, max_liars=1)
    with pytest.raises(CheatError, match="gave the result with digest"):
        finish_without_a_round(net, {j: (Challenge, {"seed": bytes([j < 3]) * 32}) for j in range(1, 6)})


@pytest.mark.parametrize(("rows", "answered"), [(FIVE, {1, 2, 3, 4}), (FIVE[:4], {1, 2})])
def test_with_a_client_a_server_can_keep_two_groups_apart_from_2r_minus_t_clients_on(wire, rows, answered):
    # R = 3, t = 1: the last client confirms to clients 1 and 2 one assignment, to the others another.
    net = wire(rows, comparison="rounds", disclosure="distances")
    helper, groups = len(rows), ((1, 2), tuple(range(3, len(rows))))
    net.run(until=lambda: all(client.state is State.ITERATE for client in net.clients.values()))
    net._links.clear()
    size, found = net.clients[1]._sharing.remaining().m, set()
    for at, group in enumerate(groups):
        sets = np.arange(size, dtype=np.int32) // (at + 1) % 2
        named = (helper - 2, helper - 1, helper) if at else (1, 2, helper)
        for j in group:
            said = {"run": net.session.run, "sender": SERVER, "recipient": j}
            net.post(net.clients[j].receive(Assignment(**said, round=1, sets=sets, responders=named)))
        mail = [net.take(link) for link in net.pending() for _ in net._links[link].copy()]
        for j in group:
            digest = net.clients[j]._witnesses._own[1]
            sealed = net._channels[helper][j].seal("Witness", part=0, payload=digest, round_=1)
            head = {"run": net.session.run, "sender": helper, "recipient": j}
            mail.append(Witness(**head, round=1, sealed=Sealed(payload=bytes(sealed.payload))))
        for message in mail:
            if isinstance(message, Witness) and message.recipient in group:
                net.post(net.clients[message.recipient].receive(message))
        sent = [net.take(link) for link in net.pending() for _ in net._links[link].copy()]
        found |= {message.sender for message in sent if isinstance(message, CodedDistances)}
    assert found == answered


def test_the_evidence_names_round_clients_and_digests_and_no_label(wire):
    net = wire(ROWS)
    with pytest.raises(CheatError) as caught:
        deliver_all(net, lambda message: swapped(message, 3, Finish))
    assert "this client and" in str(caught.value)
    assert "[" not in str(caught.value)


def test_as_many_as_may_lie_are_not_believed_against_the_rest(wire):
    net = wire(FIVE, max_liars=1)
    deliver_all(net, lambda message: message)
    honest = net.clients[1]
    assert honest.state is State.DONE
    net = wire(FIVE, max_liars=1)

    def lie(message):
        if isinstance(message, Witness) and message.sender == 4:
            channel = net.clients[4]._channels[message.recipient]
            channel._sealed.clear()
            sealed = channel.seal("Witness", part=0, payload=bytes(32), round_=message.round or END)
            return replace(message, sealed=Sealed(payload=bytes(sealed.payload)))
        return message

    def run():
        while links := net.pending():
            message = lie(net.take(links[0]))
            try:
                net.deliver(message)
            except CheatError:
                assert message.recipient == 4

    run()
    assert all(net.clients[j].state is State.DONE for j in (1, 2, 3, 5))


def test_a_client_without_confirmation_has_its_labels_but_is_not_done(wire):
    net = wire(ROWS)
    net.run(drop=lambda message: isinstance(message, Witness) and message.recipient == 2)
    assert net.clients[2].state is State.COMPARE
    assert net.clients[2].labels is not None
    assert net.clients[1].state is State.DONE


def test_a_replayed_witness_and_one_of_another_round_are_refused(wire, refuses):
    net = wire(ROWS)
    witness = net.hold(Witness, recipient=1)
    net.deliver(witness)
    refuses(net.clients[1], witness, MessageError, "after one as late")
    other = net.hold(Witness, recipient=1)
    refuses(net.clients[1], replace(other, round=7), SealError, "was not sealed by it")
    net.deliver(other)


@pytest.mark.parametrize("size", [0, 31, 33, 67])
def test_a_payload_that_is_no_list_of_digests_is_refused(wire, refuses, size):
    net = wire(ROWS)
    message = net.hold(Witness, recipient=1)
    channel = net.clients[message.sender]._channels[1]
    channel._sealed.clear()
    sealed = channel.seal("Witness", part=0, payload=bytes(size), round_=END)
    bad = replace(message, sealed=Sealed(payload=bytes(sealed.payload)))
    refuses(net.clients[1], bad, MessageError, "are no digests")


def test_an_oversized_witness_is_refused_unopened(wire, refuses):
    net = wire(ROWS)
    message = net.hold(Witness, recipient=1)
    refuses(net.clients[1], replace(message, sealed=Sealed(payload=bytes(10**6))), MessageError, "1000000")


def test_digests_of_equal_sets_tell_rounds_and_who_is_left_out_apart(wire):
    net = wire(ROWS)
    witnesses = net.clients[1]._witnesses
    sets = np.zeros(7, dtype=np.int32)
    digests = {witnesses.assigned(round_, sets, out) for round_ in (1, 2) for out in ((), (2,), (3,), (2, 3))}
    assert len(digests) == 8
