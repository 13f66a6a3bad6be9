"""One compact binary encoding of the messages, canonical by construction.

A message is a fixed header and a body that its type lays out: fixed-width little-endian integers, then at
most one array whose length follows from them. There is one encoding of every message, its size is known
before anything is allocated, and nothing in it is executable. Table: docs/protocol.md, "Messages".
"""

import hashlib
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from secfc._arrays import Labels
from secfc.errors import MessageError, SecFCError
from secfc.field.packing import PackedResidues, packed_bytes
from secfc.params import MAX_CLIENTS, MAX_ROWS
from secfc.protocol.label_packing import PackedLabels, bits_of, pack_labels, packed_size
from secfc.protocol.messages import (
    RUN_ID_BYTES,
    SEED_BYTES,
    Assignment,
    CentreShare,
    Challenge,
    CodedDistances,
    Continue,
    Dispute,
    Echo,
    Evidence,
    Finish,
    FromServer,
    Hello,
    LeaveOut,
    Message,
    Phase,
    Plan,
    Ready,
    Report,
    Share,
    SignedReport,
    UnionCheck,
    UnionContinue,
    UnionDeal,
    UnionFound,
    UnionOpening,
    UnionVerdict,
    Witness,
    check_magic,
    magic_of,
)
from secfc.protocol.reader import Reader
from secfc.psu.course import Verdict
from secfc.psu.found import OVERFULL, Found
from secfc.psu.prime import Elements
from secfc.row_layout import MAX_MESSAGE_BYTES
from secfc.sealing.channel import TAG_BYTES, Sealed
from secfc.sealing.handshake import DIGEST_BYTES, Introduction, Session
from secfc.sealing.identity import KEY_BYTES, SIGNATURE_BYTES
from secfc.sealing.proof import Proof, Signer

MAGIC = magic_of("SFC")
"""Format and its version."""


# magic, type, run, sender, recipient, round
_HEADER = struct.Struct(f"<4sB{RUN_ID_BYTES}sHHI")
HEADER_BYTES = _HEADER.size
"""What stands before the body of every message."""

_COUNT = struct.Struct("<I")
_CLIENT = struct.Struct("<H")
_RESIDUES = struct.Struct("<BII")  # primes, columns, rows
_AGREEMENT = struct.Struct(f"<{DIGEST_BYTES}s")
# rows, digest of start labels, ephemeral key, signature
_INTRODUCTION = struct.Struct(f"<I{DIGEST_BYTES}s{KEY_BYTES}s{SIGNATURE_BYTES}s")
_REPORT = struct.Struct(f"<H{SIGNATURE_BYTES}s")  # client, signature
_EVIDENCE = struct.Struct(f"<HI{SIGNATURE_BYTES}s")  # dealer, part, signature
_VERDICT = struct.Struct("<Bq")  # unique, excess (-1: not counted)
_OUTCOME = struct.Struct("<IBd")  # n_iter, converged, inertia

# What stands before the array of a body, which `secfc.protocol.sizes` adds up.
HELLO_BYTES = _AGREEMENT.size + _INTRODUCTION.size
INTRODUCTION_BYTES = _INTRODUCTION.size
OUTCOME_BYTES = _OUTCOME.size
DISTANCES_BYTES = _COUNT.size + _RESIDUES.size
RESIDUES_BYTES = _RESIDUES.size
REPORT_BYTES = _REPORT.size
EVIDENCE_BYTES = _EVIDENCE.size
VERDICT_BYTES = _VERDICT.size

Most = Callable[[type[Message]], int]
"""Bytes of the largest message of a type."""


@dataclass(frozen=True, kw_only=True)
class Envelope:
    """What a message's header says, for those who carry it and do not read it."""

    kind: str
    phase: Phase
    work: Phase
    sender: int
    recipient: int
    round: int


