"""Checks and hashes row IDs as users give them, for a run with membership privacy."""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secfc.errors import DataError, ParameterError
from secfc.psu.tokens import KEY_BYTES, SALT_BYTES, RowIds, check_key
from secfc.tables.ids import row_ids
from secfc.tables.parties import Party


@dataclass(frozen=True, kw_only=True)
class HeldIds:
    """IDs of a simulated run."""

    ids: list[list[Any]] = field(repr=False)  # of every party's rows
    hashed: list[RowIds] = field(repr=False)
    salt: bytes | None = field(repr=False)  # 16 bytes derived from the seed; None without a seed
    cap: int  # on the rows of all parties together


def membership(
    members: list[Party], ids: Sequence[Any], *, key: bytes | None, cap: int | None, seed: int | None
) -> HeldIds:
    """Check and hash the IDs, one sequence per party.

    By default the key is random; with a seed it is derived from the seed, so that a simulation can be
    repeated. By default the cap is the number of rows of all parties, which only a simulation can know.
    Raises ParameterError, DataError or DuplicateIdError with the party and the number, never an ID.
    """
    if isinstance(ids, str | bytes) or not hasattr(ids, "__len__") or not hasattr(ids, "__iter__"):
        raise ParameterError("ids: a list with one sequence of row IDs per party is needed")
    if len(ids) != len(members):
        raise ParameterError(f"ids: IDs of {len(ids)} parties were given, there are {len(members)} parties")
    held = [_as_list(given, member) for given, member in zip(ids, members, strict=True)]
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
