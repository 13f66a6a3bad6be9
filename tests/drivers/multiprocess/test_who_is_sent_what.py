"""What reaches whom in a run with a process per party."""

import json

import pytest

from secfc.drivers import carrier, framing
from secfc.drivers.multiprocess import run_multiprocess
from secfc.errors import (
    ParameterError,
    SealError,
)
from secfc.protocol.wire import envelope
from secfc.sealing.identity import Identity

pytestmark = pytest.mark.processes


def test_a_process_receives_no_rows_but_its_own(setup_of, written):
    setup = setup_of((4, 3, 5))
    run_multiprocess(setup)
    for party in range(4):
        received = b"".join(payload for to, _, payload in written if to == party)
        for owner, rows in enumerate(setup.rows, start=1):
            held = [value.tobytes() in received for value in rows.ravel()]
            assert all(held) if owner == party else not any(held)


def test_a_process_receives_no_start_labels_but_its_own(setup_of, written):
    setup = setup_of((4, 3, 5), starts=True)
    run_multiprocess(setup)
    for party in range(4):
        arrays = [framing.load_array(p) for to, kind, p in written if (to, kind) == (party, framing.ARRAY)]
        expected = [] if party == 0 else [setup.rows[party - 1], setup.starts[party - 1]]
        assert [array.tolist() for array in arrays] == [array.tolist() for array in expected]


def test_messages_reach_their_recipient_only(setup_of, written):
    run_multiprocess(setup_of())
    messages = [(to, payload) for to, kind, payload in written if kind == framing.MESSAGE]
    assert messages
    assert all(int.from_bytes(payload[23:25], "little") == to for to, payload in messages)


def test_only_the_server_is_told_the_seed(setup_of, written):
    run_multiprocess(setup_of(seed=77))
    told = {party: {} for party in range(4)}
    for to, kind, payload in written:
        if kind == framing.JSON:
            told[to] |= json.loads(payload)
    assert told[0]["seed"] == 77
    assert not any("seed" in told[party] for party in (1, 2, 3))


def test_identities_are_made_in_the_parties_processes_and_only_public_keys_leave_them(
    setup_of, written, monkeypatch
):
    told, real = {}, carrier.Parties.identify

    def identify(self, party, public, **more):
        told[party] = public
        real(self, party, public, **more)

    monkeypatch.setattr(carrier.Parties, "identify", identify)
    run_multiprocess(setup_of())
    assert sorted(told) == [0, 1, 2, 3]
    assert len(set(told.values())) == 4
    for party in range(4):
        rosters = [json.loads(p) for to, kind, p in written if (to, kind) == (party, framing.JSON)]
        assert [one["roster"] for one in rosters if "roster" in one] == [[told[1], told[2], told[3]]]


@pytest.mark.parametrize("change", ["flip", "swap"])
def test_a_relay_that_touches_a_share_ends_the_run_with_a_seal_error(setup_of, monkeypatch, change):
    real, first = carrier.Parties._carry, []

    def carry(self, party, payload):
        if envelope(payload).kind == "Share" and envelope(payload).recipient == 2:
            if change == "flip":
                payload = payload[:-1] + bytes([payload[-1] ^ 1])
            else:
                first.append(payload[33:])
                payload = payload[:33] + first[0]
        real(self, party, payload)

    monkeypatch.setattr(carrier.Parties, "_carry", carry)
    text = r"^client 2 \(parties\[1\]\): share: part 0 of round 0 from client [13] was not sealed by it "
    with pytest.raises(SealError, match=text):
        run_multiprocess(setup_of((5, 5, 5)))


def test_a_relay_that_gives_a_client_another_key_in_the_roster_is_found(setup_of, monkeypatch):
    real = carrier.Parties.identify

    def identify(self, party, public, **more):
        real(self, party, Identity().public.hex() if party == 2 else public, **more)

    monkeypatch.setattr(carrier.Parties, "identify", identify)
    with pytest.raises(ParameterError, match=r"client 2: its identity is not the one pinned in the roster$"):
        run_multiprocess(setup_of())


def test_two_runs_have_different_run_identifiers(setup_of, written, started):
    runs = []
    for _ in range(2):
        run_multiprocess(setup_of())
        told = [json.loads(payload) for _, kind, payload in written if kind == framing.JSON]
        runs.append({one["run"] for one in told if "run" in one})
        written.clear()
        started.clear()
    assert [len(run) for run in runs] == [1, 1]
    assert runs[0] != runs[1]
