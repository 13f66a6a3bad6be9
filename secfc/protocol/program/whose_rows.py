"""Whose rows a run clusters: how they come to be shared, and to whom final labels go."""

from collections.abc import Generator
from dataclasses import dataclass, field

from secfc.field.array_types import Floats, Labels
from secfc.operations.beginning.deposited import ToRead, deposited_rows
from secfc.operations.beginning.rows import SharedRows, ToShare, shared_rows
from secfc.operations.to_owners import to_owners
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.parties.party import Party
from secfc.sharing.shared import Shared

Given = ToShare | ToRead
"""What a party has of the rows: its own, or deposits of owners."""


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """The labels of a party's `own` rows. None at a party without rows.

    `shares` are those of a holder of deposits, shape (k, m): of the sets of all rows, modulo the first prime.
    The owners, who take no part in the run, open them.
    """

    own: Labels | None = field(repr=False)
    shares: Floats | None = field(default=None, repr=False)


def rows_of(me: Party, planned: Layout, given: Given) -> Generator[None, None, SharedRows]:
    """The rows of a layout, shared."""
    if isinstance(given, ToRead):
        return deposited_rows(me, planned, given)
    return (yield from shared_rows(me, planned, given))


def labels_of_rows(me: Party, sets: Shared, layout: Layout) -> Generator[None, None, Labelled]:
    """Final sets, shape (k, m), to those whose rows they are of.

    Shares of deposits stay with the holder: [b] that the program ends with was dealt after all that depends
    on it, so who sees all shares of its own rows sees bits and fresh masks.
    """
    if layout.deposited:
        return Labelled(own=None, shares=None if sets.residues is None else sets.residues[0])
    owned = {j: layout.rows(j) for j, count in enumerate(layout.counts, 1) if count}
    return Labelled(own=(yield from to_owners(me, sets, owned)))
