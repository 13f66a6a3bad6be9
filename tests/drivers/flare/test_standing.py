"""What people see during a run: its progress, the sites that are awaited, and how it ended."""

import json
import re
from datetime import datetime
from pathlib import Path

import pytest
import typer
from support.hospitals import NAMES, accept, command
from support.network import Network, assert_exact, names_of_lost

from secfc.agreement.audit import Finding
from secfc.agreement.key_files import COORDINATOR_KEY, write_new_key
from secfc.cli.agreed.job_command import show_findings
from secfc.drivers.flare import run_state, runs
from secfc.drivers.flare.flare_processes import ServerProcess, only_one
from secfc.drivers.flare.kits import SERVER
from secfc.drivers.flare.run_state import (
    STANDING,
    Awaited,
    Contact,
    StandingFile,
    at_the_coordinator,
    contacts,
    read_standing,
)
from secfc.errors import AgreementError, DataError, PartyError, TooManyFaultsError
from secfc.protocol.progress import Progress

pytestmark = pytest.mark.flare


def standing(**changes):
    values = dict(phase="iterate", waiting_for=1, round=4, iteration=3, moved=12, inertia=None)
    return Progress(**values | {"sent_bytes": 2500} | changes)


def test_the_coordinator_says_iteration_rows_moved_bytes_and_who_is_waited_for():
    said = at_the_coordinator(standing(), ["north", "west"])
    assert said == "iterate: iteration 3, 12 rows moved, 2.5 kB sent; waiting for north, west"
    assert at_the_coordinator(standing(phase="share", iteration=0), []) == "share: 2.5 kB sent"
    assert "round 4" in at_the_coordinator(standing(iteration=0), [])


def test_the_file_has_what_was_said_last_and_the_end(tmp_path):
    said = ["share"]
    with StandingFile(tmp_path / STANDING, lambda: said[0]):
        assert read_standing(tmp_path)[1] == "share"
        said[0] = "ended: complete"
    assert read_standing(tmp_path)[1] == "ended: complete"


def test_where_nothing_can_be_written_the_run_goes_on(tmp_path):
    with StandingFile(tmp_path / "none" / STANDING, lambda: "share"):
        pass
    assert read_standing(tmp_path / "none") is None


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"said": "x"}', '{"at": 1, "said": "x"}'])
def test_another_file_says_nothing(tmp_path, text):
    (tmp_path / STANDING).write_text(text)
    assert read_standing(tmp_path) is None


def test_a_site_knows_phase_round_and_bytes(organisations):
    made = organisations(20, 10, 30)
    seen = []

    def spoil(name, call, deliver):
        answer = deliver()
        seen.append(network.sites["site-1"].standing)
        return answer

    network = Network(made, spoil=spoil)
    assert network.sites["site-1"].standing == "waiting for the coordinator"
    network.run()
    assert any(one.startswith("identify, ") for one in seen)
    rounds = [one for one in seen if one.startswith("iterate, round ")]
    assert re.fullmatch(r"iterate, round 1, [0-9.]+ kB sent; waiting for the coordinator", rounds[0])
    assert network.sites["site-1"].standing == "ended: complete"


def test_a_site_that_failed_says_so(organisations):
    made = organisations(20, 10, 30)
    (made.folder / "site-2.npy").unlink()
    network = Network(made)
    with pytest.raises(DataError):
        network.run()
    assert network.sites["site-1"].standing == "ended: DataError: missing-file at site-2"


def test_who_is_absent_at_the_start_is_not_called_and_left_out(organisations):
    made = organisations(20, 10, 30, 25)
    network = Network(made, absent=[2])
    network.run()
    assert set(names_of_lost(network)) == {"site-2"}
    assert "it was not connected when the run started" in names_of_lost(network)["site-2"]
    assert "site-2" not in {name for name, _ in network.calls}
    assert_exact(made, network, left_out=["site-2"])
    told = network.coordinator.summary(None)
    assert (told["ended"], told["lost"]) == ("complete", {"site-2": "PartyError: timeout"})


def test_with_too_few_there_the_run_ends_before_anything_is_shared(organisations):
    network = Network(organisations(20, 10, 30), absent=[2])
    with pytest.raises(TooManyFaultsError, match="site-2"):
        network.run()
    assert not any("share" in key for key in network.coordinator.meter.seconds)


def test_with_membership_privacy_nobody_may_be_absent(organisations):
    made = organisations(20, 10, 30, 25)
    made.hide()
    with pytest.raises(TooManyFaultsError):
        Network(made, absent=[2]).run()


# The coordinator's turn


