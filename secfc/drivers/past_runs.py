"""What a site has of the runs of a job: results, counted runs, logs of runs that have not ended."""

import json
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
from secfc.journal.disk import sync_folder, write_all
from secfc.journal.run_log import InUseError, RunLog, delete
from secfc.outputs import drafted

STATEMENT = "statement.json"  # a run's signed statement, in the run's folder of the site's results
_RUNS = ".runs"  # ends the name of a folder beside the site's results: which runs an agreement had


def report_of(signed: SignedStatement | None) -> dict[str, Any]:
    """What a site reports of a run that has ended, as JSON takes it; nothing without a statement."""
    return {} if signed is None else {"ended": signed.statement.ended, "statement": signed.model_dump()}


def write_statement(folder: Path, signed: SignedStatement) -> None:
    """Write a run's signed statement into its folder."""
    text = json.dumps(signed.model_dump(), indent=2)
    (folder / STATEMENT).write_text(text + "\n", encoding="utf-8")


class PastRuns:
    """What a site has of the runs of a job.

    The runs in which it shared anything are counted by a file for each, its *mark*, beside its results. The
    mark has what tells later whether labels are of the run and of its rows, and never leaves the site.
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
                f"{self.name}: the job {self._agreement.digest.hex()[:16]} had {len(others)} runs; "
                f"{self._agreement.runs} were agreed",
                code=Code.NO_RUNS_LEFT,
            )

    def count(self, run: bytes, **noted: Any) -> None:
        """Write down that a run shares something, before it does: a run counts however it ends.

        Raises as `check_date` and `check`, and the run is not counted then; StorageError when it cannot be
        written down.
        """
        mark = self._mark(run)
        try:
            if not mark.exists():
                self.check_date()
                self._counted.mkdir(parents=True, exist_ok=True)
                os.close(os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
                sync_folder(self._counted)
            self.note(run, **noted)  # a site that goes on may have been killed, or its disk full, before that
            try:
                self.check(run)  # after the mark: of two runs at once each sees the other's
            except AgreementError:
                mark.unlink()
                raise
        except OSError as error:
            raise self._unstored(error) from None

    def note(self, run: bytes, **noted: Any) -> None:
        """Add to the mark of a run that is counted, what is not in it yet; StorageError when it cannot be."""
        try:
            if not noted.keys() <= self.noted(run).keys():
                _append(os.open(self._mark(run), os.O_APPEND | os.O_WRONLY), noted)
        except OSError as error:
            raise self._unstored(error) from None

    def noted(self, run: bytes) -> dict[str, Any]:
        """What is in the mark of a run, as JSON takes it; nothing when it was not counted.

        A line that was being written when the site was killed is none.
        """
        found: dict[str, Any] = {}
        try:
            lines = self._mark(run).read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return found
        for line in lines:
            with suppress(ValueError):
                found.update(json.loads(line))
        return found

    def _mark(self, run: bytes) -> Path:
        return self._counted / run.hex()

    def _unstored(self, error: OSError) -> StorageError:
        return StorageError(f"{self.name}: results: {self._counted}: {error.strerror}")


def _append(descriptor: int, noted: dict[str, Any]) -> None:
    """Write a line of JSON to a file and close it; it is on the disk then."""
    try:
        write_all(descriptor, b"\n" + json.dumps(noted).encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
