"""Deposits as files: owners make them, members close them, a run uses them, owners open their labels."""

import stat
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from support.clinics import OWNERS, Clinics
from support.restarting import forget_last
from typer.testing import CliRunner

from plaintext_baselines import ExactLloyd
from secfc.agreement.audit import audit
from secfc.agreement.deposits.holdings import Deposits, Holding, call_of, closed, signed_holding
from secfc.agreement.key_files import key_text, write_new_key
from secfc.agreement.logs.run_log import RunLog
from secfc.agreement.site_file import read_site
from secfc.agreement.statement import read_summary
from secfc.cli.app import app
from secfc.drivers.deposits import collecting, shelf
from secfc.drivers.deposits.collecting import Collected
from secfc.errors import (
    AgreementError,
    DataError,
    LimitError,
    ParameterError,
    RangeError,
    StorageError,
    TooManyFaultsError,
)
from secfc.errors.codes import Code
from secfc.kernels import choose
from secfc.sharing import deposits

RUN = bytes(range(16))


def command(*words, status=0):
    done = CliRunner().invoke(app, [*map(str, words)], env={"COLUMNS": "200", "NO_COLOR": "1"})
    assert done.exit_code == status, done.output
    return " ".join(done.output.split())


def assert_exact(made, network, *, without=()):
    """Labels that clinics open equal those of Lloyd in exact integers on the rows that take part."""
    rows = {name: one for name, one in made.clinics.items() if name not in without}
    pooled, job = np.concatenate(list(rows.values())), made.agreement.job
    start = [network.coordinator.report.start]
    (labels,) = ExactLloyd(job.k, init=start, bound=job.bound).fit([pooled]).labels_
    ends = np.cumsum([len(one) for one in rows.values()])[:-1]
    for name, own in zip(rows, np.split(labels, ends), strict=True):
        assert made.labels(name) == [(f"{name}-{at}", one) for at, one in enumerate(own.tolist())]


@pytest.mark.some(1)
@pytest.mark.parametrize("disclosure", ["labels", "coded"])
def test_clinics_open_the_labels_of_exact_lloyd_for_their_own_rows(tmp_path, disclosure):
    made = Clinics(tmp_path, disclosure=disclosure)
    made.admit()
    made.deposit()
    made.close()
    network = made.network()
    network.run()
    assert_exact(made, network)
    for name in made.names:
        assert not list((tmp_path / f"results-{name}").glob("*/labels.csv"))


def test_a_helper_compares_for_a_committee_by_what_all_members_signed(tmp_path):
    made = Clinics(tmp_path, disclosure="coded")
    made.replace(made.job, 'disclosure = "coded"\ninit = "random"', "")
    made.add_helpers("compare")
    made.helpers = ("compare",)
    made.sign()
    made.admit()
    made.deposit()
    made.close()
    with pytest.raises(AgreementError, match="compare: a helper holds no deposits"):
        made.member("compare")
    network = made.network()
    network.run()
    assert_exact(made, network)


def test_a_run_with_deposits_is_audited_with_the_job_alone_and_its_summary_has_no_owners_labels(
    closed_clinics,
):
    network = closed_clinics.network()
    network.run()
    path = closed_clinics.folder / "summary.json"
    network.write_summary(path, None)
    summary = read_summary(path)
    assert all(one.holds for one in audit(summary, closed_clinics.agreement))
    assert summary.coordinator["result"]["by_party"] is None


def test_deposits_are_read_some_at_a_time_and_none_is_kept(closed_clinics, monkeypatch):
    """With blocks of one byte, each deposit is checked and its shares are moved before the next is read."""
    monkeypatch.setattr(shelf, "_BLOCK_BYTES", 1)
    monkeypatch.setattr(deposits.Intake, "take", counted(deposits.Intake.take))
    made = []
    monkeypatch.setattr(shelf, "Intake", lambda *a, **b: made.append(deposits.Intake(*a, **b)) or made[-1])
    network = closed_clinics.network()
    network.run()
    assert_exact(closed_clinics, network)
    assert max(len(one.held) for one in made) == 1
    assert not any(len(opened.piece) for one in made for opened in one._held.values())


def counted(take):
    def wrapped(self, deposit):
        assert not self._held
        return take(self, deposit)

    return wrapped


