"""Copies of labels for a client that missed a result, made and signed by clients that have the labels.

::

    place  = agreement (32) | run (16) | introductions (32) | maker (2) | recipient (2)
    copy   = box of the payload, for the recipient and this place (`secfc.sealing.box`)
    signed = "secfc copy 1" | place | SHA-256 of the copy
    payload = labels (4) | iterations (4) | converged (1) | the labels, packed as on the wire

A copy is sealed to its recipient and sent beside its maker's statement, which contains the run and the
introductions. With membership privacy it holds the labels of all rows of the union, which every client
learns anyway. So its size reveals nothing about any party's rows.
"""

import base64
import binascii
import hashlib
import json
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Annotated

from pydantic import Field

from secfc.agreement.toml_file import FileSchema, ListOf
from secfc.array_types import Labels
from secfc.errors import MessageError, SealError
from secfc.options import MAX_ROWS
from secfc.params import MAX_CLIENTS, Job
from secfc.protocol.label_packing import PackedLabels, bits_of, pack_labels, packed_size
from secfc.protocol.messages import RUN_ID_BYTES
from secfc.sealing.box import BOX_BYTES, open_box, seal_box
from secfc.sealing.handshake import DIGEST_BYTES
from secfc.sealing.identity import Identity, Roster

_SIGNED = b"secfc copy 1"
_PLACE = struct.Struct(f"<{DIGEST_BYTES}s{RUN_ID_BYTES}s{DIGEST_BYTES}sHH")
_HEAD = struct.Struct("<II?")
_SIGNATURE_TEXT = 88  # characters of 64 bytes in base64

MOST_TEXT = 6 << 20
"""Most characters of all copies of a maker: with its report they fit an answer of `secfc.drivers.calls`."""

MOST_COPIES = 1 << 26
"""Most characters of all copies in a summary."""


class SealedCopy(FileSchema):
    """A copy in a report or a summary."""

    recipient: Annotated[int, Field(ge=1, le=MAX_CLIENTS)]
    sealed: Annotated[str, Field(max_length=MOST_TEXT, repr=False)]  # base64, like the signature
    signature: Annotated[str, Field(max_length=_SIGNATURE_TEXT, repr=False)]


Copies = Annotated[ListOf[SealedCopy], Field(max_length=MAX_CLIENTS, repr=False)]


def most_text(job: Job) -> int:
    """Most characters of all copies that one maker makes."""
    return min(MOST_TEXT, MOST_COPIES // job.n)


def text_of(copies: Copies) -> int:
    """Characters that copies take in a file; text that is not base64 may be longer there than as received."""
    return sum(len(json.dumps(text)) - 2 for one in copies for text in (one.sealed, one.signature))


@dataclass(frozen=True, kw_only=True)
class Place:
    """What a copy belongs to: it is valid nowhere else."""

    agreement: bytes = field(repr=False)
    run: bytes = field(repr=False)
    introductions: bytes = field(repr=False)  # their digest; `run` is not enough, the coordinator chooses it
    maker: int
    recipient: int = 0

    @property
    def packed(self) -> bytes:
        """The form that is signed and sealed."""
        return _PLACE.pack(self.agreement, self.run, self.introductions, self.maker, self.recipient)


@dataclass(frozen=True, kw_only=True)
class Copied:
    """The content of a copy."""

    n_iter: int
    converged: bool
    labels: PackedLabels = field(repr=False)


def make_copies(
    labels: Iterable[tuple[int, Labels]],
    *,
    n_iter: int,
    converged: bool,
    place: Place,
    job: Job,
    roster: Roster,
    identity: Identity,
) -> list[SealedCopy]:
    """Copies of the clients' labels while they fit (`most_text`); labels that do not fit are not sealed.

    Only one client's labels are in memory at a time, because those of a union are many. No copy is made
    without labels, or for a client whose key in the roster allows no key agreement; that is its own fault.
    """
    copies: list[SealedCopy] = []
    bits, left = bits_of(job.k - 1), most_text(job)
    for client, own in labels:
        size = _HEAD.size + packed_size(own.size, bits) + BOX_BYTES
        text = -(-size // 3) * 4 + _SIGNATURE_TEXT
        if not own.size or text > left:
            continue
        packed = pack_labels(own.astype("uint16"), bits)
        payload = _HEAD.pack(own.size, n_iter, converged) + packed
        there = replace(place, recipient=client).packed
        try:
            sealed = seal_box(payload, recipient=roster.keys[client - 1], place=there)
        except ValueError:
            continue
        signature = identity.sign(_signed(there, sealed))
        copies.append(SealedCopy(recipient=client, sealed=_encoded(sealed), signature=_encoded(signature)))
        left -= text
    return copies


def check_copy(copy: SealedCopy, place: Place, roster: Roster) -> bytes:
    """The sealed bytes of a copy; SealError, with the maker's number, unless it signed them for `place`."""
    try:
        sealed, signature = (base64.b64decode(one, validate=True) for one in (copy.sealed, copy.signature))
    except (binascii.Error, ValueError):
        raise SealError(f"client {place.maker}: its copy is not base64") from None
    there = replace(place, recipient=copy.recipient).packed
    roster.verify(place.maker, signature, _signed(there, sealed), what="a copy of labels")
    return sealed


def open_copy(copy: SealedCopy, place: Place, *, roster: Roster, identity: Identity) -> bytes:
    """The payload of a copy for the holder of this identity.

    Raises SealError, with the maker's number, as `check_copy`, or if the copy cannot be opened.
    """
    sealed = check_copy(copy, place, roster)
    try:
        there = replace(place, recipient=copy.recipient).packed
        return open_box(sealed, identity=identity, place=there)
    except SealError as error:
        raise SealError(f"client {place.maker}: its copy is {error}") from None


def read_copy(payload: bytes, *, job: Job) -> Copied:
    """The content of a payload; MessageError if it is not valid."""
    if len(payload) < _HEAD.size:
        raise MessageError(f"a copy of {len(payload)} bytes")
    size, n_iter, converged = _HEAD.unpack_from(payload)
    packed = memoryview(payload)[_HEAD.size :]
    if not 1 <= size <= MAX_ROWS or len(packed) != packed_size(size, bits_of(job.k - 1)):
        raise MessageError(f"a copy of {size} labels in {len(packed)} bytes")
    if not 0 <= n_iter <= job.max_iter or payload[_HEAD.size - 1] > 1:
        raise MessageError("a copy of a result that cannot be")
    labels = PackedLabels(payload=packed, size=size, largest=job.k - 1, none=False)
    return Copied(n_iter=n_iter, converged=converged, labels=labels)


def _signed(place: bytes, sealed: bytes) -> bytes:
    return _SIGNED + place + hashlib.sha256(sealed).digest()


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()
