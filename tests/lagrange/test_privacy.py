"""Any t shares reveal nothing: exhaustively at tiny primes, by rank and by statistics at the real ones."""

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from support.rank import rank
from support.sweeps import every

from secfc.crypto.randomness import MaskSource
from secfc.field.array_types import Floats
from secfc.field.packing import unpack
from secfc.field.primes import PRIMES, Prime, primes_of
from secfc.kernels import choose
from secfc.lagrange.basis import EvaluationPoints, evaluation_points, lagrange_basis
from secfc.protocol.job.making import make_job
from secfc.sharing.codewords import Codewords, dealing_matrix
from secfc.sharing.proof import COVERS, with_covers

KEY = bytes(range(32))


class Tiny:
    """Clients at a small prime, at which every mask can be tried; points chosen by hand."""

    def __init__(self, p: int, *, t: int, ell: int) -> None:
        self.p, self.t, self.ell, self.n = p, t, ell, 2 * (ell + t) - 1
        self.beta = tuple(range(ell))
        self.alpha = tuple(range(ell + t, ell + t + self.n))
        assert max(self.alpha) < p
        points = EvaluationPoints(beta=self.beta, alpha=self.alpha)
        self.encoding = dealing_matrix(points, p, ell=ell, masks=t) % p
        self.masks = np.array(list(product(range(p), repeat=t)))
        self.data = list(product(range(p), repeat=ell))

    def shares(self, data: tuple[int, ...]) -> Floats:
        """Canonical shares of one data value under every mask, shape (n, p**t)."""
        segments = np.repeat(np.array(data)[:, np.newaxis], len(self.masks), axis=1)
        return self.encoding @ np.concatenate([segments, self.masks.T]) % self.p

    def view(self, data: tuple[int, ...], clients: tuple[int, ...]) -> Counter[tuple[float, ...]]:
        """How often these clients together see each tuple of shares."""
        return Counter(map(tuple, self.shares(data)[list(clients)].T.tolist()))


TINY = [
    pytest.param(Tiny(11, t=2, ell=1), id="p=11,t=2,ell=1"),
    pytest.param(Tiny(13, t=2, ell=1), id="p=13,t=2,ell=1"),
    pytest.param(Tiny(11, t=1, ell=2), id="p=11,t=1,ell=2"),
    pytest.param(Tiny(13, t=1, ell=2), id="p=13,t=1,ell=2"),
    pytest.param(Tiny(13, t=2, ell=2), id="p=13,t=2,ell=2"),
]
each_tiny = pytest.mark.parametrize("tiny", TINY)


def chi_square(counts: np.ndarray) -> float:
    """Standardised chi-square statistic against equal counts: mean 0, deviation 1."""
    expected = counts.sum() / counts.size
    degrees = counts.size - 1
    return float((((counts - expected) ** 2).sum() / expected - degrees) / (2 * degrees) ** 0.5)


