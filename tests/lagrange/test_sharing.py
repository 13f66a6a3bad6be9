"""Segments, shares and recovery: the laws of the code, and galois as an independent reference."""

from itertools import combinations

import galois
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sweeps import tries

from secfc.crypto.randomness import MaskSource
from secfc.field.array_types import Floats
from secfc.field.packing import unpack
from secfc.field.primes import PRIMES, primes_of
from secfc.kernels import choose
from secfc.lagrange.basis import evaluation_points
from secfc.sharing.codewords import Codewords, segment_width, split

laws = tries()
SCHEMES = [(3, 1, 1), (5, 1, 2), (5, 2, 1), (11, 4, 2), (9, 1, 4), (12, 3, 3)]
"""(n, t, ell)"""

each_scheme = pytest.mark.parametrize(("n", "t", "ell"), SCHEMES)
KERNELS = choose(0)


def code_of(n: int, t: int, ell: int) -> Codewords:
    return Codewords(n=n, t=t, ell=ell, primes=primes_of(len(PRIMES)))


def values_of(code: Codewords, count: int, size: int) -> Floats:
    """Reduced residues modulo each prime, shape (P, count, size), some of the largest magnitude."""
    rng = np.random.default_rng(code.n * 100 + code.t * 10 + code.ell)
    tops = [(p + 8) // 2 for p in code.primes]
    inner = [rng.integers(-top, top + 1, (count, size)) for top in tops]
    edges = [rng.choice([-top, top], (count, size)) for top in tops]
    return np.where(rng.random((count, size)) < 0.5, np.array(inner), np.array(edges)).astype(np.float64)


def dealt(code: Codewords, values: Floats) -> dict[int, Floats]:
    """Each holder's shares, shape (P, size), canonical."""
    return {j: unpack(one) for j, one in enumerate(code.deal(values, KERNELS), 1)}


class TestSplit:
    def test_whole_segments_can_be_padding_when_columns_run_out(self) -> None:
        # d = 5, ell = 4: the width is 2, and the fourth segment is empty.
        assert split(np.arange(1.0, 6.0).reshape(1, 5), 4).tolist() == [
            [[1], [2]],
            [[3], [4]],
            [[5], [0]],
            [[0], [0]],
        ]

    @pytest.mark.parametrize(
        ("d", "ell", "width"), [(6, 2, 3), (7, 2, 4), (1, 5, 1), (784, 4, 196), (785, 4, 197)]
    )
    def test_width_is_rounded_up(self, d: int, ell: int, width: int) -> None:
        assert segment_width(d, ell) == width

    @laws
    @given(m=st.integers(0, 4), d=st.integers(1, 12), ell=st.integers(1, 15))
    def test_segments_side_by_side_are_the_row_and_zeros(self, m: int, d: int, ell: int) -> None:
        rows = np.arange(1.0, m * d + 1).reshape(m, d)
        segments = split(rows, ell)
        assert segments.shape == (ell, segment_width(d, ell), m)
        joined = np.concatenate(list(segments))
        assert np.array_equal(joined[:d].T, rows)
        assert not joined[d:].any()

    def test_argument_is_not_shared(self) -> None:
        rows = np.ones((2, 3))
        split(rows, 1)[:] = 5.0
        assert np.array_equal(rows, np.ones((2, 3)))


class TestShares:
    def test_a_line_is_as_computed_by_hand(self) -> None:
        # n = 3, t = ell = 1: f(x) = 10 + 7 (x - beta).
        code, p = Codewords(n=3, t=1, ell=1, primes=primes_of(1)), PRIMES[0].p
        points = evaluation_points(PRIMES[0], n=3, coded=2)
        found = dealt(code, np.array([[[10.0], [7.0]]]))
        expected = [(10 + 7 * (a - points.beta[0])) % p for a in points.alpha]
        assert [int(found[j][0, 0]) for j in (1, 2, 3)] == expected

    @each_scheme
    def test_they_are_values_of_the_polynomial_of_galois(self, n: int, t: int, ell: int) -> None:
        code = code_of(n, t, ell)
        values = values_of(code, ell + t, 2)
        found = dealt(code, values)
        for index, prime in enumerate(PRIMES):
            field = galois.GF(prime.p, primitive_element=prime.generator, compile="python-calculate")
            points = evaluation_points(prime, n=n, coded=ell + t)
            beta = field(points.beta[:ell])
            for at in range(2):
                own = values[index, :, at].astype(np.int64) % prime.p
                masks = galois.Poly(field(own[ell:][::-1]))
                polynomial = galois.lagrange_poly(beta, field(own[:ell])) + galois.Poly.Roots(beta) * masks
                shares = [int(found[j][index, at]) for j in range(1, n + 1)]
                assert shares == polynomial(field(points.alpha)).tolist()

    @each_scheme
    def test_zeros_are_shared_with_twice_the_degree(self, n: int, t: int, ell: int) -> None:
        code = code_of(n, t, ell)
        packed = code.deal_zeros(values_of(code, code.wide - ell, 3), KERNELS)
        shares = {j: unpack(one) for j, one in enumerate(packed, 1)}
        assert not code.open(shares, wide=True).any()
        assert code.open({j: shares[j] for j in list(shares)[: code.narrow]}, wide=False).any()

    def test_no_rows_give_empty_shares(self) -> None:
        code = code_of(5, 1, 2)
        assert code.deal(np.zeros((len(PRIMES), 3, 0)), KERNELS).shape == (5, len(PRIMES), 0)


class TestRecovery:
    @each_scheme
    def test_any_ell_plus_t_shares_give_the_segments(self, n: int, t: int, ell: int) -> None:
        code = code_of(n, t, ell)
        values = values_of(code, ell + t, 3)
        shares, subsets = dealt(code, values), list(combinations(range(1, n + 1), ell + t))
        expected = values[:, :ell] % code.moduli
        for clients in (subsets[0], subsets[-1], *subsets[:: max(1, len(subsets) // 8)]):
            assert np.array_equal(code.open({j: shares[j] for j in clients}, wide=False), expected)

    @each_scheme
    def test_weights_of_any_holders_give_the_sum_of_the_segments_of_a_product(
        self, n: int, t: int, ell: int
    ) -> None:
        code = code_of(n, t, ell)
        values = values_of(code, ell + t, 2)
        shares, moduli = dealt(code, values), code.moduli[..., 0].astype(np.int64).astype(object)
        squares = {j: one.astype(np.int64).astype(object) ** 2 for j, one in shares.items()}
        expected = (values[:, :ell].astype(np.int64).astype(object) ** 2).sum(axis=1) % moduli
        for holders in (tuple(range(1, code.wide + 1)), tuple(range(n - code.wide + 1, n + 1))):
            weights = code.weights(holders).astype(np.int64).astype(object)
            found = sum(weights[:, at : at + 1] * squares[j] for at, j in enumerate(holders))
            assert (found % moduli == expected).all()

    @laws
    @given(
        data=st.data(),
        scheme=st.sampled_from(SCHEMES),
        m=st.integers(0, 3),
        d=st.integers(1, 9),
    )
    def test_recovers_rows_of_any_width(
        self, data: st.DataObject, scheme: tuple[int, int, int], m: int, d: int
    ) -> None:
        n, t, ell = scheme
        code, half = Codewords(n=n, t=t, ell=ell, primes=primes_of(1)), PRIMES[0].p // 2
        values = data.draw(st.lists(st.integers(-half, half), min_size=m * d, max_size=m * d))
        clients = data.draw(st.permutations(range(1, n + 1)))[: ell + t]
        segments = split(np.array(values, dtype=np.float64).reshape(m, d), ell).reshape(1, ell, -1)
        masks = MaskSource(bytes(32)).uniform(PRIMES[0].p, (1, t, segments.shape[2]))
        shares = dealt(code, np.concatenate([segments, masks], axis=1))
        found = code.open({j: shares[j] for j in clients}, wide=False)
        assert np.array_equal(found, segments % PRIMES[0].p)
