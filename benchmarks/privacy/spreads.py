"""Attack h: what a spread reveals in addition to a mean, by counting the values that have both."""

from collections.abc import Iterator
from math import log2

import numpy as np

from benchmarks.privacy.opened import RECIPIENT
from benchmarks.privacy.rows import UNKNOWN_BITS, AttackRow
from benchmarks.privacy.view import Watched
from secfc.field.array_types import Floats, Ints


def ways(levels: int, count: int) -> Floats:
    """In how many ways `count` values of 0 .. levels - 1 have sum s and sum of squares q.

    Returns
    -------
    ndarray of shape (count * (levels - 1) + 1, count * (levels - 1)**2 + 1), float64
        Entry (s, q). These are integers in float64, with a relative error of 2**-52 for each value added.
    """
    top = levels - 1
    table = np.ones((1, 1))
    for already in range(count):
        more = np.zeros(((already + 1) * top + 1, (already + 1) * top**2 + 1))
        for value in range(levels):
            more[value : value + table.shape[0], value**2 : value**2 + table.shape[1]] += table
        table = more
    return table


def bits_left(levels: int, *, count: int, total: int, squares: int) -> tuple[float, float]:
    """Fraction of values' bits that stay unknown with their sum, and with their sum of squares too.

    Before the attack, every value of 0 .. levels - 1 is equally likely.
    """
    half, rest = ways(levels, count // 2), ways(levels, count - count // 2)
    of_sum = of_both = 0.0
    for s in range(max(0, total - rest.shape[0] + 1), min(half.shape[0], total + 1)):
        left, right = half[s], rest[total - s]
        of_sum += left.sum() * right.sum()
        q = np.arange(max(0, squares - len(right) + 1), min(len(left), squares + 1))
        of_both += float(left[q] @ right[squares - q])
    bits = count * log2(levels)
    return log2(of_sum) / bits, log2(of_both) / bits


def others(watched: Watched) -> Iterator[tuple[int, Ints, Ints]]:
    """For each opened cluster: number of others' rows, their sums and their sums of squares, (d,) each.

    The recipient computes them from mean, deviation and its own rows. Rows are small integers here, because
    the values that it gets in float64 have 53 bits. Its own program has the full sums.
    """
    labels, mine = watched.labels, watched.own_rows(RECIPIENT)
    centres, deviations = watched.opened(RECIPIENT)
    assert deviations is not None
    for h in np.flatnonzero(~np.isnan(centres).any(axis=1)).tolist():
        size, own = int((labels == h).sum()), watched.rows[mine & (labels == h)]
        total, squares = centres[h] * size, (deviations[h] ** 2 + centres[h] ** 2) * size
        yield (
            size - len(own),
            np.rint(total - own.sum(axis=0)).astype(np.int64),
            np.rint(squares - (own**2).sum(axis=0)).astype(np.int64),
        )


def whole_numbers(n: int, m: int, d: int, levels: int, seed: int) -> list[Floats]:
    """Uniform whole numbers 0 .. levels - 1, with the same number of rows for each party."""
    return np.array_split(np.random.default_rng(seed).integers(levels, size=(m, d)).astype(np.float64), n)


def of_a_run(watched: Watched, levels: int) -> Iterator[AttackRow]:
    """Attack h: bits of others' values that stay unknown to a recipient of centres, and of spreads."""
    for count, totals, squares in others(watched):
        yield from _rows(watched, levels, count, totals, squares, note="a run that opened both")


def of_few(watched: Watched, levels: int, counts: list[int], seed: int) -> Iterator[AttackRow]:
    """The same for fewer than ten rows, for which spreads are not opened."""
    for count in counts:
        values = np.random.default_rng(seed).integers(levels, size=(count, watched.job.d))
        totals, squares = values.sum(axis=0), (values**2).sum(axis=0)
        yield from _rows(watched, levels, count, totals, squares, note="not opened: fewer than ten")


def _rows(
    watched: Watched, levels: int, count: int, totals: Ints, squares: Ints, *, note: str
) -> Iterator[AttackRow]:
    left = np.array(
        [
            bits_left(levels, count=count, total=s, squares=q)
            for s, q in zip(totals.tolist(), squares.tolist(), strict=True)
        ]
    )
    for what, share in zip(("centres", "centres and spreads"), left.mean(axis=0), strict=True):
        yield UNKNOWN_BITS.row(
            share,
            job=watched.job,
            m=len(watched.rows),
            attack="h-spreads",
            adversary=f"recipient of {what}",
            swept="others' rows in the cluster",
            value=count,
            note=f"{levels} values; {note}",
        )
