"""A kit is used by one command, with the site file that it is given, and only with what FLARE can use."""

import errno
import fcntl
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

import psutil
import pytest
from support.hospitals import NAMES, REFUSED, accept, command, new, requests, set_up

from secfc.agreement.statement import read_summary
from secfc.drivers.flare import federation, flare_processes, runs
from secfc.drivers.flare.federation import Federation, free_port
from secfc.drivers.flare.flare_processes import KitProcess, ServerProcess, in_use, only_one
from secfc.drivers.flare.kits import ADMIN, check_name, forget_runs
from secfc.drivers.flare.run_state import STANDING
from secfc.errors import ParameterError, PartyError

pytestmark = pytest.mark.flare


@pytest.fixture
def own(made):
    """The folder of a hospital that has signed."""
    accept(made, NAMES[0], status=0)
    command("job", "sign", made / NAMES[0] / "site.toml")
    return made / NAMES[0]


def kit_of(own):
    return own / "consortium" / "kit"


def site_file_of(own):
    """The site file that a job of the kit reads."""
    return (kit_of(own) / "local" / "site.toml").resolve()


class Waiting:
    """A client of FLARE that ends at its first look."""

    works = alive = False

    def __init__(self, kit, name):
        self.kit, self.name, self.console = kit, name, kit / "console.txt"

    def start(self):
        """Nothing to start."""

    stop = start
    check_alive, said = KitProcess.check_alive, KitProcess.said


@pytest.fixture
def start(monkeypatch):
    """`secfc consortium start` of a file without FLARE; return what it prints."""
    monkeypatch.setattr(runs, "KitProcess", Waiting)
    monkeypatch.setattr(runs, "_POLL_SECONDS", 0.0)
    return lambda file, status: command("consortium", "start", file, status=status)


# The site file


def test_start_has_the_jobs_of_the_kit_read_its_file(own, start):
    strict = own / "more" / "strict.toml"
    strict.parent.mkdir()
    text = (own / "site.toml").read_text().replace("smallest_set = 1", "most_rows = 5")
    for old in ("consortium/job.toml", "identity.key", "results", "rows.csv"):
        text = text.replace(f'"{old}"', f'"../{old}"')
    strict.write_text(text)
    for file in (strict, own / "site.toml", strict):
        assert "FLARE's client has ended" in start(file, 1)
        assert site_file_of(own) == file.resolve()


def test_start_refuses_a_job_that_its_file_does_not_allow(own, start):
    strict = own / "strict.toml"
    strict.write_text((own / "site.toml").read_text().replace("smallest_set = 1", "smallest_set = 5"))
    assert "limits.smallest_set: the job allows sets of 1 rows, this site allows 5 or more" in start(
        strict, 3
    )
    assert site_file_of(own) == (own / "site.toml").resolve()


