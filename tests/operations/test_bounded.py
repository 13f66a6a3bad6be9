"""Rows within the bound: what sums of entries show, and why norms of entries that pass do not wrap."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest

from secfc.crypto.randomness import MaskSource
from secfc.errors import ParameterError
from secfc.field.primes import primes_of
from secfc.field.residues import centre, centred
from secfc.kmeans.bounds import bounded_residues, most_sum
from secfc.operations.beginning import in_range
from secfc.operations.beginning.in_range import SUMS, TESTS, coded_sums

RING = (3, 5, 7)
Q = prod(RING)
SIGNS = {-1: 1, 0: 2, 1: 1}
"""Coefficients, and how often four equally likely draws give each."""


def of_integers(values, primes):
    """Canonical residues of integers, (P, *shape)."""
    values = np.array(values, dtype=object)
    return np.array([(values % p).astype(float) for p in primes])


def small(value, most, modulus=Q):
    return abs(centred(value, modulus)) <= most


class TestSoundness:
    """The lemmas of the proofs, for all cases of a small ring."""

    @pytest.mark.parametrize("most", [1, 2, 5])
    def test_a_sum_of_a_large_entry_is_small_with_probability_one_half_at_most(self, most):
        for entry, rest in product(range(Q), range(Q)):
            if not small(entry, 2 * most):
                hits = sum(weight for sign, weight in SIGNS.items() if small(rest + sign * entry, most))
                assert hits <= 2

    def test_an_entry_that_is_too_large_passes_all_sums_rarely(self):
        assert Fraction(1 + Fraction(1, 2**TESTS), 2) ** SUMS < Fraction(1, 2**41)

    @pytest.mark.parametrize(("rows", "columns"), [(1, 1), (20, 2), (1000, 20), (100_000, 100), (10**6, 784)])
    def test_no_squared_norm_of_entries_that_pass_wraps_around(self, rows, columns):
        radius = (1 << 32) + 5
        modulus = prod(primes_of(bounded_residues(radius, rows, columns)))
        assert 2 * columns * (4 * most_sum(radius, rows)) ** 2 < modulus
        assert 2 * radius**2 < modulus

    def test_too_large_a_bound_is_refused(self):
        with pytest.raises(ParameterError, match="norms of 10 rows of 3 columns take"):
            bounded_residues(1 << 200, 10, 3)


def crt(residues, primes=RING):
    """The integer modulo the primes' product that has these residues."""
    modulus = prod(primes)
    parts = [modulus // p for p in primes]
    return sum(int(r) * n * pow(n, -1, p) for r, n, p in zip(residues, parts, primes, strict=True)) % modulus


class TestSums:
    def test_they_are_those_of_integers_with_the_coefficients_of_the_source(self, monkeypatch):
        monkeypatch.setattr(in_range, "_BLOCK_ROWS", 3)
        rng, primes, width = np.random.default_rng(0), primes_of(2), 3
        owned = [slice(2, 6), slice(6, 7), slice(7, 10)]
        shares = np.array([rng.integers(-(p // 2), p // 2, (width, 12)) for p in primes])
        found = coded_sums(
            lambda index, some: shares[index][:, some].astype(np.float32),
            owned,
            width=width,
            source=MaskSource(bytes(32)),
            primes=primes,
        )
        source = MaskSource(bytes(32))
        signs = np.concatenate([in_range._signs(source, (count, SUMS)) for count in (3, 3, 2)]).astype(int)
        tests = in_range._signs(source, (len(owned), SUMS, TESTS, width)).astype(int)
        for plane, every, p in zip(shares, found, primes, strict=True):
            for own, of_tests, values in zip(owned, tests, every, strict=True):
                sums = plane[:, own] @ signs[own.start - 2 : own.stop - 2]
                expected = [
                    int((of_tests[one, test] * sums[:, one]).sum()) % p
                    for one, test in product(range(SUMS), range(TESTS))
                ]
                assert values.tolist() == expected

    def test_coefficients_are_0_half_of_the_time_and_independent(self):
        signs = in_range._signs(MaskSource(bytes(32)), (40_000, 2))
        counts = Counter(map(tuple, signs.astype(int).tolist()))
        for pair in product(SIGNS, SIGNS):
            expected = 40_000 * SIGNS[pair[0]] * SIGNS[pair[1]] / 16
            assert abs(counts[pair] - expected) < 5 * expected**0.5

    @pytest.mark.parametrize("seed", range(3))
    def test_rows_at_the_bound_pass_and_a_larger_entry_does_not(self, seed):
        rng, primes, m, width, radius = np.random.default_rng(seed), primes_of(4), 50, 4, 1 << 20
        rows = np.zeros((m, width), dtype=object)
        rows[np.arange(m), rng.integers(0, width, m)] = radius * (1 if seed else rng.choice([-1, 1], m))
        modulus = prod(primes)
        for large in (None, 4 * most_sum(radius, m) + 1, modulus // 2, modulus // 3, modulus - modulus // 5):
            if large is not None:
                rows[rng.integers(m), rng.integers(width)] = large
            residues = [centre(one, p) for one, p in zip(of_integers(rows.T, primes), primes, strict=True)]
            found = coded_sums(
                lambda index, some, residues=residues: residues[index][:, some].astype(np.float32),
                [slice(0, m)],
                width=width,
                source=MaskSource(bytes([seed]) * 32),
                primes=primes,
            )
            whole = [crt(one, primes) for one in found[:, 0].T]
            assert all(small(one, most_sum(radius, m), modulus) for one in whole) == (large is None)
