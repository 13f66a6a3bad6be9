"""Masked answers: any R of them decode to D + r, and what E0 with colluders does not know is uniform."""

from itertools import combinations, product

import numpy as np
import pytest
from support.kernel_samples import BOTH, each_kernels
from support.rank import rank

from secfc.comparing.dealer_keys import Keys
from secfc.comparing.masking import BearerMasks, MaskDealer, add_dealt
from secfc.crypto.keystream import ResidueStream
from secfc.errors import MessageError, SecFCError
from secfc.field.packing import PackedResidues, pack, unpack
from secfc.field.primes import PRIMES, primes_of
from secfc.field.residues import centre
from secfc.lagrange.basis import lagrange_basis
from secfc.lagrange.points import evaluation_points
from secfc.lagrange.reed_solomon import ReedSolomon

COUNT = 3
PRIMES_OF_ROUND = primes_of(COUNT)


def keys(client: int) -> Keys:
    return Keys(bytes([client]) * 32, run=bytes(16), round_=1, phase="iterate")


class Round:
    """Answers of random polynomials of degree R - 1, masked in parts.

    Parameters
    ----------
    n, ell, t : int
    parts : list of int
        Rows of each part.
    """

    def __init__(self, n, ell, t, parts, *, columns=2, kernels=BOTH[0]):
        self.n, self.ell, self.t, self.kernels = n, ell, t, kernels
        self.recovery, rows = 2 * (ell + t) - 1, sum(parts)
        rng = np.random.default_rng(n + rows)
        self.points = [evaluation_points(prime, n=n, coded=ell + t) for prime in PRIMES[:COUNT]]
        coefficients = [rng.integers(0, p, (self.recovery, columns, rows)) for p in PRIMES_OF_ROUND]
        self.plain = np.array(
            [
                [evaluate(one, alpha, p) for alpha in points.alpha]
                for one, points, p in zip(coefficients, self.points, PRIMES_OF_ROUND, strict=True)
            ]
        )  # (P, n, columns, rows)
        self.distances = [
            sum(evaluate(one, beta, p) for beta in points.beta[:ell]) % p
            for one, points, p in zip(coefficients, self.points, PRIMES_OF_ROUND, strict=True)
        ]
        bearers = range(1, self.recovery + 1)
        spares = range(self.recovery + 1, n + 1)
        self.clients = range(1, n + 1)
        dealer = MaskDealer(
            weights=self.weights,
            n=n,
            ell=ell,
            t=t,
            bearers=bearers,
            spares=spares,
            keys={client: keys(client) for client in bearers},
            primes=PRIMES_OF_ROUND,
            kernels=kernels,
        )
        own = {
            client: BearerMasks(keys=keys(client), primes=PRIMES_OF_ROUND, kernels=kernels)
            for client in bearers
        }
        masked, total, start = {client: [] for client in range(1, n + 1)}, [], 0
        for part in parts:
            dealt = dealer.deal(columns=columns, rows=part)
            total.append(integers(dealt.total))
            for client, found in masked.items():
                answer = packed(self.plain[:, client - 1, :, start : start + part])
                if client in own:
                    own[client].add(answer)
                else:
                    add_dealt(answer, dealt.spares[client], primes=PRIMES_OF_ROUND, kernels=kernels)
                found.append(integers(answer))
            start += part
        self.masked = {client: np.concatenate(found, axis=2) for client, found in masked.items()}
        self.total = np.concatenate(total, axis=2)

    def weights(self, clients):
        """The weights with which answers of R clients add up to the sum over all segments, (primes, R)."""
        found = [
            np.array(lagrange_basis([one.alpha[j - 1] for j in clients], one.beta[: self.ell], p)).sum(axis=0)
            % p
            for one, p in zip(self.points, PRIMES_OF_ROUND, strict=True)
        ]
        return np.array(found)

    def decoded(self, clients):
        """What masked answers of R clients decode to, modulo each prime."""
        for index, (weights, p) in enumerate(zip(self.weights(clients), PRIMES_OF_ROUND, strict=True)):
            parts = [
                int(w) * self.masked[j][index] % p for j, w in zip(clients, weights.tolist(), strict=True)
            ]
            yield sum(parts) % p


