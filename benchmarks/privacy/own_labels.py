"""Attack q: a party that chooses its rows, and sees its own final labels alone. Nobody lies.

Runs are those of the program in the clear, with public random first sets, or with rows that are drawn.

- `sorted_errors`: the boundary of two clusters of a column is halfway between two means. So own labels tell
  an equation about the number and sum of others' rows on each side, in each run about other sides.
- `row_errors`: with own rows on a circle, the line between two clusters stays across the difference of the
  means of the first sets: an equation about single rows.
- `sum_errors`: far own rows are a cluster alone, so the boundary tells the sum of others' rows. Own rows near
  it move it too, but the party knows where it comes to rest for each sum. It comes there from above, or also
  from below if rows are drawn: then several sums are possible.
- `farthest_errors`: with half of the rows far away, the means of random first sets are where nobody's rows
  are, so a set empties. The farthest row fills it, and `max_iter` = 1 ends the run before others join it.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls
from scipy.stats import norm

from benchmarks.privacy.geometry import error
from benchmarks.privacy.rows import AttackRow, Scale
from secfc.field.array_types import Floats, Ints, Labels
from secfc.kmeans.plain import Plain
from secfc.kmeans.program import lloyd
from secfc.operations.beginning.plus_plus import numbers_of, plain_numbers, plain_plus_plus
from secfc.protocol.job.job import Job
from secfc.protocol.job.making import make_job

BOUND = 8.0
"""The norm bound, in deviations of others' rows."""

UNIT = 2.0**-26

_BINS = np.linspace(-5, 5, 201)

_KNOWN = np.concatenate(
    [150 * np.diff(np.eye(_BINS.size), 2, axis=0), 1e3 * np.stack([_BINS**0, _BINS, _BINS**2])]
)
"""Of rows in bins, relative to all: they are smooth, and the party knows their number, mean and square."""


def run(
    own: Floats,
    others: Floats,
    k: int,
    rng: np.random.Generator,
    *,
    max_iter: int = 300,
    init: str = "random",
) -> tuple[Labels, Labels]:
    """The party's final labels, and the first sets of all rows. Its rows come first."""
    labels, start = clustered(np.concatenate([own, others]), k, rng, max_iter=max_iter, init=init)
    return labels[: len(own)], start


def clustered(
    given: Floats, k: int, rng: np.random.Generator, *, max_iter: int, init: str
) -> tuple[Labels, Labels]:
    """The final labels, and the first sets, of rows that are multiples of UNIT or rounded to them."""
    rows = np.rint(given / UNIT).astype(np.int64).astype(object)
    ones = np.ones(len(rows), dtype=np.int64)
    if init == "random":
        start = rng.integers(0, k, len(rows), dtype=np.int32)
    else:
        start = plain_plus_plus(rows, ones, plain_numbers(numbers_of(k), rng), k)
    try:
        next(lloyd(Plain(rows, start, ones, k), k=k, max_iter=max_iter, fewest=1))
    except StopIteration as end:
        labels: Labels = end.value.labels
    return labels, start


def counted(others: int, share: float) -> int:
    """Rows of a party with a share of all rows."""
    return round(others * share / (1 - share))


class Told(NamedTuple):
    """What own labels tell in one column: boundaries, and own rows in each cluster."""

    boundaries: Floats
    gaps: Floats
    counts: Ints
    sums: Floats

    @classmethod
    def of(cls, own: Floats, labels: Labels, k: int) -> "Told | None":
        """None if own rows are not in k clusters, one beside the other."""
        order = np.argsort(own, kind="stable")
        values, cuts = own[order], np.flatnonzero(np.diff(labels[order])) + 1
        if len(cuts) != k - 1 or len(set(labels)) != k:
            return None
        parts, ends = np.split(values, cuts), (values[cuts - 1], values[cuts])
        sums, counts = np.array([part.sum() for part in parts]), np.array([part.size for part in parts])
        return cls((ends[0] + ends[1]) / 2, ends[1] - ends[0], counts, sums)


