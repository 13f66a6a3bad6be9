"""The stages of a union: which values clients deal, what they compute on shares, which values are opened.

A stage has groups of ell places that are shared together. For each group, clients deal `width` values. From
their shares and shares of `terms` jointly random weights they compute shares of `terms` values. The server
opens these.
"""

from dataclasses import dataclass

import numpy as np

from secfc.crypto.randomness import MaskSource
from secfc.field.array_types import Ints
from secfc.psu.found import Found
from secfc.psu.kernels import UnionKernels
from secfc.psu.plan import PART_BYTES, UnionPlan, UnionTable
from secfc.psu.prime import Elements, elements, multiply, total
from secfc.psu.tokens import Tokens


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Numbers of groups, and of values in a group: each client deals `width`, and `terms` are opened."""

    groups: int
    width: int
    terms: int

    def part_groups(self, combinations: int) -> int:
        """The number of groups in a part; `combinations` is n - t (`secfc.psu.field_sharing`)."""
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
        """The numbers of groups and values."""
        terms = 2 * self.table.capacity
        return Shape(groups=self.table.groups, width=2 * terms - 1, terms=terms)

    def output(self, total: Elements, weights: Elements, kernels: UnionKernels) -> Elements:
        """Shares to open, (groups, terms), from shares (groups, width) and weights (groups, terms)."""
        return kernels.correlate(total, weights, self.shape.terms)


@dataclass(frozen=True, kw_only=True)
class CheckStage:
    """Two products gamma y with y = sum over the union's m IDs e of rho_e (multiplicity_e - 1)."""

    plan: UnionPlan
    stage: int
    m: int

    @property
    def shape(self) -> Shape:
        """The single group and its values."""
        return Shape(groups=1, width=CHECKS, terms=CHECKS)

    def output(self, total: Elements, weights: Elements, kernels: UnionKernels) -> Elements:
        """As `SeriesStage.output`."""
        return multiply(total, weights)

    def bases(self) -> list[int]:
        """Bases of rho_e = base**(row of e + 1). Each base gives a separate check."""
        return self.plan.public_elements("check", self.stage, CHECKS)


CHECKS = 2
"""The number of checked sums. Each misses an error with probability at most (m + 1) / p."""

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
        """The values it deals for these groups, shape (ell, groups * width)."""
        first, last = self._ell * groups.start, self._ell * groups.stop
        low, high = np.searchsorted(self._bins, [first, last])
        series = np.zeros((last - first, self._width), dtype=np.uint64)
        residues = self._masks.wide((int(high - low),), nonzero=True)
        self._kernels.moments(self._poles[low:high], residues, self._bins[low:high] - first, series)
        return _grouped(series, self._ell)


class CheckInput:
    """The values that a client deals in a `CheckStage`.

    y_j is the sum of rho_e over its rows, plus base**(m + 1) times the number of its IDs that have no row.
    y is the sum of y_j over clients minus the sum of all rho_e, which client 1 subtracts.
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
    """The server's side of a `SeriesStage`: it finds the poles of each bin as soon as it is opened."""

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
        """The contents of the table."""
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
