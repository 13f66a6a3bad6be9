"""What hostile owners, members and writers of a store may leave there. Honest deposits are not affected."""

import os
import struct
from dataclasses import replace

import numpy as np
import pytest
from support.network import RUN

from secfc.agreement.deposits.admission import MAGIC, admit, unpacked
from secfc.agreement.deposits.holdings import call_of, closed
from secfc.agreement.deposits.store import Store
from secfc.agreement.key_files import read_key
from secfc.crypto.identity import Identity
from secfc.drivers.sites.past_runs import PastRuns
from secfc.errors import AgreementError, MessageError, SealError, StorageError, TooManyFaultsError
from secfc.kernels import choose
from secfc.sharing import deposits as protocol
from secfc.sharing.deposits import Owner
from secfc.sharing.proof import sums

FIRST = {1, 2, 5, 6, 7}  # numbers of depositors 1 to 5


def read(made, name="north"):
    """What a member finds, without closing the deposits."""
    return made.member(name)._read(made.store)


def assert_others_stay(made, without, reason=None):
    """A member takes all deposits except those of these owners, for this reason. No party is blamed."""
    holding, not_taken = read(made)
    assert set(holding.held) == FIRST - without
    assert holding.refused == {}
    assert set(not_taken) == without
    for text in not_taken.values():
        assert reason is None or reason in text


class TestFiles:
    """Anybody who can write to the store can leave these. They cost an owner its place, and blame nobody."""

    @pytest.mark.parametrize(
        ("data", "reason"),
        [
            (b"", "not a secfc message"),
            (b"SFD1" + bytes(500), "version 1 of the protocol"),
            (MAGIC, "has no certificate"),
            (MAGIC + bytes(500), "its certificate is of owner 0"),
            (bytes(1 << 16), "more than"),
        ],
    )
    def test_what_is_no_deposit_is_not_taken(self, depositors, data, reason):
        depositors.piece(1, "clinic-1").write_bytes(data)
        assert_others_stay(depositors, {1}, reason)

    @pytest.mark.parametrize("at", [4, 6, 10, 42, 106, 110, 130, -1])
    def test_a_changed_byte_anywhere_is_found(self, depositors, at):
        path = depositors.piece(1, "clinic-3")
        data = bytearray(path.read_bytes())
        data[at] ^= 1
        path.write_bytes(data)
        assert_others_stay(depositors, {5})

    def test_a_cut_or_longer_file_is_not_taken(self, depositors):
        path = depositors.piece(1, "clinic-3")
        data = path.read_bytes()
        for wrong in (data[:-1], data + b"x", data[:120]):
            path.write_bytes(wrong)
            assert_others_stay(depositors, {5})

    def test_the_file_of_another_owner_or_member_is_not_taken(self, depositors):
        path, other = (
            depositors.piece(1, "clinic-1"),
            depositors.piece(1, "clinic-2").read_bytes(),
        )
        path.write_bytes(other)
        assert_others_stay(depositors, {1}, "its certificate is of owner 2")
        path.write_bytes(depositors.piece(2, "clinic-1").read_bytes())
        assert_others_stay(depositors, {1}, "not the piece that it signed for this member")
        packed = depositors.depositor("clinic-1")._certificate.packed()
        path.write_bytes(packed + unpacked(other)[1])
        assert_others_stay(depositors, {1}, "a deposit of another owner")

    def test_files_of_other_names_are_not_opened(self, depositors, monkeypatch):
        folder = depositors.piece(1, "clinic-1").parent
        for name in ("0", "13", "01", "1e3", "-1", "a", "9" * 30, "²", "1~", "..x"):
            (folder / name).write_bytes(b"junk")
        opened = []
        real = Store.read
        monkeypatch.setattr(
            Store, "read", lambda self, path, most: opened.append(path) or real(self, path, most=most)
        )
        assert_others_stay(depositors, set())
        assert len(opened) == 5

    def test_a_folder_in_the_place_of_a_file_is_not_taken(self, depositors):
        path = depositors.piece(1, "clinic-1")
        path.unlink()
        path.mkdir()
        assert_others_stay(depositors, {1}, "it is no file")

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
    def test_a_pipe_or_a_link_in_the_place_of_a_file_is_not_read(self, depositors):
        pipe, link = depositors.piece(1, "clinic-1"), depositors.piece(1, "clinic-3")
        pipe.unlink()
        os.mkfifo(pipe)
        link.rename(depositors.folder / "elsewhere")
        link.symlink_to(depositors.folder / "elsewhere")
        assert_others_stay(depositors, {1, 5})

    def test_a_deposit_that_one_member_lacks_leaves_its_owner_out_as_a_whole(self, depositors):
        depositors.piece(2, "clinic-3").unlink()
        depositors.close()
        assert closed(depositors.store).left_out == ["clinic-3 (owner 5): member 2 has no deposit of it"]
        depositors.network().run()
        assert len(depositors.labels("clinic-1")) == 5

    def test_an_earlier_deposit_put_back_at_one_member_leaves_its_owner_out(self, depositors):
        before = depositors.piece(2, "clinic-1").read_bytes()
        depositors.deposit("clinic-1")
        depositors.piece(2, "clinic-1").write_bytes(before)
        depositors.close()
        assert closed(depositors.store).left_out == [
            "clinic-1 (owner 1): members have different deposits of it"
        ]

    def test_files_that_change_or_go_once_members_have_closed_begin_no_run_until_their_owner_is_left_out(
        self, depositors
    ):
        """By an owner that deposits again, or by whoever may write to the store. No run is counted."""
        depositors.close()
        for member in (1, 2):
            path = depositors.piece(member, "clinic-3")
            path.write_bytes(path.read_bytes()[:-1] + b"x")
        depositors.piece(3, "clinic-3").unlink()
        with pytest.raises(TooManyFaultsError, match="the files that the party stored for the run cannot be"):
            depositors.network().run()
        member = depositors.member("north")
        assert PastRuns(member.site, member.agreement).counted == []
        depositors.close([5])
        other = bytes(16)
        depositors.network(run=other).run()
        assert [len(depositors.labels(f"clinic-{at}", other)) for at in (1, 2, 4, 5)] == [5, 1, 3, 2]

    def test_a_member_signs_nothing_while_no_deposit_can_be_read(self, depositors):
        for name in depositors.clinics:
            depositors.piece(1, name).write_bytes(b"junk")
        with pytest.raises(AgreementError, match="north: the store has no deposit for it; nothing was"):
            depositors.member("north").close()
        depositors.deposit("clinic-1")
        assert set(depositors.member("north").close().holding.held) == {1}


