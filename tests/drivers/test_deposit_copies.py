"""A member's file of copies of deposits: written as a whole, and read as far as it is one."""

import errno
import os

import pytest

from secfc.agreement.holdings import closed
from secfc.drivers import deposit_copies
from secfc.drivers.deposit_copies import NewCopies, copies_in
from secfc.errors import AgreementError, ParameterError, StorageError

FILES = {2: b"two", 5: b"", 1 << 20: b"last"}


@pytest.fixture
def path(tmp_path):
    with NewCopies(tmp_path / "copies") as made:
        for owner, file in FILES.items():
            made.add(owner, file)
        made.put("file")
    return tmp_path / "copies" / "file"


def read(path, owners=FILES, most=9):
    return dict(copies_in(path, owners, most=most))


def test_copies_are_found_by_owner_and_others_are_none(path):
    assert read(path, [1, 2, 3, 5, 6, 1 << 20, (1 << 20) + 1]) == {
        1: None, 2: b"two", 3: None, 5: b"", 6: None, 1 << 20: b"last", (1 << 20) + 1: None,
    }  # fmt: skip


def test_a_file_that_is_cut_has_the_copies_before_the_cut(path):
    data = path.read_bytes()
    for size in range(len(data)):
        path.write_bytes(data[:size])
        complete = {owner for owner, end in zip(FILES, (11, 19, 31), strict=True) if size >= end}
        assert read(path) == {owner: file if owner in complete else None for owner, file in FILES.items()}


def test_what_follows_an_owner_that_does_not_ascend_or_a_size_above_the_largest_is_no_copy(path):
    data = path.read_bytes()
    for wrong in (
        data[:11] + data,
        data[:11] + data[:11],
        data[:11] + b"\3\0\0\0\xff\xff\xff\xff" + data[11:],
    ):
        path.write_bytes(wrong)
        assert read(path) == {2: b"two", 5: None, 1 << 20: None}


def test_without_a_file_there_are_no_copies_and_what_is_no_file_is_an_error(path):
    path.unlink()
    assert read(path) == dict.fromkeys(FILES)
    path.mkdir()
    with pytest.raises(StorageError, match="Is a directory"):
        read(path)


def test_a_draft_is_deleted_and_the_file_stays_if_something_cannot_be_written(path, monkeypatch):
    data = path.read_bytes()
    monkeypatch.setattr(deposit_copies.os, "fsync", full)
    with NewCopies(path.parent) as made:
        made.add(1, b"other")
        with pytest.raises(ParameterError, match="No space left"):
            made.put("file")
    assert path.read_bytes() == data
    assert list(path.parent.iterdir()) == [path]


def full(descriptor):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_copies_are_on_the_disk_before_their_names_are(tmp_path, monkeypatch):
    done = []
    real_replace, real_sync = os.replace, os.fsync
    monkeypatch.setattr(deposit_copies.os, "fsync", lambda one: done.append("sync") or real_sync(one))
    monkeypatch.setattr(deposit_copies.os, "replace", lambda *a: done.append("name") or real_replace(*a))
    with NewCopies(tmp_path / "copies") as made:
        made.put("file")
    assert done == ["sync", "name", "sync", "sync"]


def test_a_member_that_leaves_owners_out_keeps_the_copies_of_both_holdings(closed_clinics):
    """A run that has begun goes on with the holding that it is bound to."""
    member = closed_clinics.member("south")
    before = member.last_holding().holding
    member.close([5])
    assert member._lost(before) == member._lost(member.last_holding().holding) == []


@pytest.mark.parametrize("without", [(), (5,)])
def test_a_lost_folder_of_copies_is_made_again_from_the_store(closed_clinics, without):
    path = closed_clinics.copies("south")
    data = path.read_bytes()
    path.unlink()
    path.parent.rmdir()
    member = closed_clinics.member("south")
    with pytest.raises(StorageError, match="the deposit of owner 1 that it has signed is gone"):
        member.closed()
    member.close(without)
    assert closed_clinics.member("south").closed().complete == closed(closed_clinics.store).complete
    assert without or path.read_bytes() == data


def test_copies_of_an_earlier_holding_are_made_again_where_the_store_has_them(closed_clinics):
    """A run that began with it needs them."""
    member, path = closed_clinics.member("south"), closed_clinics.copies("south")
    data = path.read_bytes()
    member.close([5])
    path.unlink()
    member.close()
    assert path.read_bytes() == data
    path.unlink()
    closed_clinics.piece(2, "clinic-3").unlink()  # owner 5, which the last holding leaves out
    member.close()
    assert member._lost(member.last_holding().holding) == []


def test_without_hard_links_copies_are_made_again_from_the_store(closed_clinics, monkeypatch):
    def none(*given):
        raise PermissionError(1, "Operation not permitted")

    member = closed_clinics.member("south")
    with monkeypatch.context() as patch:
        patch.setattr(os, "link", none)
        member.close([5])
    assert 5 not in member.last_holding().holding.held
    assert member._lost(member.last_holding().holding) == []


def test_drafts_of_killed_processes_are_deleted(closed_clinics):
    member = closed_clinics.member("south")
    drafts = [member._own / name for name in ("copies/0123~", "holdings/2-0123~")]
    for path in drafts:
        path.write_bytes(b"of a killed process")
    member.close([5])
    assert drafts[0].exists()  # nothing new was copied
    assert not drafts[1].exists()
    closed_clinics.copies("south").unlink()
    member.close()
    assert not drafts[0].exists()


def test_of_two_processes_that_copy_at_once_one_is_told(tmp_path):
    with NewCopies(tmp_path) as first, NewCopies(tmp_path) as second:
        second.put("file")
        with pytest.raises(AgreementError, match="file: another process of this site changed it"):
            first.put("file")


def test_copies_that_the_store_lost_too_are_told_and_the_others_are_made_again(closed_clinics):
    closed_clinics.copies("south").unlink()
    closed_clinics.piece(2, "clinic-3").unlink()
    member = closed_clinics.member("south")
    with pytest.raises(StorageError, match=r"the deposit of owner 5 .* is gone"):
        member.close()
    assert member._lost(member.last_holding().holding) == [5]
