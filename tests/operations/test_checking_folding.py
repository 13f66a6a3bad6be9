"""Folded inner products: right ones are accepted at any length, wrong ones pass as rarely as stated."""

from itertools import combinations, product

import numpy as np
import pytest
from operations.own_net import dealt, parties_of, shared_rows

from secfc.crypto.randomness import MaskSource
from secfc.field.primes import Prime, primes_of
from secfc.field.residues import canonical, reduce
from secfc.kernels.threads import ALONE
from secfc.operations.checking import folding, lane
from secfc.operations.checking.folding import Fold, Vectors, block_length, value_at, values_of
from secfc.operations.checking.lane import Lane
from secfc.sharing import codewords
from secfc.sharing.codewords import Codewords
from secfc.sharing.formula import moduli, products
from secfc.sharing.shared import Shared

PRIMES = primes_of(2)
LENGTHS = [1, 7, 8, 9, 100]
P = 31


def uniform(primes, *shape):
    return np.stack([MaskSource().uniform(p, shape) for p in primes])


class Points:
    """Coins that say the points, one for each combination, by fold."""

    def __init__(self, primes, points):
        self.points = lambda count, least: np.broadcast_to(
            np.array(points, dtype=np.float64), (len(primes), count)
        )


def drawn_points(count, least=17):
    return np.random.default_rng(count).integers(least, 1 << 23, (len(PRIMES), count)).astype(np.float64)