def test_the_last_deposit_counts_until_the_members_close(clinics):
    clinics.deposit()
    rows = clinics.clinics["clinic-2"] = np.array([[80.0, 25.0], [20.0, 25.0]])
    clinics.write_rows("clinic-2", rows)
    clinics.deposit("clinic-2")
    clinics.close()
    network = clinics.network()
    network.run()
    assert_exact(clinics, network)
    with pytest.raises(AgreementError, match="clinic-1: a member has closed the deposits"):
        clinics.deposit("clinic-1")


def test_a_member_that_has_closed_takes_nothing_more(clinics):
    clinics.deposit("clinic-1", "clinic-2")
    member = clinics.member("north")
    assert set(member.close().holding.held) == {1, 2}
    (clinics.folder / "deposits" / clinics.store.folder / "holdings" / "1-1").unlink()
    clinics.deposit("clinic-3")
    assert set(member.close().holding.held) == {1, 2}
    assert clinics.store.closed


def test_deposits_are_possible_until_the_last_day_and_closed_after_it(tmp_path):
    today = datetime.now(UTC).date()
    made = Clinics(tmp_path, owners=f"{OWNERS}until = {today + timedelta(days=3)}\n")
    made.admit()
    made.deposit("clinic-1")
    with pytest.raises(AgreementError, match=r"deposits are possible until the end of .*, in UTC"):
        made.member("north").close()
    made.replace(made.job, str(today + timedelta(days=3)), str(today - timedelta(days=2)))
    made.sign()
    for name in ("clinic-1", "clinic-2"):
        (tmp_path / f"{name}.certificate").unlink()
    made.member("north").admit([tmp_path / "clinic-1.pub"])
    with pytest.raises(AgreementError, match="clinic-1: deposits were possible until") as caught:
        made.deposit("clinic-1")
    assert caught.value.code is Code.EXPIRED
    with pytest.raises(AgreementError, match="north: the store has no deposit for it; nothing was signed"):
        made.member("north").close()


def test_a_member_that_signs_before_the_last_day_keeps_no_owner_from_depositing(tmp_path):
    until = datetime.now(UTC).date() + timedelta(days=3)
    made = Clinics(tmp_path, owners=f"{OWNERS}until = {until}\n")
    made.admit()
    one, nothing = made.member("west"), Holding(held={}, refused={}, names={})
    signed = signed_holding(made.agreement, member=3, identity=one.identity, holding=nothing, serial=1)
    made.store.write_holding(signed)
    made.deposit("clinic-1")
    assert all(made.piece(member, "clinic-1").exists() for member in (1, 2, 3))


