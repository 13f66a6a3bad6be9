"""Killed sites with storage continue from their own journals. Killed sites without storage are absent."""

import csv
import json
import signal
import threading
import time

import pytest
from support.killing import Killer, dying_at_step, patch, process
from support.organisations import NAMES, Organisations
from support.sweeps import sweep

from secfc.agreement.audit import audit
from secfc.agreement.statement import COMPLETE, read_summary
from secfc.drivers.calls.processes import ForkServer
from secfc.drivers.sites.agreed_run import run_agreed
from secfc.errors import TooManyFaultsError
from secfc.protocol.job import row_layout

pytestmark = pytest.mark.processes


@pytest.fixture
def organisations(tmp_path):
    """Three organisations. North and west have a folder for storage."""
    made = Organisations(tmp_path)
    made.replace(made.job, "k = 2", 'k = 2\ndisclosure = "coded"')
    for name in ("north", "west"):
        made.replace(made.site(name), "[data]", f'storage = "scratch-{name}"\n\n[data]')
    made.sign()
    return made


@pytest.fixture
def starts(monkeypatch):
    codes, started = {}, []

    def start(forks):
        started.append(process(codes.get(len(started), "")))
        return started[-1]

    monkeypatch.setattr(ForkServer, "start", start)
    return codes, started


def run(made, **more):
    return run_agreed(
        made.agreement,
        file=made.job,
        sites=[made.site(name) for name in NAMES],
        summary=made.folder / "summary.json",
        **more,
    )


def labels(made, name):
    (folder,) = (made.folder / f"results-{name}").iterdir()
    with (folder / "labels.csv").open() as file:
        return [int(row["label"]) for row in csv.DictReader(file)]


def assert_whole(made, outcome):
    for name, expected in zip(NAMES, outcome.labels, strict=True):
        assert labels(made, name) == expected.tolist()
    summary = read_summary(made.folder / "summary.json")
    assert all(finding.holds for finding in audit(summary, made.agreement))
    for one in summary.statements:
        sent = {}
        for record in outcome.costs.messages:
            if record.sender == one.statement.client:
                messages, size = sent.get(record.kind, (0, 0))
                sent[record.kind] = messages + 1, size + record.size
        assert {kind: (said.messages, said.bytes) for kind, said in one.statement.sent.items()} == sent
        assert one.statement.ended == COMPLETE
    for name in ("north", "west"):
        assert list((made.folder / f"scratch-{name}").iterdir()) == []


@pytest.mark.parametrize("count", sweep([0, 3, 10, 20], keep=(0, 10)))
def test_a_site_killed_while_it_writes_goes_on_and_states_every_byte_that_left_it(
    organisations, starts, count
):
    codes, started = starts
    codes[0] = dying_at_step(count)
    outcome = run(organisations)
    assert [one.poll() for one in started].count(-signal.SIGKILL) == 1
    assert_whole(organisations, outcome)


def test_a_site_killed_when_it_has_written_the_run_down_states_what_it_wrote(organisations, starts):
    codes, started = starts
    codes[0] = """
import os, signal
from secfc.drivers.sites import participant

real = participant.Participant.close

def close(self, ended):
    real(self, ended)
    os.kill(os.getpid(), signal.SIGKILL)

participant.Participant.close = close
"""
    outcome = run(organisations)
    assert [one.poll() for one in started].count(-signal.SIGKILL) == 1
    assert_whole(organisations, outcome)


def test_a_site_whose_rows_changed_before_it_was_started_again_sends_nothing_more(
    organisations, starts, monkeypatch
):
    codes, _ = starts
    codes[0] = dying_at_step(20)

    real = ForkServer.start

    def start(forks):
        if len(starts[1]) == 3:
            path = organisations.folder / "north.csv"
            head, first, second, *rest = path.read_text().splitlines()
            path.write_text("\n".join([head, second, first, *rest, ""]))
        return real(forks)

    monkeypatch.setattr(ForkServer, "start", start)
    text = r"too few clients are left.*; the last: north: storage: "
    with pytest.raises(TooManyFaultsError, match=text):
        run(organisations)
    summary = json.loads((organisations.folder / "summary.json").read_text())
    assert "StorageError: storage" in json.dumps(summary)
    assert "the party was started with other rows" in (organisations.folder / "north.log").read_text()


def test_a_site_without_storage_is_absent_when_it_is_killed(organisations, starts):
    _, started = starts

    def kill(progress):
        if progress.round == 1 and started[1].poll() is None:
            started[1].send_signal(signal.SIGKILL)

    with pytest.raises(TooManyFaultsError, match=r"absent: client 2"):
        run(organisations, on_progress=kill)
    assert len(started) == 3


def keep_all(made):
    """South has a folder for storage too."""
    made.replace(made.site("south"), "[data]", 'storage = "scratch-south"\n\n[data]')


def assert_as_simulated(made, outcome):
    assert_whole(made, outcome)
    assert list((made.folder / "scratch-south").iterdir()) == []
    here = made.simulated()
    assert [part.tolist() for part in outcome.labels] == [part.tolist() for part in here.labels]