def fitted(held: Floats, told: list[Told]) -> Floats:
    """How many of others' rows are in each bin, by Gauss-Newton steps; counts are smooth and not negative."""
    for _ in range(6):
        matrices, vectors = zip(*(_equations(held, one) for one in told), strict=True)
        right = np.concatenate([*vectors, np.zeros(len(_KNOWN) - 3), [1e3, 0, 1e3]])
        held, _ = nnls(np.concatenate([*matrices, _KNOWN / held.sum()]), right, maxiter=20_000)
    return held


def _equations(held: Floats, told: Told) -> tuple[Floats, Floats]:
    """Each boundary is halfway between two means, linear around the present counts."""
    ends = np.concatenate([[-np.inf], told.boundaries, [np.inf]])[:, np.newaxis]
    inside = np.diff(np.clip((ends - _BINS) / (_BINS[1] - _BINS[0]) + 0.5, 0, 1), axis=0)
    counts = inside @ held + told.counts
    means = (inside @ (held * _BINS) + told.sums) / counts
    slopes = inside * (_BINS - means[:, np.newaxis]) / counts[:, np.newaxis]
    both, missed = slopes[1:] + slopes[:-1], 2 * told.boundaries - means[1:] - means[:-1]
    sure = np.maximum(told.gaps, 0.004)  # what bins make of a boundary
    return both / sure[:, np.newaxis], (both @ held + missed) / sure


def sorted_errors(
    rng: np.random.Generator, *, share: float, others: int, d: int, k: int, init: str = "random"
) -> Iterator[float]:
    """The error of the sorted values of others' first column, of two groups, before and after each run."""
    first, count = int(others * rng.uniform(0.25, 0.75)), counted(others, share)
    true = np.concatenate([rng.normal(-1.3, 0.5, first), rng.normal(1.3, 0.8, others - first)])
    true = np.sort((true - true.mean()) / true.std())
    rows, told = np.stack([true, *rng.normal(size=(d - 1, others))], axis=1), list[Told]()
    held = norm.pdf(_BINS) / norm.pdf(_BINS).sum() * others
    while True:
        below = (np.cumsum(held) - held / 2) * others / held.sum() + 1e-9 * np.arange(held.size)
        yield error(np.interp(np.arange(others) + 0.5, below, _BINS), true)
        sizes = (rng.dirichlet(np.ones(2 * k))[:k] * 0.8 * count).astype(int)
        grid = np.linspace(-4, 4, count - sizes.sum()) + rng.uniform(-4, 4) / count
        own = np.concatenate([np.repeat(rng.uniform(-BOUND, BOUND, k), sizes), grid])
        if one := Told.of(own, run(np.outer(own, np.eye(d)[0]), rows, k, rng, init=init)[0], k):
            told.append(one)
            held = fitted(held, told)


def row_errors(rng: np.random.Generator, *, share: float, others: int, max_iter: int) -> Iterator[float]:
    """The error of placing others' rows, each by its number, before and after each run."""
    true, count = rng.normal(size=(others, 2)), counted(others, share)
    angles = 2 * np.pi * (np.arange(count) + 0.25) / count
    own = 3 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    lines, offsets, noise = list[Floats](), list[float](), 0.02 if max_iter == 1 else 0.15
    yield 1.0
    while True:
        labels, start = run(own, true, 2, rng, max_iter=max_iter)
        signs = np.where(start == 1, 1 / (start == 1).sum(), -1 / (start == 0).sum())
        apart = labels @ own / max(labels.sum(), 1) - (1 - labels) @ own / max((1 - labels).sum(), 1)
        along = np.array([-apart[1], apart[0]]) / np.linalg.norm(apart)
        lines.append(np.outer(signs[count:], along).ravel())
        offsets.append(-(signs[:count] @ own) @ along)
        products = (matrix := np.array(lines)) @ matrix.T
        solved = np.linalg.solve(products + np.eye(len(lines)) * products[0, 0] * noise, offsets)
        yield error((matrix.T @ solved).reshape(-1, 2), true)


