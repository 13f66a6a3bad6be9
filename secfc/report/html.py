"""The report of a run as one HTML page that loads no other files, and the table for notebooks."""

import html
import os
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from secfc.drivers.outcome import Outcome
from secfc.errors import ParameterError, missing
from secfc.kmeans.consensus import Stable
from secfc.kmeans.sets import set_sizes, unreadable
from secfc.prepare.column_transform import Preparation
from secfc.protocol.job.cases import Deposited, Predict, Union
from secfc.protocol.job.job import Job
from secfc.report.compared import recommended, stable_lines, table
from secfc.report.fault_texts import described_faults, texts_of
from secfc.report.fit import Fit, fit_of, fit_of_all
from secfc.report.learned import Learned, who_learned_what
from secfc.report.notes import notes
from secfc.report.pooled import PooledComparison, compare_with_pooled, rows_of_run
from secfc.report.prepared import PreparedColumn, prepared_columns
from secfc.report.profiles import Profile, columns_of, profile
from secfc.tables.number_texts import bytes_text, number_text, starts_text
from secfc.tables.outputs import NO_PAGE, replace_text
from secfc.version import versions

if TYPE_CHECKING:
    from secfc.agreement.audit import Finding


VERSIONS = versions("numpy")
"""What a result of this process is computed by."""

_SAME = "n_iter", "converged", "inertia", "near_ties", "equal_starts", "near_starts"


@dataclass(frozen=True, kw_only=True)
class Figures:
    """The figures of a run with a result, of k clusters. `n_iter` to `near_starts` are as in `secfc.Result`.

    `rows` are those of all parties, None where it is not told. `sizes` are rows of each cluster, None where
    no party knows them; `by_party` those of each party, None where a reader may not know them; `counts` are
    rows of each party, None with membership privacy. `part` tells of each party, helpers last, what it failed
    to do. `history` is the inertia of each iteration, where it is known. `profile` is in the copy of a party
    that clusters were revealed to. `fit` is that of all rows in the server's copy, and of the party's own
    rows beside a profile; [] where they are not at hand. `titles` are the names of clusters, or numbers.
    """

    k: int
    n_iter: int
    converged: bool
    inertia: float | None
    near_ties: int | None
    equal_starts: int | None
    near_starts: int | None
    rows: int | None
    sizes: list[int] | None
    counts: list[int] | None
    part: list[str]
    by_party: list[list[int] | None]
    history: list[float]
    titles: Sequence[str]
    named: bool = False
    profile: Profile | None = None
    fit: list[Fit] = field(default_factory=list)
    compared: list[Any] = field(default_factory=list)  # with the attributes of `secfc.api.choose_k.Candidate`
    stability: Sequence[Stable] = ()  # of each k, in a client's copy
    unreadable: list[str] = field(default_factory=list)  # what a party is told of its labels that are -1
    table: list[list[str]] = field(default_factory=list)  # of described columns, as `Table1.lines`


@dataclass(frozen=True, kw_only=True)
class Page:
    """The contents of a page, from a result or from a summary.

    `run` is the run's identifier, `names` are of the parties, helpers last, `phases` have `PhaseCost`'s
    attributes. A run without a result has no `figures`, and `ended` tells how it ended; an agreed job has a
    `title`. `columns` are names, () where there are none. `party` is whose copy it is, `lost` are parties
    that were lost and why, `findings` are what an audit of the summary found.
    """

    job: Job
    run: str
    names: Sequence[str]
    figures: Figures | None
    learned: list[Learned]
    phases: Sequence[Any]
    wall_seconds: float | None
    columns: Sequence[str] = ()
    title: str | None = None
    ended: str | None = None
    party: int | None = None
    comparison: PooledComparison | None = None
    lost: dict[str, str] = field(default_factory=dict)
    findings: list["Finding"] | None = None
    prepared: Sequence[PreparedColumn] = ()
    versions: Mapping[str, str] = field(default_factory=lambda: VERSIONS)

    @property
    def notes(self) -> list[str]:
        """What to look at first."""
        f = self.figures
        if f is None:
            return []
        stopped_at = None if f.converged or isinstance(self.job.method, Predict) else f.n_iter
        return f.unreadable + notes(
            sizes=f.sizes,
            by_party=f.by_party,
            names=self.names[: self.job.n],
            titles=f.titles,
            stopped_at=stopped_at,
        )


def write_page(page: Page, path: str | os.PathLike[str]) -> Path:
    """Write a whole page in place of any existing file; ParameterError if that is not possible."""
    target = Path(path)
    replace_text(target, render(page))
    return target


