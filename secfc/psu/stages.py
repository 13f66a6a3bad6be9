"""The stages of a union: what clients deal, what they compute on shares, what is opened.

A stage has groups of ell places that are shared together. For each group clients deal `width` values. From
their shares and from shares of `terms` jointly random weights they compute shares of `terms` values, which
the server opens.
"""

from dataclasses import dataclass

import numpy as np

from secfc.array_types import Ints
from secfc.psu.found import Found
from secfc.psu.kernels import UnionKernels
from secfc.psu.plan import PART_BYTES, UnionPlan, UnionTable
from secfc.psu.prime import Elements, elements, multiply, total
from secfc.psu.tokens import Tokens
from secfc.randomness import MaskSource


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Groups of a stage, and values of a group: `width` are dealt by each client, `terms` are opened."""

    groups: int
    width: int
    terms: int

    def part_groups(self, combinations: int) -> int:
        """Groups of a part, of n - t combinations of what n clients deal."""
        values = self.width + 2 * self.terms / combinations
        return max(1, min(self.groups, int(PART_BYTES / 8 / values)))


@dataclass(frozen=True, kw_only=True)
class SeriesStage:
    """Moments s_k = sum of c_e e**k of every bin, times a random polynomial W of degree 2 capacity - 1.

    The k-th opened value, sum over i of W_i s_(k + i), is the k-th moment with weights c_e W(e).
    """

    table: UnionTable

    @property
    def shape(self) -> Shape:
        """Its groups and values."""
        terms = 2 * self.table.capacity
        return Shape(groups=self.table.groups, width=2 * terms - 1, terms=terms)

    def output(self, total: Elements, weights: Elements, kernels: UnionKernels) -> Elements:
        """Shares opened, (groups, terms), from shares (groups, width) and weights (groups, terms)."""
        return kernels.correlate(total, weights, self.shape.terms)


@dataclass(frozen=True, kw_only=True)
class CheckStage:
    """Two products gamma y with y = sum over the union's m IDs e of rho_e (multiplicity_e - 1)."""

    plan: UnionPlan
    stage: int
    m: int

    @property
    def shape(self) -> Shape:
        """Its one group and values."""
        return Shape(groups=1, width=CHECKS, terms=CHECKS)

    def output(self, total: Elements, weights: Elements, kernels: UnionKernels) -> Elements:
        """As `SeriesStage.output`."""
        return multiply(total, weights)

    def bases(self) -> list[int]:
        """rho_e = base**(row of e + 1); each base is a check of its own."""
        return self.plan.public_elements("check", self.stage, CHECKS)


CHECKS = 2
"""Sums that are checked; each misses with at most (m + 1) / p."""

Stage = SeriesStage | CheckStage


class SeriesInput:
    """The moments that a client deals in a `SeriesStage`."""

    def __init__(self, stage: SeriesStage, tokens: Tokens, masks: MaskSource, kernels: UnionKernels) -> None:
        bins, poles = stage.table.places(tokens)
        order = np.argsort(bins, kind="stable")
        self._bins, self._poles = bins[order], poles[order]
        self._ell, self._width = stage.table.plan.ell, stage.shape.width
        self._masks, self._kernels = masks, kernels

    def values(self, groups: slice) -> Elements:
        """What it deals for these groups, shape (ell, groups * width)."""
        first, last = self._ell * groups.start, self._ell * groups.stop
        low, high = np.searchsorted(self._bins, [first, last])
        series = np.zeros((last - first, self._width), dtype=np.uint64)
        residues = self._masks.wide((int(high - low),), nonzero=True)
        self._kernels.moments(self._poles[low:high], residues, self._bins[low:high] - first, series)
        return _grouped(series, self._ell)


class CheckInput:
    """What a client deals in a `CheckStage`.

    y_j is the sum over its rows of rho_e, plus rho_(m + 1) times its IDs that have no row.
    The sum over clients minus that of all rho_e is y: client 1 subtracts it.
    """

    def __init__(self, stage: CheckStage, rows: Ints, missing: int, *, first: bool) -> None:
        sums = []
        for base in stage.bases():
            powers = _powers(base, stage.m + 1)
            held = total(powers[rows]) + missing * int(powers[stage.m])
            sums.append(held - (total(powers[:-1]) if first else 0))
        self._values = np.zeros((stage.plan.ell, len(sums)), dtype=np.uint64)
        self._values[0] = elements(sums)

    def values(self, groups: slice) -> Elements:
        """As `SeriesInput.values`."""
        return self._values


class SeriesFinder:
    """The server's side of a series: poles of each bin as soon as it is open."""

    def __init__(self, stage: SeriesStage, kernels: UnionKernels) -> None:
        self._stage, self._kernels = stage, kernels
        self._counts: list[Ints] = []
        self._poles: list[Elements] = []

    def add(self, opened: Elements) -> None:
        """Take the next bins' opened moments, shape (bins, terms)."""
        poles, counts = self._kernels.poles(opened, self._stage.table.capacity)
        self._counts.append(counts)
        self._poles.append(poles[np.arange(poles.shape[1]) < counts[:, np.newaxis]])

    def found(self) -> Found:
        """What the table held."""
        return Found(counts=np.concatenate(self._counts), poles=np.concatenate(self._poles))


def _grouped(places: Elements, ell: int) -> Elements:
    """(places, width) as (ell, groups * width): place b is segment b mod ell of group b // ell."""
    return np.ascontiguousarray(places.reshape(-1, ell, places.shape[1]).swapaxes(0, 1)).reshape(ell, -1)


def ungrouped(opened: Elements, terms: int) -> Elements:
    """(ell, groups * terms) as (places, terms)."""
    ell = opened.shape[0]
    return np.ascontiguousarray(opened.reshape(ell, -1, terms).swapaxes(0, 1)).reshape(-1, terms)


def _powers(base: int, count: int) -> Elements:
    """base**1 to base**count, by doubling."""
    powers = elements([base])
    while powers.size < count:
        powers = np.concatenate([powers, multiply(powers, powers[-1])])
    return powers[:count]
