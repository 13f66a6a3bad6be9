"""A combination of a product is an inner product of vectors that holders compute from narrow shares.

For random expressions, at every holder: the pairs of vectors have these inner products, each vector is a
codeword of the degree of [x], and there are as many numbers as the formula says.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from operations.own_net import dealt, parties_of, shared_rows
from support.sweeps import tries

from secfc.crypto.randomness import MaskSource
from secfc.errors import SecFCError
from secfc.field.packing import unpack
from secfc.field.primes import primes_of
from secfc.field.residues import reduce
from secfc.sharing.codewords import Codewords
from secfc.sharing.formula import ZERO, moduli, products
from secfc.sharing.rows import Rows, answers_of
from secfc.sharing.shared import Shared, joined

SHAPES = [(3, 1, 1), (5, 1, 2), (5, 2, 1)]
COMBINATIONS = 2

codes = st.sampled_from([Codewords(n=n, t=t, ell=ell, primes=primes_of(2)) for n, t, ell in SHAPES])


class Everywhere:
    """What all holders have, and its segments, shape (ell, *shape), as Python integers."""

    def __init__(self, code, held, plain):
        self.code, self.held, self.plain = code, held, np.asarray(plain)

    @classmethod
    def drawn(cls, code, rng, shape):
        plain = rng.integers(-9, 10, (code.ell, *shape)).astype(object)
        segments = np.stack([(plain % p).astype(np.float64) for p in code.primes])
        held = [Shared(code.primes, shape, shares) for shares in dealt(code, segments).values()]
        return cls(code, held, plain)

    @property
    def shape(self):
        return self.held[0].shape

    def then(self, of, of_plain, *others):
        held = [of(*each) for each in zip(self.held, *(one.held for one in others), strict=True)]
        return Everywhere(self.code, held, of_plain(self.plain, *(one.plain for one in others)))


def lined_up(first, second):
    """Segments with axes of length 1, so that shapes broadcast from the last axis on."""
    dims = max(first.ndim, second.ndim)
    return [one.reshape(one.shape[0], *[1] * (dims - one.ndim), *one.shape[1:]) for one in (first, second)]


def multiplied(first, second):
    return first.then(lambda a, b: a * b, lambda a, b: np.multiply(*lined_up(a, b)), second)


def added(first, second):
    return first.then(lambda a, b: a + b, lambda a, b: np.add(*lined_up(a, b)), second)


def subtracted(first, second):
    return first.then(lambda a, b: a - b, lambda a, b: np.subtract(*lined_up(a, b)), second)


def public(one, rng):
    """An integer, or an array that broadcasts to its shape."""
    if rng.random() < 0.3 or not one.shape:
        return int(rng.integers(-9, 10))
    sizes = [size if rng.random() < 0.7 else 1 for size in one.shape]
    return rng.integers(-9, 10, sizes[rng.integers(len(sizes)) :])


def product_of(code, rng):
    """A product of elements, of which one factor is broadcast, or of matrices."""
    shape = tuple(rng.integers(1, 4, 2).tolist())
    first = Everywhere.drawn(code, rng, shape)
    if rng.random() < 0.4:
        second = Everywhere.drawn(code, rng, (shape[1], int(rng.integers(1, 4))))
        return first.then(lambda a, b: a @ b, np.matmul, second)
    other = [shape, shape[1:], (1, shape[1]), (shape[0], 1)][rng.integers(4)]
    both = [first, Everywhere.drawn(code, rng, other)]
    return multiplied(*both[:: rng.choice([1, -1])])


STEPS = (
    "+", "-", "rsub", "*", "times", "[]", "sum", "reshape", "wide", "narrow", "rest", "join", "join narrow",
)  # fmt: skip


def changed(one, rng):
    """Another expression of a product."""
    code, value, axis = one.code, public(one, rng), int(rng.integers(max(1, len(one.shape))))
    size = one.held[0].size
    match rng.choice(STEPS):
        case "+":
            return one.then(lambda a: a + value, lambda a: a + value)
        case "-":
            return one.then(lambda a: a - value, lambda a: a - value)
        case "rsub":
            return one.then(lambda a: 5 - a, lambda a: 5 - a)
        case "*":
            return one.then(lambda a: a * value, lambda a: a * value)
        case "times":
            residues = np.stack([np.asarray(value % p, dtype=np.float64) for p in code.primes])
            return one.then(lambda a: a.times(residues), lambda a: a * value)
        case "[]" if one.shape:
            index = rng.integers(0, one.shape[0], rng.integers(1, 4)) if rng.random() < 0.5 else slice(0, 1)
            return one.then(lambda a: a[index], lambda a: a[:, index])
        case "sum" if one.shape:
            return one.then(lambda a: a.sum(axis), lambda a: a.sum(axis=axis + 1))
        case "reshape":
            return one.then(lambda a: a.reshape(1, -1), lambda a: a.reshape(code.ell, 1, size))
        case "wide":
            return subtracted(one, multiplied(*(Everywhere.drawn(code, rng, one.shape) for _ in range(2))))
        case "narrow":
            return added(one, Everywhere.drawn(code, rng, one.shape[axis:]))
        case "rest":
            return subtracted(Everywhere.drawn(code, rng, one.shape), one)
        case "join" if one.shape:
            return one.then(
                lambda a, b: joined([a, b], axis),
                lambda a, b: np.concatenate([a, b], axis=axis + 1),
                one.then(lambda a: 3 - a * 2, lambda a: 3 - a * 2),
            )
        case "join narrow" if one.shape:
            narrow = Everywhere.drawn(code, rng, one.shape)
            return narrow.then(
                lambda a, b: joined([a, b], axis), lambda a, b: np.concatenate([a, b], axis=axis + 1), one
            )
    return one


def drawing(primes, seed):
    """Uniform coefficients, the same at every holder, modulo all primes or for each."""
    rng, half = np.random.default_rng(seed), 1 << 22
    count = 1 if seed % 2 else len(primes)
    return lambda shape: rng.integers(-half, half, (count, COMBINATIONS, *shape)).astype(np.float64)


def whole(vector):
    """All of a vector that may be computed where it is asked for."""
    return vector[:, :, slice(0, vector.shape[2])].astype(np.float64)


def assert_follows(code, held, seed=0):
    """The laws of a formula, for products at all holders."""
    of_holders = {}
    for j, one in enumerate(held, 1):
        factors, pairs = one.formula.draw(drawing(one.primes, seed), one.shape)
        assert factors.shape[1:] == (COMBINATIONS, *one.shape)
        assert sum(first.shape[2] for first, _ in pairs) == one.formula.length
        assert all(first.shape[2] == second.shape[2] for first, second in pairs)
        flat = factors.reshape(len(factors), COMBINATIONS, -1)
        expected = products(flat, one.residues.reshape(len(one.primes), 1, -1), one.primes)
        of_holders[j] = vectors_of(pairs, expected, one.primes)
    assert code.contains(of_holders, MaskSource(), wide=False)


def vectors_of(pairs, expected, primes):
    """A holder's vectors, shape (P, size), whose inner products are as expected, shape (P, COMBINATIONS)."""
    arrays = [[whole(vector) for vector in pair] for pair in pairs]
    found = sum((products(*pair, primes) for pair in arrays), np.zeros_like(expected))
    assert not reduce(found - expected, moduli(primes, 2)).any()
    vectors = [np.broadcast_to(vector, (len(vector), COMBINATIONS, vector.shape[2]))
               for pair in arrays for vector in pair]  # fmt: skip
    return np.concatenate([*(v.reshape(len(v), -1) for v in vectors), expected[:, :0]], axis=1)


