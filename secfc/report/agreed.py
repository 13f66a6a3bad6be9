"""The page of a run of an agreed job, from its summary. It is the same for everyone who has summary and job.
Only a party's own copy also has its numbers of rows in each cluster, and the means that were opened to it.
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
    """Write the page of an agreed job's run: what all parties know about it, and whether its statements hold.

    The coordinator's part of the summary is not signed, and the page says so. `name` is the summary in
    errors. The agreement is the reader's own. With a site it is that site's copy: its own labels of the run,
    and the values opened to it, are read from its folder of results. An existing file is replaced, but only
    by a whole page.

    Raises
    ------
    ParameterError
        The summary cannot be one of this job, or the file cannot be written.
    AgreementError
        The site's party is not in the roster.
    DataError
        The site's files of the run cannot be used.
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
    """The site's own number of rows in each cluster, by its labels of the run."""
    if site is None or party is None:
        return None
    assert record.result is not None
    path, k = site.results / str(record.run) / LABELS, record.result.k
    counts, most = record.result.counts, sum(record.result.sizes)
    sizes: list[int] = []
    try:  # labels are the last column, after IDs or row numbers
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
    """The profile of what was opened to the site; None if nothing was."""
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
    """The values from `secfc.tables.write_centres`, shape (k, d). A cluster without rows may have NaN."""
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