class TestWhoMayDeposit:
    def test_a_member_admits_no_more_owners_than_the_job_says(self, clinics):
        keys = []
        for at in range(4):
            key = write_new_key(clinics.folder / f"more-{at}.key").public
            path = clinics.folder / f"more-{at}.pub"
            path.write_text(f'[[party]]\nname = "more-{at}"\nkey = "{key_text(key)}"\n')
            keys.append(path)
        clinics.member("north").admit(keys[:2])
        with pytest.raises(AgreementError, match="north: it has no number left for another owner; 4 are"):
            clinics.member("north").admit(keys[2:])
        assert not (clinics.folder / "more-2.certificate").exists()
        clinics.member("west").admit(keys[2:])

    def test_an_owner_that_is_admitted_again_keeps_its_number(self, clinics):
        number = clinics.number("clinic-2")
        (clinics.folder / "clinic-2.certificate").unlink()
        clinics.member("north").admit([clinics.folder / "clinic-2.pub"])
        assert clinics.number("clinic-2") == number == 2

    def test_a_number_that_another_process_gives_meanwhile_is_given_once(self, clinics, monkeypatch):
        key = write_new_key(clinics.folder / "late.key").public
        path = clinics.folder / "late.pub"
        path.write_text(f'[[party]]\nname = "late"\nkey = "{key_text(key)}"\n')
        real = collecting.admit

        def meanwhile(agreement, **given):
            (numbers,) = (clinics.folder / "results-north.deposits").glob("*/owners")
            (numbers / str(given["number"])).write_text("other 00")
            return real(agreement, **given)

        monkeypatch.setattr(collecting, "admit", meanwhile)
        with pytest.raises(AgreementError, match="another process of this site changed it at the same time"):
            clinics.member("north").admit([path])
        assert not path.with_suffix(".certificate").exists()

    def test_another_key_of_a_name_and_a_name_of_the_roster_are_refused(self, clinics):
        key = write_new_key(clinics.folder / "other.key").public
        for name, match in (("clinic-1", "another key as 'clinic-1'"), ("South", "a name in the roster")):
            path = clinics.folder / "other.pub"
            path.write_text(f'[[party]]\nname = "{name}"\nkey = "{key_text(key)}"\n')
            with pytest.raises(AgreementError, match=match):
                clinics.member("north").admit([path])

    def test_a_certificate_of_another_job_or_owner_is_refused_before_anything_is_sealed(self, clinics):
        certificate = clinics.folder / "clinic-2.certificate"
        given = certificate.read_text()
        certificate.write_text((clinics.folder / "clinic-1.certificate").read_text())
        with pytest.raises(AgreementError, match=r"clinic-2\.certificate: not of clinic-2 and the key"):
            clinics.deposit("clinic-2")
        certificate.write_text(given.replace("number = 2", "number = 3"))
        with pytest.raises(AgreementError, match="the certificate of owner 3 is not signed"):
            clinics.deposit("clinic-2")
        certificate.write_text(given.replace("number = 2", "number = 5"))
        with pytest.raises(AgreementError, match="member 1 has no owner 5"):
            clinics.deposit("clinic-2")
        certificate.write_text(given)
        clinics.replace(clinics.job, "Readmissions", "Others")
        clinics.sign()
        with pytest.raises(AgreementError, match="the certificate of owner 2 is not signed"):
            clinics.deposit("clinic-2")
        assert not (clinics.folder / "deposits").exists()

    def test_an_owner_refuses_a_job_that_breaks_its_limits_or_is_not_signed(self, clinics):
        clinics.replace(clinics.site("clinic-1"), "[data]", "[limits]\nleast_t = 2\n\n[data]")
        with pytest.raises(LimitError, match=r"clinic-1 refuses the job: limits\.least_t"):
            clinics.deposit("clinic-1")
        clinics.replace(clinics.job, "k = 2", "k = 3")
        with pytest.raises(AgreementError, match="not all parties have signed"):
            clinics.deposit("clinic-2")

    def test_rows_that_do_not_fit_the_job_are_refused_at_the_owner(self, clinics):
        clinics.write_rows("clinic-1", np.full((10, 2), 20.0))
        with pytest.raises(DataError, match=r"clinic-1: .*: it has 10 rows; 1 to 9 are possible"):
            clinics.deposit("clinic-1")
        clinics.write_rows("clinic-1", np.array([[130.0, 20.0]]))
        with pytest.raises(DataError, match="age"):
            clinics.deposit("clinic-1")

    def test_a_member_brings_no_rows_and_a_helper_holds_no_deposits(self, clinics):
        clinics.write_member("north", '\n[data]\npath = "north.csv"\n')
        with pytest.raises(ParameterError, match="data: north is in a committee and has no rows"):
            read_site(clinics.site("north")).check_inputs(clinics.agreement)


