"""The page of a run of an agreed job, from its summary: the same for whoever has summary and job, but for a
party's own copy, which has how its own rows fall into the clusters.
"""

import os
from pathlib import Path

import numpy as np

from secfc.agreement.audit import audit
from secfc.agreement.job_file import Agreement
from secfc.agreement.site_file import Site
from secfc.agreement.statement import Summary
from secfc.drivers.participant import LABELS
from secfc.errors import AgreementError, DataError
from secfc.kmeans.sets import set_sizes
from secfc.params import Job
from secfc.public_errors import COMPLETE
from secfc.report.coordinator_schema import CoordinatorSchema, ResultSchema, check_coordinator
from secfc.report.html import Figures, Page, convergence, write_page
from secfc.report.learned import who_learned_what
from secfc.tables import load_table


def write_agreed_report(
    summary: Summary,
    agreement: Agreement,
    path: str | os.PathLike[str],
    *,
    name: str,
    site: Site | None = None,
) -> Path:
    """Write the page of an agreed job's run: what all parties know of it, and whether its statements hold.

    What the coordinator tells in the summary, which errors call `name`, is not signed, and the page says so.
    The agreement is the reader's own. With a site it is that site's copy: its own labels of the run are read
    from its folder of results. The page is written whole or not at all, over a file there.

    Raises
    ------
    ParameterError
        When the summary cannot be one of this job, or the file cannot be written.
    AgreementError
        When the site's party is not in the roster.
    DataError
        When the site's labels cannot be used.
    """
    record, job = check_coordinator(summary.coordinator, agreement, name=name), agreement.job
    if site is not None and site.party not in agreement.names:
        raise AgreementError(f"{site.path}: {site.party!r} is not in the roster")
    party = None if site is None or agreement.helps(site.party) else agreement.names.index(site.party)
    runs = {one.statement.run for one in summary.statements}
    page = Page(
        job=job,
        run=record.run or (runs.pop() if len(runs) == 1 else "unknown"),
        names=list(agreement.consortium.names[: job.n]),
        title=agreement.title,
        ended=None if record.ended == COMPLETE else record.ended,
        party=party,
        figures=None
        if record.result is None
        else _figures(record.result, job, _own_sizes(record, job, site, party)),
        learned=[] if record.costs is None else who_learned_what(job, record.costs.rounds, agreement.opened),
        lost=record.lost,
        findings=audit(summary, agreement),
        phases=() if record.costs is None else record.costs.phases,
        wall_seconds=None if record.costs is None else record.costs.wall_seconds,
    )
    return write_page(page, path)


def _own_sizes(record: CoordinatorSchema, job: Job, site: Site | None, party: int | None) -> list[int] | None:
    """Rows of each cluster of the site's own, by the labels that it has of the run."""
    if site is None or party is None:
        return None
    assert record.result is not None
    path, k = site.results / str(record.run) / LABELS, record.result.k
    counts, most = record.result.counts, sum(record.result.sizes)
    sizes: list[int] = []
    try:  # a site without IDs has row numbers there; labels are the last column
        labels = load_table(path).columns[-1].to_numpy()
        if labels.dtype.kind == "i" or not labels.size:  # without rows there are no types
            sizes = set_sizes(labels.astype(np.int64), k).tolist()
    except (ValueError, IndexError):
        pass  # refused below
    rows = sum(sizes)
    if len(sizes) != k or (rows > most if counts is None else rows != counts[party]):
        held = "rows" if counts is None else f"{counts[party]} rows"
        raise DataError(f"{path}: not the labels of the {held} of {site.party}")
    return sizes


def _figures(result: ResultSchema, job: Job, own: list[int] | None) -> Figures:
    return Figures(
        n_iter=result.n_iter,
        converged=result.converged,
        inertia=result.inertia,
        near_ties=result.near_ties,
        sizes=result.sizes,
        counts=result.counts,
        part=result.faults.faults().parts(job.n),
        own=own,
        compared=result.compared,
        convergence=convergence(result.history),
    )