def _pack_labels(labels: Labels | PackedLabels, largest: int, *, none: bool) -> bytes:
    """Labels 0 to `largest`; with `none` that stands for -1, "in no set"."""
    if isinstance(labels, PackedLabels):
        if (labels.largest, labels.none) != (largest, none):
            return _pack_labels(labels.unpack(), largest, none=none)
        return b"".join((_COUNT.pack(labels.size), labels.payload))
    values = np.where(labels < 0, largest, labels) if none else labels
    return _COUNT.pack(labels.size) + pack_labels(values.astype(np.uint16), bits_of(largest))


def _unpack_labels(reader: Reader, largest: int, *, none: bool) -> PackedLabels:
    (count,) = reader.unpack(_COUNT)
    if count > MAX_ROWS:
        raise MessageError(f"labels of {count} rows, at most {MAX_ROWS} are possible")
    payload = reader.take(packed_size(count, bits_of(largest)))
    return PackedLabels(payload=payload, size=count, largest=largest, none=none)


def _pack_shape(message: CodedDistances, k: int) -> bytes:
    """All but the residues themselves, which `PackedResidues.framed` puts behind."""
    return _COUNT.pack(message.part) + _RESIDUES.pack(*message.residues.shape)


def _unpack_residues(reader: Reader, k: int) -> dict[str, Any]:
    (part,) = reader.unpack(_COUNT)
    shape = reader.unpack(_RESIDUES)
    return {"part": part, "residues": PackedResidues(shape=shape, payload=reader.take(reader.left))}


def _unpack_sealed(reader: Reader, k: int) -> dict[str, Any]:
    (part,) = reader.unpack(_COUNT)
    if reader.left < TAG_BYTES:
        raise MessageError(f"a sealed message of {reader.left} bytes, at least {TAG_BYTES} are needed")
    return {"part": part, "sealed": Sealed(payload=reader.take(reader.left))}


def _pack_whole(message: Witness | CentreShare | UnionCheck | Echo, k: int) -> bytes:
    """What is sealed in one part."""
    return bytes(message.sealed.payload)


def _unpack_whole(reader: Reader, k: int) -> dict[str, Any]:
    if reader.left < TAG_BYTES:
        raise MessageError(f"a sealed message of {reader.left} bytes, at least {TAG_BYTES} are needed")
    return {"sealed": Sealed(payload=bytes(reader.take(reader.left)))}


def _pack_challenge(message: Challenge, k: int) -> bytes:
    return message.seed


def _unpack_challenge(reader: Reader, k: int) -> dict[str, Any]:
    return {"seed": bytes(reader.take(SEED_BYTES))}


def _pack_report(message: Report, k: int) -> bytes:
    head = _RESIDUES.pack(*message.residues.shape)
    return head + message.signature + bytes(message.residues.payload)


def _unpack_report(reader: Reader, k: int) -> dict[str, Any]:
    shape, signature = reader.unpack(_RESIDUES), bytes(reader.take(SIGNATURE_BYTES))
    residues = PackedResidues(shape=shape, payload=reader.take(reader.left))
    return {"residues": residues, "signature": signature}


def _pack_dispute(message: Dispute, k: int) -> bytes:
    reports = (_REPORT.pack(one.client, one.signature) + one.residues.payload for one in message.reports)
    return _RESIDUES.pack(*message.reports[0].residues.shape) + b"".join(reports)


def _unpack_dispute(reader: Reader, k: int) -> dict[str, Any]:
    shape = reader.unpack(_RESIDUES)
    reports: list[SignedReport] = []
    while reader.left:
        client, signature = reader.unpack(_REPORT)
        if reports and client <= reports[-1].client:
            raise MessageError(f"Dispute: the report of client {client} after that of {reports[-1].client}")
        residues = PackedResidues(shape=shape, payload=reader.take(packed_bytes(shape)))
        reports.append(SignedReport(client=client, residues=residues, signature=signature))
    return {"reports": tuple(reports)}


def _pack_evidence(message: Evidence, k: int) -> bytes:
    return _EVIDENCE.pack(message.dealer, message.part, message.signature) + message.payload


