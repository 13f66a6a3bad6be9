"""Decoding Reed-Solomon words against galois, brute force, and the definition."""

from itertools import product
from random import Random

import galois
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sweeps import every, tries

from secfc.field.primes import PRIMES
from secfc.field.residues import reduce
from secfc.lagrange.basis import evaluation_points
from secfc.lagrange.reed_solomon import ReedSolomon
from secfc.psu.prime import P

PRIME = PRIMES[0]


def points(n, prime=PRIME):
    return evaluation_points(prime, n=n, coded=2).alpha


def codeword(rng, where, dimension, p):
    """Values of a random polynomial, by galois."""
    field = galois.GF(p, compile="python-calculate")  # compilation takes longer than all examples
    coefficients = field(rng.integers(0, p, dimension).tolist())
    return np.asarray(galois.Poly(coefficients)(field(list(where)))).astype(np.int64)


def test_two_points_of_a_line_and_one_wrong_are_located_by_hand():
    # 3 z + 2 at 1, 2, 3, 4 modulo 17 is 5, 8, 11, 14; the third value is changed.
    code = ReedSolomon(points=[1, 2, 3, 4], dimension=2, p=17)
    assert code.errors(np.array([5.0, 8.0, 11.0, 14.0])) == ()
    assert code.errors(np.array([5.0, 8.0, 9.0, 14.0])) == (2,)


def test_wrong_values_of_several_words_are_located_together_by_hand():
    code = ReedSolomon(points=[1, 2, 3, 4], dimension=2, p=17)
    right, first, third = [5.0, 8.0, 11.0, 14.0], [6.0, 8.0, 11.0, 14.0], [5.0, 8.0, 9.0, 14.0]
    assert code.wrong(reduce(np.array([right, right]).T, 17)) == set()
    assert code.wrong(reduce(np.array([right, third, first]).T, 17)) == {0, 2}
    # No three values of the last word are on a line, so it is near no codeword.
    assert code.wrong(reduce(np.array([third, [5.0, 8.0, 9.0, 13.0]]).T, 17)) is None


@tries()
@given(st.data())
def test_as_many_errors_as_the_code_corrects_are_located_at_the_primes_and_points_in_use(data):
    prime = data.draw(st.sampled_from(PRIMES))
    n = data.draw(st.integers(1, 24))
    responders = sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1)))
    alpha = points(n, prime)
    where = [alpha[j] for j in responders]
    dimension = data.draw(st.integers(1, len(where)))
    most = (len(where) - dimension) // 2
    wrong = sorted(data.draw(st.sets(st.integers(0, len(where) - 1), max_size=most)))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    word = codeword(rng, where, dimension, prime.p)
    code = ReedSolomon(points=where, dimension=dimension, p=prime.p)
    assert code.contains(reduce(word[:, np.newaxis].astype(float), prime.p))
    for at in wrong:
        word[at] = (word[at] + rng.integers(1, prime.p)) % prime.p
    assert code.errors(reduce(word.astype(float), prime.p)) == tuple(wrong)
    assert code.contains(word[:, np.newaxis].astype(float)) == (not wrong)


