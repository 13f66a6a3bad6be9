"""Lloyd's search as a sequence of questions: it yields sets and takes distances until a start stops.

A question is a partition `sets`. Its answer is the distances of every row to the means of these sets.
"""

import threading
from dataclasses import dataclass, field
from enum import Enum, auto
from fractions import Fraction
from math import inf, isnan, lcm, nan
from typing import Any

import numpy as np

from secfc.field.array_types import Bools, Floats, Ints, Labels, Objects, Shares
from secfc.field.mixed_radix import MixedRadix
from secfc.kernels import Kernels
from secfc.kmeans.compare import SquaredDistances, nearest, quotients
from secfc.kmeans.in_range import RangeCheck
from secfc.kmeans.measures import CentreDistances, Measures, histogram, measures, silhouettes, spreads
from secfc.kmeans.relocation import relocate
from secfc.kmeans.score import score
from secfc.kmeans.sets import set_sizes
from secfc.kmeans.several.best_starts import Best
from secfc.kmeans.start import random_partition, separated_sets
from secfc.kmeans.stopping import After, Stopping
from secfc.protocol.job.cases import Start


class Step(Enum):
    """The purpose of the current sets."""

    CANDIDATES = auto()
    FIRST_OF_START = auto()
    SECOND_OF_START = auto()
    ITERATE = auto()
    LAST_ASSIGNMENT = auto()
    PREDICT = auto()


@dataclass(kw_only=True)
class LabelResult:
    """The result of one start, as far as labels show it.

    `start` are the sets whose means were the centres of the first iteration, -1 for a row in no set. `n_iter`
    counts as scikit-learn: it includes the last iteration, which changes no label or moves no centre.
    """

    start: Labels = field(repr=False)
    labels: Labels = field(repr=False)
    k: int
    n_iter: int = 0
    converged: bool = False  # as in `secfc.kmeans.stopping.Iterated` of the last iteration
    opened: float | None = None  # the inertia in squared units of the data, if the trio opened it
    measures: Measures | None = None  # if several k are compared
    best: Best | None = None  # of several starts, where it is opened how many are about as good


@dataclass(kw_only=True)
class SearchResult(LabelResult):
    """The result of one start, if distances are known.

    `histogram` is of the distances of rows to their centres (`secfc.kmeans.measures.histogram`), in quantised
    units. `spreads` and `silhouettes` have for each cluster the root mean square of these distances, and
    `secfc.kmeans.measures.silhouettes`; nan where there is none.
    """

    inertia: Fraction = Fraction(0)  # in squared quantised units
    score: int = 0  # by which starts are compared (`secfc.kmeans.score`)
    history: list[Fraction] = field(default_factory=list)  # inertia of each iteration
    near_ties: int = 0  # comparisons that floats could not decide
    histogram: tuple[list[int], float] = ([], 0.0)
    spreads: list[float] = field(default_factory=list, repr=False)
    silhouettes: list[float] = field(default_factory=list, repr=False)


