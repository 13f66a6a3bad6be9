"""What hostile members, and writers of a store, may say of holdings and names of owners."""

import hashlib
import json
from dataclasses import replace

import pytest

from secfc.agreement.consortium import Member as Party
from secfc.agreement.deposits.admission import unpacked
from secfc.agreement.deposits.holdings import Holding, closed, holding_of, signed_holding
from secfc.agreement.deposits.store import Store
from secfc.agreement.key_files import write_new_key
from secfc.agreement.schemas import encoded
from secfc.agreement.site_file import read_site
from secfc.drivers.deposits.collecting import with_deposits
from secfc.drivers.deposits.depositing import Depositor
from secfc.errors import AgreementError, ParameterError
from secfc.protocol.job.making import changed_job


def signed_again(made, name, serial=1, member=None, **changes):
    """A member's holding with changes, signed again by the member."""
    one = made.member(name)
    return signed_holding(
        made.agreement,
        member=member or one.number,
        identity=one.identity,
        holding=replace(one.last_holding().holding, **changes),
        serial=serial,
    ).file


def path_of(made, member, serial=1):
    return made.folder / "deposits" / made.store.folder / "holdings" / f"{member}-{serial}"


def test_a_holding_that_its_member_did_not_sign_ends_before_the_run(closed_clinics, caplog):
    path = path_of(closed_clinics, 2)
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
def test_a_forged_holding_with_a_greater_serial_is_passed_over(closed_clinics, caplog, what):
    """By whoever may write to the store: it changes nothing, and a warning says which file."""
    before = closed(closed_clinics.store)
    path, given = path_of(closed_clinics, 2, 9), path_of(closed_clinics, 2)
    match what:
        case "folder":
            path.mkdir()
        case "link":
            path.symlink_to(given)
        case "other member's":
            path.write_bytes(signed_again(closed_clinics, "north", member=2, serial=9, held={}))
        case "changed":
            path.write_bytes(given.read_bytes() + b" ")
        case _:
            data = {"junk": b"{", "large": bytes(1 << 20)}
            path.write_bytes(data.get(what, given.read_bytes()))
    assert closed(closed_clinics.store) == before
    assert "holding 9 of south was passed over: " in caplog.text
    assert closed_clinics.member("north").closed().agreement.run_digest == before.agreement.run_digest


def test_of_a_holding_that_its_member_did_not_sign_nothing_but_the_head_is_read(closed_clinics, monkeypatch):
    given, path = path_of(closed_clinics, 2), path_of(closed_clinics, 2, 9)
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


def test_a_run_ends_well_beside_forged_holdings_of_all_members(closed_clinics):
    for member in (1, 2, 3):
        for serial in (2, 1000):
            path_of(closed_clinics, member, serial).write_bytes(b"{}")
    closed_clinics.network().run()
    assert len(closed_clinics.labels("clinic-1")) == 5


def test_a_forged_holding_keeps_no_member_from_signing_again(closed_clinics):
    path_of(closed_clinics, 2, 2).write_bytes(b"{}")
    closed_clinics.member("south").close([1])
    assert closed(closed_clinics.store).left_out == [
        "clinic-1 (owner 1): member 2: this member leaves it out"
    ]


def test_a_forged_holding_keeps_no_owner_from_depositing(depositors):
    path = path_of(depositors, 2, 1)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"{}")
    depositors.deposit("clinic-1")
    depositors.member("north").close()
    with pytest.raises(AgreementError, match="a member has closed the deposits"):
        depositors.deposit("clinic-1")


