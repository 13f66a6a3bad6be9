"""The public evaluation points, and values of Lagrange basis polynomials between them.

Points are roots of unity for segments and masks, and a coset of these for clients.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from secfc.field.array_types import Floats, Ints
from secfc.field.primes import TWO_ADIC_ORDER, Prime
from secfc.field.residues import reduce


@dataclass(frozen=True, kw_only=True)
class EvaluationPoints:
    """Distinct public points of one prime field (Songze Li et al., *Secure Federated Clustering*, 4.1).

    The values of a polynomial at beta are its ell segments, then its t masks. Clients have its values at
    alpha, one each.
    """

    beta: tuple[int, ...]
    alpha: tuple[int, ...]


@lru_cache(maxsize=64)
def evaluation_points(prime: Prime, *, n: int, coded: int) -> EvaluationPoints:
    """Points for n clients and `coded` = ell + t segments and masks.

    With g the prime's primitive root and omega a root of unity of order 2**a >= max(n, ell + t), beta_u =
    omega**u and alpha_j = g omega**j. g has order p - 1, so it is no 4096-th root of unity, and no alpha is a
    beta.
    """
    p, g = prime.p, prime.generator
    omega = pow(g, (p - 1) // order_of_root(max(n, coded)), p)
    return EvaluationPoints(
        beta=tuple(pow(omega, u, p) for u in range(coded)),
        alpha=tuple(g * pow(omega, j, p) % p for j in range(n)),
    )


def order_of_root(count: int) -> int:
    """The smallest power of two that is at least `count`, at most 4096."""
    order = 1 << (count - 1).bit_length()
    assert order <= TWO_ADIC_ORDER
    return order


def recovery_threshold(t: int, ell: int) -> int:
    """R = 2(ell + t) - 1: number of answers that determine a polynomial of degree 2(ell + t - 1)."""
    return 2 * (ell + t) - 1


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
