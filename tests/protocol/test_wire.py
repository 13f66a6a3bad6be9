"""The encoding of messages: canonical, exact in length, and safe for any input."""

import re
import struct
import tracemalloc
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sweeps import sweep, tries

from secfc.crypto.channel import Sealed
from secfc.crypto.handshake import Introduction, Session
from secfc.crypto.identity import SIGNATURE_BYTES, Identity, Roster
from secfc.errors import MessageError
from secfc.field.label_packing import PackedLabels
from secfc.protocol.messages import (
    KINDS,
    FromServer,
    Hello,
    Message,
    Plan,
    Step,
    StepNotice,
    StepReport,
    encodings,
    wire,
)
from secfc.protocol.messages.wire import MAGIC, Signer, envelope

COORDINATOR = Identity()
SESSION = Session(run=bytes(16), agreement=bytes(32), roster=Roster((Identity().public,), COORDINATOR.public))
SIGNER = Signer(SESSION, COORDINATOR)


def encode(message, *, k):
    """The bytes of a message; those of the server without its signature."""
    data = wire.encode(message, k=k, signer=SIGNER)
    return data[:-SIGNATURE_BYTES] if isinstance(message, FromServer) else data


def decode(data, *, k, **more):
    """The message of these bytes. If the server sends its type, the server signs it first."""
    known = len(data) >= HEADER and data[:4] == MAGIC and data[4] < len(KINDS)
    if known and issubclass(KINDS[data[4]], FromServer):
        data = bytes(data) + SIGNER.sign(wire.signed_header(bytes(data[:HEADER])), bytes(data[HEADER:]))
    return wire.decode(data, k=k, session=SESSION, **more)


HEADER = 29
"""4 of magic, 1 of type, 16 of run, 2 each of sender and recipient, 4 of round."""

SECRET_RUN = b"secret run ident"
AGREEMENT = b"the secret agreement of a party."
SEALED = bytes(range(100, 128))
INTRODUCTION = 8 + 4 * 32 + 64
"""Rows, digest of start labels, ephemeral key, signature."""
WEIGHTS = HEADER + 32 + INTRODUCTION
"""Position of the weights of a Hello and their count, after the agreement and the introduction."""
START = WEIGHTS + 4
"""Position of the start labels of a Hello without weights, and their count."""

U16, U32 = 2**16 - 1, 2**32 - 1


def labels(*values):
    return np.array(values, dtype=np.int32)


def introduction(rows):
    sizes = {"start": 32, "weights": 32, "ephemeral": 32, "commitment": 32, "signature": 64}
    said = {name: bytes([rows + 1]) * size for name, size in sizes.items()}
    return Introduction(rows=rows, smallest=rows + 2, **said)


def examples():
    """One small message of every type, and a Hello with and without a start."""
    up = {"run": SECRET_RUN, "sender": 3, "recipient": 0}
    down = {"run": SECRET_RUN, "sender": 0, "recipient": 2}
    return {
        "Hello": Hello(**up, agreement=AGREEMENT, introduction=introduction(4)),
        "Hello with start": Hello(
            **up, agreement=AGREEMENT, introduction=introduction(4), start=labels(1, 0, 2, 1)
        ),
        "Hello with weights": Hello(
            **up, agreement=AGREEMENT, introduction=introduction(3), weights=np.array([1, 300, 2**23])
        ),
        "Plan": Plan(**down, introductions=tuple(map(introduction, (4, 0, 3)))),
        "Plan with weights": Plan(
            **down, introductions=tuple(map(introduction, (1, 0, 1))), weights=np.array([7, 1])
        ),
        "Step": Step(**(up | {"recipient": 1}), round=7, place=5, sealed=Sealed(payload=SEALED)),
        "StepReport": StepReport(**up, round=7, data=bytes(range(9))),
        "StepNotice": StepNotice(**down, round=7, data=bytes(range(9))),
    }


