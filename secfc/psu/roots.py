"""Poles of a sum of simple fractions from its series, in Python integers: for few bins, and to test by.

The series s_k = sum over e of C_e e**k, k < 2 d, obeys a linear recurrence of length L = number of terms. The
shortest recurrence is found by Berlekamp-Massey (Massey 1969); its polynomial f has the poles as roots. Roots
are found as Cantor and Zassenhaus (1981) split f: (x + a)**((p + 1) / 2) is r + a or -(r + a) at a root r,
at random for random a, so its difference to x + a shares about half of the roots with f.
"""

from collections.abc import Sequence
from random import Random

from secfc.psu.prime import P, inverse

_SPLITS = 128
"""Random shifts tried on a polynomial before it counts as one without roots: all fail with 2**-128."""

_HALF_POWER = 60  # (P + 1) / 2 = 2**60

Poly = list[int]
"""Coefficients modulo P, constant first; the last is not zero."""


def poles(series: Sequence[int], most: int) -> Poly | None:
    """The poles in ascending order, or None where there are no `most` or fewer simple ones in the field.

    Parameters
    ----------
    series : sequence of 2 most int
        s_k = sum of C_e e**k for nonzero C_e and distinct nonzero e.
    most : int
        Poles that the series determines.
    """
    connection, length = recurrence(series)
    if length > most or (length and connection[length] == 0):
        return None
    return roots([connection[length - i] for i in range(length + 1)])


def recurrence(series: Sequence[int]) -> tuple[Poly, int]:
    """Shortest recurrence, c with c[0] = 1 and sum of c[i] s[n - i] = 0, padded with zeros; its length."""
    c, b = [1] + [0] * len(series), [1] + [0] * len(series)
    length, shift, scale = 0, 1, 1
    for n, s in enumerate(series):
        d = (s + sum(c[i] * series[n - i] for i in range(1, length + 1))) % P
        if d == 0:
            shift += 1
            continue
        before = list(c)
        factor = d * scale % P
        for i in range(len(c) - shift):
            c[i + shift] = (c[i + shift] - factor * b[i]) % P
        if 2 * length <= n:
            length, b, scale, shift = n + 1 - length, before, inverse(d), 1
        else:
            shift += 1
    return c, length


def roots(f: Poly) -> Poly | None:
    """The roots of a monic polynomial, ascending, if it has as many distinct ones as its degree."""
    shifts = Random(0)  # noqa: S311 - splits a public polynomial
    found: Poly = []
    waiting = [f] if len(f) > 1 else []
    checked = False
    while waiting:
        g = waiting.pop()
        if len(g) == 2:
            found.append(-g[0] % P)
            continue
        for _ in range(_SPLITS):
            shifted = [shifts.randrange(P), 1]
            y = shifted
            for _ in range(_HALF_POWER):
                y = _remainder(_product(y, y), g)
            if not checked:
                if _remainder(_product(y, y), g) != _remainder(_product(shifted, shifted), g):
                    return None
                checked = True
            part = _gcd(g, _difference(y, shifted))
            if 1 < len(part) < len(g):
                waiting += [part, _quotient(g, part)]
                break
        else:
            return None
    return sorted(found)


def _trimmed(a: Poly) -> Poly:
    while a and a[-1] == 0:
        a.pop()
    return a


def _product(a: Poly, b: Poly) -> Poly:
    total = [0] * (len(a) + len(b) - 1) if a and b else []
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            total[i + j] += x * y
    return _trimmed([x % P for x in total])


def _difference(a: Poly, b: Poly) -> Poly:
    size = max(len(a), len(b))
    pad = [0] * size
    return _trimmed([(x - y) % P for x, y in zip((a + pad)[:size], (b + pad)[:size], strict=True)])


def _divide(a: Poly, b: Poly) -> tuple[Poly, Poly]:
    """Quotient and remainder by a monic b."""
    rest, m = list(a), len(b) - 1
    quotient = [0] * max(0, len(a) - m)
    for top in range(len(a) - 1, m - 1, -1):
        factor = quotient[top - m] = rest[top] % P
        for i in range(m):
            rest[top - m + i] -= factor * b[i]
    return quotient, _trimmed([x % P for x in rest[:m]])


def _remainder(a: Poly, b: Poly) -> Poly:
    return _divide(a, b)[1]


def _quotient(a: Poly, b: Poly) -> Poly:
    return _divide(a, b)[0]


def _gcd(a: Poly, b: Poly) -> Poly:
    while b:
        scale = inverse(b[-1])
        b = [x * scale % P for x in b]
        a, b = b, _remainder(a, b)
    return a
