"""Whether all sets are as large as every holder demands, before anything else is opened of them.

Every holder tells everybody the fewest rows of a set that it accepts. The coordinator passes this on, and
each holder checks its own number. If one demands more than one row, one bit is opened: whether there is a
smaller set that is not empty.
"""

import struct
from collections.abc import Generator

import numpy as np

from secfc.errors import CheatError, LimitError, TooManyFaultsError
from secfc.errors.codes import Code
from secfc.field.array_types import Ints
from secfc.operations.nearest import negative
from secfc.operations.unmoved import below
from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.party import COORDINATOR, Half, Party
from secfc.sharing.shared import Shared, joined

_LIMIT = struct.Struct("<I")
_MOST = 2**32 - 1


def demanded(me: Party, own: int) -> Generator[None, None, tuple[int, ...]]:
    """What each holder demands; `own` is a holder's own limit, 1 or more."""
    halves = [_everybody(me)]
    if me.holds:
        halves.append(_holder(me, min(own, _MOST)))
    if me.number == COORDINATOR:
        halves.append(_coordinator(me))
    limits: tuple[int, ...] = (yield from me.together(halves))[0]
    if me.holds and limits[me.number - 1] != min(own, _MOST):
        text = f"the server told another smallest set of party {me.number} than it demands"
        raise CheatError(text, code=Code.BAD_MESSAGE)
    return limits


def check_smallest(
    me: Party, sets: Shared, weights: Ints, limits: tuple[int, ...]
) -> Generator[None, None, None]:
    """LimitError if one of sets, shape (k, rows), has fewer rows than a holder demands.

    With weights, shape (rows,), a set counts for its total weight divided by the heaviest weight of all rows.
    """
    most = max(limits)
    if most == 1:
        return
    fewest = min(most * int(weights.max()), int(weights.sum()) + 1)
    sizes, k = (sets if (weights == 1).all() else sets * weights).sum(1), sets.shape[0]
    under = yield from negative(me, joined([sizes - fewest, sizes - 1], 0))
    small = (under[:k] - under[k:]).sum(0).reshape(1)  # too small, but not empty
    (right,) = yield from below(me, small, [1])
    if not right:
        client = limits.index(most) + 1
        raise LimitError(
            f"client {client} answers for sets of at least {most} rows, but a set has fewer",
            code=Code.LIMIT_SMALLEST_SET,
        )


def _holder(me: Party, own: int) -> Half:
    me.send(COORDINATOR, "limit", _LIMIT.pack(own))
    return
    yield


def _coordinator(me: Party) -> Half:
    told = yield Wait("limit", tuple(me.roles.holders), _LIMIT.size, unless_lost=True)
    lost = [holder for holder in me.roles.holders if holder not in told]
    if lost:
        text = f"client {lost[0]} is lost, without whose rows no prediction is possible"
        raise TooManyFaultsError(text, clients=lost)
    me.tell("limits", b"".join(told.values()))


def _everybody(me: Party) -> Half:
    size = _LIMIT.size * len(me.roles.holders)
    told = (yield Wait("limits", (COORDINATOR,), size))[COORDINATOR]
    me.note(bytes(told))
    limits = np.frombuffer(told, dtype="<u4")
    return tuple(max(1, int(one)) for one in limits)
