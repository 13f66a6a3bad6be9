"""What the server computes from answers, in both kernels: equal to each other and to integers."""

import numpy as np
import pytest
from support.kernel_samples import (
    BOTH,
    COMPILED,
    LONG_ROWS,
    MODULI,
    Guarded,
    P,
    canonicals,
    each_kernels,
    fills,
    reduced,
)

from secfc.field.mixed_radix import MixedRadix
from secfc.field.packing import pack
from secfc.kernels import Kernels, loops


class TestDigits:
    @fills
    @pytest.mark.parametrize("rows", LONG_ROWS)
    def test_rows_at_the_edges_of_blocks(self, rows: int, fill: str) -> None:
        primes = tuple(MODULI[:3])
        radix, residues = MixedRadix(primes), np.array([canonicals(fill, (2, rows), p, p) for p in primes])
        packed = np.array([pack(one, p) for one, p in zip(residues, primes, strict=True)])
        one, other = (kernels.digits(packed, radix) for kernels in BOTH)
        assert one.dtype == other.dtype == np.float32
        assert np.array_equal(one, other)
        assert all(
            (radix.integers(one) % p == plane).all() for plane, p in zip(residues, primes, strict=True)
        )

    @each_kernels
    def test_some_rows_of_an_answer(self, kernels: Kernels) -> None:
        radix, packed = MixedRadix((P,)), pack(canonicals("anything", (1, 3, 600), P), P)
        whole = kernels.digits(packed, radix)
        assert np.array_equal(kernels.digits(packed[:, :, 3 * 7 : 3 * 301], radix), whole[:, :, 7:301])

    def test_what_does_not_fit_is_refused(self) -> None:
        for shape in ((2, 1, 6), (1, 1, 5)):
            with pytest.raises(ValueError, match="do not fit"):
                COMPILED.digits(np.zeros(shape, dtype=np.uint8), MixedRadix((P,)))


class TestWeigh:
    @pytest.mark.parametrize("rows", [1, 15, 16, 17, 600, loops.LONG - 1, loops.LONG, 2 * loops.LONG + 17])
    @pytest.mark.parametrize("count", [1, 3, 62, 63, 64, 130])
    @each_kernels
    def test_it_packs_the_weighted_sums(self, kernels: Kernels, count: int, rows: int) -> None:
        primes, k = tuple(MODULI[:3]), 2
        answers = np.array([canonicals("plus", (count, k, rows), p) for p in primes])
        packed = [pack(answers[:, j], primes[0]) for j in range(count)]  # canonical already
        weights = np.array([reduced("either", (count,), p) for p in primes])
        out = Guarded((3, k, 3 * rows), np.uint8)
        assert kernels.weigh(packed, weights, primes, out.array) == -1
        for plane, some, factors, p in zip(out.check(), answers, weights, primes, strict=True):
            sums = np.tensordot(factors.astype(np.int64).astype(object), some.astype(np.int64), axes=1) % p
            assert np.array_equal(plane, pack(sums.astype(np.float64), p))

    @pytest.mark.parametrize("row", [0, 16, 599, 600, 604])
    @each_kernels
    def test_the_answer_with_an_integer_that_is_no_residue_is_found(self, kernels: Kernels, row: int) -> None:
        answers = [np.zeros((1, 2, 3 * 605), dtype=np.uint8) for _ in range(3)]
        answers[2][0, 1, 3 * row : 3 * row + 3] = 255
        assert kernels.weigh(answers, np.ones((1, 3)), (P,), np.empty_like(answers[0])) == 2

    def test_what_does_not_fit_is_refused(self) -> None:
        answers = [np.zeros((1, 2, 60), dtype=np.uint8)] * 2
        for weights, primes, shape in (
            (np.ones((1, 3)), (P,), (1, 2, 60)),
            (np.ones((1, 2)), (P,), (1, 2, 57)),
            (np.ones((2, 2)), (P, P), (1, 2, 60)),
        ):
            with pytest.raises(ValueError, match="do not fit"):
                COMPILED.weigh(answers, weights, primes, np.empty(shape, dtype=np.uint8))
