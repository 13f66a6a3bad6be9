"""Attack e: a server that asks its own questions, and how far the limits of clients stop it."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.privacy.distances import seen
from benchmarks.privacy.geometry import placed, procrustes_error
from benchmarks.privacy.rows import ANSWERED, PAIRS, PLACED, AttackRow
from benchmarks.privacy.view import Watched, watch
from secfc.field.array_types import Floats, Labels
from secfc.protocol.job.limits import Limits


def single_rows(m: int, d: int, k: int) -> list[Labels]:
    """Questions about d + 1 sets of one row each."""
    script = []
    for first in range(0, d + 1, k):
        sets = np.full(m, -1, dtype=np.int32)
        for h, row in enumerate(range(first, min(first + k, d + 1))):
            sets[row * (m // (d + 1))] = h
        script.append(sets)
    return script


def differing_by(row: int, members: int, m: int, *, rest: int = -1) -> list[Labels]:
    """Two questions: a set of `members` rows, then this set plus `row`. Other rows are in set `rest`."""
    sets = np.full(m, rest, dtype=np.int32)
    sets[[i for i in range(m) if i != row][:members]] = 0
    with_row = sets.copy()
    with_row[row] = 0
    return [sets, with_row]


def tiny_sets(parties: list[Floats], *, k: int, t: int, ell: int, smallest: list[int]) -> Iterator[AttackRow]:
    """Distances between single rows: the error of placing rows, and the part of questions answered."""
    m, d = sum(map(len, parties)), parties[0].shape[1]
    for size in smallest:
        script = single_rows(m, d, k)
        watched = watch(parties, k=k, t=t, ell=ell, script=script, limits=Limits(smallest_set=size))
        answered = len(watched.server.distances)
        error = 1.0
        if answered:
            squared, weights = seen(watched)
            error = procrustes_error(placed(squared, weights, d), watched.rows)
        common: dict[str, Any] = {
            "job": watched.job,
            "m": m,
            "adversary": "cheating server",
            "against": "any",
            "swept": "smallest_set",
            "value": size,
            "note": watched.refusal or f"{answered} rounds answered",
        }
        yield ANSWERED.row(answered / len(script), attack="e-answered", **common)
        yield PLACED.row(error, attack="e-tiny-sets", **common)


def differencing(
    parties: list[Floats], *, k: int, t: int, ell: int, smallest: int, members: list[int]
) -> Iterator[AttackRow]:
    """S in one round, and S plus one row in the next, give that row's exact distance to every other row."""
    m = sum(map(len, parties))
    row = m // 2
    for count in members:
        script, limits = differing_by(row, count, m), Limits(smallest_set=smallest)
        watched = watch(parties, k=k, t=t, ell=ell, script=script, limits=limits)
        found = from_difference(watched, row, count) if watched.refusal is None else np.zeros(m)
        yield PAIRS.row(
            pairs_known(watched, found, row),
            job=watched.job,
            m=m,
            attack="e-differencing",
            adversary="cheating server",
            swept="rows of S",
            value=count,
            note=watched.refusal or f"smallest_set={smallest} does not stop it",
        )


def pairs_known(watched: Watched, found: Floats, row: int) -> float:
    """Fraction of the other rows whose distance to `row` is found to 0.1 %."""
    true = ((watched.rows - watched.rows[row]) ** 2).sum(axis=1)
    known = np.abs(found - true) <= 1e-3 * true
    return float(np.delete(known, row).mean())


def from_difference(watched: Watched, row: int, s: int) -> Floats:
    """Squared distances of every row to one row, from those to the means of S and of S plus that row.

    Let x be the row, mu the mean of the s rows of S, and mu' the mean of S and x. Then mu' = mu + (x - mu)/(s
    + 1), so ||y - mu'||^2 = s/(s+1) ||y - mu||^2 + 1/(s+1) ||y - x||^2 - s/(s+1)^2 ||x - mu||^2 for every y
    (Stewart).
    """
    before, after = (table[:, 0] for table in watched.server.distances[:2])
    found: Floats = (s + 1) * after - s * before + s / (s + 1) * before[row]
    return found


def rounds_answered(
    parties: list[Floats], *, k: int, t: int, ell: int, most: list[int], seed: int
) -> Iterator[AttackRow]:
    """A limit on rounds also limits the number of centres that the server sees, even in an honest run."""
    d = parties[0].shape[1]
    for rounds in most:
        watched = watch(parties, k=k, t=t, ell=ell, seed=seed, limits=Limits(most_rounds=rounds))
        squared, weights = seen(watched)
        yield PLACED.row(
            procrustes_error(placed(squared, weights, d), watched.rows),
            job=watched.job,
            m=len(watched.rows),
            attack="e-rounds",
            adversary="server",
            swept="most_rounds",
            value=rounds,
            note=f"{len(weights)} centres, d + 1 = {d + 1}; {watched.refusal or 'the run ended before'}",
        )
