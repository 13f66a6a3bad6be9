"""What a client computes when it answers, in both kernels: equal to each other and to integers."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kernel_samples import (
    BOTH,
    CLUSTERS,
    COLUMNS,
    COMPILED,
    MODULI,
    NUMPY,
    ROWS,
    Guarded,
    P,
    around,
    canonicals,
    congruent,
    each_kernels,
    each_modulus,
    fills,
    integers,
    laws,
    reduced,
    some_moduli,
)
from support.sweeps import every

from secfc.field.array_types import Floats
from secfc.field.packing import pack, unpack
from secfc.field.primes import primes_of
from secfc.field.residues import canonical, centre
from secfc.kernels import Kernels, loops


class TestWeightedSums:
    def assert_exact(self, shares: Floats, weights: Floats, primes: tuple[int, ...]) -> None:
        for held, factors, p in zip(shares, weights, primes, strict=True):
            every = integers(factors)[:, np.newaxis] * integers(held) % p
            for kernels in BOTH:
                found = kernels.weighted_sums(held.astype(np.float32), factors, p)
                assert congruent(found, every.sum(axis=2), p)

    @fills
    @every("rows", sorted({*ROWS, *around(1024, 2048)}))
    def test_rows_at_the_edges_of_blocks(self, rows: int, fill: str) -> None:
        shares = [centre(canonical(reduced(fill, (3, rows), p, seed=1), p), p) for p in MODULI[:2]]
        weights = [reduced(fill, (2, rows), p) for p in MODULI[:2]]
        self.assert_exact(np.stack(shares), np.stack(weights), tuple(MODULI[:2]))

    @every("columns", COLUMNS)
    @every("k", CLUSTERS)
    def test_any_number_of_columns_and_sets(self, columns: int, k: int) -> None:
        shares = centre(canonical(reduced("either", (1, columns, 20), P), P), P)
        self.assert_exact(shares, reduced("either", (1, k, 20), P), (P,))


class TestMovedSums:
    @every("columns", COLUMNS)
    @every("k", CLUSTERS)
    def test_they_are_sums_after_less_those_before(self, columns: int, k: int) -> None:
        shares = centre(canonical(reduced("either", (columns, 301), P), P), P)
        before, after = np.random.default_rng(k).integers(-1, k, (2, 301)).astype(np.int32)
        every = np.arange(k)[:, np.newaxis]
        expected = integers((after == every) - 1.0 * (before == every)) @ integers(shares).T % P
        for kernels in BOTH:
            found = kernels.moved_sums(shares.astype(np.float32), before, after, k, P)
            assert congruent(found, expected, P)

    @pytest.mark.parametrize(("label", "m"), [(-2, 3), (2, 3), (0, 4)])
    def test_labels_that_do_not_fit_are_refused(self, label: int, m: int) -> None:
        right, wrong = np.zeros(3, dtype=np.int32), np.full(3, label, dtype=np.int32)
        for one in ((right, wrong), (wrong, right)):
            with pytest.raises(ValueError, match="do not fit"):
                COMPILED.moved_sums(np.zeros((2, m), dtype=np.float32), *one, 2, P)


class TestAffine:
    def answered(
        self, kernels: Kernels, shares: np.ndarray, cut: slice, matrix: Floats, constant: Floats, p: int
    ) -> np.ndarray:
        out = Guarded((matrix.shape[0], 3 * (cut.stop - cut.start)))
        kernels.affine(shares, cut, matrix, constant, p, out.array)
        return out.check()

    def assert_exact(
        self, shares: Floats, matrix: Floats, constant: Floats, p: int, before: int = 0, after: int = 0
    ) -> None:
        columns, rows = shares.shape
        # NaN elsewhere, because memory outside [start, stop) is not read.
        memory = np.full((columns, before + rows + after), np.nan, dtype=np.float32)
        memory[:, before : before + rows] = shares
        cut = slice(before, before + rows)
        found = [self.answered(kernels, memory, cut, matrix, constant, p) for kernels in BOTH]
        expected = (integers(matrix) @ integers(shares) + integers(constant)[:, np.newaxis]) % p
        assert np.array_equal(found[0], found[1])
        assert np.array_equal(integers(unpack(found[0])), expected)

    @fills
    @every("rows", ROWS)
    def test_rows_at_the_edges_of_blocks(self, rows: int, fill: str) -> None:
        matrix = reduced(fill, (5, 3), P, 1)
        self.assert_exact(reduced(fill, (3, rows), P), matrix, reduced(fill, (5,), P, 2), P)

    @fills
    @some_moduli
    @every("columns", COLUMNS)
    def test_columns_at_the_edges_of_exact_sums(self, columns: int, p: int, fill: str) -> None:
        matrix = reduced(fill, (3, columns), p, 1)
        self.assert_exact(reduced(fill, (columns, 9), p), matrix, reduced(fill, (3,), p, 2), p)

    @each_modulus
    @every("k", CLUSTERS)
    def test_any_number_of_sets(self, k: int, p: int) -> None:
        matrix = reduced("either", (k, 4), p, 1)
        self.assert_exact(reduced("either", (4, 11), p), matrix, reduced("either", (k,), p, 2), p)

    @every(("before", "after"), [(0, 1), (1, 0), (7, 300), (255, 3), (256, 256), (513, 1)])
    @every("rows", [0, 1, 8, 257])
    def test_only_the_rows_asked_for_are_read_and_written(self, rows: int, before: int, after: int) -> None:
        matrix, constant = reduced("either", (3, 5), P, 1), reduced("either", (3,), P, 2)
        self.assert_exact(reduced("either", (5, rows), P), matrix, constant, P, before, after)


class TestAddPairs:
    def assert_exact(self, weights: Floats, values: Floats, packed: np.ndarray, p: int) -> None:
        """Values have one more row, which does not count."""
        w, v = integers(weights), integers(values)[..., :-1]
        pairs = list(combinations(range(w.shape[1]), 2))
        sums = [(w[:, [a]] * v[:, b] - w[:, [b]] * v[:, a]).sum(axis=0) for a, b in pairs]
        expected = (integers(unpack(packed)) + np.array(sums)) % p
        for kernels in BOTH:
            out = Guarded(packed.shape)
            out.array[...] = packed
            kernels.add_pairs(weights, list(pack(values, p)), p, out.array)
            assert np.array_equal(integers(unpack(out.check())), expected)

    @fills
    @some_moduli
    @every("rows", ROWS)
    def test_rows_at_the_edges_of_blocks(self, rows: int, p: int, fill: str) -> None:
        packed = pack(canonicals(fill, (3, rows), p), p)
        values = canonicals(fill, (2, 3, rows + 1), p)
        self.assert_exact(4 * reduced(fill, (2, 3), p, 1), values, packed, p)

    @each_modulus
    @every("k", CLUSTERS[1:])
    def test_any_number_of_sets(self, k: int, p: int) -> None:
        packed = pack(canonicals("anything", (k * (k - 1) // 2, 11), p), p)
        self.assert_exact(reduced("either", (1, k), p, 1), canonicals("either", (1, k, 12), p), packed, p)

    @every(
        ("values", "packed"),
        [((1, 4, 6), (3, 6)), ((2, 3, 6), (3, 6)), ((1, 3, 3), (3, 6)), ((1, 3, 6), (2, 6))],
    )
    def test_what_does_not_fit_is_refused(self, values: tuple[int, ...], packed: tuple[int, ...]) -> None:
        octets = np.zeros(values, dtype=np.uint8)
        with pytest.raises(ValueError, match="do not fit the weights"):
            COMPILED.add_pairs(np.zeros((1, 3)), list(octets), P, np.zeros(packed, dtype=np.uint8))


class TestRefused:
    @each_kernels
    @each_modulus
    @every("count", [0, 1, 2, 8, 9, 257, 5000])
    def test_largest_residues_are_below(self, kernels: Kernels, p: int, count: int) -> None:
        assert not kernels.refused(pack(np.full((1, count), p - 1.0), p), (p,))

    @each_kernels
    @pytest.mark.parametrize("value", [P, P + 1, 2**24 - 1])
    def test_one_large_integer_is_found_anywhere(self, kernels: Kernels, value: int) -> None:
        count = 2 * loops.LONG + 9
        octets = np.frombuffer((P - 1).to_bytes(3, "little") * count, dtype=np.uint8)
        for at in {0, 1, 7, 8, count - 1, count - 2, *around(loops.LONG, 2 * loops.LONG), *ROWS}:
            changed = octets.copy()
            changed[3 * at : 3 * at + 3] = list(value.to_bytes(3, "little"))
            assert kernels.refused(changed[np.newaxis], (P,))

    @each_kernels
    def test_each_plane_has_its_own_prime(self, kernels: Kernels) -> None:
        primes = primes_of(3)
        planes = np.array([pack(np.full((2, 5), p - 1.0), p) for p in primes])
        assert not kernels.refused(planes, primes)
        for at in (2, 1, 0):
            changed = planes.copy()
            changed[at, 1, -3:] = list(primes[at].to_bytes(3, "little"))
            assert kernels.refused(changed, primes)

    @laws
    @given(st.lists(st.integers(0, 2**24 - 1) | st.integers(P - 2, P + 2), max_size=20))
    def test_both_agree_with_python(self, values: list[int]) -> None:
        octets = np.frombuffer(b"".join(v.to_bytes(3, "little") for v in values), dtype=np.uint8)
        for p in MODULI:
            found = {kernels.refused(octets[np.newaxis], (p,)) for kernels in BOTH}
            assert found == {any(v >= p for v in values)}

    def test_vectorised_blocks_cover_all(self) -> None:
        count = (1 << 17) + 3
        for at in (0, (1 << 17) - 1, 1 << 17, count - 1):
            octets = np.zeros(3 * count, dtype=np.uint8)
            octets[3 * at : 3 * at + 3] = 255
            assert NUMPY.refused(octets[np.newaxis], (P,))


class TestResidues:
    @laws
    @given(
        st.lists(st.lists(st.integers(0, P - 1) | st.integers(P - 2, P), min_size=3, max_size=3), max_size=9)
    )
    def test_both_agree_with_python(self, values: list[list[int]]) -> None:
        octets = np.stack([octets_of([v for row in values for v in row]).reshape(-1, 9)] * 2)
        for kernels in BOTH:
            found = kernels.residues(octets, (P, P))
            if any(v >= P for row in values for v in row):
                assert found is None
            else:
                assert found is not None
                centred = [[v - P if v > P // 2 else v for v in row] for row in values]
                assert found.tolist() == [centred, centred]

    @each_kernels
    def test_each_plane_has_its_own_prime(self, kernels: Kernels) -> None:
        primes = primes_of(3)
        planes = np.array([pack(np.full(300, p - 1.0), p) for p in primes])
        found = kernels.residues(planes, primes)
        assert found is not None
        assert (found == -1).all()
        for at in (2, 1, 0):
            changed = planes.copy()
            changed[at, -3:] = list(primes[at].to_bytes(3, "little"))
            assert kernels.residues(changed, primes) is None

    def test_what_does_not_fit_is_refused(self) -> None:
        for shape in ((2, 3), (1, 4)):
            with pytest.raises(ValueError, match="residues do not fit"):
                COMPILED.residues(np.zeros(shape, dtype=np.uint8), (P,))


def octets_of(values: list[int]) -> np.ndarray:
    return np.frombuffer(b"".join(v.to_bytes(3, "little") for v in values), dtype=np.uint8).copy()


class TestRedraw:
    @laws
    @given(
        words=st.lists(st.integers(0, 2**24 - 1) | st.integers(P - 2, P + 2), max_size=60),
        spare=st.lists(st.integers(0, 2**24 - 1) | st.integers(P - 2, P + 2), max_size=20),
    )
    def test_both_agree_with_python(self, words: list[int], spare: list[int]) -> None:
        left = iter([v for v in spare if v < P])
        wanted = [v if v < P else next(left, v) for v in words]
        for kernels in BOTH:
            octets, beside = octets_of(words), octets_of(spare)
            assert kernels.redraw(octets, beside, P) is (max(wanted, default=0) < P)
            assert unpack(octets).tolist() == wanted
            assert unpack(beside).tolist() == spare

    @each_kernels
    @every("count", [1, 7, 8, 9, 257, 5000])
    def test_one_large_word_is_replaced_anywhere(self, kernels: Kernels, count: int) -> None:
        for at in {0, 1, 7, 8, 63, 64, count // 2, count - 2, count - 1} & set(range(count)):
            words = list(range(count))
            octets = octets_of([*words[:at], 2**24 - 1, *words[at + 1 :]])
            assert kernels.redraw(octets, octets_of([P, 3]), P)
            assert unpack(octets).tolist() == [*words[:at], 3, *words[at + 1 :]]

    @each_kernels
    def test_spare_words_that_come_later_go_on_where_they_were_missing(self, kernels: Kernels) -> None:
        octets = octets_of([P, 5, P + 1, P + 2])
        assert not kernels.redraw(octets, octets_of([1]), P)
        assert not kernels.redraw(octets, octets_of([2]), P)
        assert kernels.redraw(octets, octets_of([3]), P)
        assert unpack(octets).tolist() == [1, 5, 2, 3]


class TestAddMasks:
    @laws
    @given(st.data(), st.integers(0, 40), st.sampled_from(MODULI))
    def test_both_agree_with_python(self, data: st.DataObject, count: int, p: int) -> None:
        start, masks = (
            data.draw(st.lists(st.integers(0, p - 1), min_size=count, max_size=count)) for _ in range(2)
        )
        for kernels in BOTH:
            packed = octets_of(start)
            kernels.add_masks(packed, octets_of(masks), p)
            assert unpack(packed).tolist() == [(a + b) % p for a, b in zip(start, masks, strict=True)]

    @each_kernels
    def test_blocks_cover_all(self, kernels: Kernels) -> None:
        count = (1 << 17) + 3
        packed, values = octets_of([P - 1] * count), np.random.default_rng(1).integers(0, P, size=count)
        kernels.add_masks(packed, pack(values.astype(float), P), P)
        np.testing.assert_array_equal(unpack(packed), (P - 1 + values) % P)

    def test_compiled_code_refuses_masks_that_do_not_fit(self) -> None:
        for packed, masks in ((3, 6), (6, 3), (4, 4)):
            with pytest.raises(ValueError, match="do not fit"):
                COMPILED.add_masks(np.zeros(packed, dtype=np.uint8), np.zeros(masks, dtype=np.uint8), P)
