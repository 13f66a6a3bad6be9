"""Random sharings that no t + 1 holders together do not know: t + 1 holders deal, and all add up.

Opens nothing. The dealer of the comparison never deals them alone, because it would learn what is opened
under them.
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from secfc.field.array_types import Floats
from secfc.field.residues import reduce
from secfc.protocol.parties.dealing import dealt
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
    code, shared, segments = me.code, twins + alone, None
    if me.number in me.dealing:
        drawn = [me.masks.uniform(p, (code.ell, shared), me.kernels) for p in code.primes]
        segments = np.stack(drawn)
    found = yield from dealt(me, me.dealing, segments, shared=shared, zeros=twins + zeros)
    added = _sum([one.shared for one in found.values()], code.primes, shared)
    nothing = _sum([one.zeros for one in found.values()], code.primes, twins + zeros)
    narrow, hidden = added[:twins], Shared(code.primes, nothing.shape, nothing.residues, wide=True)
    return Sharings(narrow=narrow, wide=narrow + hidden[:twins], zeros=hidden[twins:], alone=added[twins:])


def _sum(parts: list[Floats], primes: tuple[int, ...], size: int) -> Shared:
    """What all dealers dealt, added up; there are no parts at a party that holds no shares."""
    moduli = np.array(primes)[:, np.newaxis]
    return Shared(primes, (size,), reduce(np.sum(parts, axis=0), moduli) if parts else None)
