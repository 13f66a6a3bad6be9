"""What hostile owners, members and writers of a store may leave there. Honest deposits are not affected."""

import hashlib
import json
import os
import struct
from dataclasses import replace

import numpy as np
import pytest
from support.clinics import Clinics
from support.network import RUN

from secfc.agreement.admission import MAGIC, admit, read_certificate, unpacked
from secfc.agreement.consortium import Member as Party
from secfc.agreement.holdings import Holding, call_of, closed, holding_of, signed_holding
from secfc.agreement.keys import read_key, write_new_key
from secfc.agreement.signatures import encoded
from secfc.agreement.site_file import read_site
from secfc.agreement.store import Store
from secfc.drivers.collecting import with_deposits
from secfc.drivers.depositing import Depositor
from secfc.errors import AgreementError, MessageError, ParameterError, SealError, StorageError
from secfc.kernels import choose
from secfc.protocol import deposits as protocol
from secfc.protocol.deposits import Owner
from secfc.sealing.identity import Identity


def cannot(self, path, most):
    raise StorageError("gone")


FIRST = {1, 2, 5, 6, 7}  # numbers of clinics 1 to 5


@pytest.fixture
def clinics(tmp_path):
    made = Clinics(tmp_path)
    made.admit()
    made.deposit()
    return made


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
    def test_what_is_no_deposit_is_not_taken(self, clinics, data, reason):
        clinics.piece(1, "clinic-1").write_bytes(data)
        assert_others_stay(clinics, {1}, reason)

    @pytest.mark.parametrize("at", [4, 6, 10, 42, 106, 110, 130, -1])
    def test_a_changed_byte_anywhere_is_found(self, clinics, at):
        path = clinics.piece(1, "clinic-3")
        data = bytearray(path.read_bytes())
        data[at] ^= 1
        path.write_bytes(data)
        assert_others_stay(clinics, {5})

    def test_a_cut_or_longer_file_is_not_taken(self, clinics):
        path = clinics.piece(1, "clinic-3")
        data = path.read_bytes()
        for wrong in (data[:-1], data + b"x", data[:120]):
            path.write_bytes(wrong)
            assert_others_stay(clinics, {5})

    def test_the_file_of_another_owner_or_member_is_not_taken(self, clinics):
        path, other = clinics.piece(1, "clinic-1"), clinics.piece(1, "clinic-2").read_bytes()
        path.write_bytes(other)
        assert_others_stay(clinics, {1}, "its certificate is of owner 2")
        path.write_bytes(clinics.piece(2, "clinic-1").read_bytes())
        assert_others_stay(clinics, {1}, "not the piece that it signed for this member")
        packed = clinics.depositor("clinic-1")._certificate.packed()
        path.write_bytes(packed + unpacked(other)[1])
        assert_others_stay(clinics, {1}, "a deposit of another owner")

    def test_files_of_other_names_are_not_opened(self, clinics, monkeypatch):
        folder = clinics.piece(1, "clinic-1").parent
        for name in ("0", "13", "01", "1e3", "-1", "a", "9" * 30, "²", "1~", "..x"):
            (folder / name).write_bytes(b"junk")
        opened = []
        real = Store.read
        monkeypatch.setattr(
            Store, "read", lambda self, path, most: opened.append(path) or real(self, path, most=most)
        )
        assert_others_stay(clinics, set())
        assert len(opened) == 5

    def test_a_folder_in_the_place_of_a_file_is_not_taken(self, clinics):
        path = clinics.piece(1, "clinic-1")
        path.unlink()
        path.mkdir()
        assert_others_stay(clinics, {1}, "it is no file")

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
    def test_a_pipe_or_a_link_in_the_place_of_a_file_is_not_read(self, clinics):
        pipe, link = clinics.piece(1, "clinic-1"), clinics.piece(1, "clinic-3")
        pipe.unlink()
        os.mkfifo(pipe)
        link.rename(clinics.folder / "elsewhere")
        link.symlink_to(clinics.folder / "elsewhere")
        assert_others_stay(clinics, {1, 5})

    def test_a_deposit_that_one_member_lacks_leaves_its_owner_out_as_a_whole(self, clinics):
        clinics.piece(2, "clinic-3").unlink()
        clinics.close()
        assert closed(clinics.store).left_out == ["clinic-3 (owner 5): member 2 has no deposit of it"]
        clinics.network().run()
        assert len(clinics.labels("clinic-1")) == 5

    def test_an_earlier_deposit_put_back_at_one_member_leaves_its_owner_out(self, clinics):
        before = clinics.piece(2, "clinic-1").read_bytes()
        clinics.deposit("clinic-1")
        clinics.piece(2, "clinic-1").write_bytes(before)
        clinics.close()
        assert closed(clinics.store).left_out == ["clinic-1 (owner 1): members have different deposits of it"]

    def test_an_earlier_deposit_put_back_at_all_members_still_opens_for_its_owner(self, clinics):
        before = [clinics.piece(j, "clinic-1").read_bytes() for j in (1, 2, 3)]
        clinics.deposit("clinic-1")
        for j, data in enumerate(before, 1):
            clinics.piece(j, "clinic-1").write_bytes(data)
        clinics.close()
        clinics.network().run()
        assert len(clinics.labels("clinic-1")) == 5

    def test_no_deposit_at_all_ends_before_the_run(self, clinics):
        for name in clinics.clinics:
            clinics.piece(1, name).unlink()
        clinics.close()
        with pytest.raises(AgreementError, match="no deposit is complete at all members"):
            closed(clinics.store)