class Search:
    """Runs `n_init` starts of Lloyd's algorithm on distances that the caller provides.

    `sets` is the current question. `add` takes distances, some rows at a time. `end_round` returns whether
    another question follows. If not, `best` is the result with the least score, the first of equals.

    `compared` are ascending numbers of clusters to compare, the last is k; `found` then has the best result
    for each. `rng` is for public choices only. `within` checks the distances of every round before they are
    used. `start`, shape (m,), are the given sets when `init` is "labels". With `predict` these sets are kept:
    after one question each row in no set gets the label of the nearest mean. There is no inertia then: with
    only one such row it would be the distance of that row.
    """

    def __init__(
        self,
        *,
        m: int,
        k: int,
        compared: tuple[int, ...] = (),
        max_iter: int,
        n_init: int,
        init: Start,
        rng: np.random.Generator,
        kernels: Kernels,
        within: RangeCheck,
        start: Labels | None = None,
        predict: bool = False,
        tol_moved: float = 0.0,
    ) -> None:
        self._predict = predict
        self._m, self._k, self._compared = m, k, compared
        self._stopping = Stopping(m=m, max_iter=max_iter, tol_moved=tol_moved)
        self._n_init, self._init, self._rng = n_init, init, rng
        # k = 1 comes first: its inertia is the sum of squares about the mean of all rows.
        self._ks = sorted({1, *compared}) if compared else [k]
        self._given, self._kernels, self._within = start, kernels, within
        self._labels: Labels = np.empty(m, dtype=np.int32)
        self._core: Bools = np.empty(m, dtype=np.bool_)
        self._own: Shares | None = None
        self._second: Floats = np.empty(m)
        self._lock = threading.Lock()  # the first rows of a round allocate `_own` and `_centres`
        self._near_ties: dict[int, int] = {}  # by first row of each `add`
        self._sized: Labels | None = None
        self._centres: CentreDistances | None = None  # if several k are compared
        self.found: list[SearchResult] = []
        self.moved = m
        self._begin_k()

    def _begin_k(self) -> None:
        self._k = self._ks.pop(0)
        self._starts_left = 1 if self._compared and self._k == 1 else self._n_init
        self.best: SearchResult | None = None
        self._begin()

    def _begin(self) -> None:
        self._starts_left -= 1
        self._previous: Labels | None = None
        self._step = Step.ITERATE
        if self._given is None:
            self.sets = random_partition(self._rng, self._m, self._k)
            if self._init == "separation":
                self._step = Step.FIRST_OF_START
        else:
            self.sets = self._given
            if self._predict:
                self._step = Step.PREDICT
        self.current = SearchResult(start=self.sets, labels=self.sets, k=self._k)

    def sizes(self) -> Ints:
        """The number of rows in each of the current sets, shape (k,)."""
        if self._sized is not self.sets:
            self._sized, self._sizes = self.sets, set_sizes(self.sets, self._k)
        return self._sizes

    def standing(self) -> dict[str, Any]:
        """The state between two questions, as a dict of plain values."""
        return {
            "k": self._k,
            "ks": self._ks,
            "starts_left": self._starts_left,
            "step": self._step.name,
            "moved": self.moved,
            "sets": self.sets,
            "previous": self._previous,
            "current": _plain(self.current),
            "best": None if self.best is None else _plain(self.best),
            "found": [_plain(one) for one in self.found],
            "generator": self._rng.bit_generator.state,
        }

    def stand(self, standing: dict[str, Any]) -> None:
        """Restore the state of another search that was made with the same arguments."""
        self._k, self._ks = standing["k"], standing["ks"]
        self._starts_left, self._step = standing["starts_left"], Step[standing["step"]]
        self.moved, self._previous = standing["moved"], standing["previous"]
        self.current = _from_plain(standing["current"])
        self.best = None if standing["best"] is None else _from_plain(standing["best"])
        self.found = [_from_plain(one) for one in standing["found"]]
        self._rng.bit_generator.state = standing["generator"]
        self.sets = standing["sets"]
        self._own = self._sized = self._centres = None
        self._near_ties = {}

    def add(self, rows: slice, distances: SquaredDistances) -> None:
        """Add the distances of some rows to the means of `sets`; each row once before `end_round`.

        Several threads may call it at the same time.
        """
        found = quotients(distances, self._kernels)
        self._within.take(rows, found)
        part = nearest(found, with_core=self._step is Step.SECOND_OF_START)
        with self._lock:
            if self._own is None or self._own.shape[0] != part.own.shape[0]:
                self._own = np.empty((part.own.shape[0], self._m), dtype=np.float32)
            if self._centres is None and self._compared:
                self._centres = CentreDistances(self.sets, self.sizes())
            own, centres, self._radix = self._own, self._centres, distances.radix
        self._labels[rows], self._core[rows], own[:, rows] = part.labels, part.core, part.own
        self._second[rows] = part.second
        self._near_ties[rows.start] = part.near_ties  # rows that come again replace their count
        if centres is not None:
            centres.add(rows, found.values())

    def end_round(self) -> bool:
        """Move the sets after the distances of every row were added. Returns whether a question follows.

        RangeError if some distance is larger than the public bound allows. The search then ends.
        """
        self._within.end_round(self.sets)
        assert self._own is not None
        labels, own, sizes = self._labels.copy(), self._own, self.sizes()
        near_ties, self._near_ties = sum(self._near_ties.values()), {}
        centres, self._centres = self._centres, None
        sets, run = relocate(labels, own, self._radix, sizes), self.current
        match self._step:
            case Step.FIRST_OF_START:
                self.sets, self._step = sets, Step.SECOND_OF_START
                return True
            case Step.SECOND_OF_START:
                self.sets = separated_sets(sets, labels, self._core, self._k)
                self.current.start, self._step = self.sets, Step.ITERATE
                return True
            case Step.PREDICT:
                self.best = run
                run.labels = np.where(self.sets < 0, labels, self.sets)
                run.near_ties, run.converged = near_ties, True
                return self._next_start()
        run.labels = labels
        of_sets = sums_of(labels, own, self._radix, sizes.size)
        run.inertia, run.score = inertia_of(of_sets, sizes), score(of_sets, sizes, self._m)
        run.near_ties += near_ties
        if self._step is Step.ITERATE and not self._iterated(run, sets):
            return True
        if self.best is None or run.score < self.best.score:
            self.best = run
            total = self.found[0].inertia if self.found else None
            describe(
                run,
                own=own,
                second=self._second,
                radix=self._radix,
                sizes=sizes,
                centres=centres,
                total=total,
            )
        return self._next_start()

    def _next_start(self) -> bool:
        """Begin the next start, or the next k; False when none is left."""
        if self._starts_left:
            self._begin()
            return True
        assert self.best is not None
        self.found.append(self.best)
        if self._ks:
            self._begin_k()
            return True
        self.found = [one for one in self.found if not self._compared or one.k in self._compared]
        return False

    def _iterated(self, run: SearchResult, sets: Labels) -> bool:
        """Count an iteration. Returns whether no question of this start follows."""
        run.n_iter += 1
        run.history.append(run.inertia)
        done = self._stopping.after(
            run.n_iter, asked=self.sets, previous=self._previous, labels=run.labels, sets=sets
        )
        self._previous, self.moved, run.converged = run.labels, done.moved, done.converged
        if done.after is After.NOTHING:
            return True
        self.sets = sets
        if done.after is After.ASSIGNMENT:
            self._step = Step.LAST_ASSIGNMENT
        return False


