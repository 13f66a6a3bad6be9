"""The process that forks the parties' processes: what it passes on, what it reports, and when it ends."""

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import secfc
from secfc.drivers.calls import processes
from secfc.drivers.calls.processes import ForkServer
from secfc.drivers.in_process import run_in_process
from secfc.drivers.multiprocess import run_multiprocess
from secfc.drivers.sites.agreed_run import run_agreed

PACKAGE = str(Path(secfc.__file__).resolve().parent.parent)

pytestmark = [
    pytest.mark.processes,
    pytest.mark.interpreters,
    pytest.mark.skipif(not processes.CAN_FORK, reason="needs Linux"),
]

WORK = """
import glob, json, os, secrets, sys
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from secfc.drivers.calls import fork_server, party_process
from secfc.crypto.randomness import MaskSource

def main():
    sys.stdin.readline()
    told = {
        "session": os.getsid(0),
        "descriptors": [os.readlink(held) for held in glob.glob("/proc/self/fd/*") if os.path.exists(held)],
        "secrets": [secrets.token_hex(16), os.urandom(16).hex(), MaskSource().octets(16).hex(),
                    X25519PrivateKey.generate().public_key().public_bytes_raw().hex()],
    }
    print(json.dumps(told), flush=True)
    return int(sys.stdin.readline())

party_process.main = main
sys.exit(fork_server.main())
"""


@pytest.fixture
def servers(monkeypatch):
    """The programs of fork servers that the test starts. None may be left."""
    programs, real = [], processes._program

    def program(*given, **named):
        programs.append(real(*given, **named))
        return programs[-1]

    monkeypatch.setattr(processes, "_program", program)
    yield programs
    assert all(one.poll() is not None for one in programs)


@pytest.fixture
def forks(monkeypatch):
    """A fork server whose processes report about themselves and end with a given status."""

    def program(_module, *_, stdin, stdout):
        command = [sys.executable, "-P", "-c", WORK]
        return subprocess.Popen(
            command,
            stdin=stdin,
            stdout=stdout,
            env=os.environ | {"PYTHONPATH": PACKAGE},
            start_new_session=True,
        )

    monkeypatch.setattr(processes, "_program", program)
    server = ForkServer()
    started = []

    def start():
        started.append(server.start())
        return started[-1]

    start.server = server
    yield start
    for one in started:
        one.kill()
        one.wait()
        one.stdin.close()
        one.stdout.close()
    server.end()


