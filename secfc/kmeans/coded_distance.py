"""A client's iteration: coded centres and coded distances from its shares (docs/protocol.md, eq. 5-6).

Rows are taken in blocks; the loops run over blocks and over 128 columns at a time, never over rows.
"""

from collections.abc import Iterator

import numpy as np

from secfc._arrays import Floats, Ints, Labels, Shares
from secfc.field.packing import PackedResidues
from secfc.field.residues import centred, matmul, reduce, squared_norms

_BLOCK_ELEMENTS = 1 << 17
"""float64 elements of a block of rows: 1 MiB, about an L2 cache."""


def row_blocks(m: int, columns: int) -> Iterator[slice]:
    """Slices of rows whose blocks of `columns` float64 stay near 1 MiB."""
    step = max(1, _BLOCK_ELEMENTS // max(1, columns))
    for start in range(0, m, step):
        yield slice(start, min(m, start + step))


def share_norms(shares: Shares, p: int) -> Floats:
    """``||x~_i||^2`` modulo p, once a run.

    Parameters
    ----------
    shares : ndarray of shape (m, width), float32
        Reduced residues.

    Returns
    -------
    ndarray of shape (m,), float64
        Reduced residues.
    """
    norms = np.empty(shares.shape[0])
    for rows in row_blocks(*shares.shape):
        norms[rows] = squared_norms(shares[rows].astype(np.float64), p)
    return norms


def coded_centres(shares: Shares, sets: Labels, k: int, p: int) -> Floats:
    """mu~_h = sum of the shares of the rows in S_h, modulo p.

    Parameters
    ----------
    shares : ndarray of shape (m, width), float32
    sets : ndarray of shape (m,), int32
        Set of each row, -1 for none.

    Returns
    -------
    ndarray of shape (k, width), float64
        Reduced residues. The sums stay below m 2**24 <= 2**53.
    """
    total = np.zeros((k, shares.shape[1]))
    clusters = np.arange(k)
    for rows in row_blocks(shares.shape[0], max(k, shares.shape[1])):
        member = (sets[rows, np.newaxis] == clusters).astype(np.float64)
        total += member.T @ shares[rows].astype(np.float64)
    return reduce(total, p)


def coded_distances(
    shares: Shares, norms: Floats, sets: Labels, sizes: Ints, p: int, *, prime: int, answer: PackedResidues
) -> None:
    """Write ``||mu~_h - |S_h| x~_i||^2`` modulo p into plane `prime` of `answer`.

    Parameters
    ----------
    shares : ndarray of shape (m, width), float32
        Reduced residues.
    norms : ndarray of shape (m,), float64
        Of `share_norms`.
    sets : ndarray of shape (m,), int32
    sizes : ndarray of shape (k,), int64
        Rows in each set.
    answer : PackedResidues of shape (primes, m, k)
    """
    k = sizes.size
    centres = coded_centres(shares, sets, k, p)
    constant = squared_norms(centres, p)
    linear = np.array([centred(-2 * int(s), p) for s in sizes], dtype=np.float64)
    square = np.array([centred(int(s) ** 2, p) for s in sizes], dtype=np.float64)
    transposed = np.ascontiguousarray(centres.T)
    for rows in row_blocks(shares.shape[0], max(k, shares.shape[1])):
        inner = matmul(shares[rows].astype(np.float64), transposed, p)
        # Two products below 2**46 and a residue: below 2**48.
        inner *= linear
        inner += norms[rows, np.newaxis] * square
        inner += constant
        answer.write(prime, rows, reduce(inner, p), p)
