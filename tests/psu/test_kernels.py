"""Both kernels against Python integers, at block edges and extreme values; they refuse what would not fit."""

import numpy as np
import pytest
from support.union import random_elements

from secfc.psu import roles
from secfc.psu.compiled import CompiledUnionKernels
from secfc.psu.kernels import UnionKernels
from secfc.psu.prime import Elements, P


def integers(x: Elements) -> np.ndarray:
    return x.astype(object)


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 7, 511), (2, 8, 512), (5, 9, 513), (2, 30, 1100)])
def test_matmul_is_that_of_integers(kernels: UnionKernels, shape: tuple[int, int, int]) -> None:
    q, c, n = shape
    a, x = random_elements((q, c), 1), random_elements((c, n), 2)
    assert (integers(kernels.matmul(a, x)) == integers(a) @ integers(x) % P).all()


@pytest.mark.parametrize("terms", [1, 7, 8, 9, 15, 40])
def test_sums_of_the_largest_products_do_not_overflow(kernels: UnionKernels, terms: int) -> None:
    a = np.full((2, terms), P - 1, dtype=np.uint64)
    x = np.full((terms, 5), P - 1, dtype=np.uint64)
    assert (kernels.matmul(a, x) == terms % P).all()  # (-1)(-1) summed
    series, weights = np.full((3, 2 * terms), P - 1, dtype=np.uint64), np.full((3, terms), P - 1, np.uint64)
    assert (kernels.correlate(series, weights, terms + 1) == terms).all()


def test_correlate_is_that_of_integers(kernels: UnionKernels) -> None:
    series, weights = random_elements((4, 95), 3), random_elements((4, 48), 4)
    expected = [
        [sum(int(w) * int(s) for w, s in zip(weights[b], series[b, k:], strict=False)) % P for k in range(48)]
        for b in range(4)
    ]
    assert kernels.correlate(series, weights, 48).tolist() == expected


def test_additions_are_those_of_integers(kernels: UnionKernels) -> None:
    a, x = random_elements((3,), 5), random_elements((9,), 6)
    total, flat = random_elements((3, 9), 7), random_elements((9,), 8)
    expected = (integers(total) + np.outer(integers(a), integers(x))) % P
    kernels.add_outer(a, x, total)
    assert (integers(total) == expected).all()
    expected = (integers(flat) + integers(x)) % P
    x.flags.writeable = False  # as in received bytes
    kernels.add_outer(a, x, total.copy())
    kernels.add_into(x, flat)
    assert (integers(flat) == expected).all()


@pytest.mark.parametrize("tokens", [0, 1, 40])
def test_moments_add_to_what_is_there_in_any_order_of_bins(kernels: UnionKernels, tokens: int) -> None:
    bins = np.random.default_rng(0).integers(0, 4, tokens)
    poles, residues = random_elements((tokens,), 9), random_elements((tokens,), 10)
    out = random_elements((5, 6), 11)
    expected = integers(out)
    for b, e, c in zip(bins, poles.tolist(), residues.tolist(), strict=True):
        expected[b] += [c * pow(e, k, P) for k in range(6)]
    kernels.moments(poles, residues, bins, out)
    assert (integers(out) == expected % P).all()


class TestPoles:
    @pytest.mark.parametrize("most", [1, 2, 5, 24])
    def test_every_number_of_poles_up_to_the_most_is_found(self, kernels: UnionKernels, most: int) -> None:
        for count in range(most + 1):
            poles = np.sort(random_elements((count,), 12 + count))
            series = np.zeros((1, 2 * most), dtype=np.uint64)
            residues = random_elements((count,), 40 + count)
            kernels.moments(poles, residues, np.zeros(count, dtype=np.int64), series)
            found, counts = kernels.poles(series, most)
            assert counts.tolist() == [count]
            assert found[0, :count].tolist() == poles.tolist()

    @pytest.mark.parametrize("extra", [1, 2, 10, 30])
    def test_a_bin_with_more_is_overfull(self, kernels: UnionKernels, extra: int) -> None:
        count = 24 + extra
        series = np.zeros((1, 48), dtype=np.uint64)
        kernels.moments(
            random_elements((count,), 1),
            random_elements((count,), 2),
            np.zeros(count, dtype=np.int64),
            series,
        )
        assert kernels.poles(series, 24)[1].tolist() == [-1]

    def test_poles_at_the_ends_of_the_field_are_found(self, kernels: UnionKernels) -> None:
        poles = np.array([1, 2, P - 2, P - 1], dtype=np.uint64)
        series = np.zeros((1, 8), dtype=np.uint64)
        kernels.moments(poles, random_elements((4,), 1), np.zeros(4, dtype=np.int64), series)
        assert kernels.poles(series, 4)[0][0].tolist() == poles.tolist()

    def test_a_series_that_is_no_sum_of_simple_fractions_has_none(self, kernels: UnionKernels) -> None:
        double = [k * pow(5, k, P) % P for k in range(8)]  # a double pole at 5
        impulse = [1] + [0] * 7  # a pole at 0, which no token has
        series = np.array([double, impulse], dtype=np.uint64)
        assert kernels.poles(series, 4)[1].tolist() == [-1, -1]

    def test_both_kernels_say_the_same_of_random_series(self) -> None:
        series = random_elements((20, 6), 3)
        fast, plain = CompiledUnionKernels().poles(series, 3), UnionKernels().poles(series, 3)
        assert fast[1].tolist() == plain[1].tolist()
        for b, count in enumerate(plain[1]):
            assert fast[0][b, : max(count, 0)].tolist() == plain[0][b, : max(count, 0)].tolist()
        assert {-1, 3} >= set(plain[1].tolist())


class TestRefusals:
    def test_shapes_that_do_not_fit_never_reach_compiled_code(self) -> None:
        compiled = CompiledUnionKernels()
        x = random_elements((4, 4), 1)
        with pytest.raises(ValueError, match="do not multiply"):
            compiled.matmul(x, x[:3])
        with pytest.raises(ValueError, match="differ"):
            compiled.add_into(x[0], x.reshape(-1))
        with pytest.raises(ValueError, match="do not fit"):
            compiled.add_outer(x[0], x[0], x[:2])
        with pytest.raises(ValueError, match="do not fit"):
            compiled.correlate(x, x, 4)
        with pytest.raises(ValueError, match="outside"):
            compiled.moments(x[0], x[0], np.array([0, 1, 2, 4]), x)


def test_small_unions_get_numpy_and_large_ones_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SECFC_KERNELS", raising=False)
    assert roles.choose(1000).name == "numpy"
    assert roles.choose(1 << 17).name == "compiled"
    monkeypatch.setenv("SECFC_KERNELS", "numpy")
    assert roles.choose(1 << 30).name == "numpy"