def page_of(
    result: Outcome,
    *,
    names: Sequence[str] | None = None,
    columns: Sequence[str] | Preparation | None = None,
    party: int | None = None,
    pooled: Sequence[Any] | None = None,
    mended: Mapping[str, Mapping[str, Any]] | None = None,
    versions: Mapping[str, str] = VERSIONS,
) -> Page:
    """The contents of the page of a result, with the `versions` that it was computed by."""
    job = result.job
    if isinstance(job.rows, Deposited):
        raise ParameterError(NO_PAGE)
    if names is not None and len(names) != job.n:
        raise ParameterError(f"names: {len(names)} names of {job.n} parties")
    shown = _named(job, result.parties or None if names is None else names)
    columns = result.columns if columns is None else columns
    if party is not None and (isinstance(party, bool) or party not in range(job.n)):
        raise ParameterError(f"party: a number from 0 to {job.n - 1} is needed")
    centres = None
    fit: list[Fit] = []
    if party is not None and party + 1 in set(job.opened.to) - result.faults.gone:
        centres = result.cluster_centers
    if party is not None and centres is not None and pooled is not None:
        fit = fit_of(rows_of_run(result, pooled)[party], np.asarray(result.labels[party]), centres)
    if party is None and result.cluster_spreads.size:
        fit = fit_of_all(result)
    own_only = job.own_labels and party is not None  # a party knows no labels but its own
    unknown = own_only and (centres is None or job.rows.weighted)  # sizes of clusters are opened with centres
    if unknown and result.cluster_order:
        raise ParameterError(
            f"party: {shown[party or 0]} may not know by what clusters were ordered; report the run's result"
        )
    return Page(
        job=job,
        run=result.run_id,
        names=shown,
        party=party,
        figures=Figures(
            **{name: getattr(result, name) for name in _SAME},
            k=job.k,
            rows=int(result.sizes.sum()),
            sizes=None if unknown else result.sizes.tolist(),
            counts=None if isinstance(job.rows, Union) else [len(labels) for labels in result.labels],
            part=texts_of(result.faults, job),
            unreadable=[
                f"{shown[j]}: {told}."
                for j, labels in enumerate(map(np.asarray, result.labels))
                if party in (None, j) and j + 1 not in result.faults.gone and (told := unreadable(labels))
            ],
            by_party=[
                set_sizes(own[own >= 0], job.k).tolist()
                if not (own_only or isinstance(job.rows, Union)) or j == party
                else None
                for j, own in enumerate(map(np.asarray, result.labels))
            ],
            history=result.history.tolist(),
            titles=result.cluster_titles,
            named=bool(result.cluster_names),
            profile=None
            if centres is None
            else profile(
                centres,
                result.cluster_std,
                result.sizes,
                inertia=result.inertia,
                columns=columns,
            ),
            fit=fit,
            table=[] if result.table is None else result.table.lines(),
        ),
        learned=who_learned_what(job, rounds=result.costs.rounds, names=shown),
        comparison=compare_with_pooled(result, pooled) if pooled is not None and party is None else None,
        phases=result.costs.phases,
        wall_seconds=result.costs.wall_seconds,
        columns=columns_of(columns),
        prepared=prepared_columns(columns.schema, columns.statistics, mended or {})
        if isinstance(columns, Preparation)
        else (),
        versions=versions,
    )


def _named(job: Job, names: Sequence[str] | None = None) -> tuple[str, ...]:
    """Names of all parties, where none or those of the clients are given."""
    word = "member" if isinstance(job.rows, Deposited) else "party"
    return job.names_of([f"{word} {j}" for j in range(1, job.n + 1)] if names is None else list(names))


def render(page: Page) -> str:
    """The page as text; ParameterError if Jinja is not installed."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing("Jinja", "a report", "report") from None

    environment = Environment(
        loader=PackageLoader("secfc.report", ""), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters["number"] = number_text
    return environment.get_template("page.html.j2").render(
        vars(page),
        notes=page.notes,
        starts=page.figures and _starts(page.job, page.figures),
        pictures={} if page.figures is None else _pictures(page.figures),
        predicts=isinstance(page.job.method, Predict),
        when=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        bytes_text=bytes_text,
        of_several=table,
        of_stability=stable_lines,
        recommended=recommended,
    )


_DRAWN = 40
"""Columns in a picture of profiles: it grows by one line for each, and is in the page."""


def _pictures(figures: Figures) -> dict[str, str] | None:
    """The pictures for papers as data URLs, by name; None without matplotlib."""
    try:
        from secfc.report.plots import plot_profiles, plot_sizes, plot_stability  # noqa: PLC0415 - an extra
    except ParameterError:
        return None
    drawn, one_k = dict[str, Any](), len(figures.stability) == 1
    if figures.sizes is not None:
        drawn["Clusters"] = plot_sizes(np.array(figures.sizes), figures.titles)
    if figures.profile is not None:
        first = replace(figures.profile, columns=figures.profile.columns[:_DRAWN])
        of = "" if first == figures.profile else f" of the {_DRAWN} columns that differ most"
        drawn[f"Profiles{of}"] = plot_profiles(first, figures.titles)
    if figures.stability:
        drawn["Stability"] = plot_stability(figures.stability, figures.titles if one_k else None)
    return {
        name: f"data:image/png;base64,{b64encode(picture._repr_png_()).decode()}"
        for name, picture in drawn.items()
    }


def _starts(job: Job, figures: Figures | Outcome) -> str | None:
    """How many starts are about as good as the best; None where that is not known."""
    equal, near = figures.equal_starts, figures.near_starts
    return None if equal is None or near is None else starts_text(job.method.n_init, equal, near)


def summary_table(result: Outcome) -> str:
    """The table of a result in a notebook."""
    job, end = result.job, "converged" if result.converged else "not converged"
    faults = described_faults(result.faults, job, _named(job))
    sizes = ", ".join(map(str, result.sizes.tolist()[:20])) + (", …" if job.k > 20 else "")
    starts = _starts(job, result)
    lines = (
        ("parties", f"{job.n}, of which {job.t} may collude; a round needs {job.threshold} answers"),
        ("rows", f"{int(result.sizes.sum())} of {job.d} columns"),
        ("clusters", f"{job.k} of {sizes} rows"),
        ("iterations", f"{result.n_iter}, {end}"),
        *([("faults", faults)] if faults else []),
        *([] if starts is None else [("starts", starts)]),
        ("inertia", "not opened" if result.inertia is None else number_text(result.inertia, 6)),
        (
            "costs",
            f"{bytes_text(sum(phase.sent_bytes for phase in result.costs.phases))} in "
            f"{len(result.costs.messages)} messages, {number_text(result.costs.wall_seconds, 3)} s",
        ),
        ("run", result.run_id),
    )
    body = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
        f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
        for name, text in lines
    )
    return f"<table><caption>secfc: k-means without pooling</caption><tbody>{body}</tbody></table>"
