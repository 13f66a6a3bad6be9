"""What a coalition sees of an operation depends on its own shares, on what is opened, and on nothing else.

Signs are tested in `test_hidden_signs.py`, because their masks are bits.
"""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from operations import two_worlds
from operations.two_worlds import P, hidden, in_first, numbers, rows, sets, shared, told_apart
from support.sweeps import sweep

from secfc.kmeans.program import lloyd
from secfc.kmeans.score import INERTIA, SCORE
from secfc.operations.beginning import plus_plus
from secfc.operations.beginning.rows import SharedRows
from secfc.operations.beginning.totals import sums_over_clients
from secfc.operations.ending import best, inertia
from secfc.operations.ending.best import best_start
from secfc.operations.ending.cells import opened_cells
from secfc.operations.ending.fit import scores_of
from secfc.operations.ending.inertia import opened_first_bits
from secfc.operations.ending.large_enough import lacking
from secfc.operations.ending.overlaps import opened_tables
from secfc.operations.ending.spreads import sums_of_squares
from secfc.operations.masked import masked
from secfc.operations.multiplied import multiplied
from secfc.operations.nearest import nearest
from secfc.operations.opening import opened, opened_to
from secfc.operations.reduction import reduced
from secfc.operations.refill import refilled
from secfc.operations.secure import Secure
from secfc.operations.signs import shared_bits
from secfc.operations.sums import Sums, moved_below, public_sets, summed
from secfc.operations.to_owners import to_owners
from secfc.operations.under_masks import counted
from secfc.protocol.job.cases import Described
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.parties.random_sharings import random_sharings
from secfc.sharing.codewords import Codewords
from secfc.sharing.rows import answers_of
from secfc.sharing.shared import joined

SHAPES = [(3, 1, 1), (5, 1, 2), (5, 2, 1)]


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    two_worlds.stand_in(monkeypatch)
    monkeypatch.setattr(best, "NEAR", 2)
    monkeypatch.setattr(inertia, "KEPT", 2)
    monkeypatch.setattr(plus_plus, "DRAW_BITS", 8)
    monkeypatch.setattr(plus_plus, "_OCTETS", 1)


def opens(me, shares):
    random = yield from random_sharings(me, zeros=shares.size)
    return (yield from opened(me, shares + random.zeros))


def masks(me, shares):
    return (yield from masked(me, answers_of(shares)))


def adds_and_asks(me, labels, before, of):
    return (yield from summed(me, labels, of, np.ones(of.m, dtype=np.int64), before))


def assigns(me, sums, sizes, of):
    means = Sums(sums=sums, sizes=sizes, full=tuple(range(sizes.size)))
    return (yield from nearest(me, means, of, k=sizes.size))


def iterates(me, of):
    """An iteration of Lloyd from public sets, and the last assignment."""
    first, weights = public_sets(me, np.array([0, 1, 1]), 2), np.ones(of.m, dtype=np.int64)
    return (yield from lloyd(Secure(me, of, first, weights, 2), k=2, max_iter=1, fewest=1))


def moves(me, before, after):
    any_moved = yield from moved_below(me, before, after, [1])
    return any_moved, (yield from moved_below(me, before, after, [1, 3]))


def refills(me, labels, sums, sizes, of):
    full = tuple(range(labels.shape[0] - 1))
    means = Sums(sums=sums, sizes=sizes, full=full)
    return (yield from refilled(me, labels, means, of, [len(full)]))


def counts(me, bits):
    return (yield from counted(me, bits, np.array([1, 3])))


def draws(me, of, amounts, bits):
    return (yield from plus_plus.drawn_rows(me, of, amounts, bits))


def chooses(me, of, norms, closest, drawn):
    nearer = yield from plus_plus.nearer_by(me, of, norms - closest, drawn)
    won = yield from plus_plus.least_of(me, (nearer * np.array([1, 2])).sum(1))
    return closest + (yield from multiplied(me, won, nearer))


def begins(me, of):
    """Rows that are drawn by the same numbers in both worlds."""
    return (yield from plus_plus.plus_plus(me, of, np.array([1, 2]), 2, np.random.default_rng(0)))


