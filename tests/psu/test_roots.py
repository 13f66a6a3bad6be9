"""Recurrences and roots on GMP's integers, against FLINT and galois."""

import galois
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sweeps import tries

from secfc.psu import roots
from secfc.psu.prime import P

poles = st.lists(st.integers(1, P - 1), unique=True, max_size=6)


def series(residues: list[int], at: list[int], terms: int) -> list[int]:
    return [sum(c * pow(e, k, P) for c, e in zip(residues, at, strict=False)) % P for k in range(terms)]


@tries(0.5)
@given(poles, st.lists(st.integers(1, P - 1), min_size=6, max_size=6))
def test_the_poles_of_a_series_are_found(at: list[int], residues: list[int]) -> None:
    assert roots.poles(series(residues, at, 12), 6) == sorted(at)


@tries(0.3)
@given(poles)
def test_roots_are_those_that_flint_finds(at: list[int]) -> None:
    flint = pytest.importorskip("flint")
    f = flint.nmod_poly([1], P)
    for e in at:
        f *= flint.nmod_poly([-e % P, 1], P)
    coefficients = [int(f[i]) for i in range(f.degree() + 1)]
    assert roots.roots(coefficients) == sorted(int(root) for root, _ in f.roots()) == sorted(at)


def test_the_recurrence_is_that_of_galois() -> None:
    field = galois.GF(P, primitive_element=37, verify=False)
    s = series([3, 5, 7], [11, 13, 17], 12)
    connection, length = roots.recurrence(s)
    expected = galois.berlekamp_massey(field(s))  # the characteristic polynomial
    assert length == 3
    assert connection[: length + 1] == [int(c) for c in expected.coeffs]


@pytest.mark.parametrize(
    "coefficients",
    [[3, 0, 1], [25, P - 10, 1], [1, 0, 0, 0, 1]],
    ids=["irreducible", "double root", "two irreducible factors"],
)
def test_a_polynomial_without_as_many_roots_has_none(coefficients: list[int]) -> None:
    if coefficients == [3, 0, 1]:  # -3 is a square exactly if p = 1 modulo 3
        coefficients = [next(c for c in range(2, 100) if pow(-c, (P - 1) // 2, P) == P - 1), 0, 1]
    assert roots.roots(coefficients) is None
