"""With storage, a run whose driver dies continues with the same call and has the same result."""

import signal
import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from support.killing import dying_at_step, process
from support.sweeps import sweep

import secfc
from plaintext_baselines import ExactLloyd
from secfc import row_layout
from secfc.drivers import pipes
from secfc.drivers.calls import Kind, decode_answer, decode_call
from secfc.drivers.coordinator import Coordinator
from secfc.drivers.in_process import run_in_process
from secfc.drivers.multiprocess import run_multiprocess
from secfc.drivers.processes import ForkServer
from secfc.drivers.run_folder import RunFolder, run_folder
from secfc.errors import LimitError, ParameterError, StorageError, TooManyFaultsError
from secfc.journal.run_log import RunLog
from secfc.limits import Limits

pytestmark = pytest.mark.processes

KINDS = {
    "random": {"n_init": 3},
    "separation": {"init": "separation"},
    "labels": {"starts": True},
    "coded": {"disclosure": "coded", "n_init": 2},
    "centres": {"reveal_to": (1, 3), "limits": Limits(reveal_centres=True)},
    "liars": {"counts": (20, 30, 10, 20, 15), "max_liars": 1},
    "spare": {"counts": (20, 30, 10, 20, 15), "n_init": 2},
    "union": {"ids_cap": 120},
}


class DiedError(BaseException):
    """Represents the driver's death: nothing is removed."""


@pytest.fixture
def stored(stored_run):
    """A run with storage, by kind."""
    return lambda kind="random", **other: stored_run(**(KINDS[kind] | other))


@pytest.fixture
def carried(monkeypatch):
    """Check that each call and answer has the same bytes whenever it is made; return the runs."""
    streams, answers, runs = {}, {}, set()
    real = pipes.PartyProcess.send

    def send(self, data, timeout):
        call, answer = decode_call(data), real(self, data, timeout)
        place = (call.place.run, call.place.recipient)
        runs.add(call.place.run.hex())
        if call.kind is Kind.MESSAGES:
            stream = streams.setdefault(place, bytearray())
            again = stream[call.position : call.position + len(call.body)]
            assert again == call.body[: len(again)]
            stream += call.body[len(again) :]
        if answer is not None and call.kind is not Kind.CLOSE:
            told = decode_answer(answer)
            if told.kind in (Kind.ANSWER, Kind.MORE):
                assert answers.setdefault((*place, told.number), told.body) == told.body
        return answer

    monkeypatch.setattr(pipes.PartyProcess, "send", send)
    return runs


def interrupted(setup, *, calls=0, round_=0):
    """Run; interrupt the driver after `calls` progress reports or at a round, and then return None."""
    told = []

    def count(progress):
        told.append(progress)
        if len(told) == calls or progress.round == round_ > 0:
            raise DiedError

    try:
        return run_multiprocess(setup, count)
    except DiedError:
        return None


