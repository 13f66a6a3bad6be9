"""Whether all rows are within the bound, before anything is computed of them.

Opens for each owner whether random sums of its rows, and its squared norms, are possible for rows within the
bound. Residues modulo Q can be those of large integers, whose squares wrap around. So there are sums, with
coefficients -1, 0 and 1: if they are small, so is every entry, and no squared norm wraps around
(docs/proofs.md, "Rows within the bound").
"""

from collections.abc import Callable, Generator, Sequence
from itertools import chain
from math import prod

import numpy as np
from numpy.typing import NDArray

from secfc.crypto.randomness import MaskSource
from secfc.errors import RangeError
from secfc.field.array_types import Floats, Shares
from secfc.field.residues import canonical, reduce
from secfc.kmeans.bounds import most_sum
from secfc.operations.opening import below
from secfc.operations.under_masks import answered, counted, negative_under_masks, norms_under_masks, public
from secfc.protocol.job.job import Job
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.parties.party import Party
from secfc.sharing.rows import Rows, answers_of
from secfc.sharing.shared import Shared, joined

SUMS = 42
"""Sums over an owner's rows, for each column. A large entry makes each sum large with probability >= 1/2."""

TESTS = 6
"""Sums over the columns, for each of these sums. An entry that is too large passes all of them with
probability at most ((1 + 2**-6) / 2)**42 < 2**-41."""

VALUES = SUMS * TESTS
"""Values for each group of owners and segment."""


_BLOCK_ROWS = 1 << 12
"""Rows whose coefficients are drawn at a time. All parties draw the same ones."""


def coded_sums(
    shares: Callable[[int, slice], Shares],
    owned: Sequence[slice],
    *,
    width: int,
    source: MaskSource,
    primes: Sequence[int],
) -> Floats:
    """Random sums of shares of each group's rows. The source determines the public coefficients.

    The sums are canonical, shape (P, groups, VALUES). `shares` takes the index of a prime and a slice of
    rows and returns reduced residues, shape (width, rows). `owned` are the rows of each group, in order. A
    segment has `width` columns.
    """
    modulo = np.array(primes, dtype=np.float64)[:, None, None]
    totals = np.zeros((len(owned), len(primes), width, SUMS))
    begin, end = owned[0].start, owned[-1].stop
    for start in range(begin, end, _BLOCK_ROWS):
        stop = min(start + _BLOCK_ROWS, end)
        signs = _signs(source, (stop - start, SUMS))
        held = np.array([shares(index, slice(start, stop)) for index in range(len(primes))], dtype=np.float64)
        for at, own in enumerate(owned):
            if own.start < stop and start < own.stop:
                rows = slice(max(own.start, start) - start, min(own.stop, stop) - start)
                totals[at] += held[..., rows] @ signs[rows]  # below 2**23 + 4 times 2**29 rows: exact
    signs = _signs(source, (len(owned), SUMS, TESTS, width))
    # Below 2**24 times the columns of a segment, 2**28 at most.
    values = signs @ reduce(totals, modulo).transpose(0, 3, 2, 1)  # (groups, SUMS, TESTS, P)
    values = values.reshape(len(owned), VALUES, len(primes)).transpose(2, 0, 1)
    return canonical(reduce(values, modulo), modulo)


def _signs(source: MaskSource, shape: tuple[int, ...]) -> Floats:
    """Independent coefficients: 0 with probability 1/2, -1 and 1 with probability 1/4 each."""
    count = prod(shape)
    bits: NDArray[np.uint8] = np.unpackbits(np.frombuffer(source.octets(-(-count // 4)), dtype=np.uint8))
    pairs = bits[: 2 * count].astype(np.float64).reshape(*shape, 2)
    found: Floats = pairs[..., 0] - pairs[..., 1]
    return found


GROUPS = 32
"""Most groups of owners whose rows are summed together: each has as many random sums."""


def check_range(
    me: Party, rows: Rows, layout: Layout, *, radius: int, coin: bytes
) -> Generator[None, None, None]:
    """RangeError with the owners unless all rows of each are within the radius. The coin came after them."""
    owners = _owners(layout)
    together = _groups(owners)
    groups, owned = ([_owned(layout, one) for one in some] for some in (together, owners))
    sums = _random_sums(me, rows, groups, coin)
    of_segments = [sums * me.constant([1], segment=segment) for segment in range(me.code.ell)]
    both = [joined([one, 0 - one], 1) for one in of_segments]
    limits = [most_sum(radius, own.stop - own.start) for own in groups]
    numbers = joined(both, 1) + me.constant(limits).reshape(-1, 1)
    flat = numbers.reshape(numbers.size)
    of_sums = yield from answered(me, flat.size, lambda block: answers_of(flat[block]))
    of_rows = public(me, radius**2, rows.m) - (yield from norms_under_masks(me, rows))
    wrong = yield from negative_under_masks(me, joined([of_sums, of_rows], 1))
    counts = [numbers.shape[1]] * len(groups) + [own.stop - own.start for own in owned]
    found = yield from counted(me, wrong, np.cumsum(counts))
    of_owners = [one for one, group in enumerate(together) for _ in group or (0,)]
    totals = found[: len(groups)][np.array(of_owners)] + found[len(groups) :]
    right = yield from below(me, totals, [1] * len(owners))
    if not all(right):
        raise _beyond(together, right, deposited=layout.deposited)


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


def _beyond(groups: Sequence[tuple[int, ...]], right: Sequence[bool], *, deposited: bool) -> RangeError:
    """The error about owners whose rows are not right. Of groups whose sums are too large it names all."""
    named = [owner for owner, one in zip(chain(*groups), right, strict=False) if not one]
    some = "some of " if any(len(group) > 1 and set(group) <= set(named) for group in groups) else ""
    kind = "owners" if deposited else "clients"
    of = f" of {some}{kind} {', '.join(map(str, named))}" if named else ""
    text = f"rows{of} are beyond the public bound, or one that compares lied"
    whom = [] if deposited else named, named if deposited else []
    return RangeError(f"{text}; no label was opened", clients=whom[0], owners=whom[1])


def most_numbers(job: Job, rows: int) -> int:
    """Most numbers that are compared at once."""
    return rows + 2 * VALUES * job.ell * min(job.dealers, GROUPS)