def evaluate(coefficients, at, p):
    value = np.zeros_like(coefficients[0])
    for one in coefficients[::-1]:
        value = (value * at + one) % p
    return value


def packed(residues) -> PackedResidues:
    planes = np.array(
        [pack(plane.astype(float), p) for plane, p in zip(residues, PRIMES_OF_ROUND, strict=True)]
    )
    return PackedResidues(shape=residues.shape, payload=bytearray(planes.tobytes()))


def integers(residues: PackedResidues):
    return unpack(residues.planes()).astype(np.int64)


SETTINGS = [(3, 1, 1), (5, 1, 1), (7, 2, 1), (8, 1, 3), (9, 3, 1), (11, 2, 2)]


@pytest.mark.some(4)
@each_kernels
@pytest.mark.parametrize(("n", "ell", "t"), SETTINGS)
def test_any_r_masked_answers_decode_to_the_distance_and_r(kernels, n, ell, t):
    found = Round(n, ell, t, [5, 1, 9], kernels=kernels)
    expected = [(d + r) % p for d, r, p in zip(found.distances, found.total, PRIMES_OF_ROUND, strict=True)]
    for clients in combinations(found.clients, found.recovery):
        for one, decoded in zip(expected, found.decoded(clients), strict=True):
            assert np.array_equal(decoded, one)


@pytest.mark.parametrize(("n", "ell", "t"), SETTINGS[1:])
def test_masked_answers_are_a_codeword_and_a_wrong_one_is_seen(n, ell, t):
    found = Round(n, ell, t, [4])
    for index, p in enumerate(PRIMES_OF_ROUND):
        code = ReedSolomon(points=found.points[index].alpha, dimension=found.recovery, p=p)
        words = np.array([found.masked[client][index].reshape(-1) for client in range(1, n + 1)])
        assert code.contains(centre(words.astype(float), p))
        words[n - 1, 0] += 1
        assert n == found.recovery or not code.contains(centre(words.astype(float), p))


def test_long_parts_are_masked_in_blocks_and_no_run_of_masks_comes_twice():
    found = Round(3, 1, 1, [70_000, 30_000], columns=1)
    for index, p in enumerate(PRIMES_OF_ROUND):
        masks = [(found.masked[j][index] - found.plain[index, j - 1]).reshape(-1) % p for j in (1, 2, 3)]
        runs = {tuple(part) for one in masks for part in one.reshape(-1, 4).tolist()}
        assert len(runs) == 3 * 25_000
        assert all(abs(one.mean() / p - 0.5) < 5 * 12**-0.5 * 100_000**-0.5 for one in masks)
    for sums, d, r, p in zip(
        found.decoded((1, 2, 3)), found.distances, found.total, PRIMES_OF_ROUND, strict=True
    ):
        assert np.array_equal(sums, (d + r) % p)


@pytest.mark.parametrize(("n", "ell", "t"), SETTINGS)
def test_r_and_the_code_are_uniform_given_the_masks_of_colluders(n, ell, t):
    # Functionals of rho, as combinations of its values at the bearers: T's masks, and r.
    recovery, [prime] = 2 * (ell + t) - 1, PRIMES[:1]
    p, points = prime.p, evaluation_points(prime, n=n, coded=ell + t)
    alpha = points.alpha[:recovery]
    spares = points.alpha[recovery:]
    at_clients = np.eye(recovery)
    if spares:
        at_clients = np.vstack([at_clients, lagrange_basis(alpha, spares, p)])
    total = lagrange_basis(alpha, points.beta[:ell], p).sum(axis=0, keepdims=True)
    for size in range(1, recovery - ell + 1):
        for colluders in combinations(range(n), size):
            seen = at_clients[list(colluders)]
            assert rank(seen, p) == size
            assert rank(np.vstack([seen, total]), p) == size + 1
    assert t <= recovery - ell


