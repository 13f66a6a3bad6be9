"""Nearest centres, and kernels of two threads, in both kernels: equal to each other and to integers."""

import threading
from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kernel_samples import BOTH, MODULI, NUMPY, ROWS, each_modulus, laws, reduced

from secfc.array_types import Floats
from secfc.field.mixed_radix import MixedRadix
from secfc.field.primes import primes_of
from secfc.field.residues import centred
from secfc.kernels.compiled import CompiledKernels
from secfc.kmeans.compare import relative_tolerance
from secfc.options import MAX_ROWS


def either_reduced(values: list[list[int]], p: int, seed: int) -> Floats:
    """Reduced residues of integers; near p/2, where there are two of them, either one."""
    x = np.array([[centred(v, p) for v in row] for row in values], dtype=np.float64)
    other = np.where(x > 0, x - p, x + p)
    chosen = (np.abs(other) <= p / 2 + 4) & np.random.default_rng(seed).choice([True, False], x.shape)
    return np.where(chosen, other, x)


class TestNearest:
    def run_both(self, residues: Floats, primes: tuple[int, ...], sizes: list[int]) -> tuple:
        """The result of both kernels, which is equal wherever it is defined."""
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
    # The loops release the interpreter lock. `choose` gives every role its own kernels.
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
