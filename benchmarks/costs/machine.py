"""The machine, its rate, versions and commit of a measurement."""

import os
import platform
import subprocess
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

import secfc

SIDE = 1000
"""Rows and columns of the matrices whose product is timed."""

_PACKAGES = ("numpy", "numba", "scikit-learn", "cryptography")
_MEASURED = ("secfc", "plaintext_baselines", "pyproject.toml")


def machine() -> dict[str, Any]:
    """Processor, cores, memory, Python, packages, BLAS and its rate on one thread, for JSON."""
    with threadpool_limits(1):
        seconds = median(islice(matrix_product(), 9))
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": _memory_gib(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "packages": {"secfc": secfc.__version__, **{name: _version(name) for name in _PACKAGES}},
        "matrix_rate": round(2 * SIDE**3 / seconds / 1e9, 1),
        "blas": sorted(
            {
                f"{one['internal_api']} {one['version']} ({one.get('architecture', 'unknown')})"
                for one in threadpool_info()
                if one["user_api"] == "blas"
            }
        ),
    }


def matrix_product() -> Iterator[float]:
    """CPU seconds of each of many products of two float64 matrices with `SIDE` rows and columns."""
    rng = np.random.default_rng(0)
    left, right, out = rng.random((SIDE, SIDE)), rng.random((SIDE, SIDE)), np.empty((SIDE, SIDE))
    while True:
        started = time.thread_time()
        np.matmul(left, right, out=out)
        yield time.thread_time() - started


def commit(folder: Path) -> str:
    """The last commit of a working copy that changed measured code, with "+ changes" if it has some.

    It is "unknown" if git fails.
    """
    try:
        last = _git(folder, "rev-list", "-1", "HEAD", "--", *_MEASURED)
        changed = _git(folder, "status", "--porcelain", "--", *_MEASURED)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return f"{last} + changes" if changed else last


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), "--no-optional-locks", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, OSError, ValueError):
        return None


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