@pytest.mark.parametrize(
    ("old", "given", "told"),
    {
        "another party": ("hospital-a", "hospital-b", "the kit is that of hospital-a, not of hospital-b"),
        "another key": ("identity.key", "../hospital-b/identity.key", "not the key that the roster has"),
        "another job": ("consortium/job.toml", "consortium/other.toml", "see secfc job sign"),
        "a job elsewhere": ("consortium/job.toml", "elsewhere/job.toml", "elsewhere/kit: no startup kit"),
        "no job": ("consortium/job.toml", "consortium/none.toml", "none.toml: "),
    }.values(),
)
def test_start_refuses_a_file_of_another_party_key_or_job(own, start, old, given, told):
    job = own / "consortium" / "job.toml"
    (own / "consortium" / "other.toml").write_text(job.read_text().replace("k = 2", "k = 3"))
    other = own / "other.toml"
    other.write_text((own / "site.toml").read_text().replace(f'"{old}"', f'"{given}"'))
    assert told in start(other, REFUSED)
    assert site_file_of(own) == (own / "site.toml").resolve()


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_over_flare_a_stricter_file_than_the_accepted_one_is_obeyed_and_a_second_start_refused(tmp_path):
    set_up(tmp_path, port=free_port())
    job, given, started = tmp_path / "consortium" / "job.toml", [], []
    for name in NAMES:
        accept(tmp_path, name, status=0)
        command("job", "sign", tmp_path / name / "site.toml")
        given.append(tmp_path / name / "consortium" / "job.signatures")
    strict = tmp_path / NAMES[0] / "strict.toml"
    text = (tmp_path / NAMES[0] / "site.toml").read_text()
    strict.write_text(text.replace("smallest_set = 1", "most_rows = 8"))  # the parties have 9

    def start(who, *words):
        words = [sys.executable, "-m", "secfc", "consortium", *map(str, words)]
        with (tmp_path / f"{who}.said").open("ab") as said:
            started.append(
                subprocess.Popen(words, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
            )
        return started[-1]

    def said(who):
        return (tmp_path / f"{who}.said").read_text()

    try:
        files = [strict, *(tmp_path / name / "site.toml" for name in NAMES[1:])]
        sites = [start(name, "start", file) for name, file in zip(NAMES, files, strict=True)]
        while not in_use(tmp_path / NAMES[0] / "consortium" / "kit"):
            assert sites[0].poll() is None, said(NAMES[0])
            time.sleep(0.2)
        assert start("second", "start", tmp_path / NAMES[0] / "site.toml").wait(timeout=100) == 3
        assert "another secfc consortium start or run uses this kit" in said("second")
        assert start("run", "run", job, *given, "--timeout", 200).wait(timeout=300) == 3, said("run")
        assert "LimitError: limit-rows at hospital-a" in said("run")
        assert [site.wait(timeout=100) for site in sites] == [3, 3, 3], [*map(said, NAMES)]
    finally:
        for process in started:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)  # so that FLARE's processes end, too
                process.wait(timeout=60)
    assert "LimitError" in read_summary(job.with_name("job.summary.json")).coordinator["ended"]
    assert not [*tmp_path.rglob("labels.csv")]


# One command at a time


def test_a_second_start_or_run_is_refused_and_changes_nothing(made, own):
    for name in NAMES[1:]:
        accept(made, name, status=0)
        command("job", "sign", made / name / "site.toml")
    job = made / "consortium" / "job.toml"
    command("job", "collect", job, *(made / name / "consortium" / "job.signatures" for name in NAMES))
    other = own / "other.toml"
    other.write_text((own / "site.toml").read_text())
    for kit, verb, file in ((kit_of(own), "start", other), (job.parent / "server", "run", job)):
        (kit / STANDING).write_text('{"at": "now", "said": "share: 3 B sent"}')
        with only_one(kit):
            before = {path: path.lstat().st_mtime_ns for path in kit.rglob("*")}
            said = command("consortium", verb, file, status=3)
            assert "another secfc consortium start or run uses this kit and was left alone" in said
            assert {path: path.lstat().st_mtime_ns for path in kit.rglob("*")} == before
            assert "its processes are running" in command("consortium", "status", file)
        assert "none of its processes is running" in command("consortium", "status", file)


