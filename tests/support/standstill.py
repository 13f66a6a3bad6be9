"""Deadlines of a run with a process per party that pass when no party can go on, not after seconds.

A test about a deadline stops a process or loses a message, and then all other parties wait. The clock of such
a run is that standstill: no process works, no byte is in a pipe, no event is left. Any deadline has passed
then, and none before, however fast the machine is.
"""

import fcntl
import queue
import struct
import termios
from pathlib import Path

from secfc.drivers import carrier

_LOOKS = 6
"""Looks in a row that must show a standstill: a thread that has just been woken moves in between."""
_PAUSE_SECONDS = 0.02


class Events:
    """Events of the parties; who waits for one with a deadline is told that it has passed at a standstill."""

    def __init__(self, parties: carrier.Parties) -> None:
        self._parties = parties
        self._events: queue.SimpleQueue[carrier.Event] = queue.SimpleQueue()

    def put(self, event: carrier.Event) -> None:
        self._events.put(event)

    def get(self, timeout: float | None = None) -> carrier.Event:
        if timeout is None:
            return self._events.get()
        still = 0
        while still < _LOOKS:
            try:
                return self._events.get(timeout=_PAUSE_SECONDS)
            except queue.Empty:
                still = still + 1 if all(map(waits, self._parties._processes.values())) else 0
        raise queue.Empty


def waits(process) -> bool:
    """Whether a process is stopped, has ended, or waits for input that is not there."""
    try:
        state = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    if state in "TZX":
        return True
    return state == "S" and not unread(process.stdin) and not unread(process.stdout)


def unread(stream) -> int:
    """Bytes in a pipe."""
    if stream.closed:
        return 0
    (count,) = struct.unpack("=i", fcntl.ioctl(stream.fileno(), termios.FIONREAD, bytes(4)))
    return count


def patch(monkeypatch) -> None:
    """Have the deadlines of runs pass at a standstill, and processes that do not end be ended at once."""
    if not Path("/proc/self/stat").exists():
        return
    real = carrier.Parties.__init__

    def begin(parties, *given, **named):
        real(parties, *given, **named)
        parties.events = Events(parties)

    monkeypatch.setattr(carrier.Parties, "__init__", begin)
    monkeypatch.setattr(carrier, "GRACE_SECONDS", 0.5)
