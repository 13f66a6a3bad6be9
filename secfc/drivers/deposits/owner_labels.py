"""The file of shares of labels that a member of a committee leaves for owners.

::

    file = of each owner that has rows, ascending: owner (4) | bytes (4) | sealed shares of labels
"""

import struct
from collections.abc import Mapping

from secfc.sharing.deposits import label_bytes

_RECORD = struct.Struct("<II")


def owner_labels(sealed: Mapping[int, bytes]) -> bytes:
    """The file with these sealed labels, by owner."""
    return b"".join(_RECORD.pack(owner, len(one)) + one for owner, one in sealed.items())


def labels_for(file: bytes, number: int, *, rows: int, k: int) -> bytes:
    """What a member has sealed to an owner of at most so many rows. Empty if nothing is valid."""
    at, before = 0, 0
    while at + _RECORD.size <= len(file):
        owner, size = _RECORD.unpack_from(file, at)
        at += _RECORD.size
        if not before < owner <= number or size > min(label_bytes(rows, k), len(file) - at):
            return b""
        if owner == number:
            return file[at : at + size]
        at, before = at + size, owner
    return b""


def most_bytes(*, owners: int, rows: int, k: int) -> int:
    """Of a file with so many owners of at most so many rows."""
    return owners * (_RECORD.size + label_bytes(rows, k))
