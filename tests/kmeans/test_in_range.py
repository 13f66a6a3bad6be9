"""Distances of rows within the public bound are always accepted, larger ones and random residues never."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sweeps import every, tries

from secfc.errors import RangeError
from secfc.field.fixed_point import norm_limit, quantise, quantised_radius, row_norms, unit_of
from secfc.field.mixed_radix import MixedRadix
from secfc.field.primes import primes_of, residues_needed
from secfc.kernels.compiled import CompiledKernels
from secfc.kernels.vectorised import VectorisedKernels
from secfc.kmeans.compare import quotients
from secfc.kmeans.in_range import RangeCheck, surely_in
from secfc.protocol.job.row_layout import Layout

KERNELS = [VectorisedKernels(), CompiledKernels()]
each_kernels = every("kernels", KERNELS)


def passes(kernels, integers, sizes, radius):
    """Whether the server accepts distances D, one list for each set."""
    primes = primes_of(residues_needed(radius, max(sizes)))
    residues = np.array([[[value % p for value in line] for line in integers] for p in primes], dtype=float)
    radix = MixedRadix(primes)
    sizes = np.array(sizes, dtype=np.int64)
    found = quotients(radix.digits(residues), radix, sizes, kernels)
    m = len(integers[0])
    check = RangeCheck(radius=radius, layout=Layout((m, 0)), max_liars=0)
    check.take(slice(0, m), found)
    try:
        check.end_round(np.zeros(m, dtype=np.int32))
    except RangeError:
        return False
    return True


@each_kernels
@given(data=st.data())
@tries()
def test_rows_on_the_bound_pass_with_sets_of_all_sizes(kernels, data):
    """Opposite rows whose computed norm is just accepted, with their rounding."""
    d = data.draw(st.sampled_from([1, 2, 3, 17, 100]))
    bound = data.draw(st.floats(1e-300, 1e300) | st.sampled_from([1.0, 2.0**-1074, 0.75, 3.0]))
    precision = data.draw(st.sampled_from([1, 2, 8, 32, 52]))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    direction = rng.normal(size=(1, d))
    row = direction / np.linalg.norm(direction) * bound
    row *= min(1.0, norm_limit(bound) / max(float(row_norms(row)[0]), 5e-324))
    integer = quantise(row, unit_of(bound, precision))[0].astype(object)
    norm = sum(int(value) ** 2 for value in integer)
    radius = quantised_radius(bound, precision, d)
    assert norm <= radius**2
    sizes = [1, 2, data.draw(st.integers(3, 1 << 29)), 1 << 29]
    # The set has rows like this one, and the row is opposite: the distance is 2 |S| times the norm.
    assert passes(kernels, [[4 * size**2 * norm, 0] for size in sizes], sizes, radius)
    assert passes(kernels, [[4 * size**2 * radius**2, 0] for size in sizes], sizes, radius)


@each_kernels
@given(
    radius=st.integers(1, 1 << 53),
    size=st.integers(1, 1 << 29),
    excess=st.sampled_from([2**-40, 2**-10, 1.0, 1000.0]),
)
@tries(2)
def test_a_distance_above_the_largest_does_not_pass(kernels, radius, size, excess):
    most = (2 * size * radius) ** 2
    beyond = most + max(1, int(most * excess))
    if beyond - most < most >> 45:
        return
    assert not passes(kernels, [[0, beyond, 0]], [size], radius)
    assert not passes(kernels, [[0, 0, 0], [0, 0, beyond]], [1, size], radius)


@each_kernels
@every("radius", [5, 2**12, 2**32, 2**52])
@every("size", [1, 3, 1000, 1 << 29])
def test_random_residues_do_not_pass(kernels, radius, size):
    rng = np.random.default_rng(size + radius)
    primes = primes_of(residues_needed(radius, size))
    modulus = int(np.prod(np.array(primes, dtype=object)))
    for _ in range(50):
        assert not passes(kernels, [[int.from_bytes(rng.bytes(40), "little") % modulus]], [size], radius)


@each_kernels
@pytest.mark.parametrize("size", [1, 1000, 1 << 29])
def test_an_error_modulo_one_prime_does_not_pass(kernels, size):
    radius = 2**32
    primes = primes_of(residues_needed(radius, size))
    modulus = int(np.prod(np.array(primes, dtype=object)))
    for p in primes:
        for times in (1, 2, p // 2, p - 1):
            for distance in (0, (size * radius) ** 2, (2 * size * radius) ** 2):
                wrong = (distance + times * (modulus // p)) % modulus
                assert not passes(kernels, [[wrong]], [size], radius)


@each_kernels
def test_empty_sets_are_not_compared(kernels):
    assert passes(kernels, [[3], [10**9], [4]], [1, 0, 1], 2)
    assert not passes(kernels, [[3], [4], [17]], [1, 0, 1], 2)


def of_single_rows(value):
    """Distances to sets of one row each, D below 2**24."""
    radix = MixedRadix(primes_of(1))
    digits, sizes = value[np.newaxis].astype(np.float32), np.ones(len(value), dtype=np.int64)
    return quotients(digits, radix, sizes, KERNELS[0])


def checked(pairs, *, max_liars, sets, layout):
    """The error for these rows too far from these sets."""
    k = int(sets.max()) + 1
    value = np.zeros((k, layout.m))
    for row, h in pairs:
        value[h, row] = 1e6
    check = RangeCheck(radius=2, layout=layout, max_liars=max_liars)
    for start in range(0, layout.m, 2):
        rows = slice(start, min(start + 2, layout.m))
        check.take(rows, of_single_rows(value[:, rows]))
    with pytest.raises(RangeError) as found:
        check.end_round(sets)
    check.end_round(sets)  # the next round starts afresh
    return str(found.value)


def test_a_client_alone_with_its_row_and_set_is_named():
    sets, layout = np.array([0, 0, 0, 1, 1, 1], dtype=np.int32), Layout((3, 1, 2))
    assert "client 1 shared" in checked([(0, 0)], max_liars=1, sets=sets, layout=layout)
    assert "it is not known which" in checked([(0, 1), (3, 0)], max_liars=1, sets=sets, layout=layout)
    assert "not known" in checked([(0, 0)], max_liars=0, sets=sets, layout=layout)
    whole = Layout((6, 6), common=True)
    assert "not known" in checked([(0, 0)], max_liars=1, sets=sets, layout=whole)


@given(
    groups=st.sets(st.frozensets(st.integers(1, 6), min_size=1, max_size=4), min_size=1, max_size=8),
    most=st.integers(1, 3),
)
@tries(3)
def test_whoever_is_named_is_in_every_explanation(groups, most):
    named = surely_in(groups, most=most)
    for size in range(most + 1):
        for liars in combinations(range(1, 7), size):
            if all(group & set(liars) for group in groups):
                assert set(named) <= set(liars)


def test_who_shares_groups_with_more_than_there_are_liars_is_named():
    assert surely_in([frozenset({1, 2}), frozenset({1, 3})], most=1) == [1]
    assert surely_in([frozenset({1, 2}), frozenset({1, 3})], most=2) == []
    assert surely_in([frozenset({4})], most=3) == [4]
