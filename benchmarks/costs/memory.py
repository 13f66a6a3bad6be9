"""Peak anonymous memory of each party's process, in a run.

RssAnon in Linux's /proc/<pid>/status is memory that the system can free only by swapping: heap and stacks,
but not the pages of a mapped file, which the system can drop. The kernel has no peak counter for it, so it is
sampled. The rows are written block by block to a file that this process only maps.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

import secfc
from benchmarks.costs.runs import timed
from benchmarks.costs.setting import (
    PRECISION,
    Case,
    Setting,
    most_primes,
    quiet_run,
    residues_of_rounds,
    stated,
)
from secfc.errors import ParameterError
from secfc.field.array_types import Floats

ITERATIONS = 2
INTERVAL = 0.02
"""Seconds between samples. The work on a block takes about as long, and a part's buffers exist longer."""

_LIST_EVERY = 10
"""Samples between two searches for new processes, which all start at the beginning."""

_BLOCK_ROWS = 1 << 14
_PROCESS = b"secfc.drivers.calls.fork_server"
_IDLE = "import secfc.drivers.calls.party_process; print(open('/proc/self/status').read())"

CASES = (Case(m=200_000, d=100, k=16, n=11, t=4, ell=2),)

QUICK_CASES = (Case(m=6000, d=10, k=3, n=3, t=1, ell=1),)


@dataclass(frozen=True, kw_only=True)
class MemoryRow(Setting):
    """Peaks of one run with one process per party, in bytes.

    Attributes
    ----------
    iterations : int
    client_peak, client_median : int
        Peak anonymous memory of the client with the most, and the median of all clients' peaks.
    driver_peak : int
        Peak of the process that started all others and has the server.
    idle : int
        Anonymous memory of a party's process that has only imported its program.
    rows_bytes : int
        float64 rows of the largest client, which its process gets at the start.
    share_bytes : int
        A client's shares, float32.
    pooled_bytes : int
        All rows, float64: the least memory for clustering them in one place.
    client_ratio : float
        client_peak / pooled_bytes.
    samples : int
        Number of samples of all processes.
    cpu_seconds, wall_seconds : float
    """

    iterations: int
    client_peak: int
    client_median: int
    driver_peak: int
    idle: int
    rows_bytes: int
    share_bytes: int
    pooled_bytes: int
    client_ratio: float
    samples: int
    interval: float
    cpu_seconds: float
    wall_seconds: float


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


def write_rows(path: Path, case: Case, *, seed: int = 0) -> Floats:
    """Write Gaussian clusters block by block to a .npy file, and return a read-only map of it."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-10, 10, (case.k, case.d))
    rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(case.m, case.d))
    for start in range(0, case.m, _BLOCK_ROWS):
        block = rows[start : start + _BLOCK_ROWS]
        block[...] = centres[rng.integers(case.k, size=len(block))]
        block += rng.normal(0, 8, block.shape)
    rows.flush()
    del rows
    return np.asarray(np.load(path, mmap_mode="r"))


def measure_memory(
    case: Case,
    *,
    folder: Path | None = None,
    precision: int = PRECISION,
    iterations: int = ITERATIONS,
) -> MemoryRow:
    """Run some iterations with a process per party and sample their memory.

    Parameters
    ----------
    case : Case
    folder : Path, optional
        Parent of a temporary folder for rows, which is removed at the end. The default is the
        system's folder for temporary files.

    Raises
    ------
    ParameterError
        There is no /proc, or not enough space for the rows.
    """
    if not Path("/proc/self/status").exists():
        raise ParameterError("memory: this benchmark reads Linux's /proc, which this system does not have")
    with tempfile.TemporaryDirectory(prefix="secfc-bench-", dir=folder) as name:
        place = Path(name)
        needed, free = 8 * case.m * case.d, shutil.disk_usage(place).free
        if needed > free:
            raise ParameterError(f"storage: the rows take {needed} bytes, {free} are free in {place.parent}")
        rows = write_rows(place / "rows.npy", case)
        parties = np.array_split(rows, case.n)
        options: dict[str, Any] = {
            "precision": precision,
            "max_iter": iterations,
            "seed": 0,
            "driver": "multiprocess",
            "disclosure": "coded",
        }
        with Sampler() as sampler:
            result, (cpu, wall) = timed(lambda: quiet_run(parties, case, **options))
    job, peaks = result.job, sampler.parties
    if len(peaks) != case.n:
        raise ParameterError(f"memory: {len(peaks)} of {case.n} processes were seen; use more rows")
    asked = residues_of_rounds(result.costs.messages, m=case.m)
    shares = 4 * job.residues(case.m) * (job.width + 1) * case.m
    return MemoryRow(
        **stated(job, m=case.m, residues=most_primes(asked, case.k)),
        iterations=iterations,
        client_peak=max(peaks),
        client_median=int(np.median(peaks)),
        driver_peak=sampler.driver,
        idle=_idle_bytes(),
        rows_bytes=max(part.nbytes for part in parties),
        share_bytes=shares,
        pooled_bytes=needed,
        client_ratio=max(peaks) / needed,
        samples=sampler.samples,
        interval=INTERVAL,
        cpu_seconds=cpu,
        wall_seconds=wall,
    )


def _idle_bytes() -> int:
    package = str(Path(secfc.__file__).resolve().parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", _IDLE],
        env={**os.environ, "PYTHONPATH": package},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return anonymous_bytes(done.stdout)


def measure_cases(
    cases: tuple[Case, ...], *, folder: Path | None = None, precision: int = PRECISION
) -> Iterator[MemoryRow]:
    """Measure each case. A short pause lets the system reclaim memory of the case before."""
    for at, case in enumerate(cases):
        if at:
            time.sleep(0.1)
        yield measure_memory(case, folder=folder, precision=precision)
