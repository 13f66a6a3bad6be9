"""A party that acts by files of its own, as a callee needs it, and its own log of errors."""

import logging
import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from secfc.agreement.job_file import read_job
from secfc.agreement.site_file import read_site
from secfc.drivers.callee import Callee
from secfc.drivers.collecting import with_deposits
from secfc.drivers.participant import Participant
from secfc.drivers.past_runs import PastRuns
from secfc.drivers.terms import RunTerms
from secfc.errors import AgreementError


class SiteFiles(PastRuns):
    """A site file of the party of this name and the job in it; ParameterError if they cannot be used."""

    def __init__(self, *, name: str, file: Path) -> None:
        self._site = read_site(file.resolve())  # paths in it are relative to where it lies
        super().__init__(self._site, with_deposits(self._site, read_job(self._site.job)))
        self.name = name
        self.terms = RunTerms.of(self._agreement)
        names = self.terms.names
        self.number = names.index(name) + 1 if name in names else None

    def participant(self) -> Participant:
        """The site as it takes part in a run."""
        participant = Participant(self._site, self._agreement)
        if participant.name != self.name:
            raise AgreementError(f"{self.name}: its site file is that of {participant.name}")
        return participant


def callee_of(*, name: str, file: Path) -> Callee:
    """The callee of a party that acts by a site file."""
    return Callee(lambda: SiteFiles(name=name, file=file))


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