def scores(me, labels, sums, sizes, of):
    means = Sums(sums=sums, sizes=sizes, full=(0, 1))
    norms, weights = (yield from reduced(me, of.norms)), np.ones(of.m, dtype=np.int64)
    return (yield from scores_of(me, labels, means, of, norms, weights, [SCORE, INERTIA]))


def opens_inertia(me, score):
    return (yield from opened_first_bits(me, [score], most=7))


def adds_up(me, numbers):
    """Clients give numbers in one segment, not shares of them."""
    return (yield from sums_over_clients(me, numbers, 2))


def of_clients(code, coalition, rng):
    """Two numbers of each client; in the second world two others have others with the same sums."""
    first = rng.integers(0, P, (code.n, 2))
    second, honest = first.copy(), [j for j in range(1, code.n + 1) if j not in coalition]
    second[honest[0] - 1] += 1
    second[honest[1] - 1] -= 1

    def given(numbers):
        def at(me):
            if not me.holds:
                return None
            return np.stack([(numbers % P)[me.number - 1].astype(np.float64)] * code.ell)[np.newaxis]

        return at

    return [given(first), given(second)]


def describes(me, own):
    """One column of one cluster, in one segment: a bit of holding, one of a small part, and a number."""
    me.code = replace(me.code, ell=1)
    layout = Layout((1,) * me.code.n)
    shared = SharedRows(rows=None, layout=layout, lost=(), cheats={}, unread=())
    return (yield from opened_cells(me, shared, me.roles.holders, own, Described((), 2), 1))


def with_bits(changed):
    """Numbers as below, with bits that `changed` gives of both worlds' bits and of two others."""

    def made(code, coalition, rng):
        bits = np.array([[[1, 0]] * code.n] * 2)
        changed(*bits, *[j - 1 for j in range(1, code.n + 1) if j not in coalition][:2])
        given = of_clients(code, coalition, rng)

        def give(world, at):
            def own(me):
                return [*world[me.number - 1].tolist(), int(at(me)[0, 0, 0])] if me.holds else None

            return own

        return [give(*one) for one in zip(bits, given, strict=True)]

    return made


def all_hold(first, second, one, other):
    """In both worlds."""


def one_is_small(first, second, one, other):
    """In the first world one has a small part, in the second too few hold the column."""
    first[one] = 0, 1
    second[other] = 0, 0
    second[one] = 0, 0


def another_is_small(first, second, one, other):
    first[one], second[other] = (0, 1), (1, 1)


def tells(me, labels):
    return (yield from to_owners(me, labels, {j: slice(j - 1, j) for j in (1, 2, 3)}))


def reveals(me, labels, of, *, to):
    parts = [labels.sum(1).reshape(-1, 1), of.sums(labels), (yield from sums_of_squares(me, labels, of))]
    found = yield from reduced(me, joined(parts, 1))
    return (yield from opened_to(me, to, found.reshape(found.size), "sums"))


def to_all(me, labels, of):
    return (yield from reveals(me, labels, of, to=(1, 2, 3)))


def to_nobody(me, labels, of):
    return (yield from reveals(me, labels, of, to=()))


def are_enough(me, labels):
    own = {1: slice(0, 1), 2: slice(1, 2)}
    return (yield from lacking(me, labels, np.array([1, 2, 1, 1]), own, 2))


def overlap(me, first, second):
    return (yield from opened_tables(me, [first, second]))


def of_others(code, coalition, rng):
    """Labels of the rows of three owners, which in the second world are others, but not the coalition's."""
    first = [0, 1, 1]
    second = [one if owner in coalition else 1 - one for owner, one in enumerate(first, 1)]
    return sets(2, first, second)(code, coalition, rng)


def wide(first, second):
    """<x> of two of the random numbers below, in each segment."""
    return shared(first, second, spread=lambda values, ell: values[:ell], wide=True)


