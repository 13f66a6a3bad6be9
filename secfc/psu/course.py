"""The course of a union, the same at every party: which stage follows which.

A table; a table of its overfull bins' IDs, and so on until none is overfull; a check that no ID is missing
and none is held twice. A check that fails is repeated on a fresh table: two IDs may have met in one place.
"""

import numpy as np

from secfc.array_types import Ints
from secfc.errors import DuplicateIdError, UnionError
from secfc.psu.found import Found
from secfc.psu.plan import ATTEMPTS, SMALL_TABLE, TABLES, UnionPlan, UnionTable
from secfc.psu.stages import CheckStage, SeriesStage, Stage
from secfc.psu.tokens import Tokens

_OVERFULL_LOAD = 4 / 3
"""IDs that an overfull bin is expected to hold, relative to its capacity."""


class Course:
    """The stage that a union is in (`number` counts from 1), and the tables found before it."""

    def __init__(self, plan: UnionPlan) -> None:
        self.plan = plan
        self.number = 0
        self.stage: Stage
        self.finished = False
        self._attempt = 0
        self._begin_attempt()

    @property
    def m(self) -> int:
        """IDs found in this attempt."""
        return sum(found.total for _, found in self._tables)

    def take_found(self, found: Found) -> None:
        """Go on after a table; UnionError where more IDs or overfull bins were found than the cap allows for.

        An overfull bin holds more IDs than its series determines: bins that the cap leaves no room for were
        filled by a false share of what was opened, or by too many IDs. A table of 128 bins or more is
        followed by one of half its size at most: else a quarter of its bins would hold over 24 IDs, 16 on
        average, which honest parties' do with probability below 2**-75.
        """
        assert not isinstance(self.stage, CheckStage)
        self._tables.append((self.stage.table, found))
        if self.m > self.plan.cap:
            raise self._too_much("more IDs were found")
        if not found.overfull:
            self.number += 1
            self.stage = CheckStage(plan=self.plan, stage=self.number, m=self.m)
        elif len(self._tables) == TABLES:
            raise self._too_much(f"{TABLES} tables left {found.overfull} bins overfull")
        else:
            self._begin_table(self._next_cap(self.stage.table, found.overfull))

    def _next_cap(self, table: UnionTable, overfull: int) -> int:
        """IDs that the next table is for."""
        left = self.plan.cap - self.m
        if overfull * (table.capacity + 1) > left:
            raise self._too_much(f"{overfull} of {table.bins} bins hold more than {table.capacity} IDs each")
        cap = min(left, int(overfull * table.capacity * _OVERFULL_LOAD))
        if cap > max(SMALL_TABLE, table.cap // 2):
            raise self._too_much(f"{overfull} of {table.bins} bins are overfull")
        return cap

    def _too_much(self, what: str) -> UnionError:
        return UnionError(
            f"union: {what}, which is not possible with ids_cap = {self.plan.cap}: the parties hold more "
            "IDs, or a client sent a wrong share of the opened values"
        )

    def take_verdict(self, unique: bool) -> None:
        """Go on after a check, whether every ID is there and held once; DuplicateIdError after the last."""
        if unique:
            self.finished = True
        elif self._attempt < ATTEMPTS:
            self._begin_attempt()
        else:
            raise DuplicateIdError("ids: an ID is held more than once")

    def rows(self, tokens: Tokens) -> tuple[Ints, int]:
        """The row of each token that has one in the union, and how many have none."""
        rows, _ = self._locate(tokens)
        return rows[rows >= 0], int((rows < 0).sum())

    def left(self, tokens: Tokens) -> Tokens:
        """Those of the tokens that the current table is for."""
        return _pick(tokens, self._locate(tokens)[1])

    def _locate(self, tokens: Tokens) -> tuple[Ints, Ints]:
        """The row of every token, -1 where it has none, and the tokens in bins that were always overfull."""
        rows = np.full(len(tokens), -1, dtype=np.int64)
        at, first = np.arange(len(tokens)), 0
        for table, found in self._tables:
            located, overfull = found.locate(table, _pick(tokens, at))
            rows[at] = np.where(located >= 0, located + first, -1)
            first += found.total
            at = at[overfull]
        return rows, at

    def _begin_attempt(self) -> None:
        self._attempt += 1
        self._tables: list[tuple[UnionTable, Found]] = []
        self._begin_table(self.plan.cap)

    def _begin_table(self, cap: int) -> None:
        self.number += 1
        self.stage = SeriesStage(table=self.plan.table(self.number, cap))


def _pick(tokens: Tokens, at: Ints) -> Tokens:
    return Tokens(u=tokens.u[at], v=tokens.v[at])
