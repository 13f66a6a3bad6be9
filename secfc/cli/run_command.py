"""`secfc run`: reads files and writes a folder of labels and a summary, completely or not at all."""

from collections.abc import Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from secfc.api.options import Membership, RunOptions
from secfc.api.result import Result
from secfc.api.run import run_parties
from secfc.cli.command_options import Revealing, names_of
from secfc.cli.consent import comparing, revealing
from secfc.cli.inputs import label_names, members_of, tables_of
from secfc.cli.render import console, cost_table, faults_line, our_warnings, say, threshold_line
from secfc.errors import ParameterError
from secfc.field.array_types import Floats
from secfc.prepare.column_transform import Preparation
from secfc.prepare.preparation_file import PREPARATION, read_mended, write_mended, write_preparation
from secfc.protocol.job.job_options import as_options
from secfc.protocol.job.options import choices_of, options_of
from secfc.tables.number_texts import number_text, starts_text
from secfc.tables.outputs import check_new_folder, check_report, whole_folder, write_json
from secfc.tables.reading import (
    Table,
    party_names,
    read_table,
    row_ids,
    row_weights,
    write_centres,
    write_labels,
)
from secfc.tables.sources.own_form import Input
from secfc.version import versions

SUMMARY, CENTRES, SPREADS, PAGE = "summary.json", "centres.csv", "spreads.csv", "report.html"
TABLE = "table1.csv"


def run_files(
    files: list[Input], k: int, options: Revealing, *, out: Path, report: Path | None
) -> dict[str, Any]:
    """Run and write the results; return the summary. After a SecFCError `out` is unchanged."""
    check_new_folder("--out", out)
    check_report(report)
    options.check()
    names, called = party_names(files), list(map(str, files))
    opened = revealing(options, names) | comparing(options, names)
    preparation = options.preparation
    mended = {} if options.prepared is None else read_mended(options.prepared.parent, names)
    described = names_of(options.described)
    tables = tables_of(files, options, weight_column=options.weight_column, describe=described)
    with our_warnings():
        ids = Membership(row_ids(tables), cap=options.ids_cap) if options.membership else None
        init = _start(options.init, tables[0].columns, preparation)
        weights = row_weights(tables)
        opened["describe"] = [table.described for table in tables] if described else None
        given = options.options(ids=ids, init=init, sample_weight=weights, **opened)
        result = run_parties(members_of(tables), given, k=k, t=options.t, ell=options.ell)
    summary, rows = _summary(options, tables, result), [table.rows for table in tables]
    centres, spreads = result.cluster_centers, result.cluster_std
    if preparation is not None:
        centres = None if centres is None else preparation.restore(centres)
        spreads = None if spreads is None else preparation.restore_spreads(spreads)
    with whole_folder("--out", out) as folder:
        for table, name, labels in zip(tables, label_names(files), result.labels, strict=True):
            write_labels(folder / name, table, labels)
        if result.table is not None:
            result.table.to_csv(folder / TABLE)
        for name in _recipients(files, result):
            for kind, opened_values in ((CENTRES, centres), (SPREADS, spreads)):
                if opened_values is not None:
                    write_centres(folder / f"{name}.{kind}", tables[0].columns, opened_values)
            if report is not None:
                own = folder / f"{name}.{PAGE}"
                party = names.index(name)
                result.report(own, names=called, columns=preparation, party=party, pooled=rows, mended=mended)
        if preparation is not None:
            write_preparation(folder / PREPARATION, preparation)
        for name, counts in mended.items():
            write_mended(folder, name, counts)
        write_json(folder / SUMMARY, summary)
    if report is not None:
        pooled = rows if find_spec("sklearn") else None
        result.report(report, names=called, columns=preparation, pooled=pooled, mended=mended)
    if not options.quiet:
        _show(result, files, out)
    return summary


def _start(init: str, columns: Sequence[str], preparation: Preparation | None) -> str | Floats:
    """The name of a start, or the centres in a file, in the data's units, with columns matched by name."""
    names = choices_of(options_of(RunOptions)["init"][0])
    if init in names:
        return init
    if not Path(init).is_file():
        raise ParameterError(f"--init: {', '.join(names)} or a file is possible; {init!r} is no file")
    centres = read_table(Path(init), columns=columns).rows
    return centres if preparation is None else preparation.scale(centres)


def _recipients(files: list[Input], result: Result) -> list[str]:
    """The parties that received the centres; a party that vanished did not."""
    if result.cluster_centers is None:
        return []
    names = party_names(files)
    return [names[client - 1] for client in result.job.opened.to if client not in result.faults.gone]


def _summary(options: Revealing, tables: list[Table], result: Result) -> dict[str, Any]:
    job = result.job
    return {
        "run": result.run_id,
        "parameters": as_options(job) | {"driver": options.driver},
        "threshold": {
            "answers_needed": job.threshold,
            "clients": job.n,
            "inequality": f"n >= 2(ell + t) - 1: {job.n} >= 2({job.ell} + {job.t}) - 1 = {job.threshold}",
        },
        "columns": tables[0].columns,
        "id": options.id_column,
        "weight": options.weight_column,
        "parties": [
            {"file": str(table.path), "rows": table.rows.shape[0], "labels": name}
            for table, name in zip(tables, label_names([table.path for table in tables]), strict=True)
        ],
        "result": {
            "n_iter": result.n_iter,
            "converged": result.converged,
            "inertia": result.inertia,
            "sizes": result.sizes.tolist(),
            "history": result.history.tolist(),
            "near_ties": result.near_ties,
            "equal_starts": result.equal_starts,
            "near_starts": result.near_starts,
            "faults": asdict(result.faults),
        },
        "costs": result.costs.to_dict(),
        "versions": versions("numpy", "cryptography", "pyarrow"),
    }


def _show(result: Result, files: list[Input], out_folder: Path) -> None:
    out = console()
    out.print(threshold_line(result.job))
    end = "converged" if result.converged else "stopped at max_iter"
    inertia = "not opened" if result.inertia is None else number_text(result.inertia, 6)
    out.print(
        f"{end} after {result.n_iter} iterations, inertia {inertia}, "
        f"cluster sizes {', '.join(map(str, result.sizes.tolist()))}"
    )
    if result.equal_starts is not None and result.near_starts is not None:
        out.print(starts_text(result.job.method.n_init, result.equal_starts, result.near_starts))
    faults_line(out, result.faults, result.job, list(map(str, files)))
    told = _recipients(files, result)
    if told:
        what = "centres" if result.cluster_std is None else "centres and standard deviations"
        say(f"{what} opened to {', '.join(told)}")
    described = result.job.opened.described
    if result.table is not None and described is not None:
        out.print(str(result.table), markup=False)
        if result.table.sizes is None or result.table.too_few:
            few = f"fewer than {result.job.t + 2} parties have {described.smallest} of its values"
            say(f'"too few": a column is not opened if in a cluster {few}, or one has some, but fewer')
    out.print(cost_table(result.costs, result.job))
    out.print(f"{result.costs.wall_seconds:.2f} s in all; results in {out_folder}")
