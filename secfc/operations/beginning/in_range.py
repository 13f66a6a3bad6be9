"""Whether all rows are within the bound, before anything is computed of them.

Opens for each group of owners whether random sums of its rows are possible for rows within the bound, and if
they are, for each owner whether its squared norms are. Both say "yes" of all rows within the bound. Residues
modulo Q can be those of large integers, whose squares wrap around; so sums come first
(`secfc.operations.beginning.random_sums`).
"""

from collections.abc import Generator, Sequence
from itertools import chain, pairwise

import numpy as np

from secfc.crypto.randomness import MaskSource
from secfc.errors import RangeError
from secfc.operations.beginning.random_sums import VALUES, coded_sums, most_sum
from secfc.operations.nearest import negative
from secfc.operations.unmoved import below
from secfc.protocol.job.job import Job
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.parties.party import Party
from secfc.sharing.rows import Rows
from secfc.sharing.shared import Shared, joined

GROUPS = 32
"""Most groups of owners whose rows are summed together: each has as many random sums."""


def check_range(
    me: Party, rows: Rows, layout: Layout, *, radius: int, coin: bytes
) -> Generator[None, None, None]:
    """RangeError with the owners unless all rows of each are within the radius. The coin came after them."""
    owners = _owners(layout)
    together = _groups(owners)
    groups = [_owned(layout, group) for group in together]
    limits = [most_sum(radius, own.stop - own.start) for own in groups]
    sums = _random_sums(me, rows, groups, coin)
    of_segments = [sums * me.constant([1], segment=segment) for segment in range(me.code.ell)]
    both = [joined([one, 0 - one], 1) for one in of_segments]
    numbers = joined(both, 1) + me.constant(limits).reshape(-1, 1)
    of_groups = [numbers.shape[1]] * len(groups)
    numbers, deposited = numbers.reshape(numbers.size), layout.deposited
    yield from _check(me, numbers, of_groups, together, deposited=deposited)
    within = me.constant([radius**2]) - rows.norms
    owned = [_owned(layout, owner) for owner in owners]
    counts = [rows.stop - rows.start for rows in owned]
    yield from _check(me, within, counts, owners, deposited=deposited)


def _owners(layout: Layout) -> list[tuple[int, ...]]:
    """Owners that have rows, ascending, one per tuple; one empty tuple if rows are common."""
    return [()] if layout.common else [(j,) for j, count in enumerate(layout.counts, 1) if count]


def _groups(owners: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The same owners, grouped: the rows of a group are summed together."""
    size = -(-len(owners) // GROUPS)
    return [tuple(chain(*owners[start : start + size])) for start in range(0, len(owners), size)]


def _owned(layout: Layout, owners: tuple[int, ...]) -> slice:
    """Rows of consecutive owners; of the empty tuple all rows."""
    if not owners:
        return slice(0, layout.m)
    return slice(layout.rows(owners[0]).start, layout.rows(owners[-1]).stop)


def _random_sums(me: Party, rows: Rows, groups: Sequence[slice], coin: bytes) -> Shared:
    """[sums], shape (groups, VALUES)."""
    shape, found = (len(groups), VALUES), None
    if me.holds:
        found = coded_sums(
            rows.part, groups, width=rows.width, source=MaskSource(coin), primes=me.code.primes
        )
    return Shared(me.code.primes, shape, found)


def _check(
    me: Party,
    numbers: Shared,
    counts: Sequence[int],
    whose: Sequence[tuple[int, ...]],
    *,
    deposited: bool,
) -> Generator[None, None, None]:
    """RangeError unless numbers, those of each of `whose` in turn, are at least 0."""
    wrong = (yield from negative(me, numbers)).reshape(1, -1)
    ends = np.cumsum([0, *counts])
    of_owners = [wrong[:, start:stop].sum(1) for start, stop in pairwise(ends.tolist())]
    right = yield from below(me, joined(of_owners, 0), [1] * len(counts))
    named = sorted({owner for group, one in zip(whose, right, strict=True) if not one for owner in group})
    if not all(right):
        some = "some of " if any(len(group) > 1 for group in whose) else ""
        wrongly = "" if me.max_liars else ", or a client answered wrongly about them"
        kind = "owners" if deposited else "clients"
        of = f" of {some}{kind} {', '.join(map(str, named))}" if named else ""
        text = f"rows{of} are beyond the public bound{wrongly}"
        whom = [] if deposited else named, named if deposited else []
        raise RangeError(f"{text}; no label was opened", clients=whom[0], owners=whom[1])


def most_numbers(job: Job, rows: int) -> int:
    """Most numbers that are compared at once."""
    return max(rows, 2 * VALUES * job.ell * min(job.dealers, GROUPS))
