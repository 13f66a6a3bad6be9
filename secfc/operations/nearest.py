"""The set whose mean is nearest to each row: new sets, as shares again.

Opens nothing. The evaluators know Delta = b xor lambda of each row and set, and the dealer lambda. The dealer
gives them additive halves l0 and l1 of lambda modulo each prime. With b = Delta + (1 - 2 Delta) lambda, the
halves Delta + (1 - 2 Delta) l0 and (1 - 2 Delta) l1 add up to b, and each evaluator deals its own like rows.
So no holder gets Delta, with which a dealer that is a holder would know every label.
"""

from collections.abc import Generator, Sequence

import numpy as np

from secfc.crypto.keystream import ResidueStream
from secfc.field.array_types import Bools, Floats, Labels, Objects
from secfc.field.packing import BYTES_PER_RESIDUE, unpack
from secfc.field.residues import reduce
from secfc.operations.masked import masked, packed
from secfc.operations.pairs import pairs, pairs_of, planes_of
from secfc.operations.signs import HiddenBits, below_zero, hidden_signs, wins
from secfc.operations.sums import Sums
from secfc.protocol.parties.dealing import added, dealt
from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.party import Half, Party
from secfc.sharing.residue_bytes import from_bytes, size_of, to_bytes
from secfc.sharing.rows import Rows
from secfc.sharing.shared import Shared, joined

_PHASE = "halves"
_AT_ONCE = 1 << 22
"""Residues of an answer; gates take about four times as many bytes."""


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


def rows_at_once(k: int, primes: int) -> int:
    """Rows that are compared at a time, so that messages stay below some fifty megabytes."""
    return max(1, _AT_ONCE // (k * (k - 1) // 2 * primes))


def negative(me: Party, numbers: Shared) -> Generator[None, None, Shared]:
    """Which of <x>, or [x], shape (size,), are below 0: [b], shape (size,)."""
    hidden = yield from masked(me, packed(numbers), columns=1, rows=numbers.size)
    return (yield from shared_bits(me, (yield from hidden_signs(me, hidden, below_zero(1))))).reshape(-1)


def shared_bits(me: Party, bits: HiddenBits) -> Generator[None, None, Shared]:
    """[b] of bits that stayed under masks, shape (outputs, rows)."""
    size, halves = bits.outputs * bits.rows, []
    if me.deals and bits.held is not None:
        halves.append(_dealer(me, bits.held))
    if me.evaluates and bits.held is not None:
        halves.append(_evaluator(me, bits.held))
    made = yield from me.together(halves)
    segments = made[0] if me.evaluates else None
    found = yield from dealt(me, dict.fromkeys(me.roles.evaluators, size), segments)
    return added(me, [one.shared for one in found.values()], size).reshape(bits.outputs, bits.rows)


def _dealer(me: Party, masks: Bools) -> Half:
    first, second = me.roles.evaluators
    rest = reduce(masks.astype(np.float64) - _of_first(me, first, masks.shape), me.code.moduli)
    me.send(second, "half", to_bytes(rest, me.code.primes))
    return
    yield


def _evaluator(me: Party, deltas: Bools) -> Half:
    """Its half of the bits, the same in all segments, shape (P, ell, outputs * rows)."""
    code, signs = me.code, 1.0 - 2.0 * deltas
    if me.number == me.roles.first:
        mine = deltas + signs * _of_first(me, me.number, deltas.shape)
    else:
        dealer = me.roles.dealer
        given = (yield Wait("half", (dealer,), size_of(deltas.size, code.primes)))[dealer]
        mine = signs * from_bytes(given, deltas.shape, code.primes)
    mine = reduce(mine, me.code.moduli).reshape(len(code.primes), 1, -1)
    return np.repeat(mine, code.ell, axis=1)


def _of_first(me: Party, evaluator: int, shape: tuple[int, ...]) -> Floats:
    """l0, from a key that the dealer and the first evaluator share, shape (P, outputs, rows)."""
    other = me.roles.dealer if me.number == evaluator else evaluator
    stream = ResidueStream(me.keys(other, f"{_PHASE} {evaluator}").key(_PHASE, 0), me.kernels)
    drawn = np.empty((len(me.code.primes), shape[0], BYTES_PER_RESIDUE * shape[1]), dtype=np.uint8)
    stream.fill(drawn, me.code.primes)
    return unpack(drawn)
