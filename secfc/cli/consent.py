"""Parties named on a command line: who consents, who compares and who receives results."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from secfc.api.options import Reveal
from secfc.cli.command_options import Choosing, ClusteringFiles, Revealing, names_of
from secfc.errors import ParameterError
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.thresholds import USUAL_CELL

ALL = "all"
HELPER = "helper"  # a party without rows, in `--comparers`


def positions(option: str, text: str, names: Sequence[str]) -> list[int]:
    """Positions of the parties that an option names, "all" for all; ParameterError for an unknown name."""
    given = names_of(text)
    if not given:
        raise ParameterError(f"{option}: no party is named; the parties are {', '.join(names)}")
    found: set[int] = set()
    for name in given:
        if name != ALL and name not in names:
            raise ParameterError(f"{option}: there is no party {name!r}; the parties are {', '.join(names)}")
        found |= set(range(len(names))) if name == ALL else {names.index(name)}
    return sorted(found)


def comparing(options: ClusteringFiles, names: Sequence[str]) -> dict[str, Any]:
    """The argument of `secfc.run` for comparers, in the given order."""
    said = options.compared_by
    if said is None:
        return {}
    if not names_of(said):
        raise ParameterError("--comparers: no party is named")
    found, helpers = list[int](), 0
    for name in names_of(said):
        if name == HELPER and name not in names:
            found.append(len(names) + helpers)
            helpers += 1
        else:
            found += positions("--comparers", name, names)
    return {"comparers": found}


def revealing(options: Revealing, names: Sequence[str]) -> dict[str, Any]:
    """Arguments of `secfc.run` for what is opened to whom, and each party's limits with its consent."""
    if options.reveal_centres is None:
        for name in ("reveal_spread", "centres_epsilon", "centres_delta"):
            if getattr(options, name) not in (None, False):
                raise ParameterError(f"--{name.replace('_', '-')}: only with --reveal-centres")
        return consenting(options, names)
    reveal = Reveal(
        centres=positions("--reveal-centres", options.reveal_centres, names),
        spread=options.reveal_spread,
        inertia=options.reveal_inertia,
        epsilon=options.centres_epsilon,
        delta=options.centres_delta,
    )
    return consenting(options, names, centres=True) | {"reveal": reveal}


def consenting(options: ClusteringFiles, names: Sequence[str], *, centres: bool = False) -> dict[str, Any]:
    """The inertia, if it is opened, and each party's limits; `centres` says whether centres are opened."""
    limits, reveal = [options.refusals()] * len(names), Reveal(inertia=options.reveal_inertia)
    spreads = isinstance(options, Revealing) and options.reveal_spread
    consent: dict[str, Any] = {
        "reveal_centres": centres,
        "reveal_inertia": options.reveal_inertia,
        "reveal_tables": isinstance(options, Choosing) and options.resamples > 0,
        "describe": USUAL_CELL if isinstance(options, Revealing) and names_of(options.described) else None,
    }
    if options.consent is None:
        return {"limits": limits, "reveal": reveal}
    if not any(consent.values()):
        which = "--reveal-centres, --reveal-inertia, --describe or --resamples"
        raise ParameterError(f"--consent: only with {which}")
    for given in names_of(options.consent):
        name, separator, rows = given.partition("=")
        for at in positions("--consent", name, names):
            limits[at] = replace(limits[at], **consent)
            if separator:
                limits[at] = _from_rows_on(limits[at], names[at], rows, spreads=spreads)
    return {"limits": limits, "reveal": reveal}


def _from_rows_on(limits: Limits, name: str, rows: str, *, spreads: bool) -> Limits:
    """Limits with this smallest number of rows: of clusters with `spreads`, and of cells of a table."""
    if not rows.isascii() or not rows.isdigit():
        raise ParameterError(f"--consent: {name}={rows}: a number of rows is needed")
    if not spreads and limits.describe is None:
        raise ParameterError(f"--consent: {name}={rows}: only with --reveal-spread or --describe")
    try:
        limits = limits if limits.describe is None else replace(limits, describe=int(rows))
        return replace(limits, reveal_spread=int(rows)) if spreads else limits
    except ParameterError as error:
        raise ParameterError(f"--consent: {name}={rows}: {error}") from None
