"""Sums of many clients' shares."""

import numpy as np
import pytest

from secfc.field.packing import PackedResidues, pack, unpack
from secfc.field.primes import PRIMES
from secfc.kernels.compiled import CompiledKernels
from secfc.kernels.vectorised import VectorisedKernels
from secfc.lagrange.summing import ShareSum

PRIMES_IN_USE = tuple(prime.p for prime in PRIMES[:3])
SHAPE = (3, 2, 300)


def shares(seed: int, fill: int | None = None) -> tuple[np.ndarray, PackedResidues]:
    rng = np.random.default_rng(seed)
    values = np.stack([rng.integers(0, p, SHAPE[1:]) for p in PRIMES_IN_USE])
    if fill is not None:
        values = np.stack([np.full(SHAPE[1:], p + fill) for p in PRIMES_IN_USE])
    packed = PackedResidues.empty(SHAPE)
    for plane, residues, p in zip(packed.planes(), values.astype(np.float64), PRIMES_IN_USE, strict=True):
        plane[...] = pack(residues, p)
    return values, packed


@pytest.mark.parametrize("kernels", [VectorisedKernels, CompiledKernels])
@pytest.mark.parametrize("clients", [1, 7, 8, 9, 30])
@pytest.mark.parametrize("fill", [None, -1], ids=["random", "largest"])
def test_a_sum_is_that_of_integers_modulo_each_prime(kernels, clients, fill) -> None:
    total, expected = ShareSum(primes=PRIMES_IN_USE, kernels=kernels()), np.zeros(SHAPE, dtype=np.int64)
    for client in range(clients):
        values, packed = shares(client, fill)
        total.add(packed)
        expected += values
    assert total.count == clients
    found = unpack(total.total().planes())
    np.testing.assert_array_equal(found, expected % np.array(PRIMES_IN_USE)[:, np.newaxis, np.newaxis])