def _unpack_evidence(reader: Reader, k: int) -> dict[str, Any]:
    dealer, part, signature = reader.unpack(_EVIDENCE)
    return {"dealer": dealer, "part": part, "signature": signature, "payload": reader.take(reader.left)}


def _pack_introduction(one: Introduction) -> bytes:
    return _INTRODUCTION.pack(one.rows, one.start, one.ephemeral, one.signature)


def _unpack_introduction(reader: Reader) -> Introduction:
    rows, start, ephemeral, signature = reader.unpack(_INTRODUCTION)
    return Introduction(rows=rows, start=start, ephemeral=ephemeral, signature=signature)


def _pack_hello(message: Hello, k: int) -> bytes:
    start = b"" if message.start is None else _pack_labels(message.start, k, none=True)
    return message.agreement + _pack_introduction(message.introduction) + start


def _unpack_hello(reader: Reader, k: int) -> dict[str, Any]:
    (agreement,) = reader.unpack(_AGREEMENT)
    introduction = _unpack_introduction(reader)
    start = _unpack_labels(reader, k, none=True) if reader.left else None
    return {"agreement": agreement, "introduction": introduction, "start": start}


def _pack_plan(message: Plan, k: int) -> bytes:
    absent = bytes(_INTRODUCTION.size)
    return b"".join(absent if one is None else _pack_introduction(one) for one in message.introductions)


def _unpack_plan(reader: Reader, k: int) -> dict[str, Any]:
    count, rest = divmod(reader.left, _INTRODUCTION.size)
    if rest:
        raise MessageError(f"Plan: a body of {reader.left} bytes is no multiple of {_INTRODUCTION.size}")
    if count > MAX_CLIENTS:
        raise MessageError(f"Plan: of {count} clients, at most {MAX_CLIENTS} are possible")
    introductions = []
    for _ in range(count):
        one = _unpack_introduction(reader)
        # All zeros, which no client can sign, stand for one who said no Hello.
        introductions.append(None if _pack_introduction(one) == bytes(_INTRODUCTION.size) else one)
    return {"introductions": tuple(introductions)}


def _pack_part(message: Share | UnionDeal | Ready | Continue | UnionContinue, k: int) -> bytes:
    return _COUNT.pack(message.part)


def _unpack_part(reader: Reader, k: int) -> dict[str, Any]:
    (part,) = reader.unpack(_COUNT)
    return {"part": part}


def _pack_leave_out(message: LeaveOut, k: int) -> bytes:
    return _COUNT.pack(message.client)


def _unpack_leave_out(reader: Reader, k: int) -> dict[str, Any]:
    (client,) = reader.unpack(_COUNT)
    return {"client": client}


def _pack_clients(clients: tuple[int, ...]) -> bytes:
    return b"".join(map(_CLIENT.pack, (len(clients), *clients)))


def _unpack_clients(reader: Reader) -> tuple[int, ...]:
    (count,) = reader.unpack(_CLIENT)
    return tuple(client for (client,) in _CLIENT.iter_unpack(reader.take(_CLIENT.size * count)))


def _pack_assignment(message: Assignment, k: int) -> bytes:
    clients = _pack_clients(message.responders) + _pack_clients(message.left_out)
    return _pack_labels(message.sets, k, none=True) + clients


def _unpack_assignment(reader: Reader, k: int) -> dict[str, Any]:
    sets = _unpack_labels(reader, k, none=True)
    return {"sets": sets, "responders": _unpack_clients(reader), "left_out": _unpack_clients(reader)}


def _pack_finish(message: Finish, k: int) -> bytes:
    head = _OUTCOME.pack(message.n_iter, message.converged, message.inertia)
    return head + _pack_labels(message.labels, k - 1, none=False) + _pack_clients(message.left_out)