def parts(message):
    """The fields of a message as values that == can compare."""
    found = {}
    for field in fields(message):
        if field.name == "proof":
            continue  # of what was received
        value = getattr(message, field.name)
        if isinstance(value, PackedLabels):
            value = value.unpack()
        if isinstance(value, np.ndarray):
            value = value.dtype.str, value.tolist()
        elif isinstance(value, Sealed):
            value = bytes(value.payload)
        found[field.name] = value
    return type(message), found


def refused_or_canonical(data, k=3):
    """Whether the bytes decode. If so, they must be the one encoding of that message."""
    try:
        message = decode(data, k=k)
    except MessageError:
        return False
    assert isinstance(message, Message)
    assert encode(message, k=k) == bytes(data)
    return True


example = pytest.mark.parametrize("message", examples().values(), ids=examples().keys())


def test_header_is_laid_out_as_documented():
    data, number = encode(examples()["Hello"], k=3), bytes([Hello.number])
    assert data[:HEADER] == b"SFC4" + number + SECRET_RUN + b"\x03\x00" + b"\x00\x00" + bytes(4)


def test_sealed_bytes_follow_the_place():
    data = encode(examples()["Step"], k=3)
    assert data[4] == Step.number
    assert data[HEADER:] == b"\x05\x00\x00\x00" + SEALED


def test_a_hello_holds_the_agreement_the_introduction_and_the_start_labels():
    data = encode(examples()["Hello with start"], k=3)
    said = b"\x04\x00\x00\x00\x06\x00\x00\x00" + b"\x05" * (4 * 32 + 64)
    assert data[HEADER:] == AGREEMENT + said + bytes(4) + b"\x04\x00\x00\x00" + bytes([0b1001, 0b0100])
    assert encode(examples()["Hello"], k=3)[HEADER:] == AGREEMENT + said + bytes(8)


def test_a_plan_holds_the_introductions_behind_the_numbers_of_weights_and_start_labels():
    data, said = encode(examples()["Plan"], k=3), (4, 0, 3)
    introductions = b"".join(
        struct.pack("<II", rows, rows + 2) + bytes([rows + 1]) * (INTRODUCTION - 8) for rows in said
    )
    assert data[HEADER:] == bytes(8) + introductions


@pytest.mark.parametrize(("name", "at"), [("Hello with weights", WEIGHTS), ("Plan with weights", HEADER)])
def test_weights_are_a_count_and_four_bytes_each(name, at):
    message = examples()[name]
    data = bytes(encode(message, k=3))
    packed = message.weights.astype("<u4").tobytes()
    assert data[at : at + 4 + len(packed)] == struct.pack("<I", message.weights.size) + packed


@pytest.mark.parametrize("weight", [0, 2**23 + 1, U32])
@pytest.mark.parametrize(("name", "at"), [("Hello with weights", WEIGHTS), ("Plan with weights", HEADER)])
def test_a_weight_that_cannot_be_is_refused_unread(name, at, weight):
    data = bytearray(encode(examples()[name], k=3))
    data[at + 4 : at + 8] = struct.pack("<I", weight)
    with pytest.raises(MessageError, match=r"^weights are from 1 to 8388608, others were sent$"):
        decode(data, k=3)


@pytest.mark.parametrize(("k", "bits"), [(1, 1), (2, 2), (3, 2), (4, 3), (255, 8), (256, 9), (U16, 16)])
def test_a_start_label_takes_the_bits_of_the_number_of_clusters(k, bits):
    message = replace(examples()["Hello with start"], start=labels(0, -1, k - 1, *[0] * 13))
    data = encode(message, k=k)
    assert len(data) == START + 4 + 16 * bits // 8
    assert decode(data, k=k).start.unpack().tolist() == message.start.tolist()


@pytest.mark.parametrize("k", [5, 100, 250, 1000])
def test_a_label_above_the_number_of_clusters_is_refused(k):
    # Labels of more clusters, in as many bits.
    message = replace(examples()["Hello with start"], start=labels(0, k + 1))
    with pytest.raises(MessageError, match=f"above {k}, the largest"):
        decode(encode(message, k=k + 2), k=k)


