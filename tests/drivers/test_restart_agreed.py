"""Killed sites with storage continue from their own journals. Killed sites without storage are absent."""

import csv
import json
import signal
from itertools import product

import pytest
from support.killing import dying_at_step, process
from support.organisations import NAMES, Organisations
from support.sweeps import sweep

from secfc.agreement.audit import audit
from secfc.agreement.statement import COMPLETE, read_summary
from secfc.drivers.calls.processes import ForkServer
from secfc.drivers.sites.agreed_run import run_agreed
from secfc.errors import TooManyFaultsError

pytestmark = pytest.mark.processes


@pytest.fixture
def organisations(tmp_path):
    """Three organisations. North and west have a folder for storage."""
    made = Organisations(tmp_path)
    made.replace(made.job, "k = 2", 'k = 2\ninit = "random"\ndisclosure = "coded"')
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
    for name, expected in zip(NAMES, made.simulated().labels, strict=True):
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


KEPT = (("coded", 0), ("labels", 30))


@pytest.mark.parametrize(
    ("disclosure", "count"),
    sweep([*product(["coded"], [0, 3, 10, 20]), *product(["labels"], [0, 30, 80])], keep=KEPT),
)
def test_a_site_killed_while_it_writes_goes_on_and_states_every_byte_that_left_it(
    organisations, starts, disclosure, count
):
    organisations.replace(organisations.job, '"coded"', f'"{disclosure}"')
    organisations.sign()
    codes, started = starts
    codes[0] = dying_at_step(count)
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


def test_a_site_that_never_gets_further_is_started_three_times(organisations, starts):
    codes, started = starts
    codes |= {number: "raise SystemExit(3)" for number in (0, *range(3, 9))}  # 0 is north
    text = r"; the last: north: its process ended without a result \(exit status 3\)"
    with pytest.raises(TooManyFaultsError, match=text):
        run(organisations)
    assert len(started) == 5


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
    assert_whole(organisations, run(organisations, resumable=True))
    assert list((organisations.folder / "scratch-south").iterdir()) == []
    assert not logs.exists()
