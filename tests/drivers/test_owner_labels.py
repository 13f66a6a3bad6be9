"""An owner's part of a member's file of labels, which anyone who may write to the store can write."""

import struct

import pytest

from secfc.drivers.deposits.owner_labels import labels_for, most_bytes, owner_labels
from secfc.sharing.deposits import label_bytes

PARTS = {owner: bytes([owner]) * label_bytes(owner, 3) for owner in (1, 2, 4)}


@pytest.mark.parametrize("owner", range(1, 6))
def test_an_owner_finds_its_own_part_or_nothing(owner):
    assert labels_for(owner_labels(PARTS), owner, rows=4, k=3) == PARTS.get(owner, b"")


def test_a_part_larger_than_that_of_the_most_rows_is_none_however_large_the_file_may_be():
    file = owner_labels({1: bytes(label_bytes(9, 3) + 1)})
    assert len(file) < most_bytes(owners=2, rows=9, k=3)
    assert labels_for(file, 1, rows=9, k=3) == b""
    assert labels_for(owner_labels({1: bytes(label_bytes(9, 3))}), 1, rows=9, k=3) == bytes(label_bytes(9, 3))


@pytest.mark.parametrize("owners", [(2, 1, 3), (1, 1, 3), (0, 1, 3), (1, 4, 3), (1, 1 << 31, 3)])
def test_records_that_do_not_ascend_to_the_owner_are_no_file(owners):
    """So at most as many records are read as the owner's number says."""
    file = b"".join(struct.pack("<II", owner, 1) + b"x" for owner in owners)
    assert labels_for(file, 3, rows=9, k=3) == b""


def test_a_part_that_is_cut_is_none():
    file = owner_labels(PARTS)
    for size in range(len(file)):
        assert labels_for(file[:size], 4, rows=4, k=3) == b""
