"""What a client computes when it shares, in both kernels: equal to each other and to integers."""

import numpy as np
import pytest
from support.kernel_samples import (
    BOTH,
    CLUSTERS,
    COLUMNS,
    LONG_ROWS,
    ROWS,
    Guarded,
    P,
    canonicals,
    congruent,
    each_modulus,
    fills,
    integers,
    reduced,
    some_moduli,
)
from support.sweeps import every

from secfc.field.array_types import Floats
from secfc.field.packing import pack, unpack
from secfc.kernels import Kernels


class TestEncode:
    def encoded(self, kernels: Kernels, values: Floats, basis: Floats, p: int) -> np.ndarray:
        out = Guarded((basis.shape[0], values.shape[1], 3 * values.shape[2]))
        kernels.encode(values, basis, p, out.array)
        return out.check()

    def assert_exact(self, values: Floats, basis: Floats, p: int) -> None:
        flat = integers(values).reshape(values.shape[0], -1)
        expected = (integers(basis) @ flat % p).reshape(basis.shape[0], *values.shape[1:])
        found = [self.encoded(kernels, values, basis, p) for kernels in BOTH]
        assert np.array_equal(found[0], found[1])
        assert np.array_equal(integers(unpack(found[0])), expected)

    @fills
    @every("rows", ROWS)
    def test_rows_at_the_edges_of_blocks(self, rows: int, fill: str) -> None:
        self.assert_exact(reduced(fill, (3, 2, rows), P), reduced(fill, (5, 3), P, 1), P)

    @fills
    @some_moduli
    @every("coded", COLUMNS)
    def test_coded_values_at_the_edges_of_exact_sums(self, coded: int, p: int, fill: str) -> None:
        self.assert_exact(reduced(fill, (coded, 1, 9), p), reduced(fill, (3, coded), p, 1), p)

    @each_modulus
    @every("n", CLUSTERS)
    def test_any_number_of_clients(self, n: int, p: int) -> None:
        self.assert_exact(reduced("either", (3, 3, 10), p), reduced("either", (n, 3), p, 1), p)

    @pytest.mark.parametrize("shape", [(1, 1, 1), (3, 1, 0), (2, 5, 0), (4, 4, 4)])
    def test_small_and_empty_shapes(self, shape: tuple[int, int, int]) -> None:
        self.assert_exact(reduced("anything", shape, P), reduced("anything", (3, shape[0]), P, 1), P)


class TestStore:
    def stored(self, kernels: Kernels, packed: np.ndarray, p: int, start: int, m: int) -> np.ndarray:
        shares = Guarded((packed.shape[0] + 1, m), np.float32)
        shares.array[...] = np.nan
        kernels.store(packed[np.newaxis], (p,), shares.array[np.newaxis], start)
        stop = start + packed.shape[1] // 3
        found = shares.check()
        assert np.isnan(found[:, :start]).all()
        assert np.isnan(found[:, stop:]).all()
        return found[:, start:stop]

    def assert_exact(self, residues: Floats, p: int, start: int = 0, after: int = 0) -> None:
        packed, m = pack(residues, p), start + residues.shape[1] + after
        found = [self.stored(kernels, packed, p, start, m).astype(np.float64) for kernels in BOTH]
        expected = integers(residues)
        expected = np.where(expected > p // 2, expected - p, expected)
        norms = (expected**2).sum(axis=0)
        for shares in found:
            assert np.array_equal(shares[:-1], expected)
            assert congruent(shares[-1], norms, p)

    @fills
    @every("rows", LONG_ROWS)
    def test_rows_at_the_edges_of_blocks(self, rows: int, fill: str) -> None:
        self.assert_exact(canonicals(fill, (3, rows), P), P)

    @fills
    @some_moduli
    @every("columns", [*COLUMNS, 254, 255, 256, 383, 384, 511, 784])
    def test_columns_at_the_edges_of_exact_sums(self, columns: int, p: int, fill: str) -> None:
        self.assert_exact(canonicals(fill, (columns, 9), p), p)

    @each_modulus
    @fills
    def test_every_prime(self, p: int, fill: str) -> None:
        self.assert_exact(canonicals(fill, (5, 20), p), p)

    @every(("start", "after"), [(0, 1), (1, 0), (7, 3), (255, 1), (256, 256), (3, 500)])
    @every("rows", [0, 1, 8, 257])
    def test_only_the_rows_from_start_are_written(self, rows: int, start: int, after: int) -> None:
        self.assert_exact(canonicals("either", (4, rows), P), P, start, after)