def assert_opens(one):
    """Shares are those of the plain result."""
    flat = {j: held.residues.reshape(len(held.primes), -1) for j, held in enumerate(one.held, 1)}
    found = one.code.open(flat, wide=True)
    for p, own in zip(one.code.primes, found, strict=True):
        assert own.tolist() == (one.plain.reshape(one.code.ell, -1) % p).tolist()


@given(code=codes, seed=st.integers(0, 2**32), steps=st.integers(0, 6))
@tries(12)
def test_random_expressions_of_shared_numbers_follow_their_formulas(code, seed, steps):
    rng = np.random.default_rng(seed)
    one = product_of(code, rng)
    for _ in range(steps):
        one = changed(one, rng)
    assert_opens(one)
    assert_follows(code, one.held, seed)


def rows_of(code, rng, m=5, d=4):
    """Rows, by holder."""
    rows = rng.integers(-9, 10, (m, d))
    return rows, [one for j, one in shared_rows(code, rows, parties_of(code)).items() if 1 <= j <= code.n]


OF_ROWS = {
    "norms": lambda rows, sets, matrix: rows.norms,
    "product": lambda rows, sets, matrix: rows.product(matrix),
    "sums": lambda rows, sets, matrix: rows.sums(sets),
    "sums of blocks": lambda rows, sets, matrix: rows.sums(sets[:, :2]),
    "sums, joined": lambda rows, sets, matrix: joined(
        [rows.sums(sets).reshape(-1), sets.sum(1) * sets.sum(1), sets.sum(1)], 0
    ),
    "overlaps": lambda rows, sets, matrix: sets.overlaps(),
    "overlaps, with zeros": lambda rows, sets, matrix: (
        sets.overlaps().reshape(9) + Shared(sets.primes, (9,), np.zeros((len(sets.primes), 9)), formula=ZERO)
    ),
    "some rows": lambda rows, sets, matrix: rows.some(np.array([3, 0, 3])).norms,
    "both": lambda rows, sets, matrix: rows.norms * 3 - rows.product(matrix)[1] + 7,
}


