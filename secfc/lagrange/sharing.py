"""From rows to shares: segments, masks, and values of the polynomial through them."""

import numpy as np

from secfc.field.array_types import Floats
from secfc.field.residues import matmul


def segment_width(d: int, ell: int) -> int:
    """Columns of a segment, ceil(d / ell). The last segment is padded with zeros."""
    return -(-d // ell)


def split(rows: Floats, ell: int) -> Floats:
    """The ell segments of rows (m, d), shape (ell, ceil(d / ell), m), padded with zeros at the end.

    Zeros add nothing to a squared distance.
    """
    m, d = rows.shape
    width = segment_width(d, ell)
    padded = np.zeros((ell * width, m))
    padded[:d] = rows.T
    return padded.reshape(ell, width, m)


def share(segments: Floats, masks: Floats, basis: Floats, p: int) -> Floats:
    """Shares f_i(alpha_j) of m points (the paper's eq. 2), reduced residues of shape (n, width, m).

    Plane j is for client j only. Any t planes are uniform and independent of the segments, because the t
    columns of `basis` for the masks are invertible in any t rows.

    Parameters
    ----------
    segments : ndarray of shape (ell, width, m), float64
        Reduced residues.
    masks : ndarray of shape (t, width, m), float64
        Independent, uniform reduced residues, used once.
    basis : ndarray of shape (n, ell + t), float64
        ``lagrange_basis(beta, alpha, p)``.
    """
    values = np.concatenate([segments, masks])
    flat = matmul(basis, values.reshape(values.shape[0], -1), p)
    return flat.reshape(basis.shape[0], *segments.shape[1:])


def recover(shares: Floats, basis: Floats, p: int) -> Floats:
    """Segments, shape (ell, width, m), from the shares, shape (r, width, m), of r >= ell + t clients.

    `basis` is ``lagrange_basis(those clients' alpha, beta of the segments, p)``.
    """
    return matmul(basis, shares.reshape(shares.shape[0], -1), p).reshape(basis.shape[0], *shares.shape[1:])
