"""Exact samples of the discrete Gaussian, by integers alone.

Clément Canonne, Gautam Kamath, Thomas Steinke, *The Discrete Gaussian for Differential Privacy*, 2020
(arXiv:2004.00010), algorithms 1 to 3. Noise from floats is not exact, and its low bits can show the number
that it hides (Mironov, *On significance of the least significant bits for differential privacy*, 2012).
"""

from collections.abc import Callable
from math import isqrt

Octets = Callable[[int], bytes]
"""So many independent, uniform bytes: `secfc.crypto.randomness.MaskSource.octets`."""


def discrete_gaussian(variance: int, octets: Octets) -> int:
    """An integer x with probability proportional to exp(-x**2 / (2 variance)), variance >= 1.

    How long it takes depends on the sample. E exp(s x) <= exp(s**2 variance / 2) for every s, as of a
    Gaussian (also shown there).
    """
    scale = isqrt(variance) + 1
    while True:
        sample = _discrete_laplace(scale, octets)
        # exp(-(|x| - variance / scale)**2 / (2 variance)), as one fraction.
        if _bernoulli_exp((abs(sample) * scale - variance) ** 2, 2 * variance * scale**2, octets):
            return sample


def _discrete_laplace(scale: int, octets: Octets) -> int:
    """An integer x with probability proportional to exp(-|x| / scale)."""
    while True:
        low = _below(scale, octets)
        if not _bernoulli_exp(low, scale, octets):
            continue
        high = 0
        while _bernoulli_exp(1, 1, octets):
            high += 1
        size, negative = low + scale * high, _below(2, octets)
        if size or not negative:  # or 0 would be twice as likely
            return -size if negative else size


def _bernoulli_exp(numerator: int, denominator: int, octets: Octets) -> bool:
    """True with probability exp(-numerator / denominator)."""
    whole, rest = divmod(numerator, denominator)
    return all(_bernoulli_exp_below_1(1, 1, octets) for _ in range(whole)) and _bernoulli_exp_below_1(
        rest, denominator, octets
    )


def _bernoulli_exp_below_1(numerator: int, denominator: int, octets: Octets) -> bool:
    """The same for a fraction of 0 to 1."""
    count = 1
    while _below(denominator * count, octets) < numerator:
        count += 1
    return count % 2 == 1


def _below(limit: int, octets: Octets) -> int:
    """A uniform integer from 0 to limit - 1."""
    bits = (limit - 1).bit_length()
    size = -(-bits // 8)
    while True:
        drawn = int.from_bytes(octets(size), "little") & ((1 << bits) - 1)
        if drawn < limit:
            return drawn