@pytest.mark.parametrize(("length", "dimension"), [(4, 2), (5, 1), (5, 3), (4, 3), (3, 3)])
def test_every_word_of_a_tiny_field_is_decoded_as_by_trying_every_codeword(length, dimension):
    p = 5 if length < 5 else 7
    where = list(range(length))
    words = np.array(list(product(range(p), repeat=dimension)))
    powers = np.array([[x**i for i in range(dimension)] for x in where])
    codewords = words @ powers.T % p
    code = ReedSolomon(points=where, dimension=dimension, p=p)
    rng = np.random.default_rng(0)
    for word in rng.integers(0, p, (300, length)):
        distances = (codewords != word).sum(axis=1)
        near = codewords[distances <= (length - dimension) // 2]
        found = code.errors(word.astype(float))
        assert len(near) <= 1
        assert found == (tuple(np.flatnonzero(near[0] != word)) if len(near) else None)
        assert code.contains(word[:, np.newaxis].astype(float)) == (distances.min() == 0)


def test_words_agree_with_galois_own_decoder():
    """galois decodes narrow-sense Reed-Solomon codes at powers of a primitive element, here of GF(31)."""
    reference = galois.ReedSolomon(30, 20, field=galois.GF(31, compile="python-calculate"))
    field = reference.field
    where = [int(field.primitive_element) ** i % 31 for i in range(30)]
    # A codeword's polynomial is zero at alpha^1..alpha^10. So by the discrete Fourier transform its
    # coefficients, highest first, are values of a polynomial of degree below 20 times alpha^-9 per step.
    rng = np.random.default_rng(1)
    for errors in range(6):
        sent = reference.encode(field(rng.integers(0, 31, 20)))
        received = np.array(sent, dtype=np.int64)
        at = rng.choice(30, errors, replace=False)
        received[at] = (received[at] + rng.integers(1, 31, errors)) % 31
        decoded = np.array(reference.decode(field(received), output="codeword"), dtype=np.int64)
        word = received[::-1]
        # c_i x_i^(i) form: parity rows are x_i^j, j = 1..10; ours are u_i x_i^j, j = 0..9, u_i = x_i / 30.
        ours = ReedSolomon(points=where, dimension=20, p=31).errors(word.astype(float))
        assert ours == tuple(np.flatnonzero(decoded[::-1] != word))


def test_more_errors_than_the_code_corrects_are_refused_or_another_codeword_is_that_near():
    rng = np.random.default_rng(2)
    where = points(15)
    code = ReedSolomon(points=where, dimension=9, p=PRIME.p)
    refused = 0
    for _ in range(50):
        word = codeword(rng, where, 9, PRIME.p)
        at = rng.choice(15, 4, replace=False)
        word[at] = (word[at] + rng.integers(1, PRIME.p, 4)) % PRIME.p
        refused += code.errors(word.astype(float)) is None
    assert refused == 50  # a random word lies within 3 of a codeword with probability below 2**-60


def test_points_that_repeat_and_impossible_dimensions_are_errors():
    with pytest.raises(ValueError, match="not distinct"):
        ReedSolomon(points=[1, 2, 18], dimension=1, p=17)
    for dimension in (0, 4):
        with pytest.raises(ValueError, match="dimension from 1 to 3"):
            ReedSolomon(points=[1, 2, 3], dimension=dimension, p=17)


def test_repr_shows_sizes_only():
    assert (
        repr(ReedSolomon(points=[1, 2, 3], dimension=2, p=17)) == "ReedSolomon(length=3, dimension=2, p=17)"
    )


@every(("length", "dimension", "errors"), [(5, 3, 1), (9, 3, 3), (12, 5, 2), (4, 4, 0)])
@every("seed", range(5))
def test_wrong_values_over_the_field_of_the_union_are_located(length, dimension, errors, seed) -> None:
    random = Random(seed)
    coefficients = [random.randrange(P) for _ in range(dimension)]
    where = random.sample(range(1, 100), length)
    values = [sum(c * pow(a, i, P) for i, c in enumerate(coefficients)) % P for a in where]
    wrong = sorted(random.sample(range(length), errors))
    for at in wrong:
        values[at] = (values[at] + random.randrange(1, P)) % P
    code = ReedSolomon(points=where, dimension=dimension, p=P)
    assert code.errors(values) == tuple(wrong)
    assert code.errors([0] * length) == ()


def test_values_over_it_that_are_near_no_polynomial_locate_nothing() -> None:
    random = Random(3)
    values = [random.randrange(P) for _ in range(9)]
    assert ReedSolomon(points=range(1, 10), dimension=3, p=P).errors(values) is None
