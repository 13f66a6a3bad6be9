"""`secfc run --storage` is killed at random, and the same command continues with --resume."""

import csv
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from support import warm
from support.signals import heed_ctrl_c, wait_for_end
from support.sweeps import sweep

import secfc
from plaintext_baselines import ExactLloyd
from secfc.journal.run_log import InUseError, RunLog

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="finds processes by their folder"),
]

KINDS = {
    "random": ("--n-init", "3"),
    "coded": ("--disclosure", "coded"),
    "plus plus": ("--init", "k-means++"),
    "spare": ("--n-init", "2"),
    "membership": ("--membership", "--id", "id"),
}
_STARTS = {"plus plus": {"init": "k-means++"}, "random": {"n_init": 3}, "spare": {"n_init": 2}}
_PATIENCE = 180.0


class Case:
    def __init__(self, folder, kind, seed):
        rng = np.random.default_rng(seed)
        counts = (40, 30, 50, 20, 25) if kind == "spare" else (40, 30, 50)
        self.folder, self.kind, self.seed = folder, kind, seed
        self.rows = [np.round(rng.normal(size=(m, 3)) + rng.integers(3, size=(m, 1)) * 4, 6) for m in counts]
        self.names = [f"p{j}" for j in range(len(counts))]
        self.ids = [[f"{name}-{at}" for at in range(m)] for name, m in zip(self.names, counts, strict=True)]
        for name, rows, ids in zip(self.names, self.rows, self.ids, strict=True):
            with (folder / f"{name}.csv").open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(["id", "x", "y", "z"])
                writer.writerows([one, *row.tolist()] for one, row in zip(ids, rows, strict=True))
        self.storage = folder / "storage"

    def start(self, *more):
        options = KINDS[self.kind] if self.kind == "membership" else (*KINDS[self.kind], "--drop", "id")
        command = [sys.executable, "-m", "secfc", "run", *(f"{name}.csv" for name in self.names), *options]
        command += ["-k", "3", "--t", "1", "--ell", "1", "--seed", str(self.seed), "--quiet"]
        return warm.Popen(
            [*command, "--storage", "storage", "--out", "result", *more],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=heed_ctrl_c,
        )

    def written(self):
        total = 0
        for path in self.storage.glob("run-*/*"):
            try:
                total += path.stat().st_size
            except FileNotFoundError:
                continue
        return total

    def labels(self):
        found = []
        for name in self.names:
            with (self.folder / "result" / f"{name}.labels.csv").open() as file:
                found.append([int(row["label"]) for row in csv.DictReader(file)])
        return found

    def assert_exact(self):
        starts = _STARTS.get(self.kind, {})
        ids = {"ids": self.ids} if self.kind == "membership" else {}
        whole = secfc.run(self.rows, 3, 1, 1, seed=self.seed, **starts, **ids)
        assert self.labels() == [part.tolist() for part in whole.labels]
        if min(part.min() for part in whole.start) >= 0:
            exact = ExactLloyd(3, init=whole.start, precision=32, bound=whole.job.bound).fit(self.rows)
            assert self.labels() == [part.tolist() for part in exact.labels_]
        assert list(self.storage.iterdir()) == []


def parties_of(case, process):
    """Processes of a command's parties. They work in its folder, whichever process forked them."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            if path.readlink() == case.folder and path.parent.name != str(process.pid):
                found.append(int(path.parent.name))
    return found


def kill(case, process, *, all_of_them):
    """SIGKILL the command's process group and, as if the machine failed, the parties; return the parties."""
    children = parties_of(case, process)
    os.killpg(process.pid, signal.SIGKILL)
    for pid in children if all_of_them else ():
        with suppress(ProcessLookupError):  # a party ends when its driver has
            os.kill(pid, signal.SIGKILL)
    process.wait()
    process.stderr.close()
    return children


