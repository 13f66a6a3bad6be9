"""Opens numbers to some clients, and to nobody else.

Every holder sends them its shares. They take R, more than determine [x], so that a wrong one is noticed.
<x> is determined by no fewer, so there a
wrong one is not noticed, unless no rows have the numbers.
"""

from collections.abc import Collection, Generator
from dataclasses import replace

from secfc.field.array_types import Floats
from secfc.protocol.parties.opened import opened_shares
from secfc.protocol.parties.party import Half, Party
from secfc.sharing.residue_bytes import to_bytes
from secfc.sharing.shared import Shared


def opened_to(
    me: Party, recipients: Collection[int], numbers: Shared, what: str
) -> Generator[None, None, Floats | None]:
    """At recipients the segments, canonical, shape (P, ell, size), of [x] or <x>; `what` is in errors.

    The sharing must be uniform among those of its segments, as `reduced` makes it. It may be modulo the first
    primes alone.
    """
    halves = []
    if me.number in recipients:
        halves.append(_recipient(me, numbers, what))
    if numbers.residues is not None:
        halves.append(_holder(me, recipients, numbers.residues, what))
    found = yield from me.together(halves)
    return found[0] if me.number in recipients else None


def _holder(me: Party, recipients: Collection[int], shares: Floats, what: str) -> Half:
    me.send_share(recipients, what, to_bytes(shares, me.code.primes[: len(shares)]))
    return
    yield


def _recipient(me: Party, numbers: Shared, what: str) -> Half:
    code = replace(me.code, primes=numbers.primes)
    alone = replace(me, code=code)
    return (yield from opened_shares(alone, what, numbers.size, wide=numbers.wide, least=code.wide))
