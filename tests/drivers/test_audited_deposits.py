"""What an audit says of the deposits of a run, and of a store or statements that were changed since."""

import hashlib
import shutil
from dataclasses import replace

import pytest
from support.clinics import Clinics

from secfc.agreement.audit import audit
from secfc.agreement.deposits.admission import MAGIC, unpacked
from secfc.agreement.deposits.holdings import call_of, holding_of, signed_holding
from secfc.agreement.job_file import read_job
from secfc.agreement.key_files import read_key
from secfc.agreement.statement import read_summary, sign_statement
from secfc.crypto.identity import Identity
from secfc.drivers.sites.participant import Participant


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A run of deposits, one of which a member lacks; after it a member has closed again several times.

    `first_holdings` are the digests of those of the run.
    """
    made = Clinics(tmp_path_factory.mktemp("ran"))
    made.admit()
    made.deposit()
    made.deposit("clinic-1")
    made.piece(2, "clinic-3").unlink()
    made.close()
    network = made.network()
    network.run()
    network.write_summary(made.folder / "summary.json", None)
    made.first_holdings = [made.member(name).last_holding().digest.hex() for name in made.names]
    for owner in (7, 6, 1, 2):
        made.member("west").close([owner])
    return made


@pytest.fixture
def audited(ran, tmp_path):
    """Findings of deposits of a copy of the folder, changed as told, and of statements, changed likewise."""
    folder = shutil.copytree(ran.folder, tmp_path / "copy")
    store = folder / "deposits" / ran.store.folder

    def findings(change=None, statement=None, without=()):
        if change is not None:
            change(store)
        summary = read_summary(folder / "summary.json")
        for name, values in (statement or {}).items():
            at = ran.names.index(name)
            stated = summary.statements[at].statement.model_copy(update=values)
            summary.statements[at] = sign_statement(stated, read_key(folder / f"{name}.key"))
        summary.statements[:] = [one for one in summary.statements if one.statement.party not in without]
        return audit(summary, read_job(folder / "job.toml"))

    return findings


def assert_wrong(found, text):
    assert [one.text for one in found if not one.holds] == [text]


def pieces(store, owner):
    return [store / "deposits" / str(member) / str(owner) for member in (1, 2, 3)]


def test_owners_members_who_admitted_them_and_who_is_left_out_are_named(audited):
    """As the members had signed before the run, and not since."""
    found = audited()
    assert all(one.holds for one in found)
    *_, all_, first, second, fourth, fifth, out = (one.text for one in found)
    assert all_.startswith("deposits of 4 owners with 11 rows are signed by all members, ")
    assert first.startswith("north admitted clinic-1 (owner 1), who signed its deposit of 5 rows, ")
    assert second.startswith("north admitted clinic-2 (owner 2), who signed its deposit of 1 rows, ")
    assert fourth.startswith("south admitted clinic-4 (owner 6), who signed its deposit of 3 rows, ")
    assert fifth.startswith("south admitted clinic-5 (owner 7), who signed its deposit of 2 rows, ")
    assert out == "left out: clinic-3 (owner 5): member 2 has no deposit of it"


def test_a_party_that_states_a_run_of_other_deposits_is_named(audited):
    assert_wrong(
        audited(statement={"south": {"deposits": "00" * 32}}),
        "deposits: they state different holdings: south differ from the others",
    )


def test_a_run_that_nobody_binds_to_deposits_does_not_hold(audited):
    nothing = {"deposits": None, "holdings": []}
    assert_wrong(
        audited(statement=dict.fromkeys(("north", "south", "west"), nothing)),
        "deposits: north, south, west: its statement names no deposits, or no holdings",
    )


def test_a_member_that_states_another_holding_than_it_had_is_named_and_nobody_else(audited, ran):
    """West has signed twice; the second one leaves an owner out that was in."""
    later = ran.member("west").last_holding().digest.hex()
    for said in (later, "00" * 32):
        stated = [*ran.first_holdings[:2], said]
        found = audited(statement={"west": {"holdings": stated}})
        assert_wrong(found, "deposits: they state different holdings: west differ from the others")
    found = audited(statement={"west": {"holdings": stated}}, without=["south"])
    assert [one.text for one in found if not one.holds] == [
        "south: its statement is missing",
        "deposits: they state different holdings: north, west: most of them do not agree",
    ]


def test_holdings_that_do_not_give_the_stated_run_do_not_hold(audited, ran):
    for stated, text in (
        ({"holdings": ran.first_holdings[:2]}, "2 holdings are stated, the job has 3 members"),
        ({"deposits": "00" * 32}, "the holdings that are stated are not those of the run that is stated"),
    ):
        assert_wrong(audited(statement=dict.fromkeys(ran.names, stated)), f"deposits: {text}")


@pytest.mark.parametrize(
    "changes",
    [
        lambda one: {"refused": {5: "no reason"}, "held": without(one.held), "names": one.names},
        lambda one: {"names": one.names | {1: "other"}},
        lambda one: {"held": without(one.held)},
    ],
)
def test_a_member_cannot_exchange_its_holding_for_another_of_the_same_serial(audited, ran, changes):
    """Deposits that count, and so their digest, are the same; its reasons or names are not."""
    member = ran.member("west")
    path = ran.folder / "deposits" / ran.store.folder / "holdings" / "3-1"
    before = holding_of(path.read_bytes(), ran.agreement, member=3, serial=1).holding
    after = signed_holding(
        ran.agreement,
        member=3,
        identity=member.identity,
        holding=replace(before, **changes(before)),
        serial=1,
    )
    found = audited(lambda store: (store / "holdings" / "3-1").write_bytes(after.file))
    assert_wrong(found, "deposits: the holding of west: no file in the store is one that was stated")


def without(held):
    return {owner: one for owner, one in held.items() if owner != 5}


def test_without_the_store_nothing_is_said_to_hold(audited):
    assert_wrong(
        audited(shutil.rmtree),
        "deposits: the store has no signed holding of north, south, west; each member writes its own with "
        "secfc deposit close",
    )


def test_one_member_s_file_of_an_owner_is_enough(audited):
    def spoil(store):
        first, second, _ = pieces(store, 1)
        first.unlink()
        second.write_bytes(b"x" * 100)

    assert all(one.holds for one in audited(spoil))


@pytest.mark.parametrize("what", ["certificate", "signature", "proof"])
def test_a_deposit_that_was_changed_since_does_not_hold(audited, ran, what):
    signed = call_of(ran.agreement).signed_bytes

    def change(store):
        for path in pieces(store, 1):
            data = path.read_bytes()
            start = len(data) - len(unpacked(data)[1])
            at = {"certificate": len(MAGIC) + 6, "signature": start + signed - 1, "proof": start + 150}[what]
            path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])

    assert_wrong(
        audited(change), "deposits: owner 1: no file in the store is the deposit that members signed"
    )


def test_an_owner_with_a_certificate_by_itself_does_not_hold(audited, ran):
    """The deposit is the one that was signed; the certificate has its key, and no member's signature."""

    def change(store):
        for path in pieces(store, 1):
            certificate, deposit = unpacked(path.read_bytes())
            forged = certificate.packed().replace(certificate.signature, Identity().sign(b"owner"))
            path.write_bytes(forged + deposit)

    assert_wrong(
        audited(change), "deposits: owner 1: no file in the store is the deposit that members signed"
    )


