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
from secfc.field.primes import PRIMES, Prime
from secfc.field.residues import canonical, reduce
from secfc.lagrange.basis import lagrange_basis
from secfc.lagrange.points import EvaluationPoints, evaluation_points
from secfc.lagrange.sharing import recover, segment_width, share, split

laws = tries()
SCHEMES = [(3, 1, 1), (5, 1, 2), (5, 2, 1), (11, 4, 2), (9, 1, 4), (12, 3, 3)]
"""(n, t, ell)"""

each_scheme = pytest.mark.parametrize(("n", "t", "ell"), SCHEMES)
each_prime = pytest.mark.parametrize("prime", PRIMES, ids=lambda prime: str(prime.p))


class Scheme:
    def __init__(self, prime: Prime, *, n: int, t: int, ell: int) -> None:
        self.p, self.n, self.t, self.ell = prime.p, n, t, ell
        self.points: EvaluationPoints = evaluation_points(prime, n=n, coded=ell + t)
        self.encoding = lagrange_basis(self.points.beta, self.points.alpha, self.p)
        self.rng = np.random.default_rng(n * 100 + t * 10 + ell)

    def residues(self, *shape: int) -> Floats:
        half = self.p // 2
        return self.rng.integers(-half, half + 1, shape).astype(np.float64)

    def share(self, segments: Floats, masks: Floats) -> Floats:
        return share(segments, masks, self.encoding, self.p)

    def recover(self, shares: Floats, clients: list[int]) -> Floats:
        alpha = [self.points.alpha[j] for j in clients]
        basis = lagrange_basis(alpha, self.points.beta[: self.ell], self.p)
        return recover(shares[clients], basis, self.p)


def congruent(x: Floats, y: Floats, p: int) -> bool:
    assert np.abs(x).max(initial=0) <= p / 2 + 4
    return np.array_equal(canonical(reduce(x, p), p), canonical(reduce(y, p), p))


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


class TestShare:
    def test_line_is_as_computed_by_hand(self) -> None:
        # n = 3, t = ell = 1, beta = (1, 2), alpha = (3, 4, 5): f(x) = 10 + (x - 1)(7 - 10).
        p = PRIMES[0].p
        basis = lagrange_basis([1, 2], [3, 4, 5], p)
        shares = share(np.array([[[10.0]]]), np.array([[[7.0]]]), basis, p)
        assert shares.ravel().tolist() == [4.0, 1.0, -2.0]

    @each_prime
    @each_scheme
    def test_equals_the_lagrange_polynomial_of_galois(self, prime: Prime, n: int, t: int, ell: int) -> None:
        scheme = Scheme(prime, n=n, t=t, ell=ell)
        p = scheme.p
        field = galois.GF(p, primitive_element=prime.generator, compile="python-calculate")
        segments, masks = scheme.residues(ell, 2, 2), scheme.residues(t, 2, 2)
        shares = scheme.share(segments, masks)
        values = np.concatenate([segments, masks]).astype(np.int64) % p
        for c, i in np.ndindex(2, 2):
            polynomial = galois.lagrange_poly(field(scheme.points.beta), field(values[:, c, i]))
            expected = polynomial(field(scheme.points.alpha))
            assert canonical(shares[:, c, i], p).tolist() == expected.tolist()

    @each_prime
    @each_scheme
    def test_any_segments_at_the_largest_magnitude_are_encoded_exactly(
        self, prime: Prime, n: int, t: int, ell: int
    ) -> None:
        scheme = Scheme(prime, n=n, t=t, ell=ell)
        top = (scheme.p + 8) // 2
        values = np.where(scheme.rng.integers(0, 2, (ell + t, 4)), top, -top)
        shares = scheme.share(
            values[:ell, np.newaxis].astype(np.float64), values[ell:, np.newaxis].astype(np.float64)
        )
        basis = scheme.encoding.astype(np.int64).astype(object)
        expected = (basis @ values.astype(object)) % scheme.p
        assert (canonical(shares[:, 0], scheme.p).astype(np.int64) == expected).all()

    def test_more_than_128_coded_values_are_encoded_exactly(self) -> None:
        scheme = Scheme(PRIMES[0], n=399, t=150, ell=50)
        segments, masks = scheme.residues(50, 1, 2), scheme.residues(150, 1, 2)
        shares = scheme.share(segments, masks)
        values = np.concatenate([segments, masks])[:, 0].astype(np.int64).astype(object)
        expected = scheme.encoding.astype(np.int64).astype(object) @ values % scheme.p
        assert (canonical(shares[:, 0], scheme.p).astype(np.int64) == expected).all()

    def test_no_rows_give_empty_shares(self) -> None:
        scheme = Scheme(PRIMES[0], n=5, t=1, ell=2)
        assert scheme.share(np.zeros((2, 3, 0)), np.zeros((1, 3, 0))).shape == (5, 3, 0)

    def test_arguments_are_left_alone(self) -> None:
        scheme = Scheme(PRIMES[0], n=5, t=1, ell=2)
        x, r = scheme.residues(2, 2, 2), scheme.residues(1, 2, 2)
        before = x.copy(), r.copy(), scheme.encoding.copy()
        scheme.share(x, r)
        assert all(np.array_equal(a, b) for a, b in zip(before, (x, r, scheme.encoding), strict=True))


class TestRecover:
    @pytest.mark.parametrize("prime", PRIMES[:3], ids=lambda prime: str(prime.p))
    @each_scheme
    def test_any_ell_plus_t_shares_give_the_segments(self, prime: Prime, n: int, t: int, ell: int) -> None:
        scheme = Scheme(prime, n=n, t=t, ell=ell)
        segments = scheme.residues(ell, 2, 3)
        shares = scheme.share(segments, scheme.residues(t, 2, 3))
        subsets = list(combinations(range(n), ell + t))
        chosen = [subsets[0], subsets[-1], *scheme.rng.permutation(subsets)[:8].tolist()]
        for clients in chosen:
            assert congruent(scheme.recover(shares, list(clients)), segments, scheme.p)

    @each_scheme
    def test_more_shares_than_needed_give_the_segments(self, n: int, t: int, ell: int) -> None:
        scheme = Scheme(PRIMES[0], n=n, t=t, ell=ell)
        segments = scheme.residues(ell, 1, 2)
        shares = scheme.share(segments, scheme.residues(t, 1, 2))
        assert congruent(scheme.recover(shares, list(range(n))), segments, scheme.p)

    @laws
    @given(
        data=st.data(),
        scheme=st.sampled_from(SCHEMES),
        prime=st.sampled_from(PRIMES),
        m=st.integers(0, 3),
        d=st.integers(1, 9),
    )
    def test_recovers_rows_of_any_width(
        self, data: st.DataObject, scheme: tuple[int, int, int], prime: Prime, m: int, d: int
    ) -> None:
        n, t, ell = scheme
        coded = Scheme(prime, n=n, t=t, ell=ell)
        half = prime.p // 2
        values = data.draw(st.lists(st.integers(-half, half), min_size=m * d, max_size=m * d))
        clients = data.draw(st.permutations(range(n)))[: ell + t]
        segments = split(np.array(values, dtype=np.float64).reshape(m, d), ell)
        masks = MaskSource(bytes(32)).uniform(prime.p, (t, *segments.shape[1:]))
        recovered = coded.recover(coded.share(segments, masks), clients)
        assert congruent(recovered, segments, prime.p)
