"""The sampler of noise: its distribution, and that it uses integers alone."""

from collections import Counter
from math import exp, sqrt
from random import Random

import pytest
from scipy.stats import chisquare, kstest, norm

from secfc.crypto.discrete_gaussian import _below, discrete_gaussian

SAMPLES = 4000


def samples(variance, seed=1, count=SAMPLES):
    octets = Random(seed).randbytes
    return [discrete_gaussian(variance, octets) for _ in range(count)]


@pytest.mark.parametrize("variance", [1, 2, 16, 100])
def test_frequencies_are_those_of_the_formula(variance):
    reach = int(3 * sqrt(variance))
    weights = {x: exp(-(x**2) / (2 * variance)) for x in range(-40 * reach, 40 * reach + 1)}
    total, found = sum(weights.values()), Counter(samples(variance))
    inside = range(-reach, reach + 1)
    observed = [found[x] for x in inside]
    expected = [SAMPLES * weights[x] / total for x in inside]
    rest = SAMPLES - sum(observed), SAMPLES - sum(expected)
    assert chisquare([*observed, rest[0]], [*expected, rest[1]]).pvalue > 0.01


@pytest.mark.parametrize("bits", [10, 200])
def test_large_variances_are_those_of_a_gaussian(bits):
    scaled = [x / 2 ** (bits // 2) for x in samples(1 << bits)]
    assert kstest(scaled, norm.cdf).pvalue > 0.01


def test_the_low_bits_of_large_samples_are_uniform():
    found = Counter(x % 8 for x in samples(1 << 200))
    assert chisquare([found[low] for low in range(8)]).pvalue > 0.01


def test_the_same_bytes_give_the_same_samples():
    assert samples(1 << 70, seed=5, count=20) == samples(1 << 70, seed=5, count=20)
    assert samples(1 << 70, seed=5, count=20) != samples(1 << 70, seed=6, count=20)


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 200, 256])
def test_integers_below_a_limit_are_equally_likely(limit):
    def of(value):
        """What a first byte gives, None if another byte is drawn."""
        sizes = []
        found = _below(limit, lambda size: sizes.append(size) or bytes([value * (len(sizes) == 1)] * size))
        return found if len(sizes) == 1 else None

    found = Counter(of(value) for value in range(256))
    assert sorted(found.keys() - {None}) == list(range(limit))
    assert len({count for x, count in found.items() if x is not None}) == 1
