"""The trio finds the better of two starts (the lower score) from masked distances in parts."""

from math import isqrt, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kernel_samples import laws
from support.trio import Trio, packed

from secfc.errors import ParameterError
from secfc.field.mixed_radix import MixedRadix
from secfc.field.packing import unpack
from secfc.field.primes import primes_of
from secfc.kmeans.score import most_score, reciprocal, score, score_bits
from secfc.operations.farthest import own_column
from secfc.operations.scores import add_to_sums, masked_score, score_residues, scores_compared


def whole(residues, primes):
    """The integers below Q with these residues, shape (P, ...)."""
    radix = MixedRadix(primes)
    return radix.integers(radix.digits(residues.reshape(len(primes), -1)))


class Ended:
    """The end of a start: D of each row to each set, the labels, the sizes of the sets."""

    def __init__(self, distances, labels, sizes, *, primes, seed=0, step=None):
        self.distances = np.array(distances, dtype=object)
        self.labels, self.sizes = np.array(labels, dtype=np.int32), np.array(sizes)
        rng, shape = np.random.default_rng(seed), self.distances.shape
        self.masks = sum(rng.integers(0, 2**48, shape).astype(object) << 48 * place for place in range(5))
        self.primes, self.step = primes, step or self.labels.size

    @property
    def score(self):
        own = self.distances[self.labels, np.arange(self.labels.size)]
        sums = [int(sum(own[self.labels == h])) for h in range(self.sizes.size)]
        return score(sums, self.sizes, self.labels.size)

    def of(self, values):
        """The sums that one of the three computes."""
        total = np.zeros((len(self.primes), self.sizes.size))
        for start in range(0, self.labels.size, self.step):
            part = slice(start, start + self.step)
            labels = self.labels[part]
            own = own_column(packed(values[:, part], self.primes), labels)
            total = add_to_sums(total, own, labels=labels, primes=self.primes)
        return masked_score(total, sizes=self.sizes, rows=self.labels.size, primes=self.primes)


def second_is_less(first, second):
    primes = first.primes
    question, masked = scores_compared(
        *[one.of(one.distances + one.masks) for one in (first, second)], primes
    )
    again, masks = scores_compared(*[one.of(one.masks) for one in (first, second)], primes)
    assert (again.rows, again.sizes.tolist(), again.champions) == (1, [1, 1], None)
    y, r = (whole(unpack(one.planes()), primes).reshape(2, 1) for one in (masked, masks))
    trio = Trio(question, y - r, r)
    assert bytes(packed(y, primes).payload) == bytes(masked.payload)
    return bool(trio.play().labels[0])


def test_by_hand():
    # m = 4, b = 22: c is 2**20 for two rows, 466033 for three.
    shared, least = {"primes": primes_of(5)}, 10**7 - 1
    even = Ended([[least, least, 0, 0], [0, 0, least, least]], [0, 0, 1, 1], [2, 2], **shared)
    other = Ended([[9 * 10**7, 0, 0, 7], [9, 9, 9, 0]], [0, 0, 0, 1], [3, 1], **shared)
    # Inertias of 10**7 - 1 and 10**7.
    assert (even.score, other.score) == (2**22 * least, 466_033 * 9 * 10**7)
    assert second_is_less(even, other)
    assert not second_is_less(other, even)
    assert not second_is_less(even, even)


@laws
@given(
    m=st.integers(1, 60),
    k=st.integers(1, 6),
    step=st.integers(1, 60),
    kind=st.sampled_from(["any", "equal", "near", "least and most"]),
    primes=st.integers(4, 7),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_rule_at_the_largest_radius_that_primes_bear(m, k, step, kind, primes, seed):
    rng, ring = np.random.default_rng(seed), primes_of(primes)
    radius = isqrt((prod(ring) - 1) // (2 * most_score(m, 4)))
    assert score_residues(radius, m) == primes
    assert score_residues(radius + 1, m) > primes
    starts = []
    for number in range(2):
        sizes = rng.integers(1, m + 1, k)
        sizes[rng.integers(k)] = 0 if k > 1 else 1
        labels = rng.choice(np.flatnonzero(sizes), m)
        most = [(2 * int(size) * radius) ** 2 for size in sizes]
        share = rng.integers(0, 2**32, (k, m)).tolist()
        distances = [[at * limit >> 32 for at in row] for row, limit in zip(share, most, strict=True)]
        if kind == "least and most":
            sizes[labels], scale = 1, number
            distances = [[(2 * radius) ** 2 * scale] * m for _ in range(k)]
        starts.append(Ended(distances, labels, sizes, primes=ring, seed=seed + number, step=step))
    first, second = starts
    if kind in ("equal", "near"):
        second = Ended(first.distances.copy(), first.labels, first.sizes, primes=ring, seed=seed, step=step)
        if kind == "near":
            row = int(rng.integers(m))
            second.distances[first.labels[row], row] += 1
            if rng.integers(2):
                first, second = second, first
    if kind == "least and most":
        assert second.score - first.score == m * (2 * radius) ** 2 << score_bits(m)
    assert second_is_less(first, second) == (second.score < first.score)
    assert second_is_less(second, first) == (first.score < second.score)


def test_more_rows_or_precision_than_the_primes_bear_are_refused():
    assert score_residues(2**32, 10**6) == 7
    with pytest.raises(ParameterError, match="scores of 100000000 rows take 217 bits"):
        score_residues(2**52, 10**8)


def test_sums_of_the_largest_residues_are_exact():
    primes, m = primes_of(8), 100_000
    own = packed(np.full((1, m), -1, dtype=object), primes)
    labels = np.zeros(m, dtype=np.int32)
    sums = add_to_sums(np.array(primes)[:, np.newaxis] - 1.0, own, labels=labels, primes=primes)
    found = masked_score(sums, sizes=np.array([m]), rows=m, primes=primes)
    expected = -(m + 1) * reciprocal(m, m)
    assert found.tolist() == [expected % p for p in primes]