@pytest.mark.parametrize("content", ["twice", "above", b"[]", b"{", b"[" * 100_000, b'{"held":1}'])
def test_a_signed_holding_that_is_none_is_refused_by_name(closed_clinics, content, monkeypatch):
    one = closed_clinics.member("south")
    holding = one.last_holding().holding
    if content == "twice":
        holding = replace(holding, refused={1: "x"})
    elif content == "above":
        holding = replace(holding, held={13: holding.held[1]}, names={13: "x"})
    else:
        monkeypatch.setattr(Holding, "content", lambda self: content)
    signed = signed_holding(one.agreement, member=2, identity=one.identity, holding=holding, serial=1)
    with pytest.raises(AgreementError, match="the holding of south: it signed what is none: "):
        holding_of(signed.file, one.agreement, member=2, serial=1)


def test_a_member_that_signs_what_is_no_holding_is_named_and_nothing_else_of_it_is_read(
    closed_clinics, monkeypatch
):
    one = closed_clinics.member("south")
    holding = one.last_holding().holding
    with monkeypatch.context() as patch:
        patch.setattr(Holding, "content", lambda self: b"{}")
        for serial in (2, 3):
            signed = signed_holding(
                one.agreement, member=2, identity=one.identity, holding=holding, serial=serial
            )
            path_of(closed_clinics, 2, serial).write_bytes(signed.file)
    opened = read_in_full(monkeypatch)
    with pytest.raises(AgreementError, match="the holding of south: it signed what is none: held is needed"):
        closed(closed_clinics.store)
    assert [path[-3:] for path in opened] == ["1-1", "2-3"]


def test_of_a_member_whose_signed_files_changed_no_more_than_three_are_read(closed_clinics, monkeypatch):
    """By a member that signs heads without the content, or whose files others can replace."""
    for serial in range(2, 8):
        path_of(closed_clinics, 2, serial).write_bytes(
            signed_again(closed_clinics, "south", serial=serial, refused={}) + b" "
        )
    opened = read_in_full(monkeypatch)
    with pytest.raises(AgreementError, match="the holding of south: no file in the store is one"):
        closed(closed_clinics.store)
    assert [path[-3:] for path in opened] == ["1-1", "2-7", "2-6", "2-5"]


def test_a_damaged_file_of_a_member_leaves_the_one_that_it_signed_before(closed_clinics):
    before = closed(closed_clinics.store).agreement.run_digest
    closed_clinics.member("south").close([1])
    path_of(closed_clinics, 2, 2).write_bytes(path_of(closed_clinics, 2, 2).read_bytes()[:-1])
    assert closed(closed_clinics.store).agreement.run_digest == before


def read_in_full(monkeypatch):
    """Paths of the files that a store reads from now on, except for their heads."""
    opened, real = [], Store.read
    monkeypatch.setattr(
        Store, "read", lambda self, path, most: opened.append(path) or real(self, path, most=most)
    )
    return opened


def test_a_holding_of_another_job_member_or_serial_is_refused(closed_clinics):
    one = closed_clinics.member("south")
    other = replace(one.agreement, job=changed_job(one.agreement.job, k=3))
    for agreement, member, serial in ((other, 2, 1), (one.agreement, 3, 1), (one.agreement, 2, 2)):
        with pytest.raises(AgreementError, match="did not sign this file"):
            holding_of(one.last_holding().file, agreement, member=member, serial=serial)


def test_a_member_that_lies_about_rows_or_deposits_has_the_owner_left_out_and_no_more(closed_clinics):
    held = closed_clinics.member("south").last_holding().holding.held
    for lie in ((4, held[1][1]), (5, bytes(32))):
        path_of(closed_clinics, 2).write_bytes(signed_again(closed_clinics, "south", held=held | {1: lie}))
        found = closed(closed_clinics.store)
        assert found.left_out == ["clinic-1 (owner 1): members have different deposits of it"]
        assert found.agreement.job.rows.owners == (0, 1, 0, 0, 9, 3, 2)


