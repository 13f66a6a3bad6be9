"""The sums by which dealt shares are checked."""

import numpy as np
import pytest

from secfc.field.residues import canonical
from secfc.sharing import proof
from secfc.sharing.codewords import Codewords

PRIMES = 16760833, 16588801


def factors_of(size):
    """Coefficients for so many numbers."""
    moduli = Codewords(n=3, t=1, ell=1, primes=PRIMES).moduli
    return proof.coefficients(b"a" * 32, size, moduli), moduli


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 639, 640, 4097])
def test_every_number_counts_in_every_sum_and_large_ones_are_exact(size):
    factors, moduli = factors_of(size)
    covers = np.arange(float(proof.COVERS))
    units = np.eye(size + 1, size + proof.COVERS)
    units[size] = 0  # without a number
    of_units = canonical(proof.sums(np.stack([units] * 2), factors, moduli), moduli)
    assert of_units[:, :size].all()
    assert not of_units[:, size].any()
    assert len(np.unique(of_units[0], axis=0)) == size + 1
    for largest in (lambda p: p - 1, lambda p: p // 2 + 4, lambda p: -(p // 2 + 4)):
        values = np.stack([[[*[float(largest(p))] * size, *covers]] for p in PRIMES])
        found = canonical(proof.sums(values, factors, moduli), moduli)
        for p, sums, each in zip(PRIMES, found, of_units, strict=True):
            expected = [(largest(p) * int(of_cover.sum()) + at) % p for at, of_cover in enumerate(each.T)]
            assert sums[0].tolist() == expected