@pytest.mark.parametrize("name", OF_ROWS)
@given(code=codes, seed=st.integers(0, 2**32))
@tries(0.5)
def test_products_with_rows_follow_their_formulas(name, code, seed):
    rng = np.random.default_rng(seed)
    _, rows = rows_of(code, rng)
    sets = Everywhere.drawn(code, rng, (3, 5)).held
    matrix = Everywhere.drawn(code, rng, (2, rows[0].width)).held
    assert_follows(code, [OF_ROWS[name](*each) for each in zip(rows, sets, matrix, strict=True)], seed)


def test_sums_of_rows_and_overlaps_are_not_combined_with_other_coefficients():
    code, rng = Codewords(n=3, t=1, ell=1, primes=primes_of(1)), np.random.default_rng(0)
    _, rows = rows_of(code, rng)
    sets = Everywhere.drawn(code, rng, (2, 5)).held[0]
    for found in (rows[0].sums(sets), sets.overlaps()):
        assert found.formula.length == 5
        with pytest.raises(SecFCError, match="coefficients of their own"):
            found[0].formula.draw(drawing(code.primes, 0), found.shape[1:])


@pytest.mark.parametrize("block", [slice(0, 5), slice(1, 4)])
@pytest.mark.parametrize("wide", [False, True])
@given(code=codes, seed=st.integers(0, 2**32))
@tries(0.5)
def test_answers_of_rows_are_combined_as_their_packed_shares(block, wide, code, seed):
    rng = np.random.default_rng(seed)
    _, rows = rows_of(code, rng)
    matrix = Everywhere.drawn(code, rng, (3, rows[0].width)).held
    constant = Everywhere.drawn(code, rng, (3,))
    constant = multiplied(constant, Everywhere.drawn(code, rng, (3,))) if wide else constant
    every = [
        one.affine(two, three, block) for one, two, three in zip(rows, matrix, constant.held, strict=True)
    ]
    assert_combined(code, every, seed)


@given(code=codes, seed=st.integers(0, 2**32))
@tries(0.5)
def test_products_as_answers_are_combined_as_their_packed_shares(code, seed):
    rng = np.random.default_rng(seed)
    first, second = (Everywhere.drawn(code, rng, (2, 3)) for _ in range(2))
    assert_combined(code, [answers_of(one, columns=2) for one in multiplied(first, second).held], seed)


def assert_combined(code, every, seed):
    """Both laws of answers: their combination, and the length of its vectors."""
    draw = drawing(code.primes, seed)
    columns, rows = every[0].shape
    of_columns, of_rows = draw((columns,)), draw((rows,))
    of_holders = {}
    for j, one in enumerate(every, 1):
        pairs = one.pairs(of_columns, of_rows)
        assert sum(first.shape[2] for first, _ in pairs) == one.length(COMBINATIONS)
        packed = unpack(one.packed.planes()).reshape(len(code.primes), columns, rows)
        outer = of_columns[..., np.newaxis] * of_rows[:, :, np.newaxis]
        expected = products(
            reduce(outer, moduli(code.primes, 4)).reshape(len(code.primes), COMBINATIONS, -1),
            packed.reshape(len(code.primes), 1, -1),
            code.primes,
        )
        of_holders[j] = vectors_of(pairs, expected, code.primes)
    assert code.contains(of_holders, MaskSource(), wide=False)


def test_a_party_without_shares_knows_the_same_lengths():
    code, rng = Codewords(n=3, t=1, ell=1, primes=primes_of(1)), np.random.default_rng(1)
    rows, held = rows_of(code, rng)
    sets = Everywhere.drawn(code, rng, (3, 5)).held[0]
    none = Rows(code.primes, held[0].width, len(rows), None, held[0]._kernels)
    without = Shared(code.primes, sets.shape, None)
    for one, other in [(held[0], sets), (none, without)]:
        assert one.norms.formula.length == rows.size
        assert one.sums(other).formula.length == len(rows)
        assert (other * other[0]).formula.length == 5
        assert (other @ other.reshape(5, 3)).formula.length == 15
