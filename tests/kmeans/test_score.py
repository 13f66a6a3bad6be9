"""The score that selects the best of several starts."""

from fractions import Fraction

import numpy as np
import pytest

from secfc.field.mixed_radix import MixedRadix
from secfc.field.primes import primes_of
from secfc.kernels.vectorised import VectorisedKernels
from secfc.kmeans.compare import SquaredDistances
from secfc.kmeans.in_range import RangeCheck
from secfc.kmeans.score import (
    INERTIA,
    SCORE,
    first_bits,
    looked_up,
    most_score,
    score,
    score_bits,
    score_weights,
)
from secfc.kmeans.search import Search
from secfc.protocol.job.row_layout import Layout


def test_weights_by_hand():
    assert (score_bits(5), score_bits(5, INERTIA)) == (22, 30)
    assert score_weights(np.array([1, 0, 3, 5]), 5) == [2**22, 0, 466_033, 167_772]
    assert score([10, 0, 1, 2], np.array([1, 0, 3, 5]), 5) == 10 * 2**22 + 466_033 + 2 * 167_772


@pytest.mark.parametrize("m", [1, 2, 3, 127, 128, 2**14, 2**14 + 1, 2**20 - 1, 2**20, 2**29])
@pytest.mark.parametrize(("spare", "bits"), [(SCORE, 15), (INERTIA, 23)])
def test_weights_are_those_of_the_inertia_to_so_many_bits(m, spare, bits):
    rng = np.random.default_rng(m)
    sizes = np.array([1, m, *(rng.random(200) * m).astype(np.int64) + 1]).clip(max=m)
    for size, weight in zip(sizes.tolist(), score_weights(sizes, m, spare), strict=True):
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


def search_of(order):
    """A search of 4 rows and 2 clusters whose two starts have sets of these sizes."""
    for seed in range(100):
        drawn = np.random.default_rng(seed)
        if [sorted(np.bincount(drawn.integers(2, size=4), minlength=2).tolist()) for _ in range(2)] == order:
            return Search(
                m=4,
                k=2,
                max_iter=5,
                n_init=2,
                init="random",
                rng=np.random.default_rng(seed),
                kernels=VectorisedKernels(),
                within=RangeCheck(radius=2**30, layout=Layout((2, 2)), max_liars=0),
            )
    raise AssertionError("no seed has these sizes")


@pytest.mark.parametrize("order", [[[1, 3], [2, 2]], [[2, 2], [1, 3]]])
def test_the_start_of_least_score_is_kept_and_not_that_of_least_inertia(order):
    search, radix = search_of(order), MixedRadix(primes_of(4))
    # Of one row of each set, by its size; the others are at their centres.
    own = {1: 0, 2: 2 * (10**7 - 1), 3: 9 * 10**7}
    results = []
    for _ in range(2):
        sizes = search.sizes()
        distances = np.full((2, 4), 10**12, dtype=object)
        distances[search.sets, range(4)] = 0
        for label, size in enumerate(sizes.tolist()):
            distances[label, np.flatnonzero(search.sets == label)[0]] = own[size]
        residues = np.array([(distances % p).astype(float) for p in radix.primes])
        search.add(slice(0, 4), SquaredDistances(digits=radix.digits(residues), radix=radix, sizes=sizes))
        results.append(search.current)
        more = search.end_round()
    assert not more
    one_and_three, two_and_two = sorted(results, key=lambda result: result.score)
    assert (one_and_three.inertia, two_and_two.inertia) == (10**7, 10**7 - 1)
    assert (one_and_three.score, two_and_two.score) == (466_033 * 9 * 10**7, 2**22 * (10**7 - 1))
    assert search.best is one_and_three
