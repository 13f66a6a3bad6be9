"""Bodies of calls and streams of messages invented by a hostile peer."""

import struct
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secfc.drivers.calls.envelopes import Incoming, from_json
from secfc.errors import MessageError


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b'{"a": ' + b"[" * 200_000, b"[" * 200_000])
def test_a_body_that_is_no_object_is_refused(body):
    with pytest.raises(MessageError, match="no JSON"):
        from_json(body)


def test_a_size_that_is_announced_takes_no_memory():
    incoming = Incoming(lambda: 1 << 30)
    tracemalloc.start()
    try:
        assert list(incoming.feed(struct.pack("<Q", 1 << 30) + b"first bytes")) == []
        assert tracemalloc.get_traced_memory()[1] < 1 << 12
    finally:
        tracemalloc.stop()


def test_a_message_that_nobody_takes_is_refused_when_it_is_announced():
    with pytest.raises(MessageError, match="oversized message: 101 bytes, at most 100 are taken"):
        list(Incoming(lambda: 100).feed(struct.pack("<Q", 101)))


def test_a_message_may_change_how_large_the_next_is():
    most = [3]
    taken = []
    for message in Incoming(lambda: most[0]).feed(b"".join(struct.pack("<Q", n) + bytes(n) for n in (3, 5))):
        taken.append(len(message))
        most[0] = 5
    assert taken == [3, 5]


def test_a_message_in_pieces_takes_little_more_than_twice_its_size():
    size, piece = 1 << 23, 1 << 20
    incoming, taken = Incoming(lambda: size), []
    stream = struct.pack("<Q", size) + bytes(size)
    tracemalloc.start()
    try:
        for at in range(0, len(stream), piece):
            taken += incoming.feed(stream[at : at + piece])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [len(one) for one in taken] == [size]
    assert peak <= 2 * size + 2 * piece + (size >> 3)


def stream_of(messages: list[bytes]) -> bytes:
    return b"".join(struct.pack("<Q", len(one)) + one for one in messages)


@given(
    messages=st.lists(st.binary(max_size=40), max_size=12),
    cuts=st.lists(st.integers(0, 600), max_size=12),
    taken_at_once=st.integers(1, 5),
)
def test_any_pieces_give_the_messages_in_order(messages, cuts, taken_at_once):
    """Pieces end anywhere, and the caller may leave messages untaken."""
    stream, found = stream_of(messages), []
    incoming = Incoming(lambda: 40)
    ends = [*sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    at = 0
    for end in [*ends, *ends[-1:] * len(messages)]:  # an empty piece brings what was left untaken
        for _, message in zip(range(taken_at_once), incoming.feed(stream[at:end]), strict=False):
            found.append(bytes(message))
        at = end
    assert found == messages