def test_a_lock_ends_with_the_process_that_holds_it(tmp_path):
    code = (
        "import sys, pathlib\nfrom secfc.drivers.flare.flare_processes import only_one\n"
        "with only_one(pathlib.Path(sys.argv[1])):\n    print(flush=True)\n    sys.stdin.read()\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code, tmp_path], **pipes) as holder:
        assert holder.stdout.readline()
        assert in_use(tmp_path)
        with pytest.raises(PartyError, match="uses this kit"), only_one(tmp_path):
            pass
        holder.kill()
        holder.wait()
        with only_one(tmp_path):
            assert in_use(tmp_path)
    assert not in_use(tmp_path)
    assert (tmp_path / "lock").exists()


def test_a_lock_that_was_only_looked_at_is_not_refused(tmp_path, monkeypatch):
    flock, calls = fcntl.flock, []

    def busy_at_first(file, kind):
        calls.append(kind)
        if len(calls) == 1:  # as while `secfc consortium status` looks
            raise BlockingIOError
        flock(file, kind)

    monkeypatch.setattr(fcntl, "flock", busy_at_first)
    with only_one(tmp_path):
        assert len(calls) == 2


def test_a_file_system_without_locks_is_an_error_with_the_path(tmp_path, monkeypatch):
    def none(file, kind):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", none)
    with pytest.raises(ParameterError, match=f"^{re.escape(str(tmp_path / 'lock'))}: No locks"):
        in_use(tmp_path)


def test_only_processes_that_were_started_here_are_ended_and_orphans_among_them(tmp_path, monkeypatch):
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\nsetsid sleep 600 &\necho $! > "$0.pid"\n')
    python.chmod(0o755)
    names_the_kit = [sys.executable, "-c", "import time; time.sleep(600)", str(tmp_path.resolve())]
    process, other = KitProcess(tmp_path, "a"), KitProcess(tmp_path, "a")
    with subprocess.Popen(names_the_kit) as bystander:
        try:
            with monkeypatch.context() as patch:
                patch.setattr(sys, "executable", str(python))
                process.start()
                process._process.wait()
                orphan = psutil.Process(int((tmp_path / "python.pid").read_text()))
                other.start()
                other._process.wait()
            left = psutil.Process(int((tmp_path / "python.pid").read_text()))
            process.stop()
            assert not orphan.is_running() or orphan.status() == psutil.STATUS_ZOMBIE
            assert left.is_running()
            assert bystander.poll() is None
            other.stop()
            assert not left.is_running() or left.status() == psutil.STATUS_ZOMBIE
        finally:
            bystander.kill()


# What FLARE cannot use


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"])
def test_a_port_in_use_is_named_before_the_server_is_started(made, monkeypatch, address):
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a process was started"))
    with socket.socket() as listener:
        listener.bind((address, 0))
        listener.listen()
        port = listener.getsockname()[1]
        file = made / "consortium" / "server" / "startup" / "fed_server.json"
        file.write_text(file.read_text().replace(":8002", f":{port}"))
        server = ServerProcess(file.parents[1], made / "consortium" / "admin")
        with pytest.raises(ParameterError, match=f"^port {port} of this machine is in use$"):
            server.start()
    server.check_port()


SPLIT = [" ", "\t", "\n", "\r", '"', "'", "\\", "#", "{", "}", " a", "'a'", "{a}"]


@pytest.mark.parametrize("part", SPLIT)
def test_a_path_that_flare_splits_is_refused(tmp_path, part):
    bad = tmp_path / f"x{part}y"
    with pytest.raises(ParameterError, match="FLARE needs a path without blanks"):
        Federation(bad, NAMES)
    assert not bad.exists()


def test_a_path_that_flare_splits_is_refused_where_it_is_typed(made, own):
    bad = made / "x y"
    told = "FLARE needs a path without blanks"
    words = ["consortium", "request", "d", "--rows", "x", "--folder", bad]
    assert told in command(*words, status=2)
    words = ["consortium", "new", made / "job.toml", *requests(made), "--host", "localhost", "--out", bad]
    assert told in command(*words, status=2)
    assert not bad.exists()
    (made / NAMES[1]).rename(bad)
    words = ["consortium", "accept", made / "consortium" / "consortium.toml", "--site", bad / "site.toml"]
    assert told in command(*words, status=2)
    assert not (bad / "consortium").exists()
    moved = bad / "moved"
    own.rename(moved)
    assert told in command("consortium", "start", moved / "site.toml", status=2)
    (made / "consortium").rename(bad / "consortium")
    assert told in command("consortium", "run", bad / "consortium" / "job.toml", status=2)


def test_other_signs_in_a_path_are_allowed(made):
    out = made / "ä,b;c&d$e(f)*g?[h]~!%|<>=+@^`"
    command("consortium", "new", made / "job.toml", *requests(made), "--host", "localhost", "--out", out)
    assert (out / "server").is_dir()


# FLARE reads each of these as a number or a boolean, some only once "-" has become "_" in the organisation.
VALUES = ["n", "no", "f", "false", "y", "yes", "t", "true", "0", "1", "12", "007", "1_000", "1-000", "1e5"]
VALUES += ["1e-5", "1_0e1_0", "1-0e1-0", "nan", "inf", "infinity"]
VALUES = [kind for one in VALUES for kind in dict.fromkeys((one, one.upper(), one.title()))]


@pytest.mark.parametrize("name", VALUES)
def test_a_name_that_flare_reads_as_a_value_is_refused(tmp_path, name):
    told = f"FLARE takes '{name}' for a number or for yes or no"
    words = ["consortium", "request", name, "--rows", "x", "--folder", tmp_path]
    assert told in command(*words, status=2)
    with pytest.raises(ParameterError, match=told):
        Federation(tmp_path / "flare", ["north", name])
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    "name", ["off", "on", "none", "null", "0x10", "1a", "n1", "no-1", "e5", "1--0", "ja"]
)
def test_a_name_that_flare_reads_as_a_text_is_allowed(name):
    check_name(name, what="name")


