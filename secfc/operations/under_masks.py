"""Numbers under masks, as `Shared` among those who compare: y = x + r at both evaluators, r at the dealer.

Each does alone what is linear. What follows from several numbers under masks tells an evaluator nothing more:
it knows them already. Opens nothing.
"""

from collections.abc import Callable, Generator
from typing import TypeVar

import numpy as np

from secfc.comparing.batch_plan import below_zero
from secfc.field.array_types import Ints
from secfc.field.packing import PackedResidues, unpack
from secfc.field.residues import reduce
from secfc.operations.masked import Masked, masked
from secfc.operations.signs import (
    HiddenBits,
    from_halves,
    halves_of,
    hidden_signs,
    rows_at_once,
    shared_bits,
)
from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.party import Half, Party
from secfc.sharing.rows import Answers, Rows, answers_of
from secfc.sharing.shared import Shared, joined

T = TypeVar("T")


def under_masks(me: Party, of: Masked) -> Shared:
    """The same numbers, shape (columns, rows), as residues."""
    held = None if of.held is None else reduce(unpack(of.held.planes()), me.code.moduli)
    return Shared(me.code.primes, of.shape[1:], held)


def to_compare(me: Party, numbers: Shared) -> Masked:
    """The same packed, shape (P, columns, rows)."""
    columns, rows = numbers.shape
    held = None if numbers.residues is None else PackedResidues.of(numbers.residues, me.code.moduli)
    return Masked(shape=(len(me.code.primes), columns, rows), held=held)


def public(me: Party, value: int, count: int) -> Shared:
    """So many times a number that everybody knows, shape (1, count): masks are 0."""
    found = None
    if me.number in me.roles.comparers:
        held = [[float(value % p if me.evaluates else 0)] for p in me.code.primes]
        found = np.repeat(held, count, axis=1)[:, np.newaxis]
    return Shared(me.code.primes, (1, count), found)


def by_blocks(
    me: Party, size: int, act: Callable[[slice], Generator[None, None, T]], *, columns: int = 1
) -> Generator[None, None, list[T]]:
    """What is found for so many rows, some at a time. In between the dealer waits, so as not to be ahead."""
    step, found = max(1, rows_at_once(2, len(me.code.primes)) // columns), list[T]()
    for start in range(0, size, step):
        if start:
            yield from me.together([_pause(me)])
        found.append((yield from act(slice(start, min(start + step, size)))))
    return found


def _pause(me: Party) -> Half:
    if me.evaluates:
        me.send(me.roles.dealer, "has come", b"\1")
    if me.deals:
        yield Wait("has come", me.roles.evaluators, 1)


def answered(
    me: Party, m: int, answers: Callable[[slice], Answers], *, columns: int = 1
) -> Generator[None, None, Shared]:
    """What holders answer for all rows, shape (columns, m)."""

    def some(block: slice) -> Generator[None, None, Shared]:
        return under_masks(me, (yield from masked(me, answers(block))))

    return joined((yield from by_blocks(me, m, some, columns=columns)), 1)


def norms_under_masks(me: Party, rows: Rows) -> Generator[None, None, Shared]:
    """|f|^2, segments added up, shape (1, m). It is answered, and checked, once."""
    if rows.masked_norms is None:
        rows.masked_norms = yield from answered(me, rows.m, lambda block: answers_of(rows.norms[block]))
    return rows.masked_norms


def negative_under_masks(
    me: Party, numbers: Shared, *, later: bool = True
) -> Generator[None, None, HiddenBits]:
    """Which numbers are below 0, in their shape, (columns, rows). For `later` see `hidden_signs`."""
    (columns, size), flat = numbers.shape, numbers.reshape(1, numbers.size)

    def some(block: slice) -> Generator[None, None, HiddenBits]:
        return (yield from hidden_signs(me, to_compare(me, flat[:, block]), below_zero(1), later=later))

    parts = yield from by_blocks(me, numbers.size, some)
    held = [one.held for one in parts if one.held is not None]
    found = np.concatenate(held, axis=1).reshape(columns, size) if held else None
    return HiddenBits(outputs=columns, rows=size, held=found)


def negative(me: Party, numbers: Shared, *, later: bool = False) -> Generator[None, None, Shared]:
    """Which of <x>, or [x], shape (size,), are below 0: [b], shape (size,)."""
    held = yield from answered(me, numbers.size, lambda block: answers_of(numbers[block]))
    bits = yield from negative_under_masks(me, held, later=later)
    return (yield from shared_bits(me, bits)).reshape(numbers.size)


def counted(me: Party, bits: HiddenBits, ends: Ints) -> Generator[None, None, Shared]:
    """[n], shape (len(ends),): how many bits, shape (1, size), are 1 between an end and the one before."""

    def some(block: slice) -> Generator[None, None, Shared]:
        of_block = bits.made(1, block.stop - block.start, lambda held: held[:, block])
        half = yield from halves_of(me, of_block)
        if half is not None:
            before = np.pad(half.cumsum(axis=2), ((0, 0), (0, 0), (1, 0)))  # exact for 2**29 bits
            cuts = np.clip(ends, block.start, block.stop) - block.start
            half = reduce(np.diff(before[:, :, cuts], axis=2, prepend=0.0), me.code.moduli)
        return (yield from from_halves(me, half, (1, len(ends)))).reshape(len(ends))

    first, *others = yield from by_blocks(me, bits.rows, some)
    return sum(others, first)