class TestExhaustively:
    @each_tiny
    def test_any_t_shares_are_uniform_whatever_the_data(self, tiny: Tiny) -> None:
        for data in tiny.data:
            shares = tiny.shares(data)
            for clients in combinations(range(tiny.n), tiny.t):
                seen = np.zeros((tiny.p,) * tiny.t, dtype=int)
                np.add.at(seen, tuple(shares[list(clients)].astype(int)), 1)
                assert (seen == 1).all()

    @each_tiny
    def test_any_t_shares_are_distributed_alike_for_different_data(self, tiny: Tiny) -> None:
        some = tiny.data[:: max(1, len(tiny.data) // 12)]
        for clients in combinations(range(tiny.n), tiny.t):
            first = tiny.view(some[0], clients)
            assert all(tiny.view(data, clients) == first for data in some)

    @each_tiny
    def test_fewer_than_t_shares_are_uniform_too(self, tiny: Tiny) -> None:
        for client in range(tiny.n):
            counts = tiny.view(tiny.data[-1], (client,))
            assert set(counts.values()) == {tiny.p ** (tiny.t - 1)}
            assert len(counts) == tiny.p

    @each_tiny
    def test_any_t_plus_one_shares_are_not_uniform(self, tiny: Tiny) -> None:
        for clients in combinations(range(tiny.n), tiny.t + 1):
            assert len(tiny.view(tiny.data[0], clients)) == tiny.p**tiny.t < tiny.p ** (tiny.t + 1)

    @each_tiny
    def test_any_t_plus_one_shares_depend_on_the_data(self, tiny: Tiny) -> None:
        # Two data values that differ only in the first segment: no tuple of t + 1 shares fits both.
        one, other = (0,) * tiny.ell, (1,) + (0,) * (tiny.ell - 1)
        for clients in combinations(range(tiny.n), tiny.t + 1):
            assert not tiny.view(one, clients).keys() & tiny.view(other, clients).keys()

    @each_tiny
    def test_any_ell_plus_t_shares_recover_every_datum(self, tiny: Tiny) -> None:
        for data in tiny.data:
            shares = tiny.shares(data)
            for clients in combinations(range(tiny.n), min(tiny.n, tiny.ell + tiny.t)):
                basis = lagrange_basis([tiny.alpha[j] for j in clients], tiny.beta[: tiny.ell], tiny.p)
                recovered = basis @ shares[list(clients)] % tiny.p
                assert (recovered == np.array(data)[:, np.newaxis]).all()

    def test_masks_used_twice_do_show_the_difference_of_the_data(self) -> None:
        # Reason for using a mask only once: otherwise one client alone distinguishes equal rows from
        # different ones.
        tiny = Tiny(11, t=2, ell=1)
        difference = (tiny.shares((3,)) - tiny.shares((4,))) % tiny.p
        assert all(np.unique(row).size == 1 and row[0] != 0 for row in difference)


class TestRank:
    @pytest.mark.parametrize(("n", "t", "ell"), [(11, 4, 2), (11, 1, 5), (11, 5, 1), (9, 3, 2)])
    def test_masks_of_any_t_clients_are_an_invertible_image(self, n: int, t: int, ell: int) -> None:
        code = Codewords(n=n, t=t, ell=ell, primes=primes_of(len(PRIMES)))
        for matrix, p in zip(code._dealing.astype(np.int64), code.primes, strict=True):
            masks = matrix[:, ell : ell + t].tolist()
            for clients in combinations(range(n), t):
                assert rank([masks[j] for j in clients], p) == t

    @pytest.mark.parametrize("prime", PRIMES, ids=lambda prime: str(prime.p))
    def test_any_ell_plus_t_clients_determine_the_polynomial(self, prime: Prime) -> None:
        points = evaluation_points(prime, n=11, coded=6)
        basis = lagrange_basis(points.beta, points.alpha, prime.p).astype(np.int64).tolist()
        for clients in combinations(range(11), 6):
            assert rank([basis[j] for j in clients], prime.p) == 6

    def test_elimination_finds_a_singular_matrix(self) -> None:
        assert rank([[1, 2], [2, 4]], 11) == 1
        assert rank([[0, 1], [1, 0]], 11) == 2
        assert rank([[3, 1], [1, 4]], 11) == 1


class TestStatistics:
    M = 40_000
    DATA = (0.0, 1.0, 8_000_000.0, -8_000_000.0)

    def sharing(self, value: float, index: int) -> Floats:
        """Canonical shares of M equal rows of one column, modulo a prime: n = 5, t = 2, ell = 1."""
        code = Codewords(n=5, t=2, ell=1, primes=primes_of(index + 1))
        masks = MaskSource(bytes([index]) * 32).uniform(PRIMES[index].p, (2, self.M))
        values = np.zeros((index + 1, 3, self.M))
        values[index] = np.concatenate([np.full((1, self.M), value), masks])
        return unpack(code.deal(values, choose(1))[:, index])

    @every("index", range(len(PRIMES)))
    @every("value", DATA)
    def test_each_share_of_equal_rows_is_uniform(self, value: float, index: int) -> None:
        for plane in self.sharing(value, index):
            counts, _ = np.histogram(plane, bins=128, range=(0, PRIMES[index].p))
            assert abs(chi_square(counts)) < 6

    @pytest.mark.parametrize("value", DATA)
    def test_each_pair_of_shares_of_equal_rows_is_uniform(self, value: float) -> None:
        p, shares = PRIMES[0].p, self.sharing(value, 0)
        for one, other in combinations(range(5), 2):
            counts, _, _ = np.histogram2d(shares[one], shares[other], bins=16, range=[(0, p), (0, p)])
            assert abs(chi_square(counts)) < 6

    def test_low_bits_of_shares_are_uniform(self) -> None:
        for plane in self.sharing(5.0, 0):
            assert abs(chi_square(np.bincount(plane.astype(np.int64) % 256, minlength=256))) < 6

    def test_three_shares_of_equal_rows_are_recognised_as_dependent(self) -> None:
        # The same statistic on what t + 1 clients can compute, the datum itself: one bucket.
        code = Codewords(n=5, t=2, ell=1, primes=primes_of(1))
        shares = self.sharing(8_000_000.0, 0)
        data = code.open({j: shares[j - 1][np.newaxis] for j in (1, 2, 3)}, wide=False)
        counts, _ = np.histogram(data, bins=128, range=(0, PRIMES[0].p))
        assert chi_square(counts) > 1000

    def dealt(self, value: float, parts: int = 1) -> dict[int, list[Floats]]:
        """Shares of M equal rows that an owner deals, for each recipient and prime, all parts together."""
        job = make_job(n=5, k=2, t=2, ell=1, d=1, bound=1.0, precision=28, disclosure="coded")
        code, masks = Codewords(n=5, t=2, ell=1, primes=primes_of(job.residues(self.M))), MaskSource(KEY)
        found = []
        for _ in range(parts):
            segments = code.segments(np.full((self.M // parts, 1), value), job.unit)
            found.append(unpack(code.deal(with_covers(code, segments, masks), choose(1))))
        planes = np.concatenate([one[..., :-COVERS] for one in found], axis=-1)
        return {j: list(planes[j - 1]) for j in range(1, 6)}

    @pytest.mark.parametrize("value", [0.0, 1.0, -0.7])
    def test_shares_that_an_owner_deals_are_uniform(self, value: float) -> None:
        for planes in self.dealt(value).values():
            for plane, prime in zip(planes, PRIMES, strict=False):
                counts, _ = np.histogram(plane, bins=128, range=(0, prime.p))
                assert abs(chi_square(counts)) < 6

    def test_pairs_of_shares_that_an_owner_deals_are_uniform_across_primes_and_recipients(self) -> None:
        sent = self.dealt(1.0)
        assert len(sent[2]) > 1
        views = [(plane, prime.p) for j in (2, 3) for plane, prime in zip(sent[j], PRIMES, strict=False)]
        for (x, p), (y, q) in combinations(views, 2):
            counts, _, _ = np.histogram2d(x, y, bins=16, range=[(0, p), (0, q)])
            assert abs(chi_square(counts)) < 6

    def test_shares_in_different_parts_use_different_masks(self) -> None:
        # Equal rows at equal places of two parts: if masks were used twice, their shares would be equal.
        for planes in self.dealt(1.0, parts=2).values():
            for plane, prime in zip(planes, PRIMES, strict=False):
                one, other = np.split(plane, 2)
                assert (one == other).mean() < 0.001
                counts, _ = np.histogram((one - other) % prime.p, bins=128, range=(0, prime.p))
                assert abs(chi_square(counts)) < 6
