"""Encoding in O(n log n) and decoding weights in O(n log^2 n), for many clients.

With beta_u = omega**u and alpha_j = g omega**j,

    1 / (alpha_j - beta_u) = omega**-u K(j - u),  K(x) = 1 / (g omega**x - 1),

so sums over u of y_u / (alpha_j - beta_u) are cyclic convolutions with K. Barycentric interpolation turns
encoding into one of them (docs/protocol.md, "Many clients"). The matrix of `secfc.lagrange.basis` gives the
same residues and is faster for few clients.
"""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from secfc.field.array_types import Floats, Ints
from secfc.field.primes import Prime
from secfc.field.residues import centred, inverse, reduce
from secfc.field.transform import backward, bit_reversal, forward, powers_of_root, roots
from secfc.kernels.interface import EncodingTransform
from secfc.lagrange.basis import inverses
from secfc.lagrange.points import order_of_root

WEIGHTS_FROM = 384
"""Number of responders from which the transform is faster. It takes 2.4 ms at 511 and 1.8 ms at 255, the
matrix 4.3 and 0.6 ms."""


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


def fast_decoding_weights(prime: Prime, *, n: int, coded: int, ell: int, responders: Sequence[int]) -> Floats:
    """`secfc.lagrange.basis.decoding_weights` for many responders, with client numbers from 1 to n.

    w_j = 1 / M'(alpha_j) sum_u M(beta_u) / (beta_u - alpha_j), where M(z) is the product of z - alpha_j over
    the responders.
    """
    p, g = prime.p, prime.generator
    order = order_of_root(max(n, coded))
    root_powers, inverse_root_powers = roots(prime, order)
    chosen: Ints = np.asarray(responders, dtype=np.int64) - 1
    alpha = np.array([g * power % p for power in powers_of_root(prime, order)], dtype=np.int64)
    polynomial = _product_of_roots(alpha[chosen], prime, order)
    natural = bit_reversal(order)

    def at_roots(coefficients: Floats) -> Floats:
        """Values at every power of omega."""
        folded = _folded(coefficients[:, np.newaxis], order, p)
        values: Floats = forward(folded, root_powers, p)[natural, 0]
        return values

    # M'(g omega**j): its coefficients i m_i, times powers of g, at the powers of omega.
    scale = [centred(i * pow(g, i - 1, p), p) for i in range(1, polynomial.size)]
    derivative = reduce(polynomial[1:] * np.array(scale, dtype=np.float64), p)
    slopes: Floats = at_roots(derivative)[chosen]
    unwind, spectrum = _convolution(prime, order)
    values = np.zeros((order, 1))
    values[:ell, 0] = reduce(at_roots(polynomial)[:ell] * unwind[:ell], p)
    product = reduce(forward(values, root_powers, p) * spectrum[:, np.newaxis], p)
    sums = reduce(backward(product, inverse_root_powers, p)[chosen, 0], p)
    inverse_slopes = inverses(np.mod(slopes, p).astype(np.int64), p).astype(np.float64)
    return reduce(-sums * reduce(inverse_slopes, p), p)


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


def _product_of_roots(zeros: Ints, prime: Prime, order: int) -> Floats:
    """Coefficients of prod (z - zero), lowest first, by a tree of products. At most `order` zeros."""
    p = prime.p
    polynomials: Floats = np.zeros((2, order))
    polynomials[0] = 1.0
    polynomials[:, : zeros.size] = [reduce(-zeros.astype(np.float64), p), np.ones(zeros.size)]
    while polynomials.shape[1] > 1:
        a, b = polynomials[:, ::2], polynomials[:, 1::2]
        size = 2 * (polynomials.shape[0] - 1)
        root_powers, inverse_root_powers = roots(prime, size)
        # A product has size + 1 coefficients. The highest wraps around onto the lowest and is subtracted.
        top = reduce(a[-1] * b[-1], p)
        spectra = [forward(_folded(x, size, p), root_powers, p) for x in (a, b)]
        wrapped = backward(reduce(spectra[0] * spectra[1], p), inverse_root_powers, p)
        product = np.vstack([reduce(wrapped, p) * inverse(size, p), top])
        product[0] -= top
        polynomials = reduce(product, p)
    coefficients: Floats = polynomials[: zeros.size + 1, 0]
    return coefficients


def _folded(x: Floats, size: int, p: int) -> Floats:
    """Coefficients modulo z**size - 1, padded with zeros to `size`, from at most 2 size coefficients."""
    folded = np.zeros((size, x.shape[1]))
    folded[: min(size, x.shape[0])] = x[:size]
    folded[: max(0, x.shape[0] - size)] += x[size:]
    return reduce(folded, p)
