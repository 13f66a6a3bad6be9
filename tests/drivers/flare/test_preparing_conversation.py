"""Coordinator and sites of a job that prepares first, in one process: what can end it."""

from dataclasses import replace

import pytest
from support.network import Network
from support.preparing import DEALING, HOLDERS, OPENING, SCHEMA, Preparing, on_step, step_of

from secfc.crypto.channel import Sealed
from secfc.drivers.calls.envelopes import Kind
from secfc.drivers.flare.jobs import export_job
from secfc.errors import CheatError, TooManyFaultsError
from secfc.protocol.messages import Step

pytestmark = pytest.mark.usefixtures("clock")

STEPS = pytest.mark.parametrize("step", [HOLDERS, DEALING])


@STEPS
def test_a_site_that_cannot_be_reached_ends_the_run(tmp_path, monkeypatch, step):
    made, silent = Preparing(tmp_path), set()

    def act(client, message):
        if step_of(client) == step:
            silent.add("south")
            raise RuntimeError

    def spoil(site, call, deliver):
        answer = deliver()
        return None if site in silent and call.kind is not Kind.CLOSE else answer

    on_step(monkeypatch, 2, act)
    text = "client 2, a comparer, is absent, .*; lost of 3: south"
    with pytest.raises(TooManyFaultsError, match=text):
        Network(made, deadline=1.0, spoil=spoil).run()
    assert silent


@pytest.mark.parametrize("step", [HOLDERS, DEALING, OPENING])
def test_a_message_that_the_coordinator_changed_is_noticed_and_names_no_value(tmp_path, monkeypatch, step):
    def act(client, message):
        if step_of(client) != step or not isinstance(message, Step):
            return message
        changed = bytearray(message.sealed.payload)
        changed[-1] ^= 1
        return replace(message, sealed=Sealed(payload=changed))

    on_step(monkeypatch, 2, act)
    with pytest.raises(CheatError, match=r"south: bad-(message|signature): "):
        Network(Preparing(tmp_path)).run()


def test_the_folder_for_flare_asks_for_all_sites(tmp_path):
    made = Preparing(tmp_path, schema=SCHEMA)
    export_job(made.job, tmp_path / "flare", deadline=60.0)
    assert '"min_clients": 3' in (tmp_path / "flare" / "meta.json").read_text()
