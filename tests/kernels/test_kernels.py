"""Every kernel in both implementations: equal to each other and to integers, at all edges."""

import threading
from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secfc._arrays import Floats
from secfc.field.mixed_radix import MixedRadix
from secfc.field.packing import pack, unpack
from secfc.field.primes import PRIMES, Prime
from secfc.field.residues import canonical, centred
from secfc.kernels import Kernels, loops
from secfc.kernels.compiled import CompiledKernels
from secfc.kernels.vectorised import VectorisedKernels
from secfc.kmeans.compare import relative_tolerance
from secfc.lagrange.basis import lagrange_basis
from secfc.lagrange.fast import encoding_transform
from secfc.lagrange.points import evaluation_points
from secfc.params import MAX_ROWS, primes_of

NUMPY, COMPILED = VectorisedKernels(), CompiledKernels()
BOTH = (NUMPY, COMPILED)
MODULI = [prime.p for prime in PRIMES]
P = MODULI[0]
laws = settings(deadline=None, max_examples=60)


def around(*blocks: int) -> list[int]:
    return [edge for block in blocks for edge in (block - 1, block, block + 1)]


ROWS = sorted({1, 7, 8, 9, 255, 256, 257, 511, 513, *around(loops._BLOCK, 2 * loops._BLOCK)})
LONG_ROWS = [*ROWS, *around(loops._LONG, 2 * loops._LONG)]
COLUMNS = [1, 2, 3, 4, 5, 126, 127, 128, 129, 130, 257]
CLUSTERS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 17]
FILLS = ["plus", "minus", "either", "anything"]

each_kernels = pytest.mark.parametrize("kernels", BOTH, ids=lambda kernels: kernels.name)
each_modulus = pytest.mark.parametrize("p", MODULI)
fills = pytest.mark.parametrize("fill", FILLS)
some_moduli = pytest.mark.parametrize("p", [MODULI[0], MODULI[-1]])


def reduced(fill: str, shape: tuple[int, ...], p: int, seed: int = 0) -> Floats:
    """Reduced residues: the largest, even and odd, all of one sign or of either; or any.

    Primes are 1 modulo 4096: sums of products of equal large residues would have zeros at their ends, and
    be exact far beyond 2**53.
    """
    top, rng = (p + 8) // 2, np.random.default_rng(seed)
    if fill == "anything":
        return rng.integers(-top, top + 1, shape).astype(np.float64)
    largest = rng.choice([top, top - 1], shape).astype(np.float64)
    return largest * {"plus": 1.0, "minus": -1.0, "either": rng.choice([-1.0, 1.0], shape)}[fill]


