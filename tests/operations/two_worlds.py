"""An operation in two worlds: a coalition sees the same in both, with the same probability.

What the coalition knows beforehand is the same in both worlds. A block is a step for which masks are drawn,
with the steps after it for which none are. Given all that was computed before a block, what is received in it
is an affine function of the masks of others that are drawn for it, modulo a tiny prime. So the view of the
coalition is uniform in an affine space, and linear algebra compares the spaces of both worlds. Then the masks
of the second world are chosen so that the coalition sees the same there, and the next block follows.
"""

import hashlib
from math import prod
from types import SimpleNamespace

import numpy as np
from operations.own_net import parties_of, play

from secfc.crypto.hash_tree import depth_of
from secfc.field.packing import pack_canonical, unpack
from secfc.field.primes import Prime
from secfc.kernels.vectorised import VectorisedKernels
from secfc.operations import masked, nearest, opening, weighed
from secfc.operations import signs as of_signs
from secfc.operations import under_masks as of_numbers
from secfc.operations.beginning import plus_plus
from secfc.operations.checking import check
from secfc.operations.signs import HiddenBits
from secfc.protocol.parties import dealing, random_sharings
from secfc.protocol.parties.party import Party
from secfc.sharing import codewords, proof
from secfc.sharing.formula import ZERO
from secfc.sharing.rows import Rows
from secfc.sharing.shared import Shared

P = 17
END = 1000  # after all steps
NO_NUMBERS = ("root", "roots", "refused", "refusals", "has bits")  # digests of salted pieces, and constants


def stand_in(monkeypatch):
    """Take a tiny prime, the masks of a world, and signs of one that sees all: gates are tested alone."""
    real = Party.together

    def together(me, halves):
        me.inside = True
        found = yield from real(me, halves)
        me.inside = False
        return found

    def keys(me, other, phase):
        owners = frozenset({me.number, other})
        return SimpleNamespace(key=lambda *use: Drawn(me, owners, me.step, phase, *use))

    monkeypatch.setattr(codewords, "PRIMES", (Prime(P, 3),))
    for module in (dealing, proof):
        monkeypatch.setattr(module, "COVERS", 2)
    fixed = proof.coefficients
    monkeypatch.setattr(dealing, "coefficients", lambda seed, size, moduli: fixed(bytes(32), size, moduli))
    monkeypatch.setattr(random_sharings, "LEAST", 0)
    monkeypatch.setattr(Party, "together", together)
    monkeypatch.setattr(Party, "keys", keys)
    for module in (masked, of_signs, weighed):
        monkeypatch.setattr(module, "ResidueStream", lambda key, kernels: key)
    for module in (nearest, of_numbers, of_signs, opening, plus_plus):
        monkeypatch.setattr(module, "hidden_signs", signs)
    monkeypatch.setattr(check, "prepared", nothing)  # checks are tested alone


def nothing(me):
    """There is no check."""
    return None
    yield


