"""Random sharings that nobody knows: both evaluators deal, and holders add up.

Opens nothing. One of the evaluators is outside of every coalition, because no two of those who compare may
collude. No run goes on without them, so no other party can be lost while it deals.
"""

from collections.abc import Generator
from dataclasses import dataclass

from secfc.protocol.parties.dealing import added, dealt
from secfc.protocol.parties.party import Party
from secfc.sharing.shared import Shared


@dataclass(frozen=True, kw_only=True)
class Sharings:
    """`narrow` and `wide` share the same uniform segments, [rho] and <rho>.

    `zeros` are <0>, and `alone` is [rho] without a wide twin.
    """

    narrow: Shared
    wide: Shared
    zeros: Shared
    alone: Shared


def random_sharings(
    me: Party, *, twins: int = 0, zeros: int = 0, alone: int = 0
) -> Generator[None, None, Sharings]:
    """So many sharings of each kind. With [rho] also [rho] + <0> is dealt: <rho>."""
    code, shared = me.code, twins + alone
    segments = me.uniform(code.ell, shared) if me.evaluates else None
    sizes = dict.fromkeys(me.roles.evaluators, shared)
    found = yield from dealt(me, sizes, segments, zeros=twins + zeros)
    of_all = added(me, [one.shared for one in found.values()], shared)
    nothing = added(me, [one.zeros for one in found.values()], twins + zeros)
    narrow, hidden = of_all[:twins], Shared(code.primes, nothing.shape, nothing.residues, wide=True)
    return Sharings(narrow=narrow, wide=narrow + hidden[:twins], zeros=hidden[twins:], alone=of_all[twins:])
