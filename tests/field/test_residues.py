"""Exactness of the float64 arithmetic modulo p, at the largest magnitudes within its bounds."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sweeps import every, tries

from secfc.field.array_types import Floats, Objects
from secfc.field.primes import PRIMES
from secfc.field.residues import BLOCK, canonical, centre, centred, inverse, matmul, reduce, squared_norms
from secfc.kernels import load

MODULI = [prime.p for prime in PRIMES]
LIMIT = 2**53 - 2**24
"""`reduce` takes integers strictly below this in magnitude."""

INNER = [1, 127, 128, 129, 256, 784]

Reduce = Callable[[Floats, int], Floats]

each_modulus = every("p", MODULI)
laws = tries()
moduli = st.sampled_from(MODULI)


def largest_reduced(p: int) -> int:
    """The largest integer r with r <= p/2 + 4."""
    return (p + 8) // 2


def reduced(p: int) -> st.SearchStrategy[int]:
    top = largest_reduced(p)
    return st.one_of(st.integers(-top, top), st.sampled_from([-top, top, -(p // 2), p // 2, 0]))


def exact(x: Floats) -> Objects:
    """Python integers; fails on anything that is not an integer."""
    assert np.array_equal(x, np.rint(x))
    return x.astype(np.int64).astype(object)


def assert_reduced(result: Floats, expected: Objects, p: int) -> None:
    integers = exact(result)
    assert not ((integers - expected) % p).any()
    assert np.abs(result).max(initial=0.0) <= p / 2 + 4


def signs(kind: str, shape: tuple[int, int]) -> Floats:
    if kind == "plus":
        return np.ones(shape)
    if kind == "minus":
        return -np.ones(shape)
    if kind == "alternating":
        return np.where(np.indices(shape).sum(axis=0) % 2, -1.0, 1.0)
    return np.random.default_rng(7).choice([-1.0, 1.0], size=shape)


def reduce_by_loop(x: Floats, p: int) -> Floats:
    """By the compiled loop, which takes primes on the first of as many axes."""
    assert load() is not None
    return reduce(x[np.newaxis], np.array([[p]], dtype=np.float64))[0]


each_form = pytest.mark.parametrize("reduce", [reduce, reduce_by_loop])


class TestReduce:
    @each_form
    @each_modulus
    @every("sign", [1, -1])
    def test_is_exact_on_the_last_integers_of_its_domain(self, reduce: Reduce, p: int, sign: int) -> None:
        x = sign * np.arange(LIMIT - 200_000, LIMIT, dtype=np.int64)
        assert int(np.abs(x).max()) == 2**53 - 2**24 - 1
        r = reduce(x.astype(np.float64), p)
        assert np.array_equal(r, np.rint(r))
        assert not ((x - r.astype(np.int64)) % p).any()
        assert np.abs(r).max() <= p / 2 + 4

    @each_form
    @each_modulus
    @every("sign", [1, -1])
    def test_is_exact_where_the_quotient_is_hardest_to_round(self, reduce: Reduce, p: int, sign: int) -> None:
        multiples = p * np.arange(LIMIT // p - 20_000, LIMIT // p, dtype=np.int64)
        for offset in (p // 2 - 5, p // 2 - 1, p // 2, p // 2 + 1, p // 2 + 5, 0, 1, -1):
            x = sign * (multiples + offset)
            x = x[np.abs(x) < LIMIT]
            r = reduce(x.astype(np.float64), p)
            assert not ((x - r.astype(np.int64)) % p).any()
            assert np.abs(r).max() <= p / 2 + 4

    @each_form
    @pytest.mark.parametrize("p", [3, 5, 7, 11, 13, 257, 65537, 8388593])
    def test_bound_holds_for_every_smaller_prime_too(self, reduce: Reduce, p: int) -> None:
        x = np.arange(LIMIT - 100_000, LIMIT, dtype=np.int64)
        r = reduce(x.astype(np.float64), p)
        assert not ((x - r.astype(np.int64)) % p).any()
        assert np.abs(r).max() <= p / 2 + 4

    @each_form
    @laws
    @given(p=moduli, x=st.lists(st.integers(-LIMIT + 1, LIMIT - 1), max_size=20))
    def test_result_is_congruent_and_small(self, reduce: Reduce, p: int, x: list[int]) -> None:
        assert_reduced(reduce(np.array(x, dtype=np.float64), p), np.array(x, dtype=object), p)

    @each_form
    @each_modulus
    def test_small_integers_stay(self, reduce: Reduce, p: int) -> None:
        x = np.array([0, 1, -1, p // 2, -(p // 2)], dtype=np.float64)
        assert np.array_equal(reduce(x, p), x)

    @each_form
    @each_modulus
    def test_multiples_become_zero(self, reduce: Reduce, p: int) -> None:
        top = (LIMIT - 1) // p
        x = p * np.array([1, -1, 2, top, -top], dtype=np.float64)
        assert np.array_equal(reduce(x, p), np.zeros(5))


class TestCanonical:
    @each_modulus
    def test_every_extreme_lands_in_the_canonical_range(self, p: int) -> None:
        top = largest_reduced(p)
        x = np.array([*range(-top, -top + 20), *range(-10, 10), *range(top - 20, top + 1)])
        assert np.array_equal(canonical(x.astype(np.float64), p), x % p)

    @laws
    @given(data=st.data(), p=moduli)
    def test_equals_the_python_remainder(self, data: st.DataObject, p: int) -> None:
        x = data.draw(st.lists(reduced(p), max_size=20))
        assert canonical(np.array(x, dtype=np.float64), p).tolist() == [v % p for v in x]


class TestMatmul:
    def test_block_is_the_longest_exact_sum_of_products(self) -> None:
        product = max(largest_reduced(p) for p in MODULI) ** 2
        assert product < 2**46
        assert BLOCK * product < LIMIT
        assert BLOCK & (BLOCK - 1) == 0
        assert 2 * BLOCK * product > 2**53

    @each_modulus
    @every("inner", INNER)
    @every("kind", ["plus", "minus", "alternating", "random"])
    def test_is_exact_at_the_largest_magnitudes(self, p: int, inner: int, kind: str) -> None:
        a = signs(kind, (3, inner)) * largest_reduced(p)
        b = signs("plus" if kind == "minus" else kind, (inner, 5)) * largest_reduced(p)
        assert_reduced(matmul(a, b, p), exact(a) @ exact(b), p)

    @pytest.mark.parametrize("inner", INNER)
    def test_random_matrices_give_the_integer_product(self, inner: int) -> None:
        p = MODULI[0]
        rng = np.random.default_rng(inner)
        top = largest_reduced(p)
        a = rng.integers(-top, top + 1, (17, inner)).astype(np.float64)
        b = rng.integers(-top, top + 1, (inner, 9)).astype(np.float64)
        assert_reduced(matmul(a, b, p), exact(a) @ exact(b), p)

    @each_modulus
    @every("inner", INNER)
    def test_odd_products_at_the_largest_magnitudes_are_exact(self, p: int, inner: int) -> None:
        # The largest reduced residues are even, so sums of their products would be exact beyond 2**53.
        odd = largest_reduced(p) - 1 | 1
        assert odd % 2 == 1
        a, b = np.full((3, inner), float(odd)), np.full((inner, 5), float(odd))
        a[0, 0], a[1] = odd - 1, -a[1]
        assert_reduced(matmul(a, b, p), exact(a) @ exact(b), p)

    def test_long_rows_are_exact(self) -> None:
        p = MODULI[0]
        inner = 64 * BLOCK * 2 + 1
        a = np.full((1, inner), float(largest_reduced(p)))
        expected = np.array([[inner * largest_reduced(p) ** 2]], dtype=object)
        assert_reduced(matmul(a, a.T, p), expected, p)

    @pytest.mark.parametrize(("rows", "inner", "columns"), [(0, 3, 2), (3, 0, 2), (3, 2, 0), (0, 200, 0)])
    def test_empty_products_have_the_right_shape(self, rows: int, inner: int, columns: int) -> None:
        result = matmul(np.zeros((rows, inner)), np.zeros((inner, columns)), MODULI[0])
        assert np.array_equal(result, np.zeros((rows, columns)))


class TestSquaredNorms:
    @each_modulus
    @every("columns", INNER)
    def test_odd_squares_at_the_largest_magnitudes_are_exact(self, p: int, columns: int) -> None:
        odd = largest_reduced(p) - 1 | 1
        x = np.full((columns, 2), float(odd))
        x[0, 0] = odd - 1
        expected = (exact(x) ** 2).sum(axis=0)
        assert_reduced(squared_norms(x, p), expected, p)

    @laws
    @given(data=st.data(), p=moduli, columns=st.sampled_from([*INNER, 2, 5]))
    def test_equals_the_integer_sum_of_squares(self, data: st.DataObject, p: int, columns: int) -> None:
        x = data.draw(st.lists(st.lists(reduced(p), min_size=columns, max_size=columns), max_size=2))
        vectors = np.array(x, dtype=np.float64).reshape(len(x), columns).T
        expected = np.array([sum(v * v for v in row) for row in x], dtype=object)
        assert_reduced(squared_norms(vectors, p), expected, p)

    @pytest.mark.parametrize("shape", [(0, 4), (4, 0)])
    def test_nothing_adds_up_to_zero(self, shape: tuple[int, int]) -> None:
        assert np.array_equal(squared_norms(np.zeros(shape), MODULI[0]), np.zeros(shape[1]))


class TestCentre:
    @each_modulus
    def test_canonical_residues_become_centred_ones(self, p: int) -> None:
        half = (p - 1) // 2
        x = np.array([0, 1, half - 1, half, half + 1, half + 2, p - 2, p - 1], dtype=np.float64)
        expected = [0, 1, half - 1, half, -half, -half + 1, -2, -1]
        assert centre(x, p).tolist() == expected

    @laws
    @given(data=st.data(), p=moduli)
    def test_equals_the_centred_residue_of_the_integer(self, data: st.DataObject, p: int) -> None:
        x = data.draw(st.lists(st.integers(0, p - 1), max_size=20))
        assert centre(np.array(x, dtype=np.float64), p).tolist() == [centred(v, p) for v in x]


class TestScalars:
    @laws
    @given(p=moduli, x=st.integers(-(2**200), 2**200))
    def test_centred_is_congruent_and_at_most_half(self, p: int, x: int) -> None:
        r = centred(x, p)
        assert (r - x) % p == 0
        assert abs(r) <= (p - 1) // 2

    @laws
    @given(data=st.data(), p=moduli)
    def test_inverse_times_its_argument_is_one(self, data: st.DataObject, p: int) -> None:
        x = data.draw(st.integers(1, p - 1))
        assert inverse(x, p) * x % p == 1
        assert abs(inverse(x, p)) <= (p - 1) // 2

    def test_zero_has_no_inverse(self) -> None:
        with pytest.raises(ValueError, match="not invertible"):
            inverse(MODULI[0], MODULI[0])