def _unpack_finish(reader: Reader, k: int) -> dict[str, Any]:
    n_iter, converged, inertia = reader.unpack(_OUTCOME)
    if converged > 1:
        raise MessageError(f"Finish: converged is 0 or 1, {converged} was sent")
    labels = _unpack_labels(reader, k - 1, none=False)
    outcome = {"n_iter": n_iter, "converged": bool(converged), "inertia": inertia, "labels": labels}
    return outcome | {"left_out": _unpack_clients(reader)}


def _pack_elements(values: Elements) -> bytes:
    return values.astype("<u8").tobytes()


def _unpack_elements(reader: Reader) -> Elements:
    if reader.left % 8:
        raise MessageError(f"elements of {reader.left} bytes, 8 each are needed")
    return np.frombuffer(reader.take(reader.left), dtype="<u8").astype(np.uint64)


def _pack_opening(message: UnionOpening, k: int) -> bytes:
    return _COUNT.pack(message.part) + _pack_elements(message.values)


def _unpack_opening(reader: Reader, k: int) -> dict[str, Any]:
    (part,) = reader.unpack(_COUNT)
    return {"part": part, "values": _unpack_elements(reader)}


def _pack_found(message: UnionFound, k: int) -> bytes:
    counts = message.found.counts
    return _COUNT.pack(counts.size) + counts.astype("<i4").tobytes() + _pack_elements(message.found.poles)


def _unpack_found(reader: Reader, k: int) -> dict[str, Any]:
    (bins,) = reader.unpack(_COUNT)
    counts = np.frombuffer(reader.take(4 * bins), dtype="<i4").astype(np.int64)
    if counts.size and counts.min() < OVERFULL:
        raise MessageError(f"UnionFound: a bin of {counts.min()} IDs")
    return {"found": Found(counts=counts, poles=_unpack_elements(reader))}


def _pack_verdict(message: UnionVerdict, k: int) -> bytes:
    excess = message.verdict.excess
    return _VERDICT.pack(message.verdict.unique, -1 if excess is None else excess)


def _unpack_verdict(reader: Reader, k: int) -> dict[str, Any]:
    unique, excess = reader.unpack(_VERDICT)
    if unique > 1 or excess < -1:
        raise MessageError("UnionVerdict: unique is 0 or 1, and an excess is not below 0")
    return {"verdict": Verdict(unique=bool(unique), excess=None if excess == -1 else excess)}


_Pack = Callable[[Any, int], bytes]
_Unpack = Callable[[Reader, int], dict[str, Any]]

# The position is the type's number on the wire.
_TYPES: tuple[tuple[type[Message], _Pack, _Unpack], ...] = (
    (Hello, _pack_hello, _unpack_hello),
    (Plan, _pack_plan, _unpack_plan),
    (Share, _pack_part, _unpack_sealed),
    (Ready, _pack_part, _unpack_part),
    (Continue, _pack_part, _unpack_part),
    (Assignment, _pack_assignment, _unpack_assignment),
    (CodedDistances, _pack_shape, _unpack_residues),
    (Finish, _pack_finish, _unpack_finish),
    (UnionDeal, _pack_part, _unpack_sealed),
    (UnionOpening, _pack_opening, _unpack_opening),
    (UnionContinue, _pack_part, _unpack_part),
    (UnionFound, _pack_found, _unpack_found),
    (UnionVerdict, _pack_verdict, _unpack_verdict),
    (LeaveOut, _pack_leave_out, _unpack_leave_out),
    (Witness, _pack_whole, _unpack_whole),
    (Challenge, _pack_challenge, _unpack_challenge),
    (Report, _pack_report, _unpack_report),
    (Dispute, _pack_dispute, _unpack_dispute),
    (Evidence, _pack_evidence, _unpack_evidence),
    (CentreShare, _pack_whole, _unpack_whole),
    (UnionCheck, _pack_whole, _unpack_whole),
    (Echo, _pack_whole, _unpack_whole),
)
_NUMBERS = {kind: number for number, (kind, _, _) in enumerate(_TYPES)}


