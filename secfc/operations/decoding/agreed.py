"""What the coordinator tells at the end, and whether it told all holders the same during the run.

Opens to everybody which start is best and the inertia. Holders send each other an empty letter, which has a
digest of all that was told to them (`Place`). So of holders that were told different labels none goes on.
"""

import struct
from collections.abc import Generator
from math import isnan

from secfc.errors import CheatError, MessageError
from secfc.errors.codes import Code
from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.party import COORDINATOR, Half, Party, at_once

_BEST = struct.Struct("<Hd")


def told_best(
    me: Party, starts: int, best: tuple[int, float] | None
) -> Generator[None, None, tuple[int, float]]:
    """The number of the best of so many starts, from 0, and its inertia. The coordinator gives them."""
    halves = [_best(me, starts)]
    if best is not None:
        halves.append(at_once(me.tell, "best", _BEST.pack(*best)))
    (found, *_) = yield from me.together(halves)
    return int(found[0]), float(found[1])


def _best(me: Party, starts: int) -> Half:
    data = bytes((yield Wait("best", (COORDINATOR,), _BEST.size))[COORDINATOR])
    me.note(data)
    best, inertia = _BEST.unpack(data)
    if best >= starts or isnan(inertia) or inertia < 0:
        raise MessageError(f"party {COORDINATOR} told start {best} of {starts} with inertia {inertia}")
    return best, inertia


def agreed(me: Party) -> Generator[None, None, None]:
    """Go on when R holders were told the same. CheatError if that cannot be."""
    halves = [_confirmed(me)]
    if me.holds:
        halves.append(_confirm(me))
    yield from me.together(halves)


def _confirm(me: Party) -> Half:
    me.tell("same", b"")
    return
    yield


def _confirmed(me: Party) -> Half:
    for enough in range(me.code.wide, me.roles.n + 1):  # those that are lost count as there
        same = yield Wait("same", tuple(me.roles.holders), 0, enough=enough, unless_lost=True)
        if sum(not data for data in same.values()) >= me.code.wide:
            return
    text = f"fewer than {me.code.wide} clients say that the server told them the same as party {me.number}"
    raise CheatError(text, code=Code.BAD_MESSAGE)
