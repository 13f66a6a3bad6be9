"""How a process of a party is started, and how it ends."""

import os
import subprocess
import sys
from pathlib import Path

import secfc

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
