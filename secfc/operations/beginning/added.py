"""Rows of a union of IDs: every client shares a vector for every row, its own row or zeros, and they add up.

So nobody learns whose rows are whose. With each row a client shares a cover: for its own rows uniform
residues modulo the first prime, and zeros for all others. Each row is one client's, so the sum of all covers
is known to that client and nobody else (`secfc.operations.to_owners`).

Opens nothing. No client can be left out, because every one has a part of every row.
"""

from collections.abc import Generator
from fractions import Fraction

import numpy as np

from secfc.errors import CheatError, TooManyFaultsError
from secfc.errors.codes import Code
from secfc.field.array_types import Floats, Ints, Shares
from secfc.field.fixed_point import quantise
from secfc.field.packing import pack
from secfc.field.residues import reduce
from secfc.operations.beginning.rows import BLOCK, Covers, SharedRows, set_aside
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.parties.dealing import Dealings, dealt_by_owners
from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.party import Half, Party, at_once
from secfc.sharing.codewords import split
from secfc.sharing.rows import Allocate, Rows
from secfc.sharing.shared import Shared
from secfc.sharing.unread import Pair, cannot_be_honest, open_pairs

UNION_IS_OPEN = (
    ". Before you repeat the run without that client: the union of the new run would show how many rows "
    "that client held, and somebody who can guess IDs would learn which"
)
"""A warning for whoever wants to repeat a run with membership privacy without one of its clients."""

_COUNT_BYTES = 4
_AT_ONCE = 4 * BLOCK
"""Residues that all clients deal at a time, at most: a holder gets as many."""


class OwnRows:
    """A client's own rows, (m_j, d), of a union, and their distinct numbers in it. Others are zeros.

    A row with the number -1 is not in the union, and is not shared.
    """

    def __init__(self, rows: Floats, numbers: Ints) -> None:
        self._rows, self.numbers, self._order = rows, numbers, np.argsort(numbers)

    def block(self, rows: slice) -> Floats:
        """The rows to share with these numbers. They are made again each time and never stored."""
        held, places = self.among(rows)
        block = np.zeros((rows.stop - rows.start, self._rows.shape[1]))
        block[places] = self._rows[held]
        return block

    def among(self, rows: slice) -> tuple[Ints, Ints]:
        """Which of its own rows have one of these numbers, and the places of these numbers."""
        low, high = np.searchsorted(self.numbers, [rows.start, rows.stop], sorter=self._order)
        held = self._order[low:high]
        return held, self.numbers[held] - rows.start

    def forget(self) -> None:
        """Drop the rows, once they are shared."""
        self._rows = self._rows[:0].copy()


def agreed_rows(me: Party, m: int, most: int) -> Generator[None, None, int]:
    """The number of rows of the union, which all clients know. A helper, who takes no part in it, is told.

    CheatError unless all clients tell the same, from 1 to `most`.
    """
    halves = [_told(me, most)]
    if me.holds:
        halves.append(at_once(me.tell, "rows", m.to_bytes(_COUNT_BYTES, "little")))
    found: list[int] = yield from me.together(halves)
    if me.holds and found[0] != m:
        raise CheatError(f"the union has {m} rows here and {found[0]} elsewhere", code=Code.BAD_MESSAGE)
    return found[0]


def _told(me: Party, most: int) -> Half:
    told = yield Wait("rows", tuple(me.roles.holders), _COUNT_BYTES)
    said = {int.from_bytes(one, "little") for one in told.values()}
    if len(said) > 1 or not 1 <= min(said) <= most:
        text = f"clients told that the union has {', '.join(map(str, sorted(said)))} rows, at most {most} fit"
        raise CheatError(text, code=Code.BAD_MESSAGE)
    (m,) = said
    me.note(m.to_bytes(_COUNT_BYTES))
    return m