def kill_at(case, rng, *, more=(), all_of_them):
    """Start the command and kill it after it wrote a drawn number of bytes; False if it ended before."""
    process, at = case.start(*more), case.written() + int(2 ** rng.uniform(0, 17))
    while process.poll() is None and case.written() < at:
        time.sleep(0.005)
    if process.poll() is not None:
        _, errors = process.communicate()
        assert process.returncode == 0, errors
        return False
    kill(case, process, all_of_them=all_of_them)
    return True


def finish(case, *more):
    _, errors = (process := case.start(*more)).communicate(timeout=_PATIENCE * 3)
    return process.returncode, errors


def has_begun(path):
    """Whether a driver's log has a header. The driver could have been killed before that."""
    with suppress(InUseError):
        log = RunLog.resume(path)
        if log is not None:
            log.close()
        return log is not None
    return True


def killed_again_and_again(case, rng, *, most):
    """Kill the command up to `most` times, then let it end; return how often it was killed."""
    kills, more = 0, ()
    while kills < most:
        if not kill_at(case, rng, more=more, all_of_them=rng.random() < 0.5):
            break
        kills += 1
        # If it was killed before the run had a folder, it starts afresh.
        more = ("--resume",) if any(map(has_begun, case.storage.glob("run-*/driver.log"))) else ()
    else:
        code, errors = finish(case, *more)
        assert code == 0, errors
    case.assert_exact()
    return kills


@pytest.mark.some(1)
@pytest.mark.parametrize("kind", sweep(KINDS, keep=("random", "spare", "membership")))
def test_a_command_killed_at_random_goes_on_and_writes_the_exact_labels(tmp_path, kind):
    killed_again_and_again(Case(tmp_path, kind, 1), random.Random(kind), most=2)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_many_commands_killed_at_random_write_the_exact_labels(tmp_path):
    killed = 0
    for seed in range(60):
        (folder := tmp_path / str(seed)).mkdir()
        case = Case(folder, sorted(KINDS)[seed % len(KINDS)], seed)
        killed += killed_again_and_again(case, random.Random(seed), most=1 + seed % 5)
        print(f"{seed + 1} runs, {killed} kills", flush=True)
    assert killed > 60


@pytest.fixture
def working(tmp_path):
    """A command whose parties have begun to share."""
    case = Case(tmp_path, "random", 2)
    process = case.start()
    while case.written() < 20_000:
        assert process.poll() is None
        time.sleep(0.005)
    yield case, process
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if not process.stderr.closed:
        process.stderr.close()


def test_no_party_outlives_a_command_that_is_killed_alone(working):
    case, process = working
    children = kill(case, process, all_of_them=False)
    wait_for_end(children, _PATIENCE)
    assert len(children) == 3
    assert finish(case, "--resume")[0] == 0
    case.assert_exact()


def test_ctrl_c_leaves_a_run_that_goes_on_and_says_so(working):
    case, process = working
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=_PATIENCE)
    assert process.returncode == 130
    assert "--resume" in errors
    code, errors = finish(case)
    assert code == 2
    assert "continue it" in " ".join(errors.split())
    assert finish(case, "--resume")[0] == 0
    case.assert_exact()


def test_of_two_commands_that_go_on_at_once_one_is_refused(working):
    case, process = working
    kill(case, process, all_of_them=True)
    both = [case.start("--resume"), case.start("--resume", "--out", "other")]
    errors = [one.communicate(timeout=_PATIENCE * 3)[1] for one in both]
    assert sorted(one.returncode for one in both) == [0, 2], errors
    (refused,) = [text for one, text in zip(both, errors, strict=True) if one.returncode]
    assert "there is no run to continue" in " ".join(refused.split())


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (("--resume", "--seed", "3"), "it was started with other values: seed"),
        (("--resume", "--driver", "in-process"), "only with storage and the multiprocess driver"),
    ],
)
def test_another_command_does_not_go_on(working, more, text):
    case, process = working
    kill(case, process, all_of_them=True)
    code, errors = finish(case, *more)
    assert code == 2
    assert text in " ".join(errors.split())
    assert len(list(case.storage.iterdir())) == 1
