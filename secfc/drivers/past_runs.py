"""What a site has of the runs of a job: results, counted runs, logs of runs that have not ended."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from secfc.agreement.job_file import Agreement
from secfc.agreement.site_file import Site
from secfc.agreement.statement import SignedStatement, statement_of
from secfc.agreement.toml_file import read_json
from secfc.codes import Code, code_of_write
from secfc.errors import AgreementError, ParameterError, StorageError
from secfc.journal.disk import sync_folder
from secfc.journal.run_log import InUseError, RunLog, delete
from secfc.outputs import drafted

STATEMENT = "statement.json"  # a run's signed statement, in the run's folder of the site's results
_RUNS = ".runs"  # ends the name of a folder beside the site's results: which runs an agreement had


def report_of(signed: SignedStatement | None) -> dict[str, Any]:
    """What a site reports of a run that has ended, as JSON takes it; nothing without a statement."""
    return {} if signed is None else {"ended": signed.statement.ended, "statement": signed.model_dump()}


class PastRuns:
    """What a site has of the runs of a job.

    The runs in which it shared anything are counted by an empty file for each, beside its results.
    """

    def __init__(self, site: Site, agreement: Agreement) -> None:
        self.name, self._agreement = site.party, agreement
        self._results, self._storage = site.results, site.storage
        self._runs = site.results.with_name(site.results.name + _RUNS)
        self._counted = self._runs / agreement.digest.hex()

    def has_been(self, run: bytes) -> bool:
        """Whether the site took part in a run that has ended, or the run was counted."""
        return (self._results / run.hex()).exists() or any(self._runs.glob(f"*/{run.hex()}"))

    def statement(self, run: bytes) -> SignedStatement | None:
        """The statement of a run that was written down; None when there is none.

        Raises ParameterError when it is not as a site writes it.
        """
        path = self._results / run.hex() / STATEMENT
        if not path.exists():
            return None
        return statement_of(read_json(path), name=f"{self.name}: {path}")

    def reported(self, run: bytes) -> dict[str, Any]:
        """What the site reported of a run that has ended."""
        return report_of(self.statement(run))

    @contextmanager
    def new_results(self, run: bytes) -> Iterator[Path]:
        """A folder for a run's files; it gets its name among the results if the block succeeds.

        Raises ParameterError, with the site's name, when something cannot be written; nothing is left then.
        """
        try:
            with drafted(self._results / run.hex()) as draft:
                yield draft
        except OSError as error:
            text = f"{self.name}: results: {self._results}: {error.strerror}"
            raise ParameterError(text, code=code_of_write(error)) from None

    def log_path(self, run: bytes) -> Path | None:
        """Where the log of a run's calls is until the run has ended; None when the site keeps none."""
        job = f"job-{self._agreement.digest.hex()[:16]}"
        return None if self._storage is None else self._storage / job / f"{run.hex()}.log"

    def delete_log(self, run: bytes) -> None:
        """Delete the log of a run that has ended, and its folder with the last one."""
        path = self.log_path(run)
        if path is not None:
            delete(path)
            with suppress(OSError):
                path.parent.rmdir()

    def check_date(self) -> None:
        """Raise AgreementError when the job has expired."""
        try:
            self._agreement.check_date(datetime.now(UTC).date())
        except AgreementError as error:
            raise AgreementError(f"{self.name}: {error}", code=error.code) from None

    def check(self, run: bytes) -> None:
        """Raise AgreementError when the job had as many other runs as were agreed on."""
        others = {path.name for path in self._counted.glob("*")} - {run.hex()}
        if len(others) >= self._agreement.runs:
            raise AgreementError(
                f"{self.name}: the job {self._agreement.digest.hex()[:16]} had {len(others)} runs, it was "
                f"agreed on {self._agreement.runs}",
                code=Code.NO_RUNS_LEFT,
            )

    def count(self, run: bytes) -> None:
        """Write down that a run shares something, before it does: a run counts however it ends.

        Raises as `check_date` and `check`, and the run is not counted then; StorageError when it cannot be
        written down.
        """
        mark = self._counted / run.hex()
        try:
            if not mark.exists():
                self.check_date()
                self._counted.mkdir(parents=True, exist_ok=True)
                os.close(os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
                sync_folder(self._counted)
            try:
                self.check(run)  # after the mark: of two runs at once each sees the other's
            except AgreementError:
                mark.unlink()
                raise
        except OSError as error:
            raise StorageError(f"{self.name}: results: {self._counted}: {error.strerror}") from None


def delete_logs_beside(path: Path) -> None:
    """Delete the logs of other runs of a job: nobody goes on with these. One that is in use stays."""
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
