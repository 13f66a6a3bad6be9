"""Checks of a party's rows, labels and weights before they are used. Texts never show a value."""

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secfc.errors import DataError
from secfc.errors.codes import Code
from secfc.field.array_types import Floats, Ints, Labels
from secfc.field.fixed_point import norm_limit, off_step, row_norms
from secfc.field.residues import MAX_WEIGHT


def check_rows(rows: Floats, *, name: str, d: int, bound: float, step: float | None) -> None:
    """Raise DataError unless `rows` is a finite float64 array of shape (m, d), norms within the bound.

    With a step all values must be multiples of it, within rounding.
    """
    check_finite(rows, name=name, d=d)
    beyond = np.flatnonzero(row_norms(rows) > norm_limit(bound))
    if beyond.size:
        raise DataError(
            f"{name}: {beyond.size} rows have a norm above the bound {bound!r}, the first is row {beyond[0]}",
            code=Code.OUT_OF_RANGE,
        )
    if step is None:
        return
    off = np.flatnonzero(off_step(rows, step, bound))
    if off.size:
        raise DataError(
            f"{name}: {off.size} rows have a value that is no multiple of the step {step!r}, the first is "
            f"row {off[0]}",
            code=Code.OFF_STEP,
        )


def check_finite(rows: Floats, *, name: str, d: int, columns: Sequence[str] = (), mend: str = "") -> None:
    """Raise DataError unless `rows` is a finite float64 array of shape (m, d).

    The text has the name of the column, of `columns` if they have names, and ends with `mend`.
    """
    if not isinstance(rows, np.ndarray) or rows.dtype != np.float64 or rows.ndim != 2:
        raise DataError(f"{name}: rows must be a two-dimensional float64 array")
    if rows.shape[1] != d:
        raise DataError(f"{name}: {rows.shape[1]} columns, the other parties have {d}")
    bad = ~np.isfinite(rows)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        where = repr(columns[column]) if columns else column
        raise DataError(
            f"{name}: {bad.sum()} values are NaN or infinite, the first in row {row}, column {where}{mend}",
            code=Code.MISSING_VALUE,
        )


def largest_norm(rows: Floats, *, name: str) -> float:
    """Largest Euclidean norm of a row, 0.0 for no rows.

    Raises DataError if it exceeds the largest float64.
    """
    norm = float(row_norms(rows).max(initial=0.0))
    if not isfinite(norm):
        raise DataError(
            f"{name}: a row's norm exceeds the largest float64; rescale the columns", code=Code.OUT_OF_RANGE
        )
    return norm


def as_labels(given: Any, *, name: str, m: int, k: int, least: int = 0, what: str = "start labels") -> Labels:
    """Given labels for m rows, with values in least..k-1, as an array of shape (m,), int32.

    Raises DataError that names the party, never a value.
    """
    labels = _as_array(given)
    check_labels(labels, name=name, m=m, k=k, least=least, what=what)
    return labels.astype(np.int32)


def check_labels(
    labels: NDArray[np.integer], *, name: str, m: int, k: int, least: int = 0, what: str = "start labels"
) -> None:
    """Raise DataError unless `labels` is an integer array of shape (m,) with values in least..k-1."""
    needed = f"{what} must be a one-dimensional integer array"
    _check_integers(labels, m, name=name, what=what, needed=needed, code=Code.BAD_LABELS)
    if labels.size and not (labels.min() >= least and labels.max() < k):
        raise DataError(f"{name}: {what} must lie in {least}..{k - 1}", code=Code.BAD_LABELS)


def _as_array(given: Any) -> NDArray[Any]:
    """Given values as an array that still needs checks. A ragged list becomes an array of two dimensions."""
    try:
        found = np.asarray(given)
    except ValueError:
        return np.zeros((0, 0))
    return found.astype(np.int64) if found.shape == (0,) else found  # an empty list has the dtype of floats


def _check_integers(
    given: NDArray[np.integer], m: int, *, name: str, what: str, needed: str, code: Code
) -> None:
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise DataError(f"{name}: {needed}", code=code)
    if given.size != m:
        raise DataError(f"{name}: {given.size} {what} for {m} rows", code=code)


def as_weights(given: Any, *, name: str, m: int) -> Ints:
    """Given weights for m rows, as an array of shape (m,), int64.

    Raises DataError that names the party, never a value.
    """
    weights = _as_array(given)
    check_weights(weights, name=name, m=m)
    return weights.astype(np.int64)


def check_weights(weights: NDArray[np.integer], *, name: str, m: int) -> None:
    """Raise DataError unless these are whole numbers from 1 to `MAX_WEIGHT`, shape (m,)."""
    needed = "sample_weight must be a one-dimensional array of whole numbers (an integer dtype)"
    _check_integers(weights, m, name=name, what="weights", needed=needed, code=Code.BAD_WEIGHTS)
    if weights.size and not 1 <= weights.min() <= weights.max() <= MAX_WEIGHT:
        raise DataError(
            f"{name}: weights must lie in 1..{MAX_WEIGHT}; leave a row without weight out, and predict it",
            code=Code.BAD_WEIGHTS,
        )
