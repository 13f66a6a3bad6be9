"""How a process of a party is started, how its program speaks, and how it ends."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import secfc
from secfc.drivers import framing
from secfc.drivers.failures import as_error
from secfc.public_errors import PublicError

GRACE_SECONDS = 5.0
"""How long a process may take to end by itself, before it is terminated, and again before it is killed."""

_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
"""The processes share the cores; threads of their own would only get in each other's way."""


def start_program(module: str) -> subprocess.Popen[bytes]:
    """A new interpreter that runs a module of this very secfc, in a session of its own: Ctrl-C is ours."""
    package = str(Path(secfc.__file__).resolve().parent.parent)
    path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **_ONE_THREAD, "PYTHONPATH": path},
        start_new_session=True,
    )


def how_it_ended(process: subprocess.Popen[bytes]) -> str:
    """A process's end in words."""
    try:
        status = process.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        return "it still runs"
    return f"signal {-status}" if status < 0 else f"exit status {status}"


def speak(work: Callable[[BinaryIO, BinaryIO], None]) -> int:
    """Run a party's program on frames from standard input and to standard output; return its exit status.

    An error is told with its text; one that is not ours as its type and place alone. A program whose files
    are not the starter's raises what may leave it.
    """
    inbox = os.fdopen(os.dup(sys.stdin.fileno()), "rb", buffering=1 << 16)
    outbox = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=1 << 16)
    # Nothing that a library prints may end up between frames.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        work(inbox, outbox)
    except (EOFError, BrokenPipeError):
        return 1  # the driver has gone; nobody is left to tell
    except Exception as error:
        told = as_error(error)
        framing.write_json(outbox, PublicError.of(told).to_json() | {"text": str(told)})
        return 1
    return 0
