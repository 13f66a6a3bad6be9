"""Who consents, and who learns: parties named on a command line."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from secfc.cli.options import Revealing, names_of
from secfc.errors import ParameterError
from secfc.limits import Limits

ALL = "all"

HELPER = "helper"
"""A party without rows, where `--comparers` names parties."""


def positions(option: str, text: str, names: Sequence[str]) -> list[int]:
    """Positions of the parties that an option names; "all" names everybody.

    Raises
    ------
    ParameterError
        Naming what is no party.
    """
    given = names_of(text)
    if not given:
        raise ParameterError(f"{option}: names no party; they are {', '.join(names)}")
    found: set[int] = set()
    for name in given:
        if name != ALL and name not in names:
            raise ParameterError(f"{option}: no party {name!r}; they are {', '.join(names)}")
        found |= set(range(len(names))) if name == ALL else {names.index(name)}
    return sorted(found)


def comparing(options: Revealing, names: Sequence[str]) -> dict[str, Any]:
    """The argument of `secfc.run` that says who compares, in the order given.

    Raises
    ------
    ParameterError
        Naming what is no party.
    """
    if options.compared_by is None:
        return {}
    comparers, helpers = list[int](), 0
    for name in names_of(options.compared_by):
        if name == HELPER and name not in names:
            comparers.append(len(names) + helpers)
            helpers += 1
        else:
            comparers += positions("--comparers", name, names)
    return {"comparers": comparers}


def revealing(options: Revealing, names: Sequence[str]) -> dict[str, Any]:
    """Arguments of `secfc.run` that say what is opened to whom, and each party's limits with its consent.

    Raises
    ------
    ParameterError
        Options that do not go together, no party of that name, or a number that cannot be.
    """
    if options.reveal_centres is None:
        for option, given in (("--reveal-spread", options.reveal_spread), ("--consent", options.consent)):
            if given:
                raise ParameterError(f"{option}: only with --reveal-centres")
        return {}
    to, limits = (
        positions("--reveal-centres", options.reveal_centres, names),
        [options.refusals()] * len(names),
    )
    for given in names_of(options.consent or ""):
        name, separator, rows = given.partition("=")
        for at in positions("--consent", name, names):
            limits[at] = _consenting(limits[at], names[at], rows if separator else None)
    return {"reveal_centres": to, "reveal_spread": options.reveal_spread, "limits": limits}


def _consenting(limits: Limits, name: str, rows: str | None) -> Limits:
    if rows is None:
        return replace(limits, reveal_centres=True)
    if not rows.isascii() or not rows.isdigit():
        raise ParameterError(f"--consent: {name}={rows}: a number of rows is needed")
    try:
        return replace(limits, reveal_centres=True, reveal_spread=int(rows))
    except ParameterError as error:
        raise ParameterError(f"--consent: {name}={rows}: {error}") from None