class Server:
    """FLARE's server in a test. `script` has the sites that it knows at each look."""

    name = SERVER

    def __init__(self, kit, _admin):
        self.kit, self.console, self.alive, self.stopped = kit, kit / "console.txt", True, False
        self._looks = iter(self.script)
        type(self).last = self

    def start(self):
        """Nothing to start."""

    check_alive = ServerProcess.check_alive

    def known(self, names):
        return {NAMES[at] for at in next(self._looks)}

    def run(self, job, *, begin, timeout, each):
        meta = json.loads((job / "meta.json").read_text())
        type(self).least = meta["min_clients"]
        (self.kit / STANDING).write_text('{"at": "now", "said": "share: 3 B sent"}')
        each()
        (self.kit / "secfc.json").write_text("{}")
        return "7", self.kit / "secfc.json"

    def ended(self, number, *, timeout):
        return "FINISHED:COMPLETED"

    def stop(self):
        self.stopped = True


@pytest.fixture
def coordinate(made, monkeypatch):
    """Have the coordinator take its turn with sites that appear by a script; return what it prints."""
    for name in NAMES:
        accept(made, name, status=0)
        command("job", "sign", made / name / "site.toml")
        (made / f"{name}.signatures").write_bytes(
            (made / name / "consortium" / "job.signatures").read_bytes()
        )
    job = made / "consortium" / "job.toml"
    command("job", "collect", job, *(made / f"{name}.signatures" for name in NAMES))

    def take(*script, wait=1000.0, **options):
        kind = type("Scripted", (Server,), {"script": script, "last": None})
        monkeypatch.setattr(runs, "ServerProcess", kind)
        monkeypatch.setattr(runs, "_POLL_SECONDS", 0.0)
        said = []
        given = {"deadline": 60.0, "without_absent": False, "timeout": 5000.0, "resumable": False} | options
        try:
            return runs.run_server(job, wait=wait, say=said.append, **given), said
        finally:
            assert kind.last is None or kind.last.stopped

    return take


def test_it_waits_for_all_sites_and_says_for_whom(coordinate):
    _, said = coordinate([], [1], [1], [0, 1, 2])
    assert said[0].startswith(f"waiting for {', '.join(NAMES)} until ")
    assert said[0].endswith("; after that the run is aborted")
    assert said[1:4] == [
        "hospital-b is connected; waiting for hospital-a, hospital-c",
        "hospital-a is connected",
        "hospital-c is connected",
    ]
    assert said[4:] == [
        "share: 3 B sent",
        "the run has ended; FLARE has 60 s to end the job at the sites",
    ]


def test_a_site_that_leaves_before_the_run_is_waited_for(coordinate):
    _, said = coordinate([0, 1], [1], [1, 2], [0, 1, 2])
    assert said[3:6] == [
        "hospital-a is not connected any more; waiting for hospital-a, hospital-c",
        "hospital-c is connected; waiting for hospital-a",
        "hospital-a is connected",
    ]


def test_ctrl_c_after_the_end_leaves_the_result(coordinate, monkeypatch):
    asked = []

    def ended(self, number, *, timeout):
        asked.append(number)
        if len(asked) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(Server, "ended", ended)
    text, _ = coordinate([0, 1, 2])
    assert (text, asked) == ("{}", ["7", "7"])


def test_a_site_that_does_not_come_in_time_is_named(coordinate):
    with pytest.raises(PartyError, match=r"^these sites did not connect: hospital-a, hospital-c$"):
        coordinate([1], *[[1]] * 10_000, wait=0.05)


def test_without_absent_sites_it_needs_as_many_as_the_protocol(coordinate):
    with pytest.raises(PartyError, match=r"^these sites did not connect: hospital-c$"):
        coordinate([0, 1], *[[0, 1]] * 10_000, wait=0.05, without_absent=True)


def test_it_begins_without_who_is_absent_if_enough_are_there(coordinate, monkeypatch):
    monkeypatch.setattr(runs, "least_sites", lambda agreement: 2)
    _, said = coordinate([0, 1], *[[0, 1]] * 10_000, wait=0.05, without_absent=True)
    assert said[0].endswith("; after that the run begins without the missing sites, if 2 are connected")
    assert "the run begins without hospital-c" in said


def test_a_server_that_has_ended_is_an_error_that_names_its_log(coordinate, monkeypatch):
    monkeypatch.setattr(Server, "start", lambda self: setattr(self, "alive", False))
    with pytest.raises(PartyError, match=r"the FLARE server has ended; .*console\.txt says why"):
        coordinate([])


def test_another_key_is_refused_before_anything_starts(made, coordinate):
    (made / "consortium" / COORDINATOR_KEY).unlink()
    write_new_key(made / "consortium" / COORDINATOR_KEY)
    with pytest.raises(AgreementError, match=r"coordinator\.key"):
        coordinate([])


# What the commands print


