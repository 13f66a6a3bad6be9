"""The program of a FLARE server or site that `federation` starts. It ends, with its jobs, with its starter.

A starter that is killed cannot end its processes. So they watch their standard input, which is closed then.
"""

import os
import runpy
import sys
import threading
from contextlib import suppress

import psutil


def main() -> None:
    """Run the FLARE module that the first argument names, with the other arguments."""
    threading.Thread(target=_watch, daemon=True).start()
    module = sys.argv.pop(1)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _watch() -> None:
    while os.read(0, 1 << 10):
        pass
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            child.kill()
    os._exit(1)


if __name__ == "__main__":
    main()
