"""Attack g: what a server learns from the plain uploads of k-FED, FKM and DWF, on the same rows as secfc."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from benchmarks.privacy.distances import seen
from benchmarks.privacy.geometry import error, placed
from benchmarks.privacy.rows import DISCLOSED, PLACED, AttackRow
from benchmarks.privacy.view import Watched
from plaintext_baselines import DWF, FKM, KFED
from plaintext_baselines.dwf import local_update
from plaintext_baselines.fkm import client_step
from secfc.field.array_types import Floats, Ints

ROUNDS = 8
Upload = tuple[Floats, Ints | None]
"""Means, and their numbers of rows if the method sends them."""


def kfed_uploads(parties: list[Floats], k: int, seed: int) -> list[list[Upload]]:
    """Each party's only upload: its k' = k centres, or its rows if it has at most k.

    With only one party, the server's result is that party's centres.
    """
    uploads: list[list[Upload]] = []
    for rows in parties:
        sent = rows
        if len(rows) > k:
            sent = KFED(k, random_state=seed).fit([rows]).cluster_centers_
        uploads.append([(sent, None)])
    return uploads


def fkm_uploads(parties: list[Floats], k: int, seed: int) -> list[list[Upload]]:
    """Each party's means and sizes in each round, with FKM's own settings (means of one row are not sent)."""
    means = FKM(k, init="random", max_iter=ROUNDS, random_state=seed).fit(parties).centers_history_
    return [
        [
            (sent.means, sent.sizes.astype(np.int64))
            for sent in (client_step(rows, given, 1, min_size=2, updated=False) for given in means)
        ]
        for rows in parties
    ]


def dwf_uploads(parties: list[Floats], k: int, seed: int) -> list[list[Upload]]:
    """Each party's centroids and weights in each round, with one local step."""
    centres = []
    for rounds in range(1, ROUNDS + 1):
        model = DWF(
            k,
            learning_rate=1.0,
            momentum=0.0,
            local_iter=1,
            max_iter=rounds,
            init="random",
            random_state=seed,
        )
        centres.append(model.fit(parties).cluster_centers_)
    uploads: list[list[Upload]] = []
    for rows in parties:
        norms = np.einsum("ij,ij->i", rows, rows)
        sent = [local_update(rows, norms, given, 1, 0.0) for given in centres]
        uploads.append(
            [(update.centres[update.sizes > 0], update.sizes[update.sizes > 0]) for update in sent]
        )
    return uploads


METHODS = {"k-FED": kfed_uploads, "FKM": fkm_uploads, "DWF": dwf_uploads}


def disclosed(rows: Floats, uploads: list[Upload]) -> float:
    """Fraction of a party's rows that its server can compute: uploaded directly, or as a difference of sums.

    With sizes, a cluster's sum is known. If the sums of two rounds differ by a row, that row is known.
    """
    candidates = [means for means, _ in uploads]
    known = [(means * sizes[:, np.newaxis], sizes) for means, sizes in uploads if sizes is not None]
    for (before, n_before), (after, n_after) in pairwise(known):
        one_more = n_after[:, np.newaxis] - n_before == 1
        one_less = n_after[:, np.newaxis] - n_before == -1
        gained = after[:, np.newaxis] - before
        candidates += [gained[one_more], -gained[one_less]]
    near = cdist(rows, np.concatenate(candidates)).min(axis=1, initial=np.inf)
    return float((near <= 1e-6 * (1 + np.linalg.norm(rows, axis=1))).mean())


def uploads_leak(watched: Watched, per_party: int, seed: int = 0) -> Iterator[AttackRow]:
    """Disclosed rows, and the error if each row is placed at the nearest mean that its party uploaded."""
    job, parties = watched.job, watched.parties
    common: dict[str, Any] = {
        "job": job,
        "m": len(watched.rows),
        "adversary": "server",
        "swept": "rows per party",
    }
    for method, uploads_of in METHODS.items():
        uploads = uploads_of(parties, job.k, seed)
        shares = [disclosed(rows, sent) for rows, sent in zip(parties, uploads, strict=True)]
        yield DISCLOSED.row(
            float(np.mean(shares)), attack="g-disclosed", against=method, value=per_party, **common
        )
        guesses = []
        for rows, sent in zip(parties, uploads, strict=True):
            means = np.concatenate([one for one, _ in sent])
            # If nothing was sent, the server guesses the mean of all rows.
            known = means if len(means) else watched.rows.mean(axis=0, keepdims=True)
            guesses.append(known[cdist(rows, known).argmin(axis=1)])
        yield PLACED.row(
            error(np.concatenate(guesses), watched.rows),
            attack="g-placed",
            against=method,
            value=per_party,
            note="the nearest uploaded mean",
            **common,
        )
    squared, weights = seen(watched)
    points = placed(squared, weights, job.d)
    near = cdist(watched.rows, points + watched.rows.mean(axis=0)).min(axis=1)
    hit = float((near <= 1e-6 * (1 + np.linalg.norm(watched.rows, axis=1))).mean())
    yield DISCLOSED.row(
        hit, attack="g-disclosed", against="secfc", value=per_party, note="rotation unknown", **common
    )
    yield PLACED.row(
        error(points + watched.rows.mean(axis=0), watched.rows),
        attack="g-placed",
        against="secfc",
        value=per_party,
        note="attack c as it comes out, orientation unknown; even told the mean of all rows",
        **common,
    )
