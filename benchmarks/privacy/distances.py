"""Attacks c and d: the server uses the distances it decodes, alone or with clients that know their rows."""

from collections.abc import Iterator

import numpy as np

from benchmarks.privacy.geometry import aligned, error, memberships, observed, placed, procrustes_error
from benchmarks.privacy.rows import PLACED, AttackRow
from benchmarks.privacy.view import Watched
from secfc.field.array_types import Floats


def seen(watched: Watched) -> tuple[Floats, Floats]:
    """The server's view: squared distances (m, c), and the centres as weighted sums of rows (c, m)."""
    return observed(watched.server.distances), memberships(watched.server.questions, watched.job.k)


def by_centres(watched: Watched, *, swept: str, value: float, counts: list[int]) -> Iterator[AttackRow]:
    """Attack c: the error up to a rigid motion, by number of centres, in the order they were seen."""
    squared, weights = seen(watched)
    d = watched.job.d
    for count in counts:
        if count > len(weights):
            break
        points = placed(squared[:, :count], weights[:count], d)
        yield PLACED.row(
            procrustes_error(points, watched.rows),
            job=watched.job,
            m=len(watched.rows),
            attack="c-centres",
            adversary="server",
            swept="centres",
            value=count,
            note=f"{swept}={value:g}; up to a rigid motion; d + 1 = {d + 1}",
        )


def whole_run(watched: Watched, *, attack: str, swept: str, value: float) -> AttackRow:
    """Attack c: the error up to a rigid motion after the whole run."""
    squared, weights = seen(watched)
    points = placed(squared, weights, watched.job.d)
    rounds = len(watched.server.questions)
    return PLACED.row(
        procrustes_error(points, watched.rows),
        job=watched.job,
        m=len(watched.rows),
        attack=attack,
        adversary="server",
        swept=swept,
        value=value,
        note=f"up to a rigid motion; {len(weights)} centres in {rounds} rounds, d + 1 = {watched.job.d + 1}",
    )


def with_known_rows(watched: Watched, counts: list[int]) -> Iterator[AttackRow]:
    """Attack d: the error of all other rows if clients send the server this many of their rows."""
    squared, weights = seen(watched)
    points = placed(squared, weights, watched.job.d)
    for count in counts:
        known = np.arange(count)
        moved = aligned(points, watched.rows[known], known)
        yield PLACED.row(
            error(moved[count:], watched.rows[count:]),
            job=watched.job,
            m=len(watched.rows),
            attack="d-known-rows",
            adversary="server + client",
            swept="known rows",
            value=count,
            note=f"d + 1 = {watched.job.d + 1}",
        )
