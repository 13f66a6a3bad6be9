"""`secfc report`: makes the page of a run again from the folder that `secfc run` wrote."""

from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np

from secfc.api.result import Result
from secfc.cli.render import say
from secfc.cli.run_command import CENTRES, SPREADS, SUMMARY, TABLE
from secfc.cli.run_folder import Summary, read_run
from secfc.drivers.costs import Costs
from secfc.errors import DataError, ParameterError
from secfc.field.array_types import Floats
from secfc.kmeans.sets import set_sizes
from secfc.prepare.by_cluster import read_lines
from secfc.prepare.column_transform import Preparation
from secfc.prepare.preparation_file import PREPARATION, read_mended, read_preparation
from secfc.protocol.job.job import Job
from secfc.report.agreed_page import read_means, read_own_labels
from secfc.report.coordinator_schema import EndSchema
from secfc.report.html import VERSIONS, page_of, write_page
from secfc.tables.outputs import check_report

_LABELS = ".labels.csv"


def report_folder(
    folder: Path, out: Path, *, party: str | None, order: str | None, names: str | None
) -> None:
    """Write the page. It has everything that the run's page had but what needs rows or distances."""
    check_report(out)
    told, job = read_run(folder)
    called = [Path(one.labels).name.removesuffix(_LABELS) for one in told.parties]
    if party is not None and party not in called:
        raise ParameterError(f"--party: {party!r} is not one of {', '.join(called)}")
    path = folder / PREPARATION
    preparation = read_preparation(path) if path.is_file() else None
    result = _result(folder, told, job, called, preparation)
    if order is not None:
        result = result.ordered(order)
    if names is not None:
        result = result.named([one.strip() for one in names.split(",")])
    page = page_of(
        result,
        names=[one.file for one in told.parties],
        columns=preparation,
        party=None if party is None else called.index(party),
        mended=read_mended(folder, called),
        versions={name: told.versions[name] for name in VERSIONS if name in told.versions},
    )
    lines, figures = read_lines(folder / TABLE), page.figures
    if lines and figures is not None:
        table = _renumbered(lines, result, name=str(folder / TABLE))
        page = replace(page, figures=replace(figures, table=table))
    say(f"{write_page(page, out)}: written")


def _renumbered(lines: list[list[str]], result: Result, *, name: str) -> list[list[str]]:
    """A table with columns for the run's clusters in the order and with the names of a result."""
    k = result.job.k
    head, order = lines[0], result.cluster_order or range(k)
    places = {new: head.index(f"cluster {old}") for new, old in enumerate(order) if f"cluster {old}" in head}
    if not len(places) == len(head) - 2 == np.count_nonzero(result.sizes):
        raise DataError(f"{name}: not of {k} clusters")
    titles = result.cluster_names or [f"cluster {h}" for h in range(k)]
    moved = [[line[0], *(line[at] for at in places.values()), line[-1]] for line in lines[1:]]
    return [[head[0], *(titles[h] for h in places), head[-1]], *moved]


def _result(
    folder: Path, told: Summary, job: Job, called: list[str], preparation: Preparation | None
) -> Result:
    """The result as far as the folder has it, with means as they were clustered."""
    labels = [  # no path leads out of the folder
        read_own_labels(
            folder / Path(one.labels).name, job.k, least=-1, rows=one.rows, whose=f"{one.rows} rows"
        )
        for one in told.parties
    ]
    sizes = told.result.sizes
    if set_sizes(np.concatenate(labels), job.k).tolist() != sizes:
        raise DataError(f"{folder}: its labels are not those of {SUMMARY}")
    opened: dict[str, Floats | None] = {CENTRES: None, SPREADS: None}
    for kind, change in ((CENTRES, "scale"), (SPREADS, "scale_spreads")):
        back = None if preparation is None else getattr(preparation, change)
        for path in [folder / f"{called[client - 1]}.{kind}" for client in job.opened.to]:
            if opened[kind] is None and path.is_file():  # all that received it have the same
                opened[kind] = read_means(path, sizes, job.d, back)
    ended = {name: getattr(told.result, name) for name in EndSchema.model_fields}
    ended |= {"faults": told.result.faults.faults(), "history": np.array(told.result.history)}
    return Result(
        **ended,
        labels=labels,
        sizes=np.array(sizes),
        start=[np.full_like(own, -1) for own in labels],
        cluster_centers=opened[CENTRES],
        cluster_std=opened[SPREADS],
        costs=cast(Costs, told.costs),  # it has all that a page shows
        columns=tuple(told.columns),
        job=job,
        run_id=told.run,
    )
