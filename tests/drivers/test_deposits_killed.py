"""Members of a committee that are killed during a run read their deposits again."""

import shutil

import pytest
from simulator.kills import KILLS
from support.clinics import Clinics
from support.machines import Killed, Machines
from typer.testing import CliRunner

from secfc.agreement.audit import audit
from secfc.agreement.deposits.holdings import deposited
from secfc.agreement.statement import read_summary, write_summary
from secfc.cli.app import app
from secfc.drivers.deposits.collecting import Collected
from secfc.drivers.flare.jobs import LOGS, export_job
from secfc.drivers.sites.site_files import SiteFiles
from secfc.errors import AgreementError


def closed_clinics(folder, disclosure="coded"):
    """Deposits are closed, and members keep logs."""
    made = Clinics(folder, disclosure=disclosure)
    made.admit()
    made.deposit()
    made.close()
    for name in made.names:
        made.write_member(name, f'storage = "scratch-{name}"\n')
    return made


@pytest.mark.some(2)
@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("what", KILLS)
@pytest.mark.parametrize("disclosure", ["labels", "coded"])
def test_members_that_are_killed_take_their_deposits_again_and_go_on(tmp_path, what, disclosure):
    """Each answers as before, byte for byte (`Machines` compares), and labels are the same."""
    made = closed_clinics(tmp_path, disclosure)
    whole = Machines(made.committee(), keep=())
    whole.run()
    plan = dict.fromkeys((*range(2, whole.calls, 9), whole.calls), what)
    machines = Machines(made.committee(), plan, keep=())
    machines.run()
    assert not machines.plan
    machines.assert_logs_gone()
    for name in made.clinics:
        runs = [one.coordinator._run for one in (whole, machines)]
        assert made.labels(name, runs[0]) == made.labels(name, runs[1])


def closes_again(made):
    made.member("west").close([5])


def shows_an_older_holding(made):
    (made.folder / "deposits" / made.store.folder / "holdings" / "3-2").unlink()


def is_gone(made):
    (made.folder / "deposits").rename(made.folder / "away")


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("change", [closes_again, shows_an_older_holding, is_gone])
def test_a_run_keeps_its_deposits_when_a_member_closes_again_or_the_store_changes(tmp_path, change):
    """Everybody is killed and started again after the store has changed."""
    made = closed_clinics(tmp_path)
    made.member("west").close([7])
    plan = {11: "coordinator before"} | dict.fromkeys(range(12, 18), "site after")
    machines = Machines(made.committee(made.agreement), plan, keep=())

    def watch(call):
        if machines.calls == 8:
            change(made)

    machines.watch = watch
    assert machines.run() == 2
    machines.assert_logs_gone()
    assert machines.coordinator.lost == {}
    if change is is_gone:
        shutil.rmtree(made.folder / "deposits")
        (made.folder / "away").rename(made.folder / "deposits")
    made.close()  # writes labels and holdings to the store again
    run = machines.coordinator._run
    assert all(made.labels(name, run) for name in made.clinics if made.number(name) != 7)
    summary = made.folder / "summary.json"
    write_summary(summary, made.agreement, machines.coordinator.statements.values(), {})
    assert [one.text for one in audit(read_summary(summary), made.agreement) if not one.holds] == []


@pytest.mark.usefixtures("clock")
def test_the_command_continues_a_run_while_the_store_is_away(tmp_path):
    made = closed_clinics(tmp_path)
    machines = Machines(made.committee(made.agreement), {11: "coordinator before"}, keep=())
    assert machines.start().interrupted
    for name in made.names:
        machines.kill(name)
    (tmp_path / "logs").rename(tmp_path / "job.logs")
    is_gone(made)
    sites = [str(made.site(name)) for name in made.names]
    result = CliRunner().invoke(app, ["job", "run", str(tmp_path / "job.toml"), *sites, "--resumable"])
    assert (result.exit_code, result.exception) == (0, None)
    assert [one.parent.name for one in tmp_path.glob("results-*/*/statement.json")] == [
        machines.coordinator._run.hex()
    ] * 3


@pytest.mark.usefixtures("clock")
def test_a_flare_job_for_an_interrupted_run_is_exported_while_the_store_is_away(tmp_path):
    made = closed_clinics(tmp_path)
    machines = Machines(made.committee(made.agreement), {11: "coordinator before"}, keep=())
    assert machines.start().interrupted
    for name in machines.sites:
        machines.kill(name)
    (tmp_path / "kit").mkdir()
    (tmp_path / "logs").rename(tmp_path / "kit" / LOGS)
    made.member("west").close([7])
    is_gone(made)
    export_job(made.job, tmp_path / "second", deadline=60.0, kit=tmp_path / "kit")
    with pytest.raises(AgreementError, match="the store has no signed holding of"):
        export_job(made.job, tmp_path / "third", deadline=60.0, kit=tmp_path / "another")


@pytest.mark.parametrize("name", ["west", "compare"])
def test_a_process_begins_each_run_with_the_deposits_that_members_signed_last(tmp_path, name):
    """Also if it continued an older run before, and if it is a helper's."""
    made = Clinics(tmp_path)
    made.replace(made.job, 'disclosure = "labels"\ninit = "random"', "")
    made.add_helpers("compare")
    made.write_member("compare")
    made.sign()
    made.admit()
    made.deposit()
    made.close()
    process = SiteFiles(name=name, file=made.site(name))
    first = process.digest_of(bytes(16))
    assert first == deposited(made.agreement).run_digest
    made.member("west").close([7])
    assert process.digest_of(bytes(16)) == first
    second = process.digest_of(b"1" * 16)
    assert second == deposited(made.agreement).run_digest != first


class DiesPublishing(Machines):
    """The first member that puts labels into the store is killed before it does."""

    def _send(self, name, data, timeout):
        try:
            return super()._send(name, data, timeout)
        except Killed:
            self.kill(name)
            return None


@pytest.mark.usefixtures("clock")
def test_a_member_killed_before_it_leaves_labels_in_the_store_leaves_them_then(tmp_path, monkeypatch):
    made = closed_clinics(tmp_path)
    tried, real = [], Collected.publish

    def publish(self):
        tried.append(self)
        if len(tried) == 1:
            raise Killed
        real(self)

    monkeypatch.setattr(Collected, "publish", publish)
    machines = DiesPublishing(made.committee(), keep=())
    machines.run()
    run = machines.coordinator._run
    found = made.store.store.names(f"{made.store.folder}/labels/{run.hex()}")
    assert (sorted(found), len(tried)) == (["1", "2", "3"], 4)
