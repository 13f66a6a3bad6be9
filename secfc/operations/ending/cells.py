"""Columns that are not clustered, by cluster: counts, sums and squares over the rows of all clients.

A client knows the labels of its own rows. So it computes its own part of each *cell*, a column in a cluster,
and deals it with a proof. Sums of shares are shares of the totals. Of each cell it deals two bits too:
whether it *holds* the cell (enough of its rows have a value there), and whether its own part is *small* (too
few, but some, or it refuses the cell, or it cannot read all of its labels). A column is opened if all its
cells have t + 2 clients that hold them, and no part is small. t clients that lie may claim to hold a cell, so
at least two others do.

Opens to everybody whose numbers are in, that their bits are bits, and a bit a column; to clients the totals
of columns that pass. Which clusters have rows is known. If the numbers of a client with rows are not in,
nothing is opened: a table of the others, beside one of all, would give that client's part.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Self

import numpy as np

from secfc.errors import CheatError
from secfc.errors.codes import Code
from secfc.field.array_types import Bools, Floats, Ints, Labels, Objects
from secfc.field.mixed_radix import MixedRadix
from secfc.field.residues import MAX_ROWS
from secfc.operations.beginning.rows import SharedRows, dealers_inside
from secfc.operations.beginning.totals import STEPS, are_possible, code_of_totals, moments
from secfc.operations.checking.check import settled
from secfc.operations.opening import nonzero, opened_to
from secfc.operations.reduction import reduced
from secfc.operations.under_masks import negative
from secfc.protocol.job.cases import Described
from secfc.protocol.parties.dealing import added, dealt_by_owners
from secfc.protocol.parties.party import Party
from secfc.sharing.shared import Shared, joined

Refuses = Callable[[Bools], Bools]
"""Of cells, shape (cells, m_j): which rows are in each. Whether the client refuses to open each."""


def refuses_none(cells: Bools) -> Bools:
    """No cell."""
    return np.zeros(len(cells), dtype=np.bool_)


@dataclass(frozen=True, kw_only=True)
class OwnColumns:
    """A client's described columns.

    `values`, shape (columns, m_j), are numbers from 0 to `totals.STEPS`, or the number of a category; -1 is a
    missing one. `refuses` is asked of all cells, before anything is dealt.
    """

    values: Ints = field(repr=False)
    refuses: Refuses = field(default=refuses_none, repr=False)

    def check(self, described: Described, *, m: int) -> bool:
        """Whether these are columns of m rows that the job describes."""
        if self.values.shape != (len(described.categories), m):
            return False
        most = np.array([(one or STEPS + 1) - 1 for one in described.categories]).reshape(-1, 1)
        return bool(((self.values >= -1) & (self.values <= most)).all())


@dataclass(frozen=True, kw_only=True)
class Counted:
    """What clients learn, by column: first of the rows themselves, then of described columns.

    `numbers` of a column have shape (clusters, width): the number of rows; count, sum and sum of squares; or
    counts by category. They are of the `clusters` that have rows, and None for a column with too few rows in
    a cell. `clients` are those whose rows are in.
    """

    clients: tuple[int, ...]
    clusters: tuple[int, ...]
    numbers: tuple[Objects | None, ...] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The argument of `of` that gives this, for JSON."""
        numbers = [None if one is None else one.tolist() for one in self.numbers]
        return {"clients": self.clients, "clusters": self.clusters, "numbers": numbers}

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Self:
        """What `to_dict` gave."""
        numbers = [None if one is None else np.array(one, dtype=object) for one in value["numbers"]]
        return cls(clients=tuple(value["clients"]), clusters=tuple(value["clusters"]), numbers=tuple(numbers))


def described_cells(
    me: Party,
    rows: SharedRows,
    described: Described,
    full: Sequence[int],
    own: tuple[Labels, OwnColumns] | None,
) -> Generator[None, None, Counted | None]:
    """What is opened of clusters `full`, of a client's `own` labels and columns. None at other parties.

    CheatError for numbers that no rows have. All is computed with one segment and the primes of totals.
    """
    yield from settled(me)
    parts = None
    if own is not None:
        labels, columns = own
        parts = own_parts(labels, columns, described, full)
    dealers = [j for j, count in enumerate(rows.layout.counts, 1) if count]
    with me.sharing_by(code_of_totals(me)):
        clients, found = yield from opened_cells(me, rows, dealers, parts, described, len(full))
    if found is None:
        return None
    most = sum(rows.layout.counts[j - 1] for j in clients)
    _check(found, described, most)
    return Counted(clients=tuple(clients), clusters=tuple(full), numbers=tuple(found))


