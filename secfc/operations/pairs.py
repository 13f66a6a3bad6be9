"""Pairs of sets and a row: which mean is nearer, as the sign of an integer.

For sets a < b with rows,

    u = |n_a s_b|^2 - |n_b s_a|^2 - 2 <n_a n_b (n_a s_b - n_b s_a), f>,

which is n_a^2 n_b^2 times the difference of the squared distances of row f to the means of b and a. It is
below 0 where b is strictly nearer, so ties go to a. n_a^2 n_b and |s_a|^2 are reduced first, and so is the
direction n_a^2 n_b s_b - n_a n_b^2 s_a then. Opens nothing but what `reduced` opens.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from secfc.field.array_types import Objects
from secfc.operations.masked import Masked, masked
from secfc.operations.reduction import reduced
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
    answers = rows.affine(of.directions, of.offsets, rows=block)
    return (yield from masked(me, answers, columns=of.offsets.size, rows=block.stop - block.start))
