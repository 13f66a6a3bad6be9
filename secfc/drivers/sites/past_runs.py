"""A site's files about the runs of a job: results, counted runs, logs of runs that have not ended."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from secfc.agreement.job_file import Agreement
from secfc.agreement.logs.disk import sync_folder, write_errors
from secfc.agreement.logs.ledger import Ledger, ledger_key, locked
from secfc.agreement.logs.run_log import InUseError, RunLog, delete
from secfc.agreement.site_file import Site
from secfc.agreement.statement import SignedStatement, statement_of
from secfc.crypto.identity import Identity
from secfc.errors import AgreementError, SecFCError, StorageError
from secfc.errors.codes import Code
from secfc.protocol.messages import RUN_ID_BYTES
from secfc.tables.outputs import drafted
from secfc.tables.toml_file import read_json

STATEMENT = "statement.json"  # a run's signed statement, in the run's folder of the site's results
_MARK = "[0-9a-f]" * 2 * RUN_ID_BYTES  # name of the file that counts a run
_LEDGER = ".ledger"  # suffix of a file next to the site's results: of which rows sums were opened
_RUNS = ".runs"  # suffix of a folder next to the site's results: the runs of each agreement


def report_of(signed: SignedStatement | None) -> dict[str, Any]:
    """A site's report of a run that has ended, as JSON values. Empty without a statement."""
    return {} if signed is None else {"ended": signed.statement.ended, "statement": signed.model_dump()}


class PastRuns:
    """A site's files about the runs of a job.

    Each run in which the site shared anything has an empty file next to its results, which counts it.
    """

    def __init__(self, site: Site, agreement: Agreement) -> None:
        self.name, self._agreement = site.party, agreement
        self._results, self._storage = site.results, site.storage
        self._runs = site.results.with_name(site.results.name + _RUNS)
        self._counted = self._runs / agreement.digest.hex()

    @contextmanager
    def ledger(self, identity: Identity) -> Iterator[Ledger]:
        """What was opened of the site's rows in all runs with these results. No other process has it too."""
        path = self._results.with_name(self._results.name + _LEDGER)
        with locked(path):
            yield Ledger.read(path, ledger_key(identity))

    def has_been(self, run: bytes) -> bool:
        """Whether the site took part in a run that has ended, or the run was counted."""
        return (self._results / run.hex()).exists() or any(self._runs.glob(f"*/{run.hex()}"))

    @property
    def counted(self) -> list[bytes]:
        """The runs of this job that were counted, sorted."""
        return sorted(bytes.fromhex(path.name) for path in self._counted.glob(_MARK))

    @property
    def of_others(self) -> int:
        """How many runs of other jobs were counted next to the same results."""
        return sum(path.parent != self._counted for path in self._runs.glob(f"*/{_MARK}"))

    def statement(self, run: bytes) -> SignedStatement | None:
        """The statement of a run whose results were written. None if there is none."""
        path = self._results / run.hex() / STATEMENT
        if not path.exists():
            return None
        return statement_of(read_json(path), name=f"{self.name}: {path}")

    def reported(self, run: bytes) -> dict[str, Any]:
        """The site's report of a run that has ended."""
        return report_of(self.statement(run))

    @contextmanager
    def new_results(self, run: bytes) -> Iterator[Path]:
        """A folder for a run's files. It is moved to the results if the block succeeds, and else deleted."""
        target = self._results / run.hex()
        with write_errors(f"{self.name}: results: {self._results}"), drafted(target) as draft:
            yield draft

    def log_path(self, run: bytes) -> Path | None:
        """Path of the log of a run's calls, which exists until the run has ended. None without storage."""
        job = f"job-{self._agreement.digest.hex()[:16]}"
        return None if self._storage is None else self._storage / job / f"{run.hex()}.log"

    def delete_log(self, run: bytes) -> None:
        """Delete the log of a run that has ended, and the folder if it was the last log."""
        path = self.log_path(run)
        if path is not None:
            delete(path)
            with suppress(OSError):
                path.parent.rmdir()

    def check_date(self) -> None:
        """Raise AgreementError if the job has expired."""
        try:
            self._agreement.check_date(datetime.now(UTC).date())
        except AgreementError as error:
            raise AgreementError(f"{self.name}: {error}", code=error.code) from None

    def check(self, run: bytes) -> None:
        """Raise AgreementError if the job already had the agreed number of other runs."""
        others = {path.name for path in self._counted.glob("*")} - {run.hex()}
        if len(others) >= self._agreement.runs:
            raise AgreementError(
                f"{self.name}: the job {self._agreement.digest.hex()[:16]} had {len(others)} runs; "
                f"{self._agreement.runs} were agreed",
                code=Code.NO_RUNS_LEFT,
            )

    def count(self, run: bytes) -> None:
        """Write the mark of a run before the run shares anything. So the run counts however it ends."""
        mark, made = self._counted / run.hex(), False
        try:
            if not mark.exists():
                self.check_date()
                self._counted.mkdir(parents=True, exist_ok=True)
                os.close(os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
                made = True
                sync_folder(self._counted)
            self.check(run)  # after writing the mark: of two runs at once each sees the other's
        except (SecFCError, OSError) as error:
            with suppress(OSError):
                if made and isinstance(error, AgreementError):
                    mark.unlink()  # nothing was shared
            if isinstance(error, OSError):
                text = f"{self.name}: results: {self._counted}: {error.strerror}"
                raise StorageError(text) from None
            raise


def delete_logs_beside(path: Path) -> None:
    """Delete the logs of other runs of a job, which no process will continue. A log in use stays."""
    for other in path.parent.glob("*.log"):
        if other != path:
            try:
                log = RunLog.resume(other)
            except InUseError:
                continue
            except StorageError:
                log = None
            if log is not None:
                log.close()
            delete(other)
