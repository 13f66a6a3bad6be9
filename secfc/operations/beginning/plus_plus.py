"""A start by k-means++: k rows as first means, drawn one after the other by their distance to those before.

Arthur, Vassilvitskii: *k-means++: the advantages of careful seeding*, SODA 2007, greedy as in scikit-learn:
of several candidates the one is chosen that leaves the least sum of w D, ties to the first. D of a row is its
squared distance to the nearest chosen row, and w its weight. A candidate is drawn with probability
proportional to w D: with c_i = w_1 D_1 + ... + w_i D_i and a secret uniform rho below 2**32, it is the first
row with 2**32 c_i > rho c_m. For the first row, which has no rivals, D = 1. If c_m is 0, every row equals a
chosen one, and the last row is drawn.

D stays under masks: the evaluators know D + r and the dealer r. So holders only get shares of where a
candidate is, and answer with distances to it. Each bit of rho is one of the dealer xor one of the evaluators.
No two of those who compare may collude, so rho is uniform for each of them, also if it does not draw its own
bits at random. One that lies has other rows drawn.

Opens nothing but what `reduced` opens. Nobody learns a row, a distance or rho.
"""

from collections.abc import Generator, Sequence
from fractions import Fraction
from math import isqrt, log

import numpy as np

from secfc.comparing.batch_plan import most_dealt_bytes, wins
from secfc.field.array_types import Bools, Floats, Ints, Labels, Objects
from secfc.field.fixed_point import quantise
from secfc.field.packing import packed_bytes
from secfc.kmeans.bounds import DRAW_BITS
from secfc.operations.multiplied import multiplied
from secfc.operations.reduction import reduced
from secfc.operations.signs import HiddenBits, hidden_signs, rows_at_once, shared_bits
from secfc.operations.under_masks import (
    answered,
    negative_under_masks,
    norms_under_masks,
    public,
    to_compare,
)
from secfc.protocol.parties.party import Party
from secfc.sharing.rows import Answers, Rows
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


