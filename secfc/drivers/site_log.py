"""The log of a site that acts by its site file on this machine: its errors, with their whole texts."""

import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from secfc.drivers.failures import detail


def log_error(site_file: Path, error: Exception) -> None:
    """Append an error to the log beside a site file, which its owner alone may read.

    Parameters
    ----------
    site_file : Path
        ``north.toml`` has ``north.log``.
    error : Exception
    """
    with suppress(OSError):  # who asked for the run is told of the error all the same
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        with os.fdopen(os.open(site_file.with_suffix(".log"), flags, 0o600), "a", encoding="utf-8") as file:
            file.write(f"{datetime.now(UTC).isoformat(timespec='seconds')} {detail(error)}\n")
