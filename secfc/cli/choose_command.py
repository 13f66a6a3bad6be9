"""`secfc choose-k`: reads files and prints a table of numbers of clusters."""

import json
from pathlib import Path

from secfc.api.choose_k import choose_members
from secfc.api.options import Membership
from secfc.cli.command_options import Choosing
from secfc.cli.consent import comparing, consenting
from secfc.cli.inputs import members_of, tables_of
from secfc.cli.render import console, faults_line, log_file, our_warnings, say, threshold_line
from secfc.errors import ParameterError, missing
from secfc.tables.outputs import check_file
from secfc.tables.reading import party_names, row_ids
from secfc.tables.sources.own_form import Input


def print_choice(files: list[Input], ks: range, options: Choosing, *, plot: Path | None) -> None:
    """Compare and print; nothing is printed before a SecFCError is raised."""
    if plot is not None:
        _check_plot(plot)  # before minutes of work
    options.check()
    if not ks:
        raise ParameterError(f"--from: {ks.start} is above --to {ks.stop - 1}")
    names = party_names(files)
    opened = consenting(options, names) | comparing(options, names)
    tables = tables_of(files, options)
    with our_warnings(), log_file(options.log):
        ids = Membership(row_ids(tables), cap=options.ids_cap) if options.membership else None
        given = options.options(ids=ids, **opened)
        choice = choose_members(members_of(tables), given, ks=ks, t=options.t, ell=options.ell)
    if plot is not None:
        try:
            choice.plot(plot)
        except OSError as error:
            raise ParameterError(f"--plot: {plot} cannot be written ({error.strerror})") from None
    if options.as_json:
        print(json.dumps(choice.to_dict(), indent=2, allow_nan=False))
        return
    out = console()
    out.print(threshold_line(choice.job))
    faults_line(out, choice.faults, choice.job, list(map(str, files)))
    say(f"Numbers of clusters, compared on one sharing\n{choice}")
    knee = (
        "the inertia has no knee"
        if choice.knee is None
        else f"the knee of the inertia is at k = {choice.knee}"
    )
    measure = "silhouette" if choice[choice.best].silhouette is not None else "Calinski-Harabasz measure"
    out.print(f"* best of its column; the {measure} is best at k = {choice.best}, {knee}")


def _check_plot(path: Path) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise missing("matplotlib", "--plot", "plots") from None
    known = Figure().canvas.get_supported_filetypes()
    if path.suffix[1:].lower() not in known:
        raise ParameterError(f"--plot: {path}: matplotlib writes {', '.join(sorted(known))}")
    check_file("--plot", path)
