"""The inertia is opened from masked sums: only its first 64 bits, for all sums of single clusters."""

from fractions import Fraction
from math import isqrt, prod

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.kernel_samples import laws
from support.trio import carry, keys

from secfc.comparing.role import Comparer
from secfc.errors import CheatError, ParameterError
from secfc.field.primes import primes_of
from secfc.operations import inertia as of
from secfc.operations.inertia import InertiaDealer, InertiaEvaluator, WeighedSums, inertia_residues

ERROR = Fraction(1, 2**62)


def residues(values, primes):
    return np.array([[float(value % p) for value in values] for p in primes])


def roles(sums, sizes, *, rows, radius, primes=4, seed=0):
    rng, ring = np.random.default_rng(seed), primes_of(primes)
    masks = [int.from_bytes(rng.bytes(40)) for _ in sums]
    given = {"sizes": np.array(sizes), "rows": rows, "radius": radius, "primes": ring}
    masked = residues([one + mask for one, mask in zip(sums, masks, strict=True)], ring)
    made = {
        Comparer.DEALER: InertiaDealer(WeighedSums(sums=residues(masks, ring), **given), keys(Comparer.E0))
    }
    for one in (Comparer.E0, Comparer.E1):
        made[one] = InertiaEvaluator(one, WeighedSums(sums=masked, **given), keys(Comparer.E0))
    return made


def opened(*given, **named):
    made, mail = roles(*given, **named), []
    carry(made, mail)
    first, second = (made[one].inertia for one in (Comparer.E0, Comparer.E1))
    assert first == second
    return first, mail


def exact(sums, sizes):
    return sum((Fraction(one, size**2) for one, size in zip(sums, sizes, strict=True) if size), Fraction(0))


@pytest.mark.parametrize(
    ("sums", "sizes", "inertia"),
    [([0, 0], [1, 2], 0), ([3], [1], 3), ([4 * 9_999, 0], [2, 1], 9_999), ([9, 1, 0], [3, 2, 0], 1.25)],
)
def test_by_hand(sums, sizes, inertia):
    found, _ = opened(sums, sizes, rows=4, radius=100)
    assert float(found) == inertia


@laws
@given(
    sizes=st.lists(st.integers(0, 2**20), min_size=1, max_size=6).filter(any),
    share=st.lists(st.integers(0, 2**64), min_size=6, max_size=6),
    scale=st.integers(0, 120),
    primes=st.integers(4, 8),
    seed=st.integers(0, 99),
)
@example(sizes=[1], share=[2**64] * 6, scale=0, primes=8, seed=0)
def test_it_is_that_of_the_sums_at_the_largest_radius_that_primes_bear(sizes, share, scale, primes, seed):
    rows = max(sum(sizes), 1)
    radius = isqrt((prod(primes_of(primes)) - 1) // (8 * rows * max(sizes) ** 2))
    assert inertia_residues(radius, np.array(sizes), rows) == primes
    # A part of the largest possible value of each, for all rows together.
    most = [rows * (2 * size * radius) ** 2 // len(sizes) for size in sizes]
    sums = [limit * one >> 64 + scale for limit, one in zip(most, share, strict=False)]
    found, _ = opened(sums, sizes, rows=rows, radius=radius, primes=primes, seed=seed)
    expected = exact(sums, sizes)
    assert abs(found - expected) <= expected * ERROR


def test_low_bits_are_not_told():
    """Of about 190 bits of the sum, the evaluators tell 64 after leading zeros."""
    sizes, sums = [300, 700], [300**2 * (2**70 + 3), 700**2 * (2**69 + 1)]
    made, mail = roles(sums, sizes, rows=1000, radius=2**32, primes=6), []
    bits = made[Comparer.E0]._sums.bits
    carry(made, mail)
    told = [data for sender, _, data in mail if sender is Comparer.E0]
    assert all(len(data) == 8 for data in told)
    zeros = bits - (2 * sum((2**70 + 3, 2**69 + 1)) << (2 * 10 + 72)).bit_length()
    assert len(told) == -(-zeros // 64) + (zeros % 64 > 0)
    assert bits - 64 * (len(told) - 1) - zeros % 64 > 60, "many bits are left"


def test_what_e1_is_dealt_is_uniform_and_nothing_of_the_sum(monkeypatch):
    """The dealer's sums are E0's share plus E1's. E0's share is from a key, so E1's alone says nothing."""
    made = []
    monkeypatch.setattr(
        of, "shares_of_e1", lambda secrets, drawn, bits: made.append((secrets, drawn)) or [0] * len(drawn)
    )
    dealer = roles([5, 7], [1, 2], rows=3, radius=9)[Comparer.DEALER]
    dealer.begin()
    ((secrets, drawn),) = made
    assert len(secrets) == len(drawn) == 3
    assert set(secrets[:-1]) <= {0, 1}
    assert len(set(drawn)) == 3


@pytest.mark.parametrize("which", [0, 1])
def test_wrong_words_end_both_or_are_found_to_differ(which):
    """A word of one evaluator is changed in transit: the other's inertia differs, or is impossible."""
    made, count = roles([9_999, 17], [3, 2], rows=5, radius=2**20), [0]

    def change(sender, recipient, data):
        if (sender, recipient) != (Comparer.E0, Comparer.E1):
            return data
        count[0] += 1
        return bytes([*data[:-1], data[-1] ^ 0x40]) if count[0] == 1 + which else data

    try:
        carry(made, [], change)
    except (CheatError, AssertionError):  # or one awaits more than the other sends
        return
    assert count[0] > which
    assert made[Comparer.E0].inertia != made[Comparer.E1].inertia


def test_an_impossible_inertia_is_refused():
    made = roles([2**50], [1], rows=1, radius=1)
    with pytest.raises(CheatError, match="the opened inertia is impossible"):
        carry(made, [])


def test_more_rows_or_precision_than_the_primes_bear_are_refused():
    assert inertia_residues(2**32, np.array([500_000, 500_000]), 10**6) == 6
    with pytest.raises(ParameterError, match="an inertia of 536870912 rows take"):
        inertia_residues(2**58, np.array([2**29]), 2**29)
