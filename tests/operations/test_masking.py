"""Masked answers: any R of them decode to x + r, and what E0 with colluders does not know is uniform."""

from itertools import combinations, product

import numpy as np
import pytest
from operations.own_net import parties_of, play
from support.rank import rank

from secfc.crypto.keystream import ResidueStream
from secfc.crypto.randomness import MaskSource
from secfc.errors import MessageError
from secfc.field.packing import PackedResidues, unpack
from secfc.field.primes import PRIMES, primes_of
from secfc.kernels.vectorised import VectorisedKernels
from secfc.lagrange.basis import evaluation_points, lagrange_basis
from secfc.operations.masked import masked
from secfc.sharing.codewords import Codewords
from secfc.sharing.formula import ZERO
from secfc.sharing.rows import answers_of
from secfc.sharing.shared import Shared

SETTINGS = [(3, 1, 1), (5, 1, 1), (7, 2, 1), (8, 1, 3), (9, 3, 1), (11, 2, 2)]
COLUMNS = 2


def played(n, ell, t, rows, *, carry=lambda sender, recipient, place, data: data):
    """x, shape (P, ell, columns * rows), all masked answers by holder, and what each party holds then."""
    code, answers = Codewords(n=n, t=t, ell=ell, primes=primes_of(3)), {}
    values = np.stack([MaskSource().uniform(p, (code.wide, COLUMNS * rows)) for p in code.primes])
    shares = {j: unpack(one) for j, one in enumerate(code.deal(values, VectorisedKernels()), 1)}

    def noted(sender, recipient, place, data):
        if place.tag == "answer":
            answers[sender] = PackedResidues(payload=data, shape=(3, COLUMNS, rows))
        return carry(sender, recipient, place, data)

    def program(me):
        own = Shared(code.primes, (COLUMNS * rows,), shares.get(me.number), formula=ZERO)
        return masked(me, answers_of(own, columns=COLUMNS))

    parties = parties_of(code, dealer=min(4, n), first=1, second=2)
    held = play(parties, {j: program(me) for j, me in parties.items()}, carry=noted)
    return code, values[:, :ell], answers, {j: one.held for j, one in held.items()}


def flat(residues):
    return unpack(residues.planes()).reshape(3, -1)


@pytest.mark.some(3)
@pytest.mark.parametrize(("n", "ell", "t"), SETTINGS)
def test_any_r_masked_answers_decode_to_x_and_r(n, ell, t):
    code, x, answers, held = played(n, ell, t, 5)
    moduli = code.moduli[..., 0]
    expected = (x.sum(axis=1) + flat(held[min(4, n)])) % moduli
    assert np.array_equal(flat(held[1]), expected)
    assert np.array_equal(flat(held[2]), expected)
    own = {1, 2, min(4, n)}
    sent = {j: flat(one) for j, one in answers.items()}
    assert sent.keys() >= set(range(1, n + 1)) - own
    for holders in combinations(sorted(sent), code.wide):
        found = sum(
            w[:, np.newaxis] * sent[j] % moduli for w, j in zip(code.weights(holders).T, holders, strict=True)
        )
        assert np.array_equal(found % moduli, expected)


@pytest.mark.parametrize(("tag", "sender"), [("masks", 4), ("decoded", 1)])
def test_what_is_no_residue_is_refused(tag, sender):
    def carry(of, to, place, data):
        return b"\xff" * len(data) if (of, place.tag) == (sender, tag) else data

    with pytest.raises(MessageError, match=f"party {sender} sent integers that are not below their prime"):
        played(5, 1, 1, 4, carry=carry)


def test_no_text_shows_masks():
    assert repr(ResidueStream(bytes(32), VectorisedKernels())) == "ResidueStream()"


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
