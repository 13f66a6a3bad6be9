"""Parties named on a command line: who consents, who compares and who receives results."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from secfc.cli.options import ClusteringFiles, Revealing, names_of
from secfc.errors import ParameterError
from secfc.limits import Limits
from secfc.params import COMPARERS, default_threshold

ALL = "all"
HELPER = "helper"  # a party without rows, in `--comparers` and `--recheck`


def positions(option: str, text: str, names: Sequence[str]) -> list[int]:
    """Positions of the parties that an option names, "all" for all; ParameterError for an unknown name."""
    given = names_of(text)
    if not given:
        raise ParameterError(f"{option}: names no party; they are {', '.join(names)}")
    found: set[int] = set()
    for name in given:
        if name != ALL and name not in names:
            raise ParameterError(f"{option}: no party {name!r}; they are {', '.join(names)}")
        found |= set(range(len(names))) if name == ALL else {names.index(name)}
    return sorted(found)


def comparing(options: ClusteringFiles, names: Sequence[str]) -> dict[str, Any]:
    """The arguments of `secfc.run` for comparers and recheckers, in the given order."""
    given = {"comparers": options.compared_by, "recheck": options.rechecked_by}
    found, helpers = dict[str, Any](), 0
    # By default with t > 1 the first two helpers compare, so those of --recheck come after them.
    t, _ = default_threshold(len(names), options.t, options.ell, max_liars=options.max_liars)
    if options.compared_by is None and t > 1:
        helpers = COMPARERS - 1
    for option, said in given.items():
        if said is None:
            continue
        found[option] = list[int]()
        if not names_of(said):
            raise ParameterError(f"--{option}: no party is named")
        for name in names_of(said):
            if name == HELPER and name not in names:
                found[option].append(len(names) + helpers)
                helpers += 1
            else:
                found[option] += positions(f"--{option}", name, names)
    return found


def revealing(options: Revealing, names: Sequence[str]) -> dict[str, Any]:
    """Arguments of `secfc.run` for what is opened to whom, and each party's limits with its consent."""
    if options.reveal_centres is None:
        if options.reveal_spread:
            raise ParameterError("--reveal-spread: only with --reveal-centres")
        return consenting(options, names)
    to = positions("--reveal-centres", options.reveal_centres, names)
    consented = consenting(options, names, centres=True)
    return {"reveal_centres": to, "reveal_spread": options.reveal_spread} | consented


def consenting(options: ClusteringFiles, names: Sequence[str], *, centres: bool = False) -> dict[str, Any]:
    """Each party's limits with its consent to what is opened; `centres` says whether centres are opened."""
    limits = [options.refusals()] * len(names)
    if options.consent is None:
        return {"limits": limits}
    if not centres and not options.reveal_inertia:
        raise ParameterError("--consent: only with --reveal-centres or --reveal-inertia")
    for given in names_of(options.consent):
        name, separator, rows = given.partition("=")
        for at in positions("--consent", name, names):
            limits[at] = replace(limits[at], reveal_centres=centres, reveal_inertia=options.reveal_inertia)
            if separator:
                limits[at] = _to_spreads(limits[at], names[at], rows)
    return {"limits": limits}


def _to_spreads(limits: Limits, name: str, rows: str) -> Limits:
    if not rows.isascii() or not rows.isdigit():
        raise ParameterError(f"--consent: {name}={rows}: a number of rows is needed")
    try:
        return replace(limits, reveal_spread=int(rows))
    except ParameterError as error:
        raise ParameterError(f"--consent: {name}={rows}: {error}") from None