X, Y = np.random.default_rng(0).integers(0, P, (2, 2, 2))
CASES = {
    "reduced": (reduced, wide(X, Y)),
    "opened": (opens, wide(X, X)),
    "summed": (
        adds_and_asks,
        sets(2, [0, 1], [1, 0]),
        sets(2, [1, 1], [0, 0]),
        rows([3, 5], [4, 8]),
    ),
    "masked": (masks, wide(X, Y)),
    "nearest of three": (  # with what `pairs` sends
        assigns,
        shared([[3], [4], [7]], [[5], [1], [2]], spread=in_first),
        shared([2, 1, 1], [1, 2, 1]),
        rows([5, 1], [7, 9]),
    ),
    "shared bits": (shared_bits, hidden([[0, 1, 1]], [[1, 0, 1]])),
    "moved below": (moves, sets(2, [0, 1, 1], [0, 1, 0]), sets(2, [0, 0, 1], [1, 0, 0])),
    "refilled": (
        refills,
        sets(3, [0, 0, 1], [1, 0, 0]),
        shared([[1], [5], [0]], [[7], [7], [0]], spread=in_first),
        shared([2, 1, 0], [2, 1, 0]),
        rows([0, 1, 5], [7, 3, 4]),
    ),
    "multiplied": (multiplied, hidden([[0, 1], [1, 1]], [[1, 0], [1, 0]]), numbers([[3], [5]], [[4], [0]])),
    "counted": (counts, hidden([[1, 0, 1]], [[0, 1, 1]])),
    "drawn": (
        draws,
        rows([3, 5], [4, 8]),
        numbers([1, 3], [2, 1]),
        hidden(np.eye(2, 8) == 1, np.ones((2, 8))),
    ),
    "candidates": (
        chooses,
        rows([3, 5], [4, 8]),
        numbers([[9, 8]], [[16, 13]]),
        numbers([3, 1], [1, 2]),
        shared([[5], [3]], [[4], [8]], spread=in_first),
    ),
    "k-means++": (begins, rows([3, 5], [4, 8])),
    "scores": (
        scores,
        sets(2, [0, 1], [1, 1]),
        shared([[3], [4]], [[5], [1]], spread=in_first),
        shared([1, 1], [2, 0]),
        rows([5, 1], [7, 9]),
    ),
    "best": (best_start, shared([1, 2], [1, 3], spread=in_first)),  # the second is not near it
    "inertia": (opens_inertia, shared([4], [5], spread=in_first)),  # both begin with 1, 0
    "to owners": (tells, of_others),
    "totals": (adds_up, of_clients),
    "cells": (describes, with_bits(all_hold)),
    "a small part": (describes, with_bits(one_is_small)),
    "another small part": (describes, with_bits(another_is_small)),
    # Labels 1, 0, 0 and then 0, 0, 1; in the second world 0, 1, 0 and then 1, 0, 0.
    "iteration": (iterates, rows([-4, -3, -1], [-4, -3, 1])),
    "centres": (to_all, sets(2, [0, 0, 1], [1, 0, 0]), rows([3, 5, 2], [2, 5, 3])),
    # The same rows in another order, so with the same tables.
    "tables": (overlap, sets(2, [0, 0, 1, 1], [1, 0, 0, 1]), sets(2, [0, 1, 1, 1], [1, 1, 0, 1])),
    "no centres": (to_nobody, sets(2, [0, 0], [0, 1]), rows([3, 5], [9, 4])),
    "large enough": (are_enough, sets(2, [0, 0, 0, 0], [1, 1, 1, 1])),
    "too small": (are_enough, sets(2, [0, 1, 0, 1], [1, 0, 0, 1])),
}
QUICK = ("reduced", "opened", "masked", "shared bits", "to owners")
LONG = ("refilled", "k-means++", "iteration", "scores", "best", "a small part", "another small part")


EVERY = [
    case
    for case in product(CASES, SHAPES, ("dealer", "first", "second"))
    if case[0] not in LONG or case[1] == SHAPES[0]
]


def kept(case):
    return case[0] in QUICK or (case[0] not in LONG and case[1] == SHAPES[0])


