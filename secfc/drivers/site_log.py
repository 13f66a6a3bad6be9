"""The log of a site that acts by its site file on this machine: its errors, with their whole texts."""

import logging
import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path


class SiteLog(logging.Handler):
    """Appends errors to the log beside a site file, ``north.log``, which its owner alone may read."""

    def __init__(self, site_file: Path) -> None:
        super().__init__(logging.ERROR)
        self._path = site_file.with_suffix(".log")

    def emit(self, record: logging.LogRecord) -> None:
        """Append one line."""
        with suppress(OSError):  # who asked for the run is told of the error all the same
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            with os.fdopen(os.open(self._path, flags, 0o600), "a", encoding="utf-8") as file:
                file.write(f"{datetime.now(UTC).isoformat(timespec='seconds')} {record.getMessage()}\n")
