"""Several starts as one program: with shares, in the clear, and as exact Lloyd."""

import numpy as np
import pytest
from operations.own_net import ended, parties_of, play, shared_rows
from operations.test_own_labels import Lying

from plaintext_baselines import ExactLloyd
from secfc.errors import CheatError
from secfc.field.primes import primes_of
from secfc.kmeans import score as rule
from secfc.kmeans.bounds import fit_residues, pair_residues, refill_residues
from secfc.kmeans.plain import Plain
from secfc.kmeans.program import Best, best_starts
from secfc.kmeans.score import INERTIA, SCORE, first_bits, inertia_of
from secfc.kmeans.sets import random_partition
from secfc.operations.ending import best, inertia
from secfc.operations.ending.best import plain_best
from secfc.operations.ending.fit import plain_scores
from secfc.operations.secure import Secure, SecureStarts
from secfc.operations.sums import public_sets
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


class PlainStarts:
    """Starts from given first sets, in order. Rows are quantised, and have weights."""

    def __init__(self, rows, firsts, weights):
        self._rows, self._firsts, self._weights = rows, iter(firsts), weights

    def begin(self, k):
        return Plain(self._rows, next(self._firsts), self._weights, k)

    def fit(self, ended):
        return plain_scores(self._rows, ended.labels, ended.means, self._weights, (SCORE, INERTIA))
        yield

    def stored(self, ended):
        return ended

    def best(self, fits):
        return plain_best([one for one, _ in fits])
        yield

    def opened(self, fits):
        return [first_bits(one) for _, one in fits]
        yield


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
                lambda k: Secure(me, own, public_sets(me, next(starts), k), weights, k),
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
@pytest.mark.some(5)
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


@pytest.mark.parametrize("seed", [0, 3, 9])
def test_sizes_with_more_bits_than_are_looked_up_are_interpolated(monkeypatch, seed):
    monkeypatch.setattr(rule, "_LEADING", 2)
    job = drawn_job(seed)
    *given, options = job
    assert len(rule.looked_up(int(job[2].sum()))) < job[2].sum()
    expected = [told(one) for one in in_the_clear(*given, **options)]
    assert {tuple(learned for _, learned in found) for found in Net(*given, **options).run().values()} == {
        tuple(expected)
    }


SEVERAL = drawn_job(4)


def test_of_equal_starts_the_first_is_the_best():
    rows, firsts, weights, _, options = SEVERAL
    found = in_the_clear(rows, [firsts[-1]] * 3, weights, [int(firsts[-1].max()) + 1] * 3, **options)
    assert found[0].best == Best(number=0, equal=3, near=3)


def expected_of(job):
    *given, options = job
    return [told(one) for one in in_the_clear(*given, **options)]


def assert_told(job, results):
    for found in results.values():
        assert [learned for _, learned in found] == expected_of(job)


@pytest.mark.parametrize("step", [5, 40, 90])
def test_a_holder_that_is_lost_changes_nothing(step):
    *given, options = SEVERAL
    net = Net(*given, n=5, **options)
    assert_told(SEVERAL, net.run(lost=lambda me: me.number == 5 and me.step >= step))


@pytest.mark.parametrize("tag", ["hidden", "share", "answer"])
def test_a_holder_that_lies_is_named_and_changes_nothing(tag):
    *given, options = SEVERAL
    net, lying = Net(*given, n=5, roles={"max_liars": 1}, **options), Lying(4, tag)
    assert_told(SEVERAL, net.run(carry=lying))
    assert set().union(*(me.liars for me in net.parties.values())) == {4}


def test_evaluators_that_tell_different_bits_of_an_inertia_end_the_run():
    *given, options = SEVERAL

    def carry(sender, recipient, place, data):
        return bytes([data[0] ^ 128]) + bytes(data[1:]) if (sender, place.tag) == (3, "bits") else data

    with pytest.raises(CheatError, match=r"^bits: the evaluators told different numbers"):
        Net(*given, **options | {"fewest": 1}).run(carry=carry)


def replaced(monkeypatch, module, name, result):
    def other(*given):
        return result(*given)
        yield

    monkeypatch.setattr(module, name, other)


@pytest.mark.parametrize(
    ("module", "name", "result", "text"),
    [
        (
            best,
            "nonzero",
            lambda me, of: np.ones(of.size, bool),
            "not exactly one start was opened as the best",
        ),
        (
            best,
            "nonzero",
            lambda me, of: np.zeros(of.size, bool),
            "not exactly one start was opened as the best",
        ),
        (best, "opened", lambda me, of: np.full((1, of.size), 99.0), "a count above 2 was opened"),
        (
            inertia,
            "below",
            lambda me, of, limits: [at % 2 == 0 for at in range(of.size)],
            "a number is below a limit and not",
        ),
    ],
    ids=["none is the best", "all are", "a count", "an inertia"],
)
def test_what_cannot_be_ends_the_run(monkeypatch, module, name, result, text):
    replaced(monkeypatch, module, name, result)
    *given, options = SEVERAL
    with pytest.raises(CheatError, match=text):
        Net(*given, **options).run()


def test_a_score_is_compared_with_all_that_it_could_be():
    """The largest score that is possible, of opposite rows with one centre, is below `most_score`."""
    rows, ones = np.array([[7], [-7]] * 4), np.ones(8, dtype=np.int64)
    (kept,) = in_the_clear(rows, [np.zeros(8, dtype=np.int32)], ones, [1], max_iter=1, fewest=1, opens=True)
    assert kept.opened == rule.first_bits(8 * 49 << rule.score_bits(8, rule.INERTIA))
    assert kept.opened <= rule.most_score(8, 49, rule.INERTIA)
