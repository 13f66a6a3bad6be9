"""What members and owners do when files of deposits cannot be read or written, and after that."""

import shutil

import pytest
from support.clinics import Clinics
from support.network import RUN

from secfc.agreement.holdings import Deposits
from secfc.drivers.past_runs import PastRuns
from secfc.errors import ParameterError, StorageError

LAST = b"\xff" * 16


@pytest.fixture
def clinics(tmp_path):
    made = Clinics(tmp_path)
    made.admit()
    return made


@pytest.fixture
def closed_clinics(clinics):
    clinics.deposit()
    clinics.close()
    return clinics


def cannot(*args, **noted):
    raise StorageError("full")


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


def test_a_run_with_labels_is_named_before_others(closed_clinics, monkeypatch):
    closed_clinics.network(run=LAST).run()
    member, written = closed_clinics.member("north"), []
    PastRuns(member.site, member.agreement).count(bytes(16))
    monkeypatch.setattr(Deposits, "write_runs", lambda self, member, runs: written.extend(runs))
    member.close()
    assert written == [LAST, bytes(16)]


def test_a_run_that_cannot_be_noted_is_not_counted(closed_clinics, monkeypatch):
    member = closed_clinics.member("north")
    past = PastRuns(member.site, member.agreement)
    monkeypatch.setattr(PastRuns, "note", cannot)
    with pytest.raises(StorageError, match="full"):
        past.count(LAST)
    assert past.counted == []


def test_a_run_that_was_counted_and_cannot_be_noted_again_stays_counted(closed_clinics, monkeypatch):
    """A site that is started again counts its run again; it may have shared something."""
    member = closed_clinics.member("north")
    past = PastRuns(member.site, member.agreement)
    past.count(LAST)
    monkeypatch.setattr(PastRuns, "note", cannot)
    with pytest.raises(StorageError, match="full"):
        past.count(LAST)
    assert past.counted == [LAST]


def test_labels_that_a_member_cannot_read_are_one_error(closed_clinics):
    closed_clinics.network().run()
    path = closed_clinics.folder / "results-north" / RUN.hex() / "owners.labels"
    path.unlink()
    path.mkdir()
    with pytest.raises(ParameterError, match=r"owners\.labels: Is a directory"):
        closed_clinics.member("north").close()
