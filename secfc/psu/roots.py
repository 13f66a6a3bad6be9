"""Poles of a sum of simple fractions from its series, with GMP's integers: without Numba, and for tests.

The series s_k = sum over e of C_e e**k, k < 2 d, has a linear recurrence of length L = number of terms.
Berlekamp-Massey (Massey 1969) finds the shortest recurrence. The roots of its polynomial f are the poles. The
method of Cantor and Zassenhaus (1981) splits f: (x + a)**((p + 1) / 2) is r + a or -(r + a) at a root r, at
random for random a. So its difference to x + a has about half of the roots of f.

Products of polynomials are products of single integers (Kronecker substitution): coefficient i of a *packed*
polynomial is in bits [136 i, 136 (i + 1)). Packed coefficients may exceed p a little; those of lists do not.
"""

from collections.abc import Sequence
from random import Random

from gmpy2 import mpz, pack, powmod, unpack

from secfc.psu.prime import P, inverse

_SPLITS = 128
"""Random shifts tried before a polynomial counts as not split; all fail with probability 2**-128."""

_HALF_POWER = 60  # (P + 1) / 2 = 2**60

_SLOT = 136
"""Bits of a packed coefficient: fewer than 2**13 products of numbers below 2**61 + 2**15, and a number."""

Poly = list[int]
"""Coefficients modulo P, constant first; the last is not zero."""


def poles(series: Sequence[int], most: int) -> Poly | None:
    """The poles, ascending, from 2 `most` terms of their series, most < 2**12.

    None unless there are at most `most` poles, all simple and in the field.
    """
    connection, length = recurrence(series)
    if length > most or (length and connection[length] == 0):
        return None
    return roots([connection[length - i] for i in range(length + 1)])


def recurrence(series: Sequence[int]) -> tuple[Poly, int]:
    """Shortest recurrence c with c[0] = 1 and sum of c[i] s[n - i] = 0, padded with zeros, and its length."""
    folding, packed = _Folding(len(series) + 1), pack(list(series), _SLOT)
    c = b = mpz(1)
    length, shift, scale = 0, 1, 1
    for n in range(len(series)):
        # Coefficient `length` of c times s[n - length] + ... + s[n] x**length.
        window = packed >> (n - length) * _SLOT & _ones(length + 1)
        d = int((c * window >> length * _SLOT & _ones(1)) % P)
        if d == 0:
            shift += 1
            continue
        before = c
        c = folding(c + (b * (P - d * scale % P) << shift * _SLOT))
        if 2 * length <= n:
            length, b, scale, shift = n + 1 - length, before, inverse(d), 1
        else:
            shift += 1
    return _coefficients(c, len(series) + 1), length


def roots(f: Poly) -> Poly | None:
    """The roots of a monic polynomial, ascending; None unless it has as many distinct ones as its degree."""
    shifts = Random(0)  # noqa: S311 - splits a public polynomial
    found: Poly = []
    waiting = [f] if len(f) > 1 else []
    checked = False
    while waiting:
        g = waiting.pop()
        if len(g) == 2:
            found.append(-g[0] % P)
            continue
        if len(g) == 3 and checked:
            found += _two_roots(g)
            continue
        modulo = _Modulo(g)
        for _ in range(_SPLITS):
            shift = shifts.randrange(P)
            shifted = mpz(shift + (1 << _SLOT))
            y = shifted
            for _ in range(_HALF_POWER):
                y = modulo.square(y)
            if not checked:
                if modulo.canonical(modulo.square(y)) != modulo.canonical(modulo.square(shifted)):
                    return None
                checked = True
            part = _gcd(g, modulo.canonical(y + (P - shift) + (P - 1 << _SLOT)))
            if 1 < len(part) < len(g):
                waiting += [part, _divide(g, part)[0]]
                break
        else:
            return None
    return sorted(found)


class _Modulo:
    """Squares modulo a monic polynomial f of degree m >= 2.

    The quotient of z, deg z <= 2 m - 2, by f is floor(floor(z / x**m) floor(x**(2 m - 2) / f) / x**(m - 2)).
    Only terms of negative degree of the exact quotient are lost (Barrett 1986, for polynomials).
    """

    def __init__(self, f: Poly) -> None:
        m = len(f) - 1
        inverse_of_f = [1]  # floor(x**(2 m - 2) / f), the leading coefficient first
        for k in range(1, m - 1):
            inverse_of_f.append(-sum(f[m - i] * inverse_of_f[k - i] for i in range(1, k + 1)) % P)
        self._m, self._high, self._low = m, m * _SLOT, (m - 2) * _SLOT
        self._inverse = pack(inverse_of_f[::-1], _SLOT)
        self._minus_f = pack([P - c for c in f[:m]], _SLOT)
        self._ones = _ones(m)
        self._folding = _Folding(2 * m - 1)

    def square(self, y: mpz) -> mpz:
        """The packed square of y, deg y < m."""
        z = self._folding(y * y)
        quotient = self._folding((z >> self._high) * self._inverse >> self._low)
        return self._folding((z & self._ones) + (quotient * self._minus_f & self._ones))

    def canonical(self, y: mpz) -> Poly:
        """A packed polynomial below degree m as a list."""
        return _trimmed(_coefficients(y, self._m))


class _Folding:
    """Reduces packed coefficients below 2**136 to less than 2**61 + 2**15.

    2**61 = 1 modulo p, so x = high 2**61 + low is low + high, below 2**61 + 2**75 after the first pass.
    """

    def __init__(self, size: int) -> None:
        self._low = pack([P] * size, _SLOT)
        self._high = pack([(1 << _SLOT - 61) - 1] * size, _SLOT)

    def __call__(self, x: mpz) -> mpz:
        x = (x & self._low) + (x >> 61 & self._high)
        return (x & self._low) + (x >> 61 & self._high)


def _ones(size: int) -> mpz:
    return (mpz(1) << size * _SLOT) - 1


def _coefficients(packed: mpz, size: int) -> Poly:
    found = [int(x % P) for x in unpack(packed, _SLOT)]
    return (found + [0] * size)[:size]


def _two_roots(f: Poly) -> Poly:
    """Both roots of x**2 + b x + c. p = 3 modulo 4, so a square's root is its power (p + 1) / 4."""
    half = -f[1] * _HALF % P
    root = int(powmod(half * half - f[0], (P + 1) // 4, P))
    return [(half + root) % P, (half - root) % P]


_HALF = inverse(2)


def _trimmed(a: Poly) -> Poly:
    while a and a[-1] == 0:
        a.pop()
    return a


def _divide(a: Poly, b: Poly) -> tuple[Poly, Poly]:
    """Quotient and remainder by a monic b."""
    rest, m = list(a), len(b) - 1
    quotient = [0] * max(0, len(a) - m)
    for top in range(len(a) - 1, m - 1, -1):
        factor = quotient[top - m] = rest[top] % P
        for i in range(m):
            rest[top - m + i] -= factor * b[i]
    return quotient, _trimmed([x % P for x in rest[:m]])


def _gcd(a: Poly, b: Poly) -> Poly:
    while b:
        scale = inverse(b[-1])
        b = [x * scale % P for x in b]
        a, b = b, _divide(a, b)[1]
    return a
