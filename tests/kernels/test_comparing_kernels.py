"""Bits of weighted differences, in both kernels, beside Python's integers."""

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kernel_samples import BOTH, canonicals, each_kernels, fills, laws

from secfc.field.mixed_radix import MixedRadix
from secfc.field.packing import pack
from secfc.field.primes import primes_of
from secfc.field.residues import centred
from secfc.kernels.interface import Differences

SIZES = np.array([1, 3, 1000, 9_999_999, 2**31 - 1])


def differences(primes, columns, pairs) -> Differences:
    weights = [[float(centred(2 * int(SIZES[h % 5]) ** 2, p)) for h in columns] for p in primes]
    first, second = np.array(pairs, dtype=np.int64).T.copy()
    return Differences(
        columns=np.array(columns),
        weights=np.array(weights),
        first=first,
        second=second,
        radix=MixedRadix(primes),
    )


def samples(fill, primes, columns, rows, seed=0):
    residues = np.array([canonicals(fill, (columns, rows), p, seed + p) for p in primes])
    return residues, np.array([pack(plane, p) for plane, p in zip(residues, primes, strict=True)])


def words(primes, chunk, pairs, rows):
    per_digit = -(-max(primes).bit_length() // chunk)
    return np.empty((chunk, per_digit * len(primes), pairs, -(-rows // 64)), dtype=np.uint64)


def from_integers(residues, start, rows, question: Differences, out):
    """The same bits, one row at a time."""
    primes = question.radix.primes
    chunk, chunks, _, width = out.shape
    places = chunk * chunks // len(primes)
    expected = np.zeros_like(out)
    for row in range(rows):
        for pair, (a, b) in enumerate(zip(question.first, question.second, strict=True)):
            x = []
            for q, p in enumerate(primes):
                x_a, x_b = (int(residues[q, question.columns[h], start + row]) for h in (a, b))
                x.append((int(question.weights[q, a]) * x_b - int(question.weights[q, b]) * x_a) % p)
            value = crt(x, primes)
            for q, p in enumerate(primes):
                digit = value // prod(primes[:q]) % p
                for place in range(places):
                    bit = digit >> (places - 1 - place) & 1
                    group = (len(primes) - 1 - q) * (places // chunk) + place // chunk
                    expected[place % chunk, group, pair, row % width] |= np.uint64(bit << row // width)
    return expected


def crt(residues, primes):
    modulus = prod(primes)
    return (
        sum(x * (modulus // p) * pow(modulus // p, -1, p) for x, p in zip(residues, primes, strict=True))
        % modulus
    )


PAIRS = [(a, b) for a in range(3) for b in range(a + 1, 3)]


@pytest.mark.some(5)
@each_kernels
@fills
@pytest.mark.parametrize("rows", [1, 63, 64, 65, 300])
def test_bits_are_those_of_integers(kernels, fill, rows):
    primes = primes_of(4)
    residues, packed = samples(fill, primes, 5, rows + 7)
    question, out = differences(primes, [0, 1, 3, 4], PAIRS), words(primes, 3, 3, rows)
    kernels.difference_bits(packed, 5, rows, question, out)
    assert np.array_equal(out, from_integers(residues, 5, rows, question, out))


@laws
@given(
    rows=st.integers(1, 700),
    count=st.integers(1, 8),
    chunk=st.sampled_from([1, 2, 3, 4, 5, 6]),
    seed=st.integers(0, 2**32 - 1),
)
def test_both_forms_are_equal(rows, count, chunk, seed):
    primes = primes_of(count)
    _, packed = samples("anything", primes, 4, rows, seed)
    found = []
    for kernels in BOTH:
        out = words(primes, chunk, 3, rows)
        kernels.difference_bits(packed, 0, rows, differences(primes, range(4), PAIRS), out)
        found.append(out)
    assert np.array_equal(*found)


@each_kernels
def test_what_does_not_fit_is_refused(kernels):
    primes = primes_of(4)
    _, packed = samples("anything", primes, 4, 100)
    some, out = differences(primes, range(4), PAIRS), words(primes, 3, 3, 64)
    refused = [
        (packed[:3], 0, 64, some, out),
        (packed, 37, 64, some, out),
        (packed, -1, 64, some, out),
        (packed, 0, 65, some, out),
        (packed, 0, 64, some, out[:, :, :2]),
        (packed, 0, 64, some, out[:, :31]),
        (packed, 0, 64, some, out[:2, :32]),
        (packed, 0, 64, differences(primes, [0, 1, 2, 4], PAIRS), out),
        (packed, 0, 64, differences(primes, range(4), [(0, 1), (0, 2), (1, 4)]), out),
        (packed, 0, 64, differences(primes, range(4), [(-1, 1), (0, 2), (1, 2)]), out),
    ]
    for arguments in refused:
        with pytest.raises(ValueError, match=r"fit|longer"):
            kernels.difference_bits(*arguments)
