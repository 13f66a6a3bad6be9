"""A check names clients with wrong answers: one residue is enough. If answers agree, it blames nobody."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sweeps import tries

from secfc.crypto.randomness import MaskSource
from secfc.field.packing import pack
from secfc.field.primes import PRIMES, primes_of
from secfc.field.residues import matmul
from secfc.kernels.compiled import CompiledKernels
from secfc.kernels.vectorised import VectorisedKernels
from secfc.lagrange.points import evaluation_points
from secfc.lagrange.reed_solomon import ReedSolomon
from secfc.protocol.answers.consistency import ConsistencyCheck, combinations_for
from secfc.protocol.answers.decoding import ResidueError
from secfc.protocol.job.making import make_job

KERNELS = [VectorisedKernels(), CompiledKernels()]
both = pytest.mark.parametrize("kernels", KERNELS, ids=lambda kernels: kernels.name)


def answers_of(job, rng, *, residues=2, rows=40):
    """Packed values of random polynomials of degree below R, for every client."""
    planes = []
    for prime in PRIMES[:residues]:
        alpha = np.array(evaluation_points(prime, n=job.n, coded=job.ell + job.t).alpha, dtype=np.int64)
        powers = np.ones((job.n, job.threshold), dtype=np.int64)
        for i in range(1, job.threshold):
            powers[:, i] = powers[:, i - 1] * alpha % prime.p
        half = prime.p // 2
        coefficients = rng.integers(-half, half + 1, (job.threshold, job.k * rows)).astype(float)
        centred = np.where(powers > half, powers - prime.p, powers).astype(float)
        values = matmul(centred, coefficients, prime.p)
        planes.append(pack(values, prime.p).reshape(job.n, job.k, 3 * rows))
    return {j: np.stack([plane[j - 1] for plane in planes]) for j in range(1, job.n + 1)}


def lie(answer, at, p):
    """Add one to a residue."""
    octets = answer.reshape(-1)
    value = int.from_bytes(octets[3 * at : 3 * at + 3].tobytes(), "little")
    octets[3 * at : 3 * at + 3] = np.frombuffer(((value + 1) % p).to_bytes(3, "little"), dtype=np.uint8)


@both
@tries()
@given(data=st.data())
def test_up_to_a_liars_who_change_one_residue_each_are_named(data, kernels):
    t, ell = data.draw(st.integers(1, 2)), data.draw(st.integers(1, 2))
    liars, vanished = data.draw(st.integers(1, 3)), data.draw(st.integers(0, 2))
    n = 2 * (t + ell) - 1 + vanished + 2 * liars
    job = make_job(n=n, k=3, t=t, ell=ell, d=4, bound=1.0, max_liars=liars, disclosure="coded")
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    answers = answers_of(job, rng)
    gone = rng.choice(n, vanished, replace=False) + 1
    held = {j: answer for j, answer in answers.items() if j not in gone}
    guilty = sorted(rng.choice(sorted(held), data.draw(st.integers(0, liars)), replace=False).tolist())
    for j in guilty:
        residue = int(rng.integers(2))
        lie(held[j][residue], int(rng.integers(3 * 40)), PRIMES[residue].p)
    check = ConsistencyCheck(job, MaskSource(), kernels)
    assert check.liars(held, primes_of(2), most=liars) == tuple(guilty)


@both
@tries()
@given(data=st.data())
def test_answers_agree_unless_some_lie(data, kernels):
    t, ell = data.draw(st.integers(1, 2)), data.draw(st.integers(1, 2))
    spare = data.draw(st.integers(1, 4))
    job = make_job(
        n=2 * (t + ell) - 1 + 2 * spare,
        k=3,
        t=t,
        ell=ell,
        d=4,
        bound=1.0,
        disclosure="coded",
        max_liars=spare,
    )
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    answers = answers_of(job, rng)
    answered = rng.choice(job.n, job.threshold + spare, replace=False) + 1
    held = {int(j): answers[j] for j in answered}
    check = ConsistencyCheck(job, MaskSource(), kernels)
    assert check.agree(held, primes_of(2))
    for j in rng.choice(answered, data.draw(st.integers(1, spare)), replace=False):
        residue = int(rng.integers(2))
        lie(held[j][residue], int(rng.integers(3 * 40)), PRIMES[residue].p)
    assert not check.agree(held, primes_of(2))


@both
def test_a_number_that_is_no_residue_names_its_sender_when_answers_are_compared(kernels):
    job = make_job(n=7, k=3, t=1, ell=2, d=4, bound=1.0, disclosure="coded", max_liars=1)
    answers = answers_of(job, np.random.default_rng(0))
    answers[4][1, 2, -3:] = 255
    with pytest.raises(ResidueError, match="client 4") as caught:
        ConsistencyCheck(job, MaskSource(), kernels).agree(answers, primes_of(2))
    assert caught.value.client == 4


def test_parity_weights_sum_every_codeword_to_zero_and_no_lie_of_few():
    """Modulo the first prime, the weights' sum with a wrong word is the same combination of its syndrome."""
    p, rng = PRIMES[0].p, np.random.default_rng(1)
    points = list(range(1, 10))
    code = ReedSolomon(points=points, dimension=5, p=p)
    assert code.redundancy == 4
    coefficients = [int(v) for v in rng.integers(0, p, 5)]
    word = [sum(c * x**i for i, c in enumerate(coefficients)) % p for x in points]
    seen = set()
    for factors in np.eye(4):
        weights = [int(v) for v in code.parity(factors)]
        assert sum(w * y for w, y in zip(weights, word, strict=True)) % p == 0
        seen.add(sum(w * y for w, y in zip(weights, [*word[:-1], word[-1] + 1], strict=True)) % p)
    assert 0 not in seen
    assert len(seen) == 4


