"""Numbers of clusters beside each other: one table, and one sentence that recommends one of them.

A candidate has the attributes of `secfc.Candidate`, also where a summary tells of it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from secfc.errors import ParameterError
from secfc.kmeans.consensus import Stable
from secfc.tables.number_texts import number_text

StableByK = Iterable[Stable]
"""How clusters change if rows are drawn again, for each k; the greatest dispersion is the most stable."""

MEASURES = {
    "silhouette": ("silhouette", 1),
    "calinski_harabasz": ("Calinski-Harabasz", 1),
    "davies_bouldin": ("Davies-Bouldin", -1),
}
"""Names of the measures, with 1 where greater is better and -1 where less is. The first known one decides."""

_WHOLE, _LARGE = 1e3, 1e6  # between these measures are shown without decimals


class Recommendation(NamedTuple):
    """A number of clusters, None if there is no reason for one, and the sentence that says why."""

    k: int | None
    text: str


@dataclass(frozen=True)
class Criterion:
    """A value of each candidate, by k, where it is defined, and the k for which it is best."""

    name: str
    values: dict[int, float]
    sign: int

    @property
    def best(self) -> int:
        """Of equal candidates the smallest k."""
        return max(self.values, key=lambda k: (self.sign * self.values[k], -k))


def criteria(candidates: Sequence[Any], stability: StableByK = ()) -> list[Criterion]:
    """What candidates are compared by, the most important first; only what is defined for one of them.

    ParameterError for the stability of a k that was not compared.
    """
    ks = [one.k for one in candidates]
    known = {one.k: one.dispersion for one in stability if is_defined(one.dispersion)}
    if not known.keys() <= set(ks):
        others = ", ".join(map(str, sorted(known.keys() - set(ks))))
        raise ParameterError(f"stability: k = {others} was not compared, but {', '.join(map(str, ks))} were")
    found = [Criterion("stability", known, 1)]
    for name, (title, sign) in MEASURES.items():
        values = {one.k: getattr(one, name) for one in candidates if is_defined(getattr(one, name))}
        found.append(Criterion(title, values, sign))
    return [one for one in found if one.values]


def table(candidates: Sequence[Any], stability: StableByK = ()) -> list[list[str]]:
    """Lines, headings first. A star marks the best value of a criterion; what is not known has no column."""
    columns = {"k": [str(one.k) for one in candidates]}
    if inertia := inertia_of(candidates):
        columns["inertia"] = [number_text(value, 6) for value in inertia.values()]
    for of in criteria(candidates, stability):
        columns[of.name] = [_cell(of.values.get(one.k), one.k == of.best) for one in candidates]
    columns["iterations"] = [
        f"{one.n_iter}{'' if one.converged else ' (not converged)'}" for one in candidates
    ]
    for heading, values in (
        ("near starts", [one.near_starts for one in candidates]),
        ("smallest cluster", [None if one.sizes is None else min(one.sizes) for one in candidates]),
    ):
        if any(value is not None for value in values):
            columns[heading] = ["-" if value is None else str(value) for value in values]
    return [list(columns), *map(list, zip(*columns.values(), strict=True))]


def recommended(candidates: Sequence[Any], stability: StableByK = ()) -> Recommendation:
    """The k that is best by the first criterion, and which others agree."""
    found = criteria(candidates, stability)
    if len(candidates) == 1:
        return Recommendation(candidates[0].k, f"k = {candidates[0].k} alone was tried.")
    if not found:
        return Recommendation(None, "No k is recommended: no measure is defined for these rows.")
    first, k = found[0], found[0].best
    value = number_text(first.values[k], 4)
    why = f"its {first.name} ({value}) is the {'greatest' if first.sign > 0 else 'least'}"
    if first.name == "stability":
        why = f"resamples agree most there (dispersion {value})"
    others = {one.name: one.best for one in found[1:]}
    inertia = inertia_of(candidates)
    bend = knee_of(list(inertia), list(inertia.values()))
    if bend is not None:
        others["the bend of the inertia"] = bend
    agree = [name for name, best in others.items() if best == k]
    if agree:
        why += f"; {_listed(agree)} agree{'s' if len(agree) == 1 else ''}"
    for best in sorted({*others.values()} - {k}):
        why += f"; {_listed([name for name, at in others.items() if at == best])} would take {best}"
    return Recommendation(k, f"k = {k} is recommended: {why}.")


def inertia_of(candidates: Sequence[Any]) -> dict[int, float]:
    """The inertia of each k; {} where it was not opened."""
    return {one.k: one.inertia for one in candidates if is_defined(one.inertia)}


def knee_of(ks: list[int], inertia: list[float]) -> int | None:
    """The k at which a falling curve is farthest below the chord from its first to its last point.

    Satopää, Albrecht, Irwin, Raghavan: *Finding a "kneedle" in a haystack*, ICDCSW 2011. None for fewer than
    three points, and for a curve that does not fall or is never below the chord.
    """
    x, y = np.array(ks, dtype=float), np.array(inertia)
    if x.size < 3 or not y[0] > y[-1]:
        return None
    below = 1 - (x - x[0]) / (x[-1] - x[0]) - (y - y[-1]) / (y[0] - y[-1])
    return ks[int(below.argmax())] if below.max() > 1e-12 else None


def is_defined(value: float | None) -> bool:
    """Whether a measure is a number."""
    return value is not None and isfinite(value)


def stable_lines(stability: StableByK) -> list[list[str]]:
    """The table of stability, headings first, with a line for each k."""
    lines = [["k", "dispersion", "ARI", "least Jaccard", "Jaccard of each cluster"]]
    for one in stability:
        each = " ".join("-" if np.isnan(value) else f"{value:.2f}" for value in one.jaccard)
        least = f"{one.jaccard[~np.isnan(one.jaccard)].min():.2f}"
        lines.append([str(one.k), f"{one.dispersion:.3f}", f"{one.ari:.3f}", least, each])
    return lines


def _cell(value: float | None, best: bool) -> str:
    if value is None:
        return "- "
    text = f"{value:,.0f}" if _WHOLE <= value < _LARGE else number_text(value, 4, most=5)
    return text + ("*" if best else " ")


def _listed(names: list[str]) -> str:
    return " and ".join([*([", ".join(names[:-1])] if names[1:] else []), names[-1]])
