"""How well a start fits, as shares: its score, or inertia in whole numbers (`secfc.kmeans.score`).

With sums s, weights n, and sums of squared norms N of final labels, and s', n' of the sets whose means were
the centres, the sum of D over the rows of label h is

    T_h = n'_h^2 N_h - 2 n'_h <s_h, s'_h> + n_h |s'_h|^2.

A reciprocal of n'_h is a sum over the sizes that are looked up, of what each adds to those before it, times
the bit whether n'_h is at least this size. Opens nothing but what `reduced` opens.
"""

from collections.abc import Generator, Sequence
from functools import cache
from itertools import pairwise

import numpy as np

from secfc.field.array_types import Ints, Labels, Objects
from secfc.field.residues import matmul
from secfc.kmeans.score import (
    looked_up,
    reciprocal,
    score,
    score_bits,
    steep,
)
from secfc.operations.reduction import reduced
from secfc.operations.sums import PlainSums, Sums, weighted
from secfc.operations.under_masks import negative
from secfc.protocol.parties.party import Party
from secfc.sharing.rows import Rows
from secfc.sharing.shared import Shared, joined


def plain_scores(
    rows: Objects, labels: Labels, of: PlainSums, weights: Ints, spares: Sequence[int]
) -> list[int]:
    """The scores of public labels, which are those of the nearest of these means, with so many spare bits."""
    distances = ((of.sums[labels] - of.sizes[labels][:, np.newaxis] * rows) ** 2).sum(axis=1) * weights
    sums = [int(distances[labels == h].sum()) for h in range(of.sizes.size)]
    return [score(sums, of.sizes, int(weights.sum()), spare) for spare in spares]


def scores_of(
    me: Party, labels: Shared, of: Sums, rows: Rows, norms: Shared, weights: Ints, spares: Sequence[int]
) -> Generator[None, None, Shared]:
    """The same as [X], shape (spares,), with segments to be added up; `norms` are [|f|^2], shape (m,)."""
    k, width = labels.shape[0], rows.width
    each = weighted(labels, weights)
    wide = [
        rows.sums(each).reshape(k * width),
        (of.sizes.reshape(k, 1) * of.sums).reshape(k * width),
        (each @ norms.reshape(rows.m, 1)).reshape(k),
        (of.sums * of.sums).sum(1),
        of.sizes * of.sizes,
    ]
    found = yield from reduced(me, joined(wide, 0))
    sums, scaled = (found[at : at + k * width].reshape(k, width) for at in (0, k * width))
    squares, of_means, of_sizes = (found[2 * k * width + at * k :][:k] for at in range(3))
    total = of_sizes * squares - (sums * scaled).sum(1) * 2 + each.sum(1) * of_means
    sums_of_squares = yield from reduced(me, total)
    weight = yield from _reciprocals(me, of.sizes, int(weights.sum()), spares)
    return (yield from reduced(me, (weight * sums_of_squares).sum(1)))


def _reciprocals(me: Party, sizes: Shared, m: int, spares: Sequence[int]) -> Generator[None, None, Shared]:
    """[c] of sizes, shape (k,), with so many spare bits each: shape (spares, k)."""
    k, at = sizes.size, looked_up(m)
    apart = sizes[np.repeat(np.arange(k), len(at))] - np.tile(at, k)
    reached = (1 - (yield from negative(me, apart))).reshape(k, len(at))
    exact = joined([_added(reached, [reciprocal(one, m, spare) for one in at]) for spare in spares], 0)
    if len(at) == m:
        return exact
    rest = sizes - _added(reached, at).reshape(k)
    slopes = [_added(reached, [steep(one, score_bits(m, spare)) for one in at]) for spare in spares]
    return exact + (yield from reduced(me, joined(slopes, 0) * rest))


def _added(reached: Shared, values: Sequence[int]) -> Shared:
    """[v], shape (1, k): the value of the last size that each set reaches, 0 if it reaches none."""
    primes, found = reached.primes, None
    if reached.residues is not None:
        steps = [after - before for before, after in pairwise([0, *values])]
        table = np.array([[float(step % p) for step in steps] for p in primes])[:, np.newaxis]
        moduli = np.array(primes, dtype=np.float64).reshape(-1, 1, 1)
        found = matmul(table, reached.residues.transpose(0, 2, 1), moduli)
    return Shared(primes, (1, reached.shape[0]), found)


@cache
def most_looked_up(k: int, m: int) -> int:
    """Most numbers that are compared for the sizes of k sets; m is the weight of all rows."""
    return k * len(looked_up(m))
