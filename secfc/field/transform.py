"""Number-theoretic transforms modulo the primes of `secfc.field.primes`.

Forward transforms return bit-reversed order and backward transforms take it, so convolutions need no
reordering. All values are reduced residues in float64. A butterfly multiplies a difference of two of them,
below 2**24 + 8, by a third, at most 2**23 + 4, so products stay below 2**48.
"""

from functools import cache

import numpy as np

from secfc.field.array_types import Floats
from secfc.field.primes import Prime
from secfc.field.residues import centred, reduce


@cache
def powers_of_root(prime: Prime, order: int) -> list[int]:
    """omega**0 to omega**(order - 1) for the root of unity omega of this order, a power of two up to 4096."""
    omega = pow(prime.generator, (prime.p - 1) // order, prime.p)
    powers = [1]
    while len(powers) < order:
        powers.append(powers[-1] * omega % prime.p)
    return powers


def roots(prime: Prime, order: int) -> tuple[Floats, Floats]:
    """Powers 0 to order/2 - 1 of omega and of its inverse, each of shape (max(1, order / 2),)."""
    powers = powers_of_root(prime, order)
    inverse = powers[:1] + powers[:0:-1]
    count = max(1, order // 2)
    return tuple(  # type: ignore[return-value]
        np.array([centred(power, prime.p) for power in some[:count]], dtype=np.float64)
        for some in (powers, inverse)
    )


def forward(x: Floats, root_powers: Floats, p: int) -> Floats:
    """X[j] = sum_i x[i] omega**(i j) along the first axis, a power of two, j in bit-reversed order.

    `x`, shape (order, columns), are reduced residues. `root_powers` come from `roots`.
    """
    order, columns = x.shape
    x = x.copy()
    half = order // 2
    while half:
        blocks = x.reshape(order // (2 * half), 2, half, columns)
        step = root_powers[:: order // (2 * half)][:half, np.newaxis]
        upper, lower = blocks[:, 0].copy(), blocks[:, 1]
        blocks[:, 0] = reduce(upper + lower, p)
        blocks[:, 1] = reduce((upper - lower) * step, p)
        half //= 2
    return x


def backward(x: Floats, inverse_root_powers: Floats, p: int) -> Floats:
    """`order` times the inverse of `forward`: from bit-reversed order to natural order."""
    order, columns = x.shape
    x = x.copy()
    half = 1
    while half < order:
        blocks = x.reshape(order // (2 * half), 2, half, columns)
        step = inverse_root_powers[:: order // (2 * half)][:half, np.newaxis]
        upper, lower = blocks[:, 0].copy(), reduce(blocks[:, 1] * step, p)
        blocks[:, 0] = reduce(upper + lower, p)
        blocks[:, 1] = reduce(upper - lower, p)
        half *= 2
    return x
