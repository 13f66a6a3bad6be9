"""The set whose mean is nearest to each row: new sets, as shares again.

Opens nothing. The evaluators know Delta = b xor lambda of each row and set, and the dealer lambda. The dealer
gives them additive halves l0 and l1 of lambda modulo each prime. With b = Delta + (1 - 2 Delta) lambda, the
halves Delta + (1 - 2 Delta) l0 and (1 - 2 Delta) l1 add up to b, and each evaluator deals its own like rows.
So no holder gets Delta, with which a dealer that is a holder would know every label.
"""

from collections.abc import Generator, Sequence

import numpy as np

from secfc.comparing.batch_plan import below_zero, wins
from secfc.crypto.keystream import ResidueStream
from secfc.field.array_types import Bools, Floats, Labels, Objects
from secfc.field.packing import BYTES_PER_RESIDUE, from_bytes, size_of, to_bytes, unpack
from secfc.field.residues import reduce
from secfc.operations.masked import masked, packed
from secfc.operations.pairs import pairs, pairs_of, planes_of
from secfc.operations.signs import HiddenBits, hidden_signs
from secfc.operations.sums import Sums
from secfc.protocol.parties.dealing import added, dealt
from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.party import Half, Party
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
    """Which of <x>, or [x], shape (size,), are below 0: [b], shape (size,), block by block."""
    step, bits = rows_at_once(2, len(me.code.primes)), list[Shared]()
    for start in range(0, numbers.size, step):
        some = numbers[start : start + step]
        hidden = yield from masked(me, packed(some), columns=1, rows=some.size)
        signs = yield from hidden_signs(me, hidden, below_zero(1))
        bits.append((yield from shared_bits(me, signs)).reshape(-1))
    return joined(bits, 0)


def shared_bits(me: Party, bits: HiddenBits) -> Generator[None, None, Shared]:
    """[b] of bits that stayed under masks, shape (outputs, rows)."""
    shape = bits.outputs, bits.rows
    half = yield from halves(me, bits.held if me.deals else None, shape)
    if half is not None and bits.held is not None:
        half = (1.0 - 2.0 * bits.held) * half
        half = half + bits.held if me.number == me.roles.first else half
    return (yield from from_halves(me, half, shape))


def halves(me: Party, numbers: Bools | None, shape: tuple[int, int]) -> Generator[None, None, Floats | None]:
    """Additive halves modulo each prime of the dealer's numbers, shape (P, *shape), at each evaluator."""
    parts = []
    if numbers is not None:
        parts.append(_dealer(me, numbers))
    if me.number == me.roles.first:
        parts.append(_first(me, shape))
    if me.number == me.roles.second:
        parts.append(_second(me, shape))
    found = yield from me.together(parts)
    return found[0] if me.evaluates else None


def from_halves(me: Party, half: Floats | None, shape: tuple[int, int]) -> Generator[None, None, Shared]:
    """[x], the same in all segments, of the halves of x that the evaluators have."""
    size, segments = shape[0] * shape[1], None
    if half is not None:
        mine = reduce(half, me.code.moduli).reshape(len(me.code.primes), 1, size)
        segments = np.repeat(mine, me.code.ell, axis=1)
    found = yield from dealt(me, dict.fromkeys(me.roles.evaluators, size), segments)
    return added(me, [one.shared for one in found.values()], size).reshape(*shape)


def _dealer(me: Party, numbers: Bools) -> Half:
    first, second = me.roles.evaluators
    rest = reduce(numbers.astype(np.float64) - _of_first(me, first, numbers.shape), me.code.moduli)
    me.send(second, "half", to_bytes(rest, me.code.primes))
    return
    yield


def _first(me: Party, shape: tuple[int, int]) -> Half:
    return _of_first(me, me.number, shape)
    yield


def _second(me: Party, shape: tuple[int, int]) -> Half:
    dealer = me.roles.dealer
    given = (yield Wait("half", (dealer,), size_of(shape[0] * shape[1], me.code.primes)))[dealer]
    return from_bytes(given, shape, me.code.primes)


def _of_first(me: Party, evaluator: int, shape: tuple[int, ...]) -> Floats:
    """l0, from a key that the dealer and the first evaluator share, shape (P, outputs, rows)."""
    other = me.roles.dealer if me.number == evaluator else evaluator
    stream = ResidueStream(me.keys(other, f"{_PHASE} {evaluator}").key(_PHASE, 0), me.kernels)
    drawn = np.empty((len(me.code.primes), shape[0], BYTES_PER_RESIDUE * shape[1]), dtype=np.uint8)
    stream.fill(drawn, me.code.primes)
    return unpack(drawn)
