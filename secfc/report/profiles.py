"""Profiles of clusters from opened means: their differences from all rows, and their distances."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from secfc.errors import ParameterError
from secfc.field.array_types import Floats, Ints
from secfc.prepare.column_transform import Preparation
from secfc.prepare.schema import Column
from secfc.tables.number_texts import number_text

MOST_DIFFERENT, LEAST_DIFFERENCE, LEAST_SHARE = 3, 0.5, 0.1
"""The most columns named for each cluster; the least difference in them, in deviations of all rows; and, if
these are not known, the least fraction of the cluster's squared distance from the mean of all rows."""


@dataclass(frozen=True)
class Cell:
    """A column in a cluster, in the data's units. `away` is in deviations above the mean of all rows."""

    mean: float
    deviation: float | None
    away: float


@dataclass(frozen=True)
class ColumnLine:
    """A column in all clusters; None for a cluster without rows. With logarithms, means are geometric and
    deviations are factors.
    """

    name: str
    column: Column | None  # from the schema, if it has numbers
    mean: float
    cells: list[Cell | None]

    @property
    def log(self) -> bool:
        """Whether logarithms were taken."""
        return self.column is not None and self.column.log

    def text(self, mean: float, digits: int) -> str:
        """A mean as text."""
        return self.column.shown(mean) if self.column and self.column.date else number_text(mean, digits)


@dataclass(frozen=True)
class ClusterLine:
    """A cluster compared with the others, in the units of the clustered rows.

    `most` are the columns in which it differs most, and whether it is above the mean of all rows there.
    `spread` is the root mean square of its rows' distances to its centre. `overlap` is the largest sum of its
    spread and another's, divided by the distance of their centres. Both are None if spreads were not opened.
    """

    cluster: int
    most: list[tuple[str, bool]]
    nearest: int
    distance: float
    spread: float | None
    overlap: float | None


@dataclass(frozen=True, kw_only=True)
class Profile:
    """The part of the page about opened means.

    `unit` names the deviations that colours show. `columns` begin with those that differ most between
    clusters, in deviations of all rows. With `by_distance` the differences are in the units of the clustered
    rows, because deviations between clusters are too similar in all columns.
    `explained` is the fraction of the squared distances to the mean of all rows that is between clusters,
    None if it is not known.
    """

    unit: str
    by_distance: bool
    columns: list[ColumnLine]
    clusters: list[ClusterLine]
    explained: float | None


def profile(
    centres: Floats,
    deviations: Floats | None,
    sizes: Ints,
    *,
    inertia: float | None,
    columns: Sequence[str] | Preparation,
) -> Profile:
    """The profile of clusters, from the values opened to one reader and from public numbers.

    `centres` and `deviations` have shape (k, d), NaN for a cluster without rows; the inertia is in squared
    units of the clustered rows. With a preparation as `columns`, means are in the units of its schema.
    ParameterError if the number of names is not d.
    """
    names = columns_of(columns) or [str(at) for at in range(centres.shape[1])]
    if len(names) != centres.shape[1]:
        raise ParameterError(f"columns: {centres.shape[1]} names are needed, {len(names)} were given")
    here = np.flatnonzero(sizes)
    weights, known = sizes[here] / sizes.sum(), centres[here]
    around = None if deviations is None else deviations[here]
    mean = weights @ known
    between = weights @ (known - mean) ** 2
    within = None if around is None else weights @ around**2
    scale = _overall_scale(mean, between, within, columns)
    by_distance = scale is None
    unit = np.sqrt(between) if scale is None else scale
    away = np.divide(known - mean, unit, out=np.zeros_like(known), where=unit > 0)
    gaps = known - mean if by_distance else away
    least = LEAST_SHARE * (gaps**2).sum(axis=1, keepdims=True) if by_distance else LEAST_DIFFERENCE**2
    differs = np.copysign(gaps**2 / np.where(least > 0, least, 1), gaps)
    left = inertia / sizes.sum() if inertia is not None else None if within is None else within.sum()
    total = None if left is None else between.sum() + left
    shown, spreads, overall = _in_units(known, around, mean, columns)
    schema = columns.schema.columns if isinstance(columns, Preparation) else ()
    numbers = {one.name: one for one in schema if not one.categories}
    places = {int(h): at for at, h in enumerate(here)}
    return Profile(
        unit="standard deviations " + ("between clusters" if by_distance else "of all rows"),
        by_distance=by_distance,
        columns=[
            ColumnLine(
                _titles(columns).get(names[j], names[j]),
                numbers.get(names[j]),
                float(overall[j]),
                [
                    Cell(
                        float(shown[places[h], j]),
                        None if spreads is None else float(spreads[places[h], j]),
                        float(away[places[h], j]),
                    )
                    if h in places
                    else None
                    for h in range(len(sizes))
                ],
            )
            for j in np.argsort(-(weights @ gaps**2), kind="stable").tolist()
        ],
        clusters=_beside(here, known, around, differs, names),
        explained=None if not total else float(between.sum() / total),
    )


