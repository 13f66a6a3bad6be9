"""Bits of digits of doubled integers, in both kernels, beside Python's integers."""

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kernel_samples import BOTH, canonicals, each_kernels, fills, laws

from secfc.field.mixed_radix import MixedRadix
from secfc.field.packing import pack
from secfc.field.primes import primes_of


def samples(fill, primes, columns, rows, seed=0):
    residues = np.array([canonicals(fill, (columns, rows), p, seed + p) for p in primes])
    return residues, np.array([pack(plane, p) for plane, p in zip(residues, primes, strict=True)])


def words(primes, chunk, columns, rows):
    per_digit = -(-max(primes).bit_length() // chunk)
    return np.empty((chunk, per_digit * len(primes), columns, -(-rows // 64)), dtype=np.uint64)


def from_integers(residues, primes, out):
    """The same bits, one row at a time."""
    chunk, chunks, _, width = out.shape
    places, modulus = chunk * chunks // len(primes), prod(primes)
    expected = np.zeros_like(out)
    for column, row in np.ndindex(residues.shape[1:]):
        x = [int(one) for one in residues[:, column, row]]
        units = [(modulus // p) * pow(modulus // p, -1, p) for p in primes]
        value = 2 * sum(one * unit for one, unit in zip(x, units, strict=True)) % modulus
        for q, p in enumerate(primes):
            digit = value // prod(primes[:q]) % p
            for place in range(places):
                bit = digit >> (places - 1 - place) & 1
                group = (len(primes) - 1 - q) * (places // chunk) + place // chunk
                expected[place % chunk, group, column, row % width] |= np.uint64(bit << row // width)
    return expected


@pytest.mark.some(5)
@each_kernels
@fills
@pytest.mark.parametrize("rows", [1, 63, 64, 65, 300])
def test_bits_are_those_of_integers(kernels, fill, rows):
    primes = primes_of(4)
    residues, packed = samples(fill, primes, 3, rows)
    out = words(primes, 3, 3, rows)
    kernels.doubled_bits(packed, MixedRadix(primes), out)
    assert np.array_equal(out, from_integers(residues, primes, out))


@laws
@given(
    rows=st.integers(1, 700),
    count=st.integers(1, 8),
    chunk=st.sampled_from([1, 2, 3, 4, 5, 6]),
    seed=st.integers(0, 2**32 - 1),
)
def test_both_forms_are_equal(rows, count, chunk, seed):
    primes = primes_of(count)
    _, packed = samples("anything", primes, 2, rows, seed)
    found = []
    for kernels in BOTH:
        out = words(primes, chunk, 2, rows)
        kernels.doubled_bits(packed, MixedRadix(primes), out)
        found.append(out)
    assert np.array_equal(*found)


@each_kernels
def test_what_does_not_fit_is_refused(kernels):
    primes = primes_of(4)
    _, packed = samples("anything", primes, 3, 64)
    out = words(primes, 3, 3, 64)
    refused = [
        (packed[:3], out),
        (packed[..., :-1], out),
        (packed[:, :2], out),
        (np.concatenate([packed, packed], axis=2), out),
        (packed, out[:, :31]),
        (packed, out[:2, :32]),
    ]
    for some, buffer in refused:
        with pytest.raises(ValueError, match=r"fit|longer"):
            kernels.doubled_bits(some, MixedRadix(primes), buffer)
