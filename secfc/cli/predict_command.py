"""`secfc predict`: reads a run's folder, its files and new rows, and writes a folder of labels."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from secfc.api.predict import Prediction, predict_members
from secfc.cli.command_options import Predicting
from secfc.cli.consent import positions
from secfc.cli.inputs import label_names, members_of, say_how_written
from secfc.cli.render import console, cost_table, faults_line, our_warnings, say, threshold_line
from secfc.cli.run_command import SUMMARY
from secfc.cli.run_folder import read_run
from secfc.errors import ParameterError
from secfc.protocol.job.cases import Union
from secfc.protocol.job.job_options import as_options
from secfc.protocol.job.options import Agreed, options_of
from secfc.sharing.row_checks import largest_norm
from secfc.tables.outputs import check_new_folder, whole_folder, write_json
from secfc.tables.reading import party_names, read_labels, read_table, read_tables, row_weights, write_labels
from secfc.tables.site_rows import given_input
from secfc.tables.sources.own_form import Input
from secfc.tables.sources.text_format import TextFormat


def predict_files(
    files: list[Input],
    run: Path,
    new: Sequence[str],
    consent: str | None,
    options: Predicting,
    *,
    out: Path,
) -> dict[str, Any]:
    """Predict and write the labels of new rows; return the summary. After a SecFCError `out` is unchanged."""
    check_new_folder("--out", out)
    options.check_prepared(bound=options.bound)
    try:
        before, of_run = read_run(run)
    except ParameterError as error:
        raise ParameterError(f"--run: {error}") from None
    if isinstance(of_run.rows, Union):
        raise ParameterError(
            "--run: not possible after a run with --membership, because a prediction discloses how many "
            "rows each party has"
        )
    preparation = options.preparation
    if preparation is not None and list(preparation.names) != before.columns:
        raise ParameterError(
            f"--prepared: the columns of {options.prepared} are not those of the run in {run}"
        )
    names = party_names(files)
    if len(names) != of_run.n:
        raise ParameterError(f"FILES: {len(names)} parties, the run in {run} had {of_run.n}")
    paths = _new_files(new, names, options.text_format)
    limits = [options.refusals()] * len(names)
    for at in () if consent is None else positions("--consent", consent, names):
        limits[at] = replace(limits[at], predict=True)
    tables = read_tables(files, columns=before.columns, id_column=before.id, weight_column=before.weight)
    labels = [read_labels(run / name, one) for name, one in zip(label_names(files), tables, strict=True)]
    added = {at: read_table(path, columns=before.columns, id_column=before.id) for at, path in paths.items()}
    say_how_written([*tables, *added.values()], quiet=options.quiet)
    members = members_of(tables)
    new_rows = [replace(one, rows=one.rows[:0]) for one in members]
    for at, one in zip(added, members_of(list(added.values())), strict=True):
        new_rows[at] = one
    bound = options.bound if preparation is None else preparation.bound
    if bound is None and all(largest_norm(one.rows, name=one.name) <= of_run.bound for one in new_rows):
        bound = of_run.bound  # so the server learns no new distance of old rows
    more = {"limits": limits, "bound": bound, "sample_weight": row_weights(tables)}
    more |= {name: as_options(of_run)[name] for name in options_of(Agreed)}
    asked = options.options(**more)
    with our_warnings():
        prediction = predict_members(members, new_rows, labels, asked, k=of_run.k, t=of_run.t, ell=of_run.ell)
    written = {at: label_names(files)[at] for at in added}
    summary = {
        "run": prediction.run_id,
        "of": before.run,
        "parameters": as_options(prediction.job) | {"driver": options.driver},
        "parties": [
            {"file": str(table.path), "rows": table.rows.shape[0], "labels": written[at]}
            for at, table in added.items()
        ],
        "result": {"near_ties": prediction.near_ties, "faults": asdict(prediction.faults)},
        "costs": prediction.costs.to_dict(),
    }
    with whole_folder("--out", out) as folder:
        for at, table in added.items():
            write_labels(folder / written[at], table, prediction.labels[at])
        write_json(folder / SUMMARY, summary)
    if not options.quiet:
        _show(prediction, [one.name for one in members], [str(out / name) for name in written.values()])
    return summary


def _new_files(new: Sequence[str], names: Sequence[str], given: TextFormat) -> dict[int, Input]:
    """The files of new rows, by the position of their party."""
    paths: dict[int, Input] = {}
    for text in new:
        name, separator, path = text.partition("=")
        if not separator or name not in names:
            raise ParameterError(f"--new: {text!r}: NAME=FILE is needed, NAME of {', '.join(names)}")
        at = names.index(name)
        if at in paths:
            raise ParameterError(f"--new: {name!r} is given twice; put its rows in one file")
        paths[at] = given_input(Path(path), given)
    return dict(sorted(paths.items()))


def _show(prediction: Prediction, names: list[str], written: list[str]) -> None:
    out = console()
    out.print(threshold_line(prediction.job))
    faults_line(out, prediction.faults, prediction.job, names)
    out.print(cost_table(prediction.costs, prediction.job))
    rows = sum(len(labels) for labels in prediction.labels)
    say(f"{rows} new rows in {prediction.costs.wall_seconds:.2f} s; labels in {', '.join(written)}")
