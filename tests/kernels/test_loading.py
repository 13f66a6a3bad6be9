"""Compiled loops: where their machine code is kept, and what they accept."""

import sys

import numpy as np
import pytest

from secfc.field.mixed_radix import MixedRadix
from secfc.field.primes import PRIMES
from secfc.kernels import compiled, loading
from secfc.psu import roles as union_kernels


class TestArrays:
    weights = np.ones((2, 5))

    def test_arrays_of_another_type_or_order_are_refused(self):
        kernels, right = compiled.CompiledKernels(), np.zeros((3, 5), dtype=np.float32)
        kernels.weighted_sums(right, self.weights, 7)
        odd = np.zeros(61, dtype=np.uint8)[1:].view(np.float32).reshape(3, 5)
        for wrong in (right.astype(np.float64), right.astype(">f4"), np.zeros((5, 3), "f4").T, odd):
            with pytest.raises(TypeError, match="No matching definition"):
                kernels.weighted_sums(wrong, self.weights, 7)

    def test_an_array_that_cannot_be_written_is_only_read(self):
        kernels, fixed = compiled.CompiledKernels(), np.zeros(30, dtype=np.uint8)
        fixed.flags.writeable = False
        kernels.add_masks(np.zeros(30, dtype=np.uint8), fixed, 7)
        with pytest.raises(TypeError, match="No matching definition"):
            kernels.add_masks(fixed, np.zeros(30, dtype=np.uint8), 7)


def test_a_union_uses_numpy_where_only_the_other_loops_can_be_loaded(monkeypatch, caplog):
    def broken(*_: str) -> None:
        raise loading.NoLoopsError("Numba is broken")

    monkeypatch.setattr(loading, "loops", broken)
    monkeypatch.delitem(sys.modules, "secfc.psu.compiled", raising=False)
    union_kernels._compiled.cache_clear()
    try:
        assert union_kernels.choose(1 << 40).name == "numpy"
    finally:
        union_kernels._compiled.cache_clear()
    assert caplog.messages == ["unions use NumPy, because compiled code cannot be made: Numba is broken"]


class TestChecksOfShapes:
    """What a loop would read or write beyond the end of an array, or end the process for."""

    kernels = compiled.CompiledKernels()
    primes = (PRIMES[0].p, PRIMES[1].p)

    @staticmethod
    def words(*shape: int) -> np.ndarray:
        return np.zeros(shape, dtype=np.uint64)

    def test_weights_of_sums(self):
        with pytest.raises(ValueError, match="do not fit the shares"):
            self.kernels.weighted_sums(np.zeros((2, 3), np.float32), np.zeros((2, 4)), 7)

    def test_residues_that_are_no_words(self):
        planes = np.zeros((2, 1, 4), dtype=np.uint8)
        with pytest.raises(ValueError, match="do not fit the memory"):
            self.kernels.store(planes, self.primes, np.zeros((2, 2, 9), dtype=np.float32), 0)
        with pytest.raises(ValueError, match="words"):
            self.kernels.weigh([planes], np.ones((2, 1)), self.primes, planes.copy())

    def test_answers_of_another_type(self):
        with pytest.raises(TypeError, match="No matching definition"):
            self.kernels.weigh(
                [np.zeros((2, 1, 48), dtype=np.int8)],
                np.ones((2, 1)),
                self.primes,
                np.zeros((2, 1, 48), dtype=np.uint8),
            )

    def test_the_nearest_of_no_sets(self):
        with pytest.raises(ValueError, match="do not fit"):
            self.kernels.nearest(
                np.zeros((2, 0, 3), dtype=np.float32),
                MixedRadix(self.primes),
                np.zeros(0, dtype=np.int64),
                0.0,
            )

    def test_leaves_of_more_axes(self):
        with pytest.raises(TypeError, match="No matching definition"):
            self.kernels.leaves(
                self.words(2, 64), 0, self.words(3, 4, 64), True, self.words(4, 64), self.words(4, 64)
            )

    @pytest.mark.parametrize(
        ("less", "equal", "out"),
        [
            ((0, 1), (2, 1), ((1, 1), (1, 1))),
            ((2, 1), (2, 1), ((0, 1), (1, 1))),
            ((2, 1), (2, 1), ((1, 1), (2, 1))),
        ],
    )
    def test_outputs_of_gates(self, less, equal, out):
        entries = 1 + (1 if less[0] else 0)
        deltas, halves = ((self.words(*less), self.words(*equal)) for _ in range(2))
        with pytest.raises(ValueError, match="do not fit the wires"):
            self.kernels.gates(
                deltas, halves, 2, self.words(entries, 1, 1), True, tuple(self.words(*one) for one in out)
            )

    def test_gates_that_lack_two_wires(self):
        with pytest.raises(ValueError, match="products do not fit"):
            self.kernels.gate_products(self.words(0, 1), self.words(2, 1), 4, self.words(1, 1, 1))
