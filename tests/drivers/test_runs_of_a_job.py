"""A signed job expires, and sites take part in at most the agreed number of runs."""

import re

import pytest
from support.organisations import Organisations
from typer.testing import CliRunner

from secfc.agreement.job_file import read_job
from secfc.agreement.signatures import signatures_path
from secfc.agreement.site_file import read_site
from secfc.agreement.statement import LEFT_OUT
from secfc.cli.app import app
from secfc.drivers.sites import past_runs
from secfc.drivers.sites.agreed_run import log_path
from secfc.drivers.sites.participant import Participant
from secfc.drivers.sites.past_runs import STATEMENT
from secfc.errors import AgreementError, ParameterError
from secfc.errors.codes import Code


@pytest.fixture
def organisations(tmp_path):
    made = Organisations(tmp_path)
    made.sign()
    return made


def again(organisations, name, run):
    """A run that a site begins, with nothing shared yet."""
    site = read_site(organisations.site(name))
    one = Participant(site, read_job(site.job))
    one.open(run)
    return one


def test_a_job_that_has_expired_is_refused(organisations):
    organisations.replace(organisations.job, "9999-12-31", "2026-01-31")
    organisations.sign()
    with pytest.raises(
        AgreementError, match=r"^north: the job [0-9a-f]{16} expired on 2026-01-31$"
    ) as caught:
        again(organisations, "north", bytes(16))
    assert caught.value.code is Code.EXPIRED


def test_a_log_of_a_run_that_never_began_does_not_let_an_expired_job_run(organisations):
    organisations.replace(organisations.job, "9999-12-31", "2026-01-31")
    organisations.sign()
    path = log_path(organisations.job, organisations.agreement)
    path.parent.mkdir()
    path.touch()
    sites = [str(organisations.site(name)) for name in organisations.names]
    done = CliRunner().invoke(app, ["job", "run", str(organisations.job), *sites, "--resumable"])
    assert done.exit_code == 3
    assert "expired on 2026-01-31" in done.output


def test_a_job_that_has_expired_is_not_signed(organisations):
    organisations.replace(organisations.job, "9999-12-31", "2026-01-31")
    signed = signatures_path(organisations.job).read_bytes()
    done = CliRunner().invoke(app, ["job", "sign", str(organisations.site("north"))])
    assert done.exit_code == 3
    assert "expired on 2026-01-31" in done.output
    assert signatures_path(organisations.job).read_bytes() == signed


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"statement": ', ":1: not JSON: "),
        ("[" * 100_000, ": not JSON that can be read$"),
        ("\xff", ": not a text in UTF-8$"),
        ("[]", ": "),
    ],
    ids=["truncated", "deep", "other bytes", "a list"],
)
def test_a_statement_that_is_not_as_it_was_written_is_told_by_its_file(organisations, text, told):
    one = again(organisations, "north", bytes(16))
    path = read_site(organisations.site("north")).results / bytes(16).hex() / STATEMENT
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ParameterError, match=f"{re.escape(str(path))}{told}"):
        one._past.statement(bytes(16))


def test_a_job_is_run_as_often_as_was_agreed_on_whatever_the_endings(organisations):
    """A server with a recipient could run a job again, with start labels that differ in one row."""
    organisations.replace(organisations.job, "runs = 100", "runs = 2")
    organisations.sign()
    for run in (1, 2, 3):  # sites that are not ready in time do not use up a run
        again(organisations, "north", bytes([run]) * 16).close(LEFT_OUT)
    for run in (4, 5):
        one = again(organisations, "north", bytes([run]) * 16)
        one._past.count(one._run)  # as it does before it sends its first shares
    with pytest.raises(
        AgreementError, match=r"^north: the job [0-9a-f]{16} had 2 runs; 2 were agreed$"
    ) as caught:
        again(organisations, "north", bytes([6]) * 16)
    assert caught.value.code is Code.NO_RUNS_LEFT
    assert again(organisations, "south", bytes([6]) * 16)


def test_two_runs_at_once_are_counted_before_anything_is_shared(organisations):
    organisations.replace(organisations.job, "runs = 100\n", "")
    organisations.sign()
    assert organisations.agreement.runs == 1
    first, second = (again(organisations, "north", bytes([run]) * 16) for run in (1, 2))
    first._past.count(first._run)
    with pytest.raises(AgreementError, match="had 1 runs"):
        second._past.count(second._run)
    first._past.count(first._run)  # of a journal that is read again


def test_two_runs_that_are_counted_at_the_same_moment_do_not_both_share(organisations, monkeypatch):
    """A coordinator opens two runs and sends both plans at once, to two processes of a site."""
    organisations.replace(organisations.job, "runs = 100\n", "")
    organisations.sign()
    first, second = (again(organisations, "north", bytes([run]) * 16) for run in (1, 2))

    def earlier(path, *given):
        """The other process counts its run just before this one marks its own."""
        monkeypatch.setattr(past_runs.os, "open", opened)
        second._past.count(second._run)
        return opened(path, *given)

    opened = past_runs.os.open
    monkeypatch.setattr(past_runs.os, "open", earlier)
    with pytest.raises(AgreementError, match="had 1 runs"):
        first._past.count(first._run)
    second._past.count(second._run)
    with pytest.raises(AgreementError, match="had 1 runs"):  # also after a restart
        first._past.count(first._run)