def test_a_run_that_went_on_without_a_site_is_no_failure_of_the_command(capsys):
    found = [
        Finding(holds=True, text="one"),
        Finding(holds=False, text="south: nothing", missing="south"),
    ]
    show_findings(found, lost=["south"])
    assert capsys.readouterr().out == "holds  one\nlost  south: nothing\n"
    with pytest.raises(typer.Exit):
        show_findings(found, lost=["north"])
    with pytest.raises(typer.Exit):
        show_findings([*found, Finding(holds=False, text="north: changed")], lost=["south", "north"])


@pytest.fixture
def kits(made):
    """The site file of a hospital that has its kit, and the coordinator's job file."""
    accept(made, NAMES[0], status=0)
    return made / NAMES[0] / "site.toml", made / "consortium" / "job.toml"


def test_status_of_a_kit_in_which_nothing_ran(kits):
    for file, name in zip(kits, (NAMES[0], "server"), strict=True):
        said = command("consortium", "status", file)
        verb = "run" if name == "server" else "start"
        assert said.startswith(f"{name}: no run was started Next: secfc consortium {verb} {file}")


def test_status_and_logs_say_what_was_said_last(kits):
    site, job = kits
    for kit in (site.parent / "consortium" / "kit", job.parent / "server"):
        (kit / STANDING).write_text('{"at": "noon", "said": "iterate, round 3"}')
        (kit / "console.txt").write_text("first\n\x1b[2Jsecond\nthird\n")
    for file in kits:
        said = command("consortium", "status", file)
        assert "iterate, round 3 (noon)" in said
        assert "none of its processes is running" in said
        lines = command("consortium", "logs", file, "--lines", 2)
        assert "first" not in lines
        assert "third" in lines
        assert "\x1b" not in lines


def test_status_without_a_kit_is_one_clear_error(made):
    said = command("consortium", "status", made / NAMES[1] / "site.toml", status=2)
    assert "no startup kit" in said
    assert Path(made / NAMES[1] / "consortium").exists() is False


# Who is connected

LINES = """\
2026-11-28 21:59:53,026 - conn_manager - INFO - Connection [CN00002 1.2.3.4:5 <= 1.2.3.5:1 SSL hospital-c] is created: PID: 7
2026-11-28 21:59:54,072 - conn_manager - INFO - Connection [CN00003 1.2.3.4:5 <= 1.2.3.6:2 SSL hospital-a] is created: PID: 7
2026-11-28 22:00:14,088 - conn_manager - INFO - Connection [CN00002 1.2.3.4:5 => 1.2.3.4:6] is created: PID: 8
2026-11-28 22:00:20,636 - conn_manager - INFO - Connection [CN00009 1.2.3.4:5 <= 1.2.3.6:3 SSL hospital-a] is created: PID: 7
2026-11-28 22:00:27,595 - conn_manager - INFO - Connection [CN00002 Not Connected] is closed PID: 8
2026-11-28 22:00:28,595 - conn_manager - INFO - Connection [CN00002 Not Connected] is closed PID: 7
2026-11-28 22:00:29,595 - conn_manager - INFO - Connection [CN00009 Not Connected] is closed PID: 7
"""  # noqa: E501 - lines of FLARE


def test_a_side_is_connected_while_one_of_its_connections_is_open():
    assert contacts(LINES) == {
        "hospital-a": Contact(True, "2026-11-28 21:59:54"),
        "hospital-c": Contact(False, "2026-11-28 22:00:28"),
    }
    assert contacts("2026 nothing of it\n") == {}


def test_status_names_who_is_connected_and_the_next_command(kits):
    site, job = kits
    server, kit = job.parent / "server", site.parent / "consortium" / "kit"
    (server / "console.txt").write_text(LINES)
    with only_one(server):
        said = command("consortium", "status", job)
    assert "server: it waits for a job hospital-a: connected since 2026-11-28 21:59:54" in said
    assert "hospital-b: not connected, not once hospital-c: not connected since 2026-11-28 22:00:28" in said
    assert said.endswith(f"Next: secfc consortium check {job}")
    (kit / "console.txt").write_text(LINES.replace("hospital-a", "server"))
    with only_one(kit):
        said = command("consortium", "logs", site)
    assert "hospital-a: it waits for a job server: connected since 2026-11-28 21:59:54" in said
    assert said.endswith(f"Next: secfc consortium logs {site}")
    assert "connected" not in command("consortium", "status", site)  # of a process that has ended


def test_a_party_is_waited_for_since_the_round_began(monkeypatch):
    awaited = Awaited()
    (first,) = awaited(standing(), ["north"])
    assert re.fullmatch(r"north since \d\d:\d\d:\d\d UTC", first)
    monkeypatch.setattr(run_state, "datetime", Later)
    assert awaited(standing(), ["north", "west"]) == [first, "west since 23:59:59 UTC"]
    assert awaited(standing(round=5), ["north"]) == ["north since 23:59:59 UTC"]


class Later(datetime):
    @classmethod
    def now(cls, zone):
        return cls(2026, 1, 1, 23, 59, 59, tzinfo=zone)
