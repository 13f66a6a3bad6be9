"""Rows to shares: segments, masks, and the evaluation of the polynomial through them."""

import numpy as np

from secfc.array_types import Floats
from secfc.field.residues import matmul


def segment_width(d: int, ell: int) -> int:
    """Columns of a segment, ceil(d / ell); the last segment is padded with zeros."""
    return -(-d // ell)


def split(rows: Floats, ell: int) -> Floats:
    """The ell segments of each row.

    Parameters
    ----------
    rows : ndarray of shape (m, d), float64

    Returns
    -------
    ndarray of shape (ell, ceil(d / ell), m), float64
        Zero-padded: zeros add nothing to a squared distance.
    """
    m, d = rows.shape
    width = segment_width(d, ell)
    padded = np.zeros((ell * width, m))
    padded[:d] = rows.T
    return padded.reshape(ell, width, m)


def share(segments: Floats, masks: Floats, basis: Floats, p: int) -> Floats:
    """Shares f_i(alpha_j) of m points (the paper's eq. 2).

    Parameters
    ----------
    segments : ndarray of shape (ell, width, m), float64
        Reduced residues.
    masks : ndarray of shape (t, width, m), float64
        Independent, uniform reduced residues, used once.
    basis : ndarray of shape (n, ell + t), float64
        ``lagrange_basis(beta, alpha, p)``.

    Returns
    -------
    ndarray of shape (n, width, m), float64
        Reduced residues; plane j belongs to client j alone. Any t planes are uniform and independent of
        the segments, because the t columns of `basis` that meet the masks are invertible in any t rows.
    """
    values = np.concatenate([segments, masks])
    flat = matmul(basis, values.reshape(values.shape[0], -1), p)
    return flat.reshape(basis.shape[0], *segments.shape[1:])


def recover(shares: Floats, basis: Floats, p: int) -> Floats:
    """Segments from ell + t shares or more.

    Parameters
    ----------
    shares : ndarray of shape (r, width, m), float64
        Shares of r >= ell + t clients.
    basis : ndarray of shape (ell, r), float64
        ``lagrange_basis(those clients' alpha, beta of the segments, p)``.

    Returns
    -------
    ndarray of shape (ell, width, m), float64
        Reduced residues.
    """
    return matmul(basis, shares.reshape(shares.shape[0], -1), p).reshape(basis.shape[0], *shares.shape[1:])
