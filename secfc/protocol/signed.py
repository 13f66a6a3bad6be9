"""Statements that parties sign about shares, reports and values of the coin, so that they cannot deny them.

::

    share  = "secfc share 2" | transcript (32) | dealer (2) | recipient (2) | part (4) | SHA-256 of the share
    report = "secfc report 2" | transcript (32) | reporter (2) | seed (32) | SHA-256 of the columns
             | primes (1) | combinations (4) | columns (4) | SHA-256 of the residues
    value  = "secfc value 3" | transcript (32) | party (2) | clients left out (2 each, ascending) | value (32)

A share is its residues and covers, as they are sealed. A column of a report is dealer (2) | part (4). The
transcript is that of the handshake. It includes the run's identifier, the agreement and a fresh key of every
client. So a statement belongs to one run, even if a run identifier is used twice.
"""

import hashlib
import struct
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from secfc.field.packing import PackedResidues
from secfc.sharing.dealing import Column

_SHARE = struct.Struct("<HHI")
_REPORTER = struct.Struct("<H")
_COLUMN = struct.Struct("<HI")
_SHAPE = struct.Struct("<BII")


@dataclass(frozen=True, kw_only=True, eq=False)
class SignedReport:
    """A client's report about its shares, with its signature of `report_statement`."""

    client: int
    residues: PackedResidues
    signature: bytes = field(repr=False)


def share_statement(
    transcript: bytes, *, dealer: int, recipient: int, part: int, payload: bytes | bytearray | memoryview
) -> bytes:
    """The statement that a dealer signs about a part of shares for one recipient."""
    place = _SHARE.pack(dealer, recipient, part)
    return b"".join((b"secfc share 2", transcript, place, hashlib.sha256(payload).digest()))


def report_statement(
    transcript: bytes, *, reporter: int, seed: bytes, columns: Sequence[Column], residues: PackedResidues
) -> bytes:
    """The statement that a client signs with its report: which shares, which seed, and the combinations."""
    about = hashlib.sha256(b"".join(_COLUMN.pack(*column) for column in columns)).digest()
    said = hashlib.sha256(residues.payload).digest()
    head = b"secfc report 2" + transcript + _REPORTER.pack(reporter) + seed
    return head + about + _SHAPE.pack(*residues.shape) + said


def value_statement(transcript: bytes, *, party: int, value: bytes, left_out: Collection[int]) -> bytes:
    """The statement that a comparer signs with its value of the coin. It is valid for one coin only."""
    place = (party, *sorted(left_out))
    return b"secfc value 3" + transcript + struct.pack(f"<{len(place)}H", *place) + value