def own_parts(labels: Labels, own: OwnColumns, described: Described, full: Sequence[int]) -> list[int]:
    """What a client deals: bits of all cells that it holds, bits of small ones, and all numbers."""
    inside = labels == np.array(full).reshape(-1, 1)
    known = np.concatenate([np.ones((1, labels.size), dtype=np.bool_), own.values >= 0])
    cells = (known[:, np.newaxis] & inside).reshape(known.shape[0] * len(full), labels.size)
    counts = cells.sum(axis=1)
    holds = counts >= described.smallest
    # A comparer that lies makes labels that cannot be read. Counts would tell it how many, so of which label.
    small = ((counts > 0) & ~holds) | own.refuses(cells) | ~inside.any(axis=0).all()
    numbers = counts[: len(full)].tolist()
    for values, categories, of_column in zip(
        own.values, described.categories, cells[len(full) :].reshape(-1, len(full), labels.size), strict=True
    ):
        for cell in of_column:
            if categories:
                numbers += np.bincount(values[cell], minlength=categories).tolist()
            else:
                numbers += moments(values[cell])
    return [*map(int, holds), *map(int, small), *numbers]


def opened_cells(
    me: Party,
    rows: SharedRows,
    dealers: Sequence[int],
    own: list[int] | None,
    described: Described,
    full: int,
) -> Generator[None, None, tuple[list[int], list[Objects | None] | None]]:
    """Whose numbers are in, and at clients those of columns that pass, of so many clusters."""
    cells, length = described.columns * full, described.numbers * full
    segments = None
    if own is not None and me.number in dealers:
        segments = np.array([[[one % p for one in own]] for p in me.code.primes], dtype=np.float64)
    dealings = yield from dealt_by_owners(me, dict.fromkeys(dealers, 2 * cells + length), segments)
    clients = dealers_inside(me, rows, dealings)
    if clients != list(dealers):
        return clients, [None] * described.columns if me.holds else None
    nothing = np.zeros((len(me.code.primes), 2 * cells + length))
    parts = list[Floats]()
    if me.holds:  # one that refused some sends no shares
        parts = [dealings.shares[j].shared if j in dealings.shares else nothing for j in clients]
    # What bits are modulo other primes is not checked, and not used.
    with me.sharing_by(me.code.first_prime()):
        bits = [
            Shared(me.code.primes, (2 * cells,), parts[at][:1, : 2 * cells] if parts else None)
            for at in range(len(clients))
        ]
        passed = yield from _passed(me, clients, bits, described.columns)
    total = added(me, parts, 2 * cells + length)
    ends = np.cumsum([2 * cells, *(full * one for one in described.widths)])
    of_columns = [total[start:end] for start, end in pairwise(ends.tolist())]
    kept = [one for one, passes in zip(of_columns, passed, strict=True) if passes]
    opened = (yield from opened_to(me, me.roles.holders, joined(kept, 0), "described")) if kept else None
    if not me.holds:
        return clients, None
    found = iter(list[Objects]())
    if opened is not None:
        radix = MixedRadix(me.code.primes)
        integers = radix.integers(radix.digits(opened[:, 0]))
        found = iter(np.split(integers, np.cumsum([one.size for one in kept])[:-1]))
    return clients, [next(found).reshape(full, -1) if passes else None for passes in passed]


def _passed(
    me: Party, clients: Sequence[int], bits: Sequence[Shared], columns: int
) -> Generator[None, None, list[bool]]:
    """Which columns pass, of each client's bits: of cells that it holds, and of small ones.

    CheatError names a client whose numbers are no bits.
    """
    if not clients:
        return [False] * columns
    every = joined([one.reshape(1, one.size) for one in bits], 0)
    wrong = yield from nonzero(me, (yield from reduced(me, every * every - every)))
    yield from settled(me)  # a wrong share of another would accuse a client
    liars = [client for client, is_wrong in zip(clients, wrong.tolist(), strict=True) if is_wrong]
    if liars:
        text = f"described: what client {liars[0]} dealt are no bits"
        raise CheatError(text, code=Code.BAD_MESSAGE, clients=liars)
    cells = every.shape[1] // 2
    sums = every.sum(0)
    few = yield from negative(me, sums[:cells] - (me.code.t + 2))
    # Side by side: who shifts what was compared cannot make up for a small part.
    of_columns = [one.reshape(columns, cells // columns) for one in (few, sums[cells:])]
    fails = yield from nonzero(me, joined(of_columns, 1))
    yield from settled(me)  # before the numbers are opened, modulo more primes
    return [not fail for fail in fails.tolist()]


def _check(found: Sequence[Objects | None], described: Described, most: int) -> None:
    """CheatError for numbers that no `most` rows have."""
    for at, (numbers, categories) in enumerate(zip(found, (1, *described.categories), strict=True)):
        if numbers is None:
            continue
        counts = numbers.sum(axis=1) if categories else numbers[:, 0]
        possible = counts.sum() <= min(most, MAX_ROWS)
        if not categories:
            possible = possible and all(are_possible(*cell) for cell in numbers.tolist())
        if not possible:
            raise CheatError(
                f"described: no rows have the opened numbers of column {at}, so some client sent wrong "
                "numbers; shares hide which client",
                code=Code.IMPOSSIBLE_TOTALS,
            )
