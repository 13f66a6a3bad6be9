"""Signals to processes that tests start, and whether they have ended."""

import signal
import subprocess
import time
from collections.abc import Collection


def heed_ctrl_c() -> None:
    """For `preexec_fn`: reset SIGINT, which a process started from a background job would ignore."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_for_end(pids: Collection[int], seconds: float = 60) -> None:
    """Return after all have ended; AssertionError if one has not ended in time."""
    until = time.monotonic() + seconds
    while any(map(_is_alive, pids)):
        assert time.monotonic() < until, "a process goes on"
        time.sleep(0.05)


def _is_alive(pid: int) -> bool:
    """Whether a process has not ended. A zombie has ended."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return state.stdout.strip()[:1] not in {"", "Z"}
