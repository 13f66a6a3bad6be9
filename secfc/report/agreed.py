"""The page of a run of an agreed job, from its summary: the same for whoever has the summary and the job."""

import os
from pathlib import Path

from secfc.agreement.audit import audit
from secfc.agreement.job_file import Agreement
from secfc.agreement.statement import COMPLETE, Summary
from secfc.protocol.progress import Faults
from secfc.report.charts import curve
from secfc.report.html import Figures, Page, write_page
from secfc.report.learned import who_learned_what
from secfc.report.told import ToldResult, told_of


def write_agreed_report(
    summary: Summary, agreement: Agreement, path: str | os.PathLike[str], *, name: str
) -> Path:
    """Write the page of an agreed job's run: what all parties know of it, and whether its statements hold.

    Parameters
    ----------
    summary : Summary
        Of the run; what the coordinator tells in it is not signed, and the page says so.
    agreement : Agreement
        The reader's own.
    path : path
        Written whole or not at all; a file there is replaced.
    name : str
        What errors call the summary.

    Raises
    ------
    ParameterError
        When the summary cannot be one of this job, or the file cannot be written.
    """
    told, job = told_of(summary.coordinator, agreement, name=name), agreement.job
    runs = {one.statement.run for one in summary.statements}
    page = Page(
        job=job,
        run=told.run or (runs.pop() if len(runs) == 1 else "unknown"),
        names=list(agreement.names),
        title=agreement.title,
        ended=None if told.ended == COMPLETE else told.ended,
        figures=None if told.result is None else _figures(told.result, job.n),
        learned=[] if told.costs is None else who_learned_what(job, rounds=told.costs.rounds),
        lost=told.lost,
        findings=audit(summary, agreement),
        phases=() if told.costs is None else told.costs.phases,
        wall_seconds=None if told.costs is None else told.costs.wall_seconds,
    )
    return write_page(page, path)


def _figures(result: ToldResult, n: int) -> Figures:
    found = {name: tuple(clients) for name, clients in result.faults.model_dump().items()}
    return Figures(
        n_iter=result.n_iter,
        converged=result.converged,
        inertia=result.inertia,
        near_ties=result.near_ties,
        sizes=result.sizes,
        counts=result.counts,
        part=Faults(**found).parts(n),
        convergence=curve(result.history, x_label="iteration", y_label="inertia"),
    )
