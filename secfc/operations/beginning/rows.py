"""The rows of all owners, shared block by block and proved. Opens whose rows are in, and nothing else.

Owners that are lost before their proof is there are left out. With `max_liars` A, a holder that refuses an
owner's shares says so; who must lie then, unless the server does, is left out too (`secfc.sharing.unread`).
"""

from collections.abc import Collection, Generator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from secfc.errors import TooManyFaultsError
from secfc.field.array_types import Floats, Ints, Shares
from secfc.field.packing import pack
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.parties.dealing import Dealings, Dealt, dealt_by_owners
from secfc.protocol.parties.party import Party
from secfc.sharing.rows import Allocate, Rows
from secfc.sharing.shared import Shared
from secfc.sharing.unread import Pair, apart, cannot_be_honest, open_pairs

BLOCK = 1 << 22
"""Residues that one owner deals at a time, at most."""


@dataclass(frozen=True, kw_only=True)
class Covers:
    """Of rows whose owners nobody knows: [sum of all clients' covers], shape (m,), modulo the first prime.

    A client has its `own`, shape (ell, m_j), and the `numbers` of its rows, shape (m_j,), -1 for one that is
    not in the union.
    """

    shared: Shared
    own: Floats = field(repr=False)
    numbers: Ints | None = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class SharedRows:
    """The rows that are in, `layout`, and why others are not.

    `lost` are owners that were lost, `cheats` parties that lied unless the server did, by number, with the
    reason. `unread` are other pairs of an owner and a holder that refuses its shares. Rows of a union have
    `covers`.
    """

    rows: Rows
    layout: Layout
    lost: tuple[int, ...]
    cheats: dict[int, str]
    unread: tuple[Pair, ...]
    covers: Covers | None = None

    @property
    def left_out(self) -> dict[int, str]:
        """Owners whose rows are not in, with the reason."""
        return {} if self.layout.common else dict.fromkeys(self.lost, "absent") | self.cheats


def shared_rows(
    me: Party, planned: Layout, own: list[Floats], *, unit: Fraction, width: int, allocate: Allocate
) -> Generator[None, None, SharedRows]:
    """Share and store the rows of all owners of a layout. TooManyFaultsError if too many parties lie.

    A party's own rows, shape (m_j, d), are in a list from which they are taken; others have an empty one.
    `unit` becomes 1, and a segment has `width` columns.
    """
    primes = me.code.primes
    step = max(1, BLOCK // (len(primes) * width))
    left = {owner for owner, count in enumerate(planned.counts, 1) if count}
    rows_left = own.pop() if own else None  # nothing else keeps them
    held = allocate((len(primes), width + 1, planned.m)) if me.holds else None
    lost, refused, cheats = set[int](), set[Pair](), dict[int, str]()
    for first in range(0, max(planned.counts), step):
        parts = {owner: _part(planned.rows(owner), first, step) for owner in sorted(left)}
        sizes = {owner: width * (part.stop - part.start) for owner, part in parts.items() if part != _NONE}
        if not sizes:
            break
        segments = None
        if me.number in sizes and rows_left is not None:
            segments = me.code.segments(rows_left[first : first + step], unit)
        dealings = yield from dealt_by_owners(me, sizes, segments)
        if held is not None:
            for owner in sizes:
                _store(me, dealings.shares.get(owner), held, parts[owner])
        if dealings.refused:
            refused |= dealings.refused
            cheats |= cannot_be_honest(refused, known=cheats, most=me.max_liars)
        lost |= sizes.keys() - set(dealings.kept)
        left -= lost | cheats.keys()
    out = lost | cheats.keys()
    set_aside(me, cheats, {pair for pair in refused if pair[0] not in out})
    unread = open_pairs(refused, out)
    layout = planned.without(out)
    rows = Rows(primes, width, layout.m, _kept(held, planned, layout), me.kernels)
    return SharedRows(rows=rows, layout=layout, lost=tuple(sorted(lost)), cheats=cheats, unread=tuple(unread))


_NONE = slice(0, 0)


def _part(own: slice, first: int, step: int) -> slice:
    """The rows of a block, among all rows."""
    start = own.start + first
    return slice(start, min(start + step, own.stop)) if start < own.stop else _NONE


def _store(me: Party, dealt: Dealt | None, held: Shares, rows: slice) -> None:
    """Store shares, or zeros for what was not dealt or was refused: then a holder sends no shares."""
    primes = me.code.primes
    if dealt is None:
        held[..., rows] = 0
        return
    shares = dealt.shared.reshape(len(primes), held.shape[1] - 1, -1)
    me.kernels.store(pack(shares, me.code.moduli), primes, held, rows.start)


def _kept(held: Shares | None, planned: Layout, layout: Layout) -> Shares | None:
    """The shares of rows that are in."""
    if held is None or layout.m == planned.m:
        return held
    inside = np.zeros(planned.m, dtype=np.bool_)
    for owner, count in enumerate(layout.counts, 1):
        if count:
            inside[planned.rows(owner)] = True
    return held.compress(inside, axis=2)  # in C order, as loops need


def set_aside(me: Party, cheats: dict[int, str], refused: Collection[Pair]) -> None:
    """Use no shares of `cheats`, nor of holders that lack what is in. They send none (`Party.send_share`).

    `refused` are all pairs so far whose dealer's part is in. `max_liars` stays as it is, because the server
    can have withheld what is refused: then all in a pair are honest, and as many others may lie as before.
    TooManyFaultsError if more parties would have to lie.
    """
    if len(cheats) + len(apart(open_pairs(refused, cheats))) > me.max_liars:
        text = (
            f"more than max_liars={me.max_liars} parties lie about shares that were dealt, or the server does"
        )
        raise TooManyFaultsError(text)
    me.accused |= cheats.keys()
    me.unsure |= cheats.keys() | {holder for _, holder in refused}


def dealers_inside(me: Party, rows: SharedRows, dealings: Dealings) -> list[int]:
    """Of what was dealt after rows: the dealers whose part is used.

    A holder that lacks rows stays aside, also if their owner is found to lie by what it dealt later.
    """
    refused = {*rows.unread, *dealings.refused}
    cheats = rows.cheats | cannot_be_honest(refused, known=rows.cheats, most=me.max_liars)
    set_aside(me, cheats, {pair for pair in refused if pair[0] not in cheats})
    return [j for j in dealings.kept if j not in cheats]
