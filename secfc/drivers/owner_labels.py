"""The file of labels that a member of a committee leaves for owners.

::

    file = of each owner that has rows: owner (4) | bytes (4) | labels, sealed by one member
"""

import struct
from collections.abc import Mapping

from secfc.protocol.deposits import label_bytes

_RECORD = struct.Struct("<II")


def owner_labels(sealed: Mapping[int, bytes]) -> bytes:
    """The file with these sealed labels, by owner."""
    return b"".join(_RECORD.pack(owner, len(one)) + one for owner, one in sealed.items())


def labels_for(file: bytes, number: int) -> bytes:
    """What a member has sealed to an owner. Empty if there is nothing, or the file is invalid."""
    at = 0
    while at + _RECORD.size <= len(file):
        owner, size = _RECORD.unpack_from(file, at)
        at += _RECORD.size
        if owner == number:
            return file[at : at + size] if at + size <= len(file) else b""
        at += size
    return b""


def most_bytes(*, owners: int, rows: int) -> int:
    """Of a file with so many owners of at most so many rows."""
    return owners * (_RECORD.size + label_bytes(rows))
