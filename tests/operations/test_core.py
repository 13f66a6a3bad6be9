"""The core of a start by separation: one bit of each row is opened, the same as the server would decide."""

from dataclasses import replace
from itertools import product
from math import isqrt, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kernel_samples import BOTH, each_kernels, laws
from support.trio import Trio, true_labels

from secfc.comparing.question import Question, comparison_residues
from secfc.comparing.role import Comparer
from secfc.errors import SecFCError
from secfc.field.mixed_radix import MixedRadix
from secfc.field.primes import PRIMES, primes_of
from secfc.kernels.vectorised import VectorisedKernels
from secfc.kmeans.compare import SquaredDistances, nearest, quotients


def trio_of(distances, question, *, seed=0, kernels=BOTH[1]) -> Trio:
    rng = np.random.default_rng(seed)
    masks = sum(rng.integers(0, 2**48, distances.shape).astype(object) << 48 * place for place in range(5))
    return Trio(question, distances, masks % prod(question.primes), kernels=kernels)


def asked(distances, sizes, primes) -> Question:
    sizes = np.array(sizes)
    return Question(
        primes=primes,
        sizes=sizes,
        rows=distances.shape[1],
        champions=true_labels(distances, sizes),
        core=True,
    )


def decided(distances, question) -> np.ndarray:
    """The core as the server computes it."""
    residues = np.array([(distances % p).astype(float) for p in question.primes])
    radix = MixedRadix(question.primes)
    known = quotients(
        SquaredDistances(digits=radix.digits(residues), radix=radix, sizes=question.sizes),
        VectorisedKernels(),
    )
    found = nearest(known, with_core=True)
    assert np.array_equal(found.labels, question.champions)
    return found.core


@each_kernels
@pytest.mark.parametrize("own", [0, 1, 2])
def test_nine_times_the_own_distance_and_one_less_or_more(kernels, own):
    sizes = np.array([2, 3, 5])
    others = [h for h in range(3) if h != own]
    rows = []
    for less, more in product((-1, 0, 1), repeat=2):
        row = [0, 0, 0]
        row[own] = 4 * int(sizes[own]) ** 2
        for h, change in zip(others, (less, more), strict=True):
            row[h] = 36 * int(sizes[h]) ** 2 + change
        rows.append(row)
    distances = np.array(rows, dtype=object).T
    question = asked(distances, sizes, primes_of(3))
    assert (question.champions == own).all()
    expected = [less >= 0 and more >= 0 for less, more in product((-1, 0, 1), repeat=2)]
    trio = trio_of(distances, question, kernels=kernels).play()
    assert trio.core.tolist() == expected == decided(distances, question).tolist()


@laws
@given(m=st.integers(1, 150), k=st.integers(1, 7), primes=st.integers(1, 6), seed=st.integers(0, 2**32 - 1))
def test_the_core_is_what_the_server_finds(m, k, primes, seed):
    rng = np.random.default_rng(seed)
    ring = primes_of(primes)
    sizes = rng.integers(1, 5 if primes == 1 else 2**6, k)
    sizes[rng.random(k) < 0.2] = 0
    sizes[rng.integers(k)] = 3
    # The largest radius that these primes allow.
    radius = isqrt((prod(ring) - 1) // 72 // prod(size for size in sorted(map(int, sizes))[-2:] if size) ** 2)
    assert comparison_residues(radius, sizes, core=True) == primes
    own = rng.integers(0, 3, m)
    factor = rng.choice([0, 1, 8, 9, 9, 10, 50], (k, m))
    squares = (sizes.astype(object) ** 2)[:, np.newaxis]
    distances = own * factor * squares + rng.integers(-1, 2, (k, m)).astype(object)
    distances[rng.integers(0, k, m), np.arange(m)] = 0
    wild = np.where(rng.random((k, m)) < 0.5, 0, squares * (2 * radius) ** 2)
    distances = np.where(rng.random((k, m)) < 0.1, wild, distances)
    distances = distances.clip(0, squares * (2 * radius) ** 2)
    question = asked(distances, sizes, ring)
    core = trio_of(distances, question, seed=seed).play().core
    assert np.array_equal(core, decided(distances, question))


def test_where_there_is_one_set_all_rows_are_core():
    distances = np.array([[5, 0, 7], [0, 0, 0]], dtype=object)
    trio = trio_of(distances, asked(distances, [2, 0], primes_of(2))).play()
    assert trio.core.tolist() == [True] * 3
    assert not trio.mail


def test_labels_and_core_are_asked_one_after_the_other_with_the_same_keys():
    rng = np.random.default_rng(0)
    distances = rng.integers(0, 2**20, (4, 90)).astype(object)
    question = asked(distances, [1] * 4, primes_of(3))
    first = trio_of(distances, replace(question, core=False)).play()
    second = trio_of(distances, question).play()
    for pair, keys in first.keys.items():
        assert not set(keys.used) & set(second.keys[pair].used)
    assert {purpose for purpose, _ in second.keys[Comparer.E0, Comparer.E0].used} == {
        "core products",
        "core wires",
    }


def test_nothing_but_the_core_is_told():
    distances = np.array([[1, 2, 3], [8, 18, 2]], dtype=object)
    trio = trio_of(distances, asked(distances, [1, 1], primes_of(3))).play()
    assert trio.core.tolist() == [False, True, False]
    assert not [one for one in trio.mail if one[1] is Comparer.DEALER]
    for me in (Comparer.E0, Comparer.E1):
        with pytest.raises(SecFCError, match="has no labels"):
            _ = trio.roles[me].labels


@pytest.mark.parametrize("count", range(1, 8))
def test_the_bound_is_the_last_size_that_fits(count):
    modulus = prod(prime.p for prime in PRIMES[:count])
    largest = isqrt((modulus - 1) // 72)  # 2 * 9 (2 r)^2 < Q
    sizes = np.array([1, 0, 1])
    assert comparison_residues(largest, sizes, core=True) == count
    assert comparison_residues(largest + 1, sizes, core=True) == count + 1
