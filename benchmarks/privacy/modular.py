"""Linear equations modulo a prime below 2**24."""

import numpy as np

from secfc.field.array_types import Ints


def row_reduced(matrix: Ints, columns: int, p: int) -> tuple[Ints, list[int]]:
    """Reduced row echelon form in the first `columns` columns, and its pivots.

    Parameters
    ----------
    matrix : ndarray of shape (rows, c), int64
        Residues in [0, p), so products are below 2**48.
    columns : int
    p : int
    """
    rows, pivots = matrix % p, list[int]()
    for column in range(columns):
        at = len(pivots)
        candidates = np.flatnonzero(rows[at:, column])
        if candidates.size == 0:
            continue
        found = at + int(candidates[0])
        rows[[at, found]] = rows[[found, at]]
        rows[at] = rows[at] * pow(int(rows[at, column]), -1, p) % p
        factors = rows[:, column].copy()
        factors[at] = 0
        rows = (rows - factors[:, np.newaxis] * rows[at]) % p
        pivots.append(column)
        if len(pivots) == len(rows):
            break
    return rows, pivots


def solution(a: Ints, b: Ints, p: int) -> Ints | None:
    """The only x with ``a @ x = b`` modulo p, or None if there is none or more than one."""
    columns = a.shape[1]
    rows, pivots = row_reduced(np.concatenate([a, b[:, np.newaxis]], axis=1), columns, p)
    if len(pivots) < columns or rows[columns:, -1].any():
        return None
    return rows[:columns, -1]
