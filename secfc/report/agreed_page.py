"""The page of a run of an agreed job, from its summary: the same for whoever has summary and job, but for a
party's own copy, which has means that were opened to it, how well its own rows fit them and, with membership
privacy, how its own rows fall into the clusters.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from secfc.agreement.audit import audit
from secfc.agreement.job_file import Agreement
from secfc.agreement.public_errors import COMPLETE
from secfc.agreement.rows import SiteRows, read_rows
from secfc.agreement.site_file import Site
from secfc.agreement.statement import Summary
from secfc.drivers.sites.participant import CENTRES, LABELS, SIZES, SPREADS, STABILITY, TABLE
from secfc.errors import AgreementError, DataError, ParameterError, SecFCError
from secfc.field.array_types import Floats, Labels
from secfc.kmeans.consensus import Resampled, Stable
from secfc.kmeans.sets import set_sizes, unreadable
from secfc.prepare.by_cluster import read_lines
from secfc.prepare.column_transform import Preparation
from secfc.prepare.preparation_file import PREPARATION, read_preparation
from secfc.protocol.job.job import Job
from secfc.protocol.job.options import shared
from secfc.report.compared import stable_lines
from secfc.report.coordinator_schema import CoordinatorSchema, ResultSchema, check_coordinator
from secfc.report.fault_texts import texts_of
from secfc.report.fit import Fit, fit_of
from secfc.report.html import Figures, Page, write_page
from secfc.report.learned import who_learned_what
from secfc.report.prepared import prepared_columns
from secfc.report.profiles import profile
from secfc.tables.outputs import NO_PAGE
from secfc.tables.reading import load_table
from secfc.tables.toml_file import read_json

Change = Callable[[Floats], Floats]


def write_agreed_report(
    summary: Summary,
    agreement: Agreement,
    path: str | os.PathLike[str],
    *,
    name: str,
    site: Site | None = None,
) -> Path:
    """Write the page of an agreed job's run: what all parties know about it, and whether its statements hold.

    What the coordinator tells in the summary, which errors call `name`, is not signed, and the page says so.
    With a site it is that site's copy: its own labels of the run, and what was opened to it, are read from
    its folder of results; and its rows once more, where centres were opened.
    """
    if agreement.owners is not None:
        raise ParameterError(NO_PAGE)
    record, job = check_coordinator(summary.coordinator, agreement, name=name), agreement.job
    if site is not None and site.party not in agreement.names:
        raise AgreementError(f"{site.path}: {site.party!r} is not in the roster")
    party = None if site is None or agreement.helps(site.party) else agreement.names.index(site.party)
    labels = preparation = own = None
    fit: list[Fit] = []
    if site is not None and party is not None and record.result is not None:
        labels = _own_labels(record, job, site, party)
        preparation = _preparation(record, agreement, site)
        own = _own_rows(agreement, site, preparation, labels)
    opened = _opened(record, job, site, preparation)
    if opened is not None and own is not None and labels is not None:
        fit = fit_of(own.table.rows, labels, opened.centres)
    mended = {} if site is None or own is None or own.mended is None else {site.party: own.mended}
    statistics = {} if preparation is None else preparation.statistics
    runs = {one.statement.run for one in summary.statements}
    page = Page(
        job=job,
        run=record.run or (runs.pop() if len(runs) == 1 else "unknown"),
        names=agreement.names,
        title=agreement.title,
        columns=list(agreement.columns),
        ended=None if record.ended == COMPLETE else record.ended,
        party=party,
        figures=None
        if record.result is None
        else _figures(
            record.result,
            _by_party(record.result, job, labels, party),
            opened,
            preparation or list(agreement.columns),
            job,
            fit,
            _unread(site, labels),
            _stability(record, site),
            [] if site is None else read_lines(site.results / str(record.run) / TABLE),
        ),
        learned=[]
        if record.costs is None
        else who_learned_what(job, record.costs.rounds, agreement.opened, names=agreement.names),
        lost=record.lost,
        findings=audit(summary, agreement),
        phases=() if record.costs is None else record.costs.phases,
        wall_seconds=None if record.costs is None else record.costs.wall_seconds,
        prepared=()
        if agreement.preparation is None
        else prepared_columns(agreement.preparation, statistics, mended),
        versions={"secfc": record.secfc},
    )
    return write_page(page, path)


def _by_party(
    result: ResultSchema, job: Job, labels: Labels | None, party: int | None
) -> list[list[int] | None]:
    """Rows of each cluster by party, as far as the reader may know them; its own are those of its labels."""
    found: list[list[int] | None] = [None] * job.n if result.by_party is None else [*result.by_party]
    if party is not None and labels is not None:
        found[party] = set_sizes(labels, result.k).tolist()
    return found


def _own_labels(record: CoordinatorSchema, job: Job, site: Site, party: int) -> Labels:
    """The labels that the site has of the run, shape (m_j,); their sizes are those that the record tells.

    Own labels that could not be read are -1.
    """
    result = record.result
    assert result is not None
    path, counts = site.results / str(record.run) / LABELS, result.counts
    whose = f"the {'rows' if counts is None else f'{counts[party]} rows'} of {site.party}"
    rows = None if counts is None or result.sizes is not None else counts[party]
    labels = read_own_labels(path, result.k, least=-1 if job.own_labels else 0, rows=rows, whose=whose)
    if result.sizes is not None:
        sizes = set_sizes(labels, result.k).tolist()
        wrong = sum(sizes) > sum(result.sizes) if result.by_party is None else sizes != result.by_party[party]
        if wrong:
            raise DataError(f"{path}: not the labels of {whose}")
    return labels


def read_own_labels(path: Path, k: int, *, least: int, rows: int | None, whose: str) -> Labels:
    """The labels that were written for a party's rows, `least` to k - 1; DataError for others."""
    labels: Labels | None = None
    try:  # a party without IDs has row numbers there; labels are the last column
        column = load_table(path).columns[-1].to_numpy()
        # Without rows there are no types.
        if not column.size or (column.dtype.kind == "i" and column.min() >= least and column.max() < k):
            labels = column.astype(np.int32)
    except (ValueError, IndexError):
        pass  # refused below
    if labels is None or rows not in (None, labels.size):
        raise DataError(f"{path}: not the labels of {whose}")
    return labels


