"""A party with files of its own, with the methods that a callee needs, and its own log of errors."""

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
    """The party of this name, from a site file and the job in it. ParameterError if they are unusable."""

    def __init__(self, *, name: str, file: Path) -> None:
        self._site = read_site(file.resolve())  # its paths are relative to its folder
        super().__init__(self._site, with_deposits(self._site, read_job(self._site.job)))
        self.name = name
        self.terms = RunTerms.of(self._agreement)
        names = self.terms.names
        self.number = names.index(name) + 1 if name in names else None

    def participant(self) -> Participant:
        """The site as a participant of a run."""
        participant = Participant(self._site, self._agreement)
        if participant.name != self.name:
            raise AgreementError(f"{self.name}: its site file is that of {participant.name}")
        return participant


def callee_of(*, name: str, file: Path) -> Callee:
    """The callee of a party with a site file."""
    return Callee(lambda: SiteFiles(name=name, file=file))


class SiteLog(logging.Handler):
    """Appends errors to the log next to a site file, ``north.log``. Only its owner may read it."""

    def __init__(self, site_file: Path) -> None:
        super().__init__(logging.ERROR)
        self._path = site_file.with_suffix(".log")

    def emit(self, record: logging.LogRecord) -> None:
        """Append one line."""
        with suppress(OSError):  # the coordinator is told of the error in any case
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            with os.fdopen(os.open(self._path, flags, 0o600), "a", encoding="utf-8") as file:
                file.write(f"{datetime.now(UTC).isoformat(timespec='seconds')} {record.getMessage()}\n")
