"""Residues back to integers, compared with the Chinese remainder theorem in Python integers."""

from fractions import Fraction
from math import prod

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.sweeps import every, tries

from secfc.field.array_types import Floats
from secfc.field.mixed_radix import MixedRadix
from secfc.field.primes import primes_of
from secfc.field.residues import centred

laws = tries()
counts = every("count", range(1, 9))


def remainder(residues: list[int], primes: tuple[int, ...]) -> int:
    """The integer in [0, Q) with these residues, by the textbook formula."""
    q = prod(primes)
    return sum(r * (q // p) * pow(q // p, -1, p) for r, p in zip(residues, primes, strict=True)) % q


def residues_of(values: list[int], primes: tuple[int, ...]) -> Floats:
    planes = [[centred(v, p) for v in values] for p in primes]
    return np.array(planes, dtype=np.float64).reshape(len(primes), len(values))


def extremes(primes: tuple[int, ...]) -> list[int]:
    q = prod(primes)
    near_radices = [r + e for r in MixedRadix(primes).radices for e in (-1, 0, 1)]
    return [0, 1, q // 2, q - 2, q - 1, *(v for v in near_radices if 0 <= v < q)]


def random_integers(primes: tuple[int, ...], count: int) -> list[int]:
    rng = np.random.default_rng(len(primes))
    return [int.from_bytes(rng.bytes(32), "little") % prod(primes) for _ in range(count)]


@counts
def test_factors_are_centred_and_of_the_earlier_radices(count: int) -> None:
    primes = primes_of(count)
    system = MixedRadix(primes)
    radices, factors = system.radices, system.factors
    assert factors.shape == (count, count)
    assert factors.dtype == np.float64
    for q, p in enumerate(primes):
        own = int(factors[q, q])
        assert own * radices[q] % p == 1
        for j in range(count):
            factor = int(factors[q, j])
            assert (factor + own * radices[j]) % p == 0 if j < q else j == q or factor == 0
            assert abs(factor) <= (p - 1) // 2


@counts
def test_extremes_come_back(count: int) -> None:
    primes = primes_of(count)
    system = MixedRadix(primes)
    values = extremes(primes)
    assert system.integers(system.digits(residues_of(values, primes))).tolist() == values


@counts
def test_arbitrary_residues_give_the_chinese_remainder(count: int) -> None:
    primes = primes_of(count)
    system = MixedRadix(primes)
    rng = np.random.default_rng(count)
    residues = np.array([rng.integers(-(p // 2), p // 2 + 1, 200) for p in primes])
    expected = [remainder(column.tolist(), primes) for column in residues.T]
    assert system.integers(system.digits(residues.astype(np.float64))).tolist() == expected


@counts
def test_largest_reduced_residues_are_accepted(count: int) -> None:
    primes = primes_of(count)
    system = MixedRadix(primes)
    for sign in (1, -1):
        residues = [sign * ((p + 8) // 2) for p in primes]
        digits = system.digits(np.array(residues, dtype=np.float64)[:, np.newaxis])
        assert system.integers(digits).tolist() == [remainder(residues, primes)]


@counts
def test_every_digit_is_below_its_prime(count: int) -> None:
    primes = primes_of(count)
    values = [*extremes(primes), *random_integers(primes, 500)]
    digits = MixedRadix(primes).digits(residues_of(values, primes))
    assert (digits >= 0).all()
    assert (digits < np.array(primes)[:, np.newaxis]).all()


@counts
def test_relative_error_is_as_claimed(count: int) -> None:
    primes = primes_of(count)
    system = MixedRadix(primes)
    rng = np.random.default_rng(count)
    values = [*extremes(primes), *random_integers(primes, 1000)]
    # Digits of any size in any place, so that no single term dominates.
    digits = np.array([rng.integers(0, 1 << rng.integers(1, 24, 1000)) for p in primes])
    values += system.integers(digits.astype(np.float64)).tolist()
    values = [v for v in values if v < prod(primes)]
    computed = system.approximate(system.digits(residues_of(values, primes)))
    claim = Fraction(system.relative_error)
    for value, approximation in zip(values, computed, strict=True):
        assert abs(Fraction(float(approximation)) - value) <= claim * value


@laws
@given(data=st.data(), count=st.integers(1, 8))
def test_relative_error_holds_for_any_integer(data: st.DataObject, count: int) -> None:
    primes = primes_of(count)
    system = MixedRadix(primes)
    value = data.draw(st.integers(0, prod(primes) - 1))
    digits = system.digits(residues_of([value], primes))
    assert system.integers(digits)[0] == value
    approximation = Fraction(float(system.approximate(digits)[0]))
    assert abs(approximation - value) <= Fraction(system.relative_error) * value


def test_integers_below_2_to_the_53_are_approximated_exactly() -> None:
    primes = primes_of(3)
    system = MixedRadix(primes)
    values = [2**53 - 1, 2**52 + 1, 16760833, 123456789012345]
    assert system.approximate(system.digits(residues_of(values, primes))).tolist() == values


@counts
@every("shape", [(0,), (4, 0), (2, 3)])
def test_shape_after_the_primes_is_kept(count: int, shape: tuple[int, ...]) -> None:
    system = MixedRadix(primes_of(count))
    digits = system.digits(np.ones((count, *shape)))
    assert digits.shape == (count, *shape)
    assert system.integers(digits).shape == system.approximate(digits).shape == shape
    assert (system.integers(digits) == 1).all()


def test_arguments_are_left_alone() -> None:
    system = MixedRadix(primes_of(3))
    residues = residues_of([2**60], primes_of(3))
    before = residues.copy()
    digits = system.digits(residues)
    after = digits.copy()
    system.approximate(digits)
    system.integers(digits)
    assert np.array_equal(residues, before)
    assert np.array_equal(digits, after)
