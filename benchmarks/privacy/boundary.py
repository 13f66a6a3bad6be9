"""Attack p: a client whose rows move the boundary of two clusters slowly across a column of others' rows.

The boundary b is halfway between two means. Where the density of all rows is that of Student's t with two
degrees of freedom, every b halves the distance of the means beside it, so Lloyd's method stays where it is.
The client fills up others' rows to this density and moves the far rows at both ends out, so that each round
moves b a little. Its own labels tell between which own rows b is, and labels of all rounds tell between which
boundaries another's row is. Nobody lies. The client knows the mean and the deviation of the column.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm

from benchmarks.privacy.rows import NEAR, AttackRow
from benchmarks.privacy.view import watch
from secfc.field.array_types import Floats, Labels
from secfc.protocol.job.job import Job

_RANGE = 3.0
"""Others' rows are taken to be within so many deviations of their mean."""

_BOUND = 8.0
"""The norm bound of the job, in deviations."""

_NEAR = 0.02
"""A row is found if it is placed within this part of the range of others' rows."""

_CHOICES = (10, 2), (1, 16)
"""Designs that are left after each choice, and the times that others' rows are drawn to try one."""


class Design(NamedTuple):
    """Where the boundary begins and ends, the scale of the density, and how far each end is moved out."""

    first: float
    last: float
    scale: float
    left: float
    right: float

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> "Design":
        """A random design."""
        return cls(
            first=rng.uniform(-2.8, 0),
            last=rng.uniform(1.5, 2.8),
            scale=float(np.exp(rng.uniform(np.log(0.5), np.log(8)))),
            left=rng.uniform(0, 0.3),
            right=rng.uniform(0, 0.4),
        )


def own_rows(count: int, others: int, design: Design) -> Floats | None:
    """Values of the client's rows, shape (count,), in deviations of others'; None if they are too few."""
    ends, m = np.array(design[:2]), count + others
    at = np.linspace(design.first, design.last, 400)
    angle = (at - ends[0]) / design.scale
    wanted = m / 2 * angle / np.hypot(1, angle) - others * (norm.cdf(at) - norm.cdf(at[0]))
    sums, places = np.unique(np.maximum.accumulate(np.maximum(wanted, 0)), return_index=True)
    between = np.interp(np.arange(round(sums[-1])) + 0.5, sums, at[places])
    left = round(m / 2 - others * norm.cdf(ends[0]))
    sizes = np.array([left, count - left - len(between)])
    if sizes.min() < 1:
        return None
    # Means beyond the ends are so far from them that each end is halfway between the means beside it.
    apart = design.scale * np.hypot(1, (ends - ends[0]) / design.scale)
    beyond = others * np.array([norm.cdf(ends[0]), norm.sf(ends[1])])
    sums = (ends + design[3:] + [-apart[0], apart[1]]) * (sizes + beyond)
    far = (sums + others * norm.pdf(ends) * [1, -1]) / sizes
    return None if np.abs(far).max() > _BOUND else np.concatenate([np.repeat(far, sizes), between])


def seen(parties: list[Floats], *, max_iter: int, seed: int) -> tuple[Job, list[Labels]]:
    """A real run with a coin, and the labels of all rounds as all clients see them."""
    given: dict[str, Any] = {"max_iter": max_iter, "bound": _BOUND}
    run = watch(parties, k=2, t=1, ell=1, seed=None, keys=seed, **given)
    return run.job, [*run.server.questions[1:], run.labels]


def simulated(rows: Floats, max_iter: int, rng: np.random.Generator) -> list[Labels]:
    """Labels of all rounds of Lloyd's method with k = 2 from random labels, in floating point."""
    told: list[Labels] = [rng.integers(0, 2, len(rows), dtype=np.int32)]
    while len(told) <= max_iter + 1 and 0 < told[-1].sum() < len(rows):
        low, high = (rows[told[-1] == h].mean(axis=0) for h in range(2))
        told.append((rows @ (high - low) > (high - low) @ (high + low) / 2).astype(np.int32))
        if np.array_equal(told[-1], told[-2]):
            break
    return told[1:]


def placed(own: Floats, told: list[Labels]) -> Floats:
    """Others' values, the middle of those that agree with all labels. The client's rows come first."""
    count = len(own)
    low, high = (np.full(len(told[-1]) - count, end) for end in (-_RANGE, _RANGE))
    for labels in told:
        sides = [own[labels[:count] == h] for h in range(2)]
        if min(map(len, sides)) == 0:
            continue
        left = int(sides[0].mean() > sides[1].mean())
        in_left = labels[count:] == left
        high[in_left] = np.minimum(high[in_left], sides[1 - left].min())
        low[~in_left] = np.maximum(low[~in_left], sides[left].max())
    middle: Floats = (low + high) / 2
    return middle


def relative(found: Floats, true: Floats) -> Floats:
    """Errors of the values, relative to their range."""
    return np.abs(found - true) / np.ptp(true)


def planned(count: int, others: int, d: int, max_iter: int, tried: int, rng: np.random.Generator) -> Floats:
    """The own rows, shape (count, d), of the design that finds most rows of others that are normal."""

    def success(own: Floats, times: int) -> float:
        found = 0.0
        for _ in range(times):
            drawn = rng.normal(size=(others, d))
            told = simulated(np.concatenate([np.outer(own, axis), drawn]), max_iter, rng)
            found += float((relative(placed(own, told), drawn[:, 0]) < _NEAR).mean())
        return found

    axis = np.eye(d)[0]
    drawn = (own_rows(count, others, Design.drawn(rng)) for _ in range(tried))
    designs = [own for own in drawn if own is not None]
    for left, times in _CHOICES:
        designs = sorted(designs, key=lambda own, times=times: -success(own, times))[:left]  # type: ignore[misc]
    return np.outer(designs[0], axis)


def by_chosen_rows(
    *, share: float, others: int, d: int, max_iter: int, tried: int, runs: int, seed: int
) -> AttackRow:
    """Attack p: the part of others' rows whose first column is found by a client with a share of all rows.

    Parameters
    ----------
    share : float
    others : int
        Number of others' rows. They are normal and independent, and belong to two parties.
    d, max_iter : int
    tried : int
        Designs that the client tries beforehand. With 0 its rows are like others'.
    runs, seed : int
    """
    rng = np.random.default_rng(seed)
    count = round(others * share / (1 - share))
    own = planned(count, others, d, max_iter, tried, rng) if tried else rng.normal(size=(count, d))
    errors, rounds = [], []
    for number in range(runs):
        rows = rng.normal(size=(others, d))
        parties = [own, *np.array_split(rows, 2)]
        job, told = seen(parties, max_iter=max_iter, seed=seed * runs + number)
        errors.append(relative(placed(own[:, 0], told), rows[:, 0]))
        rounds.append(len(told))
    return NEAR.row(
        float((np.array(errors) < _NEAR).mean()),
        job=job,
        m=others + count,
        attack="p-rows",
        adversary="client that chooses rows" if tried else "client with rows like others'",
        against="coded",
        swept=f"d={d}, max_iter={max_iter}, share of rows",
        value=share,
        note=f"{runs} runs of {min(rounds)} to {max(rounds)} rounds; half of the errors below "
        f"{np.median(errors):.1%} of the range",
    )