@pytest.mark.parametrize(("name", "field"), [("Step", "sealed"), ("Hello with start", "start")])
def test_many_labels_and_sealed_bytes_are_a_view_of_the_received_bytes(name, field, monkeypatch):
    monkeypatch.setattr(encodings, "FEW", 0)
    data = wire.encode(examples()[name], k=3, signer=SIGNER)
    read = wire.decode(data, k=3, session=SESSION)
    assert getattr(read, field).payload.obj is getattr(data, "obj", data)


@example
@pytest.mark.parametrize("k", [3, 257, U16])
def test_every_message_decodes_to_itself_and_its_envelope_is_its_header(message, k):
    data = encode(message, k=k)
    assert parts(decode(data, k=k)) == parts(message)
    header, kind = envelope(data), type(message)
    assert (header.kind, header.phase, header.work) == (kind.__name__, kind.phase, kind.work)
    assert (header.sender, header.recipient, header.round) == (
        message.sender,
        message.recipient,
        message.round,
    )


@example
def test_every_truncation_is_refused_or_another_canonical_message(message):
    data = encode(message, k=3)
    valid = [size for size in range(len(data)) if refused_or_canonical(data[:size])]
    # Of these the length follows from the bytes: the recipient knows the right one.
    expected = {
        Plan: [
            HEADER + 4 + 4 * weights + 4 + clients * INTRODUCTION
            for weights in [0 if getattr(message, "weights", None) is None else message.weights.size]
            for clients in range(3)
        ],
        Step: list(range(HEADER + 4 + 16, len(data))),
        StepReport: list(range(HEADER, len(data))),
        StepNotice: list(range(HEADER, len(data))),
    }.get(type(message), [])
    assert valid == expected


@pytest.mark.some(5)
@example
def test_every_appended_byte_is_refused(message):
    data = encode(message, k=3)
    # The recipient knows how many bytes such a message has.
    taken = isinstance(message, Step | StepReport | StepNotice)
    assert all(refused_or_canonical(data + bytes([byte])) == taken for byte in range(256))


FLIPS = frozenset({0, 255, *(1 << bit for bit in range(8))})
"""Changes of a byte in the default run."""


@pytest.mark.some(4)
@example
@pytest.mark.parametrize("flips", sweep((FLIPS, frozenset(range(256))), keep=(FLIPS,)), ids=("some", "all"))
def test_every_flipped_byte_is_refused_or_another_canonical_message(message, flips):
    data = encode(message, k=3)
    for at in range(len(data)):
        for byte in {data[at] ^ flip for flip in flips}:
            if byte != data[at]:
                changed = bytearray(data)
                changed[at] = byte
                refused_or_canonical(changed)


@example
def test_a_flipped_byte_of_the_magic_or_type_never_gives_the_same_type(message):
    data = encode(message, k=3)
    for at in range(5):
        changed = bytearray(data)
        changed[at] ^= 0x40
        with pytest.raises(MessageError):
            decode(changed, k=3)


@given(st.binary(max_size=120), st.integers(1, 300))
@tries(4)
def test_random_bytes_raise_only_message_errors(data, k):
    with pytest.raises(MessageError):
        decode(data, k=k)
    with pytest.raises(MessageError):
        envelope(data)


def test_empty_bytes_are_truncated():
    with pytest.raises(MessageError, match=f"truncated message: 0 bytes, {HEADER} needed"):
        decode(b"", k=3)


@pytest.mark.parametrize("number", [len(KINDS), len(KINDS) + 1, 255])
def test_an_unknown_type_is_refused_with_its_number(number):
    data = bytearray(encode(examples()["Hello"], k=3))
    data[4] = number
    for reads in (envelope, lambda one: decode(one, k=3)):
        with pytest.raises(MessageError, match=f"unknown message type {number}"):
            reads(data)


@pytest.mark.parametrize("magic", [b"SFC1", b"SFC9"])
def test_another_version_is_refused_with_both(magic):
    data = magic + encode(examples()["Hello"], k=3)[4:]
    for reads in (envelope, lambda one: decode(one, k=3)):
        with pytest.raises(MessageError, match=f"of version {magic.decode()[3]} .* has version 4"):
            reads(data)


