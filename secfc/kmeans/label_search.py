"""Lloyd's search from labels alone: it yields sets and takes labels until a start stops.

The server and the evaluators run the same search on the opened values, so each of them knows the next sets.
A question is a partition `sets`: its answer is the nearest mean of each row. All public random choices come
from one generator, in the same order as in `secfc.kmeans.search.Search`.
"""

from collections.abc import Iterable
from enum import Enum, auto
from typing import Any

import numpy as np

from secfc.field.array_types import Bools, Ints, Labels
from secfc.kmeans.measures import Measures, calinski_harabasz
from secfc.kmeans.plus_plus import Choices, draws, first_row
from secfc.kmeans.search import LabelResult, Step, suitability
from secfc.kmeans.sets import set_weights
from secfc.kmeans.start import random_partition, separated_sets
from secfc.kmeans.stopping import After, Stopping
from secfc.protocol.job.cases import Start


class Follows(Enum):
    """What follows a round."""

    QUESTION = auto()
    """Another question, about `sets`."""
    START = auto()
    """Another question. A start has ended, and the next one begins."""
    END = auto()


class LabelSearch:
    """Runs starts of Lloyd's algorithm on labels that the caller opens.

    `sets` is the current question, of `k` clusters. `add` takes labels, some rows at a time, and `labels` are
    those of this round. `end_round` returns what follows. `found` has the results of the starts that have
    ended. `best` is the index of the best of these with as many clusters as the last.

    `choices` are those of an unfinished k-means++ start. If there are any, `sets` has candidates instead, and
    `choose` takes the opened values. `draws` are random numbers that draw the next candidates, () if no
    candidates follow the current ones.

    `starts` are the numbers of clusters of each start, in order, and `compared` those to compare, () for a
    single number. Of one cluster only the inertia is used. By "separation" the first two questions make the
    start, from cores. By "k-means++" the first questions choose the rows of the start, and `sets` begins with
    a single row. `rng` and `start` are as for `secfc.kmeans.search.Search`. `weights`, shape (m,), say how
    many times each row counts: public, at least 1 each, at most 2**29 in all.
    """

    def __init__(
        self,
        *,
        m: int,
        starts: tuple[int, ...],
        max_iter: int,
        rng: np.random.Generator,
        compared: tuple[int, ...] = (),
        init: Start = "random",
        start: Labels | None = None,
        tol_moved: float = 0.0,
        weights: Ints | None = None,
    ) -> None:
        self._weights = weights
        self._m, self._starts, self._compared = m, starts, compared
        self._stopping = Stopping(m=m, max_iter=max_iter, tol_moved=tol_moved)
        self._rng, self._given = rng, start
        first = {"separation": Step.FIRST_OF_START, "k-means++": Step.CANDIDATES}
        self._first = first.get(init, Step.ITERATE)
        self._core = np.zeros(m, dtype=np.bool_)
        self._previous: Labels | None = None
        self._emptied: Ints | None = None  # computed on first use
        self.found: list[LabelResult] = []
        self.best = 0
        self._begin()

    def _begin(self) -> None:
        self.k = self._starts[len(self.found)]
        self._step, self.moved = self._first, self._m
        self.choices: Choices | None = None
        if self._step is Step.CANDIDATES:
            first = first_row(self._rng, self._m, self._weights)
            self.choices = Choices(m=self._m, k=self.k, first=first)
            self.sets = self.choices.sets
        elif self._given is not None:
            self.sets = self._given
        else:
            self.sets = random_partition(self._rng, self._m, self.k)
        self._draw()
        self.labels, self._emptied, self._previous = self.sets.copy(), None, None
        self.current = LabelResult(start=self.sets, labels=self.sets, k=self.k)

    def _draw(self) -> None:
        drawing = self.choices is not None and not self.choices.last
        self.draws = tuple(draws(self._rng, self.k)) if drawing else ()

    @property
    def asked(self) -> Ints:
        """Rows whose labels are opened, ascending."""
        if self.choices is not None:
            return np.empty(0, dtype=np.int64)
        return np.arange(self.sets.size)

    @property
    def with_core(self) -> bool:
        """Whether the core membership of rows is opened too."""
        return self._step is Step.SECOND_OF_START

    def sizes(self) -> Ints:
        """The divisor of each set's sum (`set_weights`), shape (k,)."""
        return set_weights(self.sets, self.k, self._weights)

    def add(self, rows: Ints, labels: Labels, core: Bools | None = None) -> None:
        """Take labels, and the core, of some rows. Each row in `asked` must come once before `end_round`."""
        self.labels[rows], self._emptied = labels, None
        if core is not None:
            self._core[rows] = core

    @property
    def emptied(self) -> Ints:
        """Clusters without a row, ascending, to which rows are moved. All labels must have been added."""
        if self._step is Step.LAST_ASSIGNMENT:
            return np.empty(0, dtype=np.int64)
        if self._emptied is None:
            self._emptied = np.flatnonzero(np.bincount(self.labels, minlength=self.k) == 0)
        return self._emptied

    @property
    def first_of_k(self) -> bool:
        """Whether the last ended start is the first with its number of clusters."""
        return self.found[-1].k not in self._starts[: len(self.found) - 1]

    @property
    def last_of_k(self) -> bool:
        """Whether the last ended start is also the last one with its number of clusters."""
        return self.found[-1].k not in self._starts[len(self.found) :]

    def results(self) -> list[LabelResult]:
        """At the end: the best clustering for each compared k, or the single best one."""
        if not self._compared:
            return [self.found[self.best]]
        bests = {one.k: one for one in self.found if one.opened is not None}
        total = bests[1].opened
        for one in bests.values():
            assert one.opened is not None
            assert total is not None
            clusters = np.unique(one.labels).size
            ratio = calinski_harabasz(one.opened, total=total, k=clusters, m=self._m)
            one.measures = Measures(calinski_harabasz=ratio)
        return [bests[k] for k in self._compared]

    def result(self) -> LabelResult:
        """At the end: the clustering for clients. Of several k the most suitable, of equals the least."""
        return max(self.results(), key=suitability) if self._compared else self.found[self.best]

    def choose(self, candidate: int, drawn: Iterable[int]) -> Follows:
        """Choose a candidate by its number; the rows `drawn` are the next candidates (`Choices.choose`)."""
        choices = self.choices
        assert choices is not None
        choices.choose(candidate, drawn)
        self.sets = choices.sets
        if not choices.candidates:
            self.current.start, self._step, self.choices = self.sets, Step.ITERATE, None
        self._draw()
        self.labels, self._emptied = self.sets.copy(), None
        return Follows.QUESTION

    def end_round(self, farthest: Ints) -> Follows:
        """Move the sets.

        `farthest`, shape (e,) or (0,), are the rows that move to the emptied clusters, in order
        (`secfc.kmeans.relocation`). It is empty if even the farthest row lies on its centre. If a start has
        ended, the caller may have to change `best`.
        """
        labels, run = self.labels.copy(), self.current
        sets = labels.copy()
        sets[farthest] = self.emptied[: farthest.size]
        match self._step:
            case Step.FIRST_OF_START:
                self.sets, self._step = sets, Step.SECOND_OF_START
                return Follows.QUESTION
            case Step.SECOND_OF_START:
                self.sets = separated_sets(sets, labels, self._core, self.k)
                run.start, self._step = self.sets, Step.ITERATE
                return Follows.QUESTION
        run.labels = labels
        if self._step is not Step.ITERATE:
            return self._ended(run)
        run.n_iter += 1
        done = self._stopping.after(
            run.n_iter, asked=self.sets, previous=self._previous, labels=labels, sets=sets
        )
        self._previous, self.moved, run.converged = labels, done.moved, done.converged
        if done.after is After.NOTHING:
            return self._ended(run)
        self.sets = sets
        if done.after is After.ASSIGNMENT:
            self._step = Step.LAST_ASSIGNMENT
        return Follows.QUESTION

    def _ended(self, run: LabelResult) -> Follows:
        self.found.append(run)
        if len(self.found) == len(self._starts):
            return Follows.END
        self._begin()
        return Follows.START

    def standing(self) -> dict[str, Any]:
        """The state between two questions, as a dict of plain values."""
        return {
            "sets": self.sets,
            "previous": self._previous,
            "step": self._step.name,
            "moved": self.moved,
            "choices": None if self.choices is None else self.choices.standing(),
            "draws": list(self.draws),
            "generator": self._rng.bit_generator.state,
            "current": vars(self.current),
            "found": [vars(one) for one in self.found],
            "best": self.best,
        }

    def stand(self, standing: dict[str, Any]) -> None:
        """Restore the state of another search that was made with the same arguments."""
        self.sets, self._previous = standing["sets"], standing["previous"]
        self._step, self.moved = Step[standing["step"]], standing["moved"]
        self.labels, self._emptied, self.choices = self.sets.copy(), None, None
        self.k = standing["current"]["k"]
        if standing["choices"] is not None:
            self.choices = Choices(m=self._m, k=self.k, first=0)
            self.choices.stand(standing["choices"])
        self.draws, self._rng.bit_generator.state = tuple(standing["draws"]), standing["generator"]
        self.best, self.current = standing["best"], LabelResult(**standing["current"])
        self.found = [LabelResult(**one) for one in standing["found"]]
