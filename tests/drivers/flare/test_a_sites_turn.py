"""`secfc consortium start` at a site ends when the run has ended there, with any ending."""

import pytest
from support.hospitals import NAMES, accept, command

from secfc.agreement.site_file import read_site
from secfc.drivers.flare import runs
from secfc.drivers.flare.flare_processes import KitProcess
from secfc.errors import PartyError

pytestmark = pytest.mark.flare


def nothing():
    """No change at the site."""


class Process:
    """FLARE's client in a test. A script says what it does at each look."""

    def __init__(self, kit, name):
        self.kit, self.console, self.name = kit, kit / "console.txt", name
        self._looks = iter([one if isinstance(one, tuple) else (nothing, one) for one in self.script])
        self.alive = True

    def start(self):
        """Nothing to start."""

    check_alive = KitProcess.check_alive

    @property
    def works(self):
        did, step = next(self._looks)
        did()
        self.alive = step != "ends"
        return step == "works"

    def stop(self):
        type(self).stops += 1
        type(self).left = [*self._looks]


@pytest.fixture
def site(made):
    accept(made, NAMES[0], status=0)
    command("job", "sign", made / NAMES[0] / "site.toml")
    return read_site(made / NAMES[0] / "site.toml")


@pytest.fixture
def take_part(site, monkeypatch):
    """Run the site's turn with a script; return what it prints."""

    def take(*script, timeout=5000.0):
        kind = type("Scripted", (Process,), {"script": script, "stops": 0})
        monkeypatch.setattr(runs, "KitProcess", kind)
        monkeypatch.setattr(runs, "_POLL_SECONDS", 0.0)
        said = []
        try:
            return runs.run_site(site, timeout=timeout, say=said.append), said
        finally:
            assert kind.stops == 1
            assert kind.left == []

    return take


def states(site, run):
    """A step that writes the site's statement of a run."""

    def write():
        (site.results / run).mkdir(parents=True)
        (site.results / run / "statement.json").write_text("{}")

    return write


def test_it_ends_when_the_statement_is_written_and_the_job_is_gone(site, take_part):
    folder, said = take_part("idle", "idle", "works", "works", (states(site, "ab"), "idle"))
    assert folder == site.results / "ab"
    assert [line for line in said if "the job has arrived" in line]


def test_an_earlier_run_is_not_taken_for_this_one(site, take_part):
    states(site, "old")()
    folder, _ = take_part("idle", "works", (states(site, "new"), "idle"))
    assert folder == site.results / "new"


def test_a_statement_is_not_the_end_while_the_job_still_works(site, take_part):
    folder, _ = take_part("works", (states(site, "ab"), "works"), "works", "idle")
    assert folder == site.results / "ab"


def test_a_run_that_ends_without_a_statement_is_an_error_that_names_the_log(take_part):
    with pytest.raises(PartyError, match=r"the job ended here without a statement; .*console\.txt says why"):
        take_part("idle", "works", "idle")


def test_with_a_storage_an_interrupted_run_is_waited_for(made, site, take_part):
    file = made / NAMES[0] / "site.toml"
    file.write_text(
        file.read_text().replace('results = "results"', 'results = "results"\nstorage = "scratch"')
    )
    object.__setattr__(site, "storage", read_site(file).storage)
    folder, _ = take_part("idle", "works", "idle", "idle", "works", (states(site, "ab"), "idle"))
    assert folder == site.results / "ab"


def test_a_client_of_flare_that_ends_is_an_error_that_names_the_log(take_part):
    with pytest.raises(PartyError, match=r"hospital-a: FLARE's client has ended; .*console.txt says why"):
        take_part("idle", "ends")


def test_a_run_that_does_not_end_in_time_is_given_up(take_part):
    with pytest.raises(PartyError, match=r"^hospital-a: the run had not ended after 0 s$"):
        take_part("idle", timeout=0.0)
