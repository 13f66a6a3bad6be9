"""How many rows two sharings of sets have in other sets, compared with public numbers.

Opens the outcomes only.
"""

from collections.abc import Generator

import numpy as np

from secfc.field.array_types import Labels
from secfc.operations.masked import masked, packed
from secfc.operations.nonzero import nonzero
from secfc.operations.opening import opened_bits
from secfc.operations.signs import below_zero, hidden_signs
from secfc.protocol.parties.dealing import combined
from secfc.protocol.parties.party import Party
from secfc.sharing.shared import Shared, joined


def plain_moved_below(before: Labels, after: Labels, limits: list[int]) -> tuple[bool, ...]:
    """Whether fewer rows moved than each of the limits, 1 or more."""
    moved = int(np.count_nonzero(before != after))
    return tuple(moved < limit for limit in limits)


def moved_below(
    me: Party, before: Shared, after: Shared, limits: list[int]
) -> Generator[None, None, tuple[bool, ...]]:
    """The same of shared sets, shape (k, m), that each have every row once.

    Whether none has moved is opened without a comparison.
    """
    if max(limits) == 1:
        (some,) = yield from nonzero(me, changes(me, before, after))
        return (not some,) * len(limits)
    m = before.shape[1]
    moved = (m - (before * after).sum(1).sum(0)).reshape(1)
    return (yield from below(me, joined([moved] * len(limits), 0), limits))


def changes(me: Party, before: Shared, after: Shared) -> Shared:
    """A vector, shape (1, width), that is 0 if no row has moved.

    Else it is 0 with a probability below 2^-140. The last set counts too: rows that were drawn are alone in
    first sets, and others in none.
    """
    return combined(me, b"moved", (after - before).reshape(-1))


def below(me: Party, counts: Shared, limits: list[int]) -> Generator[None, None, tuple[bool, ...]]:
    """Whether each of some shared counts, shape (counts,), is below its limit.

    All segments of a count are the same, so their sum is ell times it; or the limit is 0.
    """
    apart = counts - np.array(limits)
    hidden = yield from masked(me, packed(apart), columns=1, rows=len(limits))
    bits = yield from hidden_signs(me, hidden, below_zero(1))
    return (yield from opened_bits(me, bits))