def canonicals(fill: str, shape: tuple[int, ...], p: int, seed: int = 0) -> Floats:
    """Canonical residues: the largest, zeros, those next to p/2, or any."""
    rng = np.random.default_rng(seed)
    if fill == "either":
        return rng.choice([0, 1, p // 2 - 1, p // 2, p // 2 + 1, p - 2, p - 1], shape).astype(np.float64)
    return {
        "plus": lambda: rng.choice([p - 1.0, p - 2.0], shape),
        "minus": lambda: rng.choice([p // 2, p // 2 + 1.0, p // 2 + 2.0], shape),
        "anything": lambda: rng.integers(0, p, shape).astype(np.float64),
    }[fill]()


def integers(x: Floats) -> np.ndarray:
    """As int64, where 257 products of residues (2**54) and 2**29 residues (2**53) still fit."""
    assert np.array_equal(x, np.rint(x))
    return x.astype(np.int64)


class Guarded:
    """Memory to be filled in the middle of bytes that must stay: compiled loops check no bounds."""

    def __init__(self, shape: tuple[int, ...], dtype: type = np.uint8) -> None:
        self._size = prod(shape) * np.dtype(dtype).itemsize
        self._memory = np.full(self._size + 512, 0xA5, dtype=np.uint8)
        self.array = self._memory[256 : 256 + self._size].view(dtype).reshape(shape)

    def check(self) -> np.ndarray:
        assert (self._memory[:256] == 0xA5).all()
        assert (self._memory[256 + self._size :] == 0xA5).all()
        return self.array


def congruent(x: Floats, expected: np.ndarray, p: int) -> bool:
    """Whether reduced residues are those of the expected integers."""
    assert np.abs(x).max(initial=0.0) <= p / 2 + 4
    return not ((integers(x) - expected) % p).any()


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
    @pytest.mark.parametrize("rows", ROWS)
    def test_rows_at_the_edges_of_blocks(self, rows: int, fill: str) -> None:
        self.assert_exact(reduced(fill, (3, 2, rows), P), reduced(fill, (5, 3), P, 1), P)

    @fills
    @some_moduli
    @pytest.mark.parametrize("coded", COLUMNS)
    def test_coded_values_at_the_edges_of_exact_sums(self, coded: int, p: int, fill: str) -> None:
        self.assert_exact(reduced(fill, (coded, 1, 9), p), reduced(fill, (3, coded), p, 1), p)

    @each_modulus
    @pytest.mark.parametrize("n", CLUSTERS)
    def test_any_number_of_clients(self, n: int, p: int) -> None:
        self.assert_exact(reduced("either", (3, 3, 10), p), reduced("either", (n, 3), p, 1), p)

    @pytest.mark.parametrize("shape", [(1, 1, 1), (3, 1, 0), (2, 5, 0), (4, 4, 4)])
    def test_small_and_empty_shapes(self, shape: tuple[int, int, int]) -> None:
        self.assert_exact(reduced("anything", shape, P), reduced("anything", (3, shape[0]), P, 1), P)

    @laws
    @given(data=st.data(), coded=st.integers(1, 6), width=st.integers(1, 4), rows=st.integers(0, 20))
    def test_any_values(self, data: st.DataObject, coded: int, width: int, rows: int) -> None:
        p, seed = data.draw(st.sampled_from(MODULI)), data.draw(st.integers(0, 2**32))
        n = data.draw(st.integers(1, 20))
        self.assert_exact(
            reduced("anything", (coded, width, rows), p, seed), reduced("either", (n, coded), p, seed), p
        )

    @each_kernels
    def test_arguments_are_left_alone(self, kernels: Kernels) -> None:
        values, basis = reduced("anything", (3, 2, 9), P), reduced("anything", (5, 3), P)
        before = values.copy(), basis.copy()
        self.encoded(kernels, values, basis, P)
        assert np.array_equal(values, before[0])
        assert np.array_equal(basis, before[1])


class TestEncodeByTransform:
    def assert_equals_encode(self, prime: Prime, n: int, values: Floats) -> None:
        coded, width, rows = values.shape
        points = evaluation_points(prime, n=n, coded=coded)
        expected = np.empty((n, width, 3 * rows), dtype=np.uint8)
        NUMPY.encode(values, lagrange_basis(points.beta, points.alpha, prime.p), prime.p, expected)
        transform = encoding_transform(prime, n=n, coded=coded)
        for kernels in BOTH:
            out = Guarded((n, width, 3 * rows))
            kernels.encode_by_transform(values, transform, prime.p, out.array)
            assert np.array_equal(out.check(), expected)

    @pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 9, 11, 16, 17, 64, 100])
    @pytest.mark.parametrize("coded", [1, 2, 3, 4, 6, 9, 16, 17])
    def test_any_number_of_clients_and_coded_values(self, n: int, coded: int) -> None:
        self.assert_equals_encode(PRIMES[n % 8], n, reduced("either", (coded, 2, 5), PRIMES[n % 8].p))

    @fills
    @pytest.mark.parametrize("rows", [0, 1, *around(8, 16, loops._NARROW, 2 * loops._NARROW), 256, 257])
    def test_rows_at_the_edges_of_blocks(self, rows: int, fill: str) -> None:
        self.assert_equals_encode(PRIMES[0], 11, reduced(fill, (6, 2, rows), P))

    @pytest.mark.parametrize("prime", PRIMES, ids=lambda prime: str(prime.p))
    @fills
    def test_the_largest_residues_of_every_prime(self, prime: Prime, fill: str) -> None:
        self.assert_equals_encode(prime, 40, reduced(fill, (20, 1, 9), prime.p))

    @pytest.mark.parametrize(("n", "coded"), [(255, 128), (256, 129), (257, 128), (1023, 512)])
    def test_many_clients(self, n: int, coded: int) -> None:
        self.assert_equals_encode(PRIMES[1], n, reduced("either", (coded, 1, 3), PRIMES[1].p))

    @each_kernels
    def test_arguments_are_left_alone(self, kernels: Kernels) -> None:
        values, transform = reduced("anything", (3, 2, 9), P), encoding_transform(PRIMES[0], n=5, coded=3)
        held = [values, *vars(transform).values()]
        before = [x.copy() for x in held]
        kernels.encode_by_transform(values, transform, P, np.empty((5, 2, 27), dtype=np.uint8))
        assert all(np.array_equal(a, b) for a, b in zip(before, held, strict=True))


class TestStore:
    def stored(self, kernels: Kernels, packed: np.ndarray, p: int, start: int, m: int) -> np.ndarray:
        shares = Guarded((packed.shape[0] + 1, m), np.float32)
        shares.array[...] = np.nan
        kernels.store(packed, p, shares.array, start)
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
    @pytest.mark.parametrize("rows", LONG_ROWS)
    def test_rows_at_the_edges_of_blocks(self, rows: int, fill: str) -> None:
        self.assert_exact(canonicals(fill, (3, rows), P), P)

    @fills
    @some_moduli
    @pytest.mark.parametrize("columns", [*COLUMNS, 254, 255, 256, 383, 384, 511, 784])
    def test_columns_at_the_edges_of_exact_sums(self, columns: int, p: int, fill: str) -> None:
        self.assert_exact(canonicals(fill, (columns, 9), p), p)

    @each_modulus
    @fills
    def test_every_prime(self, p: int, fill: str) -> None:
        self.assert_exact(canonicals(fill, (5, 20), p), p)

    @pytest.mark.parametrize(("start", "after"), [(0, 1), (1, 0), (7, 3), (255, 1), (256, 256), (3, 500)])
    @pytest.mark.parametrize("rows", [0, 1, 8, 257])
    def test_only_the_rows_from_start_are_written(self, rows: int, start: int, after: int) -> None:
        self.assert_exact(canonicals("either", (4, rows), P), P, start, after)

    @laws
    @given(data=st.data(), columns=st.integers(1, 6), rows=st.integers(0, 20), start=st.integers(0, 9))
    def test_any_residues(self, data: st.DataObject, columns: int, rows: int, start: int) -> None:
        p, seed = data.draw(st.sampled_from(MODULI)), data.draw(st.integers(0, 2**32))
        self.assert_exact(canonicals("either", (columns, rows), p, seed), p, start, 3)


class TestSetSums:
    def assert_exact(self, shares: Floats, sets: np.ndarray, k: int) -> None:
        single, labels = shares.astype(np.float32), sets.astype(np.int32)
        found = [kernels.set_sums(single, labels, k) for kernels in BOTH]
        assert found[0].dtype == found[1].dtype == np.float64
        assert np.array_equal(found[0], found[1])
        whole = integers(shares)
        assert found[0].shape == (k, shares.shape[0])
        for h in range(k):
            assert np.array_equal(integers(found[0][h]), whole[:, sets == h].sum(axis=1))

    @fills
    @pytest.mark.parametrize("rows", ROWS)
    def test_rows_at_the_edges_of_blocks(self, rows: int, fill: str) -> None:
        sets = np.random.default_rng(1).integers(-1, 4, rows)
        self.assert_exact(reduced(fill, (3, rows), P), sets, 4)

    @pytest.mark.parametrize("columns", COLUMNS)
    @pytest.mark.parametrize("k", CLUSTERS)
    def test_any_number_of_columns_and_sets(self, columns: int, k: int) -> None:
        sets = np.random.default_rng(k).integers(-1, k, 20)
        self.assert_exact(reduced("either", (columns, 20), P), sets, k)

    @pytest.mark.parametrize("label", [-1, 0, 2])
    def test_all_rows_in_one_set_or_none(self, label: int) -> None:
        self.assert_exact(reduced("plus", (3, 600), P), np.full(600, label), 3)

    @each_modulus
    def test_long_sums_of_the_largest_residues(self, p: int) -> None:
        self.assert_exact(reduced("plus", (2, 100_000), p), np.zeros(100_000, dtype=np.int32), 2)

    def test_most_rows_of_the_largest_residues_are_below_2_to_the_53(self) -> None:
        assert MAX_ROWS * max((p + 8) // 2 for p in MODULI) < 2**53

    def test_no_rows(self) -> None:
        self.assert_exact(np.zeros((3, 0)), np.zeros(0), 4)

    @laws
    @given(data=st.data(), rows=st.integers(0, 30), k=st.integers(1, 6), columns=st.integers(1, 5))
    def test_any_sets(self, data: st.DataObject, rows: int, k: int, columns: int) -> None:
        sets = data.draw(st.lists(st.integers(-1, k - 1), min_size=rows, max_size=rows))
        seed = data.draw(st.integers(0, 2**32))
        self.assert_exact(reduced("anything", (columns, rows), P, seed), np.array(sets, dtype=np.int32), k)


class TestMoveRows:
    def assert_exact(
        self, shares: Floats, old: np.ndarray, new: np.ndarray, rows: np.ndarray, k: int
    ) -> None:
        single = shares.astype(np.float32)
        found = []
        for kernels in BOTH:
            sums = Guarded((k, shares.shape[0]), np.float64)
            sums.array[...] = NUMPY.set_sums(single, old, k)
            kernels.move_rows(single, rows, old[rows], new[rows], sums.array)
            found.append(sums.check().copy())
        assert np.array_equal(found[0], found[1])
        assert np.array_equal(found[0], NUMPY.set_sums(single, new, k))

    @fills
    @pytest.mark.parametrize("m", ROWS)
    def test_sums_become_those_of_the_new_sets(self, m: int, fill: str) -> None:
        rng, k = np.random.default_rng(m), 5
        old, new = rng.integers(-1, k, (2, m)).astype(np.int32)
        self.assert_exact(reduced(fill, (3, m), P), old, new, np.flatnonzero(old != new), k)

    @pytest.mark.parametrize("columns", COLUMNS)
    @pytest.mark.parametrize("k", CLUSTERS)
    def test_any_number_of_columns_and_sets(self, columns: int, k: int) -> None:
        rng = np.random.default_rng(k)
        old, new = rng.integers(-1, k, (2, 30)).astype(np.int32)
        self.assert_exact(reduced("either", (columns, 30), P), old, new, np.flatnonzero(old != new), k)

    @pytest.mark.parametrize(("before", "after"), [(-1, 0), (0, -1), (0, 1), (1, 0), (-1, -1), (1, 1)])
    def test_rows_enter_leave_change_and_stay(self, before: int, after: int) -> None:
        old, new = np.full(20, before, dtype=np.int32), np.full(20, after, dtype=np.int32)
        self.assert_exact(reduced("anything", (3, 20), P), old, new, np.arange(20), 3)

    def test_no_row_moves(self) -> None:
        sets = np.zeros(20, dtype=np.int32)
        self.assert_exact(reduced("anything", (3, 20), P), sets, sets, np.zeros(0, dtype=np.int64), 3)

    @laws
    @given(data=st.data(), m=st.integers(1, 30), k=st.integers(1, 6), columns=st.integers(1, 18))
    def test_any_move(self, data: st.DataObject, m: int, k: int, columns: int) -> None:
        label = st.integers(-1, k - 1)
        old, new = (
            np.array(data.draw(st.lists(label, min_size=m, max_size=m)), dtype=np.int32) for _ in range(2)
        )
        shares = reduced("anything", (columns, m), P, data.draw(st.integers(0, 2**32)))
        self.assert_exact(shares, old, new, np.flatnonzero(old != new), k)


class TestAnswer:
    def answered(
        self, kernels: Kernels, shares: np.ndarray, cut: slice, matrix: Floats, constant: Floats, p: int
    ) -> np.ndarray:
        out = Guarded((matrix.shape[0], 3 * (cut.stop - cut.start)))
        kernels.answer(shares, cut.start, cut.stop, *kernels.prepare(matrix, constant), p, out.array)
        return out.check()

    def assert_exact(
        self, shares: Floats, matrix: Floats, constant: Floats, p: int, before: int = 0, after: int = 0
    ) -> None:
        columns, rows = shares.shape
        # NaN elsewhere: what is outside [start, stop) is not read.
        memory = np.full((columns, before + rows + after), np.nan, dtype=np.float32)
        memory[:, before : before + rows] = shares
        cut = slice(before, before + rows)
        found = [self.answered(kernels, memory, cut, matrix, constant, p) for kernels in BOTH]
        expected = (integers(matrix) @ integers(shares) + integers(constant)[:, np.newaxis]) % p
        assert np.array_equal(found[0], found[1])
        assert np.array_equal(integers(unpack(found[0])), expected)

    @fills
    @pytest.mark.parametrize("rows", ROWS)
    def test_rows_at_the_edges_of_blocks(self, rows: int, fill: str) -> None:
        matrix = reduced(fill, (5, 3), P, 1)
        self.assert_exact(reduced(fill, (3, rows), P), matrix, reduced(fill, (5,), P, 2), P)

    @fills
    @some_moduli
    @pytest.mark.parametrize("columns", COLUMNS)
    def test_columns_at_the_edges_of_exact_sums(self, columns: int, p: int, fill: str) -> None:
        matrix = reduced(fill, (3, columns), p, 1)
        self.assert_exact(reduced(fill, (columns, 9), p), matrix, reduced(fill, (3,), p, 2), p)

    @each_modulus
    @pytest.mark.parametrize("k", CLUSTERS)
    def test_any_number_of_sets(self, k: int, p: int) -> None:
        matrix = reduced("either", (k, 4), p, 1)
        self.assert_exact(reduced("either", (4, 11), p), matrix, reduced("either", (k,), p, 2), p)

    @pytest.mark.parametrize(("before", "after"), [(0, 1), (1, 0), (7, 300), (255, 3), (256, 256), (513, 1)])
    @pytest.mark.parametrize("rows", [0, 1, 8, 257])
    def test_only_the_rows_asked_for_are_read_and_written(self, rows: int, before: int, after: int) -> None:
        matrix, constant = reduced("either", (3, 5), P, 1), reduced("either", (3,), P, 2)
        self.assert_exact(reduced("either", (5, rows), P), matrix, constant, P, before, after)

    @laws
    @given(data=st.data(), columns=st.integers(1, 6), rows=st.integers(0, 20), k=st.integers(1, 20))
    def test_any_values(self, data: st.DataObject, columns: int, rows: int, k: int) -> None:
        p, seed = data.draw(st.sampled_from(MODULI)), data.draw(st.integers(0, 2**32))
        matrix, constant = reduced("anything", (k, columns), p, seed), reduced("either", (k,), p, seed)
        self.assert_exact(reduced("anything", (columns, rows), p, seed + 1), matrix, constant, p, 2, 1)

    @each_kernels
    @pytest.mark.parametrize("k", CLUSTERS)
    def test_a_prepared_matrix_answers_many_blocks(self, k: int, kernels: Kernels) -> None:
        shares, matrix = reduced("either", (5, 600), P).astype(np.float32), reduced("anything", (k, 5), P)
        constant = reduced("either", (k,), P)
        prepared = kernels.prepare(matrix, constant)
        whole = self.answered(kernels, shares, slice(0, 600), matrix, constant, P)
        for start, stop in ((0, 1), (1, 256), (256, 600)):
            out = Guarded((k, 3 * (stop - start)))
            kernels.answer(shares, start, stop, *prepared, P, out.array)
            assert np.array_equal(out.check(), whole[:, 3 * start : 3 * stop])

    @each_kernels
    def test_arguments_are_left_alone(self, kernels: Kernels) -> None:
        shares, matrix = reduced("either", (4, 9), P).astype(np.float32), reduced("either", (3, 4), P)
        constant = reduced("either", (3,), P)
        before = shares.copy(), matrix.copy(), constant.copy()
        self.answered(kernels, shares, slice(0, 9), matrix, constant, P)
        assert all(np.array_equal(a, b) for a, b in zip(before, (shares, matrix, constant), strict=True))


class TestBelow:
    @each_kernels
    @each_modulus
    @pytest.mark.parametrize("count", [0, 1, 2, 8, 9, 257, 5000])
    def test_largest_residues_are_below(self, kernels: Kernels, p: int, count: int) -> None:
        assert kernels.below(pack(np.full(count, p - 1.0), p), p) is True

    @each_kernels
    @pytest.mark.parametrize("value", [P, P + 1, 2**24 - 1])
    def test_one_large_integer_is_found_anywhere(self, kernels: Kernels, value: int) -> None:
        count = 2 * loops._LONG + 9
        octets = np.frombuffer((P - 1).to_bytes(3, "little") * count, dtype=np.uint8)
        for at in {0, 1, 7, 8, count - 1, count - 2, *around(loops._LONG, 2 * loops._LONG), *ROWS}:
            changed = octets.copy()
            changed[3 * at : 3 * at + 3] = list(value.to_bytes(3, "little"))
            assert kernels.below(changed, P) is False

    @each_kernels
    def test_read_only_bytes_are_read(self, kernels: Kernels) -> None:
        octets = np.frombuffer(bytes(30), dtype=np.uint8)
        assert not octets.flags.writeable
        assert kernels.below(octets, P)

    @laws
    @given(st.lists(st.integers(0, 2**24 - 1) | st.integers(P - 2, P + 2), max_size=20))
    def test_both_agree_with_python(self, values: list[int]) -> None:
        octets = np.frombuffer(b"".join(v.to_bytes(3, "little") for v in values), dtype=np.uint8)
        for p in MODULI:
            assert {kernels.below(octets, p) for kernels in BOTH} == {all(v < p for v in values)}

    def test_vectorised_blocks_cover_all(self) -> None:
        count = (1 << 17) + 3
        for at in (0, (1 << 17) - 1, 1 << 17, count - 1):
            octets = np.zeros(3 * count, dtype=np.uint8)
            octets[3 * at : 3 * at + 3] = 255
            assert not NUMPY.below(octets, P)


class TestDecode:
    def decoded(
        self, kernels: Kernels, packed: list[np.ndarray], weights: Floats, cut: slice, p: int
    ) -> np.ndarray:
        """One prime; `test_all_primes_at_once` takes several."""
        out = Guarded((1, packed[0].shape[0], cut.stop - cut.start), np.float64)
        out.array[...] = np.nan  # what was there before does not matter
        planes = [plane[np.newaxis] for plane in packed]
        assert kernels.decode(planes, weights[np.newaxis], (p,), cut.start, cut.stop, out.array) == -1
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
            assert congruent(decoded, expected.astype(np.int64), p)
        # Which of two reduced residues, around p/2, is for the implementation to choose.
        assert np.array_equal(canonical(found[0], p), canonical(found[1], p))

    @fills
    @pytest.mark.parametrize("count", [1, 2, 3, 11, 62, 63, 64, 65, 125, 126, 127, 128, 129, 130])
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
        # The quotient of such a sum by p is within 2**-24 of a half: implementations may round either way.
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
        k, rows, rng = 3, loops._LONG + 9, np.random.default_rng(count)
        honest = pack(canonicals("plus", (k, rows), P), P)
        for _ in range(12):
            at, h = int(rng.integers(count)), int(rng.integers(k))
            row = int(rng.choice([0, 1, 7, rows - 1, loops._LONG - 1, loops._LONG, int(rng.integers(rows))]))
            bad = honest.copy()
            bad[h, 3 * row : 3 * row + 3] = list(value.to_bytes(3, "little"))
            answers = [bad[np.newaxis] if j == at else honest[np.newaxis] for j in range(count)]
            weights = reduced("either", (1, count), P)
            out = Guarded((1, k, rows), np.float64)
            assert kernels.decode(answers, weights, (P,), 0, rows, out.array) == at
            out.check()
            # Rows that are not decoded are not looked at.
            for start, stop in ((0, row), (row + 1, rows)):
                out = Guarded((1, k, stop - start), np.float64)
                assert kernels.decode(answers, weights, (P,), start, stop, out.array) == -1
                out.check()

    @each_kernels
    def test_one_of_several_such_answers_is_found(self, kernels: Kernels) -> None:
        planes = [pack(np.full((1, 2, 9), 5.0), P) for _ in range(5)]
        for at in (1, 3, 4):
            planes[at][0, at % 2, 3 * at : 3 * at + 3] = 255
        assert kernels.decode(planes, np.ones((1, 5)), (P,), 0, 9, np.empty((1, 2, 9))) in {1, 3, 4}

    @pytest.mark.parametrize("rows", [1, 15, 16, 17, 40, 600])
    @pytest.mark.parametrize("count", [3, 64])
    def test_all_primes_at_once(self, count: int, rows: int) -> None:
        primes, k = MODULI[:3], 5
        answers = np.array([canonicals("anything", (count, k, rows), p) for p in primes])
        packed = [pack(answers[:, j], primes[0]) for j in range(count)]  # canonical already
        weights = np.array([reduced("either", (count,), p) for p in primes])
        for cut in (slice(0, rows), slice(rows // 3, rows), slice(0, rows - rows // 3)):
            for kernels in BOTH:
                out = Guarded((len(primes), k, cut.stop - cut.start), np.float64)
                out.array[...] = np.nan
                assert kernels.decode(packed, weights, tuple(primes), cut.start, cut.stop, out.array) == -1
                for index, p in enumerate(primes):
                    alone = [plane[index] for plane in packed]
                    assert np.array_equal(
                        canonical(out.check()[index], p),
                        canonical(self.decoded(kernels, alone, weights[index], cut, p), p),
                    )

    @each_kernels
    def test_an_integer_is_compared_with_its_own_prime(self, kernels: Kernels) -> None:
        small, large = sorted(MODULI[:2])
        for primes, refused in (((large, small), True), ((small, large), False)):
            answer = np.zeros((2, 1, 3 * 40), dtype=np.uint8)
            for row in (0, 17, 39):
                bad = answer.copy()
                bad[1, 0, 3 * row : 3 * row + 3] = list(small.to_bytes(3, "little"))
                found = kernels.decode([bad], np.ones((2, 1)), primes, 0, 40, np.empty((2, 1, 40)))
                assert found == (0 if refused else -1)

    @each_kernels
    def test_answers_may_be_read_only(self, kernels: Kernels) -> None:
        packed = np.frombuffer(bytes(18), dtype=np.uint8).reshape(2, 9)
        assert not self.decoded(kernels, [packed, packed], np.ones(2), slice(0, 3), P).any()


def either_reduced(values: list[list[int]], p: int, seed: int) -> Floats:
    """Reduced residues of integers, where there are two of them (around p/2) either one."""
    x = np.array([[centred(v, p) for v in row] for row in values], dtype=np.float64)
    other = np.where(x > 0, x - p, x + p)
    chosen = (np.abs(other) <= p / 2 + 4) & np.random.default_rng(seed).choice([True, False], x.shape)
    return np.where(chosen, other, x)


class TestNearest:
    def run_both(self, residues: Floats, primes: tuple[int, ...], sizes: list[int]) -> tuple:
        """What both say, which is equal wherever it is defined."""
        radix, sizes_ = MixedRadix(primes), np.array(sizes, dtype=np.int64)
        tolerance = relative_tolerance(radix)
        one, other = (kernels.nearest(residues.copy(), radix, sizes_, tolerance) for kernels in BOTH)
        filled = sizes_ > 0
        assert np.array_equal(one[0][:, filled], other[0][:, filled])
        assert one[1].tobytes() == other[1].tobytes()
        assert np.array_equal(one[2], other[2])
        assert np.array_equal(one[3], other[3])
        assert [x.dtype for x in one] == [x.dtype for x in other] == [np.float64] * 2 + [np.int32, np.bool_]
        assert np.isinf(one[1][~filled]).all()
        return one

    def assert_exact(self, values: list[list[int]], primes: tuple[int, ...], sizes: list[int]) -> tuple:
        """`values[h][i]` is D of row i to centre h."""
        planes = np.array([either_reduced(values, p, seed) for seed, p in enumerate(primes)])
        digits, value, labels, contested = self.run_both(planes, primes, sizes)
        filled = [h for h, size in enumerate(sizes) if size]
        found = MixedRadix(primes).integers(digits)
        tolerance = Fraction(relative_tolerance(MixedRadix(primes)))
        for i in range(len(values[0])):
            exact = {h: Fraction(values[h][i], sizes[h] ** 2) for h in filled}
            assert [found[h, i] for h in filled] == [values[h][i] for h in filled]
            for h in filled:
                assert abs(Fraction(value[h, i]) - exact[h]) <= tolerance * exact[h] / 4
            least = min(exact.values())
            assert labels[i] in filled
            if not contested[i]:
                assert labels[i] == min(h for h in filled if exact[h] == least)
                assert sum(x == least for x in exact.values()) == 1
            else:
                assert sum(x <= least * (1 + 2 * tolerance) for x in exact.values()) > 1
        return digits, value, labels, contested

    @pytest.mark.parametrize("count", range(1, 9))
    @pytest.mark.parametrize("k", [1, 2, 3, 5, 9, 17])
    def test_any_number_of_primes_and_sets(self, count: int, k: int) -> None:
        primes, rng = primes_of(count), np.random.default_rng(count * 100 + k)
        q = prod(primes)
        values = [[int.from_bytes(rng.bytes(32), "little") % q for _ in range(20)] for _ in range(k)]
        sizes = [int(size) for size in rng.integers(1, MAX_ROWS, k)]
        self.assert_exact(values, primes, sizes)

    @pytest.mark.parametrize("rows", ROWS)
    def test_rows_at_the_edges_of_blocks(self, rows: int) -> None:
        rng = np.random.default_rng(rows)
        values = rng.integers(0, 2**60, (3, rows)).tolist()
        self.assert_exact(values, primes_of(3), [5, 1, 9])

    @pytest.mark.parametrize("count", range(1, 9))
    def test_extremes(self, count: int) -> None:
        primes = primes_of(count)
        q = prod(primes)
        radices = MixedRadix(primes).radices
        edges = [0, 1, q // 2, q - 2, q - 1, *(r % q for x in radices for r in (x - 1, x, x + 1))]
        self.assert_exact([edges, edges[::-1]], primes, [1, 1])
        self.assert_exact([edges, edges[::-1]], primes, [MAX_ROWS, MAX_ROWS - 1])

    @each_modulus
    @pytest.mark.parametrize("sign", [1, -1])
    def test_largest_reduced_residues_are_accepted(self, p: int, sign: int) -> None:
        primes = tuple(MODULI)
        residues = np.array([sign * ((q + 8) // 2) for q in primes], dtype=np.float64)[:, None, None]
        digits, *_ = self.run_both(np.repeat(residues, 2, axis=1), primes, [1, 1])
        found = MixedRadix(primes).integers(digits)[0, 0]
        assert all((found - int(r[0, 0])) % q == 0 for r, q in zip(residues, primes, strict=True))

    @pytest.mark.parametrize("empty", [[0], [1], [2], [0, 1], [1, 2], [0, 2]])
    def test_an_empty_set_is_never_nearest_and_its_digits_do_not_matter(self, empty: list[int]) -> None:
        rng, sizes = np.random.default_rng(0), [2, 3, 4]
        values = rng.integers(2**40, 2**60, (3, 50)).tolist()
        for h in empty:
            values[h], sizes[h] = [0] * 50, 0
        _, _, labels, contested = self.assert_exact(values, primes_of(3), sizes)
        assert not set(labels.tolist()) & set(empty)
        if len(empty) == 2:
            assert not contested.any()

    @pytest.mark.parametrize("sizes", [[1, 1, 1], [1, 2, 3], [2**20, 2**21, 3 * 2**20], [7, 7, 0]])
    def test_ties_are_contested_and_go_to_the_lowest_index(self, sizes: list[int]) -> None:
        rng = np.random.default_rng(1)
        quotients = rng.integers(0, 2**20, 40)
        values = [[int(x) * size**2 for x in quotients] for size in sizes]
        _, _, labels, contested = self.assert_exact(values, primes_of(4), sizes)
        assert contested.all()
        assert (labels == 0).all()

    def test_all_zero_is_contested(self) -> None:
        _, value, labels, contested = self.assert_exact([[0] * 5] * 3, primes_of(2), [3, 2, 1])
        assert not value.any()
        assert contested.all()
        assert (labels == 0).all()

    @pytest.mark.parametrize("count", [2, 4, 8])
    def test_near_ties_are_contested(self, count: int) -> None:
        primes = primes_of(count)
        base = prod(primes) // 3
        values = [[base, base + 1, base], [base + 1, base, base + base // 10**6]]
        *_, contested = self.assert_exact(values, primes, [1, 1])
        assert contested.tolist() == [count > 2, count > 2, False]

    def test_no_rows(self) -> None:
        digits, value, labels, contested = self.run_both(np.zeros((2, 3, 0)), primes_of(2), [1, 2, 3])
        assert (digits.shape, value.shape, labels.shape, contested.shape) == ((2, 3, 0), (3, 0), (0,), (0,))

    @laws
    @given(data=st.data(), count=st.integers(1, 8), k=st.integers(1, 5), rows=st.integers(1, 6))
    def test_any_distances(self, data: st.DataObject, count: int, k: int, rows: int) -> None:
        primes = primes_of(count)
        q = prod(primes)
        few = data.draw(st.lists(st.integers(0, q - 1), min_size=1, max_size=3))
        value = st.integers(0, q - 1) | st.sampled_from(few)
        values = data.draw(st.lists(st.lists(value, min_size=rows, max_size=rows), min_size=k, max_size=k))
        sizes = data.draw(st.lists(st.sampled_from([0, 1, 1, 2, 3, MAX_ROWS]), min_size=k, max_size=k))
        if any(sizes):
            self.assert_exact(values, primes, sizes)


def test_two_threads_with_kernels_of_their_own_do_not_disturb_each_other() -> None:
    # The loops let go of the interpreter lock; `choose` gives every role kernels of its own.
    radix, sizes = MixedRadix(primes_of(3)), np.arange(1, 21)
    right, wrong = {}, []
    data = {seed: reduced("anything", (3, 20, 800), MODULI[-1], seed) for seed in (1, 2)}
    for seed, residues in data.items():
        _, value, labels, contested = NUMPY.nearest(residues.copy(), radix, sizes, 1e-12)
        right[seed] = value.tobytes(), labels.tobytes(), contested.tobytes()

    def work(seed: int) -> None:
        own = CompiledKernels()
        for _ in range(200):
            _, value, labels, contested = own.nearest(data[seed].copy(), radix, sizes, 1e-12)
            wrong.append((value.tobytes(), labels.tobytes(), contested.tobytes()) != right[seed])

    threads = [threading.Thread(target=work, args=(seed,)) for seed in data]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(wrong) == 400
    assert not any(wrong)


class TestAccept:
    def accepted(self, kernels: Kernels, words: np.ndarray, p: int, room: int) -> tuple[int, list[float]]:
        kept = Guarded((room,), np.float64)
        kept.array[...] = 0.5
        count = kernels.accept(words, p, kept.array)
        assert type(count) is int
        assert (kept.check()[count:] == 0.5).all()
        return count, kept.array[:count].tolist()

    @pytest.mark.parametrize("p", [3, 5, 7, 11, 13, 131, 257, 8388593, *MODULI])
    @pytest.mark.parametrize("room", [0, 1, 7, 1000, 5000])
    def test_words_whose_low_bits_are_below_p_are_kept_in_order(self, p: int, room: int) -> None:
        words = np.random.default_rng(p).integers(0, 2**32, 2000, dtype=np.uint32)
        mask = (1 << p.bit_length()) - 1
        expected = [v - (p - 1) // 2 for word in words.tolist() if (v := word & mask) < p][:room]
        for kernels in BOTH:
            assert self.accepted(kernels, words, p, room) == (len(expected), expected)

    @pytest.mark.parametrize("p", [3, 5, 7, *MODULI])
    def test_the_edges_of_the_range(self, p: int) -> None:
        mask = (1 << p.bit_length()) - 1
        edges = [0, p - 1, p, mask, mask + 1, 2**32 - 1, p + mask + 1, p - 1 + mask + 1]
        words = np.array(edges, dtype=np.uint32)
        half = (p - 1) // 2
        expected = [v - half for word in words.tolist() if (v := word & mask) < p]
        assert expected[:2] == [-half, half]
        for kernels in BOTH:
            assert self.accepted(kernels, words, p, 8) == (len(expected), expected)

    @each_kernels
    def test_no_words(self, kernels: Kernels) -> None:
        assert self.accepted(kernels, np.zeros(0, dtype=np.uint32), 5, 3) == (0, [])

    @each_kernels
    def test_no_word_may_be_accepted(self, kernels: Kernels) -> None:
        assert self.accepted(kernels, np.full(9, 2**32 - 1, dtype=np.uint32), 5, 3) == (0, [])

    @each_kernels
    def test_read_only_words_are_read(self, kernels: Kernels) -> None:
        words = np.frombuffer(bytes(12), dtype="<u4")
        assert self.accepted(kernels, words, 5, 3) == (3, [-2.0, -2.0, -2.0])


class TestCombine:
    """Linear combinations of an answer's residues."""

    def check(self, k: int, rows: int, count: int, p: int, fill: str) -> None:
        rng = np.random.default_rng(rows)
        integers = (
            rng.integers(0, p, (k, rows)) if fill == "anything" else p - 1 - rng.integers(0, 2, (k, rows))
        )
        packed = pack(integers.astype(np.float64), p)
        coefficients = np.clip(reduced(fill, (count, k * rows), p), -(p // 2), p // 2)
        exact = [
            sum(int(a) * int(b) for a, b in zip(line, integers.reshape(-1), strict=True)) % p
            for line in coefficients
        ]
        for kernels in BOTH:
            out = np.full(count, np.nan)
            assert kernels.combine(packed, coefficients, p, out)
            assert np.abs(out).max(initial=0) <= p / 2 + 4
            assert [int(v) % p for v in out] == exact

    @pytest.mark.parametrize("rows", [*LONG_ROWS, *around(63, 64, 128), 0])
    @fills
    def test_rows_at_the_edges_of_blocks(self, rows: int, fill: str) -> None:
        self.check(2, rows, 2, P, fill)

    @some_moduli
    @fills
    @pytest.mark.parametrize("k", [1, 3, 70])
    def test_any_number_of_sets(self, k: int, p: int, fill: str) -> None:
        self.check(k, 257, 3, p, fill)

    def test_more_entries_than_a_block_of_the_numpy_path(self) -> None:
        self.check(3, 50_000, 2, P, "plus")

    @each_kernels
    @each_modulus
    def test_an_integer_that_is_not_below_its_prime_is_seen_wherever_it_is(
        self, kernels: Kernels, p: int
    ) -> None:
        for at in (0, 5, 2047, 2048, 2999):
            packed = pack(np.zeros((2, 3000)), p)
            packed[1, 3 * at : 3 * at + 3] = np.frombuffer(p.to_bytes(3, "little"), dtype=np.uint8)
            assert not kernels.combine(packed, np.ones((2, 6000)), p, np.empty(2))

    def test_compiled_code_refuses_what_would_be_read_beyond_its_end(self) -> None:
        packed = pack(np.zeros((2, 8)), P)
        for coefficients, out in ((np.ones((2, 15)), np.empty(2)), (np.ones((2, 16)), np.empty(3))):
            with pytest.raises(ValueError, match="do not fit"):
                COMPILED.combine(packed, coefficients, P, out)
