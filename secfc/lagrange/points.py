"""The public evaluation points: roots of unity for segments and masks, a coset of them for clients."""

from dataclasses import dataclass

from secfc.field.primes import TWO_ADIC_ORDER, Prime


@dataclass(frozen=True, kw_only=True)
class EvaluationPoints:
    """Distinct public points of one prime field (Songze Li et al., *Secure Federated Clustering*, 4.1).

    Attributes
    ----------
    beta : tuple of int, length ell + t
        Where a polynomial takes its segments (the first ell) and its masks (the last t).
    alpha : tuple of int, length n
        Where it is evaluated, one point a client. Disjoint from beta.
    """

    beta: tuple[int, ...]
    alpha: tuple[int, ...]


def evaluation_points(prime: Prime, *, n: int, coded: int) -> EvaluationPoints:
    """Points for n clients and `coded` = ell + t segments and masks.

    With g the prime's primitive root and H the group of the 4096-th roots of unity, beta_u are the powers
    of a root of unity of order 2**a >= ell + t, and alpha_j lie in the coset g H. As g is not in H (its
    order is p - 1 > 4096), no alpha is a beta. Powers of two leave number-theoretic transforms open.
    """
    p, g = prime.p, prime.generator

    def root(count: int) -> int:
        order = 1 << (count - 1).bit_length()
        assert order <= TWO_ADIC_ORDER
        return pow(g, (p - 1) // order, p)

    beta, alpha = root(coded), root(n)
    return EvaluationPoints(
        beta=tuple(pow(beta, u, p) for u in range(coded)),
        alpha=tuple(g * pow(alpha, j, p) % p for j in range(n)),
    )
