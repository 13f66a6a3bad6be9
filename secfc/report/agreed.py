"""The page of a run of an agreed job, from its summary: the same for whoever has summary and job, but for a
party's own copy, which has how its own rows fall into the clusters, and means that were opened to it.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from secfc.agreement.audit import audit
from secfc.agreement.job_file import Agreement
from secfc.agreement.site_file import Site
from secfc.agreement.statement import Summary
from secfc.array_types import Floats
from secfc.drivers.participant import CENTRES, LABELS, SPREADS
from secfc.errors import AgreementError, DataError, ParameterError
from secfc.kmeans.sets import set_sizes
from secfc.outputs import NO_PAGE
from secfc.params import Job
from secfc.prepare.summary import SUMMARY as PREPARATION
from secfc.prepare.summary import read_summary as read_preparation
from secfc.prepare.transform import Preparation
from secfc.public_errors import COMPLETE
from secfc.report.coordinator_schema import CoordinatorSchema, ResultSchema, check_coordinator
from secfc.report.html import Figures, Page, write_page
from secfc.report.learned import who_learned_what
from secfc.report.profiles import Profile, profile
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
    The agreement is the reader's own. With a site it is that site's copy: its own labels of the run, and what
    was opened to it, are read from its folder of results. The page is written whole or not at all, over a
    file there.

    Raises
    ------
    ParameterError
        When the summary cannot be one of this job, or the file cannot be written.
    AgreementError
        When the site's party is not in the roster.
    DataError
        When the site's files of the run cannot be used.
    """
    if agreement.owners is not None:
        raise ParameterError(NO_PAGE)
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
        else _figures(
            record.result,
            job,
            [_own_sizes(record, job, site, party) if j == party else None for j in range(job.n)],
            _own_profile(record, agreement, site),
        ),
        learned=[]
        if record.costs is None
        else who_learned_what(job, record.costs.rounds, agreement.opened, names=agreement.consortium.names),
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


def _own_profile(record: CoordinatorSchema, agreement: Agreement, site: Site | None) -> Profile | None:
    """What was opened to the site; None where nothing was."""
    result = record.result
    assert result is not None
    folder = None if site is None else site.results / str(record.run)
    if folder is None or not (folder / CENTRES).is_file():
        return None
    columns: Sequence[str] | Preparation = list(agreement.columns)
    if agreement.preparation is not None:
        columns = read_preparation(folder / PREPARATION)
        if columns.schema != agreement.preparation:
            raise DataError(f"{folder / PREPARATION}: not of the job's schema")
    opened = [
        _means(folder / name, result.sizes, agreement.job.d) if (folder / name).is_file() else None
        for name in (CENTRES, SPREADS)
    ]
    assert opened[0] is not None
    return profile(opened[0], opened[1], np.array(result.sizes), inertia=result.inertia, columns=columns)


def _means(path: Path, sizes: list[int], d: int) -> Floats:
    """What `secfc.tables.write_centres` wrote, shape (k, d); NaN is possible for a cluster without rows."""
    table = load_table(path)
    numbers = [column.to_numpy() for column in table.columns[1:]]
    if len(numbers) != d or any(len(one) != len(sizes) or one.dtype.kind not in "if" for one in numbers):
        raise DataError(f"{path}: not {len(sizes)} clusters of {d} columns of numbers")
    means = np.stack(numbers, axis=1).astype(np.float64)
    if not np.isfinite(means[np.array(sizes) > 0]).all():
        raise DataError(f"{path}: a number is missing")
    return means


def _figures(
    result: ResultSchema, job: Job, by_party: list[list[int] | None], opened: Profile | None
) -> Figures:
    return Figures(
        n_iter=result.n_iter,
        converged=result.converged,
        inertia=result.inertia,
        near_ties=result.near_ties,
        sizes=result.sizes,
        counts=result.counts,
        part=result.faults.faults().parts(job.n),
        by_party=by_party,
        history=result.history,
        profile=opened,
        compared=result.compared,
    )