def added_rows(
    me: Party, layout: Layout, own: OwnRows | None, *, unit: Fraction, width: int, allocate: Allocate
) -> Generator[None, None, SharedRows]:
    """Share and add up the rows of a union. A client's `own` are dropped then.

    `unit` becomes 1, and a segment has `width` columns. TooManyFaultsError if a client is lost, or deals
    wrongly.
    """
    primes, n, m = me.code.primes, me.code.n, layout.m
    step = max(1, min(BLOCK, _AT_ONCE // n) // (len(primes) * (width + 1)))
    held = allocate((len(primes), width + 1, m)) if me.holds else None
    covers = np.zeros((1, m)) if me.holds else None
    mine = np.empty((me.code.ell, 0)) if own is None else _covers(me, own.numbers.size)
    refused, cheats = set[Pair](), dict[int, str]()
    for first in range(0, m, step):
        rows = slice(first, min(first + step, m))
        sizes = dict.fromkeys(me.roles.holders, (width + 1) * (rows.stop - first))
        segments = None if own is None else _segments(me, own, rows, unit, mine)
        dealings = yield from dealt_by_owners(me, sizes, segments)
        _check(dealings, sizes.keys() - set(dealings.kept))
        if held is not None and covers is not None:
            _store(me, dealings, held, covers, rows)
        refused |= dealings.refused
        cheats |= cannot_be_honest(refused, known=cheats, most=me.max_liars)
        _check_dealers(refused, cheats)
    set_aside(me, cheats, refused)
    numbers = None
    if own is not None:
        numbers = own.numbers
        own.forget()
    return SharedRows(
        rows=Rows(primes, width, m, held, me.kernels),
        layout=layout,
        lost=(),
        cheats=cheats,
        unread=tuple(open_pairs(refused, cheats)),
        covers=Covers(shared=Shared(primes[:1], (m,), covers), own=mine, numbers=numbers),
    )


def _covers(me: Party, count: int) -> Floats:
    """Fresh ones, shape (ell, count), modulo the first prime."""
    return me.masks.uniform(me.code.primes[0], (me.code.ell, count))


def _segments(me: Party, own: OwnRows, rows: slice, unit: Fraction, mine: Floats) -> Floats:
    """Those of rows and then those of covers, shape (P, ell, (width + 1) * rows)."""
    code, count = me.code, rows.stop - rows.start
    values = split(quantise(own.block(rows), unit), code.ell).reshape(code.ell, -1)
    covers = np.zeros((code.ell, count))
    held, places = own.among(rows)
    covers[:, places] = mine[:, held]
    return reduce(np.concatenate([values, covers], axis=1)[np.newaxis], code.moduli)


def _store(me: Party, dealings: Dealings, held: Shares, covers: Floats, rows: slice) -> None:
    """Add up what was dealt and store it. A holder that refused some has wrong sums, and sends no shares."""
    code, primes, count = me.code, me.code.primes, rows.stop - rows.start
    total = np.zeros((len(primes), held.shape[1] * count))
    for one in dealings.shares.values():
        total = reduce(total + one.shared, code.moduli[..., 0])
    shares = total.reshape(len(primes), -1, count)
    me.kernels.store(pack(shares[:, :-1], code.moduli), primes, held, rows.start)
    covers[:, rows] = shares[:1, -1]


def _check(dealings: Dealings, lost: set[int]) -> None:
    if lost:
        text = (
            f"client {', '.join(map(str, sorted(lost)))} is absent before all rows were shared; with "
            "membership privacy no client can be left out, because every client holds a part of every row"
        )
        raise TooManyFaultsError(text + UNION_IS_OPEN, code=Code.UNION_OPENED, clients=sorted(lost))


def _check_dealers(refused: set[Pair], cheats: dict[int, str]) -> None:
    """A client in `cheats` that dealt shares that others refuse ends the run: its part cannot be removed."""
    dealt = sorted(dealer for dealer in cheats if any(pair[0] == dealer for pair in refused))
    if dealt:
        said = "; ".join(f"client {dealer}: {cheats[dealer]}" for dealer in dealt)
        raise TooManyFaultsError(
            f"clients lied about shares, or the server withheld them: {said}; with membership privacy a "
            "client whose shares are refused cannot be left out, because every client holds a part of every "
            f"row{UNION_IS_OPEN}",
            clients=dealt,
        )
