"""Random sharings that nobody knows: both evaluators deal, and holders add up.

Opens nothing. One of the evaluators is outside of every coalition, because no two of those who compare may
collude. No run goes on without them, so no other party can be lost while it deals. Each sharing is used once.
They do not depend on the run, so many are dealt at once and kept until they are used.
"""

from collections.abc import Generator
from dataclasses import dataclass, replace

import numpy as np

from secfc.protocol.parties.dealing import added, dealt
from secfc.protocol.parties.party import Party
from secfc.sharing.formula import ZERO
from secfc.sharing.shared import Shared, joined

LEAST = 1 << 12
"""So many of each kind are dealt at once, or more: a deal of few takes nearly as long."""


@dataclass(frozen=True, kw_only=True)
class Sharings:
    """`narrow` and `wide` share the same uniform segments, [rho] and <rho>.

    `zeros` are <0>, and `alone` is [rho] without a wide twin.
    """

    narrow: Shared
    wide: Shared
    zeros: Shared
    alone: Shared

    def some(self, start: int, count: int) -> "Sharings":
        """Some of the twins."""
        part = slice(start, start + count)
        return replace(self, narrow=self.narrow[part], wide=self.wide[part])


def random_sharings(
    me: Party, *, twins: int = 0, zeros: int = 0, alone: int = 0
) -> Generator[None, None, Sharings]:
    """So many sharings of each kind. With [rho] also [rho] + <0> is dealt: <rho>."""
    shared, nothing = twins + alone, twins + zeros
    if me.stock is None or me.stock[0].size < shared or me.stock[1].size < nothing:
        me.stock = yield from _filled(me, max(shared, LEAST), max(nothing, LEAST))
    of_all, hidden = me.stock[0][:shared], me.stock[1][:nothing]
    me.stock = me.stock[0][shared:], me.stock[1][nothing:]
    narrow = of_all[:twins]
    return Sharings(narrow=narrow, wide=narrow + hidden[:twins], zeros=hidden[twins:], alone=of_all[twins:])


def _filled(me: Party, shared: int, zeros: int) -> Generator[None, None, tuple[Shared, Shared]]:
    """The stock with so many of [rho] and <0>."""
    code, empty = me.code, np.zeros((len(me.code.primes), 0)) if me.holds else None
    kept = me.stock or (Shared(code.primes, (0,), empty), Shared(code.primes, (0,), empty, formula=ZERO))
    more, nothing = shared - kept[0].size, zeros - kept[1].size
    segments = me.uniform(code.ell, more) if me.evaluates else None
    found = yield from dealt(me, dict.fromkeys(me.roles.evaluators, more), segments, zeros=nothing)
    of_all = added(me, [one.shared for one in found.values()], more)
    hidden = added(me, [one.zeros for one in found.values()], nothing)
    hidden = Shared(code.primes, hidden.shape, hidden.residues, formula=ZERO)
    return joined([kept[0], of_all], 0), joined([kept[1], hidden], 0)
