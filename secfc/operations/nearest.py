"""The set whose mean is nearest to each row: new sets, as shares again.

Pairs of sets a < b with rows are compared. For row f

    u = |n_a s_b|^2 - |n_b s_a|^2 - 2 <n_a n_b (n_a s_b - n_b s_a), f>,

which is n_a^2 n_b^2 times the difference of the squared distances of f to the means of b and a. It is below 0
where b is strictly nearer, so ties go to a. n_a^2 n_b and |s_a|^2 are reduced first, and so is the direction
n_a^2 n_b s_b - n_a n_b^2 s_a then. Opens nothing but what `reduced` opens.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from secfc.comparing.batch_plan import wins
from secfc.field.array_types import Labels, Objects
from secfc.operations.masked import Masked, masked
from secfc.operations.reduction import reduced
from secfc.operations.signs import hidden_signs, rows_at_once, shared_bits
from secfc.operations.sums import PlainSums, Sums
from secfc.protocol.parties.party import Party
from secfc.sharing.rows import Rows
from secfc.sharing.shared import Shared, joined


def pairs_of(full: Sequence[int]) -> list[tuple[int, int]]:
    """The pairs, in the order of the columns."""
    return list(combinations(full, 2))


def plain_pairs(rows: Objects, of: PlainSums) -> Objects:
    """U for each pair and row, shape (pairs, m), Python integers."""
    found = []
    sums, sizes = of.sums, of.sizes
    for a, b in pairs_of(of.full):
        first, second = sizes[b] * sums[a], sizes[a] * sums[b]
        norms = (second**2).sum() - (first**2).sum()
        found.append(norms - 2 * sizes[a] * sizes[b] * rows.dot(second - first))
    return np.array(found, dtype=object).reshape(len(found), rows.shape[0])


def plain_nearest(of_pairs: Objects, full: Sequence[int], *, m: int) -> Labels:
    """The label of each row, from u of all pairs, shape (pairs, m); ties go to the lowest set."""
    labels = np.full(m, full[0], dtype=np.int32)
    won = {h: np.ones(m, dtype=np.bool_) for h in full}
    for (a, b), u in zip(pairs_of(full), of_pairs, strict=True):
        second = (u < 0).astype(np.bool_)
        won[a] &= ~second
        won[b] &= second
    for h, rows in won.items():
        labels[rows] = h
    return labels


def nearest(me: Party, of: Sums, rows: Rows, *, k: int) -> Generator[None, None, Shared]:
    """The new sets, shape (k, m), of all rows, block by block."""
    full, m = of.full, rows.m
    parts = [me.public(np.zeros((1, m), dtype=np.int64))] * k
    if len(full) == 1:
        parts[full[0]] = parts[full[0]] + 1
        return joined(parts, 0)
    planes, won = (yield from planes_of(me, of)), list[Shared]()
    step = rows_at_once(len(full), len(me.code.primes))
    for start in range(0, m, step):
        found = yield from pairs(me, planes, rows, slice(start, min(start + step, m)))
        won.append((yield from shared_bits(me, (yield from hidden_signs(me, found, wins(len(full)))))))
    of_all = joined(won, 1)
    for at, h in enumerate(full[:-1]):
        parts[h] = of_all[at : at + 1]
    parts[full[-1]] = 1 - of_all.sum(0).reshape(1, m)
    return joined(parts, 0)


@dataclass(frozen=True, kw_only=True)
class Planes:
    """Between the means of each pair: u is <direction, f> + offset; shapes (pairs, width) and (pairs,)."""

    directions: Shared
    offsets: Shared


def planes_of(me: Party, of: Sums) -> Generator[None, None, Planes]:
    """Those of all pairs of sets with rows."""
    a, b = np.array(pairs_of(of.full)).T
    sums, sizes, products = of.sums, of.sizes, of.products
    norms, both = (sums * sums).sum(1), products[a, b]
    factors = yield from reduced(me, joined([both * sizes[a], both * sizes[b], norms], 0))
    of_b, of_a, norms = factors[: a.size], factors[a.size : 2 * a.size], factors[2 * a.size :]
    direction = yield from reduced(me, of_b.reshape(-1, 1) * sums[b] - of_a.reshape(-1, 1) * sums[a])
    offsets = products[a, a] * norms[b] - products[b, b] * norms[a]
    return Planes(directions=direction * -2, offsets=offsets)


def pairs(me: Party, of: Planes, rows: Rows, block: slice) -> Generator[None, None, Masked]:
    """U of all pairs and a block of rows, under the dealer's masks, shape (P, pairs, rows)."""
    return (yield from masked(me, rows.affine(of.directions, of.offsets, block)))
