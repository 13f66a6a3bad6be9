"""Attack n: a client that reads others' squared distances from the public draws of a start by k-means++.

Draws are public in runs that open centres. In other runs nobody is told a row or a random number.

A draw takes the first row i with ``w_1 + ... + w_i > rho T``. T is the sum of all w, the squared distances to
the first row of the start; rho and i are public. If the client owns the first row, it knows the w of its own
rows. If it owns row i too, then ``S1 + A(i-1) <= rho (S1 + W + S3) < S1 + A(i)`` for the sums A of its own w,
their total W, and the totals S1 and S3 of the rows before and after its own. Two such draws give both. With
one row before its own, S1 is the squared distance of that row.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import linprog

from benchmarks.privacy.rows import PLACED, AttackRow
from benchmarks.privacy.view import watch
from secfc.field.array_types import Floats
from secfc.kmeans.plus_plus import DRAW_BITS
from secfc.protocol.job.job import Job
from secfc.protocol.job.limits import Limits

_K = 8
"""k of the job, which has four draws a question."""

_AWAY = 4.0
"""The own rows are around this many deviations below the mean of others' rows."""

_RANGE = 3.0
"""Others' rows are taken to be within so many deviations of their mean."""

_OF_OTHERS = 4.0
"""W is about so many times the sum of others' squared distances, so that most draws take own rows."""


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """What every client sees of a start's first draws: the first row, random numbers, and the rows taken."""

    first: int
    rho: tuple[int, ...]
    rows: list[int | None]


def own_rows(count: int, others: int) -> Floats:
    """Rows in a small ball, in deviations from the mean of others' rows, shape (count, 1)."""
    radius = min(_AWAY * (1.5 * _OF_OTHERS * others / count) ** 0.5, _AWAY - _RANGE)
    return np.linspace(-radius, radius, count)[:, np.newaxis] - _AWAY


def seen(parties: list[Floats], seed: int) -> tuple[Job, Drawn]:
    """A real run with a coin, and the first draws as all clients see them."""
    given: dict[str, Any] = {"init": "k-means++", "max_iter": 1, "disclosure": "labels", "reveal_to": (1,)}
    given["limits"] = Limits(reveal_centres=True)
    run = watch(parties, k=_K, t=1, ell=1, seed=None, keys=seed, notes=False, **given)
    first, second = run.server.questions[:2]
    candidates = np.flatnonzero(second >= 0)
    rows = candidates[np.argsort(second[candidates])]
    rho = run.asked[0].draws
    return run.job, Drawn(first=int(first.argmax()), rho=rho, rows=of_draws(rho, rows.tolist()))


def of_draws(rho: tuple[int, ...], rows: list[int]) -> list[int | None]:
    """The row of each draw, from the different rows in the order of draws. None where it is not clear.

    A greater random number never takes a lower row.
    """
    order = np.argsort(rho)
    fits = [
        taken
        for taken in product(rows, repeat=len(rho))
        if list(dict.fromkeys(taken)) == rows and (np.diff(np.array(taken)[order]) >= 0).all()
    ]
    return [taken[0] if len({*taken}) == 1 else None for taken in zip(*fits, strict=True)]


def totals(own: Floats, before: int, view: Drawn, most: Floats) -> Floats:
    """Least and greatest S1 and S3 that agree with all draws, shape (2, 2).

    Parameters
    ----------
    own : ndarray of shape (count, d), float64
        The client's own rows.
    before : int
        Number of rows of others before the own rows.
    view : Drawn
        If its first row is another's, draws tell nothing here.
    most : ndarray of shape (2,), float64
        Largest possible values.
    """
    at = view.first - before
    if not 0 <= at < len(own):
        return np.array([np.zeros(2), most])
    sums = np.concatenate([[0.0], np.cumsum(((own - own[at]) ** 2).sum(axis=1))])
    scale, sides, limits = sums[-1], list[Floats](), list[float]()
    told = [(rho, row - before) for rho, row in zip(view.rho, view.rows, strict=True) if row is not None]
    for rho, row in told:
        part = rho / 2**DRAW_BITS
        # `part` W - A(i) < S1 (1 - part) - S3 part <= `part` W - A(i-1)
        side = np.array([1 - part, -part])
        if row < len(own):
            sides.append(-side)
            limits.append(sums[max(row + 1, 0)] / scale - part)
        if row >= 0:
            sides.append(side)
            limits.append(part - sums[min(row, len(own))] / scale)
    ends = [
        [
            linprog(sign * goal, A_ub=sides, b_ub=limits, bounds=[(0, one) for one in most / scale]).x @ goal
            for goal in np.eye(2)
        ]
        for sign in (1, -1)
    ]
    found: Floats = np.array(ends) * scale
    return found


def by_draws(*, own: tuple[int, ...], others: int, runs: int, seed: int) -> Iterator[AttackRow]:
    """Attack n: the error of one row before the own rows, by own rows. Others' rows are normal, d = 1."""
    rng = np.random.default_rng(seed)
    for count in own:
        mine = own_rows(count, others)
        true, found = rng.normal(size=runs), np.zeros(runs)
        for number, row in enumerate(true):
            parties = [row.reshape(1, 1), mine, rng.normal(size=(others, 1))]
            job, view = seen(parties, seed * runs + number)
            farthest = (_RANGE - mine[0, 0]) ** 2
            ends = totals(mine, 1, view, farthest * np.array([1, others]))[:, 0]
            centre = mine[np.clip(view.first - 1, 0, count - 1), 0]
            found[number] = np.clip(centre + ends**0.5, -_RANGE, _RANGE).mean()
        errors = np.abs(found - true)
        yield PLACED.row(
            float(np.linalg.norm(errors) / np.linalg.norm(true)),
            job=job,
            m=count + others + 1,
            attack="n-row",
            adversary="client with rows in a small ball",
            against="labels",
            swept="own rows",
            value=count,
            note=f"{runs} runs; errors of {errors.min():.1%} to {errors.max():.1%} of the spread, "
            f"half of them below {np.median(errors):.1%}",
        )
