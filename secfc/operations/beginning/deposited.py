"""Rows that owners deposited before the run. Each holder reads its own shares. Nothing is sent or opened.

Holders checked the proof of every deposit when they took it (`secfc.sharing.deposits`), and the job that all
parties agreed on has a digest of all deposits. No row leaves with a lost holder.
"""

from collections.abc import Callable
from typing import Protocol

from secfc.field.array_types import Floats
from secfc.field.packing import PackedResidues
from secfc.operations.beginning.rows import SharedRows
from secfc.protocol.job.cases import Deposited
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.parties.party import Party
from secfc.sharing.rows import Allocate, Rows


class HeldDeposits(Protocol):
    """The deposits that a member of a committee holds: an interface of `secfc.sharing.deposits.Intake`."""

    def keep(self, named: Deposited) -> None:
        """Keep only the deposits of a job. ParameterError unless they are those that the job names."""

    def store(self, keep: Callable[[PackedResidues, int], None], primes: int) -> int:
        """Give the shares, modulo the first `primes`, to `keep`, with the number of their first row."""

    def seal_labels(self, shares: Floats) -> bytes:
        """Shares, shape (k, m), of the labels of each owner's rows, sealed to that owner, concatenated."""


def deposited_rows(
    me: Party, layout: Layout, deposits: HeldDeposits | None, *, width: int, allocate: Allocate
) -> SharedRows:
    """The rows of a layout, which are numbered by owner. A segment has `width` columns."""
    primes, held = me.code.primes, None
    if me.holds and deposits is not None:
        shares = held = allocate((len(primes), width + 1, layout.m))

        def keep(residues: PackedResidues, start: int) -> None:
            me.kernels.store(residues.planes(), primes, shares, start)

        deposits.store(keep, len(primes))
    rows = Rows(primes, width, layout.m, held, me.kernels)
    return SharedRows(rows=rows, layout=layout, lost=(), cheats={}, unread=())
