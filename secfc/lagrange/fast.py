"""Encoding in O(n log n) and decoding weights in O(n log^2 n), for many clients.

With beta_u = omega**u and alpha_j = g omega**j,

    1 / (alpha_j - beta_u) = omega**-u K(j - u),  K(x) = 1 / (g omega**x - 1),

so sums over u of y_u / (alpha_j - beta_u) are cyclic convolutions with K. Barycentric interpolation turns
encoding into one of them (docs/protocol.md, "Many clients"). The matrix of `secfc.lagrange.basis` gives the
same residues and is faster for few clients.
"""

from itertools import accumulate

import numpy as np

from secfc.field.array_types import Floats
from secfc.field.primes import Prime
from secfc.field.residues import inverse, reduce
from secfc.field.transform import forward, powers_of_root, roots
from secfc.kernels.interface import EncodingTransform
from secfc.lagrange.basis import inverses
from secfc.lagrange.points import order_of_root


def encoding_transform(prime: Prime, *, n: int, coded: int) -> EncodingTransform:
    """Transform to evaluate, at alpha_1..alpha_n, the polynomials through values at beta_1..beta_(ell + t).

    Barycentric: f(alpha_j) = M(alpha_j) sum_u c_u y_u / (alpha_j - beta_u), where M(z) = prod_u (z - beta_u)
    and c_u = 1 / M'(beta_u).
    """
    p = prime.p
    order = order_of_root(max(n, coded))
    powers, shifted = powers_of_root(prime, order), _shifted(prime, order)
    unwind, spectrum = _convolution(prime, order)
    # M'(omega**u) = prod_{v != u} (omega**u - omega**v), from running products of omega**x - 1.
    steps = _running_product([(power - 1) % p for power in powers[1:coded]], p)
    slopes = [
        powers[(u * (u - 1) // 2 + u * (coded - 1 - u)) % order]
        * steps[u]
        * steps[coded - 1 - u]
        * (-1) ** (coded - 1 - u)
        % p
        for u in range(coded)
    ]
    before = inverses(np.array(slopes, dtype=np.int64), p).astype(np.float64)
    # M(alpha_j) = omega**(s(s-1)/2) prod_{x = j-s+1..j} (g omega**x - 1), a window of a running product.
    running = _running_product([*shifted, *shifted], p)
    tops = np.array([running[order + j + 1] for j in range(n)], dtype=np.int64)
    bottoms = np.array([running[order + j + 1 - coded] for j in range(n)], dtype=np.int64)
    lead = powers[(coded * (coded - 1) // 2) % order]
    after = (tops * inverses(bottoms, p) % p * lead % p).astype(np.float64)
    root_powers, inverse_root_powers = roots(prime, order)
    return EncodingTransform(
        before=reduce(reduce(before, p) * unwind[:coded], p),
        spectrum=spectrum,
        after=reduce(after, p),
        roots=root_powers,
        inverse_roots=inverse_root_powers,
    )


def _convolution(prime: Prime, order: int) -> tuple[Floats, Floats]:
    """omega**-u for every u, and the transform of K divided by the order, both of shape (order,)."""
    p = prime.p
    powers = powers_of_root(prime, order)
    unwind = np.array(powers[:1] + powers[:0:-1], dtype=np.float64)
    kernel = inverses(np.array(_shifted(prime, order), dtype=np.int64), p).astype(np.float64)
    spectrum = forward(reduce(kernel, p)[:, np.newaxis], roots(prime, order)[0], p)[:, 0]
    return reduce(unwind, p), reduce(spectrum * inverse(order, p), p)


def _shifted(prime: Prime, order: int) -> list[int]:
    """1 / K(x) = g omega**x - 1, never 0, for every x."""
    return [(prime.generator * power - 1) % prime.p for power in powers_of_root(prime, order)]


def _running_product(factors: list[int], p: int) -> list[int]:
    return list(accumulate(factors, lambda a, b: a * b % p, initial=1))
