"""What a coalition sees of an operation depends on its own shares, on what is opened, and on nothing else.

Everything that is sent is a linear function of inputs and masks modulo a tiny prime. This is linear algebra:
if a coalition may not see a change of the inputs, a change of others' masks undoes it in all that it sees.
"""

from itertools import combinations

import numpy as np
import pytest
from operations.own_net import parties_of, play

from secfc.field.packing import unpack
from secfc.field.primes import Prime
from secfc.kernels.vectorised import VectorisedKernels
from secfc.operations import random_sharings as dealt_at_once
from secfc.operations.opening import opened as opening
from secfc.operations.random_sharings import random_sharings
from secfc.operations.reduction import reduced
from secfc.sharing import codewords
from secfc.sharing.codewords import Codewords
from secfc.sharing.residue_bytes import from_bytes
from secfc.sharing.shared import Shared

P = 17
SHAPES = [(3, 1, 1), (5, 1, 2), (5, 2, 1)]


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    monkeypatch.setattr(codewords, "PRIMES", (Prime(P, 3),))
    monkeypatch.setattr(dealt_at_once, "LEAST", 0)


class Drawn:
    """Gives a party the numbers that a test says, in order."""

    def __init__(self):
        self.values, self.used = None, 0

    def uniform(self, p, shape, kernels=None):
        count = int(np.prod(shape))
        self.used += count
        if self.values is None:
            return np.zeros(shape)
        return self.values[self.used - count : self.used].reshape(shape)

    def octets(self, count):
        """A coin. With the same coin coefficients are constants."""
        return bytes(count)


def seen(code, coalition, operation, inputs, masks=None, **roles):
    """All that a coalition receives, its own shares and masks; and how many masks each party draws."""
    parties, found = parties_of(code, **roles), []
    for j, me in parties.items():
        me.masks = Drawn()
        me.masks.values = None if masks is None else masks[j]

    def carry(sender, recipient, place, data):
        if recipient in coalition and place.tag not in ("root", "coin"):
            numbers = bytes(data)
            if place.tag == "piece":  # without digests, which are of salted pieces, and without the salt
                numbers = numbers[32 * code.n : -32]
            residues = from_bytes(numbers, (len(numbers) // 3,), (P,))[0]
            found.append(((place.step, place.tag, sender, recipient), residues))
        return data

    def shares(j):
        return Shared((P,), (1,), inputs[j - 1].reshape(1, 1) % P if j <= code.n else None, wide=True)

    play(parties, {j: operation(me, shares(j)) for j, me in parties.items()}, carry=carry)
    received = [one for _, one in sorted(found, key=lambda item: item[0])]
    return np.concatenate([*received, np.zeros(0)]) % P, {j: me.masks.used for j, me in parties.items()}


def echelon(matrix):
    """The reduced row echelon form modulo P, without zero rows, and its pivots."""
    rows, pivots = np.array(matrix, dtype=np.int64) % P, []
    for column in range(rows.shape[1]):
        below = np.flatnonzero(rows[len(pivots) :, column]) + len(pivots)
        if not below.size:
            continue
        at = len(pivots)
        rows[[at, below[0]]] = rows[[below[0], at]]
        rows[at] = rows[at] * pow(int(rows[at, column]), -1, P) % P
        others = np.arange(len(rows)) != at
        rows[others] = (rows[others] - np.outer(rows[others, column], rows[at])) % P
        pivots.append(column)
    return rows[: len(pivots)], pivots


def kernel(matrix):
    """A basis of what a matrix maps to 0, as columns."""
    rows, pivots = echelon(matrix)
    free = [column for column in range(matrix.shape[1]) if column not in pivots]
    basis = np.zeros((matrix.shape[1], len(free)), dtype=np.int64)
    for at, column in enumerate(free):
        basis[column, at] = 1
        basis[pivots, at] = -rows[:, column]
    return basis % P


def views(code, coalition, operation, **roles):
    """The linear maps from the shares of all holders, and from masks of others, to what a coalition sees."""
    nothing, used = seen(code, coalition, operation, np.zeros(code.n), **roles)
    of_inputs = []
    for holder in range(code.n):
        unit = np.zeros(code.n)
        unit[holder] = 1
        of_inputs.append((seen(code, coalition, operation, unit, **roles)[0] - nothing) % P)
    of_masks = []
    for j, count in used.items():
        for at in range(count if j not in coalition else 0):
            masks = {one: np.zeros(number) for one, number in used.items()}
            masks[j][at] = 1
            of_masks.append(
                (seen(code, coalition, operation, np.zeros(code.n), masks, **roles)[0] - nothing) % P
            )
    return np.array(of_inputs).T, np.array(of_masks).T.reshape(nothing.size, -1)


def matrix_of(code, values):
    """From so many segments and masks to shares, shape (n, values)."""
    return unpack(code.deal(np.eye(values)[np.newaxis], VectorisedKernels()))[:, 0]


def hidden_changes(code, coalition, *, opened):
    """Changes of <x> at all holders that leave a coalition's shares as they are, and what is opened."""
    every = matrix_of(code, code.wide)
    own = [every[j - 1] for j in coalition if 1 <= j <= code.n]
    segments = list(np.eye(code.wide)[: code.ell]) if opened else []
    return every @ kernel(np.array([*own, *segments]).reshape(-1, code.wide)) % P


def opens(me, shares):
    random = yield from random_sharings(me, zeros=1)
    return (yield from opening(me, shares + random.zeros))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("operation", "told"), [(reduced, False), (opens, True)])
def test_t_holders_with_one_comparer_see_their_shares_and_what_is_opened(shape, operation, told):
    n, t, ell = shape
    code = Codewords(n=n, t=t, ell=ell, primes=(P,))
    helpers = {"dealer": 1, "first": n + 1, "second": n + 2} if n > 3 else {}
    first = n + 1 if helpers else 2
    holders = [one for one in range(1, n + 1) if helpers or one not in (1, 3)]
    every = list(combinations(holders, t if helpers else t - 1))
    for others in every[:: max(1, len(every) // 3)]:
        coalition = {0, first, *others}
        of_inputs, of_masks = views(code, coalition, operation, **helpers)
        changes = hidden_changes(code, coalition, opened=told)
        assert changes.shape[1] >= code.wide - t - told * ell
        known = echelon(of_masks.T)[1]
        assert len(echelon(np.concatenate([of_masks, of_inputs @ changes], axis=1).T)[1]) == len(known)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_one_holder_more_sees_something(shape):
    """The method finds a leak where there is one: t + 1 holders know all random sharings."""
    n, t, ell = shape
    code = Codewords(n=n, t=t, ell=ell, primes=(P,))
    roles = {"dealer": 1, "first": n + 1, "second": n + 2}
    coalition = {n + 1, *range(1, t + 2)}
    of_inputs, of_masks = views(code, coalition, reduced, **roles)
    seen_more = np.concatenate([of_masks, of_inputs @ hidden_changes(code, coalition, opened=False)], axis=1)
    assert len(echelon(seen_more.T)[1]) > len(echelon(of_masks.T)[1])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_any_t_shares_are_uniform_whatever_is_dealt(shape):
    n, t, ell = shape
    code = Codewords(n=n, t=t, ell=ell, primes=(P,))
    for masks in (t, code.wide - ell):
        matrix = matrix_of(code, ell + masks)[:, ell:]
        for holders in combinations(range(n), t):
            assert len(echelon(matrix[list(holders)])[1]) == t
