"""Coordinator and sites of a job that prepares first, in one process: the phase, and what can end it."""

import pytest
from support.network import Network
from support.preparing import SCHEMA, Preparing

from secfc.crypto.channel import Sealed
from secfc.drivers.calls.envelopes import Kind
from secfc.drivers.flare.jobs import export_job
from secfc.drivers.sites.participant import Participant
from secfc.errors import MessageError, TooManyFaultsError
from secfc.prepare.preparing_wire import decode, encode
from secfc.protocol.messages import Complete, Deal, Holds, Introduce, Opening

pytestmark = pytest.mark.usefixtures("clock")


def on_prepare(monkeypatch, number, act):
    """Have a site call `act` on each message of the preparation. The site takes the result."""
    real = Participant.receive

    def receive(self, data):
        if self._preparer is not None and self.number == number:
            data = act(data)
        return real(self, data)

    monkeypatch.setattr(Participant, "receive", receive)


@pytest.mark.parametrize("kind", [Introduce, Holds, Deal, Complete, Opening])
def test_a_site_that_cannot_be_reached_ends_the_run(tmp_path, monkeypatch, kind):
    made, silent = Preparing(tmp_path), set()

    def act(data):
        if isinstance(decode(data), kind):
            silent.add("south")
            raise RuntimeError
        return data

    on_prepare(monkeypatch, 2, act)

    def spoil(site, call, deliver):
        answer = deliver()
        return None if site in silent and call.kind is not Kind.CLOSE else answer

    text = "client 2: absent; no party can be left out, .*; lost of 3: south"
    with pytest.raises(TooManyFaultsError, match=text):
        Network(made, deadline=1.0, spoil=spoil).run()


@pytest.mark.parametrize("kind", [Holds, Deal, Complete, Opening])
def test_a_message_that_the_coordinator_changed_is_noticed_and_names_no_value(tmp_path, monkeypatch, kind):
    made = Preparing(tmp_path)

    def act(data):
        message = decode(data)
        return bytes(data[:-1]) + bytes([data[-1] ^ 1]) if isinstance(message, kind) else data

    on_prepare(monkeypatch, 2, act)
    with pytest.raises(MessageError, match=r"south: bad-(message|signature): "):
        Network(made).run()


def test_messages_of_a_preparation_are_refused_in_a_job_without_one(organisations):
    made = organisations(20, 10, 30)
    network = Network(made)
    sealed = Sealed(payload=bytes(60))
    data = encode(Deal(run=bytes(16), sender=1, recipient=2, sealed=sealed))
    with pytest.raises(MessageError, match="a message of a preparation, in a job without one"):
        network.coordinator._carry(1, data)


def test_the_folder_for_flare_asks_for_all_sites(tmp_path):
    made = Preparing(tmp_path, schema=SCHEMA)
    export_job(made.job, tmp_path / "flare", deadline=60.0)
    assert '"min_clients": 3' in (tmp_path / "flare" / "meta.json").read_text()
