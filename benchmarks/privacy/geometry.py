"""Compute points from their squared distances to the means of known sets of them."""

import numpy as np

from secfc.field.array_types import Floats, Ints, Labels


def memberships(questions: list[Labels], k: int) -> Floats:
    """Centres as weighted sums of rows, shape (centres, m): row c has 1/|S_c| at the members of S_c."""
    m = questions[0].size
    weights = []
    for sets in questions:
        for h in range(k):
            members = sets == h
            if members.any():
                weights.append(members / members.sum())
    return np.array(weights).reshape(-1, m)


def observed(distances: list[Floats]) -> Floats:
    """All squared distances of answered rounds in one table, shape (m, centres), without empty sets."""
    table = np.concatenate(distances, axis=1)
    return table[:, ~np.isnan(table).any(axis=0)]


def placed(squared: Floats, weights: Floats, d: int) -> Floats:
    """Rows up to a rigid motion, from squared distances to means of known sets.

    Parameters
    ----------
    squared : ndarray of shape (m, c), float64
        Squared distances of m rows to c centres.
    weights : ndarray of shape (c, m), float64
        Centres as weighted sums of the rows, each with sum 1.
    d : int
        Columns of the rows.

    Returns
    -------
    ndarray of shape (m, d), float64
        If the centres span r dimensions, the first r columns are the rows' projections on that space. The
        other columns are zeros.

    Notes
    -----
    Let X be the centred rows and C = W X the centred centres. Double centring of -1/2 times the distances
    gives G = X C^T (Torgerson's step in classical scaling), since all terms that depend only on a row or only
    on a centre cancel. Let V be the first r left singular vectors of G. The projections of X are V A for some
    A. Then V^T G = (A A^T) (V^T W^T) is linear in B = A A^T. Least squares give B, and V B^{1/2} is X up to a
    rotation.
    """
    g = squared - squared.mean(axis=0)
    g = -0.5 * (g - g.mean(axis=1, keepdims=True))
    w = weights - weights.mean(axis=0)
    v, sigma, _ = np.linalg.svd(g, full_matrices=False)
    # Rounding of squared distances leaves singular values of about 1e-15 of their size.
    floor = 1e-13 * np.abs(squared).max() * np.sqrt(squared.size)
    rank = min(d, len(weights) - 1, int((sigma > floor).sum()))
    points = np.zeros((squared.shape[0], d))
    if rank == 0:
        return points
    v = v[:, :rank]
    b = np.linalg.lstsq((w @ v), (v.T @ g).T, rcond=None)[0].T
    values, vectors = np.linalg.eigh((b + b.T) / 2)
    points[:, :rank] = v @ (vectors * np.sqrt(np.maximum(values, 0)))
    return points


def aligned(points: Floats, rows: Floats, known: Ints) -> Floats:
    """`points` moved by the rigid motion that best fits some known rows (orthogonal Procrustes).

    Parameters
    ----------
    points : ndarray of shape (m, d), float64
    rows : ndarray of shape (known, d), float64
        The known rows.
    known : ndarray of shape (known,), int
        The indices of their points.
    """
    mine = points[known]
    left, _, right = np.linalg.svd((mine - mine.mean(axis=0)).T @ (rows - rows.mean(axis=0)))
    moved: Floats = (points - mine.mean(axis=0)) @ (left @ right) + rows.mean(axis=0)
    return moved


def error(points: Floats, rows: Floats) -> float:
    """Root of the summed squared distances of points to rows, divided by that of the rows to their mean."""
    return float(np.linalg.norm(points - rows) / np.linalg.norm(rows - rows.mean(axis=0)))


def procrustes_error(points: Floats, rows: Floats) -> float:
    """`error` after the best rigid motion, so the error of the shape alone."""
    return error(aligned(points, rows, np.arange(len(rows))), rows)
