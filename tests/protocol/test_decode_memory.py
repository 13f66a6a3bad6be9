"""Memory of decoding, before a signature is checked: at most twice the largest message of a type."""

import tracemalloc

import numpy as np
import pytest

from secfc.crypto.handshake import Session
from secfc.crypto.identity import Identity, Roster
from secfc.errors import MessageError
from secfc.protocol import messages
from secfc.protocol.client import Client
from secfc.protocol.job.cases import Union
from secfc.protocol.job.making import make_job
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.messages import accepted
from secfc.protocol.messages.accepted import Sizes
from secfc.protocol.messages.wire import HEADER_BYTES, MAGIC, Signer, decode, encode, signed_header
from secfc.protocol.server import Server

ROWS = 1 << 18
"""Rows of each of five clients. Labels of all rows are by far the largest part of messages of this job."""

CONSTANT = 1 << 18
"""Further bytes: blocks in which labels are checked, and Python's own objects."""

COORDINATOR = Identity()
SESSION = Session(run=bytes(16), agreement=bytes(32), roster=Roster((Identity().public,), COORDINATOR.public))
SIGNER = Signer(SESSION, COORDINATOR)

KINDS = messages.KINDS
NAMES = [kind.__name__ for kind in KINDS]


def job_of(k, kind):
    more = {"ids_cap": ROWS} if kind.__name__.startswith("Union") else {}
    if kind is messages.Hello:
        more = {"init": "labels"}
    return make_job(n=5, k=k, t=1, ell=1, d=3, bound=1.0, disclosure="coded", max_liars=1, **more)


def sizes_of(k, kind):
    job = job_of(k, kind)
    counts = (ROWS,) * 5
    return Sizes(job, None if kind is messages.Hello else Layout(counts, common=isinstance(job.rows, Union)))


def header(kind):
    return MAGIC + bytes([kind.number]) + bytes(16) + bytes([3, 0, 2, 0]) + bytes(4)


def signed(kind, data):
    """The bytes, signed by the server if it sends this type: a cheating server can sign anything."""
    if not issubclass(kind, messages.FromServer):
        return data
    return data + SIGNER.sign(signed_header(data[:HEADER_BYTES]), data[HEADER_BYTES:])


def bodies(kind, k, room):
    """Bodies of this many bytes, for the array that needs the most memory after decoding."""
    if kind is messages.Hello:
        before, bits = 32 + 200 + 4, k.bit_length()
        count = min((room - before - 4) // bits * 8, 1 << 29)
        yield bytes(before) + count.to_bytes(4, "little") + bytes(-(-count // 8) * bits)
    elif kind is messages.Plan:
        yield bytes(8) + bytes((room - 8) // 200 * 200)
    else:
        yield bytes(room)


@pytest.fixture(autouse=True)
def fewer_rows(monkeypatch):
    """Start labels arrive before the number of rows is known."""
    monkeypatch.setattr("secfc.protocol.messages.accepted.MAX_ROWS", 5 * ROWS)


@pytest.mark.parametrize("k", [1, 2, 16])
@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_the_largest_message_of_a_type_is_decoded_in_twice_its_size(kind, k):
    sizes = sizes_of(k, kind)
    most = sizes.most_bytes(kind)
    room = most - HEADER_BYTES - 64 * issubclass(kind, messages.FromServer)
    for body in bodies(kind, k, room):
        data = signed(kind, header(kind) + body)
        assert most - 64 - 3 < len(data) <= most  # whole residues of three bytes
        tracemalloc.start()
        decode(data, k=k, session=SESSION, most=sizes.most_bytes)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak <= 2 * most + CONSTANT, f"{peak} bytes for {most}"


@pytest.mark.parametrize("k", [1, 2, 16])
@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_a_message_that_is_larger_than_any_of_its_type_is_refused_unread(kind, k):
    sizes = sizes_of(k, kind)
    data = header(kind) + bytes(sizes.most_bytes(kind) - HEADER_BYTES + 1)
    tracemalloc.start()
    try:
        with pytest.raises(MessageError, match=f"oversized message: {kind.__name__} of {len(data)} bytes"):
            decode(data, k=k, session=SESSION, most=sizes.most_bytes)
        assert tracemalloc.get_traced_memory()[1] < CONSTANT
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("k", [1, 2, 16])
def test_start_labels_stay_packed_until_the_introduction_is_verified(wire, k):
    starts = [np.arange(m) % k for m in (3, 2, 40_000)]
    net = wire([np.zeros((len(one), 2)) for one in starts], starts=starts, k=k)
    hello = next(one for one in iter(lambda: net.take(net.pending()[0]), None) if one.sender == 3)
    data = bytearray(encode(hello, k=k))
    data[HEADER_BYTES + 32 + 72] ^= 1  # of its fresh key, which is signed
    tracemalloc.start()
    try:
        with pytest.raises(MessageError, match="client 3"):
            net.server.receive(
                decode(bytes(data), k=k, session=net.session, most=net.server.sizes.most_bytes)
            )
        assert tracemalloc.get_traced_memory()[1] <= 2 * len(data) + CONSTANT
    finally:
        tracemalloc.stop()


def test_every_type_that_a_role_takes_has_a_bound(wire):
    net = wire([np.zeros((2, 2))] * 3)
    taken = set().union(*accepted.CLIENT_TAKES.values(), *accepted.SERVER_TAKES.values())
    assert taken == set(KINDS)
    for role in (net.server, net.clients[1]):
        assert isinstance(role, Server | Client)
        assert all(role.sizes.most_bytes(kind) >= HEADER_BYTES for kind in KINDS)


def test_weights_are_decoded_in_little_more_than_twice_their_bytes():
    weights = (5 * ROWS).to_bytes(4, "little") + bytes([1, 0, 0, 0]) * (5 * ROWS)
    data = signed(messages.Plan, header(messages.Plan) + weights + bytes(4))
    tracemalloc.start()
    try:
        decode(data, k=2, session=SESSION)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2.2 * len(data)
