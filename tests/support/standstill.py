"""Deadlines that pass when no party of a run (a process per party) can continue, not after seconds.

A test about a deadline stops a process or loses an answer. Then all other parties wait. That is a standstill:
no process works, no byte is in a pipe, no answer is waiting. The clock of such a run moves only at a
standstill, and then every deadline passes. So the speed of the machine has no influence.
"""

import fcntl
import struct
import termios
import threading
import time
from pathlib import Path

from secfc.drivers.calls import conversation, coordinator, pipes

_LOOKS = 6
"""Observations in a row that must show a standstill. A thread that has just been woken moves in between."""
_PAUSE_SECONDS = 0.02


_STEP_SECONDS = 4.0
"""Duration of a standstill on this clock, so that deadlines of different lengths pass in their order."""


class Clock:
    """Replaces `time`. It moves when the parties of a run are at a standstill."""

    thread_time = staticmethod(time.thread_time)

    def __init__(self) -> None:
        self.parties = None
        self.idle = False  # the coordinator heard nothing the last time
        self._now, self._still, self._looked = 0.0, 0, 0.0
        self._lock = threading.Lock()

    def monotonic(self) -> float:
        with self._lock:
            if self.parties is not None and time.monotonic() - self._looked >= _PAUSE_SECONDS:
                self._looked = time.monotonic()
                processes = [one.process for one in self.parties.processes.values()]
                self._still = self._still + 1 if self.idle and all(map(waits, processes)) else 0
                if self._still >= _LOOKS:
                    self._now, self._still = self._now + _STEP_SECONDS, 0
            return self._now

    def sleep(self, seconds: float) -> None:
        time.sleep(min(seconds, _PAUSE_SECONDS))


def waits(process) -> bool:
    """Whether a process is stopped, has ended, or waits for missing input."""
    try:
        state = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    if state in "TZX":
        return True
    return state == "S" and not unread(process.stdin) and not unread(process.stdout)


def unread(stream) -> int:
    if stream.closed:
        return 0
    (count,) = struct.unpack("=i", fcntl.ioctl(stream.fileno(), termios.FIONREAD, bytes(4)))
    return count


def patch(monkeypatch) -> None:
    """Make deadlines of runs pass at a standstill, and end at once processes that do not end themselves."""
    if not Path("/proc/self/stat").exists():
        return
    clock, enter, hear = Clock(), pipes.Pipes.__enter__, conversation.heard

    def begin(parties):
        clock.parties = parties
        return enter(parties)

    def heard(events):
        answers, failed = hear(events)
        clock.idle = not answers and failed is None
        return answers, failed

    monkeypatch.setattr(pipes.Pipes, "__enter__", begin)
    monkeypatch.setattr(pipes, "GRACE_SECONDS", 0.5)
    monkeypatch.setattr(coordinator, "_LOST_SECONDS", 0.5)
    monkeypatch.setattr(coordinator, "heard", heard)
    monkeypatch.setattr(coordinator, "time", clock)
    monkeypatch.setattr(conversation, "time", clock)
    monkeypatch.setattr(conversation, "PAUSE_SECONDS", _PAUSE_SECONDS)
    monkeypatch.setattr(conversation, "_TRY_SECONDS", _PAUSE_SECONDS)
    monkeypatch.setattr(conversation, "_LEAST_SECONDS", _PAUSE_SECONDS)
