"""`secfc consortium start` at a site ends when the run has ended there, with any ending."""

import pytest
from support.hospitals import NAMES, accept, command

from secfc.agreement.site_file import read_site
from secfc.cli.endings import ABSENT, status_of
from secfc.drivers.flare import runs
from secfc.drivers.flare.flare_processes import KitProcess
from secfc.errors import PartyError

pytestmark = pytest.mark.flare


def nothing():
    """No change at the site."""


CONNECTED = (
    "2026-11-29 01:01:31,672 - conn_manager - INFO - "
    "Connection [CN00002 127.0.0.1:60920 => 127.0.0.1:46559 SSL server] is created: PID: 8025\n"
)
CLOSED = (
    "2026-11-29 01:01:34,269 - conn_manager - INFO - Connection [CN00002 Not Connected] is closed PID: 8025\n"
)


class Process:
    """FLARE's client in a test. A script says what it does at each look."""

    def __init__(self, kit, name):
        self.kit, self.console, self.name = kit, kit / "console.txt", name
        self._looks = iter([one if isinstance(one, tuple) else (nothing, one) for one in self.script])
        self.alive = True

    def start(self):
        """Nothing to start."""

    check_alive, said = KitProcess.check_alive, KitProcess.said

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

    def take(*script, deadline=5000.0, timeout=5000.0):
        kind = type("Scripted", (Process,), {"script": script, "stops": 0})
        monkeypatch.setattr(runs, "KitProcess", kind)
        monkeypatch.setattr(runs, "_POLL_SECONDS", 0.0)
        said = []
        try:
            return runs.run_site(site, deadline=deadline, timeout=timeout, say=said.append), said
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


@pytest.fixture
def logs(made):
    """Give a step that adds a line to the output of FLARE's client."""
    console = made / NAMES[0] / "consortium" / "kit" / "console.txt"
    return lambda line: lambda: console.write_text(console.read_text() + line if console.exists() else line)


def interrupt():
    raise KeyboardInterrupt


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


# A coordinator that goes away, and Ctrl-C


@pytest.mark.parametrize("step", ["idle", "works"])
def test_a_coordinator_that_was_connected_and_goes_away_ends_the_wait_by_its_name(take_part, logs, step):
    told = r"^hospital-a: the coordinator has not been connected since 2026-11-29 01:01:34$"
    with pytest.raises(PartyError, match=told) as caught:
        take_part((logs(CONNECTED), "idle"), step, (logs(CLOSED), step), deadline=0.0)
    assert status_of(caught.value.code) == ABSENT


def test_a_coordinator_that_comes_back_within_the_deadline_is_waited_for(site, take_part, logs):
    back = CONNECTED.replace("CN00002", "CN00003")
    steps = [(logs(line), "idle") for line in (CONNECTED, CLOSED, back)]
    folder, _ = take_part(*steps, "works", (states(site, "ab"), "idle"))
    assert folder == site.results / "ab"


def test_a_coordinator_that_was_never_connected_is_waited_for(site, take_part):
    folder, _ = take_part("idle", "works", (states(site, "ab"), "idle"), deadline=0.0)
    assert folder == site.results / "ab"


def test_a_statement_is_the_end_if_the_coordinator_goes_away_before_flare_ends_the_job(site, take_part, logs):
    script = [(logs(CONNECTED), "works"), (states(site, "ab"), "works"), (logs(CLOSED), "works")]
    folder, _ = take_part(*script, deadline=0.0)
    assert folder == site.results / "ab"


def test_a_statement_is_the_end_also_after_ctrl_c(site, take_part):
    with pytest.raises(KeyboardInterrupt):
        take_part("works", (interrupt, "works"))
    folder, _ = take_part("works", (states(site, "ab"), "works"), (interrupt, "works"))
    assert folder == site.results / "ab"
