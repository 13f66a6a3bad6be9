"""Arrays of limbs against Python's integers."""

from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secfc.field.limbs import Cumulated, limbs_of_digits, minimum, total
from secfc.field.mixed_radix import MixedRadix
from secfc.field.primes import primes_of

COUNTS = st.integers(1, 8)


@st.composite
def whole_numbers(draw, rows=COUNTS):
    """Integers below the product of some primes, and their limbs."""
    radix = MixedRadix(primes_of(draw(COUNTS)))
    m, top = draw(rows), radix.radices[-1] * radix.primes[-1]
    near = st.sampled_from([0, 1, 2**32 - 1, 2**32, 2**64, top - 1]).map(lambda value: min(value, top - 1))
    values = draw(st.lists(st.integers(0, top - 1) | near, min_size=m, max_size=m))
    return values, limbs_of(values, radix)


def limbs_of(values, radix):
    digits = []
    rest = list(values)
    for p in radix.primes:
        digits.append([value % p for value in rest])
        rest = [value // p for value in rest]
    return limbs_of_digits(np.array(digits, dtype=float), radix)


def integers(limbs):
    return [sum(int(one) << (32 * at) for at, one in enumerate(column)) for column in limbs.T]


def test_limbs_of_a_number_worked_by_hand():
    radix = MixedRadix((5, 7))
    digits = np.array([[3.0, 4.0], [2.0, 6.0]])  # 3 + 2 * 5, 4 + 6 * 5
    assert limbs_of_digits(digits, radix).tolist() == [[13, 34]]


@settings(deadline=None)
@given(whole_numbers())
def test_limbs_are_the_integers(numbers):
    values, limbs = numbers
    assert limbs.dtype == np.uint32
    assert integers(limbs) == values


@settings(deadline=None)
@given(whole_numbers(st.just(6)))
def test_total_is_the_sum(numbers):
    values, limbs = numbers
    assert total(limbs) == sum(values)


@settings(deadline=None)
@given(whole_numbers(st.just(6)))
def test_minimum_is_elementwise(numbers):
    values, limbs = numbers
    other = limbs[:, ::-1]
    assert integers(minimum(limbs, other)) == [min(pair) for pair in zip(values, values[::-1], strict=True)]


@settings(deadline=None)
@given(whole_numbers(), st.data())
def test_first_above_is_the_first_running_sum_above(numbers, data):
    values, limbs = numbers
    sums = list(accumulate(values))
    found = Cumulated(limbs)
    assert found.total == sums[-1]
    if sums[-1]:
        edges = [bound for at in sums for bound in (at - 1, at) if 0 <= bound < sums[-1]]
        bound = data.draw(st.integers(0, sums[-1] - 1) | st.sampled_from([*edges, 0]))
        assert found.first_above(bound) == next(at for at, one in enumerate(sums) if one > bound)


@pytest.mark.parametrize("m", [1, 70_000])
def test_sums_carry_out_of_the_top_limb(m):
    radix = MixedRadix((16760833, 16736257))
    values = np.array([[16760832.0] * m, [16736256.0] * m])
    largest = 16760833 * 16736257 - 1
    found = Cumulated(limbs_of_digits(values, radix))
    assert found.total == m * largest
    assert found.first_above(found.total - 1) == m - 1
    assert found.first_above(0) == 0