def test_an_owner_to_whom_members_give_different_names_is_left_out_and_they_are_named(closed_clinics):
    names = closed_clinics.member("south").last_holding().holding.names
    signed = signed_again(closed_clinics, "south", names=names | {1: "clinic-2"})
    path_of(closed_clinics, 2).write_bytes(signed)
    found = closed(closed_clinics.store)
    assert found.left_out == ["owner 1: member 1 has it as clinic-1, member 2 as clinic-2"]
    assert found.agreement.job.rows.owners == (0, 1, 0, 0, 9, 3, 2)
    assert 1 not in found.names


def test_an_owner_with_certificates_of_two_names_is_left_out(depositors):
    """A member signs both. Its deposit is the same at all members."""
    depositors.allow_share(0.6)  # clinic-3 has 9 of 15 rows without clinic-1
    path, found = depositors.piece(2, "clinic-1"), depositors.depositor("clinic-1")._certificate
    renamed = depositors.renamed(found, "clinic-2")
    path.write_bytes(renamed.packed() + unpacked(path.read_bytes())[1])
    depositors.close()
    assert closed(depositors.store).left_out == ["owner 1: member 1 has it as clinic-1, member 2 as clinic-2"]
    depositors.network().run()
    assert len(depositors.labels("clinic-2")) == 1


def test_an_owner_is_left_out_by_number_beside_another_of_its_name(depositors):
    """West admits an owner of its own as clinic-1."""
    identity = write_new_key(depositors.folder / "false.key")
    (depositors.folder / "false.pub").write_text(Party(name="clinic-1", key=identity.public).to_toml())
    depositors.member("west").admit([depositors.folder / "false.pub"])
    text = depositors.site("clinic-1").read_text().replace('key = "clinic-1.key"', 'key = "false.key"')
    text = text.replace("clinic-1.certificate", "false.certificate")
    (depositors.folder / "false.toml").write_text(text.replace('"results-clinic-1"', '"results-false"'))
    Depositor(read_site(depositors.folder / "false.toml")).deposit()
    depositors.close()
    with pytest.raises(ParameterError, match="--without: owner 11 has no deposit"):
        depositors.member("north").close([11])
    depositors.member("north").close([9])
    assert closed(depositors.store).left_out == ["clinic-1 (owner 9): member 1: this member leaves it out"]
    assert closed(depositors.store).agreement.job.rows.owners[0] == 5


def test_members_that_are_shown_different_holdings_make_different_runs(closed_clinics):
    """A member signs two holdings, and the store gives the others different ones."""
    before = with_deposits(read_site(closed_clinics.site("north")), closed_clinics.agreement)
    closed_clinics.member("south").close([1])
    after = with_deposits(read_site(closed_clinics.site("north")), closed_clinics.agreement)
    assert before.run_digest != after.run_digest
    path_of(closed_clinics, 2, 2).unlink()
    hidden = with_deposits(read_site(closed_clinics.site("north")), closed_clinics.agreement)
    own = with_deposits(read_site(closed_clinics.site("south")), closed_clinics.agreement)
    assert hidden.run_digest == before.run_digest
    assert own.run_digest == after.run_digest


def test_a_member_that_has_not_closed_takes_no_part(depositors):
    for name in ("north", "south"):
        depositors.member(name).close()
    with pytest.raises(AgreementError, match="no signed holding of west"):
        with_deposits(read_site(depositors.site("north")), depositors.agreement)
    with pytest.raises(AgreementError, match="west: it has not closed the deposits"):
        with_deposits(read_site(depositors.site("west")), depositors.agreement)


def test_the_coordinator_cannot_run_with_other_deposits_than_the_members_signed(closed_clinics):
    """Its calls name another agreement, so members do not take part."""
    agreement = closed_clinics.member("north").closed().agreement
    owners = (0, *agreement.job.rows.owners[1:])
    deposits, holdings = agreement.job.rows.digest, agreement.holdings
    forged = closed_clinics.agreement.with_deposits(owners, deposits, holdings)
    with pytest.raises(AgreementError, match="not-agreed"):
        closed_clinics.network(agreement=forged).run()
