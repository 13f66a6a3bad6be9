"""`secfc choose-k`: reads files and prints a table of numbers of clusters."""

from pathlib import Path
from typing import Any

from secfc.api.choose_k import choose_members
from secfc.api.options import Membership
from secfc.api.stability import stability_of
from secfc.cli.command_options import Choosing
from secfc.cli.consent import comparing, consenting
from secfc.cli.inputs import members_of, tables_of
from secfc.cli.render import console, faults_line, our_warnings, say, threshold_line
from secfc.errors import ParameterError, missing
from secfc.tables.outputs import check_file
from secfc.tables.reading import party_names, row_ids
from secfc.tables.sources.own_form import Input


def print_choice(files: list[Input], ks: range, options: Choosing, *, plot: Path | None) -> dict[str, Any]:
    """Compare and print; return the comparison. Nothing is printed before a SecFCError is raised."""
    if plot is not None:
        _check_plot(plot)  # before minutes of work
    options.check()
    if plot is not None and options.resamples and not options.reveal_inertia:
        raise ParameterError("--plot: with --resamples only if --reveal-inertia gives it something to draw")
    if not ks:
        raise ParameterError(f"--from: {ks.start} is above --to {ks.stop - 1}")
    names = party_names(files)
    opened = consenting(options, names) | comparing(options, names)
    tables = tables_of(files, options)
    with our_warnings():
        ids = Membership(row_ids(tables), cap=options.ids_cap) if options.membership else None
        given, members = options.options(ids=ids, **opened), members_of(tables)
        found, choice = None, None
        if options.resamples:
            found = stability_of(
                members, given, k=ks, t=options.t, ell=options.ell, resamples=options.resamples
            )
            choice = found.choice
        else:
            choice = choose_members(members, given, ks=ks, t=options.t, ell=options.ell)
    if plot is not None and choice is not None:
        try:
            choice.plot_k().savefig(plot, dpi=200)
        except OSError as error:
            raise ParameterError(f"--plot: {plot} cannot be written ({error.strerror})") from None
    results = [one for one in (choice, found) if one is not None]
    out = console()
    out.print(threshold_line(results[0].job))
    faults_line(out, results[0].faults, results[0].job, list(map(str, files)))
    if found is not None:
        say(f"Stability over {options.resamples} resamples\n{found}")
    if choice is not None:
        say(str(choice))
    return {name: value for one in results for name, value in one.to_dict().items()}


def _check_plot(path: Path) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise missing("matplotlib", "--plot", "plots") from None
    known = Figure().canvas.get_supported_filetypes()
    if path.suffix[1:].lower() not in known:
        raise ParameterError(f"--plot: {path}: matplotlib writes {', '.join(sorted(known))}")
    check_file("--plot", path)
