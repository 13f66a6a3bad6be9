"""A run of an agreed job on this machine: one process per party, each with its own files."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from secfc.agreement.job_file import Agreement
from secfc.agreement.key_files import COORDINATOR_KEY, read_key
from secfc.agreement.logs.run_log import RunLog
from secfc.agreement.signatures import check_signed, signatures_path
from secfc.agreement.site_file import read_site
from secfc.agreement.statement import write_summary
from secfc.drivers.calls import framing
from secfc.drivers.calls.coordinator import Coordinator, as_told
from secfc.drivers.calls.coordinator_log import CoordinatorLog, bound_run, log_name
from secfc.drivers.calls.pipes import Give, Pipes
from secfc.drivers.multiprocess import FOR_EVER
from secfc.drivers.setup import OnProgress, Outcome, check_deadline
from secfc.drivers.terms import RunTerms
from secfc.errors import AgreementError, SecFCError
from secfc.protocol.job.cases import Union

LOGS = ".logs"  # suffix of the folder of the coordinator's logs, next to the job


def run_agreed(
    agreement: Agreement,
    *,
    file: Path,
    sites: Sequence[Path],
    summary: Path,
    key: Path | None = None,
    deadline: float | None = None,
    resumable: bool = False,
    on_progress: OnProgress | None = None,
) -> Outcome:
    """Run an agreed job with a process per party. Write the summary of the parties' statements.

    Signatures and by default the coordinator's key (`COORDINATOR_KEY`) are in the folder of the job `file`.
    `sites` are the site files of all parties, in any order. The summary is also written when the run fails
    after a party has begun it. Without a deadline a party is lost only when its process has ended. With
    `resumable` a log in the folder `LOGS` lets another call continue an interrupted run.
    """
    check_deadline(deadline)
    check_signed(agreement, signatures_path(file))
    key = (key or file.with_name(COORDINATOR_KEY)).absolute()
    identity = read_key(key)
    agreement.consortium.check_coordinator(identity.public, file=key)
    paths = in_order(agreement, sites)
    with ExitStack() as stack:
        log, agreement, run = stack.enter_context(_bound(agreement, file, resumable=resumable))
        terms = RunTerms.of(agreement)
        parties = {j: _party(terms, j, path) for j, path in enumerate(paths, 1)}
        pipes = stack.enter_context(Pipes(terms, parties, compiled=False))
        coordinator = Coordinator(
            terms=terms,
            run=run,
            identity=identity,
            send=pipes.send,
            deadline=deadline or FOR_EVER,
            on_progress=on_progress,
            log=log,
        )
        error: SecFCError | None = None
        try:
            report = coordinator.run()
        except BaseException as failure:
            error = as_told(failure)
            raise
        finally:
            over = coordinator.report is not None or (error is not None and coordinator.statements)
            if over and not coordinator.interrupted:
                write_summary(summary, agreement, coordinator.statements.values(), coordinator.summary(error))
            coordinator.leave()
    hidden = isinstance(agreement.job.rows, Union)
    return report.outcome(
        {},
        [0] * agreement.job.n if hidden else report.counts,
        coordinator.meter.costs(),
        {} if hidden else None,
        run_id=run.hex(),
        lost=coordinator.lost,
    )


def log_path(file: Path, agreement: Agreement) -> Path:
    """Path of the coordinator's log of a resumable run of a job file. It exists until the run has ended."""
    return file.with_suffix(LOGS) / log_name(agreement)


@contextmanager
def _bound(
    agreement: Agreement, file: Path, *, resumable: bool
) -> Iterator[tuple[CoordinatorLog | None, Agreement, bytes]]:
    """As `bound_run`. Afterwards the log is closed, and the folder deleted if it was the last."""
    path = log_path(file, agreement)
    if not resumable or RunLog.header_of(path) is None:
        agreement.check_date(datetime.now(UTC).date())  # a resumed run began in time
    log, agreement, run = bound_run(agreement, path.parent if resumable else None)
    try:
        yield log, agreement, run
    finally:
        if log is not None:
            log.close()
            with suppress(OSError):
                path.parent.rmdir()


def _party(terms: RunTerms, number: int, file: Path) -> tuple[Give, bool]:
    given = {"site": str(file), "name": terms.names[number - 1]}
    return partial(framing.write_json, value=given), read_site(file).storage is not None


def in_order(agreement: Agreement, sites: Sequence[Path]) -> tuple[Path, ...]:
    """Each party's site file, client 1's first. AgreementError names a party with none or with two."""
    found: dict[str, Path] = {}
    for path in sites:
        party = read_site(path).party
        if party not in agreement.names:
            raise AgreementError(f"{path}: {party!r} is not in the roster ({', '.join(agreement.names)})")
        if party in found:
            raise AgreementError(f"{path}: {found[party]} is the site file of {party} too")
        found[party] = path
    missing = [name for name in agreement.names if name not in found]
    if missing:
        raise AgreementError(f"no site file of {', '.join(missing)} was given; all parties take part")
    return tuple(found[name].absolute() for name in agreement.names)
