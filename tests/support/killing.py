"""Real processes that are killed: by themselves while they write their logs, or from outside."""

import os
import random
import subprocess
import sys
from pathlib import Path

from support import warm

import secfc
from secfc.drivers.calls import pipes
from secfc.drivers.calls.coordinator import Coordinator
from secfc.drivers.calls.processes import ForkServer

PACKAGE = str(Path(secfc.__file__).resolve().parent.parent)

_MAIN = "import sys\nfrom secfc.drivers.calls.party_process import main\nsys.exit(main())\n"

_AT_STEP = """
import os, signal
from secfc.agreement.logs.run_log import RunLog

left = {count}

def dying(real):
    def step(*given):
        global left
        for work in (lambda: None, lambda: real(*given)):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            work()
    return step

RunLog.append, RunLog.commit = dying(RunLog.append), dying(RunLog.commit)
"""


def process(code: str = "") -> subprocess.Popen:
    """A party's process that executes some code before it starts to work."""
    return warm.Popen(
        [sys.executable, "-P", "-c", f"{code}\n{_MAIN}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": PACKAGE, "OMP_NUM_THREADS": "1"},
        start_new_session=True,
    )


def dying_at_step(count: int) -> str:
    """Code with which a process kills itself after `count` steps of writing its log.

    A log entry has two steps when it is written and two when it is committed.
    """
    return _AT_STEP.format(count=count)


class Killer:
    """Kills processes of one run at random (by seed), at most `most` of them.

    `start` replaces `ForkServer.start`. Call `carried` for each message that is carried.
    """

    def __init__(self, seed: int, *, most: int) -> None:
        self._rng, self._left, self.most = random.Random(seed), most, most
        self.started: list[subprocess.Popen] = []
        self.in_writes = self.from_outside = 0
        self._at = self._draw()

    def _draw(self) -> int:
        return int(2 ** self._rng.uniform(0, 10))

    def start(self) -> subprocess.Popen:
        """Start a process. One in two will kill itself."""
        code = ""
        if self._left and self._rng.random() < 0.5:
            self._left -= 1
            self.in_writes += 1
            code += dying_at_step(int(2 ** self._rng.uniform(0, 7)))
        self.started.append(process(code))
        return self.started[-1]

    def carried(self) -> None:
        """Count a message, and kill a process when its turn has come."""
        self._at -= 1
        if self._at > 0 or not self._left:
            return
        self._at = self._draw()
        alive = [one for one in self.started if one.poll() is None]
        if alive:
            self._left -= 1
            self.from_outside += 1
            self._rng.choice(alive).kill()

    @property
    def killed(self) -> int:
        """Number of processes that signal 9 killed while they worked."""
        return sum(one.poll() == -9 for one in self.started)


def patch(monkeypatch, killer: Killer) -> None:
    real = Coordinator._carry

    def carry(self, client, data):
        real(self, client, data)
        killer.carried()

    # All kills may hit the same party before it has made progress.
    monkeypatch.setattr(pipes, "_STARTS", killer.most + 1)
    monkeypatch.setattr(ForkServer, "start", killer.start)
    monkeypatch.setattr(Coordinator, "_carry", carry)


def first_process_dies(monkeypatch, after_steps: int):
    """Have the first process kill itself while it writes its log. The result counts killed processes."""
    started = []

    def start(_forks):
        started.append(process("" if started else dying_at_step(after_steps)))
        return started[-1]

    monkeypatch.setattr(ForkServer, "start", start)
    return lambda: sum(one.poll() == -9 for one in started)
