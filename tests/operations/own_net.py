"""Parties of own labels in one process, with what they send to each other."""

import os
from itertools import combinations, pairwise

import numpy as np

from secfc.crypto.randomness import MaskSource
from secfc.field.packing import pack, unpack
from secfc.field.primes import primes_of
from secfc.kernels.vectorised import VectorisedKernels
from secfc.kmeans.bounds import draw_residues, pair_residues, refill_residues
from secfc.kmeans.in_range import RangeCheck
from secfc.kmeans.plain import Plain
from secfc.kmeans.program import lloyd
from secfc.operations.beginning.plus_plus import plus_plus
from secfc.operations.decoding.coded import Coded
from secfc.operations.decoding.distances import Distances
from secfc.operations.secure import Secure
from secfc.operations.sums import public_sets
from secfc.operations.to_owners import to_owners
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.parties.inbox import Inbox
from secfc.protocol.parties.party import Party, Roles
from secfc.sharing.codewords import Codewords
from secfc.sharing.rows import Rows


def parties_of(code, *, dealer=1, first=2, second=3, max_liars=0):
    roles = Roles(n=code.n, dealer=dealer, first=first, second=second)
    numbers = roles.everybody
    secrets = {pair: os.urandom(32) for pair in combinations(numbers, 2)}
    secrets |= {(one, one): os.urandom(32) for one in numbers}
    run = os.urandom(32)
    return {
        one: Party(
            number=one,
            roles=roles,
            code=code,
            kernels=VectorisedKernels(),
            masks=MaskSource(),
            transcript=run,
            secrets={other: secrets[min(one, other), max(one, other)] for other in numbers},
            inbox=Inbox(frozenset(numbers)),
            max_liars=max_liars,
        )
        for one in numbers
    }


class StuckError(Exception):
    """All parties wait."""


def play(parties, programs, *, carry=lambda sender, recipient, place, data: data, lost=lambda party: False):
    """Run the programs, generators by party, until all but lost ones have ended. Return their results.

    `carry` may change a message, or drop it by returning None. A party is lost from when `lost` says so.
    """
    running, results = dict(programs), {}
    while running:
        moved = False
        for number in list(running):
            me, before = parties[number], parties[number].step
            if lost(me):
                del running[number]
                moved = True
                continue
            try:
                next(running[number])
            except StopIteration as end:
                results[number] = end.value
                del running[number]
            moved |= bool(me.outbox) or me.step != before or number not in running
            for recipient, place, data in me.outbox:
                changed = carry(number, recipient, place, data)
                if changed is not None and not lost(parties[recipient]):
                    parties[recipient].inbox.put(number, place, changed)
            me.outbox.clear()
        if running and not moved:
            raise StuckError
    return results


def dealt(code, segments):
    """Shares of segments, shape (P, ell, ...), by holder."""
    masks = MaskSource()
    flat = segments.reshape(len(code.primes), code.ell, -1)
    drawn = np.stack([masks.uniform(p, (code.t, flat.shape[2])) for p in code.primes])
    shares = unpack(code.deal(np.concatenate([flat, drawn], axis=1), VectorisedKernels()))
    return {j: one.reshape(len(code.primes), *segments.shape[2:]) for j, one in enumerate(shares, 1)}


def shared_rows(code, rows, parties):
    """Shared rows by party, of quantised rows (m, d)."""
    m, d = rows.shape
    width = -(-d // code.ell)
    padded = np.zeros((code.ell * width, m), dtype=object)
    padded[:d] = rows.T
    segments = np.stack([(padded % p).astype(np.float64).reshape(code.ell, width, m) for p in code.primes])
    shares = dealt(code, segments)
    found = {}
    for j, me in parties.items():
        held = None
        if j in shares:
            held = np.empty((len(code.primes), width + 1, m), dtype=np.float32)
            moduli = np.array(code.primes)[:, np.newaxis, np.newaxis]
            me.kernels.store(pack(shares[j], moduli), code.primes, held, 0)
        found[j] = Rows(code.primes, width, m, held, me.kernels)
    return found


def ended(steps):
    """The result of steps that wait for nobody."""
    try:
        next(steps)
    except StopIteration as end:
        return end.value
    raise StuckError


def in_the_clear(rows, start, k, *, weights=None, max_iter=50, fewest=1):
    weights = np.ones(len(rows), dtype=np.int64) if weights is None else weights
    return ended(lloyd(Plain(rows.astype(object), start, weights, k), k=k, max_iter=max_iter, fewest=fewest))


class Net:
    """Parties that run the whole program on shares of rows. Holders own about equally many rows each.

    `start` are public labels, or a seed of rows that are drawn; None: in secret.
    """

    def __init__(
        self, rows, start, k, *, of=Secure, n=3, t=1, ell=1, weights=None, max_iter=50, fewest=1, **roles
    ):
        radius = int(np.ceil(np.sqrt((rows**2).sum(axis=1).max()))) + 1
        weights = np.ones(len(rows), dtype=np.int64) if weights is None else weights
        total = int(weights.sum())
        needed = pair_residues, refill_residues, draw_residues
        primes = primes_of(max(residues(radius, total) for residues in needed))
        self.code = Codewords(n=n, t=t, ell=ell, primes=primes)
        self.parties = parties_of(self.code, **roles)
        ends = np.linspace(0, len(rows), n + 1).astype(int).tolist()
        self.owned = {j: slice(a, b) for j, (a, b) in enumerate(pairwise(ends), 1)}
        shares = shared_rows(self.code, rows, self.parties)

        def program(me):
            if of is Coded:
                counts = tuple(own.stop - own.start for own in self.owned.values())
                within = RangeCheck(radius=radius, layout=Layout(counts), max_liars=0)
                operations = Coded(
                    Distances(
                        me,
                        shares[me.number],
                        k,
                        radius=radius,
                        within=within,
                        compared=False,
                        on_round=lambda number, sets: None,
                    ),
                    start,
                    k,
                )
            else:
                if start is None or isinstance(start, int):
                    repeated = None if start is None else np.random.default_rng(start)
                    first = plus_plus(me, shares[me.number], weights, k, repeated)
                else:
                    first = public_sets(me, start, k)
                operations = of(me, shares[me.number], first, weights, k)
            found = yield from lloyd(operations, k=k, max_iter=max_iter, fewest=fewest)
            if of is Coded:
                labels = found.labels[self.owned.get(me.number, slice(0))]
            else:
                labels = yield from to_owners(me, found.labels, self.owned)
            return labels, found.n_iter, found.converged

        self.programs = {j: program(me) for j, me in self.parties.items()}

    def run(self, **more):
        """Labels by owner, and what everybody learns of the iterations."""
        results = play(self.parties, self.programs, **more)
        (told,) = {one[1:] for one in results.values()}
        return {j: results[j][0] for j in self.owned if j in results}, *told

    def assert_as(self, expected, labels, n_iter, converged):
        for owner, found in labels.items():
            assert found.tolist() == expected.labels[self.owned[owner]].tolist()
        assert (n_iter, converged) == (expected.n_iter, expected.converged)


def drawn_case(seed, *, rows_most=20, k_most=6):
    """Rows with ties and clusters that are emptied, a start, and k."""
    rng = np.random.default_rng(seed)
    m, k, d = int(rng.integers(6, rows_most)), int(rng.integers(1, k_most)), int(rng.integers(1, 4))
    most = 1 if seed % 2 else 3
    rows = rng.integers(-most, most + 1, (m, d))
    start = rng.integers(0, k, m).astype(np.int32)
    start[:k] = np.arange(k)
    return rng, rows, start, k
