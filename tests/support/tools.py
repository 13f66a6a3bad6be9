"""Programs that tests need and that do not come with Python or pip."""

import os
import shutil
from glob import glob
from pathlib import Path

import pytest


def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    return _needed("chromium", found)


def postgresql() -> Path:
    """The folder of the server's programs. Debian has one for each version, not on the PATH."""
    initdb = shutil.which("initdb")
    found = [Path(initdb).resolve().parent] if initdb else []
    found += sorted(map(Path, glob("/usr/lib/postgresql/*/bin")), key=lambda path: float(path.parent.name))
    servers = [path for path in found if (path / "initdb").is_file() and (path / "postgres").is_file()]
    return Path(_needed("postgresql", str(servers[-1]) if servers else None))


def _needed(name: str, found: str | None) -> str:
    """The path found. Without one the test is skipped, or fails if SECFC_NO_SKIPS lists the name."""
    if found is None:
        if name in os.environ.get("SECFC_NO_SKIPS", "").split():
            pytest.fail(f"{name} is not installed, and SECFC_NO_SKIPS says that it must be")
        pytest.skip(f"{name} is not installed")
    return found
