"""Several starts as one program: with shares, in the clear, and as exact Lloyd."""

import numpy as np
import pytest
from operations.own_net import ended, parties_of, play, shared_rows

from plaintext_baselines import ExactLloyd
from secfc.field.primes import primes_of
from secfc.kmeans.plain_starts import PlainStarts
from secfc.kmeans.score import inertia_of
from secfc.kmeans.several import best_starts
from secfc.kmeans.start import random_partition
from secfc.operations.ending.fit import fit_residues
from secfc.operations.ending.secure_starts import SecureStarts
from secfc.operations.pairs import pair_residues
from secfc.operations.refill import refill_residues
from secfc.operations.secure import Secure
from secfc.operations.to_owners import to_owners
from secfc.sharing.codewords import Codewords


def drawn_job(seed, *, most=16):
    """Rows with ties, weights in every third, numbers of clusters of all starts, and first sets of each."""
    rng = np.random.default_rng(seed)
    m, d = int(rng.integers(4, most)), int(rng.integers(1, 4))
    span = 1 if seed % 2 else 50
    rows = rng.integers(-span, span + 1, (m, d))
    ks = sorted({1, *rng.integers(1, m + 1 if seed % 5 == 0 else 5, 2).clip(max=m).tolist()})
    numbers = [k for k in ks[seed % 2 :] for _ in range(int(rng.integers(1, 5)))] or [1]
    firsts = [random_partition(rng, m, k) for k in numbers]
    weights = rng.integers(1, 5, m) if seed % 3 == 0 else np.ones(m, dtype=np.int64)
    options = {"max_iter": int(rng.integers(1, 6)), "fewest": int(rng.integers(1, 3)), "opens": seed % 4 < 2}
    return rows, firsts, weights, numbers, options


def in_the_clear(rows, firsts, weights, numbers, **options):
    return ended(best_starts(PlainStarts(rows.astype(object), firsts, weights), numbers, **options))


class Net:
    """Parties that run all starts on shares of rows."""

    def __init__(self, rows, firsts, weights, numbers, *, n=3, t=1, ell=1, opens, roles=None, **options):
        radius, total = int(np.ceil(np.sqrt((rows**2).sum(axis=1).max()))) + 1, int(weights.sum())
        compares = len(set(numbers)) < len(numbers)
        residues = fit_residues(radius, total, compares=compares, opens=opens)
        most = max(pair_residues(radius, total), refill_residues(radius, total), residues)
        code = Codewords(n=n, t=t, ell=ell, primes=primes_of(most))
        self.parties = parties_of(code, **(roles or {}))
        shares = shared_rows(code, rows, self.parties)
        self.owned = {1: slice(0, 3), 2: slice(3, len(rows))}

        def program(me):
            own, starts = shares[me.number], iter(firsts)
            run = SecureStarts(
                me,
                own,
                weights,
                lambda k: Secure(me, own, next(starts), weights, k),
                radius=radius,
                compares=compares,
                opens=opens,
            )
            kept = yield from best_starts(run, numbers, opens=opens, **options)
            found = []
            for one in kept:
                labels = yield from to_owners(me, one.ended.labels, self.owned)
                found.append((labels, told(one)))
            return found

        self.programs = {j: program(me) for j, me in self.parties.items()}

    def run(self, **more):
        return play(self.parties, self.programs, **more)


def told(kept):
    """What everybody learns of the best start."""
    return kept.k, kept.best, kept.opened, kept.ended.n_iter, kept.ended.converged


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("shape", [(3, 1, 1), (5, 1, 2), (5, 2, 1)], ids=str)
@pytest.mark.some(8)
def test_shares_give_the_best_starts_and_inertias_of_the_plaintext(seed, shape):
    n, t, ell = shape
    rows, firsts, weights, numbers, options = drawn_job(seed)
    roles = {"dealer": 1, "first": n + 1, "second": n + 2} if t > 1 else {}
    net = Net(rows, firsts, weights, numbers, n=n, t=t, ell=ell, roles=roles, **options)
    expected = in_the_clear(rows, firsts, weights, numbers, **options)
    results = net.run()
    assert len(results) == len(net.parties)
    for number, found in results.items():
        for (labels, learned), one in zip(found, expected, strict=True):
            assert learned == told(one)
            if number in net.owned:
                assert labels.tolist() == one.ended.labels[net.owned[number]].tolist()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(60))
def test_the_best_start_in_the_clear_is_that_of_exact_lloyd(seed):
    rng = np.random.default_rng(seed)
    m, k, starts = int(rng.integers(4, 30)), int(rng.integers(1, 5)), int(rng.integers(2, 6))
    rows = rng.integers(-1, 2, (m, 2)) if seed % 2 else rng.integers(-90, 90, (m, 2))
    weights = rng.integers(1, 5, m) if seed % 3 == 0 else np.ones(m, dtype=np.int64)
    max_iter, order = int(rng.integers(1, 4)), np.random.default_rng(seed)
    firsts = [random_partition(order, m, k) for _ in range(starts)]
    exact = ExactLloyd(k, n_init=starts, step=1.0, bound=200.0, max_iter=max_iter, random_state=seed)
    exact.fit([rows.astype(float)], sample_weight=[weights])
    options = {"max_iter": max_iter, "fewest": 1, "opens": True}
    (found,) = in_the_clear(rows, firsts, weights, [k] * starts, **options)
    assert found.ended.labels.tolist() == exact.labels_[0].tolist()
    assert (found.ended.n_iter, found.ended.converged) == (exact.n_iter_, exact.converged_)
    assert float(inertia_of(found.opened, int(weights.sum()))) == pytest.approx(exact.inertia_, rel=2**-22)
