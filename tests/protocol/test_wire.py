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
from secfc.crypto.proof import Signer
from secfc.errors import MessageError
from secfc.field.label_packing import PackedLabels
from secfc.field.packing import PackedResidues
from secfc.protocol.messages import (
    KINDS,
    Assignment,
    CentreShare,
    Challenge,
    CodedDistances,
    Coin,
    CoinRequest,
    Compared,
    Continue,
    Dispute,
    Echo,
    Endorsement,
    Evidence,
    Finish,
    FromServer,
    Hello,
    LeaveOut,
    MaskedAnswer,
    MaskedDistances,
    Message,
    OpenedLabels,
    Plan,
    Ready,
    Report,
    Share,
    SpareMasks,
    Step,
    StepNotice,
    StepReport,
    UnionCheck,
    UnionContinue,
    UnionDeal,
    UnionFound,
    UnionOpening,
    UnionVerdict,
    Witness,
    encodings,
    wire,
)
from secfc.protocol.messages.wire import MAGIC, envelope
from secfc.protocol.signed import SignedReport
from secfc.psu.found import Found

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
        data = (
            bytes(data)
            + SIGNER.sign(wire.signed_header(bytes(data[:HEADER])), bytes(data[HEADER:])).signature
        )
    return wire.decode(data, k=k, session=SESSION, **more)


HEADER = 29
"""4 of magic, 1 of type, 16 of run, 2 each of sender and recipient, 4 of round."""
LABELS = HEADER + 4
"""Position of the labels of an Assignment, after their count."""

SECRET_RUN = b"secret run ident"
AGREEMENT = b"the secret agreement of a party."
SEALED = bytes(range(100, 128))
SIGNED = bytes(range(64)), bytes(range(64, 128))
"""Endorsements of both evaluators."""
MASKED = (SpareMasks, MaskedAnswer, MaskedDistances)
INTRODUCTION = 8 + 5 * 32 + 64
"""Rows, digest of start labels, ephemeral key, signature."""
WEIGHTS = HEADER + 32 + INTRODUCTION
"""Position of the weights of a Hello and their count, after the agreement and the introduction."""
START = WEIGHTS + 4
"""Position of the start labels of a Hello without weights, and their count."""

U16, U32 = 2**16 - 1, 2**32 - 1

TOLD = bytes(range(96)) * 3
"""Values of a coin with their signatures."""


def labels(*values):
    return np.array(values, dtype=np.int32)


def elements(*values):
    return np.array(values, dtype=np.uint64)


def packed(shape, fill=b"\x01\x02\x03"):
    primes, columns, rows = shape
    return PackedResidues(shape=shape, payload=fill * (primes * columns * rows))


def introduction(rows):
    sizes = {"start": 32, "weights": 32, "ephemeral": 32, "commitment": 32, "checks": 32, "signature": 64}
    said = {name: bytes([rows + 1]) * size for name, size in sizes.items()}
    return Introduction(rows=rows, smallest=rows + 2, **said)