class TestOwners:
    def test_an_owner_of_inconsistent_shares_is_refused_by_name_and_others_stay(
        self, depositors, monkeypatch
    ):
        with monkeypatch.context() as patch:
            patch.setattr(protocol, "sums", lambda *given: sums(*given) + 1)
            depositors.deposit("clinic-3")
        depositors.close()
        found = closed(depositors.store)
        assert found.left_out == ["clinic-3 (owner 5): member 1: its shares are not consistent"]
        depositors.network().run()
        assert len(depositors.labels("clinic-5")) == 2

    def test_a_deposit_of_another_job_is_refused(self, depositors):
        """Owner, members and certificate are the same. Only the job, and so the call, is another one."""
        given = depositors.piece(1, "clinic-1").read_bytes()
        agreement, call = depositors.agreement, call_of(depositors.agreement)
        other = replace(call, session=replace(call.session, agreement=bytes(32)))
        keys = [b""] * len(call.keys)
        identity = read_key(depositors.folder / "clinic-1.key")
        keys[0] = identity.public
        owner = Owner(
            replace(other, keys=keys),
            number=1,
            identity=identity,
            rows=depositors.clinics["clinic-1"],
            kernels=choose(0),
        )
        certificate, _ = unpacked(given)
        certificate.check(agreement)
        depositors.piece(1, "clinic-1").write_bytes(certificate.packed() + owner.deposit()[0])
        assert_others_stay(depositors, {1}, "not signed by it for this call")

    def test_an_owner_cannot_deposit_more_rows_than_the_job_says(self, depositors):
        depositor = depositors.depositor("clinic-1")
        call = replace(depositor._call(), most_rows=(10,) * 12)
        owner = Owner(
            call, number=1, identity=depositor._identity, rows=np.full((10, 2), 20.0), kernels=choose(0)
        )
        packed = depositor._certificate.packed()
        depositors.piece(1, "clinic-1").write_bytes(packed + owner.deposit()[0])
        assert_others_stay(depositors, {1})

    def test_an_owner_cannot_admit_itself_or_others(self, depositors):
        """A certificate with an owner's or a stranger's key, in the name of each member."""
        agreement = depositors.agreement
        depositor = depositors.depositor("clinic-1")
        for member, number in ((1, 3), (3, 12), (4, 13), (0, 0), (3, 3)):
            for identity in (depositor._identity, Identity()):
                with pytest.raises(SealError):
                    admit(
                        agreement,
                        member=member,
                        identity=identity,
                        number=number,
                        name="more",
                        key=identity.public,
                    )

    def test_a_member_admits_no_owner_with_a_number_of_another_member(self, depositors):
        key = read_key(depositors.folder / "north.key")
        for number in (0, 5, 12):
            with pytest.raises(SealError, match=f"member 1 has no owner {number}"):
                admit(
                    depositors.agreement,
                    member=1,
                    identity=key,
                    number=number,
                    name="more",
                    key=key.public,
                )

    @pytest.mark.parametrize("name", ["north", "HUB", "server", "", "a b", "x" * 64, "a\n", "é"])
    def test_a_certificate_with_a_name_that_no_owner_can_have_is_refused(self, depositors, name):
        found = depositors.depositor("clinic-1")._certificate
        with pytest.raises(SealError, match="no name that an owner can have"):
            found.model_copy(update={"name": name}).check(depositors.agreement)

    def test_a_certificate_that_is_packed_is_the_same_unpacked_and_no_other_bytes_are_one(self, depositors):
        found = depositors.depositor("clinic-3")._certificate
        assert unpacked(found.packed() + b"rest") == (found, b"rest")
        for data in (b"", found.packed()[:104], found.packed()[:107] + b"\xff\xff"):
            with pytest.raises(MessageError):
                unpacked(data)