def told_by(process):
    process.stdin.write(b"\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def end(process, status):
    process.stdin.write(f"{status}\n".encode())
    process.stdin.flush()
    return process.wait(300)


def test_forked_processes_draw_other_secrets_in_sessions_of_their_own(forks):
    told = [told_by(one) for one in [forks() for _ in range(4)]]
    assert len({secret for one in told for secret in one["secrets"]}) == 16
    assert len({one["session"] for one in told}) == 4


def test_a_forked_process_has_no_descriptors_of_others(forks):
    told = [told_by(one) for one in [forks() for _ in range(4)]]
    kinds = [sorted(name.split(":")[0] for name in one["descriptors"]) for one in told]
    assert kinds[0] == kinds[-1]
    pipes = [{name for name in one["descriptors"] if name.startswith("pipe:")} for one in told]
    standard_error = set.intersection(*pipes)  # may be a pipe of ours
    assert len(standard_error) <= 1
    assert not (set.union(*pipes[1:]) - standard_error) & (pipes[0] - standard_error)


def test_exit_statuses_and_signals_are_told(forks):
    first, second, third = forks(), forks(), forks()
    told_by(first)
    assert first.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        first.wait(0)
    assert end(first, 7) == 7
    second.terminate()
    assert second.wait(300) == -signal.SIGTERM
    third.kill()
    assert third.wait(300) == third.returncode == third.poll() == -signal.SIGKILL


def test_processes_end_with_the_server_that_was_killed(forks):
    processes_ = [forks() for _ in range(3)]
    for one in processes_:
        told_by(one)
    server = int(Path(f"/proc/{processes_[0].pid}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(server, signal.SIGKILL)
    for one in processes_:
        assert one.wait(300) == 256  # the status is unknown
        assert one.stdout.read() == b""  # its end is closed
    assert not any(Path(f"/proc/{one.pid}/fd/0").exists() for one in processes_)


def test_a_server_whose_driver_has_gone_ends_when_its_processes_have(forks, monkeypatch):
    process = forks()
    told_by(process)
    server = Path("/proc") / Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[1]
    monkeypatch.setattr(processes, "GRACE_SECONDS", 300)
    forks.server._control.close()
    assert end(process, 0) == 0
    while server.exists() and (server / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.01)


@pytest.mark.parametrize("kernels", ["numpy", "compiled"])
def test_one_server_forks_all_parties_of_a_run_and_ends_with_it(setup_of, servers, monkeypatch, kernels):
    monkeypatch.setenv("SECFC_KERNELS", kernels)
    outcome = run_multiprocess(setup_of())
    assert len(servers) == 1
    assert (processes.COMPILED in servers[0].args) == (kernels == "compiled")  # loops are loaded once
    assert servers[0].returncode == 0
    whole = run_in_process(setup_of())
    assert [one.tolist() for one in outcome.labels] == [one.tolist() for one in whole.labels]


def test_a_server_that_was_killed_is_replaced_and_all_sites_go_on(organisations, servers, started, tmp_path):
    sites = [organisations.site(name) for name in organisations.names]
    for site in sites:
        organisations.replace(site, "[data]", f'storage = "scratch-{site.stem}"\n[data]')

    def kill(progress):
        if progress.round == 1 and len(servers) == 1:
            servers[0].kill()
            servers[0].wait()
            os.kill(started[1].pid, signal.SIGKILL)

    outcome = run_agreed(
        organisations.agreement,
        file=organisations.job,
        sites=sites,
        summary=tmp_path / "summary.json",
        on_progress=kill,
    )
    assert len(servers) == 2
    assert len(started) == 6  # all ended with the server
    whole = organisations.simulated()
    assert [one.tolist() for one in outcome.labels] == [one.tolist() for one in whole.labels]


def test_a_party_whose_server_cannot_start_is_one_clear_error(setup_of, monkeypatch):
    def program(_module, *_, stdin, stdout):
        return subprocess.Popen([sys.executable, "-c", ""], stdin=stdin, stdout=stdout)

    monkeypatch.setattr(processes, "_program", program)
    with pytest.raises(secfc.PartyError, match="no process of a party can be started"):
        run_multiprocess(setup_of())


@pytest.mark.some(1)
@pytest.mark.parametrize("made", [0, 1, 2])
def test_too_many_open_files_are_one_clear_error_and_leave_none_open(monkeypatch, made):
    forks, calls = ForkServer(), []
    party = forks.start()

    def failing(make):
        def called():
            calls.append(make)
            if len(calls) > made:
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            return make()

        return called

    try:
        before = sorted(os.listdir("/proc/self/fd"))
        with monkeypatch.context() as patched:
            patched.setattr(os, "pipe", failing(os.pipe))
            patched.setattr(socket, "socketpair", failing(socket.socketpair))
            with pytest.raises(secfc.PartyError, match="can be started: Too many open files"):
                forks.start()
        assert sorted(os.listdir("/proc/self/fd")) == before
        assert party.poll() is None
    finally:
        party.stdin.close()
        party.wait()
        party.stdout.close()
        forks.end()


def test_where_nothing_can_be_forked_every_party_has_an_interpreter(setup_of, servers, monkeypatch):
    monkeypatch.setattr(processes, "CAN_FORK", False)
    outcome = run_multiprocess(setup_of())
    assert len(servers) == 3
    whole = run_in_process(setup_of())
    assert [one.tolist() for one in outcome.labels] == [one.tolist() for one in whole.labels]


ENDING = """
import atexit, logging.handlers, sys
from secfc.drivers.calls import fork_server
atexit.register(print, "finalised")
logging.getLogger().addHandler(logging.handlers.MemoryHandler(9, target=logging.StreamHandler(sys.stdout)))
logging.warning("logged")
fork_server._end(3)
"""


def test_a_process_that_ends_at_once_writes_what_it_has_logged():
    named = os.environ | {"PYTHONPATH": PACKAGE}
    done = subprocess.run(
        [sys.executable, "-P", "-c", ENDING], check=False, env=named, stdout=subprocess.PIPE, text=True
    )
    assert (done.returncode, done.stdout) == (3, "logged\n")
