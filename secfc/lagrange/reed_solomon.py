"""Finding wrong values among evaluations of a polynomial: Reed-Solomon decoding, erasures left out.

The values of a polynomial of degree below s at N points are a codeword of minimum distance N - s + 1. A
missing value is an erasure and is not among the N. So up to (N - s) // 2 wrong values are located (Gao, *A
new algorithm for decoding Reed-Solomon codes*, 2003).
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from secfc.field.array_types import Floats, Ints
from secfc.field.residues import matmul, reduce
from secfc.lagrange.basis import inverses


class ReedSolomon:
    """The code of polynomials of degree below s = `dimension` at N >= s distinct points of one prime field.

    For p below 2**24 products fit int64. For larger primes residues are Python integers, which is slow.
    """

    def __init__(self, *, points: Sequence[int], dimension: int, p: int) -> None:
        self._points: Ints = np.array(points, dtype=np.int64 if p < 1 << 24 else object) % p
        self._dimension, self._p = dimension, p
        if not 1 <= dimension <= self._points.size:
            raise ValueError(f"a dimension from 1 to {self._points.size} is needed, {dimension} was given")
        self._vanishing = _from_roots(self._points, p)
        slopes = _evaluate(_derivative(self._vanishing, p), self._points, p)
        if not slopes.all():
            raise ValueError("points are not distinct")
        self._scale = inverses(slopes, p)  # u_j = 1 / prod_{v != j} (x_j - x_v)

    def __repr__(self) -> str:
        return f"ReedSolomon(length={self._points.size}, dimension={self._dimension}, p={self._p})"

    @cached_property
    def _parity(self) -> Floats:
        """For p below 2**24, rows u_j x_j**i for i < N - s: sum_j u_j x_j**i f(x_j) is 0 for deg f < s.

        It is the coefficient of z**(N-1) in the interpolant of z**i f, whose degree is below N - 1.
        """
        rows = np.empty((self._points.size - self._dimension, self._points.size), dtype=np.int64)
        row = self._scale
        for i in range(rows.shape[0]):
            rows[i] = row
            row = row * self._points % self._p
        return reduce(rows.astype(np.float64), self._p)

    def contains(self, words: Floats) -> bool:
        """Whether every column, shape (N, words), of reduced residues is a codeword."""
        if self._parity.shape[0] == 0:
            return True
        return not np.any(np.mod(matmul(self._parity, words, self._p), self._p))

    def wrong(self, words: Floats) -> set[int] | None:
        """Positions where a column of reduced residues is wrong, or None if `errors` fails for a column."""
        wrong: set[int] = set()
        for word in () if self.contains(words) else words.T:
            errors = self.errors(word)
            if errors is None:
                return None
            wrong.update(errors)
        return wrong

    def errors(self, word: Floats | Sequence[int]) -> tuple[int, ...] | None:
        """Positions, ascending, where a word differs from the only codeword within (N - s) // 2, or None.

        The word has N integers of absolute value below 2**53, as float64, or below 2**63. Euclid's algorithm
        on g0 = prod (z - x_j) and the interpolant g1 stops at the first remainder g = u g0 + v g1 of degree
        below (N + s) / 2. If at most (N - s) // 2 values are wrong, v is, up to a factor, the polynomial with
        roots at their points, and g / v is the codeword's polynomial.
        """
        p, length = self._p, self._points.size
        values: Ints = np.mod(word, p).astype(self._points.dtype)
        older, old = self._vanishing, self._interpolate(values)
        v_older, v_old = np.zeros_like(values[:0]), np.ones_like(values[:1])
        while 2 * (old.size - 1) >= length + self._dimension:
            quotient, rest = _divide(older, old, p)
            older, old = old, rest
            v_older, v_old = v_old, _subtract(v_older, _multiply(quotient, v_old, p), p)
        polynomial, rest = _divide(old, v_old, p)
        if rest.size or polynomial.size > self._dimension:
            return None
        wrong = np.flatnonzero(_evaluate(polynomial, self._points, p) != values)
        return tuple(wrong.tolist()) if 2 * wrong.size <= length - self._dimension else None

    def _interpolate(self, values: Ints) -> Ints:
        """Coefficients of the polynomial through the values, sum_j u_j y_j g0 / (z - x_j)."""
        p = self._p
        weights = values * self._scale % p
        coefficients = np.zeros_like(values)
        # Horner's division of g0 by all (z - x_j) at once gives the coefficients from the highest down.
        row = np.ones_like(self._points)
        for degree in range(self._points.size - 1, -1, -1):
            coefficients[degree] = (weights * row % p).sum() % p  # 4096 int64 terms are below 2**24
            row = (row * self._points + self._vanishing[degree]) % p
        return _trimmed(coefficients)


# Polynomials are arrays of residues in [0, p), lowest coefficient first, the last one not 0. Zero is empty.


def _trimmed(a: Ints) -> Ints:
    occupied = np.flatnonzero(a)
    return a[: occupied[-1] + 1] if occupied.size else a[:0]


def _from_roots(roots: Ints, p: int) -> Ints:
    """Coefficients of prod (z - root)."""
    a = np.zeros(roots.size + 1, dtype=roots.dtype)
    a[0] = 1
    for size, root in enumerate(roots.tolist(), start=1):
        a[1 : size + 1] = (a[:size] - root * a[1 : size + 1]) % p
        a[0] = -root * a[0] % p
    return a


def _derivative(a: Ints, p: int) -> Ints:
    return a[1:] * np.arange(1, a.size, dtype=np.int64) % p


def _evaluate(a: Ints, points: Ints, p: int) -> Ints:
    values = np.zeros_like(points)
    for coefficient in a[::-1].tolist():
        values = (values * points + coefficient) % p
    return values


def _subtract(a: Ints, b: Ints, p: int) -> Ints:
    c = np.zeros(max(a.size, b.size), dtype=a.dtype)
    c[: a.size] = a
    c[: b.size] -= b
    return _trimmed(c % p)


def _multiply(a: Ints, b: Ints, p: int) -> Ints:
    if not a.size or not b.size:
        return a[:0]
    c = np.zeros(a.size + b.size - 1, dtype=a.dtype)
    for shift, coefficient in enumerate(a.tolist()):
        c[shift : shift + b.size] = (c[shift : shift + b.size] + coefficient * b) % p
    return c


def _divide(a: Ints, b: Ints, p: int) -> tuple[Ints, Ints]:
    """Quotient and remainder of a by b, which is not zero."""
    lead, rest = pow(int(b[-1]), -1, p), a.copy()
    quotient = np.zeros(max(0, a.size - b.size + 1), dtype=a.dtype)
    for shift in range(quotient.size - 1, -1, -1):
        quotient[shift] = factor = int(rest[shift + b.size - 1]) * lead % p
        rest[shift : shift + b.size] = (rest[shift : shift + b.size] - factor * b) % p
    return quotient, _trimmed(rest[: b.size - 1])
