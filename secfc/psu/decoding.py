"""Which values of a polynomial over the union's field are wrong (Gao's decoder, as in secfc.lagrange).

In Python integers: it is needed only for a run that is about to end.
"""

from collections.abc import Sequence

from secfc.psu.prime import P, inverse

Poly = list[int]
"""Coefficients modulo P, constant first, the last not zero; zero is empty."""


def wrong_values(points: Sequence[int], values: Sequence[int], dimension: int) -> tuple[int, ...] | None:
    """Positions where values differ from the only polynomial within (N - dimension) // 2 of them.

    Parameters
    ----------
    points : sequence of N int
        Distinct.
    values : sequence of N int
    dimension : int
        The polynomial's degree is below it.

    Returns
    -------
    tuple of int, or None
        Ascending; None when no polynomial is that near.
    """
    length = len(points)
    older, old = _interpolate(points, values)
    v_older: Poly = []
    v_old: Poly = [1]
    while 2 * (len(old) - 1) >= length + dimension:
        quotient, rest = _divide(older, old)
        older, old = old, rest
        v_older, v_old = v_old, _subtract(v_older, _multiply(quotient, v_old))
    polynomial, rest = _divide(old, v_old)
    if rest or len(polynomial) > dimension:
        return None
    found = zip(points, values, strict=True)
    wrong = tuple(i for i, (a, value) in enumerate(found) if _evaluate(polynomial, a) != value)
    return wrong if 2 * len(wrong) <= length - dimension else None


def _interpolate(points: Sequence[int], values: Sequence[int]) -> tuple[Poly, Poly]:
    """The polynomial that vanishes at the points, and the one that takes the values there."""
    vanishing: Poly = [1]
    for a in points:
        vanishing = _multiply(vanishing, [-a % P, 1])
    total: Poly = [0] * len(points)
    for a, value in zip(points, values, strict=True):
        basis, _ = _divide(vanishing, [-a % P, 1])
        scale = value * inverse(_evaluate(basis, a)) % P
        total = [(x + scale * y) % P for x, y in zip(total, basis, strict=True)]
    return vanishing, _trimmed(total)


def _evaluate(a: Poly, x: int) -> int:
    value = 0
    for coefficient in reversed(a):
        value = (value * x + coefficient) % P
    return value


def _trimmed(a: Poly) -> Poly:
    while a and a[-1] == 0:
        a.pop()
    return a


def _multiply(a: Poly, b: Poly) -> Poly:
    if not a or not b:
        return []
    total = [0] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            total[i + j] = (total[i + j] + x * y) % P
    return _trimmed(total)


def _subtract(a: Poly, b: Poly) -> Poly:
    size = max(len(a), len(b))
    pad = [0] * size
    return _trimmed([(x - y) % P for x, y in zip((a + pad)[:size], (b + pad)[:size], strict=True)])


def _divide(a: Poly, b: Poly) -> tuple[Poly, Poly]:
    """Quotient and remainder by b, which is not zero."""
    lead, rest = inverse(b[-1]), list(a)
    quotient = [0] * max(0, len(a) - len(b) + 1)
    for shift in range(len(quotient) - 1, -1, -1):
        factor = quotient[shift] = rest[shift + len(b) - 1] * lead % P
        for i, coefficient in enumerate(b):
            rest[shift + i] = (rest[shift + i] - factor * coefficient) % P
    return quotient, _trimmed(rest[: len(b) - 1])