class TestJob:
    def test_owners_and_where_deposits_lie_are_part_of_what_is_agreed(self, clinics):
        before = clinics.agreement
        for old, new in (
            ("most = 4", 'most = 4\nstore = "elsewhere"'),
            ("most = 4", "most = 5"),
            ("rows = 9", "rows = 8"),
            ("most =", "until=2030-01-31\nmost ="),
        ):
            clinics.replace(clinics.job, old, new)
            again = clinics.agreement
            assert again.digest != before.digest
            clinics.replace(clinics.job, new, old)

    def test_deposits_change_the_run_and_not_what_was_signed(self, clinics):
        base = clinics.agreement
        first, second, third = (
            base.with_deposits((1, 2), said, ["00", holding, "00"])
            for said, holding in (("00", "00"), ("01", "00"), ("00", "01"))
        )
        assert first.digest == second.digest == third.digest == base.digest == base.run_digest
        assert len({first.run_digest, second.run_digest, third.run_digest, base.digest}) == 4
        assert first.session(RUN).agreement == first.run_digest

    @pytest.mark.parametrize(
        ("old", "new", "match"),
        [
            ("k = 2", "k = 2\nids_cap = 30", "ids: not with committee"),
            ('init = "random"', 'init = "labels"', "init by labels or centres: not with committee"),
            ('init = "random"', "predict = true", "predict: not with committee"),
            ("k = 2", 'k = 2\nreveal_centres = ["north"]', "reveal_centres: not with committee"),
            ("most = 4", "most = 400000", "3 parties admit 1200000 owners of 9 rows, at most 1048576"),
            ("most_rows = 9", "most_rows = 1000000000", "owners of 1000000000 rows"),
            ("most = 4", "most = 0", "owners.most"),
            ("runs = 100", "runs = 1001", "runs: at most 1000 are possible where owners deposit rows"),
            (
                "most = 4",
                'most = 4\nstore = "http://x"',
                "owners.store: a folder beside the job file or a URL of",
            ),
            ("most = 4", 'most = 4\nstore = "s3://user:password@x"', "owners.store: a URL without user and"),
        ],
    )
    def test_what_does_not_work_with_owners_is_refused_by_one_error(self, clinics, old, new, match):
        clinics.replace(clinics.job, old, new)
        with pytest.raises(ParameterError, match=match):
            Deposits.of(clinics.agreement)

    def test_a_page_of_the_run_is_refused_before_it_begins(self, closed_clinics):
        words = ["job", "run", closed_clinics.job, *map(closed_clinics.site, closed_clinics.names)]
        text = command(*words, "--report", closed_clinics.folder / "page.html", status=2)
        assert "report: not possible for a run with a committee" in text
        assert not (closed_clinics.folder / "summary.json").exists()

    def test_a_job_without_owners_has_no_deposits(self, clinics):
        clinics.replace(clinics.job, OWNERS, "")
        clinics.sign()
        for words in (("--site", clinics.site("clinic-1")), ("close", clinics.site("north"))):
            assert "the job has no owners that deposit rows" in command("deposit", *words, status=2)


class TestLabels:
    def test_a_receipt_is_for_its_owner_alone_and_without_it_nothing_opens(self, closed_clinics):
        (path,) = (closed_clinics.folder / "results-clinic-1.receipts").glob("*/*.toml")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        closed_clinics.network().run()
        path.unlink()
        with pytest.raises(AgreementError, match="there is no receipt of a deposit"):
            closed_clinics.labels("clinic-1")

    def test_labels_are_not_written_beside_other_rows_than_were_deposited(self, closed_clinics):
        closed_clinics.network().run()
        closed_clinics.write_rows("clinic-1", closed_clinics.clinics["clinic-1"][::-1])
        with pytest.raises(DataError, match=r"clinic-1: .*: not the rows that were deposited"):
            closed_clinics.labels("clinic-1")

    def test_labels_are_opened_once_and_there_are_none_before_a_run(self, closed_clinics):
        site = closed_clinics.site("clinic-3")
        assert "there are no labels yet" in command("deposit", "open", "--site", site, status=4)
        closed_clinics.network().run()
        assert "9 labels" in command("deposit", "open", "--site", site)
        assert "you have these labels" in command("deposit", "open", "--site", site)

    def test_labels_of_one_run_do_not_open_as_those_of_another(self, closed_clinics):
        closed_clinics.network().run()
        folder = closed_clinics.folder / "deposits" / closed_clinics.store.folder / "labels"
        (folder / RUN.hex()).rename(folder / bytes(16).hex())
        for member in (1, 2, 3):
            closed_clinics.store.write_runs(member, [bytes(16)])
        with pytest.raises(TooManyFaultsError, match=r"clinic-1: the run 0{32}: .* 0 shares of labels"):
            closed_clinics.labels("clinic-1")

    def test_a_run_that_fails_is_told_also_where_labels_of_another_were_opened_before(self, closed_clinics):
        closed_clinics.network().run()
        assert len(closed_clinics.labels("clinic-1")) == 5
        for member in (1, 2, 3):
            closed_clinics.store.write_runs(member, [bytes(16), RUN])
            closed_clinics.store.store.write(closed_clinics.store.labels(bytes(16), member), b"junk")
        with pytest.raises(TooManyFaultsError, match=r"clinic-1: the run 0"):
            closed_clinics.depositor("clinic-1").open()

    def test_an_owner_is_told_that_it_was_left_out_only_if_members_signed_so(self, closed_clinics):
        store = closed_clinics.store
        for member in (1, 2, 3):
            store.write_runs(member, [RUN])
            store.store.write(store.labels(RUN, member), b"")
        with pytest.raises(TooManyFaultsError, match="0 shares of labels, 3 are needed"):
            closed_clinics.depositor("clinic-1").open()
        closed_clinics.member("south").close([1])
        text = "it was left out, member 2: this member leaves it out"
        with pytest.raises(TooManyFaultsError, match=text):
            closed_clinics.depositor("clinic-1").open()

    def test_an_owner_needs_its_share_of_each_of_three_members(self, closed_clinics):
        closed_clinics.network().run()
        folder = closed_clinics.folder / "deposits" / closed_clinics.store.folder / "labels" / RUN.hex()
        right = (folder / "1").read_bytes()
        for wrong in (b"\xff" * 1000, (folder / "3").read_bytes()):
            (folder / "1").write_bytes(wrong)
            with pytest.raises(TooManyFaultsError, match="2 shares of labels, 3 are needed"):
                closed_clinics.labels("clinic-2")
        (folder / "1").write_bytes(right)
        assert len(closed_clinics.labels("clinic-2")) == len(closed_clinics.clinics["clinic-2"])


