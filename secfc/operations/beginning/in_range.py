"""Whether all rows are within the bound, before anything is computed of them.

Opens for each group of owners whether random sums of its rows are possible for rows within the bound, and if
they are, for each owner whether its squared norms are. Both say "yes" of all rows within the bound. Residues
modulo Q can be those of large integers, whose squares wrap around; so sums come first
(`secfc.comparing.bounded`).
"""

from collections.abc import Generator, Sequence
from itertools import pairwise

import numpy as np

from secfc.comparing.bounded import VALUES, coded_sums, most_sum
from secfc.crypto.randomness import MaskSource
from secfc.errors import RangeError
from secfc.operations.nearest import negative
from secfc.operations.unmoved import below
from secfc.protocol.job.job import Job
from secfc.protocol.job.row_layout import RANGE_GROUPS, Layout, RangeParts
from secfc.protocol.parties.party import Party
from secfc.sharing.rows import Rows
from secfc.sharing.shared import Shared, joined


def check_range(
    me: Party, rows: Rows, layout: Layout, *, radius: int, coin: bytes
) -> Generator[None, None, None]:
    """RangeError with the owners unless all rows of each are within the radius. The coin came after them."""
    parts = RangeParts(share=1, answer=1, layout=layout, segments=me.code.ell)
    groups = [parts.owned(group) for group in parts.groups]
    limits = [most_sum(radius, own.stop - own.start) for own in groups]
    sums = _random_sums(me, rows, groups, coin)
    of_segments = [sums * me.constant([1], segment=segment) for segment in range(me.code.ell)]
    both = [joined([one, 0 - one], 1) for one in of_segments]
    numbers = joined(both, 1) + me.constant(limits).reshape(-1, 1)
    of_groups = [numbers.shape[1]] * len(groups)
    numbers, deposited = numbers.reshape(numbers.size), layout.deposited
    yield from _check(me, numbers, of_groups, parts.groups, deposited=deposited)
    within = me.constant([radius**2]) - rows.norms
    counts = [rows.stop - rows.start for rows in map(parts.owned, parts.owners)]
    yield from _check(me, within, counts, parts.owners, deposited=deposited)


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
    return max(rows, 2 * VALUES * job.ell * min(job.dealers, RANGE_GROUPS))