class TestExhaustively:
    """Two rows of one column over 7, both in one set, ell = t = 1 and n = R = 3: all masks are tried."""

    P, ALPHA, BETA = 7, (2, 3, 4), (0, 1)

    @pytest.fixture(scope="class")
    @classmethod
    def views(cls):
        """For all rows, the view of an evaluator with a client, as integers: one for each choice of masks."""
        p = cls.P
        every = np.indices((p,) * 5).reshape(5, -1)
        (z_1, z_2), rho = every[:2], every[2:]
        encode = np.array(lagrange_basis(cls.BETA, cls.ALPHA, p)).astype(np.int64) % p
        decode = np.array(lagrange_basis(cls.ALPHA, cls.BETA[:1], p)).astype(np.int64)[0] % p
        found = {}
        for x in product(range(p), repeat=2):
            shares = [
                encode @ np.stack([np.full_like(z, one), z]) % p for one, z in zip(x, (z_1, z_2), strict=True)
            ]
            phi = (shares[0] + shares[1] - 2 * shares[0]) ** 2 % p
            answers = (phi + rho) % p
            y = decode @ answers % p
            assert (decode @ phi % p == (x[1] - x[0]) ** 2 % p).all()
            for client in range(3):
                held = [shares[0][client], shares[1][client], rho[client]]
                found["E0", client, x] = cls.coded([*held, *answers])
                found["E1", client, x] = cls.coded([*held, y])
                found["two", client, x] = cls.coded([y, *rho])
        return found

    @classmethod
    def coded(cls, numbers):
        code = np.zeros_like(numbers[0])
        for one in numbers:
            code = cls.P * code + one
        return np.sort(code)

    @pytest.mark.parametrize("client", range(3))
    @pytest.mark.parametrize("evaluator", ["E0", "E1"])
    def test_an_evaluator_and_a_client_hold_the_same_whatever_the_rows_are(self, views, evaluator, client):
        alike = [view for (one, j, _), view in views.items() if (one, j) == (evaluator, client)]
        assert len(alike) == self.P**2
        assert all(np.array_equal(view, alike[0]) for view in alike)

    def test_with_the_dealer_it_holds_distances(self, views):
        by_distance = {}
        for (one, client, x), view in views.items():
            if one == "two" and client == 0:
                by_distance.setdefault((x[1] - x[0]) ** 2 % self.P, []).append(view)
        assert len(by_distance) == 4
        firsts = [alike[0] for alike in by_distance.values()]
        assert all(np.array_equal(view, alike[0]) for alike in by_distance.values() for view in alike)
        assert not any(np.array_equal(a, b) for a, b in combinations(firsts, 2))


class TestRefusals:
    def test_dealt_masks_of_another_shape_are_refused(self):
        answer, masks = packed(np.zeros((3, 2, 4))), packed(np.zeros((3, 2, 5)))
        with pytest.raises(MessageError, match="masks of shape"):
            add_dealt(answer, masks, primes=PRIMES_OF_ROUND, kernels=BOTH[0])

    @each_kernels
    def test_dealt_masks_that_are_no_residues_are_refused(self, kernels):
        answer, masks = packed(np.zeros((3, 2, 4))), packed(np.zeros((3, 2, 4)))
        masks.planes()[2, 1, -3:] = 255
        before = bytes(answer.payload)
        with pytest.raises(MessageError, match="not below their prime"):
            add_dealt(answer, masks, primes=PRIMES_OF_ROUND, kernels=kernels)
        assert bytes(answer.payload) == before

    def test_a_key_serves_one_answer(self):
        ring, shape = keys(1), (COUNT, 2, 5)
        masks = BearerMasks(keys=ring, primes=PRIMES_OF_ROUND, kernels=BOTH[0])
        assert bytes(masks.next(shape).payload) != bytes(masks.next(shape).payload)
        assert list(ring.used) == [("answers", 0), ("answers", 1)]
        with pytest.raises(SecFCError, match="the key for answers 0 was used"):
            BearerMasks(keys=ring, primes=PRIMES_OF_ROUND, kernels=BOTH[0]).next(shape)

    def test_no_text_shows_masks(self):
        own = BearerMasks(keys=keys(1), primes=PRIMES_OF_ROUND, kernels=BOTH[0])
        assert repr(own) == "BearerMasks(primes=3)"
        assert repr(ResidueStream(bytes(32), BOTH[0])) == "ResidueStream()"
