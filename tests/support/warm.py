"""Processes of secfc that start in milliseconds: forked from a server that has imported everything.

A new interpreter needs about a second for the imports of a party or the command, and the tests start
hundreds. `Popen` here is `subprocess.Popen`, except that `python -m secfc...` and `python -c CODE` are forked
from a process that has only imported modules. There is one such server for each test process. Descriptors,
environment, folder, session, signals and exit status are as usual. Tests marked `interpreters`, and those
about imports and the command's start, use new interpreters.
"""

import atexit
import gc
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path

import secfc
from secfc.drivers.calls import processes

PACKAGE = str(Path(secfc.__file__).resolve().parent.parent)
ADDRESS = "SECFC_TESTS_WARM"
"""Environment variable with the server's socket, so that forked processes fork theirs from it too."""

IMPORTED = (
    "numpy",
    "pyarrow.csv",
    "pyarrow.parquet",
    "secfc.agreement.audit",
    "secfc.cli.app",
    "secfc.drivers.sites.agreed_run",
    "secfc.drivers.multiprocess",
    "secfc.drivers.calls.party_process",
    "secfc.drivers.sites.site_files",
    "secfc.prepare.prepared_files",
    "secfc.tables.reading",
)
"""Modules that start no thread on import: a process with threads cannot be forked."""

CAN_FORK = hasattr(os, "fork") and sys.platform != "darwin"


def asked(args):
    """What a command line runs: "-m" or "-c", module or code, arguments; None if the server cannot run it."""
    words = [str(word) for word in args] if isinstance(args, (list, tuple)) else []
    if not words or words[0] != sys.executable:
        return None
    words = words[2:] if words[1] == "-P" else words[1:]
    if len(words) < 2 or not (words[0] == "-c" or (words[0] == "-m" and words[1].split(".")[0] == "secfc")):
        return None
    return words[0], words[1], words[2:]


class Popen(subprocess.Popen):
    """A process that is forked from the server, if the server can run its command line."""

    def __init__(self, args, **options):
        self._connection = None
        if CAN_FORK and asked(args):
            options.pop("preexec_fn", None)  # forked processes react to Ctrl-C
        super().__init__(args, **options)

    def _execute_child(self, args, *rest):
        what = asked(args)
        if not CAN_FORK or what is None:
            super()._execute_child(args, *rest)
            return
        (_, _, _, pass_fds, cwd, env, _, _, _, stdin, _, _, stdout, _, stderr) = rest[:15]
        kind, text, arguments = what
        request = {
            "kind": kind,
            "text": text,
            "arguments": arguments,
            "cwd": str(Path(cwd or ".").resolve(strict=True)),
            "env": dict(os.environ if env is None else env),
            "session": bool(rest[-2]),
        }
        descriptors = [
            0 if stdin == -1 else stdin,
            1 if stdout == -1 else stdout,
            2 if stderr == -1 else stderr,
        ]
        data = json.dumps(request).encode()
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.connect(address())
        self._connection.sendall(struct.pack("=Q", len(data)))
        socket.send_fds(self._connection, [b"+"], [*descriptors, *pass_fds])
        self._connection.sendall(data)
        (self.pid,) = struct.unpack("=q", _receive(self._connection, 8))
        self._child_created = True
        for mine in {stdin, stdout, stderr} - {-1}:
            if mine in (stdin, stdout, stderr) and mine > 2:
                os.close(mine)

    def _take_status(self, timeout):
        """Take the exit status from the server, if it arrives in time."""
        with self._waitpid_lock:
            if self.returncode is None and select.select([self._connection], [], [], timeout)[0]:
                (self.returncode,) = struct.unpack("=q", _receive(self._connection, 8))
                self._connection.close()
        return self.returncode

    def _internal_poll(self, *given, **named):
        if self._connection is None:
            return super()._internal_poll(*given, **named)
        return self.returncode if self.returncode is not None else self._take_status(0)

    def _wait(self, timeout):
        if self._connection is None:
            return super()._wait(timeout)
        if self.returncode is None and self._take_status(timeout) is None:
            raise subprocess.TimeoutExpired(self.args, timeout)
        return self.returncode