def signed_report(client, shape=(1, 2, 3)):
    return SignedReport(client=client, residues=packed(shape), signature=bytes([client]) * 64)


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
        "Share": Share(run=SECRET_RUN, sender=3, recipient=1, part=5, sealed=Sealed(payload=SEALED)),
        "Step": Step(**(up | {"recipient": 1}), round=7, place=5, sealed=Sealed(payload=SEALED)),
        "StepReport": StepReport(**up, round=7, data=bytes(range(9))),
        "StepNotice": StepNotice(**down, round=7, data=bytes(range(9))),
        "Ready": Ready(**up, part=2),
        "Ready with value": Ready(**up, part=2, value=bytes(range(32))),
        "LeaveOut": LeaveOut(**down, client=2),
        "Continue": Continue(**down, round=7, part=3),
        "Challenge": Challenge(**down, seed=bytes(range(32))),
        "Challenge with values": Challenge(**down, seed=bytes(range(32)), values=bytes(range(96))),
        "Report": Report(**up, residues=packed((2, 2, 3)), signature=bytes(range(64))),
        "Dispute": Dispute(**down, reports=tuple(signed_report(client) for client in (1, 3, 4))),
        "Evidence": Evidence(**up, dealer=2, part=5, payload=bytes(range(42)), signature=bytes(range(64))),
        "Echo": Echo(run=SECRET_RUN, sender=3, recipient=2, round=7, sealed=Sealed(payload=SEALED)),
        "CentreShare": CentreShare(
            run=SECRET_RUN, sender=3, recipient=1, sealed=Sealed(payload=bytes(range(40)))
        ),
        "Witness": Witness(run=SECRET_RUN, sender=3, recipient=1, round=7, sealed=Sealed(payload=bytes(48))),
        "Assignment": Assignment(**down, round=7, sets=labels(0, 2, -1, 1)),
        "Assignment with coin": Assignment(**down, round=1, sets=labels(0, 2, 1, 1), coin=TOLD),
        "CoinRequest": CoinRequest(**down, left_out=(1, 3)),
        "Coin": Coin(**up, value=bytes(range(32)), signature=bytes(64)),
        "CodedDistances": CodedDistances(**up, round=7, part=6, residues=packed((1, 2, 3))),
        "Finish": Finish(**down, labels=labels(2, 0, 1), n_iter=5, converged=True, inertia=0.25),
        "UnionDeal": UnionDeal(
            run=SECRET_RUN, sender=3, recipient=1, round=2, part=1, sealed=Sealed(payload=SEALED)
        ),
        "UnionOpening": UnionOpening(**up, round=2, part=1, values=elements(7, 2**61 - 2)),
        "UnionContinue": UnionContinue(**down, round=2, part=3),
        "UnionFound": UnionFound(
            **down, round=2, found=Found(counts=np.array([1, -1, 0, 1]), poles=elements(5, 9))
        ),
        "UnionCheck": UnionCheck(
            run=SECRET_RUN, sender=3, recipient=1, round=4, sealed=Sealed(payload=bytes(range(32)))
        ),
        "UnionVerdict": UnionVerdict(**down, round=3, unique=True),
        "Endorsed Assignment": Assignment(**down, round=7, sets=labels(0, 2, 1, 1), endorsements=SIGNED),
        "Finish without inertia": Finish(
            **down, labels=labels(2, 0, 1), n_iter=5, converged=True, inertia=None, endorsements=SIGNED
        ),
        "OpenedLabels": OpenedLabels(**up, round=7, part=5, labels=labels(2, 0, 1)),
        "Endorsement": Endorsement(**up, round=7, signature=bytes(range(64))),
        "Compared": Compared(
            run=SECRET_RUN, sender=3, recipient=1, round=7, part=5, index=9, sealed=Sealed(payload=SEALED)
        ),
    } | {
        kind.__name__: kind(
            run=SECRET_RUN, sender=3, recipient=1, round=7, part=5, sealed=Sealed(payload=SEALED)
        )
        for kind in MASKED
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
        elif isinstance(value, PackedResidues):
            value = value.shape, bytes(value.payload)
        elif isinstance(value, Sealed):
            value = bytes(value.payload)
        elif field.name == "reports":
            value = [parts(report) for report in value]
        elif field.name == "payload":
            value = bytes(value)
        elif isinstance(value, Found):
            value = value.counts.tolist(), value.poles.tolist()
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
    data = encode(examples()["Ready"], k=3)
    assert data[:HEADER] == b"SFC4" + b"\x03" + SECRET_RUN + b"\x03\x00" + b"\x00\x00" + bytes(4)


@pytest.mark.parametrize(
    ("name", "number", "body"),
    [
        ("Ready", 3, bytes([2, 0, 0, 0]) + bytes(4)),
        ("Ready with value", 3, bytes([2, 0, 0, 0]) + bytes([32, 0, 0, 0]) + bytes(range(32))),
        ("Continue", 4, bytes([3, 0, 0, 0])),
    ],
)
def test_ready_and_continue_hold_the_part_and_a_value_if_one_is_told(name, number, body):
    data = encode(examples()[name], k=3)
    assert data[4] == number
    assert data[HEADER:] == body


def test_sealed_bytes_follow_the_part():
    data = encode(examples()["Share"], k=3)
    assert data[4] == 2
    assert data[HEADER:] == b"\x05\x00\x00\x00" + SEALED


def test_a_hello_holds_the_agreement_the_introduction_and_the_start_labels():
    data = encode(examples()["Hello with start"], k=3)
    said = b"\x04\x00\x00\x00\x06\x00\x00\x00" + b"\x05" * (5 * 32 + 64)
    assert data[HEADER:] == AGREEMENT + said + bytes(4) + b"\x04\x00\x00\x00" + bytes([0b01_10_00_01, 0])
    assert encode(examples()["Hello"], k=3)[HEADER:] == AGREEMENT + said + bytes(4)


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


def test_residues_follow_the_part_and_the_shape_in_primes_columns_and_rows():
    message = examples()["CodedDistances"]
    data = encode(message, k=3)
    assert data[4] == 6
    assert data[HEADER : HEADER + 13] == struct.pack("<IBII", 6, *message.residues.shape)
    assert data[HEADER + 13 :] == bytes(message.residues.payload)


def test_assignment_is_laid_out_as_documented():
    data = encode(examples()["Assignment"], k=3)
    head = b"SFC4\x05" + SECRET_RUN + b"\x00\x00\x02\x00" + b"\x07\x00\x00\x00"
    sets = b"\x04\x00\x00\x00" + bytes([0b01_11_10_00, 0])
    assert data == head + sets + bytes(6) + bytes(2) + bytes(4)
    given = {
        "responders": (1, 2, 300),
        "asked": (0, 2),
        "left_out": (3,),
        "draws": (4, U32),
    }
    named = encode(replace(examples()["Assignment"], **given), k=3)
    responders, left_out = b"\x03\x00\x01\x00\x02\x00\x2c\x01", b"\x01\x00\x03\x00"
    asked = b"\x02\x00\x00\x00\x02\x00"
    draws = b"\x02\x00\x04\x00\x00\x00\xff\xff\xff\xff"
    assert named == head + sets + responders + asked + left_out + draws + bytes(4)
    tossed = encode(replace(examples()["Assignment"], coin=TOLD), k=3)
    assert tossed == head + sets + bytes(6) + bytes(2) + b"\x20\x01\x00\x00" + TOLD
    assert decode(tossed, k=3).coin == TOLD
    assert decode(named, k=3).draws == (4, U32)
    assert decode(named, k=3).responders == (1, 2, 300)
    assert decode(named, k=3).asked == (0, 2)
    assert decode(named, k=3).left_out == (3,)


@pytest.mark.parametrize(("k", "bits"), [(1, 1), (2, 2), (3, 2), (4, 3), (255, 8), (256, 9), (U16, 16)])
def test_a_set_takes_the_bits_of_the_number_of_clusters(k, bits):
    message = replace(examples()["Assignment"], sets=labels(0, -1, k - 1, *[0] * 13))
    more = 12  # responders, sets asked about, left out, draws and coin
    assert len(encode(message, k=k)) == LABELS + 16 * bits // 8 + more


@pytest.mark.parametrize(
    ("k", "bits"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (256, 8), (257, 9), (U16, 16)]
)
def test_a_label_takes_the_bits_of_the_last_cluster(k, bits):
    message = replace(examples()["Finish"], labels=labels(0, k - 1, *[0] * 14))
    more = 2  # the number left out
    assert len(encode(message, k=k)) == LABELS + 13 + 16 * bits // 8 + more
    assert decode(encode(message, k=k), k=k).labels.unpack().tolist() == [0, k - 1, *[0] * 14]


@pytest.mark.parametrize("k", [1, 100, 255])
def test_no_set_travels_as_the_number_of_clusters(k):
    message = replace(examples()["Assignment"], sets=labels(-1))
    data = encode(message, k=k)
    assert data[LABELS] == k
    assert decode(data, k=k).sets.unpack().tolist() == [-1]


@pytest.mark.parametrize("k", [5, 100, 250, 1000])
def test_a_label_above_the_number_of_clusters_is_refused(k):
    for name, labelled, largest in (("Assignment", "sets", k), ("Finish", "labels", k - 1)):
        # Labels of more clusters, in as many bits.
        message = replace(examples()[name], **{labelled: labels(0, largest + 1)})
        with pytest.raises(MessageError, match=f"above {largest}, the largest"):
            decode(encode(message, k=k + 2), k=k)


@pytest.mark.parametrize(
    ("name", "field"),
    [("Share", "sealed"), ("CodedDistances", "residues"), ("Assignment", "sets"), ("Finish", "labels")],
)
def test_residues_many_labels_and_sealed_bytes_are_a_view_of_the_received_bytes(name, field, monkeypatch):
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
    unsigned = [len(data) - 64 * left for left in range(len(getattr(message, "endorsements", ())), 0, -1)]
    # A Hello without its start is still a message, and so are messages whose length follows from the bytes:
    # the recipient knows the right length of a Plan, a Share and messages of a union.
    expected = {
        Plan: [
            HEADER + 4 + 4 * weights + 4 + clients * INTRODUCTION
            for weights in [0 if getattr(message, "weights", None) is None else message.weights.size]
            for clients in range(3)
        ],
        Share: list(range(HEADER + 4 + 16, len(data))),
        **{kind: list(range(HEADER + 4 + 16, len(data))) for kind in MASKED},
        Compared: list(range(HEADER + 8 + 16, len(data))),
        Assignment: unsigned,
        Finish: unsigned,
        UnionDeal: list(range(HEADER + 4 + 16, len(data))),
        UnionOpening: list(range(HEADER + 4, len(data), 8)),
        UnionFound: list(range(HEADER + 4 + 4 * 4, len(data), 8)),
        Witness: list(range(HEADER + 16, len(data))),
        UnionCheck: list(range(HEADER + 16, len(data))),
        Dispute: [HEADER + 9 + reports * (2 + 64 + 18) for reports in (1, 2)],
        Evidence: list(range(HEADER + 6 + 64, len(data))),
        CentreShare: list(range(HEADER + 16, len(data))),
        Step: list(range(HEADER + 4 + 16, len(data))),
        StepReport: list(range(HEADER, len(data))),
        StepNotice: list(range(HEADER, len(data))),
        Echo: list(range(HEADER + 16, len(data))),
    }.get(type(message), [])
    if isinstance(message, Hello) and message.start is not None:
        expected = [START]
    assert valid == expected


@pytest.mark.some(11)
@example
def test_every_appended_byte_is_refused(message):
    data = encode(message, k=3)
    # The recipient knows how many bytes such a message has.
    sealed = SpareMasks | MaskedAnswer | MaskedDistances | Compared
    taken = isinstance(
        message,
        Share
        | UnionDeal
        | UnionCheck
        | Witness
        | CentreShare
        | Echo
        | Evidence
        | Step
        | StepReport
        | StepNotice
        | sealed,
    )
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


@pytest.mark.parametrize("number", [38, 39, 255])
def test_an_unknown_type_is_refused_with_its_number(number):
    data = bytearray(encode(examples()["Ready"], k=3))
    data[4] = number
    for reads in (envelope, lambda one: decode(one, k=3)):
        with pytest.raises(MessageError, match=f"unknown message type {number}"):
            reads(data)


@pytest.mark.parametrize("magic", [b"SFC1", b"SFC9"])
def test_another_version_is_refused_with_both(magic):
    data = magic + encode(examples()["Ready"], k=3)[4:]
    for reads in (envelope, lambda one: decode(one, k=3)):
        with pytest.raises(MessageError, match=f"of version {magic.decode()[3]} .* has version 4"):
            reads(data)


@pytest.mark.parametrize("magic", [b"SFCx", b"sfc2", bytes(4), b"HTTP"])
def test_another_magic_is_refused(magic):
    data = magic + encode(examples()["Ready"], k=3)[4:]
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
        ("Assignment", HEADER, struct.pack("<I", U32)),
        ("Finish", HEADER + 13, struct.pack("<I", U32)),
        ("CodedDistances", HEADER + 4, struct.pack("<BII", 255, U32, U32)),
        ("CodedDistances", HEADER + 4, struct.pack("<BII", 8, U32, 1)),
        ("CodedDistances", HEADER + 4, struct.pack("<BII", 1, U32, 3)),
        ("CodedDistances", HEADER + 4, struct.pack("<BII", 1, 3, U32)),
        ("Report", HEADER + 64, struct.pack("<BII", 255, U32, U32)),
        ("Dispute", HEADER, struct.pack("<BII", 255, U32, U32)),
        ("UnionFound", HEADER, struct.pack("<I", U32)),
        ("Assignment", LABELS + 2, struct.pack("<H", U16)),
        ("Assignment", LABELS + 4, struct.pack("<H", U16)),
        ("Assignment", LABELS + 8, struct.pack("<H", U16)),
        ("Assignment", LABELS + 14, struct.pack("<H", U16)),
        ("Assignment", LABELS + 16, struct.pack("<I", U32)),
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
@pytest.mark.parametrize("name", ["Hello with start", "Assignment", "Finish"])
def test_a_label_count_that_its_bytes_do_not_hold_is_refused(name, count):
    at = {"Hello with start": START, "Assignment": HEADER, "Finish": HEADER + 13}[name]
    data = bytearray(encode(examples()[name], k=3))
    data[at] = count
    with pytest.raises(MessageError):
        decode(data, k=3)


@pytest.mark.parametrize("axis", [0, 1, 5])
def test_a_residue_count_that_is_off_by_one_is_refused_with_both_sizes(axis):
    data = bytearray(encode(examples()["CodedDistances"], k=3))
    data[HEADER + 4 + axis] += 1
    with pytest.raises(MessageError, match=r"take \d+ bytes, \d+ were given"):
        decode(data, k=3)


@pytest.mark.parametrize("clients", [(1, 1), (3, 2), (1, 4, 4)])
def test_reports_that_do_not_ascend_are_refused_before_the_next_one_is_read(clients):
    data = encode(replace(examples()["Dispute"], reports=tuple(map(signed_report, clients))), k=3)
    with pytest.raises(MessageError, match=f"the report of client {clients[-1]} after that of {clients[-2]}"):
        decode(data, k=3)


def test_reports_of_two_shapes_or_none_are_no_dispute():
    for reports in ((), (signed_report(1), signed_report(2, (1, 3, 2)))):
        with pytest.raises(MessageError, match="reports of one shape"):
            replace(examples()["Dispute"], reports=reports)


def test_a_report_and_evidence_are_laid_out_as_documented():
    report, evidence = (encode(examples()[name], k=3) for name in ("Report", "Evidence"))
    assert report[4] == 16
    assert report[HEADER:] == bytes(range(64)) + struct.pack("<BII", 2, 2, 3) + b"\x01\x02\x03" * 12
    assert evidence[4] == 18
    assert evidence[HEADER:] == struct.pack("<HI", 2, 5) + bytes(range(64)) + bytes(range(42))


@pytest.mark.parametrize("size", [0, 1, 15])
def test_a_share_without_room_for_its_tag_is_refused(size):
    data = encode(examples()["Share"], k=3)[: HEADER + 4 + size]
    with pytest.raises(MessageError, match=f"^a sealed message of {size} bytes, at least 16 are needed$"):
        decode(data, k=3)


def test_a_plan_whose_body_is_no_whole_number_of_introductions_is_refused():
    with pytest.raises(MessageError, match=f"Plan: a body of {3 * INTRODUCTION - 1} bytes"):
        decode(encode(examples()["Plan"], k=3)[:-1], k=3)


def test_converged_is_0_or_1():
    data = bytearray(encode(examples()["Finish"], k=3))
    data[HEADER + 4] = 2
    with pytest.raises(MessageError, match="converged is 0 or 1, 2 was sent"):
        decode(data, k=3)


@example
def test_a_message_from_a_party_to_itself_is_refused(message):
    data = bytearray(encode(message, k=3))
    data[21:23] = data[23:25]
    with pytest.raises(MessageError, match=r"sends a message to itself"):
        decode(data, k=3)


@pytest.mark.parametrize("size", [0, 15, 17])
def test_a_run_identifier_has_16_bytes(size):
    with pytest.raises(MessageError, match=f"16 bytes, {size} were given"):
        Ready(run=bytes(size), sender=1, recipient=0, part=0)


@example
def test_repr_shows_no_label_share_or_run(message):
    shown = repr(message)
    assert "secret" not in shown
    assert not re.search(r"array|bytes|memoryview|\[|\\x|start=|sets=|labels=|payload", shown)
    assert shown.startswith(f"{type(message).__name__}(sender={message.sender}, ")


@pytest.mark.parametrize("name", ["Assignment", "Finish", "Hello with start"])
def test_labels_of_more_rows_than_a_run_has_are_refused_before_they_are_unpacked(monkeypatch, name):
    data = encode(examples()[name], k=3)
    monkeypatch.setattr("secfc.protocol.messages.encodings.MAX_ROWS", 2)
    monkeypatch.setattr("secfc.protocol.messages.encodings.PackedLabels", None)
    with pytest.raises(MessageError, match=r"^labels of \d rows, at most 2 are possible$"):
        decode(data, k=3)


def test_a_plan_of_more_parties_than_there_can_be_is_refused_before_it_is_taken_apart(monkeypatch):
    data = encode(examples()["Plan"], k=3)
    monkeypatch.setattr("secfc.protocol.messages.encodings._MOST_PARTIES", 2)
    with pytest.raises(MessageError, match=r"^Plan: of 3 parties, at most 2 are possible$"):
        decode(data, k=3)