def _preparation(record: CoordinatorSchema, agreement: Agreement, site: Site) -> Preparation | None:
    """What the site's folder of results has of the preparation; None if the job has none."""
    if agreement.preparation is None:
        return None
    path = site.results / str(record.run) / PREPARATION
    found = read_preparation(path)
    if found.schema != agreement.preparation:
        raise DataError(f"{path}: not of the job's schema")
    return found


@dataclass(frozen=True, kw_only=True)
class _Opened:
    """What was opened to a site, in the units of the rows that were clustered."""

    centres: Floats = field(repr=False)
    deviations: Floats | None = field(repr=False)
    sizes: list[int] = field(repr=False)


def _opened(
    record: CoordinatorSchema, job: Job, site: Site | None, preparation: Preparation | None
) -> _Opened | None:
    """What the site's folder of results has of it; None where nothing was."""
    result = record.result
    folder = None if site is None else site.results / str(record.run)
    if result is None or folder is None or not (folder / CENTRES).is_file():
        return None
    sizes = result.sizes or _sizes(folder / SIZES, result.k)
    centre = None if preparation is None else preparation.scale
    spread = None if preparation is None else preparation.scale_spreads
    spreads = folder / SPREADS
    return _Opened(
        centres=read_means(folder / CENTRES, sizes, job.d, centre),
        deviations=read_means(spreads, sizes, job.d, spread) if spreads.is_file() else None,
        sizes=sizes,
    )


def _own_rows(
    agreement: Agreement, site: Site, preparation: Preparation | None, labels: Labels
) -> SiteRows | None:
    """The site's rows as they are now, prepared; None where they are not those of the labels."""
    try:
        own = read_rows(site, agreement)
        own = own if preparation is None else own.prepared(preparation, name=site.party)
    except SecFCError:
        return None
    return own if len(own.table.rows) == len(labels) else None


def _stability(record: CoordinatorSchema, site: Site | None) -> Sequence[Stable]:
    """The stability of each k in the site's folder of results; () without resamples."""
    path = None if site is None else site.results / str(record.run) / STABILITY
    if path is None or not path.is_file():
        return ()
    try:
        found = Resampled.of(read_json(path)).stable
        stable_lines(found)  # else it cannot be shown
        return found
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError):
        raise DataError(f"{path}: no tables of resamples") from None


def _unread(site: Site | None, labels: Labels | None) -> list[str]:
    """What the site is told of its labels that are -1."""
    told = "" if labels is None else unreadable(labels)
    return [f"{site.party}: {told}."] if site is not None and told else []


def _sizes(path: Path, k: int) -> list[int]:
    column = load_table(path).columns[-1].to_numpy()
    if len(column) != k or column.dtype.kind != "i" or column.min() < 0 or not column.any():
        raise DataError(f"{path}: not the sizes of {k} clusters")
    return [int(one) for one in column]


def read_means(path: Path, sizes: list[int], d: int, prepared: Change | None) -> Floats:
    """What `write_centres` wrote, shape (k, d), in the units that `prepared` gives."""
    table = load_table(path)
    numbers = [column.to_numpy() for column in table.columns[1:]]
    if len(numbers) != d or any(len(one) != len(sizes) or one.dtype.kind not in "if" for one in numbers):
        raise DataError(f"{path}: not {len(sizes)} clusters of {d} columns of numbers")
    means = np.stack(numbers, axis=1).astype(np.float64)
    means = means if prepared is None else prepared(means)
    if not np.isfinite(means[np.array(sizes) > 0]).all():
        raise DataError(f"{path}: a number is missing")
    return means


def _figures(
    result: ResultSchema,
    by_party: list[list[int] | None],
    opened: _Opened | None,
    columns: list[str] | Preparation,
    job: Job,
    fit: list[Fit],
    unread: list[str],
    stability: Sequence[Stable],
    table: list[list[str]],
) -> Figures:
    told = result.sizes or result.counts
    known = {
        "rows": None if told is None else sum(told),
        "part": texts_of(result.faults.faults(), job),
        "by_party": by_party,
        "sizes": result.sizes if opened is None or job.rows.weighted else opened.sizes,
        "profile": None
        if opened is None
        else profile(
            opened.centres,
            opened.deviations,
            np.array(opened.sizes),
            inertia=result.inertia,
            columns=columns,
        ),
        "fit": fit,
        "unreadable": unread,
        "stability": stability,
        "table": table,
        "titles": list(map(str, range(result.k))),
    }
    return Figures(**shared(result, Figures) | known)