def test_an_owner_under_another_name_than_members_signed_does_not_hold(audited, ran):
    """The member that admitted it signs a second certificate of the same number and key."""

    def change(store):
        for path in pieces(store, 1):
            certificate, deposit = unpacked(path.read_bytes())
            path.write_bytes(ran.renamed(certificate, "clinic-9").packed() + deposit)

    assert_wrong(
        audited(change), "deposits: owner 1: no file in the store is the deposit that members signed"
    )


def test_all_parties_state_the_deposits_of_the_run_and_members_their_holding(ran):
    summary = read_summary(ran.folder / "summary.json")
    folder = ran.folder / "deposits" / ran.store.folder / "holdings"
    for member, one in enumerate(summary.statements, 1):
        content = (folder / f"{member}-1").read_bytes().split(b"\n", 2)[2]
        assert one.statement.holdings[member - 1] == hashlib.sha256(content).hexdigest()
    assert len({(one.statement.deposits, *one.statement.holdings) for one in summary.statements}) == 1


def test_a_member_that_closes_again_before_it_joins_a_run_states_the_holding_of_the_run(
    tmp_path, monkeypatch
):
    made = Clinics(tmp_path)
    made.admit()
    made.deposit()
    made.close()
    opened, real = [], Participant.open

    def open_(self, run):
        opened.append(self.name)
        if len(opened) == 3:  # all members have read the store
            made.member(self.name).close([7])
        return real(self, run)

    monkeypatch.setattr(Participant, "open", open_)
    network = made.network()
    network.run()
    network.write_summary(tmp_path / "summary.json", None)
    assert len(opened) == 3
    assert all(one.holds for one in audit(read_summary(tmp_path / "summary.json"), made.agreement))


def test_a_holding_that_the_store_has_lost_is_named(audited):
    found = audited(lambda store: (store / "holdings" / "3-1").unlink(), without=["west"])
    text = "deposits: the holding of west: no file in the store is one that was stated"
    assert [one.text for one in found if not one.holds] == ["west: its statement is missing", text]
