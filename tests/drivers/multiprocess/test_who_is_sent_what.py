"""Which messages reach which party in a run with a process per party."""

import json

import pytest

from secfc.drivers.calls import framing
from secfc.drivers.calls.coordinator import Coordinator
from secfc.drivers.calls.envelopes import Incoming, Kind, decode_call
from secfc.drivers.multiprocess import run_multiprocess
from secfc.errors import CheatError
from secfc.protocol.messages.wire import envelope

pytestmark = pytest.mark.processes


def test_a_process_receives_no_rows_but_its_own(setup_of, written):
    setup = setup_of((4, 3, 5))
    run_multiprocess(setup)
    for party in range(1, 4):
        received = b"".join(payload for to, _, payload in written if to == party)
        for owner, rows in enumerate(setup.rows, start=1):
            held = [value.tobytes() in received for value in rows.ravel()]
            assert all(held) if owner == party else not any(held)


def test_a_process_receives_no_start_labels_but_its_own(setup_of, written):
    setup = setup_of((4, 3, 5), starts=True)
    run_multiprocess(setup)
    for party in range(1, 4):
        arrays = [framing.load_array(p) for to, kind, p in written if (to, kind) == (party, framing.ARRAY)]
        expected = [setup.rows[party - 1], setup.starts[party - 1]]
        assert [array.tolist() for array in arrays] == [array.tolist() for array in expected]


def test_a_process_receives_no_private_key_but_its_own(setup_of, written):
    run_multiprocess(setup_of())
    told = {to: json.loads(payload) for to, kind, payload in written if kind == framing.JSON}
    assert sorted(told) == [1, 2, 3]
    assert len({one["identity"] for one in told.values()}) == 3
    for to in told:
        received = b"".join(payload for at, _, payload in written if at == to).decode("latin-1")
        assert not any(other["identity"] in received for at, other in told.items() if at != to)


def test_messages_reach_their_recipient_only(setup_of, written):
    run_multiprocess(setup_of())
    streams = {to: Incoming(lambda: 1 << 30) for to in (1, 2, 3)}
    count = 0
    for to, kind, payload in written:
        if kind == framing.CALL and decode_call(payload).kind is Kind.MESSAGES:
            for message in streams[to].feed(decode_call(payload).body):
                assert envelope(message).recipient == to
                count += 1
    assert count > 20


@pytest.mark.parametrize("change", ["flip", "swap"])
def test_a_relay_that_touches_a_share_ends_the_run_for_all(setup_of, monkeypatch, change):
    real, first = Coordinator._carry, []

    def carry(self, party, payload):
        if envelope(payload).kind == "Step" and envelope(payload).recipient == 2:
            if change == "flip":
                payload = b"".join((payload[:-1], bytes([payload[-1] ^ 1])))
            else:
                first.append(bytes(payload[33:]))
                payload = b"".join((payload[:33], first[0]))
        real(self, party, payload)

    monkeypatch.setattr(Coordinator, "_carry", carry)
    text = r"^parties\[1\]: step: part 0 of round 0 from client [13] was not sealed by it "
    with pytest.raises(CheatError, match=text):
        run_multiprocess(setup_of((5, 5, 5)))
