"""Attack v: what tables of resamples tell a party that chooses its rows. Nobody lies.

Which rows are in a resample is public, and tables tell where the boundary of its clusters is: how many rows
are below it. Far own rows are a cluster alone, so the boundary tells a sum of others' rows, each as often as
its weight. Own rows near it are the scale on which it is read. They move it too, so they are so far apart
that each place tells another sum. B resamples are B equations about others' rows, each by its number.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.privacy.geometry import error
from benchmarks.privacy.own_labels import UNIT, counted, job_of
from benchmarks.privacy.rows import PLACED, AttackRow
from secfc.field.array_types import Floats, Ints, Labels
from secfc.kmeans.consensus import bootstrap
from secfc.kmeans.plain import Plain
from secfc.kmeans.program import lloyd
from secfc.operations.beginning.plus_plus import numbers_of, plain_numbers, plain_plus_plus
from secfc.operations.ending.overlaps import plain_tables
from secfc.operations.nearest import plain_nearest, plain_pairs

_FAR = -3.0
"""Where far own rows are. Others' values are uniform from -1 to 1, and the party knows that."""

_VARIANCE = 1 / 3


def partition(given: Floats, weights: Ints, rng: np.random.Generator) -> Labels:
    """Two clusters of a column: rows of weight 0 are in no mean."""
    rows, inside = np.rint(given / UNIT).astype(np.int64).astype(object)[:, np.newaxis], weights > 0
    start = plain_plus_plus(rows[inside], weights[inside], plain_numbers(numbers_of(2), rng), 2)
    try:
        next(lloyd(Plain(rows[inside], start, weights[inside], 2), k=2, max_iter=300, fewest=1))
    except StopIteration as end:
        means = end.value.means
    return plain_nearest(plain_pairs(rows, means), means.full, m=len(rows))


def scale(others: int, far: int, near: int) -> Floats:
    """Near rows, ascending. With the first a of them below, the boundary is at the a-th for the a-th sum."""
    below = np.arange(near)[:, np.newaxis]
    matrix = 2 * (others + near - below) * np.eye(near) - np.triu(np.ones((near, near)))
    matrix -= np.tril(np.ones((near, near)), -1) * (others + near - below) / (far + below)
    most = 2.5 * np.sqrt(2 * others * _VARIANCE)
    constant = _FAR * far * (others + near - below[:, 0]) / (far + below[:, 0])
    return np.linalg.solve(matrix, np.linspace(-most, most, near) + constant).astype(np.float64)


def designed(others: int, share: float) -> tuple[Floats, int]:
    """Own rows, far ones first, and how many these are."""
    count = counted(others, share)
    for near in range(min(max(count // 5, 1), 24), 0, -1):
        rows = scale(others, count - near, near)
        if (np.diff(rows) > 0).all() and abs(rows).max() < -_FAR:
            break
    return np.concatenate([np.full(count - near, _FAR), rows]), count - near


def sum_told(own: Floats, far: int, weights: Ints, above: float, at: int) -> tuple[float, float]:
    """Least and largest sum of others' rows with which the boundary has so many near rows below it.

    `above` is the weight of others' rows, and `weights` are those of own ones.
    """
    low, high = far + at, slice(far + at, None)
    mean = float(weights[:low] @ own[:low] / weights[:low].sum())
    weight = above + weights[high].sum()
    ends = [own[low - 1] if at else -np.inf, own[low] if low < len(own) else np.inf]
    first, last = ((2 * end - mean) * weight - weights[high] @ own[high] for end in ends)
    return float(first), float(last)


def by_tables(own: Floats, far: int, labels: Labels, tables: Ints, weights: Sequence[Ints]) -> Floats:
    """Others' rows, from the party's rows and labels, tables, and the weights of all rows.

    Equations have errors as large as what a place leaves open.
    """
    equations, sums, variances = list[Floats](), list[float](), list[float]()
    for number, every in enumerate(weights):
        low = int(tables[0, number, labels[0]].argmax())
        at = int(tables[0, number, :, low].sum()) - far
        mine, theirs = every[: len(own)], every[len(own) :]
        if not 0 <= at <= len(own) - far or not mine[:far].any() or not theirs.any():
            continue
        most = 3 * np.sqrt(_VARIANCE * (theirs**2).sum())
        first, last = np.clip(sum_told(own, far, mine, float(theirs.sum()), at), -most, most)
        equations.append(theirs.astype(np.float64))
        sums.append((first + last) / 2)
        variances.append((last - first) ** 2 / 12 + 1e-6)
    matrix = np.array(equations).reshape(len(sums), len(weights[0]) - len(own))
    products = _VARIANCE * matrix @ matrix.T + np.diag(variances)
    found: Floats = _VARIANCE * matrix.T @ np.linalg.solve(products, sums)
    return found


def by_resamples(
    *, share: float, others: int, resamples: Sequence[int], repeats: int, seed: int
) -> Iterator[AttackRow]:
    """Attack v: the error of placing others' rows, by the number of resamples, medians."""
    own, far = designed(others, share)
    errors = np.empty((repeats, len(resamples)))
    for repeat in range(repeats):
        rng = np.random.default_rng([seed, repeat])
        true = rng.uniform(-1, 1, others)
        rows = np.concatenate([own, true])
        draws, _ = bootstrap(int(rng.integers(1 << 31)), len(rows), k=2, resamples=max(resamples))
        weights = [np.ones(len(rows), dtype=np.int64), *draws]
        partitions = [partition(rows, one, rng) for one in weights]
        tables = plain_tables(partitions, 2)
        for at, count in enumerate(resamples):
            some = slice(count + 1)
            found = by_tables(own, far, partitions[0][: len(own)], tables[some, some], weights[some])
            errors[repeat, at] = error(found, true)
    for count, median in zip(resamples, np.median(errors, axis=0), strict=True):
        yield PLACED.row(
            median,
            job=job_of(1, 2),
            m=len(rows),
            attack="v-rows",
            adversary="party that chooses rows",
            against="own labels",
            swept=f"share={share:.4g}, others={others}, resamples",
            value=count,
            note=f"median of {repeats}",
        )
