"""Arithmetic modulo 2**61 - 1 against Python integers and galois."""

import galois
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from secfc.psu import prime
from secfc.psu.prime import P

EDGES = [0, 1, 2, (1 << 29) - 1, 1 << 29, (1 << 32) - 1, 1 << 32, (1 << 60) - 1, 1 << 60, P - 2, P - 1]
element = st.one_of(st.sampled_from(EDGES), st.integers(0, P - 1))
elements = st.lists(element, min_size=1, max_size=20)


def test_p_is_the_ninth_mersenne_prime() -> None:
    assert P == 2**61 - 1
    assert galois.is_prime(P)


@given(elements, elements)
def test_sums_and_products_are_those_of_integers(a: list[int], b: list[int]) -> None:
    size = min(len(a), len(b))
    x, y = np.array(a[:size], dtype=np.uint64), np.array(b[:size], dtype=np.uint64)
    pairs = list(zip(a, b, strict=False))
    assert prime.add(x, y).tolist() == [(u + v) % P for u, v in pairs]
    assert prime.multiply(x, y).tolist() == [u * v % P for u, v in pairs]


@given(st.integers(0, 2**64 - 1))
def test_any_word_folds_to_its_canonical_element(word: int) -> None:
    assert int(prime.fold(np.array([word], dtype=np.uint64))[0]) == word % P