def run(args, *, input=None, capture_output=False, check=False, timeout=None, **options):
    """`subprocess.run` with a forked process."""
    if input is not None:
        options["stdin"] = subprocess.PIPE
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Popen(args, **options) as process:
        try:
            out, error = process.communicate(input, timeout=timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(process.args, process.returncode, out, error)
    if check:
        done.check_returncode()
    return done


def start_party(_forks):
    """Replaces `secfc.drivers.calls.processes.ForkServer.start`."""
    path = os.pathsep.join(filter(None, (PACKAGE, os.environ.get("PYTHONPATH"))))
    return Popen(
        [sys.executable, "-P", "-m", "secfc.drivers.calls.party_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **processes._ONE_THREAD, "PYTHONPATH": path},
        start_new_session=True,
    )


def patch(monkeypatch):
    """Fork all processes of parties that secfc starts."""
    monkeypatch.setattr(processes.ForkServer, "start", start_party)


@cache
def address():
    """The socket of the server that forks. Starts a server if there is none."""
    if ADDRESS in os.environ:
        return os.environ[ADDRESS]
    # Not a TemporaryDirectory: since Python 3.13 a process that multiprocessing forks drops what is
    # registered for its exit, and such an object deletes its folder when it is dropped.
    folder = tempfile.mkdtemp(prefix="warm-")
    path = str(Path(folder) / "s")
    process = subprocess.Popen(
        [sys.executable, "-P", __file__, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **processes._ONE_THREAD, "PYTHONPATH": PACKAGE},
        start_new_session=True,
    )
    assert process.stdout.readline() == b"ready\n"

    def end():
        process.stdin.close()
        process.stdout.close()
        process.wait()
        shutil.rmtree(folder)

    atexit.register(end)
    return path


def _receive(connection, count):
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise ConnectionError("the server that forks has ended")
        data += more
    return data


# The server


def serve(path):
    """Fork on request and report how children end, until standard input closes. A child returns its work."""
    for module in IMPORTED:
        import_module(module)
    gc.freeze()  # counting references to our objects must not copy pages
    os.environ[ADDRESS] = path
    processes.ForkServer.start = start_party
    listening, children = socket.socket(socket.AF_UNIX), {}
    listening.bind(path)
    listening.listen(64)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        ready, _, _ = select.select([0, listening, woken], [], [])
        if 0 in ready and not os.read(0, 1):
            return None
        if woken in ready:
            os.read(woken, 1 << 16)
            for pid in list(children):
                done, status = os.waitpid(pid, os.WNOHANG)
                if done:
                    _tell(children.pop(pid), os.waitstatus_to_exitcode(status))
        if listening in ready:
            connection, _ = listening.accept()
            descriptors = []
            try:
                (length,) = struct.unpack("=Q", _receive(connection, 8))
                _, descriptors, _, _ = socket.recv_fds(connection, 1, 16)
                request = json.loads(_receive(connection, length))
            except OSError:  # the requester was killed during its request
                for one in (connection.fileno(), *descriptors):
                    os.close(one)
                connection.detach()
                continue
            pid = os.fork()
            if not pid:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for one in (listening, *children.values()):
                    one.close()
                os.close(woken)
                os.close(wake)
                return request, descriptors, connection
            for descriptor in descriptors:
                os.close(descriptor)
            children[pid] = connection


def _tell(connection, number):
    with suppress(OSError):  # the other process may have ended
        connection.sendall(struct.pack("=q", number))
    connection.close()


def work(request, descriptors, connection):
    """Run a request. The requester gets this process number after session and folder are set."""
    if request["session"]:
        os.setsid()
    for at in range(3):
        os.dup2(descriptors[at], at)
        os.close(descriptors[at])
    os.chdir(request["cwd"])
    _tell(connection, os.getpid())
    forks = os.environ[ADDRESS]
    os.environ.clear()
    os.environ.update(request["env"] | {ADDRESS: forks})
    signal.signal(signal.SIGINT, signal.default_int_handler)
    address.cache_clear()
    if request["kind"] == "-c":
        sys.argv = ["-c", *request["arguments"]]
        exec(compile(request["text"], "<string>", "exec"), {"__name__": "__main__"})
        return
    sys.argv = [request["text"], *request["arguments"]]
    module = import_module("secfc.__main__" if request["text"] == "secfc" else request["text"])
    sys.exit(module.main())


def leave(function, *given):
    """Call a function and end as an interpreter does, but do not finalise what the server had imported."""
    status = 0
    try:
        function(*given)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            sys.stderr.write(end.code + "\n")
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    asked_for = serve(sys.argv[1])
    if asked_for is not None:
        leave(work, *asked_for)