@both
def test_more_liars_than_can_be_told_apart_give_none(kernels):
    job = make_job(n=9, k=3, t=1, ell=2, d=4, bound=1.0, max_liars=2, disclosure="coded")
    answers = answers_of(job, np.random.default_rng(0))
    for j in (2, 5, 8):
        lie(answers[j][0], 7, PRIMES[0].p)
    assert ConsistencyCheck(job, MaskSource(), kernels).liars(answers, primes_of(2), most=2) is None


def test_one_liar_is_not_named_when_only_detection_was_promised():
    job = make_job(n=9, k=3, t=1, ell=2, d=4, bound=1.0, max_liars=2, disclosure="coded")
    answers = answers_of(job, np.random.default_rng(0))
    lie(answers[3][1], 0, PRIMES[1].p)
    check = ConsistencyCheck(job, MaskSource(), KERNELS[0])
    assert check.liars(answers, primes_of(2), most=0) is None
    assert check.liars(answers, primes_of(2), most=1) == (3,)


def test_r_answers_agree_whatever_they_are():
    job = make_job(n=7, k=3, t=1, ell=2, d=4, bound=1.0, max_liars=1, disclosure="coded")
    answers = answers_of(job, np.random.default_rng(0))
    lie(answers[1][0], 0, PRIMES[0].p)
    held = {j: answers[j] for j in range(1, 6)}
    assert ConsistencyCheck(job, MaskSource(), KERNELS[0]).liars(held, primes_of(2), most=0) == ()


def test_coefficients_are_drawn_anew_for_every_check():
    """The check finds a lie that one set of coefficients misses and a fixed keystream would always miss."""
    job = make_job(n=5, k=1, t=1, ell=1, d=1, bound=1.0, max_liars=1, disclosure="coded")
    p = PRIMES[0].p
    answers = {j: pack(np.zeros((1, 1, 3)), p) for j in range(1, 6)}
    key = bytes(32)
    first = MaskSource(key).uniform(p, (2, 3)).astype(np.int64)
    # Three unknowns, two equations: the cross product of the coefficients is orthogonal to both.
    a, b = ([int(v) for v in row] for row in first)
    hidden = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    answers[2] = pack(np.array([[[v % p for v in hidden]]], dtype=float), p)
    check = ConsistencyCheck(job, MaskSource(key), KERNELS[0])
    assert check.liars(answers, primes_of(1), most=1) == ()
    assert check.liars(answers, primes_of(1), most=1) == (2,)


@pytest.mark.parametrize(("liars", "combinations"), [(0, 2), (1, 2), (125, 2), (126, 3), (2047, 3)])
def test_combinations_keep_the_probability_below_the_bound(liars, combinations):
    assert combinations_for(liars) == combinations
    assert 2 * liars * 2**40 < min(prime.p for prime in PRIMES) ** combinations


def test_repr_shows_no_coefficient():
    job = make_job(n=5, k=1, t=1, ell=1, d=1, bound=1.0, max_liars=1, disclosure="coded")
    assert repr(ConsistencyCheck(job, MaskSource(), KERNELS[0])) == "ConsistencyCheck(combinations=2)"