def test_labels_stay_with_members_that_cannot_reach_the_store_until_they_close_again(closed_clinics, caplog):
    folder = closed_clinics.folder / "deposits" / closed_clinics.store.folder / "labels"
    folder.write_text("in the way")
    closed_clinics.network().run()
    assert "labels of owners are in" in caplog.text
    folder.unlink()
    for name in ("north", "south", "west"):
        closed_clinics.member(name).close()
    assert len(closed_clinics.labels("clinic-1")) == 5


def beyond_the_bound(made, name, monkeypatch):
    """Have a clinic deposit rows beyond the bound, with a proof that its shares are consistent."""
    depositor = made.depositor(name)
    count = len(made.clinics[name])
    with monkeypatch.context() as patch:
        patch.setattr(deposits, "check_rows", lambda *args, **kwargs: None)
        owner = deposits.Owner(
            depositor._call(),
            number=made.number(name),
            identity=depositor._identity,
            rows=np.full((count, 2), 1e5),
            kernels=choose(0),
        )
        for member, piece in enumerate(owner.deposit(), 1):
            packed = depositor._certificate.packed()
            made.piece(member, name).write_bytes(packed + piece)


def test_an_owner_beyond_the_bound_is_named_and_another_run_leaves_it_out(clinics, monkeypatch):
    clinics.allow_share(0.6)  # clinic-3 has 9 of 17 rows without clinic-4
    clinics.deposit()
    beyond_the_bound(clinics, "clinic-4", monkeypatch)
    clinics.close()
    either = r"impossible-distances \(owner 6\)|^rows of owners 6 are beyond the public bound"  # who is first
    with pytest.raises(RangeError, match=either) as caught:
        clinics.network().run()
    assert tuple(caught.value.owners) == (6,)
    clinics.member("west").close([6])
    found = closed(clinics.store)
    assert found.left_out == ["clinic-4 (owner 6): member 3: this member leaves it out"]
    network = clinics.network(run=bytes(16))
    network.run()
    for name in ("clinic-1", "clinic-2", "clinic-3", "clinic-5"):
        assert len(clinics.labels(name, bytes(16))) == len(clinics.clinics[name])


def keep(clinics, log=None):
    """South begins a run with the deposits that count."""
    member = clinics.member("south")
    collected = Collected(member, RUN, member.last_holding().holding, log)
    collected.keep(closed(clinics.store).agreement.job.rows)
    return collected


def test_another_deposit_of_the_same_owner_is_not_taken_once_its_member_has_signed(clinics):
    """An earlier deposit is equally valid; only the member's signature excludes it."""
    clinics.deposit()
    earlier = clinics.piece(2, "clinic-3").read_bytes()
    clinics.deposit("clinic-3")
    clinics.close()
    clinics.piece(2, "clinic-3").write_bytes(earlier)
    with pytest.raises(StorageError, match=r"south: the deposit of owner 5 .* is gone: it is another one"):
        keep(clinics)


def test_a_log_keeps_what_a_member_took_and_what_it_lacks_is_named(closed_clinics, tmp_path):
    log = RunLog.begin(tmp_path / "run.log", {})
    keep(closed_clinics, log)
    closed_clinics.piece(2, "clinic-5").unlink()
    again = keep(closed_clinics, log)  # as a process that was killed and started again
    forget_last(log)
    with pytest.raises(StorageError, match="south: the deposit of owner 7 that it has signed is gone"):
        again.store(None, 1)
    log.remove()


