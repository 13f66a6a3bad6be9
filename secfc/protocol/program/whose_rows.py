"""Whose rows a run clusters: how they come to be shared, and to whom final labels go."""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace

import numpy as np

from secfc.field.array_types import Floats, Ints, Labels
from secfc.field.primes import primes_of
from secfc.operations.beginning.added import OwnRows, added_rows, agreed_rows
from secfc.operations.beginning.deposited import HeldDeposits, deposited_rows
from secfc.operations.beginning.rows import SharedRows, shared_rows
from secfc.operations.beginning.totals import Addends, totals_of
from secfc.operations.beginning.united import united
from secfc.operations.checking.check import settled
from secfc.operations.to_owners import to_owners, under_covers
from secfc.protocol.job.cases import Deposited, Union
from secfc.protocol.job.job import Job
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.parties.party import Party
from secfc.psu.plan import salt_of
from secfc.psu.tokens import RowIds
from secfc.sharing.rows import Allocate
from secfc.sharing.shared import Shared


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Given:
    """What a party has of the rows: its own, shape (m_j, d), or deposits of owners.

    Own rows are in a list from which they are taken when they are shared; a party without rows has an empty
    one. Where the job prepares a client makes them of its `addends` instead. With a union a client has their
    `ids` too, and all may have a `salt`. By default it is of this run alone.
    """

    own: list[Floats]
    allocate: Allocate
    ids: RowIds | None = None
    salt: bytes | None = None
    deposits: HeldDeposits | None = None
    addends: Addends | None = None


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """The labels of a party's `own` rows. None at a party without rows.

    `shares` are those of a holder of deposits, shape (k, m): of the sets of all rows, modulo the first prime.
    The owners, who take no part in the run, open them.
    """

    own: Labels | None = field(repr=False)
    shares: Floats | None = field(default=None, repr=False)


def rows_of(
    me: Party, job: Job, planned: Layout, given: Given, on_union: Callable[[Layout, Ints | None], None]
) -> Generator[None, None, SharedRows]:
    """The rows of a layout, shared. Of a union the layout has the most rows, and it is found here."""
    unit, width, allocate = job.unit, job.width, given.allocate
    if isinstance(job.rows, Deposited):
        return deposited_rows(me, planned, given.deposits, width=width, allocate=allocate)
    if job.prepares:
        totals = yield from totals_of(me, job.rows.totals, given.addends)
        if totals is not None and given.addends is not None:
            given.own.append(given.addends.rows_of(totals))
    if not isinstance(job.rows, Union):
        return (yield from shared_rows(me, planned, given.own, unit=unit, width=width, allocate=allocate))
    salt = given.salt or salt_of(me.transcript)  # that of the run
    tokens = None if given.ids is None else given.ids.tokens(salt)
    found, numbers = yield from united(me, job.union_plan(salt), tokens)
    m = yield from agreed_rows(me, found, planned.m)
    layout = Layout((m,) * job.n, common=True)
    on_union(layout, numbers)
    me.code = replace(me.code, primes=primes_of(job.residues(m)))
    own = None if numbers is None else OwnRows(given.own.pop(), numbers)
    return (yield from added_rows(me, layout, own, unit=unit, width=width, allocate=allocate))


def labels_of_rows(
    me: Party, sets: Shared, rows: SharedRows, *, most: int
) -> Generator[None, None, Labelled]:
    """Final sets, shape (k, m), to those whose rows they are of.

    Shares of deposits stay with the holder: [b] that the program ends with was dealt after all that depends
    on it, so who sees all shares of its own rows sees bits and fresh masks. They are of `most` sets, the
    last without rows if the clustering has fewer.
    """
    layout = rows.layout
    if rows.covers is not None:
        return Labelled(own=(yield from under_covers(me, sets, rows.covers)))
    if layout.deposited:
        yield from settled(me)  # that nothing moved any more was opened and is to be checked
        return Labelled(own=None, shares=_kept(sets, most))
    owned = {j: layout.rows(j) for j, count in enumerate(layout.counts, 1) if count}
    return Labelled(own=(yield from to_owners(me, sets, owned)))


def public_labels_of_rows(me: Party, labels: Labels, rows: SharedRows, *, most: int) -> Labelled:
    """The same of public labels, shape (m,). Owners of deposits open them like secret ones."""
    layout, covers = rows.layout, rows.covers
    if covers is not None:
        numbers = covers.numbers
        return Labelled(own=None if numbers is None else np.where(numbers < 0, np.int32(-1), labels[numbers]))
    if layout.deposited:
        sets = me.public((labels == np.arange(most)[:, np.newaxis]).astype(np.int64))
        return Labelled(own=None, shares=_kept(sets, most))
    return Labelled(own=labels[layout.rows(me.number)] if me.holds else None)


def _kept(sets: Shared, most: int) -> Floats | None:
    """A holder's shares of sets, shape (most, m), modulo the first prime."""
    if sets.residues is None:
        return None
    shares = np.zeros((most, sets.shape[1]))  # 0 is a share of 0
    shares[: sets.shape[0]] = sets.residues[0]
    return shares