class TestOwners:
    def test_an_owner_of_inconsistent_shares_is_refused_by_name_and_others_stay(self, clinics, monkeypatch):
        with monkeypatch.context() as patch:
            real = protocol.proof_of
            patch.setattr(
                protocol, "proof_of", lambda *given: bytes([real(*given)[0] ^ 1]) + real(*given)[1:]
            )
            clinics.deposit("clinic-3")
        clinics.close()
        found = closed(clinics.store)
        assert found.left_out == ["clinic-3 (owner 5): member 1: its shares are not consistent"]
        clinics.network().run()
        assert len(clinics.labels("clinic-5")) == 2

    def test_a_deposit_of_another_job_is_refused(self, clinics):
        """Owner, members and certificate are the same. Only the job, and so the call, is another one."""
        given = clinics.piece(1, "clinic-1").read_bytes()
        agreement, call = clinics.agreement, call_of(clinics.agreement)
        other = replace(call, session=replace(call.session, agreement=bytes(32)))
        keys = [b""] * len(call.keys)
        identity = read_key(clinics.folder / "clinic-1.key")
        keys[0] = identity.public
        owner = Owner(
            replace(other, keys=keys),
            number=1,
            identity=identity,
            rows=clinics.clinics["clinic-1"],
            kernels=choose(0),
        )
        certificate, _ = unpacked(given)
        certificate.check(agreement)
        clinics.piece(1, "clinic-1").write_bytes(certificate.packed() + owner.deposit()[0])
        assert_others_stay(clinics, {1}, "not signed by it for this call")

    def test_an_owner_cannot_deposit_more_rows_than_the_job_says(self, clinics):
        depositor = clinics.depositor("clinic-1")
        call = replace(depositor._call(), most_rows=(10,) * 12)
        owner = Owner(
            call, number=1, identity=depositor._identity, rows=np.full((10, 2), 20.0), kernels=choose(0)
        )
        packed = depositor._certificate.packed()
        clinics.piece(1, "clinic-1").write_bytes(packed + owner.deposit()[0])
        assert_others_stay(clinics, {1})

    def test_an_owner_cannot_admit_itself_or_others(self, clinics):
        """A certificate with an owner's or a stranger's key, in the name of each member."""
        agreement = clinics.agreement
        depositor = clinics.depositor("clinic-1")
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

    def test_a_member_admits_no_owner_with_a_number_of_another_member(self, clinics):
        key = read_key(clinics.folder / "north.key")
        for number in (0, 5, 12):
            with pytest.raises(SealError, match=f"member 1 has no owner {number}"):
                admit(clinics.agreement, member=1, identity=key, number=number, name="more", key=key.public)

    @pytest.mark.parametrize("name", ["north", "HUB", "server", "", "a b", "x" * 64, "a\n", "é"])
    def test_a_certificate_with_a_name_that_no_owner_can_have_is_refused(self, clinics, name):
        found = clinics.depositor("clinic-1")._certificate
        with pytest.raises(SealError, match="no name that an owner can have"):
            replace(found, name=name).check(clinics.agreement)

    def test_a_certificate_that_is_packed_is_the_same_unpacked_and_no_other_bytes_are_one(self, clinics):
        found = clinics.depositor("clinic-3")._certificate
        assert unpacked(found.packed() + b"rest") == (found, b"rest")
        for data in (b"", found.packed()[:104], found.packed()[:107] + b"\xff\xff"):
            with pytest.raises(MessageError):
                unpacked(data)


