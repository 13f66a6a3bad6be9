"""Nearest centres, and kernels of two threads, in both kernels: equal to each other and to integers."""

import threading
from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kernel_samples import BOTH, COMPILED, MODULI, NUMPY, ROWS, laws, reduced
from support.sweeps import every

from secfc.field.array_types import Shares
from secfc.field.mixed_radix import MixedRadix
from secfc.field.primes import primes_of
from secfc.field.residues import MAX_ROWS
from secfc.kernels.compiled import CompiledKernels
from secfc.kernels.interface import Compared
from secfc.kmeans.compare import relative_tolerance

KINDS = {"labels": np.int32, "own": np.float32, "second": np.float64, "contested": np.bool_}


class TestNearest:
    def run_both(self, digits: Shares, primes: tuple[int, ...], sizes: list[int]) -> Compared:
        """The result of both kernels, which is equal."""
        radix, sizes_ = MixedRadix(primes), np.array(sizes, dtype=np.int64)
        tolerance = relative_tolerance(radix)
        one, other = (kernels.nearest(digits, radix, sizes_, tolerance) for kernels in BOTH)
        for name, kind in KINDS.items():
            found, same = getattr(one, name), getattr(other, name)
            assert found.dtype == same.dtype == kind
            assert found.shape == same.shape
            assert found.tobytes() == same.tobytes()
        assert one.largest == other.largest
        return one

    def assert_exact(self, values: list[list[int]], primes: tuple[int, ...], sizes: list[int]) -> Compared:
        """`values[h][i]` is D of row i to centre h."""
        radix = MixedRadix(primes)
        digits = radix.digits(
            np.array([[[v % p for v in row] for row in values] for p in primes], dtype=float)
        )
        found = self.run_both(digits, primes, sizes)
        filled = [h for h, size in enumerate(sizes) if size]
        tolerance, largest = Fraction(relative_tolerance(radix)), Fraction(0)
        own = radix.integers(found.own)
        for i in range(len(values[0])):
            exact = {h: Fraction(values[h][i], sizes[h] ** 2) for h in filled}
            least, label = min(exact.values()), int(found.labels[i])
            largest = max(largest, *exact.values())
            assert label in filled
            assert own[i] == values[label][i]
            second = min((exact[h] for h in filled if h != label), default=None)
            if second is None:
                assert np.isinf(found.second[i])
            else:
                assert abs(Fraction(found.second[i]) - second) <= tolerance * second
            if not found.contested[i]:
                assert label == min(h for h in filled if exact[h] == least)
                assert sum(x == least for x in exact.values()) == 1
            else:
                assert sum(x <= least * (1 + 2 * tolerance) for x in exact.values()) > 1
        assert abs(Fraction(found.largest) - largest) <= tolerance * largest
        return found

    @every("count", range(1, 9))
    @every("k", [1, 2, 3, 5, 9, 17])
    def test_any_number_of_primes_and_sets(self, count: int, k: int) -> None:
        primes, rng = primes_of(count), np.random.default_rng(count * 100 + k)
        q = prod(primes)
        values = [[int.from_bytes(rng.bytes(32), "little") % q for _ in range(20)] for _ in range(k)]
        sizes = [int(size) for size in rng.integers(1, MAX_ROWS, k)]
        self.assert_exact(values, primes, sizes)

    @every("rows", ROWS)
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

    @pytest.mark.parametrize("empty", [[0], [1], [2], [0, 1], [1, 2], [0, 2]])
    def test_an_empty_set_is_never_nearest_and_its_digits_do_not_matter(self, empty: list[int]) -> None:
        rng, sizes = np.random.default_rng(0), [2, 3, 4]
        values = rng.integers(2**40, 2**60, (3, 50)).tolist()
        for h in empty:
            values[h], sizes[h] = [0] * 50, 0
        found = self.assert_exact(values, primes_of(3), sizes)
        assert not set(found.labels.tolist()) & set(empty)
        if len(empty) == 2:
            assert not found.contested.any()

    @pytest.mark.parametrize("sizes", [[1, 1, 1], [1, 2, 3], [2**20, 2**21, 3 * 2**20], [7, 7, 0]])
    def test_ties_are_contested_and_go_to_the_lowest_index(self, sizes: list[int]) -> None:
        rng = np.random.default_rng(1)
        quotients = rng.integers(0, 2**20, 40)
        values = [[int(x) * size**2 for x in quotients] for size in sizes]
        found = self.assert_exact(values, primes_of(4), sizes)
        assert found.contested.all()
        assert (found.labels == 0).all()

    def test_all_zero_is_contested(self) -> None:
        found = self.assert_exact([[0] * 5] * 3, primes_of(2), [3, 2, 1])
        assert not found.second.any()
        assert found.largest == 0.0
        assert found.contested.all()
        assert (found.labels == 0).all()

    @pytest.mark.parametrize("count", [2, 4, 8])
    def test_near_ties_are_contested(self, count: int) -> None:
        primes = primes_of(count)
        base = prod(primes) // 3
        values = [[base, base + 1, base], [base + 1, base, base + base // 10**6]]
        assert self.assert_exact(values, primes, [1, 1]).contested.tolist() == [count > 2, count > 2, False]

    def test_no_rows(self) -> None:
        found = self.run_both(np.zeros((2, 3, 0), dtype=np.float32), primes_of(2), [1, 2, 3])
        assert found.own.shape == (2, 0)
        assert found.largest == 0.0

    def test_what_does_not_fit_is_refused(self) -> None:
        digits, radix = np.zeros((2, 3, 4), dtype=np.float32), MixedRadix(primes_of(2))
        for wrong, sizes in ((digits[:1], 3), (digits, 2)):
            with pytest.raises(ValueError, match="do not fit"):
                COMPILED.nearest(wrong, radix, np.ones(sizes, dtype=np.int64), 1e-12)

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

    def bytes_of(found: Compared) -> list[bytes]:
        return [getattr(found, name).tobytes() for name in KINDS]

    data = {seed: radix.digits(reduced("anything", (3, 20, 800), MODULI[-1], seed)) for seed in (1, 2)}
    for seed, digits in data.items():
        right[seed] = bytes_of(NUMPY.nearest(digits, radix, sizes, 1e-12))

    def work(seed: int) -> None:
        own = CompiledKernels()
        for _ in range(200):
            wrong.append(bytes_of(own.nearest(data[seed], radix, sizes, 1e-12)) != right[seed])

    threads = [threading.Thread(target=work, args=(seed,)) for seed in data]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(wrong) == 400
    assert not any(wrong)
