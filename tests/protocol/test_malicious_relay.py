"""A dishonest server relays introductions. What it changes in sealed mail: test_program.py."""

import gc
import weakref
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from secfc.crypto.identity import Identity
from secfc.errors import SealError
from secfc.protocol.messages import SERVER, Hello, Plan

ROWS = [[[0.0, 1.0], [0.5, 1.0]], [[9.0, 1.0], [9.5, 2.0]], [[0.2, 1.0], [3.0, 1.0]]]


@pytest.fixture
def net(wire):
    return wire(ROWS)


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
    with pytest.raises(SealError, match="was not sealed by it for client"):
        net.run(drop=lambda message: message.sender == 3)


def test_a_client_drops_its_ephemeral_key_when_it_has_its_channels(net):
    client = net.clients[1]
    dropped = weakref.ref(client.handshake)
    assert dropped() is not None
    net.deliver(net.hold(Plan, recipient=1))
    gc.collect()
    assert dropped() is None
