"""Rows within the bound: what sums of entries show, why their norms do not wrap, and what is opened."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import isqrt, prod

import numpy as np
import pytest
from support.kernel_samples import BOTH, each_kernels
from support.trio import carry, keys

from secfc.comparing import bounded
from secfc.comparing.bounded import (
    ANDED,
    NUMBERS,
    SUMS,
    TESTS,
    VALUES,
    bounded_question,
    bounded_residues,
    coded_sums,
    lines_of,
    most_sum,
    within_norms,
    within_sums,
)
from secfc.comparing.role import Arena, Comparer
from secfc.crypto.randomness import MaskSource
from secfc.errors import ParameterError
from secfc.field.primes import primes_of
from secfc.field.residues import centre, centred
from secfc.operations.trio import Dealer, Evaluator

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

    @pytest.mark.parametrize("limit", [0, 1, 5, Q // 4])
    def test_two_numbers_are_at_least_0_if_and_only_if_the_value_is_within_its_limits(self, limit):
        values = np.zeros((1, 1, VALUES), dtype=object)
        for start in range(0, Q, VALUES):
            values[0, 0] = (start + np.arange(VALUES)) % Q
            found = within_sums(of_integers(values[0], RING), [limit], RING)
            both = [crt(found[:, 0, at]) <= Q // 2 for at in range(NUMBERS)]
            for at, value in enumerate(values[0, 0]):
                assert (both[at] and both[at + VALUES]) == small(int(value), limit)

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
        monkeypatch.setattr(bounded, "_BLOCK_ROWS", 3)
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
        signs = np.concatenate([bounded._signs(source, (count, SUMS)) for count in (3, 3, 2)]).astype(int)
        tests = bounded._signs(source, (len(owned), SUMS, TESTS, width)).astype(int)
        for plane, every, p in zip(shares, found, primes, strict=True):
            for own, of_tests, values in zip(owned, tests, every, strict=True):
                sums = plane[:, own] @ signs[own.start - 2 : own.stop - 2]
                expected = [
                    int((of_tests[one, test] * sums[:, one]).sum()) % p
                    for one, test in product(range(SUMS), range(TESTS))
                ]
                assert values.tolist() == expected

    def test_coefficients_are_0_half_of_the_time_and_independent(self):
        signs = bounded._signs(MaskSource(bytes(32)), (40_000, 2))
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


class Asked:
    """A trio that compares numbers with 0, owner by owner."""

    def __init__(self, values, counts, primes, *, kernels=BOTH[1], seed=0):
        rng, modulus = np.random.default_rng(seed), prod(primes)
        words = rng.integers(0, 2**48, (5, len(values))).astype(object)
        masks = sum(word << 48 * at for at, word in enumerate(words)) % modulus
        masked = (np.array(values, dtype=object) + masks) % modulus
        shared = {"kernels": kernels, "arena": Arena()}
        question, of_dealer = bounded_question(of_integers(masks, primes), counts, primes)
        both = keys(Comparer.E0), keys(Comparer.E1)
        self.roles = {Comparer.DEALER: Dealer(question=question, masks=of_dealer, keys=both, **shared)}
        for me in (Comparer.E0, Comparer.E1):
            same, numbers = bounded_question(of_integers(masked, primes), counts, primes)
            shared = {"kernels": kernels, "arena": Arena()}
            self.roles[me] = Evaluator(me=me, question=same, masked=numbers, keys=keys(me), **shared)
        self.mail = []
        carry(self.roles, self.mail)
        first, second = (self.roles[me].core for me in (Comparer.E0, Comparer.E1))
        assert np.array_equal(first, second)
        self.bits = first.tolist()


@each_kernels
@pytest.mark.parametrize("counts", [[1], [16], [17, 1], [3, 0, 40, 16]])
def test_a_line_is_opened_as_whether_all_its_numbers_are_at_least_0(kernels, counts):
    primes, rng = primes_of(3), np.random.default_rng(1)
    modulus = prod(primes)
    for _ in range(6):
        values = rng.choice([0, 1, 5, modulus // 2], sum(counts)).astype(object)
        bad = rng.choice(sum(counts), rng.integers(0, 3)) if sum(counts) > 1 else []
        values[bad] = rng.choice([-1, modulus // 2 + 1], len(bad))
        expected, at = [], 0
        for count in counts:
            own = [0 <= value % modulus <= modulus // 2 for value in values[at : at + count]]
            expected += [all(own[start : start + ANDED]) for start in range(0, count, ANDED)]
            at += count
        assert Asked(values, counts, primes, kernels=kernels).bits == expected
        assert lines_of(counts).tolist() == [
            owner for owner, count in enumerate(counts) for _ in range(-(-count // ANDED))
        ]


def test_norms_are_compared_with_the_squared_radius():
    primes, radius = primes_of(4), 1 << 30
    squares = [0, radius**2 - 1, radius**2, radius**2 + 1, 2 * radius**2]
    for square in squares:
        numbers = within_norms(of_integers([square], primes), radius, primes)
        value = crt(numbers[:, 0], primes)
        assert Asked([value], [1], primes).bits == [square <= radius**2]
    assert isqrt(squares[2]) == radius


def test_the_dealer_is_told_nothing_and_masks_are_negated_with_their_values():
    trio = Asked([3, -1, 4], [3], primes_of(3))
    assert not [one for one in trio.mail if one[1] is Comparer.DEALER]
    primes = primes_of(2)
    masks = of_integers([[5] * VALUES], primes)
    dealt = within_sums(masks, None, primes)
    assert np.array_equal(dealt[..., :VALUES], of_integers([[-5] * VALUES], primes))
    assert np.array_equal(dealt[..., VALUES:], masks)
    assert np.array_equal(within_norms(masks[:, 0], None, primes), dealt[:, 0, :VALUES])