def _plain(clustering: SearchResult) -> dict[str, Any]:
    measures = clustering.measures
    return vars(clustering) | {
        "histogram": list(clustering.histogram),
        "measures": None if measures is None else vars(measures),
    }


def _from_plain(plain: dict[str, Any]) -> SearchResult:
    counts, largest = plain["histogram"]
    measures = None if plain["measures"] is None else Measures(**plain["measures"])
    return SearchResult(**plain | {"histogram": (counts, largest), "measures": measures})


def suitability(clustering: LabelResult) -> float:
    """The value that compares clusterings of several k, -inf instead of nan."""
    value = nan if clustering.measures is None else clustering.measures.chosen_by
    return -inf if isnan(value) else value


def describe(
    run: SearchResult,
    *,
    own: Shares,
    second: Floats,
    radix: MixedRadix,
    sizes: Ints,
    centres: CentreDistances | None,
    total: Fraction | None,
) -> None:
    """Add figures about the distances of the last assignment to a result that has labels and inertia.

    `own` and `second` are as in `secfc.kmeans.compare.Nearest`, `sizes` those of the sets whose means the
    distances are to. With `centres` measures are added; `total` is the inertia of one cluster, which is by
    default this one's.
    """
    squared = radix.approximate(own)
    distances, nearest = np.sqrt(squared) / sizes[run.labels], squared / sizes[run.labels] ** 2.0
    run.histogram = histogram(distances)
    run.spreads = spreads(distances, run.labels, run.k).tolist()
    widths = silhouettes(run.labels, nearest, second, run.k)
    run.silhouettes = widths.tolist()
    if centres is not None:
        inertia = float(run.inertia)
        of_one = inertia if total is None else float(total)
        run.measures = measures(run.labels, nearest, widths, centres, inertia=inertia, total=of_one)


def sums_of(labels: Labels, own: Shares, radix: MixedRadix, k: int) -> Objects:
    """Exact sums of D over the rows of each label, shape (k,)."""
    totals = np.zeros(k, dtype=object)
    for digit, unit in zip(own, radix.radices, strict=True):
        # Sums of digits are below 2**24 m <= 2**53.
        sums = np.bincount(labels, weights=digit, minlength=k)
        totals += sums.astype(np.int64).astype(object) * unit
    return totals


def inertia_of(sums: Objects, sizes: Ints) -> Fraction:
    """Exact sum over rows of D / |S|^2, with the common denominator of all sets."""
    squares = sizes[sizes > 0].astype(object) ** 2
    common = lcm(*squares)
    return Fraction(int((sums[sizes > 0] * (common // squares)).sum()), common)