def pairs_of(length, *, count=2):
    """Vectors in three parts, of which one serves all combinations."""
    parts = [part for part in (length // 3, length // 3, length - 2 * (length // 3)) if part]
    return [
        (uniform(PRIMES, 1 if at == 0 else count, part), uniform(PRIMES, 1 if at == 2 else count, part))
        for at, part in enumerate(parts)
    ]


def inner(pairs, primes=PRIMES):
    return reduce(sum(products(*pair, primes) for pair in pairs), moduli(primes, 2))


@pytest.mark.parametrize("hides", [False, True])
@pytest.mark.parametrize("length", LENGTHS)
def test_h_adds_up_to_the_inner_product_and_is_that_of_the_vectors_at_each_point(length, hides):
    pairs = pairs_of(length)
    size = block_length(length)
    hidden = (uniform(PRIMES, 2, size), uniform(PRIMES, 2, size)) if hides else None
    fold = Fold(Vectors(pairs, (2, 2), length), PRIMES, ALONE, hidden)
    values, by = fold.values(), moduli(PRIMES, 2)
    assert values.shape == (2, 2, values_of(hides=hides))
    assert not reduce(values[..., : folding.BLOCKS].sum(axis=2) - inner(pairs), by).any()
    points = drawn_points(2)
    assert not reduce(value_at(values, points, PRIMES) - products(*fold.at(points), PRIMES), by).any()


def run(pairs, length, *, primes=PRIMES, count=2, masks=0, points=None, change=lambda fold, values: values):
    """A lane of plain numbers, whose values of h may be changed: what is opened, and the first masks."""
    one = Lane(count, length)
    dealt_to_it = uniform(primes, masks + one.hidden)
    one.begin(primes, pairs, dealt_to_it, ALONE)
    for fold in range(one.folds):
        found = one.make_values(fold)
        assert found.shape == (len(primes), one.values_at(fold))
        values = reduce(change(fold, found.copy()), moduli(primes, 2))
        at = drawn_points(count) if points is None else points[fold]
        one.go_on(fold, values, Points(primes, at))
    return one, one.line(), dealt_to_it[:, :masks]


def told(one, line, primes=PRIMES):
    sums, agrees = one.sums_in(canonical(line, moduli(primes, 2))[:, np.newaxis], primes)
    return reduce(sums[:, 0], moduli(primes, 2)), agrees


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(lane, "SHORT", 4)


@pytest.mark.parametrize("masks", [0, 2])
@pytest.mark.parametrize("length", LENGTHS)
def test_a_lane_gives_the_inner_product_plus_the_masks(length, masks):
    pairs = pairs_of(length)
    one, line, own = run(pairs, length, masks=masks)
    assert one.folds == 1
    sums, agrees = told(one, line)
    assert agrees
    assert not reduce(sums - inner(pairs) - (own if masks else 0), moduli(PRIMES, 2)).any()


@pytest.mark.parametrize(("length", "folds"), [(4, 1), (5, 2), (33, 3), (100, 3)])
def test_longer_vectors_are_folded_more_often(short, length, folds):
    pairs = pairs_of(length)
    one, line, _ = run(pairs, length)
    assert (one.folds, line.shape) == (folds, (2, one.opened))
    assert one.values == sum(one.values_at(fold) for fold in range(folds))
    sums, agrees = told(one, line)
    assert agrees
    assert not reduce(sums - inner(pairs), moduli(PRIMES, 2)).any()


@pytest.mark.parametrize("masks", [0, 2])
def test_every_single_changed_value_of_h_is_noticed(short, masks):
    pairs = pairs_of(40)
    one, *_ = run(pairs, 40, masks=masks)
    for fold in range(one.folds):
        for prime, at in product(range(2), range(one.values_at(fold))):

            def change(of, values, fold=fold, prime=prime, at=at):
                if of == fold:
                    values[prime, at] += 1
                return values

            changed, line, own = run(pairs, 40, masks=masks, change=change)
            sums, agrees = told(changed, line)
            right = inner(pairs) + (own if masks else 0)
            assert not agrees or reduce(sums - right, moduli(PRIMES, 2)).any()


def test_every_single_changed_number_of_a_line_is_noticed(short):
    pairs = pairs_of(40)
    one, line, _ = run(pairs, 40)
    for prime, at in product(range(2), range(one.opened)):
        changed = line.copy()
        changed[prime, at] += 1
        sums, agrees = told(one, changed)
        assert not agrees or reduce(sums - inner(pairs), moduli(PRIMES, 2)).any()


@pytest.fixture
def tiny(monkeypatch):
    """Two blocks, so that few points are needed: 5 to 30 modulo 31."""
    for module in (folding, lane):
        monkeypatch.setattr(module, "BLOCKS", 2)
    return list(range(5, P))


def error_with(roots, count, blocks_sum):
    """Values at 0, 1, ... of a polynomial with these roots whose first two have this sum, or None."""
    values = np.array([np.prod([(at - root) % P for root in roots]) % P for at in range(count)])
    total = int(values[:2].sum()) % P
    return None if not total else values * pow(total, -1, P) * blocks_sum % P


def test_a_wrong_claim_passes_at_no_more_points_than_the_degree_of_h(tiny):
    """Claimed is 0 where the inner product is 3. The liar knows everything but the point."""
    most = 2 * (folding.BLOCKS + 1) - 2
    vectors = (np.array([[[1.0, 2, 3]]]), np.array([[[4.0, 5, -2 * 3 + 1 + 3]]]))
    wrong = int(inner([vectors], (P,))[0, 0]) % P
    assert wrong
    every = [roots for size in range(most + 1) for roots in combinations(tiny[:10], size)]
    found = (error_with(roots, most + 1, -wrong) for roots in every)
    errors = np.array([one for one in found if one is not None])
    count = len(errors) * len(tiny)
    added = np.repeat(errors, len(tiny), axis=0).astype(np.float64)
    points = np.tile(np.array(tiny), len(errors))
    repeated = tuple(np.repeat(vector, count, axis=1) for vector in vectors)
    one, line, _ = run(
        [repeated], 3, primes=(P,), count=count, points=[points],
        change=lambda fold, values: values + added.reshape(1, -1),
    )  # fmt: skip
    accepted = passed(one, line).reshape(len(errors), len(tiny)).sum(axis=1)
    assert accepted.max() == most  # a liar gets what is stated, and no more
    honest, line, _ = run([repeated], 3, primes=(P,), count=count, points=[points])
    assert not passed(honest, line).any()  # without wrong values of h


def passed(one, line):
    """Which combinations are accepted as 0. `Lane.sums_in` asks whether all are; here each stands alone."""
    count = one.combinations
    vectors, numbers = line[:, : one.hidden], line[:, one.hidden :].reshape(1, one.folds + 1, count)
    both = vectors.reshape(1, 2, count, -1)
    right = reduce(products(both[:, 0], both[:, 1], (P,)) - numbers[:, -1], P) == 0
    return (right & (reduce(numbers[:, :-1], P) == 0).all(axis=1))[0]


def test_with_a_fold_more_a_wrong_claim_passes_at_as_few_points_as_stated(tiny, monkeypatch):
    """All pairs of points. The liar chooses its second error when it knows the first point."""
    monkeypatch.setattr(lane, "SHORT", 2)
    first, last = 2 * folding.BLOCKS - 2, 2 * (folding.BLOCKS + 1) - 2
    vectors = (np.array([[[1.0, 2, 3, 4]]]), np.array([[[5.0, 6, 7, 8]]]))
    wrong, count = int(inner([vectors], (P,))[0, 0]) % P, len(tiny) ** 2
    points = np.array(list(product(tiny, tiny))).T
    at_first = error_with(tiny[:first], first + 1, -wrong)
    of_first = value_at(
        np.repeat(at_first[np.newaxis, np.newaxis].astype(np.float64), len(tiny), axis=1),
        np.array([tiny], dtype=np.float64), (P,),
    )[0]  # fmt: skip
    later = {
        point: error_with(tiny[-last:], last + 1, int(left))
        for point, left in zip(tiny, of_first, strict=True)
    }
    added = [np.repeat([at_first], count, axis=0), np.array([later[point] for point in points[0]])]

    def change(fold, values):
        return values + added[fold].reshape(1, -1)

    repeated = tuple(np.repeat(vector, count, axis=1) for vector in vectors)
    one, line, _ = run([repeated], 4, primes=(P,), count=count, points=points, change=change)
    assert one.folds == 2
    accepted = passed(one, line).sum()
    left = len(tiny) - first
    assert accepted == first * len(tiny) + left * last
    assert accepted <= (first + last) * len(tiny)


@pytest.mark.parametrize("wrong", [[[1, 0], [0, 0]], [[1, 2], [3, 6]], [[1, 0], [0, 1]], [[3, 5], [7, 2]]])
def test_wrong_sums_of_rows_pass_two_of_p_coefficients_at_most(wrong, monkeypatch):
    """All coefficients of two sets and two columns modulo 17."""
    p = 17
    monkeypatch.setattr(codewords, "PRIMES", (Prime(p, 3),))
    code, numbers = Codewords(n=3, t=1, ell=1, primes=(p,)), np.array([[1, 2], [3, 1], [0, 2]])
    rows = shared_rows(code, numbers, parties_of(code))[1]
    sets = dealt(code, np.array([[[1.0, 0, 1], [0, 1, 0]]]).reshape(1, 1, 2, 3))[1]
    every = np.array(list(product(range(p), repeat=4)), dtype=np.float64)
    coefficients = iter([every[:, :2], every[:, 2:]])
    factors, pairs = rows.sums(Shared((p,), (2, 3), sets)).formula.draw(
        lambda shape: reduce(next(coefficients)[np.newaxis], p), (2, 2)
    )
    assert pairs[0][0].shape == (1, p**4, 3)
    unnoticed = (reduce((factors[0] * np.array(wrong)).sum(axis=(1, 2)), p) == 0).mean()
    assert unnoticed <= 2 / p
