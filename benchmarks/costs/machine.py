"""The machine, versions and commit of a measurement."""

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

import secfc

_PACKAGES = ("numpy", "numba", "scikit-learn", "cryptography")
_MEASURED = ("secfc", "plaintext_baselines", "pyproject.toml")


def machine() -> dict[str, Any]:
    """Processor, cores, memory, Python, packages and BLAS, for JSON."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": _memory_gib(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "packages": {"secfc": secfc.__version__, **{name: _version(name) for name in _PACKAGES}},
        "blas": sorted(
            {
                f"{one['internal_api']} {one['version']} ({one.get('architecture', 'unknown')})"
                for one in threadpool_info()
                if one["user_api"] == "blas"
            }
        ),
    }


def commit(folder: Path) -> str:
    """The commit of a working copy, with "+ changes" if it has some; "unknown" if git fails."""
    try:
        head = _git(folder, "rev-parse", "HEAD")
        # Files that the benchmarks write do not change the measured code.
        changed = _git(folder, "status", "--porcelain", "--", *_MEASURED)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return f"{head} + changes" if changed else head


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
