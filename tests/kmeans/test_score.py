"""The score that selects the best of several starts."""

from fractions import Fraction

import numpy as np
import pytest
from support.sweeps import every

from secfc.kmeans.score import (
    INERTIA,
    SCORE,
    first_bits,
    looked_up,
    most_score,
    reciprocal,
    score,
    score_bits,
)


def test_weights_by_hand():
    assert (score_bits(5), score_bits(5, INERTIA)) == (22, 30)
    assert [reciprocal(size, 5) for size in (1, 0, 3, 5)] == [2**22, 0, 466_033, 167_772]
    assert score([10, 0, 1, 2], np.array([1, 0, 3, 5]), 5) == 10 * 2**22 + 466_033 + 2 * 167_772


@every("m", [1, 2, 3, 127, 128, 2**14, 2**14 + 1, 2**20 - 1, 2**20, 2**29])
@every(("spare", "bits"), [(SCORE, 15), (INERTIA, 23)])
def test_weights_are_those_of_the_inertia_to_so_many_bits(m, spare, bits):
    rng = np.random.default_rng(m)
    sizes = np.array([1, m, *(rng.random(200) * m).astype(np.int64) + 1]).clip(max=m)
    for size in sizes.tolist():
        weight = reciprocal(size, m, spare)
        exact = Fraction(2 ** score_bits(m, spare), size**2)
        assert abs(weight - exact) < exact / 2**bits
        assert m * weight * size**2 <= most_score(m, 1, spare)


@pytest.mark.parametrize("m", [1, 5, 2**14, 2**14 + 3, 2**15 + 1, 2**16])
def test_sizes_that_are_looked_up_are_all_that_begin_another(m):
    begins = {
        size >> zeros << zeros for size in range(1, m + 1) for zeros in [max(0, size.bit_length() - 14)]
    }
    assert looked_up(m) == sorted(begins)


@pytest.mark.parametrize(
    ("value", "opened"),
    [(0, 0), (1, 1), (2**25 - 1, 2**25 - 1), (2**25 + 1, 2**25), (2**40 + 2**15 + 1, 2**40)],
)
def test_of_a_score_the_first_bits_are_opened(value, opened):
    assert first_bits(value) == opened
