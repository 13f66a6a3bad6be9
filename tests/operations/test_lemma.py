"""The identity that a comparison uses, and the bound on its modulus."""

from itertools import product
from math import isqrt, prod

import numpy as np
import pytest

from secfc.comparing.question import comparison_residues
from secfc.errors import ParameterError
from secfc.field.primes import PRIMES


@pytest.mark.parametrize("modulus", range(3, 43, 2))
def test_the_sign_is_the_lowest_bits_and_a_comparison(modulus):
    for u, mask in product(range(-(modulus // 2), modulus // 2 + 1), range(modulus)):
        y2, r2 = 2 * (u + mask) % modulus, 2 * mask % modulus
        assert (u < 0) == (y2 ^ r2 ^ (y2 < r2)) & 1


@pytest.mark.parametrize("modulus", [5, 7, 41])
def test_at_half_the_modulus_it_fails(modulus):
    u = modulus // 2 + 1
    assert 2 * u % modulus % 2 == 1


@pytest.mark.parametrize(("rows", "primes"), [(10**5, 6), (10**6, 6), (2 * 10**6, 7), (10**8, 8)])
def test_primes_of_two_equal_halves(rows, primes):
    assert comparison_residues(2**32, np.array([rows // 2, rows // 2])) == primes


@pytest.mark.parametrize("count", range(1, 8))
def test_the_bound_is_the_last_size_that_fits(count):
    modulus = prod(prime.p for prime in PRIMES[:count])
    largest = isqrt((modulus - 1) // 8)  # 2 (2 r)^2 < Q
    assert comparison_residues(largest, np.array([1, 0, 1])) == count
    assert comparison_residues(largest + 1, np.array([1, 0, 1])) == count + 1


def test_only_the_two_largest_sets_count():
    assert comparison_residues(2**32, np.array([9000, 10, 10_000, 1])) == 5
    assert comparison_residues(2**32, np.array([10_000])) == 4


def test_what_does_not_fit_names_the_bits():
    with pytest.raises(ParameterError, match=r"take 2\d\d bits, the modulus has 191: lower precision by"):
        comparison_residues(2**60, np.array([10**8, 10**8]))
