"""Order of near-ties: rational numbers where floats cannot decide."""

import numpy as np

from secfc.kmeans.compare import rationals


def test_quotients_that_differ_beyond_float64_are_in_order():
    values = np.array([9 * 2**100 + 1, 4 * 2**100, 25 * 2**100 - 1], dtype=object)
    sizes = np.array([3, 2, 5])
    assert len({int(value) / int(size) ** 2 for value, size in zip(values, sizes, strict=True)}) == 1
    assert np.argsort(rationals(values, sizes), kind="stable").tolist() == [2, 1, 0]


def test_equal_quotients_of_different_sizes_are_equal():
    values = np.array([9 * 2**100, 4 * 2**100, 2**100], dtype=object)
    assert len(set(rationals(values, np.array([3, 2, 1])))) == 1


def test_sizes_up_to_the_most_rows_do_not_overflow():
    assert rationals(np.array([1], dtype=object), np.array([2**29]))[0].denominator == 2**58