def test_a_project_that_flare_reads_as_a_value_is_refused(made):
    words = ["new", made / "job.toml", *requests(made), "--host", "localhost", "--out", made / "another"]
    assert "project: FLARE takes 'no' for" in command("consortium", *words, "--project", "no", status=2)
    assert not (made / "another").exists()


def test_a_roster_with_a_name_that_flare_reads_as_a_value_is_refused(made):
    path = made / "consortium" / "consortium.toml"
    path.write_text(path.read_text().replace('name = "hospital-b"', 'name = "no"'))
    assert "consortium.toml: roster: FLARE takes 'no' for" in accept(made)
    assert new(made, *requests(made), status=0)


# A rehearsal


def test_a_rehearsal_with_a_dead_client_ends_by_its_name_and_keeps_the_logs(
    organisations, tmp_path, monkeypatch
):
    made = organisations(20, 10, 30)
    dead = {"site-2"}

    class Kit(KitProcess):
        def start(self):
            self._process = subprocess.Popen(
                [sys.executable, "-c", ""] if self.name in dead else ["cat"], stdin=-1
            )
            self.console.write_text("why")
            if self.name in dead:
                self._process.wait()

    monkeypatch.setattr(federation, "KitProcess", Kit)
    monkeypatch.setattr(ServerProcess, "start", Kit.start)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    files = [made.site(name) for name in made.names]
    said = command("consortium", "rehearse", made.job, *files, status=1)
    assert "site-2: FLARE's client has ended" in said
    (folder,) = tmp_path.glob("secfc-flare-*")
    assert f"kits and logs are kept in {folder}/workspace" in said
    assert (folder / "workspace" / "site-2" / "console.txt").read_text() == "why"
    # The same command can be repeated in a folder of its own, where an earlier rehearsal was and none runs.
    words = ["consortium", "rehearse", made.job, *files, "--workspace", tmp_path / "own"]
    for count in (1, 2, 3):
        assert f"kits and logs are kept in {tmp_path}/own" in command(*words, status=1)
        assert len([*tmp_path.glob("own*/site-2/console.txt")]) == count
    with only_one(tmp_path / "own" / "server"):
        assert "another secfc consortium" in command(*words, status=3)
    shutil.rmtree(tmp_path / "own" / "server")
    assert "own already exists, and is not that of a rehearsal" in command(*words, status=2)


# Runs of before, and a kit that was moved


def stored(kit):
    """Absolute paths in the resources of a server's kit."""
    text = (kit / "local" / "resources.json").read_text()
    return sorted(set(re.findall(r'"(/[^"]+)"', text)))


def test_a_server_keeps_jobs_where_its_kit_is_now(made, monkeypatch):
    server = made / "consortium" / "server"
    monkeypatch.setattr(KitProcess, "start", lambda self: None)
    monkeypatch.setattr(ServerProcess, "check_port", lambda self: None)
    ServerProcess(server, made / "consortium" / "admin").start()
    before = stored(server)
    assert before == [f"{server}/store/jobs-storage", f"{server}/store/snapshot-storage"]
    moved = made / "moved ä"
    (made / "consortium").rename(moved)
    ServerProcess(moved / "server", moved / "admin").start()
    (text,) = {json.loads(f'"{one}"') for one in stored(moved / "server") if one.endswith("jobs-storage")}
    assert text == f"{moved}/server/store/jobs-storage"


