"""Arguments of a run that are given for each party, or as positions of parties."""

from typing import Any, TypeGuard

import numpy as np

from secfc.api.options import RunOptions
from secfc.errors import LimitError, ParameterError
from secfc.field.array_types import Ints
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.option_checks import check_bool
from secfc.protocol.job.thresholds import COMPARERS, MAX_CLIENTS, SMALLEST_SPREAD
from secfc.sharing.row_checks import as_weights
from secfc.tables.parties import Party


def limits_of(given: object, members: list[Party]) -> list[Limits]:
    """Each party's limits."""
    if given is None:
        return [Limits()] * len(members)
    each = list(given) if isinstance(given, list | tuple) else [given] * len(members)
    limits = [one for one in each if isinstance(one, Limits)]
    if len(limits) < len(each):
        other = next(type(one).__name__ for one in each if not isinstance(one, Limits))
        raise ParameterError(f"limits: a secfc.Limits is needed, {other} was given")
    if len(limits) != len(members):
        raise ParameterError(
            f"limits: limits of {len(limits)} parties were given, there are {len(members)} parties"
        )
    return limits


def check_consent(name: str, members: list[Party], limits: list[Limits]) -> None:
    """Raise LimitError unless all parties consent by the limit with this name."""
    against = [
        one.name for one, own in zip(members, limits, strict=True) if getattr(own, name) in (None, False)
    ]
    if against:
        consent, option = f"{name}=True", "all"
        if name == "reveal_spread":
            consent, option = f"reveal_centres=True, {name}={SMALLEST_SPREAD}", f"all={SMALLEST_SPREAD}"
        raise LimitError(
            f"{name}: {', '.join(against)} did not consent; every party must, by "
            f"limits=secfc.Limits({consent}), in a command by --consent {option}; nothing was sent"
        )


def check_list(name: str, given: object, members: list[Party]) -> None:
    """Raise ParameterError unless this is a list with something for each party."""
    if not isinstance(given, list | tuple) or len(given) != len(members):
        raise ParameterError(
            f"{name}: a list with one integer array for each of {len(members)} parties is needed"
        )


def weights_of(given: Any, members: list[Party]) -> list[Ints] | None:
    """Checked weights of each party's rows."""
    if given is None:
        return None
    check_list("sample_weight", given, members)
    return [
        as_weights(one, name=member.name, m=member.rows.shape[0])
        for one, member in zip(given, members, strict=True)
    ]


def recipients(given: object, members: list[Party], limits: list[Limits]) -> tuple[int, ...]:
    """Clients that receive the centres, if every party consents."""
    if given is None:
        return ()
    if isinstance(given, str) and given == "all":
        chosen = set(range(len(members)))
    else:
        chosen = set()
        for at in given if isinstance(given, list | tuple) else [given]:
            if not _is_position(at, len(members)):
                raise ParameterError(
                    f"reveal.centres: 'all' or positions of parties, 0 to {len(members) - 1}, are needed"
                )
            chosen.add(int(at))
    if chosen:
        check_consent("reveal_centres", members, limits)
    return tuple(at + 1 for at in sorted(chosen))


def computing_parties(members: list[Party], options: RunOptions) -> list[str]:
    """The names of the computing parties; ParameterError for options that do not work with a committee."""
    if options.committee is None:
        return [member.name for member in members]
    asked = {
        "limits of single parties": isinstance(options.limits, list | tuple),
    }
    names = ", ".join(name for name, found in asked.items() if found)
    if names:
        raise ParameterError(f"committee: not with {names} (docs/decisions/051-owners-and-a-committee.md)")
    n = len(members)
    positions = committee_of(options.committee, n)
    return [members[at].name if at < n else f"member {at - n + 1}" for at in positions]


def committee_of(given: object, n: int) -> list[int]:
    """Positions of the computing parties: by default all n; n and on are members without rows."""
    if given is None:
        return list(range(n))
    positions = list(range(given)) if _is_position(given, MAX_CLIENTS + 1) else given
    if (
        not isinstance(positions, list | tuple | range)
        or not positions
        or any(not _is_position(at, n + MAX_CLIENTS) for at in positions)
        or len(set(positions)) < len(positions)
    ):
        raise ParameterError(
            f"committee: a number of parties is needed, or different positions of parties, 0 to {n - 1}, "
            f"or from {n} on for members without rows"
        )
    if isinstance(given, int | np.integer) and given > n:
        raise ParameterError(f"committee: the first {given} parties were given, there are {n} parties")
    return [int(at) for at in positions]


def comparers_of(given: object, n: int) -> tuple[int, ...]:
    """Parties that compare, in order; () for the defaults of the job."""
    if given is None:
        return ()
    if not isinstance(given, list | tuple) or any(not _is_position(at, n + COMPARERS) for at in given):
        raise ParameterError(
            f"comparers: positions of parties, 0 to {n - 1}, are needed, or from {n} on for helpers"
        )
    return tuple(int(at) + 1 for at in given)


def _is_position(at: object, count: int) -> TypeGuard[int]:
    return not isinstance(at, bool) and isinstance(at, int | np.integer) and at in range(count)


def smallest_spread(given: object, members: list[Party], limits: list[Limits]) -> int | None:
    """The smallest cluster whose spread is opened, the largest of all limits; None opens no spread."""
    check_bool("reveal.spread", given)
    if not given:
        return None
    check_consent("reveal_spread", members, limits)
    return max(own.reveal_spread for own in limits if own.reveal_spread is not None)
