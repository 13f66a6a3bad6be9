"""A start by k-means++: k rows as first sets, drawn one after the other by their distance to those before.

Arthur, Vassilvitskii: *k-means++: the advantages of careful seeding*, SODA 2007, greedy as in scikit-learn:
of several candidates the one is chosen that leaves the least sum of w D, ties to the first. D of a row is its
squared distance to the nearest chosen row, and w its weight. A candidate is drawn with probability
proportional to w D: with c_i = w_1 D_1 + ... + w_i D_i and a secret uniform rho below 2**32, it is the first
row with 2**32 c_i > rho c_m. For the first row, which has no rivals, D = 1. If c_m is 0, every row equals a
chosen one, and the last row is drawn.

Each bit of rho is one of the dealer xor one of the evaluators. No two of those who compare may collude, so
rho is uniform for each of them, also if it does not draw its own bits at random. The bits are under masks
like those that a comparison finds, and become shares in the same way. One that lies there can share a number
that is not below 2**32. Then other rows are drawn, as if it lied in a comparison of the draw; so no check is
made.

Opens nothing but what `reduced` opens. Nobody learns a row, a distance or rho. The last bit of a draw is
public, so the bits of a set add up to 1, whatever one that lies does to others.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import log

import numpy as np

from secfc.comparing.batch_plan import wins
from secfc.field.array_types import Bools, Floats, Ints, Labels, Objects
from secfc.field.fixed_point import quantise
from secfc.kmeans.bounds import DRAW_BITS
from secfc.operations.masked import masked
from secfc.operations.reduction import norms_of, reduced
from secfc.operations.signs import HiddenBits, hidden_signs, negative, rows_at_once, shared_bits
from secfc.protocol.parties.party import Party, at_once
from secfc.sharing.rows import Rows, answers_of
from secfc.sharing.shared import Shared, joined

_PHASE = "draws"
_OCTETS = DRAW_BITS // 8
_WORD_BITS = 64


def candidates_of(k: int) -> int:
    """Candidates for each set but the first, as in scikit-learn, but at most k."""
    return min(k, 2 + int(log(k)))


def numbers_of(k: int) -> int:
    """Random numbers of a start: one for the first row, and one for each candidate of the others."""
    return 1 + (k - 1) * candidates_of(k)


def most_compared(k: int, rows: int, primes: int) -> int:
    """Most numbers that are compared at once."""
    return min(candidates_of(k) * rows, rows_at_once(2, primes))


def most_dealt(k: int) -> int:
    """Bits of all random numbers, which are dealt at once."""
    return DRAW_BITS * numbers_of(k)


def plain_numbers(count: int, repeated: np.random.Generator) -> list[int]:
    """The numbers of a simulation that is repeated: the dealer's bits come first, then the evaluators'."""
    halves = [np.frombuffer(repeated.bytes(_OCTETS * count), dtype=f">u{_OCTETS}") for _ in range(2)]
    return [one ^ other for one, other in zip(*(half.tolist() for half in halves), strict=True)]


def plain_plus_plus(rows: Objects, weights: Ints, numbers: Sequence[int], k: int) -> Labels:
    """The chosen rows as sets of one row each, by `numbers_of` numbers; the other rows are in no set, -1.

    A row that is chosen again stays in its first set. `rows`, shape (m, d), are Python integers.
    """
    sets, times = np.full(len(rows), -1, dtype=np.int32), weights.astype(object)
    closest, count = np.ones(len(rows), dtype=object), candidates_of(k)
    for h in range(k):
        sums = np.cumsum(times * closest)
        of_set = numbers[:1] if not h else numbers[1 + (h - 1) * count : 1 + h * count]
        above = [[*(sums << DRAW_BITS > one * sums[-1])[:-1].tolist(), True] for one in of_set]
        drawn = [one.index(True) for one in above]
        distances = [((rows - rows[at]) ** 2).sum(axis=1) for at in drawn]
        least = [np.minimum(closest, one) if h else one for one in distances]
        best = min(range(len(drawn)), key=lambda at: (times * least[at]).sum())
        closest = least[best]
        sets[drawn[best]] = h if sets[drawn[best]] < 0 else sets[drawn[best]]
    return sets


def repeated_draws(rows: Floats, k: int, *, unit: Fraction, seed: int) -> Labels:
    """The chosen rows of the first start of a simulation with a seed, in the clear, as sets.

    Rows, shape (m, d), are those of all parties in the order of the run, in the data's units, without
    weights.
    """
    whole = quantise(rows, unit).astype(np.int64).astype(object)
    numbers = plain_numbers(numbers_of(k), np.random.default_rng(seed))
    return plain_plus_plus(whole, np.ones(len(rows), dtype=np.int64), numbers, k)


def random_numbers(
    me: Party, count: int, repeated: np.random.Generator | None = None
) -> Generator[None, None, Shared]:
    """[rho], shape (count,), each uniform below 2**DRAW_BITS, the same in all segments.

    In a simulation that is `repeated`, all bits come from a generator, in the same state at all parties.
    """
    halves = []
    if repeated is not None:
        dealer, evaluators = (repeated.bytes(_OCTETS * count) for _ in range(2))
        if me.number in me.roles.comparers:
            halves.append(at_once(bytes, dealer if me.deals else evaluators))
    elif me.deals:
        halves.append(at_once(me.masks.octets, _OCTETS * count))
    elif me.evaluates:
        halves.append(at_once(_evaluators, me, count))
    found = yield from me.together(halves)
    held: Bools | None = None
    if found:
        drawn = np.unpackbits(np.frombuffer(found[0], dtype=np.uint8))
        held = drawn.astype(np.bool_).reshape(count, DRAW_BITS)
    bits = yield from shared_bits(me, HiddenBits(outputs=count, rows=DRAW_BITS, held=held))
    return (bits * (1 << np.arange(DRAW_BITS)[::-1])).sum(1)


def plus_plus(
    me: Party, rows: Rows, weights: Ints, k: int, repeated: np.random.Generator | None = None
) -> Generator[None, None, Shared]:
    """[b], shape (k, m), of the chosen rows, one in each set. `weights`, shape (m,), are public.

    For `repeated` see `random_numbers`.
    """
    numbers, count = (yield from random_numbers(me, numbers_of(k), repeated)), candidates_of(k)
    chosen = [(yield from drawn_rows(me, me.constant([1] * rows.m) * weights, numbers[:1]))]
    if k == 1:
        return chosen[0]
    norms = yield from norms_of(me, rows)
    row = yield from reduced(me, rows.sums(chosen[0]))
    closest = (yield from reduced(me, _distances(rows, norms, row))).reshape(rows.m)
    for first in range(1, numbers.size, count):
        drawn = yield from drawn_rows(me, closest * weights, numbers[first : first + count])
        start = Candidates(rows=rows, weights=weights, norms=norms, closest=closest)
        best, closest = yield from best_of(me, start, drawn, last=first + count == numbers.size)
        chosen.append(best)
    return joined(chosen, 0)


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """What candidates are compared by: [D] of the rows so far, `closest`, and [|f|^2], `norms`, shapes (m,).

    The segments of both are to be added up.
    """

    rows: Rows
    weights: Ints = field(repr=False)
    norms: Shared
    closest: Shared


def drawn_rows(me: Party, amounts: Shared, numbers: Shared) -> Generator[None, None, Shared]:
    """[b], shape (draws, m), of a row for each rho, shape (draws,), in proportion to amounts, shape (m,).

    The segments of an amount are to be added up.
    """
    draws, sums = numbers.size, amounts.running()
    ends = (sums * (1 << DRAW_BITS)).reshape(1, -1)
    above = yield from _negative(me, numbers.reshape(-1, 1) * sums[-1:] - ends)
    bits = [me.public(np.full((draws, 1), bit)) for bit in (0, 1)]
    return joined([above[:, :-1], bits[1]], 1) - joined([bits[0], above[:, :-1]], 1)


def best_of(
    me: Party, of: Candidates, drawn: Shared, *, last: bool
) -> Generator[None, None, tuple[Shared, Shared]]:
    """The best of drawn rows, one-hot, shape (c, m), and [D] with it unless it is the `last` row.

    Distances to the others are not reduced: totals are sums of products.
    """
    rows, closest = of.rows, of.closest
    of_rows = yield from reduced(me, rows.sums(drawn))
    below = yield from _negative(me, _distances(rows, of.norms, of_rows) - closest)
    totals = yield from _totals(me, of, of_rows, below)
    best = yield from chosen_of(me, totals, joined([drawn] if last else [drawn, below, of_rows], 1))
    if last:
        return best, closest
    row, below = best[:, 2 * rows.m :], best[:, rows.m : 2 * rows.m].reshape(rows.m)
    distances = (yield from reduced(me, _distances(rows, of.norms, row))).reshape(rows.m)
    nearer = closest + (yield from reduced(me, below * (distances - closest)))
    return best[:, : rows.m], nearer


def _distances(rows: Rows, norms: Shared, of_rows: Shared) -> Shared:
    """<D>, shape (c, m), of all rows to those with values, shape (c, width); segments are to be added up."""
    return norms + rows.product(of_rows * -2) + (of_rows * of_rows).sum(1).reshape(-1, 1)


def _totals(me: Party, of: Candidates, of_rows: Shared, below: Shared) -> Generator[None, None, Shared]:
    """<sum of w (D - closest) over the rows that are nearer>, shape (c,), whose segments are to be added up.

    With row c it is sum of w (|f|^2 - closest) + n |f_c|^2 - 2 <f_c, sum of w f>, n the weight of these rows.
    """
    nearer, squares = below * of.weights, (of_rows * of_rows).sum(1)
    small = yield from reduced(me, joined([of.rows.sums(nearer).reshape(of_rows.size), squares], 0))
    sums, squares = small[: of_rows.size].reshape(*of_rows.shape), small[of_rows.size :]
    apart = (nearer * (of.norms - of.closest)).sum(1)
    return apart + squares * nearer.sum(1) - (of_rows * sums).sum(1) * 2


def chosen_of(me: Party, totals: Shared, values: Shared) -> Generator[None, None, Shared]:
    """The row, shape (1, size), of values, shape (c, size), with the least total, shape (c,).

    Ties go to the first. Segments of a total are to be added up.
    """
    a, b = np.triu_indices(totals.size, 1)
    hidden = yield from masked(me, answers_of(totals[b] - totals[a], columns=a.size))
    won = (yield from shared_bits(me, (yield from hidden_signs(me, hidden, wins(totals.size))))).reshape(-1)
    every = joined([won, (1 - won.sum(0)).reshape(1)], 0)
    return (yield from reduced(me, every.reshape(1, -1) @ values))


def _evaluators(me: Party, count: int) -> bytes:
    """Bits from a key that both evaluators share."""
    first, second = me.roles.evaluators
    words = np.empty(-(-DRAW_BITS * count // _WORD_BITS), dtype=np.uint64)
    me.keys(second if me.number == first else first, _PHASE).bits(_PHASE, 0).fill(words)
    return words.tobytes()[: _OCTETS * count]


def _negative(me: Party, numbers: Shared) -> Generator[None, None, Shared]:
    """Which numbers are below 0, in their shape."""
    return (yield from negative(me, numbers.reshape(numbers.size))).reshape(*numbers.shape)
