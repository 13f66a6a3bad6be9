"""What members and owners do when files of deposits cannot be read or written, and after that."""

import errno
import shutil

import pytest
from support.network import RUN

from secfc.drivers.deposits import collecting
from secfc.errors import ParameterError, StorageError


def test_a_folder_in_the_way_of_one_run_keeps_no_labels_of_others_from_the_store(closed_clinics):
    for run in (RUN, bytes(16)):
        closed_clinics.network(run=run).run()
    folder = closed_clinics.folder / "deposits" / closed_clinics.store.folder
    for name in ("labels", "runs"):
        shutil.rmtree(folder / name)
    for member in "123":
        (folder / "labels" / bytes(16).hex() / member).mkdir(parents=True)
    for name in closed_clinics.names:
        with pytest.raises(StorageError, match=f"labels/{bytes(16).hex()}/"):
            closed_clinics.member(name).close()
    assert len(closed_clinics.labels("clinic-1")) == 5


def test_labels_that_a_member_cannot_read_are_one_error(closed_clinics):
    closed_clinics.network().run()
    path = closed_clinics.folder / "results-north" / RUN.hex() / "owners.labels"
    path.unlink()
    path.mkdir()
    with pytest.raises(ParameterError, match=r"owners\.labels: Is a directory"):
        closed_clinics.member("north").close()


def test_admitting_several_owners_again_after_a_failure_writes_what_is_missing(clinics, monkeypatch):
    keys, written = [clinics.folder / f"clinic-{at}.pub" for at in (1, 2, 3)], []
    member = clinics.member("west")
    given = [path.with_suffix(".certificate") for path in keys]
    for path in given:
        path.unlink()
    real = collecting.write_new

    def fails_once(path, data, **mode):
        written.extend([path] if path in given else [])
        if path in given and len(written) == 2:
            raise ParameterError("full")
        real(path, data, **mode)

    monkeypatch.setattr(collecting, "write_new", fails_once)
    with pytest.raises(ParameterError, match="full"):
        member.admit(keys)
    assert member.admit(keys) == given
    assert written == [given[0], given[1], given[1], given[2]]
    assert [clinics.number(f"clinic-{at}") for at in (1, 2, 3)] == [9, 10, 11]


def test_no_certificate_is_written_before_its_number_is_on_the_disk(clinics, monkeypatch):
    key = clinics.folder / "clinic-1.pub"
    key.with_suffix(".certificate").unlink()
    monkeypatch.setattr(collecting, "sync_folder", cannot_sync)
    with pytest.raises(ParameterError, match="No space left on device"):
        clinics.member("west").admit([key])
    assert not key.with_suffix(".certificate").exists()


def test_a_certificate_with_another_text_is_not_replaced_and_no_number_is_given(clinics):
    for at in (4, 5):
        (clinics.folder / f"clinic-{at}.certificate").unlink()
    other = clinics.folder / "clinic-5.certificate"
    other.write_text("other")
    keys = [clinics.folder / f"clinic-{at}.pub" for at in (4, 5)]
    with pytest.raises(ParameterError, match=r"clinic-5\.certificate already exists"):
        clinics.member("west").admit(keys)
    assert other.read_text() == "other"
    assert not list((clinics.folder / "results-west.deposits").glob("*/owners/*"))


def test_an_owner_whose_receipts_cannot_be_written_is_told_and_deposits_nothing(clinics):
    (clinics.folder / "results-clinic-1.receipts").write_text("in the way")
    with pytest.raises(StorageError, match=r"results-clinic-1\.receipts"):
        clinics.deposit("clinic-1")
    assert not (clinics.folder / "deposits").exists()


def test_a_folder_that_cannot_be_synced_is_told_and_nothing_is_published(clinics, monkeypatch):
    clinics.deposit()
    with monkeypatch.context() as patch:
        patch.setattr(collecting, "sync_folder", cannot_sync)
        with pytest.raises(ParameterError, match="No space left on device"):
            clinics.member("north").close()
    assert not clinics.store.closed
    clinics.member("north").close()
    assert clinics.store.closed


def cannot_sync(folder):
    raise OSError(errno.ENOSPC, "No space left on device")
