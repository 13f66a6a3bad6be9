"""A simulated run beside Lloyd's algorithm on the pooled rows: possible only where one place has all rows."""

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from secfc.errors import DataError
from secfc.parties import as_parties

if TYPE_CHECKING:
    from secfc.result import Result


@dataclass(frozen=True, kw_only=True)
class PooledComparison:
    """How far two clusterings from the same start agree.

    Attributes
    ----------
    same : int
        Rows with equal labels.
    rows : int
        Of the parties that are in.
    inertia : float
        Of Lloyd's algorithm in float64 on the pooled rows.
    n_iter : int
    seconds : float
        Wall-clock seconds it took.
    """

    same: int
    rows: int
    inertia: float
    n_iter: int
    seconds: float


def compare_with_pooled(result: "Result", parties: Sequence[Any]) -> PooledComparison:
    """Run Lloyd's algorithm on the pooled rows, from the run's own start, in float64.

    Parameters
    ----------
    result : Result
    parties : sequence
        The parties of the run.

    Raises
    ------
    DataError
        When they are not of the run's shapes.
    """
    from plaintext_baselines import Lloyd  # noqa: PLC0415 - scikit-learn takes a second to import

    members = as_parties(parties)
    counts = [member.rows.shape[0] for member in members]
    if counts != [len(labels) for labels in result.labels] or members[0].rows.shape[1] != result.job.d:
        raise DataError(
            f"parties: rows {counts} of {members[0].rows.shape[1]} columns are not those of the run"
        )
    within = [j for j in range(len(members)) if j + 1 not in result.faults.left_out]
    pooled = np.concatenate([members[j].rows for j in within])
    start = np.concatenate([result.start[j] for j in within])
    centres = np.array([pooled[start == h].mean(axis=0) for h in range(result.job.k)])
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of convergence: the secure run has said so
        model = Lloyd(result.job.k, init=centres, max_iter=result.job.max_iter).fit([pooled])
    seconds = time.perf_counter() - began
    labels = np.concatenate([np.asarray(result.labels[j]) for j in within])
    return PooledComparison(
        same=int((labels == model.labels_[0]).sum()),
        rows=labels.size,
        inertia=model.inertia_,
        n_iter=model.n_iter_,
        seconds=seconds,
    )
