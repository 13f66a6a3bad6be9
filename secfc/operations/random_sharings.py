"""Random sharings that no t + 1 holders together do not know: t + 1 holders deal, and all add up.

Opens nothing. Bytes: t + 1 dealings to n holders. The dealer of the comparison never deals them alone,
because it would learn what is opened under them.
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from secfc.field.array_types import Floats
from secfc.field.residues import reduce
from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.party import Half, Party
from secfc.sharing.residue_bytes import from_bytes, size_of, to_bytes
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
    """So many sharings of each kind."""
    numbers, primes = (twins, zeros, alone), me.code.primes
    halves = []
    if me.number in me.dealing:
        halves.append(_dealing(me, numbers))
    if me.holds:
        halves.append(_adding(me, numbers))
    found = yield from me.together(halves)
    parts: list[Floats | None] = found[-1] if me.holds else [None] * 4
    return Sharings(
        narrow=Shared(primes, (twins,), parts[0]),
        wide=Shared(primes, (twins,), parts[1], wide=True),
        zeros=Shared(primes, (zeros,), parts[2], wide=True),
        alone=Shared(primes, (alone,), parts[3]),
    )


def _dealing(me: Party, numbers: tuple[int, int, int]) -> Half:
    code, (twins, zeros, alone) = me.code, numbers
    parts = [
        _dealt(me, drawn := _uniform(me, code.ell, twins), wide=False),
        _dealt(me, drawn, wide=True),
        _dealt(me, np.zeros((len(code.primes), code.ell, zeros)), wide=True),
        _dealt(me, _uniform(me, code.ell, alone), wide=False),
    ]
    for holder, shares in zip(me.roles.holders, np.concatenate(parts, axis=2), strict=True):
        me.send(holder, "dealt", to_bytes(shares, code.primes))
    return
    yield


def _adding(me: Party, numbers: tuple[int, int, int]) -> Half:
    twins, zeros, alone = numbers
    total, primes = 2 * twins + zeros + alone, me.code.primes
    size = size_of(total, primes)
    dealt = yield Wait("dealt", me.dealing, size)
    shares = np.sum([from_bytes(one, (total,), primes) for one in dealt.values()], axis=0)
    shares = reduce(shares, np.array(primes)[:, np.newaxis])
    return np.split(shares, np.cumsum([twins, twins, zeros]), axis=1)


def _dealt(me: Party, segments: Floats, *, wide: bool) -> Floats:
    """Shares for all holders, shape (n, P, size)."""
    masks = me.code.wide - me.code.ell if wide else me.code.t
    return me.code.deal(segments, _uniform(me, masks, segments.shape[2]))


def _uniform(me: Party, count: int, size: int) -> Floats:
    return np.stack([me.masks.uniform(p, (count, size), me.kernels) for p in me.code.primes])