class Drawn:
    """The masks of a party, or of a key that two parties share."""

    def __init__(self, me, *name):
        self._me, self._name, self._used = me, name, 0

    def _next(self, shape):
        places = [(*self._name, self._used + at) for at in range(prod(shape))]
        self._used += len(places)
        step = self._me.step + (not self._me.inside)  # what is drawn between steps is for the next one
        return np.array([self._me.world.mask(one, step) for one in places], dtype=np.float64).reshape(shape)

    def uniform(self, p, shape):
        return self._next(shape)

    def fill(self, out, primes):
        out[...] = pack_canonical(self._next((*out.shape[:-1], out.shape[-1] // 3)))

    def add(self, packed, primes):
        values = unpack(packed)
        packed[...] = pack_canonical((values + self._next(values.shape)) % P)

    def octets(self, count):
        """A salt. What is told of salted pieces is a hash, and coefficients from it are constants."""
        return bytes(count)


class World:
    """An operation, what each party gives, and masks by owners and position; those not given are drawn."""

    def __init__(self, code, coalition, roles, operation, inputs, *, seed, masks=()):
        self.code, self.coalition, self.roles = code, coalition, roles
        self.operation, self.inputs = operation, inputs
        self.masks, self._rng = dict(masks), np.random.default_rng(seed)
        self.steps = {}  # for which each mask is drawn

    def mask(self, place, step):
        """A mask by owners and position."""
        self.steps.setdefault(place, step)
        if place not in self.masks:
            self.masks[place] = int(self._rng.integers(P))
        return (self.masks[place] + (place == self._changed)) % P

    def is_digest(self, sender, place):
        """Whether the first evaluator tells the same recipients what this is the digest of."""
        return sender == self.roles["second"] and (place.tag == "bits" or place.tag.endswith("opened"))

    def known(self):
        """The coalition's masks."""
        return {place: one for place, one in self.masks.items() if place[0] & self.coalition}

    def view(self, first=1, last=END, changed=None):
        """All that the coalition receives in some steps; 1 may be added to one mask."""
        self._changed, self.met, found = changed, {}, []
        parties = parties_of(self.code, **self.roles)
        for me in parties.values():
            me.world, me.inside, me.masks = self, False, Drawn(me, frozenset({me.number}))

        told, digests = {}, {}

        def carry(sender, recipient, place, data):
            seen = recipient in self.coalition and first <= place.step <= last
            if seen and self.is_digest(sender, place):
                digests[place.step, place.tag, recipient] = bytes(data)
            elif seen and place.tag not in NO_NUMBERS:
                told[place.step, place.tag, recipient] = bytes(data)
                found.append((place.step, place.tag, sender, recipient, _numbers(self.code, place.tag, data)))
            return data

        programs = {j: self.operation(me, *(one(me) for one in self.inputs)) for j, me in parties.items()}
        play(parties, programs, carry=carry, lost=lambda me: me.step > last)
        for place, digest in digests.items():
            if place[2] != self.roles["first"]:  # which knows what it told itself
                assert hashlib.sha256(told[place]).digest() == digest
        return np.concatenate([*(one for *_, one in sorted(found, key=lambda one: one[:4])), np.zeros(0)])

    def blocks(self):
        """First and last steps of all blocks."""
        starts = sorted({1, *self.steps.values()})
        return list(zip(starts, [*(one - 1 for one in starts[1:]), END], strict=True))

    def space(self, first, last):
        """What the coalition sees in a block, others' masks in it, and how 1 more of each changes that."""
        seen = self.view(first, last)
        drawn = [place for place, step in self.steps.items() if first <= step <= last]
        others = [place for place in drawn if not place[0] & self.coalition]
        changes = [self.view(first, last, place) - seen for place in others]
        return seen, others, np.array(changes, dtype=np.int64).reshape(len(others), seen.size) % P


def _numbers(code, tag, data):
    if tag in ("bits", "mask"):
        return np.unpackbits(np.frombuffer(data, dtype=np.uint8)).astype(np.float64)
    # A piece without its path of digests, which are of salted pieces, and without the salt.
    path = 32 * depth_of(code.n)
    return unpack(np.frombuffer(bytes(data)[path:-32] if tag == "piece" else data, dtype=np.uint8))


def told_apart(code, coalition, roles, operation, inputs):
    """The first block in which a coalition sees something else in the second of two worlds, None if none."""
    rng = np.random.default_rng(0)
    first, second = zip(*(one(code, coalition, rng) for one in inputs), strict=True)
    one = World(code, coalition, roles, operation, first, seed=1)
    one.view()
    other = World(code, coalition, roles, operation, second, seed=2, masks=one.known())
    other.view()
    for block in one.blocks():
        seen, _, changes = one.space(*block)
        seen_there, others, changes_there = other.space(*block)
        if not matched(other, others, (seen, changes), (seen_there, changes_there)):
            return block
    assert np.array_equal(one.view(), other.view())
    return None


def matched(other, places, space, space_there):
    """Whether two spaces are one. Then masks of the other world here make it seen there as in the first."""
    (seen, changes), (seen_there, changes_there) = space, space_there
    same = seen.shape == seen_there.shape
    if not same or not np.array_equal(echelon(changes)[0], echelon(changes_there)[0]):
        return False
    masks = solved(changes_there.T, (seen - seen_there)[:, np.newaxis])
    if masks is None:
        return False
    for place, change in zip(places, masks[:, 0].tolist(), strict=True):
        other.masks[place] = (other.masks[place] + change) % P
    return True


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


def solved(matrix, targets):
    """Something that a matrix maps to each target, as columns, drawn among all; None if there is nothing."""
    size = matrix.shape[1]
    rows, pivots = echelon(np.concatenate([matrix, targets], axis=1))
    if any(one >= size for one in pivots):
        return None
    free = [column for column in range(size) if column not in pivots]
    found = np.zeros((size, targets.shape[1]), dtype=np.int64)
    found[free] = np.random.default_rng(0).integers(0, P, (len(free), targets.shape[1]))
    found[pivots] = rows[:, size:] - rows[:, free] @ found[free]
    return found % P


def matrix_of(code, values):
    """From so many segments and masks to shares, shape (n, values)."""
    return unpack(code.deal(np.eye(values)[np.newaxis], VectorisedKernels()))[:, 0].astype(np.int64)


def same(values, ell):
    """The same in all segments."""
    return np.stack([values] * ell)


def in_first(values, ell):
    """In the first segment; the others are 0."""
    return np.stack([values] + [np.zeros_like(values)] * (ell - 1))


def shared(*worlds, spread=same, wide=False):
    """Shares of integers in two worlds. The coalition has the same in both."""

    def made(code, coalition, rng):
        every = matrix_of(code, code.wide if wide else code.narrow)
        own = every[[j - 1 for j in sorted(coalition) if 1 <= j <= code.n]]
        first, second = (spread(np.array(one, dtype=np.int64), code.ell) for one in worlds)
        shape = first.shape[1:]
        first, second = first.reshape(code.ell, -1), second.reshape(code.ell, -1)
        masks = rng.integers(0, P, (every.shape[1] - code.ell, first.shape[1]))
        more = solved(own[:, code.ell :], own[:, : code.ell] @ (first - second))
        both = np.concatenate([first, masks]), np.concatenate([second, masks + more])
        return [_at_holders((every @ one % P).reshape(code.n, 1, *shape), wide) for one in both]

    return made


def _at_holders(shares, wide):
    def at(me):
        residues = shares[me.number - 1].astype(np.float64) if me.holds else None
        return Shared((P,), shares.shape[2:], residues, formula=ZERO if wide else None)

    return at


def sets(k, *worlds):
    """[b] of labels, one-hot."""
    return shared(*(np.array(one) == np.arange(k)[:, np.newaxis] for one in worlds))


def rows(*worlds):
    """[f] of rows with one column."""
    columns = shared(*([one] for one in worlds), spread=in_first)
    return lambda *given: [lambda me, one=one: _rows(me, one(me)) for one in columns(*given)]


def _rows(me, columns):
    held = columns.residues
    if held is not None:
        held = np.concatenate([held, (held**2).sum(axis=1, keepdims=True)], axis=1)
        held = ((held + P // 2) % P - P // 2).astype(np.float32)
    return Rows((P,), *columns.shape, held, me.kernels)


def hidden(*worlds):
    """Bits under masks."""
    return lambda *given: [lambda me, one=one: under_masks(me, np.array(one) == 1) for one in worlds]


def under_masks(me, bits):
    """Delta and lambda. Of these the coalition's are the same in both worlds."""
    common = np.random.default_rng(me.step).integers(0, 2, bits.shape).astype(np.bool_)
    masks = common if me.roles.dealer in me.world.coalition else bits ^ common
    held = masks if me.deals else bits ^ masks if me.evaluates else None
    return HiddenBits(outputs=bits.shape[0], rows=bits.shape[1], held=held)


def numbers(*worlds):
    """Numbers under masks."""
    return lambda *given: [lambda me, one=one: numbers_under_masks(me, np.array(one)) for one in worlds]


def numbers_under_masks(me, values):
    """Y and r. Of these the coalition's are the same in both worlds."""
    common = np.random.default_rng(values.shape).integers(0, P, values.shape)
    masks = common if me.roles.dealer in me.world.coalition else common - values
    held = masks if me.deals else values + masks if me.evaluates else None
    found = None if held is None else (held % P).astype(np.float64)[np.newaxis]
    return Shared((P,), values.shape, found)


def signs(me, of, bracket, *, later=False):
    """What `hidden_signs` gives for columns that are to be below 0."""
    yield from me.together([])
    met = me.world.met.setdefault(me.step, {})
    met[me.number] = of.held
    if of.held is None:
        return HiddenBits(outputs=bracket.outputs, rows=of.shape[2], held=None)
    while not {me.roles.dealer, me.roles.first} <= met.keys():
        yield
    masked, masks = (unpack(met[one].planes())[0] for one in (me.roles.first, me.roles.dealer))
    below = (masked - masks) % P > P // 2
    return under_masks(me, (below[bracket.inputs] ^ bracket.negated[..., np.newaxis]).all(axis=0))