def test_a_deposit_that_is_gone_ends_the_run_until_its_member_leaves_the_owner_out(closed_clinics):
    closed_clinics.piece(2, "clinic-3").unlink()
    with pytest.raises(StorageError, match="--without 5 leaves the owner out"):
        keep(closed_clinics)
    closed_clinics.member("south").close([5])
    keep(closed_clinics)
    network = closed_clinics.network()
    network.run()
    assert len(closed_clinics.labels("clinic-4")) == len(closed_clinics.clinics["clinic-4"])


@pytest.mark.parametrize("where", ["own.deposits", "own.deposits/in", "all", "all/own.deposits"])
def test_a_store_where_a_member_keeps_its_own_files_is_refused(clinics, where):
    clinics.replace(clinics.job, "most = 4", f'most = 4\nstore = "{where}"')
    clinics.replace(clinics.site("south"), '"results-south"', '"all/own"' if "all" in where else '"own"')
    clinics.sign()
    with pytest.raises(ParameterError, match=r"owners\.store: south keeps its own files of deposits in"):
        clinics.member("south")


def test_what_a_member_has_signed_is_opened_in_a_run_and_not_checked_again(closed_clinics, monkeypatch):
    network = closed_clinics.network()
    with monkeypatch.context() as patch:
        patch.setattr(deposits, "check_signature", None)
        patch.setattr(deposits.Intake, "_consistent", None)
        patch.setattr(shelf.Certificate, "check", None)
        network.run()
    assert_exact(closed_clinics, network)


@pytest.mark.parametrize(
    "where", ["head", "ephemeral", "digest", "proof", "signature", "piece", "cut", "owner"]
)
def test_a_deposit_that_changed_after_its_member_signed_it_ends_the_run_by_name(closed_clinics, where):
    path, call = closed_clinics.piece(2, "clinic-3"), call_of(closed_clinics.agreement)
    data, taken = path.read_bytes(), keep(closed_clinics)
    start = len(data) - call.deposit_bytes(len(closed_clinics.clinics["clinic-3"]))
    at = {
        "head": 4,
        "ephemeral": 20,
        "digest": 80,
        "proof": call.head_bytes,
        "signature": call.signed_bytes - 1,
    }
    changed = bytearray(data)
    changed[start + at.get(where, call.signed_bytes)] ^= where not in ("cut", "owner")
    if where == "owner":
        changed = closed_clinics.piece(2, "clinic-4").read_bytes()
    path.write_bytes(changed[:-1] if where == "cut" else changed)
    text = "south: the deposit of owner 5 that it has signed is gone: "
    with pytest.raises(StorageError, match=text):
        keep(closed_clinics)
    with pytest.raises(StorageError, match=text):  # it changed when the run had begun
        taken.store(None, 1)


def test_a_member_takes_no_part_with_other_deposits_than_it_has_signed(closed_clinics):
    member = closed_clinics.member("south")
    right = member.closed().agreement.job.rows
    for wrong in (replace(right, owners=right.owners[:-1]), replace(right, digest="00")):
        with pytest.raises(AgreementError, match="south: it holds other deposits than the job says"):
            Collected(member, RUN, member.last_holding().holding).keep(wrong)


def test_owners_prepare_their_rows_where_nothing_has_to_be_opened_for_it(tmp_path):
    made = Clinics(tmp_path)
    (tmp_path / "schema.toml").write_text(
        'smallest = 2\n[[column]]\nname = "age"\nlow = 0\nhigh = 120\nscale = "min-max"\n'
    )
    text = made.job.read_text().split("[columns]")[0]
    made.job.write_text(text.replace("runs = 100", 'runs = 100\nprepare = "schema.toml"'))
    made.sign()
    made.admit()
    made.deposit()
    made.close()
    network = made.network()
    network.run()
    made.clinics = {name: rows[:, :1] / 120 for name, rows in made.clinics.items()}
    assert_exact(made, network)
    schema = (tmp_path / "schema.toml").read_text()
    (tmp_path / "schema.toml").write_text(schema.replace('"min-max"', '"standardise"\ndeviations = 6'))
    with pytest.raises(ParameterError, match="only parties with rows can open means of age"):
        _ = made.agreement
