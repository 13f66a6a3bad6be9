"""A relay between processes cannot change what the server sends, and a restarted server signs as before."""

import io
import json
from dataclasses import asdict

import numpy as np
import pytest

from secfc.drivers import framing
from secfc.drivers.party import SimulatedClient
from secfc.drivers.party_process import _server
from secfc.errors import SealError
from secfc.params import Job
from secfc.protocol.client import Client
from secfc.protocol.messages import SERVER
from secfc.protocol.wire import envelope
from secfc.randomness import MaskSource
from secfc.sealing.identity import Identity

JOB = Job(n=3, k=2, t=1, ell=1, d=2, bound=4.0)
RUN = bytes(range(16))
ROWS = [np.array([[0.0, 0.5], [1.0, 1.0]]), np.array([[2.0, 1.5]]), np.array([[1.0, 0.0], [0.5, 2.0]])]


def server(storage=None, *, begun=False):
    """The server of a process, its journal, and the public key that it names."""
    setup = {"party": SERVER, "job": asdict(JOB), "run": RUN.hex(), "agreement": None, "seed": 1}
    setup |= {"prepares": False, "salt": None, "key": None, "begun": begun}
    outbox = io.BytesIO()
    party, journal = _server(outbox, setup | {"storage": None if storage is None else str(storage)})
    outbox.seek(0)
    return party, journal, framing.read_json(outbox)["identity"]


def client(number, identity):
    def make(session):
        return Client(
            number=number,
            rows=ROWS[number - 1],
            job=JOB,
            session=session,
            identity=identity,
            masks=MaskSource(bytes([number]) * 32),
            ephemeral=bytes([number]) * 32,
        )

    return SimulatedClient({"party": number, "job": asdict(JOB), "run": RUN.hex(), "agreement": None}, make)


class Relay:
    """Carries encoded messages among parties of processes; `change` may alter them."""

    def __init__(self, party, key, change=lambda data: data):
        identities = {j: Identity(bytes([j]) * 32) for j in (1, 2, 3)}
        self.parties = {SERVER: party} | {j: client(j, one) for j, one in identities.items()}
        roster = [one.public.hex() for one in identities.values()]
        start = json.dumps({"roster": roster, "coordinator": key}).encode()
        self.sent, self._change = [], change
        self.mail = [bytes(one) for each in self.parties.values() for one in each.take(framing.JSON, start)]

    def run(self):
        while self.mail:
            data = self.mail.pop(0)
            header = envelope(data)
            if header.sender == SERVER:
                self.sent.append(data)
                data = self._change(data)
            caused = self.parties[header.recipient].take(framing.MESSAGE, data)
            self.mail += [bytes(one) for one in caused]


def first(kind, at):
    """Changes one byte of the first message of a type, counted from its end where negative."""
    done = []

    def change(data):
        if envelope(data).kind != kind or done:
            return data
        done.append(data)
        changed = bytearray(data)
        changed[at] ^= 1
        return bytes(changed)

    return change


@pytest.mark.parametrize("at", [-1, -64, -65], ids=["signature's end", "signature's start", "body"])
@pytest.mark.parametrize("kind", ["Plan", "Assignment", "Finish"])
def test_a_client_refuses_a_message_of_the_server_that_a_relay_has_changed(kind, at):
    party, _, key = server()
    relay = Relay(party, key, first(kind, at))
    with pytest.raises(SealError, match="the server: its message is not signed for this run"):
        relay.run()
    unchanged = Relay(*server()[::2])
    unchanged.run()
    assert all(one.done for one in unchanged.parties.values())


def test_a_client_that_was_told_another_key_of_the_server_refuses_the_servers_messages():
    """A driver that names a key of its own to a client has no message of the real server taken by it."""
    party, _, key = server()
    relay = Relay(party, key)
    other = json.dumps(
        {
            "roster": [Identity(bytes([j]) * 32).public.hex() for j in (1, 2, 3)],
            "coordinator": Identity().public.hex(),
        }
    ).encode()
    deceived = client(1, Identity(bytes([1]) * 32))
    deceived.take(framing.JSON, other)
    while not relay.sent:
        data = relay.mail.pop(0)
        caused = relay.parties[envelope(data).recipient].take(framing.MESSAGE, data)
        relay.mail += [bytes(one) for one in caused]
        heads = [(envelope(one), one) for one in relay.mail]
        relay.sent = [one for head, one in heads if (head.sender, head.recipient) == (SERVER, 1)]
    with pytest.raises(SealError, match="the server: its message is not signed"):
        deceived.take(framing.MESSAGE, relay.sent[0])


def test_a_server_that_is_started_again_has_its_journals_key_and_signs_the_same(tmp_path):
    party, journal, key = server(tmp_path)
    relay = Relay(party, key)
    relay.run()
    journal.close()
    again, journal, same = server(tmp_path, begun=True)
    assert same == key
    repeated = Relay(again, same)
    repeated.run()
    journal.close()
    assert len(relay.sent) > 6
    assert repeated.sent == relay.sent
    _, journal, another = server(tmp_path / "other")
    journal.close()
    assert another != key
