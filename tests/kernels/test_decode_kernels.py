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
    around,
    canonicals,
    each_kernels,
    each_modulus,
    fills,
    reduced,
)

from secfc.field.array_types import Floats
from secfc.field.mixed_radix import MixedRadix
from secfc.field.packing import pack
from secfc.kernels import Kernels, blocks


class TestDecode:
    def decoded(
        self, kernels: Kernels, packed: list[np.ndarray], weights: Floats, cut: slice, p: int
    ) -> np.ndarray:
        """One prime; `test_all_primes_at_once` takes several."""
        out, radix = Guarded((1, packed[0].shape[0], cut.stop - cut.start), np.float32), MixedRadix((p,))
        out.array[...] = np.nan  # the old content does not matter
        planes = [plane[np.newaxis] for plane in packed]
        assert kernels.decode(planes, weights[np.newaxis], radix, cut.start, cut.stop, out.array) == -1
        decoded: np.ndarray = out.check()[0]
        return decoded

    def assert_exact(self, answers: Floats, weights: Floats, cut: slice, p: int) -> None:
        """Answers of shape (R, k, rows), canonical."""
        packed = [pack(answer, p) for answer in answers]
        found = [self.decoded(kernels, packed, weights, cut, p) for kernels in BOTH]
        some = answers[:, :, cut].astype(np.int64).astype(object)
        expected = (weights.astype(np.int64).astype(object)[:, None, None] * some).sum(axis=0) % p
        for decoded in found:
            assert decoded.shape == (answers.shape[1], cut.stop - cut.start)
            assert np.array_equal(decoded, expected.astype(np.float32))  # one digit: the canonical residue

    @fills
    @pytest.mark.parametrize("count", [1, 2, 3, 11, *around(31, 62, 63, 93, 126), 130])
    def test_many_answers_of_the_largest_residues(self, count: int, fill: str) -> None:
        self.assert_exact(canonicals("plus", (count, 3, 5), P), reduced(fill, (count,), P), slice(0, 5), P)

    @each_modulus
    @fills
    def test_every_prime(self, p: int, fill: str) -> None:
        answers = canonicals(fill, (63, 2, 9), p)
        self.assert_exact(answers, reduced("either", (63,), p), slice(0, 9), p)

    @pytest.mark.parametrize("rows", LONG_ROWS)
    def test_rows_at_the_edges_of_blocks(self, rows: int) -> None:
        answers = canonicals("anything", (3, 2, rows), P)
        self.assert_exact(answers, reduced("either", (3,), P), slice(0, rows), P)

    @pytest.mark.parametrize("cut", [(0, 0), (0, 1), (3, 3), (599, 600), (1, 258), (256, 512), (7, 600)])
    @pytest.mark.parametrize("k", [1, 4, 17])
    def test_any_rows_of_an_answer(self, cut: tuple[int, int], k: int) -> None:
        answers = canonicals("anything", (5, k, 600), P)
        self.assert_exact(answers, reduced("anything", (5,), P), slice(*cut), P)

    @each_modulus
    def test_sums_next_to_half_the_prime_are_reduced(self, p: int) -> None:
        # The quotient of such a sum by p is within 2**-24 of a half, so implementations may round either way.
        w = p // 2
        for multiple in (459_627_892, 297_255_978, 434_387_021, 2**28 + 1):
            for offset in (-2, -1, 0, 1, 2):
                total = multiple * p + p // 2 + offset
                most, rest = divmod(total, w)
                values = [min(p - 1, max(0, most - i * (p - 1))) for i in range(61)]
                assert sum(values) == most
                answers = np.array([*values, rest], dtype=np.float64).reshape(62, 1, 1)
                weights = np.array([float(w)] * 61 + [1.0])
                for sign in (1, -1):
                    self.assert_exact(answers, sign * weights, slice(0, 1), p)

    @each_kernels
    @pytest.mark.parametrize("value", [P, P + 1, 2**24 - 1])
    @pytest.mark.parametrize("count", [1, 2, 63, 64, 65])
    def test_the_answer_with_an_integer_that_is_no_residue_is_found(
        self, count: int, value: int, kernels: Kernels
    ) -> None:
        k, rows, rng = 3, blocks.LONG + 9, np.random.default_rng(count)
        honest = pack(canonicals("plus", (k, rows), P), P)
        for _ in range(12):
            at, h = int(rng.integers(count)), int(rng.integers(k))
            row = int(rng.choice([0, 1, 7, rows - 1, blocks.LONG - 1, blocks.LONG, int(rng.integers(rows))]))
            bad = honest.copy()
            bad[h, 3 * row : 3 * row + 3] = list(value.to_bytes(3, "little"))
            answers = [bad[np.newaxis] if j == at else honest[np.newaxis] for j in range(count)]
            weights = reduced("either", (1, count), P)
            out, radix = Guarded((1, k, rows), np.float32), MixedRadix((P,))
            assert kernels.decode(answers, weights, radix, 0, rows, out.array) == at
            out.check()
            # Rows that are not decoded are not read.
            for start, stop in ((0, row), (row + 1, rows)):
                out = Guarded((1, k, stop - start), np.float32)
                assert kernels.decode(answers, weights, radix, start, stop, out.array) == -1
                out.check()

    @pytest.mark.parametrize("rows", [1, 15, 16, 17, 40, 600])
    @pytest.mark.parametrize("count", [3, 64])
    def test_all_primes_at_once(self, count: int, rows: int) -> None:
        primes, k = MODULI[:3], 5
        answers = np.array([canonicals("anything", (count, k, rows), p) for p in primes])
        packed = [pack(answers[:, j], primes[0]) for j in range(count)]  # canonical already
        weights = np.array([reduced("either", (count,), p) for p in primes])
        radix = MixedRadix(tuple(primes))
        for cut in (slice(0, rows), slice(rows // 3, rows), slice(0, rows - rows // 3)):
            found = []
            for kernels in BOTH:
                out = Guarded((len(primes), k, cut.stop - cut.start), np.float32)
                out.array[...] = np.nan
                assert kernels.decode(packed, weights, radix, cut.start, cut.stop, out.array) == -1
                sums = radix.integers(out.check())
                for index, p in enumerate(primes):
                    alone = self.decoded(kernels, [plane[index] for plane in packed], weights[index], cut, p)
                    assert np.array_equal((sums % p).astype(np.float32), alone)
                found.append(out.check())
            assert np.array_equal(*found)

    @each_kernels
    def test_an_integer_is_compared_with_its_own_prime(self, kernels: Kernels) -> None:
        small, large = sorted(MODULI[:2])
        for primes, refused in (((large, small), True), ((small, large), False)):
            answer = np.zeros((2, 1, 3 * 40), dtype=np.uint8)
            for row in (0, 17, 39):
                bad = answer.copy()
                bad[1, 0, 3 * row : 3 * row + 3] = list(small.to_bytes(3, "little"))
                out = np.empty((2, 1, 40), dtype=np.float32)
                found = kernels.decode([bad], np.ones((2, 1)), MixedRadix(primes), 0, 40, out)
                assert found == (0 if refused else -1)


class TestWeigh:
    @pytest.mark.parametrize("rows", [1, 15, 16, 17, 600, blocks.LONG - 1, blocks.LONG, 2 * blocks.LONG + 17])
    @pytest.mark.parametrize("count", [1, 3, 64])
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
