"""A dishonest server relays: every change of sealed mail gives an error that names a party, never data."""

import gc
import weakref
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from secfc.crypto.channel import TAG_BYTES, Sealed
from secfc.crypto.identity import Identity
from secfc.errors import MessageError, SealError
from secfc.lagrange.sharer import Sharer
from secfc.protocol.messages import (
    SERVER,
    Assignment,
    Compared,
    Hello,
    MaskedAnswer,
    MaskedDistances,
    Plan,
    Share,
    SpareMasks,
)
from secfc.protocol.states import State

ROWS = [[[0.0, 1.0], [0.5, 1.0]], [[9.0, 1.0], [9.5, 2.0]], [[0.2, 1.0], [3.0, 1.0]]]
STARTS = [[0, 1], [0, 1], [1, 0]]
NOT_SEALED = "^share: part {} of round 0 from client {} was not sealed by it for client {} and this place in "


@pytest.fixture
def net(wire, part_rows):
    """Three clients with two parts of shares each, all of one size: only the seal distinguishes them."""
    part_rows(1)
    return wire(ROWS)


def mail(net, recipient=1):
    """All shares sent, by (sender, recipient, part). The recipient has received none of them."""
    shares = {}

    def keep(message):
        if isinstance(message, Share):
            shares[message.sender, message.recipient, message.part] = message
        return isinstance(message, Share) and message.recipient == recipient

    net.run(drop=keep)
    assert len(shares) == 3 * 2 * 2
    assert net.clients[recipient].state is State.SHARE
    return shares


# Sealed bytes in another place


@pytest.mark.parametrize(
    ("place", "origin"),
    [
        pytest.param((2, 1, 0), (3, 1, 0), id="another sender's"),
        pytest.param((2, 1, 0), (2, 3, 0), id="another recipient's"),
        pytest.param((2, 1, 0), (2, 1, 1), id="a later part"),
        pytest.param((2, 1, 0), (1, 2, 0), id="the recipient's own"),
        pytest.param((2, 1, 0), (3, 2, 0), id="of two others"),
        pytest.param((3, 1, 0), (2, 1, 0), id="another sender's, the other way"),
    ],
)
def test_sealed_bytes_of_another_place_are_refused(net, refuses, place, origin):
    shares = mail(net)
    message = replace(shares[place], sealed=shares[origin].sealed)
    refuses(net.clients[1], message, SealError, NOT_SEALED.format(place[2], place[0], 1))
    net.deliver(shares[place])


# Sealed bytes changed


@pytest.mark.parametrize("size", [0, 1, TAG_BYTES - 1, TAG_BYTES, -1, -TAG_BYTES])
def test_truncated_shares_are_refused_with_both_sizes(net, refuses, size):
    share = mail(net)[2, 1, 0]
    sealed = share.sealed.payload[:size]
    text = f"^Share: {len(sealed)} sealed bytes from client 2, shape .* takes {len(share.sealed.payload)}$"
    refuses(net.clients[1], replace(share, sealed=Sealed(payload=sealed)), MessageError, text)


# The same before the Plan, when shares are kept unopened


@pytest.mark.parametrize("origin", [(3, 1, 0), (2, 3, 0), (2, 1, 1)])
def test_an_early_share_of_another_place_counts_as_not_sent_when_the_plan_arrives(net, origin):
    plan = net.hold(Plan, recipient=1)
    share = net.message(Share, sender=2, recipient=1, at=(0, 0))
    elsewhere = net.message(Share, sender=origin[0], recipient=origin[1], at=(0, origin[2]))
    assert net.clients[1].receive(replace(share, sealed=elsewhere.sealed)) == []
    net.deliver(plan)
    assert net.clients[1].phase.held.sharing.received[2] == 0
    net.run()
    assert net.server.state is State.DONE


def test_an_early_share_above_the_size_of_any_part_is_not_kept(net, refuses):
    net.hold(Plan, recipient=1)
    most = 3 * 8 * 2  # bytes of every prime, width 2, one row a part
    sizes = most + TAG_BYTES + 1, most + TAG_BYTES
    share = net.message(Share, sender=2, recipient=1, at=(0, 0))
    too_large, largest = (replace(share, sealed=Sealed(payload=bytes(size))) for size in sizes)
    text = "^Share: {} sealed bytes from client 2, no part has more than {}$".format(*sizes)
    refuses(net.clients[1], too_large, MessageError, text)
    assert net.clients[1].receive(largest) == []


# Introductions: a server between two clients


def plan_with(net, client, introduction, recipient=1):
    plan = net.hold(Plan, recipient=recipient)
    changed = list(plan.introductions)
    changed[client - 1] = introduction
    return replace(plan, introductions=tuple(changed))


def not_signed(client):
    return f"^client {client}: what it says of itself is not signed for this run, job and roster by the key "


def test_an_ephemeral_key_signed_with_an_identity_of_the_servers_own_is_refused(net, refuses):
    net.identities[1] = Identity()
    own = X25519PrivateKey.generate().public_key().public_bytes_raw()
    plan = plan_with(net, 2, net.introduction(2, ephemeral=own))
    refuses(net.clients[1], plan, SealError, not_signed(2))


