"""Real processes that kill themselves while they write their logs."""

import os
import subprocess
import sys
from pathlib import Path

from support import warm

import secfc
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


def first_process_dies(monkeypatch, after_steps: int):
    """Have the first process kill itself while it writes its log. The result counts killed processes."""
    started = []

    def start(_forks):
        started.append(process("" if started else dying_at_step(after_steps)))
        return started[-1]

    monkeypatch.setattr(ForkServer, "start", start)
    return lambda: sum(one.poll() == -9 for one in started)