def sum_errors(
    rng: np.random.Generator, *, share: float, others: int, init: str = "random"
) -> Iterator[float]:
    """The error of the sum of others' rows, which are within 3 of 0, before and after each run.

    It is that of the first of all sums that are possible.
    """
    true = np.clip(rng.normal(size=others) + rng.uniform(-0.5, 0.5), -3, 3)
    far = min(counted(others, share), 3 * others // 4) * 4 // 5
    near, below = far // 4, np.arange(1, far // 4 + 1)[:, np.newaxis]
    above = others + near - below
    # Row i is where the boundary comes to rest for the i-th sum, with the rows up to i below it.
    matrix = 2 * np.diag(above[:, 0]) - np.tril(np.ones((near, near))) * above / (far + below)
    matrix -= np.triu(np.ones((near, near)), 1)
    possible, sides = np.array([[-1.0, 1.0]]) * others, (0,) if init == "random" else (0, 1)

    def resting(rows: Floats, at: int, boundary: float) -> float:
        """The sum with which the boundary rests there, with so many near rows below it."""
        mean = (rows[:at].sum() - BOUND * far) / (far + at)
        return float((2 * boundary - mean) * (others + near - at) - rows[at:].sum())

    while True:
        yield float(abs(possible[0].mean() - true.sum()) / 6)
        ends = np.cumsum([0.0, *np.ptp(possible, axis=1)])
        sums = np.interp(np.linspace(0, ends[-1], near + 2)[1:-1], ends, [*possible[:, 0], possible[-1, 1]])
        rows = np.linalg.solve(matrix, sums - BOUND * far * (above / (far + below))[:, 0])
        own = np.concatenate([np.full(far, -BOUND), rows])
        labels, _ = run(own[:, np.newaxis], true[:, np.newaxis], 2, rng, init=init)
        at, found = int((labels == labels[0]).sum()) - far, list[Floats]()
        for side in sides if 0 <= at <= near else ():
            low = resting(rows, at - side, rows[at - 1]) if at else -np.inf
            high = resting(rows, at + 1 - side, rows[at]) if at < near else np.inf
            found += [one for one in np.clip(possible, low, high) if one[0] < one[1]]
        possible = np.array(sorted(map(tuple, found))) if found else possible


def farthest_errors(
    rng: np.random.Generator, *, share: float, others: int, max_iter: int, init: str
) -> Iterator[float]:
    """The error of the largest of others' values, whose sum is known, before and after each run."""
    true, count = np.clip(rng.normal(size=others), -3.4, 3.4), counted(others, share)
    near, ends = count // 10, np.array([1.5, 4.5])
    while True:
        yield float(abs(ends.mean() - true.max()) / np.ptp(true))
        values = np.linspace(ends[0], ends[1], near)
        # Row i is halfway between the i-th value and the mean of others' other rows and these own ones.
        matrix = 2 * np.eye(near) - 1 / (others + near - 1)
        rows = np.linalg.solve(matrix, values + (true.sum() - values) / (others + near - 1))
        own = np.concatenate([np.full(count - near, -BOUND), rows])
        labels, _ = run(own[:, np.newaxis], true[:, np.newaxis], 3, rng, max_iter=max_iter, init=init)
        beyond = labels[count - near :] != labels[count - near]
        at = int(beyond.argmax())
        if at and beyond[at:].all() and labels[0] not in labels[count - near :]:
            ends = values[at - 1 : at + 1]


def job_of(d: int, k: int) -> Job:
    """A job with such runs."""
    return make_job(n=3, k=k, t=1, ell=1, d=d, bound=BOUND, disclosure="labels")


def by_own_labels(
    attack: str, of: Any, scale: Scale, *, repeats: int, runs: Sequence[int], seed: int, **given: Any
) -> Iterator[AttackRow]:
    """Medians over repeats, after so many runs."""
    errors = [of(np.random.default_rng([seed, number]), **given) for number in range(repeats)]
    medians = np.median([list(islice(one, max(runs) + 1)) for one in errors], axis=0)
    for after in runs:
        yield scale.row(
            medians[after],
            job=job_of(
                given.get("d", 1 + (attack == "q-rows")), given.get("k", 2 + (attack == "q-farthest"))
            ),
            m=given["others"] + counted(given["others"], given["share"]),
            attack=attack,
            adversary="party that chooses rows",
            against="own labels",
            swept=", ".join([*(f"{name}={_shown(value)}" for name, value in given.items()), "runs"]),
            value=after,
            note=f"median of {repeats}",
        )


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"
