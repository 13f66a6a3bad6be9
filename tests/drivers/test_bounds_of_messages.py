"""Whoever takes a message refuses one that is a byte larger than the largest of its type, unread."""

import pytest
from support.restarting import Restarting

from secfc.errors import SecFCError
from secfc.protocol.messages import KINDS, SERVER, FromServer, ToServer, wire
from secfc.protocol.messages.accepted import Sizes
from secfc.protocol.messages.wire import HEADER_BYTES


@pytest.fixture
def parties(setup_of, tmp_path, monkeypatch):
    """Coordinator and parties of a run that begins, of few rows."""
    monkeypatch.setattr("secfc.protocol.messages.accepted.MAX_ROWS", 99)
    made = Restarting(setup_of(disclosure="labels"), tmp_path)
    log = made._log()
    made.coordinator = made._coordinator(log)
    made.parties[2].open(made.run_id)
    yield made
    log.close()


def takers_of(kind, made):
    """How the coordinator and a party take bytes of this type."""
    found = []
    if not issubclass(kind, FromServer):
        found.append((SERVER, lambda data: made.coordinator._carry(1, data)))
    if not issubclass(kind, ToServer):
        found.append((2, made.parties[2].receive))
    return found


def refusal(takes, data, caplog):
    """Why bytes are refused: an error, or what is noted of another party. Empty if they are kept."""
    caplog.clear()
    try:
        takes(data)
    except SecFCError as error:
        return str(error)
    return caplog.text


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_one_byte_more_than_the_largest_of_its_type_is_refused(kind, parties, monkeypatch, caplog):
    def lose(client, error):
        raise error

    monkeypatch.setattr(parties.coordinator, "_lose", lose)
    most = Sizes(parties.setup.job).most_bytes(kind)
    sender = SERVER if issubclass(kind, FromServer) else 1
    takers = takers_of(kind, parties)
    assert takers
    for recipient, takes in takers:
        head = wire._HEADER.pack(wire.MAGIC, kind.number, parties.run_id, sender, recipient, 0)
        for size in (most, most + 1):
            text = f"oversized message: {kind.__name__} of {size} bytes, at most {most}"
            assert (text in refusal(takes, head + bytes(size - HEADER_BYTES), caplog)) == (size > most)
