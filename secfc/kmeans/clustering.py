"""The result of a start: a clustering, and figures about it."""

from dataclasses import dataclass, field
from fractions import Fraction
from math import inf, isnan, lcm, nan

import numpy as np

from secfc.field.array_types import Floats, Ints, Labels, Objects, Shares
from secfc.field.mixed_radix import MixedRadix
from secfc.kmeans.measures import CentreDistances, Measures, measures, silhouettes, spreads
from secfc.kmeans.program import Best


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
    converged: bool = False  # False if only max_iter ended it
    opened: float | None = None  # the inertia in squared units of the data, if everybody is told it
    measures: Measures | None = None  # if several k are compared
    best: Best | None = None  # of several starts, where it is opened how many are about as good


@dataclass(kw_only=True)
class SearchResult(LabelResult):
    """The result of one start, if distances are known.

    `spreads` and `silhouettes` have for each cluster the root mean square of the distances of its rows to its
    centre, in quantised units, and `secfc.kmeans.measures.silhouettes`; nan where there is none.
    """

    inertia: Fraction = Fraction(0)  # in squared quantised units
    score: int = 0  # by which starts are compared (`secfc.kmeans.score`)
    history: list[Fraction] = field(default_factory=list)  # inertia of each iteration
    near_ties: int = 0  # comparisons that floats could not decide
    spreads: list[float] = field(default_factory=list, repr=False)
    silhouettes: list[float] = field(default_factory=list, repr=False)


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
