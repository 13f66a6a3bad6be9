"""Clients detect a server that does not give all of them the same."""

from dataclasses import replace

import numpy as np
import pytest

from secfc.crypto.channel import Sealed
from secfc.crypto.identity import Identity, Roster
from secfc.errors import CheatError, MessageError, SealError
from secfc.kmeans.in_range import RangeCheck
from secfc.protocol.contradiction import Contradiction
from secfc.protocol.messages import (
    SERVER,
    Assignment,
    Finish,
    LeaveOut,
    Witness,
)
from secfc.protocol.states import State
from secfc.protocol.witness import END

pytestmark = pytest.mark.questions

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


@pytest.mark.parametrize("victim", [1, 2, 3])
def test_another_assignment_for_one_client_is_found(wire, monkeypatch, victim):
    # Answers about different sets decode to nothing, but a cheating server ignores that.
    monkeypatch.setattr(RangeCheck, "end_round", lambda self, sets: None)
    net = wire(ROWS)
    with pytest.raises(CheatError, match=r"gave the assignment of round 1 with digest [0-9a-f]{16} to"):
        deliver_all(net, lambda message: swapped(message, victim, Assignment, 1))


def test_another_result_for_one_client_is_found(wire):
    net = wire(ROWS)
    with pytest.raises(CheatError, match=r"^client \d: the server gave the result with digest"):
        deliver_all(net, lambda message: swapped(message, 3, Finish))


def finish_without_a_round(net, told):
    """All clients have all shares. They get the messages in `told`, and then the same labels."""
    net.run(until=lambda: all(client.state is State.ITERATE for client in net.clients.values()))
    net.links.clear()
    mail = []
    for j, (kind, more) in told.items():
        client, head = net.clients[j], {"run": net.session.run, "sender": SERVER, "recipient": j}
        net.deliver(kind(**head, **more))
        net.links.clear()
        labels = np.arange(client.phase.held.sharing.remaining().m, dtype=np.int32) % 2
        net.deliver(
            Finish(
                **head,
                labels=labels,
                n_iter=1,
                converged=True,
                inertia=0.5,
                left_out=tuple(sorted(client.phase.held.sharing.left_out)),
            )
        )
        mail += [net.take(link) for link in net.pending() for _ in net.links[link].copy()]
    for message in mail:
        if isinstance(message, Witness):
            net.deliver(message)
    net.run()


def test_that_others_are_left_out_is_found_where_no_assignment_was_given(wire):
    # Clients 4 and 5 have one row each, so the number of labels is the same.
    net = wire([*FIVE[:4], [[1.0]]])
    with pytest.raises(CheatError, match="gave the result with digest"):
        finish_without_a_round(net, {j: (LeaveOut, {"client": 4 if j < 3 else 5}) for j in (1, 2, 3)})


def test_the_evidence_names_round_clients_and_digests_and_no_label(wire):
    net = wire(ROWS)
    with pytest.raises(CheatError) as caught:
        deliver_all(net, lambda message: swapped(message, 3, Finish))
    assert "this client and" in str(caught.value)
    assert "[" not in str(caught.value)


def test_a_client_without_confirmation_has_its_labels_but_is_not_done(wire):
    net = wire(ROWS)
    net.run(drop=lambda message: isinstance(message, Witness) and message.recipient == 2)
    assert net.clients[2].state is State.COMPARE
    assert net.clients[2].labels is not None
    assert net.clients[1].state is State.DONE


def test_a_replayed_witness_and_one_of_a_round_are_refused(wire, refuses):
    net = wire(ROWS)
    witness = net.hold(Witness, recipient=1)
    net.deliver(witness)
    refuses(net.clients[1], witness, MessageError, f"a second one from client {witness.sender}")
    other = net.hold(Witness, recipient=1)
    refuses(net.clients[1], replace(other, round=7), MessageError, "round 7")
    net.deliver(other)


