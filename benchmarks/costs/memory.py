"""Peak anonymous memory of each party's process, in a run.

RssAnon in Linux's /proc/<pid>/status is memory that the system can free only by swapping: heap and stacks,
but not the pages of a mapped file, which the system can drop. The kernel has no peak counter for it, so it is
sampled. The rows are written block by block to a file that this process only maps.
"""

import os
import threading
from collections import defaultdict
from pathlib import Path
from types import TracebackType
from typing import Self

INTERVAL = 0.02
"""Seconds between samples. The work on a block takes about as long, and a part's buffers exist longer."""

_LIST_EVERY = 10
"""Samples between two searches for new processes, which all start at the beginning."""

_PROCESS = b"secfc.drivers.calls.fork_server"


def anonymous_bytes(status: str) -> int:
    """RssAnon in the text of a /proc/<pid>/status, 0 for a process that has ended."""
    for line in status.splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0


class Sampler:
    """Samples the anonymous memory of this process and of the parties' processes that it starts.

    Attributes
    ----------
    driver : int
        Peak of this process.
    total : int
        Peak of the sum over this process and the parties'.
    samples : int
    """

    def __init__(self, interval: float = INTERVAL) -> None:
        self.driver = self.total = self.samples = 0
        self._interval = interval
        self._peaks: dict[tuple[int, int], int] = defaultdict(int)  # by start time and process
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def parties(self) -> list[int]:
        """Peaks of the parties' processes in the order of their start."""
        return [peak for _, peak in sorted(self._peaks.items())]

    def _sample(self) -> None:
        known: list[tuple[int, int]] = []
        turn = 0
        while not self._stop.wait(self._interval):
            if turn % _LIST_EVERY == 0:
                known = _party_processes()
            turn += 1
            total = _anonymous_of("self")
            self.driver = max(self.driver, total)
            for process in known:
                now = _anonymous_of(str(process[1]))
                self._peaks[process] = max(self._peaks[process], now)
                total += now
                self.samples += 1
            self.total = max(self.total, total)


def _anonymous_of(process: str) -> int:
    try:
        return anonymous_bytes(Path(f"/proc/{process}/status").read_text(encoding="ascii"))
    except OSError:
        return 0


def _party_processes() -> list[tuple[int, int]]:
    """Start time and identifier of the processes that were forked by fork servers of this process."""
    found: dict[int, tuple[int, int]] = {}  # parent and start time
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            # Fields after the command, which is in parentheses: state, parent, ... start time (the 20th).
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if _PROCESS in (folder / "cmdline").read_bytes():
                found[int(folder.name)] = int(fields[1]), int(fields[19])
        except OSError:
            continue  # it has ended
    servers = [one for one, (parent, _) in found.items() if parent == os.getpid()]
    return [(begun, one) for one, (parent, begun) in found.items() if parent in servers]