@pytest.mark.parametrize(
    ("shape", "recipient"), sweep([(one, 3) for one in SHAPES], [(SHAPES[0], 3)]), ids=str
)
def test_other_sums_are_seen_by_a_recipient_alone(shape, recipient):
    """The method finds what is opened: row 1 is in another set there."""
    n, t, ell = shape
    code, inputs = Codewords(n=n, t=t, ell=ell, primes=(P,)), [sets(2, [0, 0], [0, 1]), rows([3, 5], [3, 5])]
    assert told_apart(code, {recipient}, roles_of(n), to_all, inputs) is not None
    assert told_apart(code, {recipient}, roles_of(n), to_nobody, inputs) is None


def test_other_tables_are_seen_by_holders_alone():
    """Row 2 is in another set of the second partition. Helpers and the server do not see it."""
    code, roles = Codewords(n=5, t=1, ell=2, primes=(P,)), roles_of(5)
    inputs = [sets(2, [0, 0, 1], [0, 0, 1]), sets(2, [0, 1, 1], [0, 0, 1])]
    assert told_apart(code, {0, 2}, roles, overlap, inputs) is not None
    for helper in (roles["first"], roles["second"]):
        assert told_apart(code, {0, helper}, roles, overlap, inputs) is None


def roles_of(n):
    return {"dealer": 1, "first": n + 1, "second": n + 2} if n > 3 else {"dealer": 1, "first": 2, "second": 3}


@pytest.mark.parametrize(("name", "shape", "comparer"), sweep(EVERY, kept), ids=str)
def test_t_holders_with_one_comparer_see_the_same_in_both_worlds(name, shape, comparer):
    n, t, ell = shape
    code, roles = Codewords(n=n, t=t, ell=ell, primes=(P,)), roles_of(n)
    others = [j for j in range(1, n + 1) if j not in roles.values()]
    one = roles[comparer]
    operation, *inputs = CASES[name]
    coalition = {0, one, *others[: t - (one <= n)]}
    assert told_apart(code, coalition, roles, operation, inputs) is None


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_one_holder_more_sees_something(shape):
    """The method finds a leak where there is one: t + 1 holders know all random sharings."""
    n, t, ell = shape
    code = Codewords(n=n, t=t, ell=ell, primes=(P,))
    roles = {"dealer": 1, "first": n + 1, "second": n + 2}
    assert told_apart(code, {n + 1, *range(1, t + 2)}, roles, reduced, [wide(X, Y)]) is not None


def test_another_table_is_seen_by_clients():
    """The method finds what is opened: whether the column passes, and its total."""
    code, inputs = Codewords(n=5, t=1, ell=1, primes=(P,)), with_bits(all_hold)

    def of_others(code, coalition, rng):
        first, _ = inputs(code, coalition, rng)
        return [first, lambda me: [*first(me)[:2], first(me)[2] + (me.number == 5)] if me.holds else None]

    def not_passing(code, coalition, rng):
        first, second = inputs(code, coalition, rng)
        return [first, lambda me: [1, me.number == 5, second(me)[2]] if me.holds else None]

    for given in (of_others, not_passing):
        assert told_apart(code, {0, 1}, roles_of(5), describes, [given]) is not None


@pytest.mark.slow
def test_an_iteration_that_moves_no_row_is_seen():
    """What is opened is part of the view: labels stay 0, 1, 1 in the second world."""
    code, roles = Codewords(n=3, t=1, ell=1, primes=(P,)), roles_of(3)
    assert told_apart(code, {0, 1}, roles, iterates, [rows([-4, -3, -1], [-4, -3, -3])]) is not None


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_any_t_shares_are_uniform_whatever_is_dealt(shape):
    n, t, ell = shape
    code = Codewords(n=n, t=t, ell=ell, primes=(P,))
    for masks in (t, code.wide - ell):
        matrix = two_worlds.matrix_of(code, ell + masks)[:, ell:]
        for holders in combinations(range(n), t):
            assert len(two_worlds.echelon(matrix[list(holders)])[1]) == t
