"""What parties sign of shares, reports and values of the coin: nobody can say otherwise later.

::

    share  = "secfc share 2" | transcript (32) | dealer (2) | recipient (2) | part (4) | SHA-256 of the share
    report = "secfc report 2" | transcript (32) | reporter (2) | seed (32) | SHA-256 of the columns
             | primes (1) | combinations (4) | columns (4) | SHA-256 of the residues
    value  = "secfc value 2" | transcript (32) | party (2) | number of those who toss (2) | these (2 each)
             | clients left out (2 each, ascending) | value (32)

A share is its residues and covers, as they are sealed. Of each column of a report: dealer (2) | part (4). The
transcript is that of the handshake. It holds the run's identifier, the agreement and a fresh key of every
client, so a statement belongs to one run, even if a run identifier is used twice.
"""

import hashlib
import struct
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from secfc.field.packing import PackedResidues
from secfc.protocol.dealing import Column

_SHARE = struct.Struct("<HHI")
_REPORTER = struct.Struct("<H")
_COLUMN = struct.Struct("<HI")
_SHAPE = struct.Struct("<BII")


@dataclass(frozen=True, kw_only=True, eq=False)
class SignedReport:
    """What a client reports of the shares that it was dealt, and its signature of `report_statement`."""

    client: int
    residues: PackedResidues
    signature: bytes = field(repr=False)


def share_statement(
    transcript: bytes, *, dealer: int, recipient: int, part: int, payload: bytes | bytearray | memoryview
) -> bytes:
    """What a dealer signs of a part of the shares for one recipient."""
    place = _SHARE.pack(dealer, recipient, part)
    return b"".join((b"secfc share 2", transcript, place, hashlib.sha256(payload).digest()))


def report_statement(
    transcript: bytes, *, reporter: int, seed: bytes, columns: Sequence[Column], residues: PackedResidues
) -> bytes:
    """What a client signs of its report: about which shares, combined how, and the outcome."""
    about = hashlib.sha256(b"".join(_COLUMN.pack(*column) for column in columns)).digest()
    said = hashlib.sha256(residues.payload).digest()
    head = b"secfc report 2" + transcript + _REPORTER.pack(reporter) + seed
    return head + about + _SHAPE.pack(*residues.shape) + said


def value_statement(
    transcript: bytes, *, party: int, value: bytes, tossing: Sequence[int], left_out: Collection[int]
) -> bytes:
    """What a comparer signs when it tells its value of the coin: for one coin, and no other."""
    place = (party, len(tossing), *tossing, *sorted(left_out))
    return b"secfc value 2" + transcript + struct.pack(f"<{len(place)}H", *place) + value