class TestMembers:
    def signed(self, made, name, serial=1, member=None, **changes):
        """A member's holding with changes, signed again by the member."""
        one = made.member(name)
        return signed_holding(
            made.agreement,
            member=member or one.number,
            identity=one.identity,
            holding=replace(one.last_holding().holding, **changes),
            serial=serial,
        ).file

    @pytest.fixture
    def closed_clinics(self, clinics):
        clinics.close()
        return clinics

    def path(self, made, member, serial=1):
        return made.folder / "deposits" / made.store.folder / "holdings" / f"{member}-{serial}"

    def test_a_holding_that_its_member_did_not_sign_ends_before_the_run(self, closed_clinics, caplog):
        path = self.path(closed_clinics, 2)
        signature, digest, content = path.read_bytes().split(b"\n")
        given = json.loads(content)
        other = json.dumps(given | {"held": given["held"][1:]}).encode()
        other_digest = hashlib.sha256(other).hexdigest().encode()
        for lines, text in (
            ((signature, digest, other), "did not sign this content"),
            ((signature, digest), "did not sign this content"),
            ((signature, other_digest, other), "did not sign this file"),
            ((encoded(bytes(64)).encode(), digest, content), "did not sign this file"),
            ((b"", digest, content), "did not sign this file"),
            ((b"\xff" * 9, digest, content), "did not sign this file"),
            ((signature, b"\xff" * 64, content), "did not sign this file"),
            ((signature, digest, bytes(1 << 20)), "more than"),
        ):
            caplog.clear()
            path.write_bytes(b"\n".join(lines))
            with pytest.raises(AgreementError, match="the holding of south: no file in the store is one"):
                closed(closed_clinics.store)
            assert text in caplog.text

    @pytest.mark.parametrize("what", ["junk", "copy", "other member's", "large", "folder", "link", "changed"])
    def test_a_forged_holding_with_a_greater_serial_is_passed_over(self, closed_clinics, caplog, what):
        """By whoever may write to the store: it changes nothing, and a warning says which file."""
        before = closed(closed_clinics.store)
        path, given = self.path(closed_clinics, 2, 9), self.path(closed_clinics, 2)
        match what:
            case "folder":
                path.mkdir()
            case "link":
                path.symlink_to(given)
            case "other member's":
                path.write_bytes(self.signed(closed_clinics, "north", member=2, serial=9, held={}))
            case "changed":
                path.write_bytes(given.read_bytes() + b" ")
            case _:
                data = {"junk": b"{", "large": bytes(1 << 20)}
                path.write_bytes(data.get(what, given.read_bytes()))
        assert closed(closed_clinics.store) == before
        assert "holding 9 of south was passed over: " in caplog.text
        assert closed_clinics.member("north").closed().agreement.run_digest == before.agreement.run_digest

    def test_of_a_holding_that_its_member_did_not_sign_nothing_but_the_head_is_read(
        self, closed_clinics, monkeypatch
    ):
        given, path = self.path(closed_clinics, 2), self.path(closed_clinics, 2, 9)
        path.write_bytes(given.read_bytes())
        sizes, real = {}, Store.head

        def head(self, path, size):
            sizes.setdefault(path[-3:], []).append(size)
            return real(self, path, size)

        monkeypatch.setattr(Store, "head", head)
        assert closed_clinics.store.closed
        assert max(size for of_file in sizes.values() for size in of_file) < 200
        closed(closed_clinics.store)
        assert max(sizes["2-9"]) < 200

    def test_a_run_ends_well_beside_forged_holdings_of_all_members(self, closed_clinics):
        for member in (1, 2, 3):
            for serial in (2, 1000):
                self.path(closed_clinics, member, serial).write_bytes(b"{}")
        closed_clinics.network().run()
        assert len(closed_clinics.labels("clinic-1")) == 5

    def test_a_forged_holding_keeps_no_member_from_signing_again(self, closed_clinics):
        self.path(closed_clinics, 2, 2).write_bytes(b"{}")
        closed_clinics.member("south").close([1])
        assert closed(closed_clinics.store).left_out == [
            "clinic-1 (owner 1): member 2: this member leaves it out"
        ]

    def test_a_forged_holding_keeps_no_owner_from_depositing(self, clinics):
        path = self.path(clinics, 2, 1)
        path.parent.mkdir(parents=True)
        path.write_bytes(b"{}")
        clinics.deposit("clinic-1")
        clinics.member("north").close()
        with pytest.raises(AgreementError, match="a member has closed the deposits"):
            clinics.deposit("clinic-1")

    @pytest.mark.parametrize("content", ["twice", "above", b"[]", b"{", b"[" * 100_000, b'{"held":1}'])
    def test_a_signed_holding_that_is_none_is_refused_by_name(self, closed_clinics, content, monkeypatch):
        one = closed_clinics.member("south")
        holding = one.last_holding().holding
        if content == "twice":
            holding = replace(holding, refused={1: "x"})
        elif content == "above":
            holding = replace(holding, held={13: holding.held[1]}, names={13: "x"})
        else:
            monkeypatch.setattr(Holding, "content", lambda self: content)
        signed = signed_holding(one.agreement, member=2, identity=one.identity, holding=holding, serial=1)
        with pytest.raises(AgreementError, match="the holding of south: "):
            holding_of(signed.file, one.agreement, member=2, serial=1)

    def test_a_holding_of_another_job_member_or_serial_is_refused(self, closed_clinics):
        one = closed_clinics.member("south")
        other = replace(one.agreement, job=replace(one.agreement.job, k=3))
        for agreement, member, serial in ((other, 2, 1), (one.agreement, 3, 1), (one.agreement, 2, 2)):
            with pytest.raises(AgreementError, match="did not sign this file"):
                holding_of(one.last_holding().file, agreement, member=member, serial=serial)

    def test_a_member_that_lies_about_rows_or_deposits_has_the_owner_left_out_and_no_more(
        self, closed_clinics
    ):
        held = closed_clinics.member("south").last_holding().holding.held
        for lie in ((4, held[1][1]), (5, bytes(32))):
            self.path(closed_clinics, 2).write_bytes(
                self.signed(closed_clinics, "south", held=held | {1: lie})
            )
            found = closed(closed_clinics.store)
            assert found.left_out == ["clinic-1 (owner 1): members have different deposits of it"]
            assert found.agreement.job.owners == (0, 1, 0, 0, 9, 3, 2)

    def test_an_owner_to_whom_members_give_different_names_is_left_out_and_they_are_named(
        self, closed_clinics
    ):
        names = closed_clinics.member("south").last_holding().holding.names
        signed = self.signed(closed_clinics, "south", names=names | {1: "clinic-2"})
        self.path(closed_clinics, 2).write_bytes(signed)
        found = closed(closed_clinics.store)
        assert found.left_out == ["owner 1: member 1 has it as clinic-1, member 2 as clinic-2"]
        assert found.agreement.job.owners == (0, 1, 0, 0, 9, 3, 2)
        assert 1 not in found.names

    def test_an_owner_with_certificates_of_two_names_is_left_out(self, clinics):
        """A member signs both. Its deposit is the same at all members."""
        path, found = clinics.piece(2, "clinic-1"), clinics.depositor("clinic-1")._certificate
        text = admit(
            clinics.agreement,
            member=1,
            identity=read_key(clinics.folder / "north.key"),
            number=1,
            name="clinic-2",
            key=found.key,
        )
        (clinics.folder / "renamed.certificate").write_text(text)
        renamed = read_certificate(clinics.folder / "renamed.certificate", clinics.agreement)
        path.write_bytes(renamed.packed() + unpacked(path.read_bytes())[1])
        clinics.close()
        assert closed(clinics.store).left_out == [
            "owner 1: member 1 has it as clinic-1, member 2 as clinic-2"
        ]
        clinics.network().run()
        assert len(clinics.labels("clinic-2")) == 1

    def test_an_owner_is_left_out_by_number_beside_another_of_its_name(self, clinics):
        """West admits an owner of its own as clinic-1."""
        identity = write_new_key(clinics.folder / "false.key")
        (clinics.folder / "false.pub").write_text(Party(name="clinic-1", key=identity.public).to_toml())
        clinics.member("west").admit([clinics.folder / "false.pub"])
        text = clinics.site("clinic-1").read_text().replace('key = "clinic-1.key"', 'key = "false.key"')
        text = text.replace("clinic-1.certificate", "false.certificate")
        (clinics.folder / "false.toml").write_text(text.replace('"results-clinic-1"', '"results-false"'))
        Depositor(read_site(clinics.folder / "false.toml")).deposit()
        clinics.close()
        with pytest.raises(ParameterError, match="--without: owner 11 has no deposit"):
            clinics.member("north").close([11])
        clinics.member("north").close([9])
        assert closed(clinics.store).left_out == ["clinic-1 (owner 9): member 1: this member leaves it out"]
        assert closed(clinics.store).agreement.job.owners[0] == 5

    def test_members_that_are_shown_different_holdings_make_different_runs(self, closed_clinics):
        """A member signs two holdings, and the store gives the others different ones."""
        before = with_deposits(read_site(closed_clinics.site("north")), closed_clinics.agreement)
        closed_clinics.member("south").close([1])
        after = with_deposits(read_site(closed_clinics.site("north")), closed_clinics.agreement)
        assert before.run_digest != after.run_digest
        self.path(closed_clinics, 2, 2).unlink()
        hidden = with_deposits(read_site(closed_clinics.site("north")), closed_clinics.agreement)
        own = with_deposits(read_site(closed_clinics.site("south")), closed_clinics.agreement)
        assert hidden.run_digest == before.run_digest
        assert own.run_digest == after.run_digest

    def test_a_member_that_has_not_closed_takes_no_part(self, clinics):
        for name in ("north", "south"):
            clinics.member(name).close()
        with pytest.raises(AgreementError, match="west did not close the deposits"):
            with_deposits(read_site(clinics.site("north")), clinics.agreement)
        with pytest.raises(AgreementError, match="west: it has not closed the deposits"):
            with_deposits(read_site(clinics.site("west")), clinics.agreement)

    def test_the_coordinator_cannot_run_with_other_deposits_than_the_members_signed(self, closed_clinics):
        """Its calls name another agreement, so members do not take part."""
        agreement = closed_clinics.member("north").closed().agreement
        owners = (0, *agreement.job.owners[1:])
        deposits, holdings = agreement.job.deposits, agreement.holdings
        forged = closed_clinics.agreement.with_deposits(owners, deposits, holdings)
        with pytest.raises(AgreementError, match="not-agreed"):
            closed_clinics.network(agreement=forged).run()


