"""Starting and ending the processes of parties."""

import errno
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from contextlib import ExitStack
from typing import BinaryIO

from secfc.errors import PartyError
from secfc.version import PACKAGE

GRACE_SECONDS = 5.0
"""Time for a process to end by itself before it is terminated, and again before it is killed."""

_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
"""The processes share the cores, so more threads would only slow each other down."""

_KEPT_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(1 << 25), "MALLOC_TRIM_THRESHOLD_": str(1 << 26)}
"""Freed memory that the C library on Linux keeps for the next message: the most that it comes to by itself.

Until then it returned the memory of each message, and cleared the pages for the next one.
"""

COMPILED = "compiled"  # argument of the fork server
REQUEST = b"+"  # a request to the fork server, sent with descriptors
NUMBER = struct.Struct("=q")  # its answers: numbers of processes, exit statuses
_UNKNOWN = 256  # no process has this exit status
CAN_FORK = sys.platform == "linux"
"""On other systems a system library may have threads, and a process with threads cannot be forked."""


class ForkedProcess:
    """A process of a party that a ForkServer has forked. It has the interface of `subprocess.Popen`."""

    returncode: int | None = None

    def __init__(self, *, pid: int, stdin: BinaryIO, stdout: BinaryIO, status: socket.socket) -> None:
        self.pid, self.stdin, self.stdout, self._status = pid, stdin, stdout, status
        self._told = select.poll()
        self._told.register(status, select.POLLIN)
        self._lock = threading.Lock()

    def poll(self) -> int | None:
        """Its exit status, or minus the signal that ended it. None while it runs."""
        with self._lock:
            if self.returncode is None and self._told.poll(0):
                told = self._status.recv(NUMBER.size, socket.MSG_WAITALL)
                # Without a number the server was killed, and the status is unknown.
                self.returncode = NUMBER.unpack(told)[0] if told else _UNKNOWN
                self._status.close()
            return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit status when it has ended. TimeoutExpired if it has not within the seconds given."""
        if self.returncode is None:
            self._told.poll(None if timeout is None else 1000 * timeout)
        status = self.poll()
        if status is None:
            assert timeout is not None
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
        return status

    def send_signal(self, number: int) -> None:
        """Send a signal if it still runs. Its number is not reused before `poll` has returned its status."""
        if self.poll() is None:
            with self._lock:
                if self.returncode is None:
                    os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


Process = ForkedProcess | subprocess.Popen[bytes]


class ForkServer:
    """Starts the processes of parties (`secfc.drivers.calls.fork_server`). It starts itself with the first.

    `compiled`: whether to load compiled kernels before the first fork. On a system that cannot fork, every
    party has an interpreter of its own.
    """

    def __init__(self, *, compiled: bool = False) -> None:
        self._arguments = [COMPILED] if compiled else []
        self._server: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._lock = threading.Lock()

    def start(self) -> Process:
        """A new process of `party_process`, in its own session: Ctrl-C goes to the driver only."""
        if not CAN_FORK:
            return _program("party_process", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        with self._lock:
            try:
                if self._server is None or self._server.poll() is not None:
                    self._begin()
                try:
                    return self._fork()
                except ConnectionError:  # a killed server can be gone before `poll` reports it
                    self._begin()
                    return self._fork()
            except OSError as error:  # too many files are open, or the new server has ended
                raise PartyError(f"no process of a party can be started: {error.strerror}") from None

    def _begin(self) -> None:
        self._close()
        self._control, theirs = socket.socketpair()
        with theirs:
            self._server = _program(
                "fork_server", *self._arguments, stdin=theirs.fileno(), stdout=subprocess.DEVNULL
            )

    def _fork(self) -> ForkedProcess:
        assert self._control is not None
        with ExitStack() as ours, ExitStack() as theirs:
            stdin, to = os.pipe()
            theirs.callback(os.close, stdin)
            given = ours.enter_context(os.fdopen(to, "wb", -1))
            back, stdout = os.pipe()
            theirs.callback(os.close, stdout)
            taken = ours.enter_context(os.fdopen(back, "rb", -1))
            status, end = socket.socketpair()
            ours.enter_context(status)
            theirs.enter_context(end)
            socket.send_fds(self._control, [REQUEST], [stdin, stdout, end.fileno()])
            theirs.close()  # otherwise the end of the process would go unnoticed
            told = status.recv(NUMBER.size, socket.MSG_WAITALL)
            if not told:
                raise ConnectionResetError(errno.ECONNRESET, "the process that forks them has ended")
            ours.pop_all()
        return ForkedProcess(pid=NUMBER.unpack(told)[0], stdin=given, stdout=taken, status=status)

    def end(self) -> None:
        """End the server, after the processes have ended."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._server is not None:
            how_it_ended(self._server)
            self._server.kill()
            self._server.wait()


def _program(module: str, *arguments: str, stdin: int, stdout: int) -> subprocess.Popen[bytes]:
    """A new interpreter that runs a module of this installation of secfc, in its own session."""
    package = str(PACKAGE.parent)
    path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(
        [sys.executable, "-P", "-m", f"secfc.drivers.calls.{module}", *arguments],
        stdin=stdin,
        stdout=stdout,
        env={**_KEPT_MEMORY, **os.environ, **_ONE_THREAD, "PYTHONPATH": path},
        start_new_session=True,
    )


def how_it_ended(process: Process) -> str:
    """How a process ended, in words."""
    try:
        status = process.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        return "it still runs"
    if status == _UNKNOWN:
        return "the reason is unknown"
    return f"signal {-status}" if status < 0 else f"exit status {status}"
