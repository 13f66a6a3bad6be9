"""The course of a union, that is the order of its stages, which is the same at every party.

The first stage is a table of all IDs. The IDs of overfull bins go to another table, until no bin is overfull.
Then a check shows that no ID is missing and none is held twice. If it fails, the union is repeated once on a
fresh table, since two IDs may have had the same bin and pole.
"""

import numpy as np

from secfc.errors import DuplicateIdError, UnionError
from secfc.field.array_types import Ints
from secfc.psu.found import Found
from secfc.psu.plan import ATTEMPTS, SMALL_TABLE, TABLES, UnionPlan, UnionTable
from secfc.psu.stages import CheckStage, SeriesStage, Stage
from secfc.psu.tokens import Tokens

_OVERFULL_LOAD = 4 / 3
"""Expected number of IDs in an overfull bin, relative to its capacity."""


class Course:
    """The current stage of a union (`number` counts from 1), and the tables found before it."""

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
        """Continue after a table; UnionError if it has more IDs or overfull bins than the cap allows.

        An overfull bin holds more IDs than its series determines. If the cap has no room for these IDs, an
        opened share was false, or the parties hold too many IDs. After a table of 128 bins or more, the next
        one has at most half its size. A larger one would mean that a quarter of the bins hold over 24 IDs, 16
        on average. With honest parties that has probability below 2**-75.
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
        """The number of IDs for which the next table is made."""
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
        """Continue after a check: `unique` if each ID is there once. DuplicateIdError after the last."""
        if unique:
            self.finished = True
        elif self._attempt < ATTEMPTS:
            self._begin_attempt()
        else:
            raise DuplicateIdError("ids: an ID is held more than once")

    def rows(self, tokens: Tokens) -> tuple[Ints, int]:
        """The row in the union of each token that is in it, and the number of the other tokens."""
        rows = self.located(tokens)
        return rows[rows >= 0], int((rows < 0).sum())

    def located(self, tokens: Tokens) -> Ints:
        """The row in the union of each token, -1 for one that is not in it."""
        return self._locate(tokens)[0]

    def left(self, tokens: Tokens) -> Tokens:
        """The tokens that belong in the current table."""
        return _pick(tokens, self._locate(tokens)[1])

    def _locate(self, tokens: Tokens) -> tuple[Ints, Ints]:
        """The row of every token, -1 for none, and the tokens whose bins were overfull in every table."""
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
