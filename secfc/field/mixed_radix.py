"""From residues to integers: mixed-radix digits (Garner), floats with a proven error bound, exact integers.

An integer 0 <= D < p_1 ... p_P is written D = v_1 + v_2 p_1 + v_3 p_1 p_2 + ... with 0 <= v_i < p_i. All
terms are non-negative, so adding them up in floating point causes no cancellation.
"""

from functools import cache
from itertools import accumulate
from operator import mul

import numpy as np

from secfc.field.array_types import Floats, Ints, Objects, Shares
from secfc.field.residues import canonical, centred, inverse, reduce


class MixedRadix:
    """The mixed-radix system of distinct primes below 2**24."""

    def __init__(self, primes: tuple[int, ...]) -> None:
        self.primes = primes
        self.radices: tuple[int, ...] = (1, *accumulate(primes[:-1], mul))
        self.factors = _factors(primes)
        """Modulo p_q digit v_q is [q, q] times the residue, and the sum of [q, j] v_j over j < q. Centred."""
        self.relative_error = (len(primes) + 2) * 2.0**-53
        """Bound on the relative error of `approximate`: a rounded radix and product per term, P - 1 sums."""

    def digits(self, residues: Floats) -> Shares:
        """Digits of the integers in [0, Q) that have these residues, both of shape (P, ...).

        Residues are integers |x| < 2**53 - 2**24. Digits are below 2**24, so float32 is exact.
        """
        digits = np.empty(residues.shape, dtype=np.float32)
        for q, p in enumerate(self.primes):
            # A reduced residue or a digit times a factor is below 2**47: so many are below 2**53.
            total = reduce(residues[q], p) * self.factors[q, q]
            for j in range(q):
                total += digits[j].astype(np.float64) * self.factors[q, j]
            digits[q] = canonical(reduce(total, p), p)
        return digits

    def approximate(self, digits: Shares) -> Floats:
        """float64 of the integers, with relative error at most `relative_error`. 0 is exact."""
        total: Floats = digits[0].astype(np.float64)
        for digit, radix in zip(digits[1:], self.radices[1:], strict=True):
            total += digit.astype(np.float64) * float(radix)
        return total

    def quotients(self, digits: Shares, sizes: Ints) -> Floats:
        """float64 of D / |S_h|^2, shape (k, rows), of digits of D, shape (P, k, rows); inf for empty sets."""
        filled = np.flatnonzero(sizes)
        found = np.full(digits.shape[1:], np.inf)
        found[filled] = (
            self.approximate(digits[:, filled]) / sizes[filled, np.newaxis].astype(np.float64) ** 2
        )
        return found

    def integers(self, digits: Floats | Shares) -> Objects:
        """Python integers, shape ``digits.shape[1:]``, dtype object."""
        total: Objects = digits[0].astype(np.int64).astype(object)
        for digit, radix in zip(digits[1:], self.radices[1:], strict=True):
            total = total + digit.astype(np.int64).astype(object) * radix
        return total


@cache
def _factors(primes: tuple[int, ...]) -> Floats:
    """With R_j = p_1 ... p_(j-1): 1 / R_q modulo p_q at [q, q] and -R_j / R_q at [q, j], j < q."""
    radices, factors = (1, *accumulate(primes, mul)), np.zeros((len(primes), len(primes)))
    for q, p in enumerate(primes):
        factors[q, q] = own = inverse(radices[q], p)
        factors[q, :q] = [centred(-radix * own, p) for radix in radices[:q]]
    return factors
