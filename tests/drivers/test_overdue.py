"""The error of a deadline names those who were waited for."""

import json
from dataclasses import asdict

import pytest

from secfc.drivers import framing, in_process
from secfc.drivers.party import SimulatedServer
from secfc.errors import TooManyFaultsError
from secfc.protocol.wire import encode
from secfc.sealing.identity import Identity


@pytest.fixture
def party(setup_of, monkeypatch):
    """A simulated server that has heard client 3 of four, of whom three are enough."""
    setup = setup_of((2, 3, 2, 2), t=1)
    made = []

    def identity():
        made.append(Identity())
        return made[-1]

    monkeypatch.setattr(in_process, "Identity", identity)  # the server's is made first
    server, clients, session, _ = in_process.roles_of(setup)
    given = {"party": 0, "job": asdict(setup.job), "run": session.run.hex(), "agreement": None}
    one, roster = SimulatedServer(given, lambda _: server, made[0]), session.roster
    keys = {"coordinator": roster.coordinator.hex(), "roster": [key.hex() for key in roster.keys]}
    one.take(framing.JSON, json.dumps(keys).encode())
    for message in clients[2].start():
        one.take(framing.MESSAGE, bytes(encode(message, k=setup.job.k)))
    return one


@pytest.mark.parametrize("carried", [None, [], [["Hello", 3, 0, 1]]])
def test_a_deadline_that_ends_a_run_names_all_who_were_waited_for_and_nobody_else(party, carried):
    order = json.dumps({"overdue": carried}).encode()
    with pytest.raises(TooManyFaultsError, match=r"n >= R .*those waited for: client 1, client 2, client 4$"):
        party.take(framing.JSON, order)


def test_a_party_that_is_known_to_have_gone_is_named_without_a_deadline(party):
    party.take(framing.JSON, json.dumps({"absent": 1}).encode())
    with pytest.raises(TooManyFaultsError, match=r"left out: 1, 4$"):
        party.take(framing.JSON, json.dumps({"absent": 4}).encode())