def encode(message: Message, *, k: int, signer: Signer | None = None) -> bytes | memoryview:
    """The bytes of a message.

    Parameters
    ----------
    message : Message
    k : int
        Clusters of the job; labels take the bits of k - 1, sets those of k.
    signer : Signer, optional
        The server's, which its messages need.
    """
    number = _NUMBERS[type(message)]
    header = header_of(
        type(message),
        run=message.run,
        sender=message.sender,
        recipient=message.recipient,
        round_=message.round,
    )
    body = _TYPES[number][1](message, k)
    match message:
        case Share() | UnionDeal():
            return message.sealed.framed(header + body)
        case CodedDistances():
            return message.residues.framed(header + body)
        case FromServer():
            if signer is None:
                raise SecFCError(f"{type(message).__name__}: the server signs its messages")
            return header + body + signer.sign(header, body).signature
    return header + body


def _no_more(kind: type[Message]) -> int:
    return MAX_MESSAGE_BYTES


def decode(data: bytes | memoryview, *, k: int, session: Session, most: Most = _no_more) -> Message:
    """The message of these bytes.

    Parameters
    ----------
    data : bytes-like
        Residues, labels and sealed bytes in the message keep a view of it; the rest is copied.
    k : int
        Clusters of the job.
    session : Session
        Whose server must have signed what the server sends: that is verified before the body is read.
    most : callable
        Bytes of the largest message of a type that the recipient takes; larger ones are refused unread.

    Raises
    ------
    MessageError
        For everything that `encode` would not have written; `SealError` for a message in the server's name
        that it did not sign for this agreement and recipient.
    """
    reader = Reader(memoryview(data))
    number, run, sender, recipient, round_ = _read_header(reader)
    kind, _, unpack = _TYPES[number]
    if len(data) > most(kind):
        raise MessageError(f"oversized message: {kind.__name__} of {len(data)} bytes, at most {most(kind)}")
    proof: dict[str, Any] = {}
    if issubclass(kind, FromServer):
        proof["proof"] = _read_proof(memoryview(data), session)
        reader = Reader(memoryview(data)[:-SIGNATURE_BYTES], at=HEADER_BYTES)
    fields = unpack(reader, k) | proof
    if reader.left:
        raise MessageError(f"{kind.__name__}: {reader.left} bytes after its end")
    return kind(run=run, sender=sender, recipient=recipient, round=round_, **fields)


def _read_proof(data: memoryview, session: Session) -> Proof:
    """The proof of a message of the server, verified."""
    end = len(data) - SIGNATURE_BYTES
    if end < HEADER_BYTES:
        raise MessageError(f"truncated message: {len(data)} bytes, without the server's signature")
    digest = hashlib.sha256(data[HEADER_BYTES:end]).digest()
    proof = Proof(header=bytes(data[:HEADER_BYTES]), digest=digest, signature=bytes(data[end:]))
    proof.verify(session)
    return proof


def envelope(data: bytes | bytearray | memoryview) -> Envelope:
    """The header of a message's bytes.

    Raises
    ------
    MessageError
        When it is no header of ours.
    """
    number, _, sender, recipient, round_ = _read_header(Reader(memoryview(data)))
    kind = _TYPES[number][0]
    return Envelope(
        kind=kind.__name__, phase=kind.phase, work=kind.work, sender=sender, recipient=recipient, round=round_
    )


def header_of(kind: type[Message], *, run: bytes, sender: int, recipient: int, round_: int) -> bytes:
    """The header of a message."""
    return _HEADER.pack(MAGIC, _NUMBERS[kind], run, sender, recipient, round_)


def run_of(header: bytes) -> bytes:
    """The run that a header names."""
    run: bytes = _HEADER.unpack(header)[2]
    return run


def _read_header(reader: Reader) -> tuple[int, bytes, int, int, int]:
    magic, number, run, sender, recipient, round_ = reader.unpack(_HEADER)
    check_magic(magic, MAGIC)
    if number >= len(_TYPES):
        raise MessageError(f"unknown message type {number}")
    return number, run, sender, recipient, round_