def test_a_kit_forgets_all_but_the_latest_runs_of_flare_and_nothing_else(tmp_path):
    kept = ["local", "startup", "secfc-logs", "console.txt", "standing.json", "a-b-c-d-e"]
    for name in kept:
        (tmp_path / name).mkdir()
    numbers = [f"{at:08d}-0000-4000-8000-000000000000" for at in range(15)]
    for at, number in enumerate(numbers):
        for folder in (tmp_path / number, tmp_path / "store" / "jobs-storage" / number):
            folder.mkdir(parents=True)
            (folder / "log.txt").write_text("x")
            os.utime(folder, (at, at))
        (tmp_path / f"{number}.json").write_text("{}")
        os.utime(tmp_path / f"{number}.json", (at, at))
    forget_runs(tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {*kept, "store", *numbers[5:], *(f"{number}.json" for number in numbers[5:])}
    assert {path.name for path in (tmp_path / "store" / "jobs-storage").iterdir()} == {*numbers[5:]}


def test_the_same_run_command_is_not_refused_because_of_its_own_results(made):
    job, page = made / "consortium" / "job.toml", made / "report.html"
    for name in NAMES:
        accept(made, name, status=0)
        command("job", "sign", made / name / "site.toml")
    words = ["consortium", "run", job, "--report", page, "--wait", 0]
    given = [made / name / "consortium" / "job.signatures" for name in NAMES[:2]]
    summary = job.with_name("job.summary.json")
    summary.write_text("earlier")
    page.write_text("earlier")
    assert "hospital-c (not signed)" in command(*words, *given, status=3)
    assert summary.read_text() == page.read_text() == "earlier"


# Ctrl-C, and SIGTERM, which is handled as it


@pytest.fixture
def asked(made, monkeypatch):
    """A server that has been given a job, and FLARE's commands that it was asked for."""
    words = []
    monkeypatch.setattr(
        ServerProcess,
        "_nvflare",
        lambda self, *given: words.append(given) or {"job_id": "7", "status": "RUN"},
    )
    monkeypatch.setattr(flare_processes, "_POLL_SECONDS", 0.0)
    monkeypatch.setattr(flare_processes, "_ABORT_SECONDS", 0.1)
    return ServerProcess(made / "consortium" / "server", made / "consortium" / "admin"), words


def interrupt():
    raise KeyboardInterrupt


def test_a_run_that_is_interrupted_is_aborted_at_all_sites_and_its_summary_is_read(asked, made):
    server, words = asked

    def each():
        (server.kit / "7").mkdir()
        (server.kit / "7" / "secfc.json").write_text("{}")
        interrupt()

    number, summary = server.run(made, timeout=100, each=each)
    assert (number, summary.read_text()) == ("7", "{}")
    assert words[-1] == ("job", "abort", "7", "--force")


def test_without_a_summary_an_interrupted_run_ends_as_interrupted(asked, made):
    server, words = asked
    with pytest.raises(KeyboardInterrupt):
        server.run(made, timeout=100, each=interrupt)
    assert words[-1] == ("job", "abort", "7", "--force")


def test_a_job_that_flare_does_not_begin_is_aborted_and_sites_that_left_are_named(asked, made, monkeypatch):
    server, words = asked
    monkeypatch.setattr(flare_processes, "_ASK_SECONDS", 0.0)
    monkeypatch.setattr(ServerProcess, "check_alive", lambda self: None)
    monkeypatch.setattr(ServerProcess, "status", lambda self, number: "SUBMITTED")
    begins = "2026-11-29 01:03:2{at},597 - conn_manager - INFO - Connection [CN{at} "
    created = begins + "1 <= 2 SSL {name}] is created: PID: 9\n"
    closed = begins + "Not Connected] is closed PID: 9\n"
    connections = [*enumerate((*NAMES, ADMIN))]
    lines = [created.format(at=at, name=name) for at, name in connections]
    lines += [closed.format(at=at) for at, name in connections if name in (NAMES[1], ADMIN)]
    server.console.write_text("".join(lines))
    assert server.known(NAMES) == set()  # none has joined
    told = "FLARE has not begun the job after 0 s: SUBMITTED; sites that are not connected: hospital-b$"
    with pytest.raises(PartyError, match=told):
        server.run(server.kit, timeout=100, begin=0)
    assert words[-1] == ("job", "abort", "7", "--force")


@pytest.mark.slow
@pytest.mark.timeout(800)
def test_sigterm_of_the_coordinator_ends_the_run_by_name_everywhere_and_commands_can_be_repeated(tmp_path):
    set_up(tmp_path, port=free_port())
    (tmp_path / "job.toml").write_text((tmp_path / "job.toml").read_text().replace("[cl", "runs = 5\n[cl", 1))
    rows = "patient,x\n" + "".join(f"{at},{at % 97}.5\n" for at in range(20_000))
    shutil.rmtree(tmp_path / "consortium")
    port = ["--host", "localhost", "--port", free_port(), "--out", tmp_path / "consortium"]
    command("consortium", "new", tmp_path / "job.toml", *requests(tmp_path), *port)
    job, given, started = tmp_path / "consortium" / "job.toml", [], []
    for name in NAMES:
        (tmp_path / name / "rows.csv").write_text(rows)
        accept(tmp_path, name, status=0)
        command("job", "sign", tmp_path / name / "site.toml")
        given.append(tmp_path / name / "consortium" / "job.signatures")

    def start(who, *words):
        words = [sys.executable, "-m", "secfc", "consortium", *map(str, words)]
        with (tmp_path / f"{who}.said").open("wb") as said:
            pipes = {"stdin": subprocess.DEVNULL, "stdout": said, "stderr": said}
            started.append(subprocess.Popen(words, cwd=tmp_path, **pipes))
        return started[-1]

    def said(who):
        return (tmp_path / f"{who}.said").read_text()

    def begin():
        sites = [start(name, "start", tmp_path / name / "site.toml") for name in NAMES]
        return start("run", "run", job, *given, "--timeout", 400, "--report", tmp_path / "r.html"), sites

    def in_all(*statuses):
        assert [run.wait(timeout=300), *(site.wait(timeout=100) for site in sites)] == [*statuses], [
            *map(said, ("run", *NAMES))
        ]

    def until_run_says(text):
        while text not in said("run"):
            assert run.poll() is None, said("run")
            time.sleep(0.05)

    try:
        run = start("run", "run", job, *given)
        files = [tmp_path / name / "site.toml" for name in NAMES[:2]]
        sites = [
            start(name, "start", file, "--deadline", 3) for name, file in zip(NAMES, files, strict=False)
        ]
        for name in NAMES[:2]:
            until_run_says(f"{name} is connected")
        sites[0].send_signal(signal.SIGTERM)
        until_run_says(f"{NAMES[0]} is not connected any more; waiting for {NAMES[0]}, {NAMES[2]}")
        run.send_signal(signal.SIGTERM)
        in_all(130, 130, 4)
        assert f"{NAMES[1]}: the coordinator has not been connected since " in said(NAMES[1])
        run, sites = begin()
        until_run_says("sent")  # the run has begun
        site = tmp_path / NAMES[0] / "site.toml"
        assert "TLS: both certificates were accepted" in command("consortium", "check", site, status=3)
        assert "server: connected since " in command("consortium", "status", site)
        run.send_signal(signal.SIGTERM)
        begun = time.monotonic()
        in_all(1, 1, 1, 1)
        assert time.monotonic() - begun < 100
        for who in ("run", *NAMES):
            assert "PartyError: stopped" in said(who) or "the job ended here" in said(who)
        run, sites = begin()
        in_all(0, 0, 0, 0)
    finally:
        for process in started:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.wait(timeout=60)
    assert (
        read_summary(job.with_name("job.summary.1.json"))
        .coordinator["ended"]
        .startswith("PartyError: stopped")
    )
    assert read_summary(job.with_name("job.summary.json")).coordinator["ended"] == "complete"
    assert (tmp_path / "r.1.html").exists()
