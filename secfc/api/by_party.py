"""Arguments of a run that are given for each party, or as positions of parties."""

import hashlib
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from secfc.api.options import Membership, Reveal, RunOptions
from secfc.errors import DataError, LimitError, ParameterError
from secfc.field.array_types import Ints
from secfc.protocol.job.job import Job
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.options import check_bool
from secfc.protocol.job.thresholds import COMPARERS, MAX_CLIENTS, SMALLEST_SPREAD, USUAL_CELL
from secfc.psu.tokens import KEY_BYTES, SALT_BYTES, RowIds, check_key
from secfc.sharing.row_checks import as_weights
from secfc.tables.ids import row_ids
from secfc.tables.parties import Party, in_order

if TYPE_CHECKING:
    from secfc.prepare.schema import Schema


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
        if name == "describe":
            consent, option = f"{name}={USUAL_CELL}", "all"
        raise LimitError(
            f"{name}: {', '.join(against)} did not consent; every party must, by "
            f"limits=secfc.Limits({consent}), in a command by --consent {option}; nothing was sent"
        )


def check_told(job: Job, members: list[Party], limits: list[Limits]) -> None:
    """Raise LimitError unless all parties consent to what a job opens to all of them."""
    told = {"reveal_inertia": job.disclosure.inertia, "reveal_tables": bool(job.method.resamples)}
    for name in [name for name, asked in told.items() if asked]:
        check_consent(name, members, limits)


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
    chosen: Any = given if isinstance(given, list | tuple) else [given]
    if isinstance(given, str) and given == "all":
        chosen = range(len(members))
    if not all(_is_position(at, len(members)) for at in chosen):
        raise ParameterError(
            f"reveal.centres: 'all' or positions of parties, 0 to {len(members) - 1}, are needed"
        )
    if chosen:
        check_consent("reveal_centres", members, limits)
    return tuple(at + 1 for at in sorted({int(at) for at in chosen}))


def computing_parties(members: list[Party], options: RunOptions) -> list[str]:
    """The names of the computing parties; ParameterError for options that do not work with a committee."""
    if options.committee is None:
        return [member.name for member in members]
    if isinstance(options.limits, list | tuple):
        raise ParameterError(
            "committee: not with limits of single parties (docs/decisions/051-owners-and-a-committee.md)"
        )
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


@dataclass(frozen=True, kw_only=True)
class HeldColumns:
    """Described columns of a simulated run, if there are some: their schema, and each party's values."""

    schema: "Schema | None" = None
    values: list[Ints] | None = field(default=None, repr=False)
    of_job: dict[str, Any] = field(default_factory=dict)  # what the job says of them


def described_of(given: Any, members: list[Party], limits: list[Limits]) -> HeldColumns:
    """The described columns. The largest of the parties' smallest cells applies."""
    if given is None:
        return HeldColumns()
    from secfc.prepare.describing import columns_of  # noqa: PLC0415 - imports pyarrow only for columns

    tables = in_order("describe", given, members)
    if not isinstance(tables, list | tuple) or len(tables) != len(members):
        raise ParameterError(f"describe: a table for each of {len(members)} parties is needed")
    check_consent("describe", members, limits)
    schema, values = columns_of(tables, members, limits)
    smallest = max(own.describe for own in limits if own.describe is not None)
    of_job = {"described": schema.categories, "smallest_cell": max(smallest, schema.smallest)}
    return HeldColumns(schema=schema, values=values, of_job=of_job)


def smallest_spread(given: object, members: list[Party], limits: list[Limits]) -> int | None:
    """The smallest cluster whose spread is opened, the largest of all limits; None opens no spread."""
    check_bool("reveal.spread", given)
    if not given:
        return None
    check_consent("reveal_spread", members, limits)
    return max(own.reveal_spread for own in limits if own.reveal_spread is not None)


@dataclass(frozen=True, kw_only=True)
class HeldIds:
    """IDs of a simulated run."""

    ids: list[list[Any]] = field(repr=False)  # of every party's rows
    hashed: list[RowIds] = field(repr=False)
    salt: bytes | None = field(repr=False)  # 16 bytes derived from the seed; None without a seed
    cap: int  # on the rows of all parties together


def reveal_of(given: object) -> Reveal:
    """What is opened, by default nothing."""
    if given is not None and not isinstance(given, Reveal):
        raise ParameterError(f"reveal: a secfc.Reveal is needed, {type(given).__name__} was given")
    return given or Reveal()


def membership(members: list[Party], given: Any, *, seed: int | None) -> HeldIds:
    """Check and hash the IDs, one sequence per party.

    By default the cap is the number of rows of all parties, which only a simulation can know. Errors have the
    party and the number, never an ID.
    """
    of_all = given if isinstance(given, Membership) else Membership(given)
    if of_all.ids is None:
        raise ParameterError("ids: a secfc.Membership needs the IDs of every party, None was given")
    ids, key, cap = in_order("ids", of_all.ids, members), of_all.key, of_all.cap
    if isinstance(ids, str | bytes) or not hasattr(ids, "__len__") or not hasattr(ids, "__iter__"):
        raise ParameterError("ids: a list with one sequence of row IDs per party is needed")
    if len(ids) != len(members):
        raise ParameterError(f"ids: IDs of {len(ids)} parties were given, there are {len(members)} parties")
    held = [_as_list(own, member) for own, member in zip(ids, members, strict=True)]
    key = _of_seed(seed, "simulated key", KEY_BYTES) if key is None else check_key(key)
    hashed = [
        row_ids(of_party, key=key, name=member.name) for of_party, member in zip(held, members, strict=True)
    ]
    total = max(1, sum(map(len, held)))
    salt = None if seed is None else _of_seed(seed, "salt", SALT_BYTES)
    return HeldIds(ids=held, hashed=hashed, salt=salt, cap=total if cap is None else cap)


def _as_list(given: Any, member: Party) -> list[Any]:
    if isinstance(given, str | bytes) or not hasattr(given, "__iter__"):
        raise DataError(f"{member.name}: a sequence of IDs is needed, {type(given).__name__} was given")
    held = given.tolist() if isinstance(given, np.ndarray) else list(given)
    if len(held) != member.rows.shape[0]:
        raise DataError(f"{member.name}: {len(held)} IDs for {member.rows.shape[0]} rows")
    return held


def _of_seed(seed: int | None, purpose: str, size: int) -> bytes:
    """Random bytes; with a seed, bytes derived from it."""
    if seed is None:
        return secrets.token_bytes(size)
    return hashlib.sha256(f"secfc {purpose} {int(seed)}".encode()).digest()[:size]
