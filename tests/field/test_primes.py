"""The eight primes, checked only by trial division, and how many of them a round needs."""

import re
from math import isqrt, prod

import pytest
from support.sweeps import every

from secfc.errors import ParameterError
from secfc.field.fixed_point import quantised_radius
from secfc.field.primes import MARGIN_BITS, PRIMES, TWO_ADIC_ORDER, Prime, residues_needed
from secfc.field.residues import MAX_ROWS
from secfc.protocol.job.options import MAX_PRECISION

each_prime = every("prime", PRIMES)


def is_prime(x: int) -> bool:
    return x > 1 and all(x % k for k in range(2, isqrt(x) + 1))


def prime_factors(x: int) -> set[int]:
    found, k = set(), 2
    while x > 1:
        if k * k > x:
            k = x
        if x % k:
            k += 1
        else:
            found.add(k)
            x //= k
    return found


def is_primitive_root(g: int, p: int) -> bool:
    return all(pow(g, (p - 1) // q, p) != 1 for q in prime_factors(p - 1))


def modulus(count: int) -> int:
    return prod(prime.p for prime in PRIMES[:count])


def largest_radius(count: int) -> int:
    """The largest radius for which these primes leave the margin."""
    return isqrt((modulus(count) - 1) >> MARGIN_BITS) // 2


@each_prime
def test_generator_is_the_smallest_primitive_root(prime: Prime) -> None:
    assert is_primitive_root(prime.generator, prime.p)
    assert not any(is_primitive_root(g, prime.p) for g in range(1, prime.generator))


def test_primes_are_the_largest_with_their_properties() -> None:
    candidates = (x for x in range(2**24 - TWO_ADIC_ORDER + 1, 2**23, -TWO_ADIC_ORDER) if is_prime(x))
    assert [next(candidates) for _ in PRIMES] == [prime.p for prime in PRIMES]


def test_a_mask_loses_at_most_one_draw_in_eighty() -> None:
    assert max(2**24 - prime.p for prime in PRIMES) / 2**24 <= 0.0125


@pytest.mark.parametrize("count", range(2, len(PRIMES) + 1))
def test_the_largest_radius_below_the_boundary_needs_no_further_prime(count: int) -> None:
    radius = largest_radius(count)
    assert (2 * radius) ** 2 * 2**24 < modulus(count) < (2 * (radius + 1)) ** 2 * 2**24
    assert residues_needed(radius, 1) == count


@pytest.mark.parametrize("count", range(1, len(PRIMES)))
def test_one_more_than_the_boundary_needs_one_more_prime(count: int) -> None:
    assert residues_needed(largest_radius(count) + 1, 1) == count + 1


@every("largest_set", [1, 2, 1000, 400_000, MAX_ROWS])
@every("radius", [1, 2**20, 2**28 + 60])
def test_count_is_sufficient_and_minimal(radius: int, largest_set: int) -> None:
    count = residues_needed(radius, largest_set)
    largest_distance = (2 * largest_set * radius) ** 2
    assert modulus(count) > 2**24 * largest_distance
    assert modulus(count - 1) <= 2**24 * largest_distance


@pytest.mark.parametrize("largest_set", [1, 1000, MAX_ROWS])
def test_a_multiple_of_all_primes_but_one_is_no_distance(largest_set: int) -> None:
    count = residues_needed(2**28 + 60, largest_set)
    for prime in PRIMES[:count]:
        assert modulus(count) // prime.p > (2 * largest_set * (2**28 + 60)) ** 2


@pytest.mark.parametrize("d", [1, 784, 2**24])
def test_the_most_rows_at_the_highest_precision_fit(d: int) -> None:
    assert residues_needed(quantised_radius(1.0, MAX_PRECISION, d), MAX_ROWS) <= len(PRIMES)


def test_default_precision_carries_clusters_of_16000_rows_with_five_primes() -> None:
    assert residues_needed(quantised_radius(1.0, 32, 784), 16_000) == 5


def test_too_much_is_an_error_from_the_boundary_on() -> None:
    with pytest.raises(ParameterError, match="lower precision by 1 bits or use fewer rows"):
        residues_needed(largest_radius(len(PRIMES)) + 1, 1)


def test_error_shows_the_rows_and_both_sizes() -> None:
    with pytest.raises(
        ParameterError, match=r"up to 77 rows, with a margin of 24 bits, take 239 bits, the modulus has 191"
    ):
        residues_needed(2**100, 77)


@every("excess", range(1, 40))
def test_precision_lowered_as_the_error_says_fits(excess: int) -> None:
    radius = (largest_radius(len(PRIMES)) + 1) << (excess - 1)
    with pytest.raises(ParameterError) as refusal:
        residues_needed(radius, 1)
    found = re.search(r"lower precision by (\d+) bits", str(refusal.value))
    assert found is not None
    assert residues_needed(radius >> int(found[1]), 1) == len(PRIMES)