class TestStores:
    def test_whoever_has_the_store_finds_no_value_in_it(self, depositors):
        depositors.close()
        depositors.network().run()
        files = [path for path in (depositors.folder / "deposits").rglob("*") if path.is_file()]
        assert len(files) == 15 + 3 + 3 + 3
        found = b"".join(path.read_bytes() for path in files)
        for rows in depositors.clinics.values():
            for value in rows.ravel():
                assert value.tobytes() not in found
                assert repr(value).encode() not in found

    def test_two_deposits_of_the_same_rows_have_nothing_in_common_but_who_and_how_many(self, depositors):
        path = depositors.piece(1, "clinic-3")
        first = path.read_bytes()
        depositors.deposit("clinic-3")
        second = path.read_bytes()
        certificate, _ = unpacked(first)
        start = len(certificate.packed()) + 8
        equal = np.frombuffer(first, np.uint8)[start:] == np.frombuffer(second, np.uint8)[start:]
        assert len(first) == len(second)
        assert equal.mean() < 0.05

    @pytest.fixture
    def ran(self, depositors):
        depositors.close()
        depositors.network().run()
        return depositors

    def labels_folder(self, made):
        return made.folder / "deposits" / made.store.folder / "labels"

    def test_folders_of_runs_that_are_none_do_not_hide_labels(self, ran):
        for at in range(1001):
            (self.labels_folder(ran) / f"{at:032x}").mkdir()
        assert len(ran.labels("clinic-1")) == 5

    def test_runs_that_fewer_members_name_than_are_needed_cost_an_owner_no_file(self, ran, monkeypatch):
        ran.store.write_runs(2, [at.to_bytes(16, "big") for at in range(100)])
        opened, real = [], Store.read
        monkeypatch.setattr(
            Store, "read", lambda self, path, most: opened.append(path) or real(self, path, most=most)
        )
        assert len(ran.labels("clinic-1")) == 5
        assert len(opened) == 3 + 3

    @pytest.mark.parametrize("data", [b"", b"x" * 5, bytes(1 << 20), bytes(1600)])
    def test_a_false_list_of_runs_of_one_member_hides_no_labels(self, ran, data):
        ran.store.store.write(f"{ran.store.folder}/runs/1", data)
        assert len(ran.labels("clinic-1")) == 5

    @pytest.mark.parametrize("what", ["large", "folder", "records"])
    def test_a_file_of_labels_that_cannot_be_read_counts_as_none_until_it_is_mended(self, ran, what):
        path = self.labels_folder(ran) / RUN.hex() / "1"
        right = path.read_bytes()
        path.unlink()
        if what == "folder":
            path.mkdir()
        else:
            path.write_bytes(bytes(1 << 20) if what == "large" else struct.pack("<II", 1, 1 << 31))
        with pytest.raises(TooManyFaultsError, match="2 shares of labels, 3 are needed"):
            ran.labels("clinic-1")
        if what == "folder":
            path.rmdir()
        path.write_bytes(right)
        assert len(ran.labels("clinic-1")) == 5

    def test_a_store_that_cannot_be_written_is_told_and_a_receipt_stays(self, depositors, monkeypatch):
        folder = depositors.piece(2, "clinic-1").parent
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()
        folder.write_text("in the way")
        with pytest.raises(StorageError, match=r"deposits/2/1: a link or a file is in the way"):
            depositors.deposit("clinic-1")
        assert len(list((depositors.folder / "results-clinic-1.receipts").glob("*/*.toml"))) == 2
