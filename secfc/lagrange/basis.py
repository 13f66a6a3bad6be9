"""Values of Lagrange basis polynomials: the matrices for encoding and decoding."""

from collections.abc import Sequence

import numpy as np

from secfc.field.array_types import Floats, Ints
from secfc.field.residues import reduce


def basis_residues(nodes: Sequence[int], at: Sequence[int], p: int) -> Ints:
    """``L_u(a)`` = prod_{v != u} (a - b_v) / (b_u - b_v) modulo p for distinct nodes b and other points a.

    Canonical residues of shape (points, nodes): int64 for p below 2**24, otherwise Python integers.
    """
    kind = np.int64 if p < 1 << 24 else object
    b, a = np.array(nodes, dtype=kind), np.array(at, dtype=kind)
    differences = (a[:, np.newaxis] - b) % p
    if not differences.all():
        raise ValueError("an evaluation point is a node")
    whole = _product(differences, p)
    gaps = (b[:, np.newaxis] - b) % p
    np.fill_diagonal(gaps, 1)
    scale = _product(gaps, p)
    if not scale.all():
        raise ValueError("nodes are not distinct")
    # L_u(a) = M(a) / ((a - b_u) M'(b_u)) with M(a) = prod_v (a - b_v).
    return whole[:, np.newaxis] * inverses(differences * scale % p, p) % p


def lagrange_basis(nodes: Sequence[int], at: Sequence[int], p: int) -> Floats:
    """`basis_residues` for p below 2**24, as reduced residues: ndarray of shape (r, s), float64."""
    return reduce(basis_residues(nodes, at, p).astype(np.float64), p)


def _product(x: Ints, p: int) -> Ints:
    """Product along the last axis modulo p, by halving."""
    while x.shape[-1] > 1:
        if x.shape[-1] % 2:
            x = np.concatenate([x, np.ones_like(x[..., :1])], axis=-1)
        x = x[..., ::2] * x[..., 1::2] % p
    return x[..., 0]


def inverses(x: Ints, p: int) -> Ints:
    """Inverses modulo p of residues in [1, p), as x**(p - 2) (Fermat)."""
    result = np.ones_like(x)
    exponent = p - 2
    while exponent:
        if exponent & 1:
            result = result * x % p
        x = x * x % p
        exponent >>= 1
    return result