def assert_survives(made, seed, monkeypatch, *, most):
    """Run with random kills; return their number."""
    monkeypatch.setattr(row_layout, "PART_BYTES", 1)
    monkeypatch.setattr(row_layout, "PART_ROWS", 16)
    killer = Killer(seed, most=most)
    with monkeypatch.context() as patches:
        patch(patches, killer)
        outcome = run(made)
    assert_as_simulated(made, outcome)
    return killer.killed


@pytest.mark.some(1)
@pytest.mark.parametrize("seed", range(5))
def test_sites_killed_at_random_go_on_and_the_result_is_exact(organisations, monkeypatch, seed):
    keep_all(organisations)
    assert_survives(organisations, seed, monkeypatch, most=4)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_hundreds_of_runs_with_sites_killed_at_random_are_exact(tmp_path, monkeypatch):
    killed = 0
    for seed in range(200):
        (folder := tmp_path / str(seed)).mkdir()
        made = Organisations(folder)
        for name in NAMES:
            made.replace(made.site(name), "[data]", f'storage = "scratch-{name}"\n\n[data]')
        made.sign()
        killed += assert_survives(made, seed, monkeypatch, most=1 + seed % 6)
        print(f"{seed + 1} runs, {killed} kills", flush=True)
    assert killed > 200


DYING_IN_A_FRAME = """
import os, signal
from secfc.drivers.calls import framing
answers, real = 0, framing.write_frame

def write_frame(stream, kind, payload):
    global answers
    answers += kind == framing.ANSWER
    if answers == 3:
        stream.write((framing._HEAD.pack(kind, len(payload)) + bytes(payload))[:{size}])
        stream.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    real(stream, kind, payload)

framing.write_frame = write_frame
"""


@pytest.mark.some(1)
@pytest.mark.parametrize("size", [5, 12])
def test_a_site_killed_inside_an_answer_is_started_again(organisations, starts, size, caplog):
    codes, started = starts
    codes[0] = DYING_IN_A_FRAME.format(size=size)
    assert_whole(organisations, run(organisations))
    assert [one.poll() for one in started].count(-signal.SIGKILL) == 1
    assert "north: its process ended (signal 9) and is started again" in caplog.messages


def test_no_site_is_started_again_once_the_run_is_interrupted(organisations, starts, monkeypatch):
    _, started = starts
    begun, real = threading.Event(), ForkServer.start

    def start(forks):
        if len(started) == 3:
            begun.set()
            time.sleep(1)
        return real(forks)

    def interrupt(progress):
        if progress.round == 1:
            started[0].kill()
        # If the site had answered already, it is called, and started again, only after the run continues.
        if progress.round >= 1 and begun.wait(5):
            raise KeyboardInterrupt

    monkeypatch.setattr(ForkServer, "start", start)
    with pytest.raises(KeyboardInterrupt):
        run(organisations, on_progress=interrupt)
    for thread in threading.enumerate():
        if thread.name.startswith("secfc-"):
            thread.join(300)
    assert all(one.poll() is not None for one in started)


def test_a_site_that_never_gets_further_is_started_three_times(organisations, starts):
    codes, started = starts
    codes |= {number: "raise SystemExit(3)" for number in (0, *range(3, 9))}  # 0 is north
    text = r"; the last: north: its process ended without a result \(exit status 3\)"
    with pytest.raises(TooManyFaultsError, match=text):
        run(organisations)
    assert len(started) == 5


def test_a_site_whose_log_was_changed_is_named(organisations, starts, monkeypatch):
    """It is killed while it writes, and a byte of its log changes before it is started again."""
    codes, started = starts
    codes[0] = dying_at_step(16)
    real = ForkServer.start

    def start(forks):
        if len(started) == 3:
            (path,) = organisations.folder.glob("scratch-north/job-*/*.log-wal")
            changed = bytearray(path.read_bytes())
            changed[len(changed) // 2] ^= 1
            path.write_bytes(changed)
        return real(forks)

    monkeypatch.setattr(ForkServer, "start", start)
    text = r"too few clients are left.*; the last: north: storage: "
    with pytest.raises(TooManyFaultsError, match=text):
        run(organisations)
    assert "entries are missing from its log" in (organisations.folder / "north.log").read_text()


class DiedError(BaseException):
    """Represents the coordinator's death."""


@pytest.mark.some(1)
@pytest.mark.parametrize("calls", [1, 6, 9])
def test_a_run_whose_coordinator_died_goes_on_by_the_same_call(organisations, calls):
    keep_all(organisations)
    told = []

    def die(progress):
        told.append(progress)
        if len(told) == calls:
            raise DiedError

    with pytest.raises(DiedError):
        run(organisations, resumable=True, on_progress=die)
    logs = organisations.job.with_suffix(".logs")
    assert [path.suffix for path in logs.iterdir()] == [".log"]
    assert not (organisations.folder / "summary.json").exists()
    assert_as_simulated(organisations, run(organisations, resumable=True))
    assert not logs.exists()


def test_a_run_that_is_stopped_without_a_log_says_so_in_its_summary(organisations):
    def stop(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(organisations, on_progress=stop)
    assert read_summary(organisations.folder / "summary.json").coordinator["ended"] == "PartyError: stopped"
    assert not organisations.job.with_suffix(".logs").exists()
