"""A party with files of its own, with the methods that a callee needs, and its own log of errors."""

import logging
import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from secfc.agreement.job_file import Agreement, read_job
from secfc.agreement.logs.run_log import RunLog
from secfc.agreement.site_file import read_site
from secfc.drivers.deposits.collecting import with_deposits
from secfc.drivers.sites.participant import Participant
from secfc.drivers.sites.past_runs import PastRuns
from secfc.drivers.terms import RunTerms
from secfc.errors import AgreementError


class SiteFiles(PastRuns):
    """The party of this name, from a site file and the job in it. ParameterError if they are unusable."""

    def __init__(self, *, name: str, file: Path) -> None:
        self._site = read_site(file.resolve())  # its paths are relative to its folder
        super().__init__(self._site, read_job(self._site.job))
        self.name = name
        self.terms = RunTerms.of(self._agreement)  # as agreed: `digest_of` adds the deposits that count
        self._agreed = self._agreement
        self._latest: tuple[bytes, Agreement] | None = None  # run, and with the deposits in the store
        names = self.terms.names
        self.number = names.index(name) + 1 if name in names else None

    def digest_of(self, run: bytes) -> bytes:
        """The digest to which a run is bound here, with the deposits that count if owners deposit rows.

        They are those of the run's log. So a run goes on if a member closes the deposits again, or nobody can
        read the store. For a run without a log they are those that members have signed last.
        """
        if self._agreement.owners is None:
            return self.terms.digest
        path = self.log_path(run)
        begun = None if path is None else RunLog.header_of(path)
        if begun is None:
            if self._latest is None or self._latest[0] != run:
                self._latest = run, with_deposits(self._site, self._agreed)
            _, self._agreement = self._latest
        else:
            self._agreement = self._agreed.with_deposits(*begun["deposits"])
        return self._agreement.run_digest

    def participant(self) -> Participant:
        """The site as a participant of the run that `digest_of` was called with."""
        participant = Participant(self._site, self._agreement)
        if participant.name != self.name:
            raise AgreementError(f"{self.name}: its site file is that of {participant.name}")
        return participant


def own_log(site_file: Path) -> Path:
    """Path of the log next to a site file."""
    return site_file.with_suffix(".log")


class SiteLog(logging.Handler):
    """Appends errors to the log next to a site file, ``north.log``. Only its owner may read it."""

    def __init__(self, site_file: Path) -> None:
        super().__init__(logging.ERROR)
        self._path = own_log(site_file)

    def emit(self, record: logging.LogRecord) -> None:
        """Append one line."""
        with suppress(OSError):  # the coordinator is told of the error in any case
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            with os.fdopen(os.open(self._path, flags, 0o600), "a", encoding="utf-8") as file:
                file.write(f"{datetime.now(UTC).isoformat(timespec='seconds')} {record.getMessage()}\n")
