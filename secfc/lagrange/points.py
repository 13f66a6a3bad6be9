"""The public evaluation points: roots of unity for segments and masks, a coset of these for clients."""

from dataclasses import dataclass

from secfc.field.primes import TWO_ADIC_ORDER, Prime


@dataclass(frozen=True, kw_only=True)
class EvaluationPoints:
    """Distinct public points of one prime field (Songze Li et al., *Secure Federated Clustering*, 4.1).

    The values of a polynomial at beta are its ell segments, then its t masks. Clients have its values at
    alpha, one each.
    """

    beta: tuple[int, ...]
    alpha: tuple[int, ...]


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