def blocks_of(rows: int, width: int) -> int:
    """Blocks of rows in a draw. A number that is reduced takes about four times the bytes of a bit."""
    return max(1, isqrt(rows // (4 * width)))


def most_ahead_bytes(compared: int, primes: int) -> int:
    """Most bytes that the dealer sends before it waits, beside one comparison.

    They are of the next one, halves for two products of as many numbers, and few.
    """
    return most_dealt_bytes(compared, 2, primes) + packed_bytes((primes, 6 * compared + (1 << 12), 1))


def most_dealt(k: int, rows: int, width: int) -> int:
    """Most numbers that are dealt or reduced at once."""
    blocks = blocks_of(rows, width)
    return candidates_of(k) * max(blocks * width, blocks + -(-rows // blocks))


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


class DrawnRows(Shared):
    """[f] of rows that are alone in the first sets, shape (k, width)."""


def random_numbers(me: Party, count: int, repeated: np.random.Generator | None = None) -> HiddenBits:
    """The bits of rho, shape (count, DRAW_BITS), the highest first. Each rho is uniform.

    In a simulation that is `repeated`, all bits come from a generator, in the same state at all parties.
    """
    octets: bytes | None = None
    if repeated is not None:
        dealer, evaluators = (repeated.bytes(_OCTETS * count) for _ in range(2))
        octets = dealer if me.deals else evaluators
    elif me.deals:
        octets = me.masks.octets(_OCTETS * count)
    elif me.evaluates:
        octets = _evaluators(me, count)
    held: Bools | None = None
    if octets is not None and me.number in me.roles.comparers:
        drawn = np.unpackbits(np.frombuffer(octets, dtype=np.uint8))
        held = drawn.astype(np.bool_).reshape(count, DRAW_BITS)
    return HiddenBits(outputs=count, rows=DRAW_BITS, held=held)


def plus_plus(
    me: Party, rows: Rows, weights: Ints, k: int, repeated: np.random.Generator | None = None
) -> Generator[None, None, DrawnRows]:
    """[f] of the chosen rows, shape (k, width). `weights`, shape (m,), are public.

    For `repeated` see `random_numbers`.
    """
    numbers, count = random_numbers(me, numbers_of(k), repeated), candidates_of(k)
    closest = public(me, 1, rows.m).reshape(rows.m)
    chosen = yield from drawn_rows(me, rows, closest * weights, _some(numbers, 0, 1))
    if k > 1:
        norms = yield from norms_under_masks(me, rows)
        closest = (norms + (yield from _distances(me, rows, chosen))).reshape(rows.m)
        every, won = list[Shared](), list[HiddenBits]()
        for first in range(1, numbers.outputs, count):
            of_draws = _some(numbers, first, first + count)
            every.append((yield from drawn_rows(me, rows, closest * weights, of_draws)))
            nearer = yield from nearer_by(me, rows, norms - closest, every[-1])
            won.append((yield from least_of(me, (nearer * weights).sum(1))))
            if first + count < numbers.outputs:
                closest = closest + (yield from multiplied(me, won[-1], nearer))
        chosen = joined([chosen, (yield from _chosen(me, every, won))], 0)
    return DrawnRows(chosen.primes, chosen.shape, chosen.residues)


def drawn_rows(me: Party, rows: Rows, amounts: Shared, numbers: HiddenBits) -> Generator[None, None, Shared]:
    """[f] of a row for each rho, shape (draws, width), in proportion to amounts under masks, shape (m,)."""
    draws, sums = numbers.outputs, amounts.running()
    of_bits = numbers.made(DRAW_BITS, draws, np.transpose)
    powers = sums[-1:] * (1 << np.arange(DRAW_BITS)[::-1])
    bounds = yield from multiplied(me, of_bits, powers.reshape(-1, 1))
    above = yield from negative_under_masks(me, bounds.reshape(-1, 1) - sums * (1 << DRAW_BITS))
    length = -(-rows.m // blocks_of(rows.m, rows.width))
    bits = yield from shared_bits(me, _places(me, above, length))
    of_blocks = yield from reduced(me, rows.sums(bits[:, :length]))
    of_blocks = of_blocks.reshape(-1, draws, rows.width)
    picks = [bits[:, at].reshape(1, draws, 1) for at in range(length, bits.shape[1])]
    return (yield from reduced(me, (joined(picks, 0) * of_blocks).sum(0)))


def _places(me: Party, above: HiddenBits, length: int) -> HiddenBits:
    """Where bits change, one-hot, by place in blocks of this length and then by block. The last bit is 1."""
    draws, m = above.outputs, above.rows
    blocks = -(-m // length)

    def places(held: Bools) -> Bools:
        changes = np.zeros((draws, blocks * length), dtype=np.bool_)
        changes[:, :m] = held
        changes[:, m - 1] = me.evaluates
        changes[:, 1:m] ^= changes[:, : m - 1].copy()
        cells = changes.reshape(draws, blocks, length)
        return np.concatenate([np.logical_xor.reduce(cells, axis=axis) for axis in (1, 2)], axis=1)

    return above.made(draws, length + blocks, places)


def nearer_by(me: Party, rows: Rows, norms: Shared, of_rows: Shared) -> Generator[None, None, Shared]:
    """By how much D changes with each of some rows, 0 or less, under masks, shape (c, m).

    `norms` are |f|^2 - D under masks.
    """
    apart = norms + (yield from _distances(me, rows, of_rows))
    below = yield from negative_under_masks(me, apart)
    flat = below.made(1, apart.size, lambda held: held)
    return (yield from multiplied(me, flat, apart.reshape(1, -1))).reshape(*apart.shape)


def least_of(me: Party, totals: Shared) -> Generator[None, None, HiddenBits]:
    """Which total is the least, one-hot, shape (c, 1); ties go to the first. Totals are under masks."""
    a, b = np.triu_indices(totals.size, 1)
    apart = to_compare(me, (totals[b] - totals[a]).reshape(-1, 1))
    won = yield from hidden_signs(me, apart, wins(totals.size), later=True)

    def every(held: Bools) -> Bools:
        return np.concatenate([held, np.logical_xor.reduce(held, axis=0)[np.newaxis] ^ me.evaluates])

    return won.made(totals.size, 1, every)


def _chosen(me: Party, every: Sequence[Shared], won: Sequence[HiddenBits]) -> Generator[None, None, Shared]:
    """[f] of the candidates that have won, shape (rounds, width)."""
    rounds, (count, width) = len(won), every[0].shape
    held = [one.held.reshape(1, -1) for one in won if one.held is not None]
    both = HiddenBits(outputs=rounds, rows=count, held=np.concatenate(held) if held else None)
    bits = (yield from shared_bits(me, both)).reshape(rounds, count, 1)
    return (yield from reduced(me, (bits * joined(list(every), 0).reshape(rounds, count, width)).sum(1)))


def _distances(me: Party, rows: Rows, of_rows: Shared) -> Generator[None, None, Shared]:
    """Squared distances of all rows to some, without |f|^2, under masks, shape (c, m)."""
    scaled, norms = of_rows * -2, (of_rows * of_rows).sum(1)

    def answers(block: slice) -> Answers:
        return rows.affine(scaled, norms, block)

    return (yield from answered(me, rows.m, answers, columns=norms.size))


def _some(bits: HiddenBits, start: int, stop: int) -> HiddenBits:
    return bits.made(stop - start, bits.rows, lambda held: held[start:stop])


def _evaluators(me: Party, count: int) -> bytes:
    """Bits from a key that both evaluators share."""
    first, second = me.roles.evaluators
    words = np.empty(-(-DRAW_BITS * count // _WORD_BITS), dtype=np.uint64)
    me.keys(second if me.number == first else first, _PHASE).bits(_PHASE, 0).fill(words)
    return words.tobytes()[: _OCTETS * count]