@pytest.mark.parametrize("size", [0, 32, 95, 97, 195])
def test_a_payload_that_is_no_list_of_proofs_is_refused(wire, refuses, size):
    net = wire(ROWS)
    message = net.hold(Witness, recipient=1)
    bad = forged(net, message, payload=bytes(size))
    refuses(net.clients[1], bad, MessageError, "are no proofs")


def test_an_oversized_witness_is_refused_unopened(wire, refuses):
    net = wire(ROWS)
    message = net.hold(Witness, recipient=1)
    refuses(net.clients[1], replace(message, sealed=Sealed(payload=bytes(10**6))), MessageError, "1000000")


@pytest.mark.parametrize("kind", [Assignment, Finish])
def test_a_message_with_another_view_than_the_client_was_given_is_refused(wire, refuses, kind):
    net = wire(ROWS)
    message = net.hold(kind, recipient=1)
    refuses(net.clients[1], replace(message, left_out=(2,)), MessageError, "without other clients than")
    net.deliver(message)
    net.run()
    assert all(client.state is State.DONE for client in net.clients.values())


def forged(net, message, *, payload):
    """A Witness with another payload, sealed by its sender."""
    sealed = net.seal(message.sender, message.recipient, 0, payload, b"witness", round_=END)
    return replace(message, sealed=Sealed(payload=bytes(sealed.payload)))


def test_more_liars_than_are_tolerated_cannot_make_an_honest_server_a_cheat(wire):
    """With only digests, two liars (one is tolerated) could make every honest client blame the server."""
    net = wire([*FIVE, [[3.0]]], max_liars=1, disclosure="coded")

    def lie(message):
        if not isinstance(message, Witness) or message.sender < 5:
            return message
        proof = net.clients[message.sender].phase.held.witnesses._own[END]
        return forged(net, message, payload=bytes(32) + proof.signature)

    while links := net.pending():
        message = lie(net.take(links[0]))
        if message.recipient < 5 or not isinstance(message, Witness):
            net.deliver(message)
    for j in (1, 2, 3, 4):
        assert net.clients[j].state is State.DONE
        assert net.clients[j].phase.held.witnesses.false == {5, 6}


def test_a_proof_for_another_client_or_round_is_dropped(wire):
    net = wire(ROWS)
    witness = net.hold(Witness, recipient=1)
    own = net.clients[1].phase.held.witnesses._own
    net.run(until=lambda: END in own)
    proof = own[1]  # the server's, for client 1, of round 1
    net.deliver(forged(net, witness, payload=bytes(32) + proof.signature))
    assert net.clients[1].phase.held.witnesses.false == {witness.sender}


@pytest.mark.parametrize("kind", [Assignment, Finish])
def test_the_evidence_convinces_who_has_the_roster_alone(wire, kind):
    net = wire(FIVE, max_liars=1)
    with pytest.raises(CheatError) as caught:
        deliver_all(net, lambda message: swapped(message, 3, kind, 1))
    found = Contradiction.of_json(caught.value.evidence)
    header = found.check(net.session.roster)
    assert (header.kind, header.round) == (kind.__name__, int(kind is Assignment))
    other = Roster(net.session.roster.keys, Identity().public)
    with pytest.raises(SealError, match="the server: its message is not signed"):
        found.check(other)
    with pytest.raises(SealError, match="do not contradict"):
        replace(found, second=found.first).check(net.session.roster)
    changed = replace(found.second, digest=bytes(32))
    with pytest.raises(SealError, match="not signed"):
        replace(found, second=changed).check(net.session.roster)


def test_messages_that_differ_between_clients_are_no_evidence(wire):
    net = wire(ROWS)
    first, second = (
        net.decode(net.encode(LeaveOut(run=net.session.run, sender=SERVER, recipient=1, client=client)))
        for client in (2, 3)
    )
    found = Contradiction(agreement=net.session.agreement, first=first.proof, second=second.proof)
    with pytest.raises(SealError, match="do not contradict"):
        found.check(net.session.roster)
