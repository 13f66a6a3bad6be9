"""If a site's data is wrong, all bytes from it and all files of the others are searched for its data."""

import errno
import logging
import os

import pytest
from support.leaks import CASES, MARK, SITE, VALUE, Plain, assert_no_mark, files_of_others
from support.network import Network, on_receive

from secfc.agreement.public_errors import is_ending
from secfc.agreement.statement import read_summary
from secfc.drivers.calls.envelopes import Kind
from secfc.errors import SecFCError
from secfc.errors.codes import Code
from secfc.protocol.messages import Step

pytestmark = pytest.mark.usefixtures("clock")

NUMBER = 2
"""Client number of the site."""


class Overheard:
    """A run that records everything that leaves a party."""

    def __init__(self, made):
        self.left, self.made = [], made
        self.network = Network(made, spoil=self._carry, deadline=5.0)
        self.error = None
        try:
            self.network.run()
        except SecFCError as error:
            self.error = error
        self.summary = made.folder / "summary.json"
        self.network.write_summary(self.summary, self.error)

    def _carry(self, site, call, deliver):
        if site != SITE:
            self.left.append(call.body)
        answer = deliver()
        self.left.append(answer or b"")
        return answer

    @property
    def told(self):
        lost = self.network.coordinator.lost
        return lost.get(NUMBER, self.error)


def assert_nothing_of_the_site(run, caplog):
    """Search what left the site, and the files and logs of all others."""
    found = {f"message {at}": data for at, data in enumerate(run.left)} | files_of_others(
        run.made, run.summary
    )
    if run.error is not None:
        found["the coordinator's error"] = str(run.error).encode()
    for at, why in run.network.coordinator.lost.items():
        found[f"why {at} is lost"] = str(why).encode()
    for at, record in enumerate(caplog.records):
        if record.threadName != f"secfc-{SITE}":
            found[f"log {at} of {record.threadName}"] = record.getMessage().encode()
    assert_no_mark(found, run.made.folder)


def own_log(caplog):
    return "\n".join(r.getMessage() for r in caplog.records if r.threadName == f"secfc-{SITE}")


def assert_told(run, code):
    """The code arrived. Every statement and the summary describe the ending only with texts of the list."""
    assert run.told is not None
    assert run.told.code is code
    assert code is Code.TIMEOUT or str(code) in str(run.told)  # the coordinator says that in its own words
    summary = read_summary(run.summary)
    for text in [summary.coordinator["ended"], *summary.coordinator["lost"].values()]:
        assert text == "complete" or is_ending(text)
    assert f": {code}" in summary.coordinator["lost"][SITE]
    ends_all = run.error is not None and run.error.party == NUMBER
    for one in summary.statements:
        fails = one.statement.party == SITE and one.statement.ended != "complete"
        if fails or ends_all:
            assert f": {code} at {SITE}" in one.statement.ended


@pytest.mark.some(6)
@pytest.mark.parametrize("name", CASES)
def test_of_a_data_error_its_type_and_code_leave_and_nothing_else(tmp_path, caplog, name):
    case = CASES[name]
    caplog.set_level(logging.DEBUG)
    made = case.kind(tmp_path)
    case.spoil(made)
    run = Overheard(made)
    # The site file leads to the roster. Without the roster, a site verifies nobody and does not answer.
    unread = name in ("unknown key in the site file", "site file that is no TOML")
    assert_told(run, Code.TIMEOUT if unread else case.code)
    assert_nothing_of_the_site(run, caplog)
    assert str(case.code) in own_log(caplog)
    if case.told:
        assert MARK in own_log(caplog)


def test_a_run_without_an_error_shows_nothing_of_a_site_either(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    run = Overheard(Plain(tmp_path))
    assert run.error is None
    assert read_summary(run.summary).coordinator["ended"] == "complete"
    assert_nothing_of_the_site(run, caplog)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_told_as_that(tmp_path, caplog, monkeypatch, number):
    replace = os.replace

    def full(source, target):
        if MARK in str(target):
            raise OSError(number, os.strerror(number), str(target))
        replace(source, target)

    monkeypatch.setattr(os, "replace", full)
    run = Overheard(Plain(tmp_path))
    assert run.error is None  # the others have their labels
    assert_told(run, Code.DISK_FULL)
    assert_nothing_of_the_site(run, caplog)
    assert os.strerror(number) in own_log(caplog)


def test_an_unexpected_error_is_told_as_one_in_the_program(tmp_path, caplog, monkeypatch):
    def act(message):
        if isinstance(message, Step):
            raise ValueError(f"{MARK} {VALUE}")

    on_receive(monkeypatch, NUMBER, act)
    run = Overheard(Plain(tmp_path))
    assert_told(run, Code.INTERNAL)
    assert_nothing_of_the_site(run, caplog)
    assert "ValueError at " in own_log(caplog)
    assert MARK not in own_log(caplog)  # an error text that is not secfc's may contain any value


def test_the_words_of_the_coordinator_are_not_stated(tmp_path):
    """The party that closes a run cannot have a site sign or log a text of its choice."""
    made = Plain(tmp_path)
    run = Overheard.__new__(Overheard)
    run.left, run.made = [], made
    seen = []

    def spoil(site, call, deliver):
        seen.append(call.kind)
        return deliver()

    network = Network(made, spoil=spoil)
    close = network.coordinator._close

    def lies(ended, **how):
        close({"ended": "x\x1b[2J", "error": "I owe you 5", "code": "\u202e", "party": "north"}, **how)

    network.coordinator._close = lies
    network.coordinator._until_done = lambda: (_ for _ in ()).throw(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        network.run()
    assert Kind.CLOSE in seen
    for one in network.coordinator.statements.values():
        assert one.statement.ended == "PartyError: internal"