def assert_exact(setup, outcome):
    whole = run_in_process(replace(setup, storage=None, resume=None))
    for mine, theirs in zip(outcome.labels, whole.labels, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert (outcome.n_iter, outcome.history) == (whole.n_iter, whole.history)
    assert outcome.faults == whole.faults
    np.testing.assert_array_equal(outcome.start, whole.start)
    np.testing.assert_array_equal(outcome.centres, whole.centres)
    if outcome.union_rows is None and whole.start.min() >= 0:  # a start with every row in a set
        job = setup.job
        starts = np.split(whole.start, np.cumsum([len(rows) for rows in setup.rows])[:-1])
        exact = ExactLloyd(
            job.k, init=starts, precision=job.precision, bound=job.bound, max_iter=job.max_iter
        ).fit(setup.rows)
        for mine, theirs in zip(outcome.labels, exact.labels_, strict=True):
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.some(1)
@pytest.mark.parametrize("kind", sweep(KINDS, keep=("random", "centres", "liars", "spare", "union")))
def test_a_run_that_is_interrupted_again_and_again_gives_the_same_result(stored, carried, monkeypatch, kind):
    monkeypatch.setattr(row_layout, "PART_BYTES", 1)
    setup = stored(kind)
    assert interrupted(setup, calls=1) is None
    (folder,) = setup.storage.iterdir()
    goes_on, times = replace(setup, resume=True), iter((4, 9, 20))
    while (outcome := interrupted(goes_on, calls=next(times, 0))) is None:
        assert folder.exists()
    assert folder.name == f"run-{outcome.run_id}"
    assert_exact(setup, outcome)
    assert list(setup.storage.iterdir()) == []
    assert carried == {outcome.run_id}


@pytest.fixture
def left(stored):
    """A run whose driver was interrupted in its third round, and the folder that it left."""
    setup = stored("spare")
    assert interrupted(setup, round_=3) is None
    (folder,) = setup.storage.iterdir()
    return setup, folder


def test_the_drivers_record_is_its_owners_alone_and_holds_no_row(left):
    setup, folder = left
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    record = (folder / "driver.log").read_bytes()
    assert not any(rows[0].tobytes() in record or repr(rows[0, 0]).encode() in record for rows in setup.rows)
    assert str(setup.job.bound).encode() not in record


def test_a_call_that_does_not_say_what_to_do_is_refused(left):
    setup, folder = left
    with pytest.raises(
        StorageError, match=rf"{folder.name} was left by an interrupted run.*resume=True.*resume=False"
    ):
        run_multiprocess(setup)
    assert folder.exists()


def test_a_call_that_says_no_removes_it_and_begins_anew(left):
    setup, folder = left
    outcome = run_multiprocess(replace(setup, resume=False))
    assert folder.name != f"run-{outcome.run_id}"
    assert list(setup.storage.iterdir()) == []


def test_a_run_that_fails_leaves_nothing_to_go_on_with(stored):
    setup = stored(limits=Limits(smallest_set=100))
    with pytest.raises(LimitError):
        run_multiprocess(setup)
    assert list(setup.storage.iterdir()) == []
    with pytest.raises(StorageError, match=r"no run to continue; a run that has ended leaves no files$"):
        run_multiprocess(replace(setup, resume=True))


def test_what_a_driver_left_that_was_killed_while_it_removed_the_folder_goes_with_the_next_run(left):
    setup, folder = left
    (folder / "driver.log").unlink()
    with pytest.raises(StorageError, match=r"there is no run to continue"):
        run_multiprocess(replace(setup, resume=True))
    run_multiprocess(setup)
    assert list(setup.storage.iterdir()) == []


@pytest.mark.some(1)
@pytest.mark.parametrize("place", [(Coordinator, "_note"), (pipes.PartyProcess, "wait")])
def test_a_run_that_is_interrupted_as_it_is_closed_goes_on(stored, monkeypatch, place):
    setup, real, errors = stored(), getattr(*place), [KeyboardInterrupt]

    def interrupt(*given):
        real(*given)
        if errors:
            raise errors.pop()

    monkeypatch.setattr(*place, interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_multiprocess(setup)
    assert_exact(setup, run_multiprocess(replace(setup, resume=True)))
    assert list(setup.storage.iterdir()) == []


@pytest.mark.parametrize("resume", [None, False])
def test_a_folder_that_no_driver_made_stays(stored, resume):
    setup = stored()
    own = setup.storage / "run-of-mine" / "rows.csv"
    own.parent.mkdir()
    own.write_text("x")
    run_multiprocess(replace(setup, resume=resume))
    assert [path.name for path in setup.storage.rglob("*")] == ["run-of-mine", "rows.csv"]


def test_threads_that_begin_runs_at_once_do_not_take_each_others_folders(stored):
    setup = stored()
    with ThreadPoolExecutor(8) as pool:
        folders = list(pool.map(run_folder, [setup] * 40))
    assert len({folder.path for folder in folders}) == 40
    for folder in folders:
        assert (folder.path / "driver.log").exists()
        folder.remove()
    assert list(setup.storage.iterdir()) == []


def begun(setup):
    """The folder of a run whose driver was killed before it started any process."""
    folder = RunFolder.begin(setup.storage, setup)
    folder.leave()
    return folder.path


def test_a_run_whose_driver_was_killed_before_anybody_had_begun_goes_on(stored):
    setup = stored()
    folder = begun(setup)
    outcome = run_multiprocess(replace(setup, resume=True))
    assert folder.name == f"run-{outcome.run_id}"
    assert_exact(setup, outcome)


def cut(path, *, entries):
    """Remove the last calls from a client's log."""
    log = RunLog.resume(path)
    for _ in range(entries):
        log.drop_last("call")
    log.commit()
    log.close()


@pytest.mark.some(1)
@pytest.mark.parametrize("entries", [1, 4, 8])
def test_a_client_whose_journal_was_cut_is_done_without_where_others_are_to_spare(left, entries):
    setup, folder = left
    cut(folder / "client-2.log", entries=entries)
    outcome = run_multiprocess(replace(setup, resume=True))
    whole = run_in_process(replace(setup, storage=None, resume=None))
    gone = (*outcome.faults.absent, *outcome.faults.left_out)
    assert set(gone) <= {2}
    assert entries == 1 or gone == (2,)
    for at in (0, 2, 3, 4):
        np.testing.assert_array_equal(outcome.labels[at], whole.labels[at])
    assert list(setup.storage.iterdir()) == []


def test_a_client_whose_journal_was_cut_is_named_where_nobody_is_to_spare(stored):
    setup = stored()
    assert interrupted(setup, round_=3) is None
    (folder,) = setup.storage.iterdir()
    cut(folder / "client-2.log", entries=4)
    text = r"too few clients are left: .*the last: parties\[1\]: entries are missing from its log"
    with pytest.raises(TooManyFaultsError, match=text):
        run_multiprocess(replace(setup, resume=True))


def changed_rows(setup):
    rows = [one.copy() for one in setup.rows]
    rows[1][0, 0] += 1.0
    return replace(setup, rows=rows)


CHANGES = {
    r"rows of parties\[1\]$": changed_rows,
    r"rows of parties\[0\], rows of parties\[2\]": lambda setup: replace(setup, rows=setup.rows[::-1]),
    r"start labels of parties\[2\]$": lambda setup: replace(
        setup, starts=[*setup.starts[:2], (setup.starts[2] + 1) % 3]
    ),
    r"limits of parties\[0\]": lambda setup: replace(setup, limits=Limits(smallest_set=2)),
    "with other values: seed$": lambda setup: replace(setup, job=replace(setup.job, seed=2)),
    "with other values: k$": lambda setup: replace(setup, job=replace(setup.job, k=4)),
    "disclosure, precision$": lambda setup: replace(
        setup, job=replace(setup.job, disclosure="coded", precision=20)
    ),
}


@pytest.mark.parametrize("text", CHANGES)
def test_another_call_is_refused_by_what_differs_and_without_a_value(stored, text):
    setup = stored("labels")
    folder = begun(setup)
    with pytest.raises(StorageError, match=text):
        run_multiprocess(CHANGES[text](replace(setup, resume=True)))
    assert [path.name for path in folder.iterdir()] != []


def test_another_number_of_parties_is_refused(stored):
    begun(stored())
    with pytest.raises(StorageError, match=r"with other values: the number of parties$"):
        run_multiprocess(replace(stored(counts=(40, 30, 50, 5)), resume=True))


def test_another_version_is_refused(stored, monkeypatch):
    setup = stored()
    begun(setup)
    monkeypatch.setattr(secfc, "__version__", "9.9")
    with pytest.raises(StorageError, match=r"it was written by version \S+, this is 9\.9;"):
        run_multiprocess(replace(setup, resume=True))


def test_of_two_runs_that_were_left_the_one_of_this_call_goes_on(stored):
    setup, other = stored(), stored(seed=2)
    assert interrupted(setup, calls=5) is None
    path = begun(other)
    assert_exact(setup, run_multiprocess(replace(setup, resume=True)))
    assert list(setup.storage.iterdir()) == [path]


def test_of_two_runs_of_the_same_call_none_goes_on(stored):
    setup = stored()
    begun(setup)
    begun(setup)
    with pytest.raises(StorageError, match=r"were started by the same call; remove all but one$"):
        run_multiprocess(replace(setup, resume=True))
    assert len(list(setup.storage.iterdir())) == 2


def test_row_ids_without_a_seed_cannot_be_hashed_again(stored):
    setup = stored("union")
    setup = replace(setup, job=replace(setup.job, seed=None))
    begun(setup)
    with pytest.raises(ParameterError, match=r"^resume: with ids, a seed is needed"):
        run_multiprocess(replace(setup, resume=True))


def test_interrupted_a_run_that_cannot_go_on_leaves_nothing(stored):
    setup = stored("union")
    setup = replace(setup, job=replace(setup.job, seed=None))
    assert interrupted(setup, calls=3) is None
    assert list(setup.storage.iterdir()) == []


def test_a_run_that_a_driver_works_on_is_neither_gone_on_with_nor_removed(left):
    setup, folder = left
    held = RunFolder.open(folder)
    with pytest.raises(StorageError, match=rf"no run to continue; another process works on {folder.name}$"):
        run_multiprocess(replace(setup, resume=True))
    run_multiprocess(replace(setup, resume=False))
    assert list(setup.storage.iterdir()) == [folder]
    held.leave()
    assert_exact(setup, run_multiprocess(replace(setup, resume=True)))


def test_processes_of_the_killed_driver_are_waited_for(left, monkeypatch):
    setup, folder = left
    held, dropped, real = RunLog.resume(folder / "client-2.log"), [], pipes.PartyProcess.send

    def send(self, data, timeout):
        answer = real(self, data, timeout)
        if answer is None:
            dropped.append(decode_call(data).place.recipient)
            held.close()
        return answer

    monkeypatch.setattr(pipes.PartyProcess, "send", send)
    assert_exact(setup, run_multiprocess(replace(setup, resume=True)))
    assert dropped == [2]


def spoil(path):
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE entries SET body = zeroblob(9) WHERE at = (SELECT max(at) FROM entries)")
        database.commit()


def test_a_changed_log_of_the_driver_is_named_and_stays(left):
    setup, folder = left
    spoil(folder / "driver.log")
    with pytest.raises(StorageError, match=r"driver\.log: "):
        run_multiprocess(replace(setup, resume=True))
    with pytest.raises(StorageError, match=r"driver\.log: "):
        run_multiprocess(setup)
    assert (folder / "driver.log").exists()
    run_multiprocess(replace(setup, resume=False))
    assert list(setup.storage.iterdir()) == []


@pytest.mark.some(1)
@pytest.mark.parametrize("damage", [spoil, lambda path: path.unlink()])
def test_a_client_whose_journal_is_damaged_is_absent(left, damage):
    setup, folder = left
    damage(folder / "client-2.log")
    outcome = run_multiprocess(replace(setup, resume=True))
    assert outcome.faults.absent == (2,)
    assert list(outcome.lost) == [2]
    whole = run_in_process(replace(setup, storage=None))
    for mine, theirs in zip(outcome.labels, whole.labels, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_a_client_that_was_given_up_stays_so(stored, monkeypatch):
    codes, started = {1: dying_at_step(30)} | dict.fromkeys((5, 6, 7), "raise SystemExit(3)"), []

    def start(_forks):
        started.append(process(codes.get(len(started), "")))
        return started[-1]

    setup = stored("spare")
    with monkeypatch.context() as patches:
        patches.setattr(ForkServer, "start", start)
        assert interrupted(setup, calls=25) is None
    assert len(started) == 7
    outcome = run_multiprocess(replace(setup, resume=True))
    assert 2 in (*outcome.faults.absent, *outcome.faults.left_out)
    assert list(outcome.lost) == [2]
    assert started[1].wait() == -signal.SIGKILL


def test_a_party_killed_while_all_go_on_is_started_again(stored, monkeypatch):
    setup = stored()
    assert interrupted(setup, calls=6) is None
    started, real = [], ForkServer.start

    def start(forks):
        started.append(process(dying_at_step(3)) if len(started) in (0, 2) else real(forks))
        return started[-1]

    monkeypatch.setattr(ForkServer, "start", start)
    assert_exact(setup, run_multiprocess(replace(setup, resume=True)))
    assert [one.poll() for one in started].count(-signal.SIGKILL) == 2
