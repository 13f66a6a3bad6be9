"""Compare a simulated run with scikit-learn's KMeans on the pooled rows, if one process has all rows."""

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secfc.drivers.outcome import Outcome
from secfc.errors import DataError, missing
from secfc.field.array_types import Floats, Labels
from secfc.operations.beginning.plus_plus import repeated_draws
from secfc.tables.parties import as_parties


@dataclass(frozen=True, kw_only=True)
class PooledComparison:
    """The result of Lloyd's algorithm in float64 on the pooled rows, and its agreement with the run.

    `same` of the `rows` have equal labels. If not `same_start`, nobody knows which rows the run drew in
    secret. Then Lloyd's algorithm begins with the run's own clusters, and so says whether these stay.
    """

    same_start: bool
    same: int
    rows: int
    labels: Labels = field(repr=False)
    inertia: float
    n_iter: int
    seconds: float


def rows_of_run(result: Outcome, parties: Sequence[Any]) -> list[Floats]:
    """The rows of a run's parties, shape (m_j, d) each; DataError for other shapes."""
    members = as_parties(parties)
    counts = [member.rows.shape[0] for member in members]
    if counts != [len(labels) for labels in result.labels] or members[0].rows.shape[1] != result.job.d:
        raise DataError(
            f"parties: rows {counts} of {members[0].rows.shape[1]} columns are not those of the run"
        )
    return [member.rows for member in members]


def compare_with_pooled(result: Outcome, parties: Sequence[Any]) -> PooledComparison:
    """Run scikit-learn's KMeans on the pooled rows (`PooledComparison`); DataError for other shapes."""
    try:
        from sklearn.cluster import KMeans  # noqa: PLC0415 - an extra, which takes a second to import
    except ModuleNotFoundError:
        raise missing("scikit-learn", "a comparison with the pooled rows", "sklearn") from None

    rows = rows_of_run(result, parties)
    within = [j for j in range(len(rows)) if j + 1 not in result.faults.left_out]
    pooled = np.concatenate([rows[j] for j in within])
    labels = np.concatenate([np.asarray(result.labels[j]) for j in within])
    start = np.concatenate([result.start[j] for j in within])
    if start.max() < 0:
        start = _drawn(result, pooled, within)
    same_start = start.max() >= 0
    start = start if same_start else labels
    centres = np.array([pooled[start == h].mean(axis=0) for h in range(result.job.k)])
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the secure run has already warned about convergence
        # Both end after an iteration in which few labels changed, and one more assignment.
        most = result.n_iter if result.job.method.tol_moved else result.job.method.max_iter
        model = KMeans(result.job.k, init=centres, n_init=1, tol=0.0, max_iter=most)
        model.fit(pooled)
    seconds = time.perf_counter() - began
    return PooledComparison(
        same_start=same_start,
        same=int((labels == model.labels_).sum()),
        rows=labels.size,
        labels=model.labels_,
        inertia=model.inertia_,
        n_iter=model.n_iter_,
        seconds=seconds,
    )


def _drawn(result: Outcome, pooled: Floats, within: Sequence[int]) -> Labels:
    """The sets of the rows that k-means++ drew in secret, if the seed tells them; else all are -1."""
    job = result.job
    if job.seed is None or job.method.n_init > 1 or job.rows.weighted:
        return np.full(len(pooled), -1, dtype=np.int32)
    place = np.arange(len(pooled))
    if result.union_rows is not None:
        place = np.concatenate([result.union_rows[j] for j in within])
    found: Labels = repeated_draws(pooled[np.argsort(place)], job.k, unit=job.unit, seed=job.seed)[place]
    order = result.cluster_order or range(job.k)
    numbers = np.append(np.argsort(order), -1).astype(np.int32)  # the last is for rows in no set
    return numbers[found]
