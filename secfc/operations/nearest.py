"""The set whose mean is nearest to each row: new sets, as shares again.

For each set h with rows and row f

    v_h = |s_h|^2 - 2 <n_h s_h, f>,

which is n_h^2 times the squared distance of f to the mean, without |f|^2. Holders compute it from n_h s_h and
|s_h|^2, which are reduced. Pairs of sets a < b are compared: u = n_a^2 v_b - n_b^2 v_a is n_a^2 n_b^2 times
the difference of the squared distances to b and a. It is below 0 where b is strictly nearer, so ties go to a.
The three that compare find it from v and n^2 under masks (`weighed`). The check of u needs its direction,
which is reduced too. Opens nothing but what is reduced.
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
from secfc.operations.weighed import weighed
from secfc.protocol.parties.party import Party
from secfc.sharing.rows import Rows, answers_of
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
    full, m, primes = of.full, rows.m, me.code.primes
    if len(full) == 1:
        return me.public(np.repeat(np.arange(k)[:, np.newaxis] == full[0], m, axis=1).astype(np.int64))
    planes = yield from planes_of(me, of)
    found = None  # blocks to join would take as much again
    if me.holds:
        found = np.empty((len(primes), k, m))
        found[:, [h for h in range(k) if h not in full]] = 0.0
    step = rows_at_once(len(full), len(primes))
    for start in range(0, m, step):
        block = slice(start, min(start + step, m))
        of_pairs = yield from pairs(me, planes, rows, block)
        won = yield from shared_bits(me, (yield from hidden_signs(me, of_pairs, wins(len(full)))))
        last = 1 - won.sum(0)
        if found is not None and won.residues is not None and last.residues is not None:
            for h, own in zip(full, [*won.residues.swapaxes(0, 1), last.residues], strict=True):
                found[:, h, block] = own
    return Shared(primes, (k, m), found)


@dataclass(frozen=True, kw_only=True)
class Planes:
    """V of each set with rows, and u of each pair, are <direction, f> + offset.

    Shapes (sets, width) and (sets,), or (pairs, width) and (pairs,). `squares` are n^2, shape (sets,).
    """

    of_sets: tuple[Shared, Shared]
    of_pairs: tuple[Shared, Shared]
    squares: Shared


def planes_of(me: Party, of: Sums) -> Generator[None, None, Planes]:
    """Those of all sets with rows."""
    full, (a, b) = np.array(of.full), np.triu_indices(len(of.full), 1)
    sums, sizes = of.sums[full], of.sizes[full]
    scaled, norms = sums * sizes.reshape(-1, 1), (sums * sums).sum(1)
    found = yield from reduced(me, joined([scaled.reshape(sums.size), norms, sizes * sizes], 0))
    ends = sums.size, sums.size + full.size
    scaled, norms, squares = found[: ends[0]] * -2, found[ends[0] : ends[1]], found[ends[1] :]
    scaled = scaled.reshape(*sums.shape)
    product = squares[a].reshape(-1, 1) * scaled[b] - squares[b].reshape(-1, 1) * scaled[a]
    offsets = squares[a] * norms[b] - squares[b] * norms[a]
    directions = yield from reduced(me, product)
    return Planes(of_sets=(scaled, norms), of_pairs=(directions, offsets), squares=squares)


def pairs(me: Party, of: Planes, rows: Rows, block: slice) -> Generator[None, None, Masked]:
    """U of all pairs and a block of rows, under the dealer's masks, shape (P, pairs, rows)."""
    values = rows.affine(*of.of_sets, block).beside(answers_of(of.squares, columns=of.squares.size))
    given = yield from masked(me, values)
    return (yield from weighed(me, given, rows.affine(*of.of_pairs, block, sent=False)))
