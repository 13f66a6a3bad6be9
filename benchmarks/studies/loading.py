"""What a new interpreter takes to import secfc, and then to load compiled loops or import Numba."""

import subprocess
import sys

import numpy as np

_TIMES = 9
_AFTER = {
    "import secfc": "import secfc, secfc.drivers.in_process",
    "load compiled loops": "from secfc.kernels import load; assert load()",
    "import numba": "import numba",
}
_TAKEN = """
import time
before = time.process_time()
{work}
pages = int(open("/proc/self/statm").read().split()[1])
print(time.process_time() - before, pages * 4096)
"""


def _taken(work: list[str]) -> tuple[float, float]:
    """CPU seconds of the last step, and resident bytes after it, in a new interpreter."""
    code = "\n".join([*work[:-1], _TAKEN.format(work=work[-1])])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, resident = map(float, done.stdout.split())
    return seconds, resident


def measure() -> None:
    """Print a line for each step: the medians of CPU seconds, and of MB resident after it. Linux."""
    from secfc.kernels import load  # noqa: PLC0415 - compiles now, if that was never done

    load()
    first = next(iter(_AFTER.values()))
    for name, step in _AFTER.items():
        steps = [first] if step == first else [first, step]
        seconds, resident = np.median([_taken(steps) for _ in range(_TIMES)], axis=0)
        print(f"{name:20} {1e3 * seconds:6.0f} ms {resident / 1e6:6.0f} MB", flush=True)