def test_the_server_refuses_such_a_key_so_that_nobody_else_has_to_refuse_its_plan(net, refuses):
    hello = net.hold(Hello, sender=2, recipient=SERVER)
    hello = replace(hello, introduction=net.introduction(2, ephemeral=bytes(32)))
    refuses(net.server, hello, SealError, "^client 2: its ephemeral key shares no secret$")


def test_clients_that_were_told_different_plans_open_none_of_each_others_shares(net):
    # Client 3 colludes: it signs two introductions. The server gives one to client 1, the other to client 2.
    plan = plan_with(net, 3, net.introduction(3, rows=3))
    net.deliver(plan)
    text = NOT_SEALED.format(0, 2, 1) + "|" + NOT_SEALED.format(0, 1, 2)
    with pytest.raises(SealError, match=text):
        net.run(drop=lambda message: message.sender == 3)


# Start labels


@pytest.mark.parametrize("client", [1, 2, 3])
def test_a_start_other_than_the_clients_labels_is_refused(wire, refuses, client):
    net = wire(ROWS, starts=STARTS)
    question = net.hold(Assignment, recipient=1)
    sets = question.sets.copy()
    sets[2 * client - 1] ^= 1
    text = f"^Assignment: round 1 has not the start labels that client {client} signed$"
    refuses(net.clients[1], replace(question, sets=sets), SealError, text)
    net.deliver(question)


# What the server has


def test_no_residue_that_a_client_shares_passes_the_server(net, monkeypatch):
    made, seen = [], bytearray()
    real = Sharer.share

    def share(self, rows, *noise):
        packed = real(self, rows, *noise)
        made.extend(bytes(one.payload) for one in packed)
        return packed

    def listen(message):
        if isinstance(message, Hello | Plan | Share):
            seen.extend(net.encode(message))
        return False

    monkeypatch.setattr(Sharer, "share", share)
    net.run(drop=listen)
    assert len(made) == 3 * 2 * 3
    words = {payload[at : at + 6] for payload in made for at in range(0, len(payload) - 5, 3)}
    assert len(words) == 90
    assert not any(word in seen for word in words)


def test_a_client_drops_its_ephemeral_key_when_it_has_its_channels(net):
    client = net.clients[1]
    dropped = weakref.ref(client.phase.handshake)
    assert dropped() is not None
    net.deliver(net.hold(Plan, recipient=1))
    gc.collect()
    assert dropped() is None


# Rounds whose answers other clients compare


SEALED_IN_ROUNDS = [
    (SpareMasks, 1, 4),
    (MaskedAnswer, 3, 2),
    (MaskedDistances, 2, 3),
    (Compared, 1, 3),
    (Compared, 2, 3),
]


@pytest.fixture
def compared(wire, part_rows):
    """Four clients, of which three must answer, and two parts of each answer."""
    part_rows(4)
    return wire([*ROWS, [[4.0, 4.0], [5.0, 4.0]]], disclosure="labels", comparers=(1, 2, 3))


@pytest.mark.parametrize(("kind", "sender", "recipient"), SEALED_IN_ROUNDS)
def test_what_clients_send_in_a_round_is_bound_to_its_place(compared, refuses, kind, sender, recipient):
    message = compared.hold(kind, sender=sender, recipient=recipient)
    role, payload = compared.clients[recipient], bytes(message.sealed.payload)
    changed = [
        replace(message, part=message.part + 1),
        replace(message, round=message.round + 1),
        replace(message, sealed=Sealed(payload=payload[:-1] + bytes([payload[-1] ^ 1]))),
        replace(message, sealed=Sealed(payload=bytes([payload[0] ^ 1]) + payload[1:])),
        replace(message, sealed=Sealed(payload=payload[:-1])),
    ]
    if kind is Compared:
        changed.append(replace(message, index=message.index + 1))
    for one in changed:
        refuses(role, one, SealError, "was not sealed by it for client")
    compared.deliver(message)
    refuses(role, message, MessageError, f"^{kind.__name__}: message ")
    compared.run()
    assert compared.server.state is State.DONE


def test_one_clients_answer_under_anothers_name_is_refused(compared, refuses):
    first = compared.hold(MaskedAnswer, sender=1, recipient=2)
    refuses(compared.clients[2], replace(first, sender=3), SealError, "from client 3 was not sealed by it")
    compared.deliver(first)


def test_an_answer_of_the_round_before_is_dropped_and_is_none_of_the_next(compared, refuses):
    late = compared.hold(MaskedAnswer, sender=4, recipient=2)
    while (late.round, late.part) != (1, 1):
        compared.deliver(late)
        late = compared.hold(MaskedAnswer, sender=4, recipient=2)
    compared.run(until=lambda: compared.clients[2].phase.round == 2)  # three other answers were enough
    text = "^masked answer: part 1 of round 2 from client 4 was not sealed by it"
    refuses(compared.clients[2], replace(late, round=2), SealError, text)
    compared.deliver(late)
    compared.run()
    assert compared.server.state is State.DONE