@pytest.mark.parametrize("magic", [b"SFCx", b"sfc2", bytes(4), b"HTTP"])
def test_another_magic_is_refused(magic):
    data = magic + encode(examples()["Hello"], k=3)[4:]
    for reads in (envelope, lambda one: decode(one, k=3)):
        with pytest.raises(MessageError, match="not a secfc message"):
            reads(data)


@example
def test_a_message_of_most_bytes_is_taken_and_one_byte_more_refused(message):
    data = encode(message, k=3)
    size = len(wire.encode(message, k=3, signer=SIGNER))
    assert parts(decode(data, k=3, most=lambda kind: size)) == parts(message)
    with pytest.raises(MessageError, match=f"{size} bytes, at most {size - 1}"):
        decode(data, k=3, most=lambda kind: size - 1 if kind is type(message) else 0)


@pytest.mark.parametrize(
    ("name", "at", "count"),
    [
        ("Hello with start", START, struct.pack("<I", U32)),
        ("Hello with weights", WEIGHTS, struct.pack("<I", U32)),
        ("Plan with weights", HEADER, struct.pack("<I", 2**29)),
    ],
)
def test_a_count_beyond_the_bytes_is_refused_without_an_allocation(name, at, count):
    data = bytearray(encode(examples()[name], k=3))
    data[at : at + len(count)] = count
    tracemalloc.start()
    try:
        with pytest.raises(MessageError):
            decode(data, k=3)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1 << 16


@pytest.mark.parametrize("count", [0, 9])
def test_a_label_count_that_its_bytes_do_not_hold_is_refused(count):
    data = bytearray(encode(examples()["Hello with start"], k=3))
    data[START] = count
    with pytest.raises(MessageError):
        decode(data, k=3)


@pytest.mark.parametrize("size", [0, 1, 15])
def test_a_step_without_room_for_its_tag_is_refused(size):
    data = encode(examples()["Step"], k=3)[: HEADER + 4 + size]
    with pytest.raises(MessageError, match=f"^a sealed message of {size} bytes, at least 16 are needed$"):
        decode(data, k=3)


def test_a_plan_whose_body_is_no_whole_number_of_introductions_is_refused():
    with pytest.raises(MessageError, match=f"Plan: a body of {3 * INTRODUCTION - 1} bytes"):
        decode(encode(examples()["Plan"], k=3)[:-1], k=3)


@example
def test_a_message_from_a_party_to_itself_is_refused(message):
    data = bytearray(encode(message, k=3))
    data[21:23] = data[23:25]
    with pytest.raises(MessageError, match=r"sends a message to itself"):
        decode(data, k=3)


@pytest.mark.parametrize("size", [0, 15, 17])
def test_a_run_identifier_has_16_bytes(size):
    with pytest.raises(MessageError, match=f"16 bytes, {size} were given"):
        StepReport(run=bytes(size), sender=1, recipient=0, data=b"")


@example
def test_repr_shows_no_label_share_or_run(message):
    shown = repr(message)
    assert "secret" not in shown
    assert not re.search(r"array|bytes|memoryview|\[|\\x|start=|sets=|labels=|payload", shown)
    assert shown.startswith(f"{type(message).__name__}(sender={message.sender}, ")


def test_labels_of_more_rows_than_a_run_has_are_refused_before_they_are_unpacked(monkeypatch):
    data = encode(examples()["Hello with start"], k=3)
    monkeypatch.setattr("secfc.protocol.messages.encodings.MAX_ROWS", 2)
    monkeypatch.setattr("secfc.protocol.messages.encodings.PackedLabels", None)
    with pytest.raises(MessageError, match=r"^labels of \d rows, at most 2 are possible$"):
        decode(data, k=3)


def test_a_plan_of_more_parties_than_there_can_be_is_refused_before_it_is_taken_apart(monkeypatch):
    data = encode(examples()["Plan"], k=3)
    monkeypatch.setattr("secfc.protocol.messages.encodings._MOST_PARTIES", 2)
    with pytest.raises(MessageError, match=r"^Plan: of 3 parties, at most 2 are possible$"):
        decode(data, k=3)
