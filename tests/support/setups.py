"""Runs of a few rows on three blobs."""

from typing import Any

import numpy as np

from secfc.drivers.setup import Setup
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import make_job
from secfc.tables.ids import row_ids


def make(
    counts: tuple[int, ...] = (5, 0, 7),
    *,
    k: int = 3,
    t: int = 1,
    ell: int = 1,
    d: int = 4,
    starts: bool = False,
    ids: bool = False,
    precision: int = 16,
    limits: Limits | None = None,
    seed: int | None = 1,
    salt: bytes | None = None,
    **parameters: Any,
) -> Setup:
    """A run; `starts` gives start labels too, `ids` membership privacy, `weighted` weights.

    `described` gives two columns: of numbers, or of categories.

    Unless `disclosure` is given, the server compares: such a run has fewer messages, and no helpers or
    comparers.
    """
    if parameters.get("resamples"):  # which need ten rows each
        counts = tuple(one * -(-10 * parameters["resamples"] // sum(counts)) for one in counts)
    rng = np.random.default_rng(2)
    rows = [rng.normal(size=(m, d)) + rng.integers(3, size=(m, 1)) * 3 for m in counts]
    m, held = sum(counts), None
    labels = np.split((np.arange(m) % k).astype(np.int32), np.cumsum(counts)[:-1])
    if starts:
        parameters["init"] = "labels"
    if parameters.get("predict"):  # the last row of each party that has some
        parameters["max_iter"] = 1
        labels = [np.where(np.arange(len(own)) == len(own) - 1, -1, own).astype(np.int32) for own in labels]
    if ids:
        parameters["ids_cap"] = m
        names = np.split(np.arange(m), np.cumsum(counts)[:-1])
        held = [row_ids(one.tolist(), key=bytes(32), name="party") for one in names]
    parameters.setdefault("disclosure", "coded")
    return Setup(
        job=make_job(
            n=len(counts), k=k, t=t, ell=ell, d=d, bound=64.0, precision=precision, seed=seed, **parameters
        ),
        rows=rows,
        starts=labels if starts else None,
        columns=[np.arange(2 * m).reshape(2, m) % 2 for m in counts] if parameters.get("described") else None,
        weights=[1 + np.arange(len(own)) % 3 for own in rows] if parameters.get("weighted") else None,
        ids=held,
        salt=salt,
        names=[f"parties[{j}]" for j in range(len(counts))],
        limits=limits or Limits(),
    )
