"""The seed of a check of shares with disclosure "labels": nobody knows it while shares can still be dealt."""

import hashlib
import struct
from dataclasses import replace

import numpy as np
import pytest
from support.sweeps import crossed
from support.wire import RUN, UnionWire, Wire

from secfc.crypto.coin import check_seed
from secfc.errors import MessageError
from secfc.protocol.job.cases import Union
from secfc.protocol.messages import SERVER, Challenge, Ready, Share

pytestmark = pytest.mark.questions

_RNG = np.random.default_rng(8)
ROWS = [_RNG.normal(size=(m, 2)).round(2) for m in (4, 5, 6, 3, 4)]


@pytest.fixture
def made(part_rows):
    part_rows(6)

    def of(*, union=False, **more):
        given = {"k": 3, "disclosure": "labels", "seed": 0} | more
        return UnionWire(ROWS, **given) if union else Wire(ROWS, **given)

    return of


@pytest.fixture(params=[False, True], ids=["rows", "union"])
def net(made, request):
    return made(union=request.param)


def digest(*pieces):
    return hashlib.sha256(b"".join(pieces)).digest()


def told(net, **more):
    """Run; return all values that clients tell, by check and client, and all challenges to client 1."""
    values, challenges = {}, []

    def drop(message):
        if isinstance(message, Ready) and message.value:
            values.setdefault(message.part, {})[message.sender] = message.value
        if isinstance(message, Challenge) and message.recipient == 1:
            challenges.append(message)
        return False

    net.run(drop=drop, **more)
    return list(values.values()), challenges


def test_seeds_and_values_are_what_their_documentation_says(net):
    checks, challenges = told(net)
    assert len(checks) == len(challenges) >= 1
    assert (len(checks) > 1) == (isinstance(net.job.rows, Union))
    last = {j: net.introductions[j - 1].checks for j in range(1, 6)}
    for values, challenge in zip(checks, challenges, strict=True):
        assert sorted(values) == [1, 2, 3, 4, 5]
        for j, value in values.items():
            assert last[j] == digest(b"secfc commitment 1", RUN, struct.pack("<H", j), value)
        assert challenge.values == b"".join(values[j] for j in range(1, 6))
        number = struct.pack("<I", challenge.round)
        expected = digest(b"secfc check seed 1", net.transcript, number, challenge.values)
        assert challenge.seed == expected == check_seed(net.transcript, challenge.round, challenge.values)
        last = values
    assert net.server.outcome is not None


def test_a_value_is_told_once_its_owner_holds_what_is_checked_and_not_before(net):
    held, sent = {j: set() for j in range(1, 6)}, []

    def drop(message):
        if isinstance(message, Share):
            held[message.recipient].add((message.sender, message.part))
        if isinstance(message, Ready) and message.value:
            others = {j for j in range(1, 6)} - {message.sender}
            dealt = {dealer for dealer, part in held[message.sender] if part == 0}
            assert dealt == others
            assert not any(message.value in data for data in sent)
        sent.append(net.encode(message))
        return False

    net.run(drop=drop)
    assert len(sent) > 100


def test_nobody_is_challenged_before_the_last_value_is_here(net):
    ready = net.hold(Ready, recipient=SERVER, sender=4)
    while not ready.value:
        net.deliver(ready)
        ready = net.hold(Ready, recipient=SERVER, sender=4)
    challenges = []

    def drop(message):
        challenges.extend([message] if isinstance(message, Challenge) else [])
        return isinstance(message, Ready) and message.sender == 4

    net.run(drop=drop)
    assert challenges == []
    assert net.server.outcome is None


FORGED = {
    "another seed": lambda one: {"seed": bytes(32)},
    "no values": lambda one: {"values": b""},
    "a value less": lambda one: {"values": one.values[:-32]},
    "zeros for who is in": lambda one: {"values": bytes(32) + one.values[32:]},
    "another order": lambda one: {"values": one.values[32:] + one.values[:32]},
    "another value": lambda one: {"values": one.values[:-1] + bytes([one.values[-1] ^ 1])},
}


@pytest.mark.some(1)
@pytest.mark.parametrize(("forged", "seeded"), crossed(FORGED, [False, True], together=1))
def test_a_seed_of_the_servers_choice_is_refused(net, refuses, forged, seeded):
    for client in (1, 4):
        challenge = net.hold(Challenge, recipient=client)
        changed = replace(challenge, **FORGED[forged](challenge))
        if seeded and changed.seed == challenge.seed:
            seed = check_seed(net.transcript, challenge.round, changed.values)
            changed = replace(changed, seed=seed)
        text = "^Challenge: |^client . told another value for a check than it is committed to$"
        refuses(net.clients[client], changed, MessageError, text)
        net.deliver(challenge)
    net.run()
    assert net.server.outcome is not None


def test_the_server_refuses_and_names_who_tells_another_value(net, refuses):
    ready = net.hold(Ready, recipient=SERVER, sender=2)
    while not ready.value:
        refuses(
            net.server, replace(ready, value=bytes(32)), MessageError, "32 bytes of a value from client 2"
        )
        net.deliver(ready)
        ready = net.hold(Ready, recipient=SERVER, sender=2)
    refuses(net.server, replace(ready, value=b""), MessageError, "0 bytes of a value from client 2")
    text = "^client 2 told another value for a check than it is committed to$"
    refuses(net.server, replace(ready, value=bytes(32)), MessageError, text)
    net.deliver(ready)
    net.run()
    assert net.server.outcome is not None


def test_of_who_is_left_out_there_is_no_value(made, refuses):
    net = made()
    net.run(drop=lambda message: isinstance(message, Share) and message.sender == 5)
    net.post(net.server.absent(5))
    challenge = net.hold(Challenge, recipient=1)
    assert challenge.values[128:] == bytes(32)
    assert all(challenge.values[at : at + 32] != bytes(32) for at in range(0, 128, 32))
    values = challenge.values[:128] + bytes(range(32))
    seed = check_seed(net.transcript, 0, values)
    text = "a value of client 5, which is left out"
    refuses(net.clients[1], replace(challenge, values=values, seed=seed), MessageError, text)
    net.deliver(challenge)
    net.run(drop=lambda message: 5 in (message.sender, message.recipient))
    assert net.server.outcome is not None


@pytest.mark.parametrize("union", [False, True])
def test_with_another_disclosure_clients_tell_none(made, refuses, union):
    net = made(union=union, disclosure="coded", max_liars=1)
    challenge = net.hold(Challenge, recipient=1)
    refuses(
        net.clients[1], replace(challenge, values=bytes(160)), MessageError, "160 bytes of clients' values"
    )
    net.deliver(challenge)
    checks, challenges = told(net)
    assert checks == []
    assert not any(one.values for one in challenges)
    assert net.server.outcome is not None


def test_two_runs_have_other_seeds_though_the_job_has_one(made):
    seeds = {told(made(seed=3))[1][0].seed for _ in range(2)}
    assert len(seeds) == 2
