"""Attack h: centres that were opened by consent, with the server's view and without it."""

from collections.abc import Iterator
from math import lcm
from typing import Any

import numpy as np

from benchmarks.privacy import integers
from benchmarks.privacy.distances import seen
from benchmarks.privacy.geometry import error, placed
from benchmarks.privacy.rows import DISCLOSED, EXACT, PLACED, AttackRow
from benchmarks.privacy.view import Watched
from secfc.field.array_types import Floats, Objects
from secfc.kmeans.sets import set_sizes

RECIPIENT = 1
"""The client to which centres are opened."""


def absolute(squared: Floats, weights: Floats, d: int, sets: Floats, centres: Floats) -> Floats:
    """Rows in their own coordinates, from distances to means of known sets and from some known means.

    Parameters
    ----------
    squared, weights
        As for `benchmarks.privacy.geometry.placed`.
    d : int
    sets : ndarray of shape (c, m), float64
        The opened centres as weighted sums of the rows.
    centres : ndarray of shape (c, d), float64
        Their coordinates.

    Returns
    -------
    ndarray of shape (m, d), float64
        The rows' projections on the span of the opened centres. Outside it, the rotation is unknown.
    """
    points = placed(squared, weights, d)
    mine = sets @ points
    left, sigma, right = np.linalg.svd((mine - mine.mean(axis=0)).T @ (centres - centres.mean(axis=0)))
    spanned = int((sigma > 1e-9 * sigma[0]).sum()) if sigma[0] else 0
    turn = left[:, :spanned] @ right[:spanned]
    found: Floats = (points - mine.mean(axis=0)) @ turn + centres.mean(axis=0)
    return found


def _sets(watched: Watched) -> tuple[Floats, Floats]:
    """The opened centres as weighted sums of rows, and their coordinates."""
    centres, _ = watched.opened(RECIPIENT)
    held = np.flatnonzero(~np.isnan(centres).any(axis=1))
    members = (watched.labels == held[:, np.newaxis]).astype(np.float64)
    return members / members.sum(axis=1, keepdims=True), centres[held]


def server_with_centres(runs: list[Watched], *, attack: str, swept: str, value: float) -> AttackRow:
    """Attack h: the error of all rows if the server has the centres of these runs.

    Parameters
    ----------
    runs : list of Watched
        Runs on the same rows. The server has the distances of all of them.
    """
    views = [seen(watched) for watched in runs]
    opened = [_sets(watched) for watched in runs]
    found = absolute(
        np.concatenate([squared for squared, _ in views], axis=1),
        np.concatenate([weights for _, weights in views]),
        runs[0].job.d,
        np.concatenate([sets for sets, _ in opened]),
        np.concatenate([centres for _, centres in opened]),
    )
    count = sum(len(centres) for _, centres in opened)
    rounds = sum(len(watched.server.questions) for watched in runs)
    return PLACED.row(
        error(found, runs[0].rows),
        job=runs[0].job,
        m=len(runs[0].rows),
        attack=attack,
        adversary="server + recipient of centres",
        swept=swept,
        value=value,
        note=f"{count} centres opened, {rounds} rounds, d + 1 = {runs[0].job.d + 1}; no row known",
    )


def opened_sums(watched: Watched) -> dict[int, Objects]:
    """The exact sum of each opened cluster, (d,) each, in steps of the quantisation."""
    centres, _ = watched.opened(RECIPIENT)
    sizes = set_sizes(watched.labels, watched.job.k)
    # A float64 mean of integers below 2**32 gives the sum of up to 2**20 of them by rounding.
    return {
        h: np.array(
            [round(one) for one in np.ldexp(centres[h], watched.job.exponent) * sizes[h]], dtype=object
        )
        for h in np.flatnonzero(sizes).tolist()
    }


def exactly_with_centres(watched: Watched, *, swept: str, value: float) -> AttackRow:
    """Attack h on exact distances: exact values of all rows from the centres of one run."""
    found, true = integers.columns_of(watched), integers.true_integers(watched)
    success = 0.0
    if found is not None:
        sizes = set_sizes(watched.labels, watched.job.k).tolist()
        total = lcm(*(size for size in sizes if size))
        weighted = [
            (
                (watched.labels == h).astype(np.int64).astype(object) * (total // sizes[h]),
                own * (total // sizes[h]),
            )
            for h, own in opened_sums(watched).items()
        ]
        rows, known = integers.oriented(found, weighted)
        success = float((rows[:, known] == true[:, known]).sum()) / true.size
    return EXACT.row(
        success,
        job=watched.job,
        m=len(true),
        attack="h-integers",
        adversary="server + recipient of centres",
        swept=swept,
        value=value,
        note=f"values of all rows, exactly; {len(watched.server.questions)} rounds",
    )


def recipient_alone(watched: Watched, *, swept: str, value: float) -> Iterator[AttackRow]:
    """Attack h: others' rows placed at their mean in the cluster, and those that are then known exactly."""
    own, labels = watched.own_rows(RECIPIENT), watched.labels
    centres, _ = watched.opened(RECIPIENT)
    guess = np.tile(watched.rows[own].mean(axis=0), (len(labels), 1))
    alone = np.zeros(len(labels), dtype=bool)
    for h in np.flatnonzero(~np.isnan(centres).any(axis=1)):
        members, mine = labels == h, own & (labels == h)
        others = int(members.sum() - mine.sum())
        if others:
            guess[members & ~own] = (centres[h] * members.sum() - watched.rows[mine].sum(axis=0)) / others
        alone[members & ~own] = others == 1
    common: dict[str, Any] = {
        "job": watched.job,
        "m": len(labels),
        "adversary": "recipient of centres",
        "against": "any",
        "swept": swept,
        "value": value,
    }
    rows = watched.rows[~own]
    yield PLACED.row(
        error(guess[~own], rows), attack="h-alone", **common, note="the mean of others' rows in the cluster"
    )
    step = float(watched.job.unit)
    exact = np.abs(guess[~own] - rows).max(axis=1) <= step * np.bincount(labels).max()
    yield DISCLOSED.row(
        float(exact.mean()),
        attack="h-alone-rows",
        **common,
        note=f"{int(alone.sum())} rows are the only one of others in their cluster",
    )