def columns_of(columns: Sequence[str] | Preparation) -> list[str]:
    """The names of the columns that are clustered."""
    return list(columns.names if isinstance(columns, Preparation) else columns)


def _overall_scale(
    mean: Floats, between: Floats, within: Floats | None, columns: Sequence[str] | Preparation
) -> Floats | None:
    """The deviation of each column over all rows, if all are known."""
    if within is not None:
        return np.sqrt(between + within)
    if isinstance(columns, Preparation):
        made = [(column, one) for column in columns.schema.columns for one in column.prepared]
        if all(column.categories or column.scale == "standardise" for column, _ in made):
            shares = np.array([bool(column.categories) for column, _ in made])
            return np.where(shares, np.sqrt(np.clip(mean * (1 - mean), 0, None)), 1.0)
    return None


def _in_units(
    centres: Floats, deviations: Floats | None, mean: Floats, columns: Sequence[str] | Preparation
) -> tuple[Floats, Floats | None, Floats]:
    if not isinstance(columns, Preparation):
        return centres, deviations, mean
    shown = columns.restore(centres)
    spreads = None if deviations is None else columns.restore_spreads(deviations)
    return shown, spreads, columns.restore(mean[np.newaxis])[0]


def _titles(columns: Sequence[str] | Preparation) -> dict[str, str]:
    if not isinstance(columns, Preparation):
        return {}
    units = {one.name: one.unit for one in columns.schema.columns if one.unit}
    return {name: f"{name} ({unit})" for name, unit in units.items()}


def _beside(
    here: Ints, centres: Floats, deviations: Floats | None, differs: Floats, names: list[str]
) -> list[ClusterLine]:
    """Compare each cluster with the others; [] for one. It differs in columns with |differs| of 1 or more."""
    if len(here) < 2:
        return []
    gaps = np.linalg.norm(centres[:, np.newaxis] - centres, axis=2)
    np.fill_diagonal(gaps, np.inf)
    spreads = overlaps = None
    if deviations is not None:
        spreads = np.linalg.norm(deviations, axis=1)
        sums = spreads[:, np.newaxis] + spreads
        overlaps = np.divide(sums, gaps, out=np.full_like(gaps, np.inf), where=gaps > 0).max(axis=1)
    lines = []
    for at, h in enumerate(here.tolist()):
        order = np.argsort(-np.abs(differs[at]), kind="stable")[:MOST_DIFFERENT].tolist()
        most = [(names[j], differs[at, j] > 0) for j in order if abs(differs[at, j]) >= 1]
        nearest = int(gaps[at].argmin())
        lines.append(
            ClusterLine(
                h,
                most,
                int(here[nearest]),
                float(gaps[at, nearest]),
                None if spreads is None else float(spreads[at]),
                None if overlaps is None else float(overlaps[at]),
            )
        )
    return lines