class TestStores:
    def test_whoever_has_the_store_finds_no_value_in_it(self, clinics):
        clinics.close()
        clinics.network().run()
        files = [path for path in (clinics.folder / "deposits").rglob("*") if path.is_file()]
        assert len(files) == 15 + 3 + 3 + 3
        found = b"".join(path.read_bytes() for path in files)
        for rows in clinics.clinics.values():
            for value in rows.ravel():
                assert value.tobytes() not in found
                assert repr(value).encode() not in found

    def test_two_deposits_of_the_same_rows_have_nothing_in_common_but_who_and_how_many(self, clinics):
        path = clinics.piece(1, "clinic-3")
        first = path.read_bytes()
        clinics.deposit("clinic-3")
        second = path.read_bytes()
        certificate, _ = unpacked(first)
        start = len(certificate.packed()) + 8
        equal = np.frombuffer(first, np.uint8)[start:] == np.frombuffer(second, np.uint8)[start:]
        assert len(first) == len(second)
        assert equal.mean() < 0.05

    @pytest.fixture
    def ran(self, clinics):
        clinics.close()
        clinics.network().run()
        return clinics

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
    def test_a_file_of_labels_that_cannot_be_read_does_not_keep_the_others_from_opening(self, ran, what):
        path = self.labels_folder(ran) / RUN.hex() / "1"
        path.unlink()
        if what == "folder":
            path.mkdir()
        else:
            path.write_bytes(bytes(1 << 20) if what == "large" else struct.pack("<II", 1, 1 << 31))
        assert len(ran.labels("clinic-1")) == 5

    def test_a_store_that_cannot_be_read_is_told_to_an_owner(self, ran, monkeypatch):
        depositor = ran.depositor("clinic-1")
        monkeypatch.setattr(Store, "read", cannot)
        with pytest.raises(StorageError, match=r"^gone$"):
            depositor.open()

    def test_a_store_that_cannot_be_written_is_told_and_a_receipt_stays(self, clinics, monkeypatch):
        folder = clinics.piece(2, "clinic-1").parent
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()
        folder.write_text("in the way")
        with pytest.raises(StorageError, match=r"deposits/2/1: (File exists|Not a directory)"):
            clinics.deposit("clinic-1")
        assert len(list((clinics.folder / "results-clinic-1.receipts").glob("*/*.toml"))) == 2
