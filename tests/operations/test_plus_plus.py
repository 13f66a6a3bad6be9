"""Rows that are drawn in secret: the first sets with shares, in the clear, and by Python's integers."""

from collections import Counter

import numpy as np
import pytest
from operations.own_net import Net, drawn_case, in_the_clear, parties_of, play, shared_rows
from support.recorded import recorded_keys
from support.sweeps import every

from plaintext_baselines import ExactLloyd
from secfc.field.primes import primes_of
from secfc.kmeans.bounds import draw_residues
from secfc.operations import signs, under_masks
from secfc.operations.beginning import plus_plus
from secfc.operations.beginning.plus_plus import (
    numbers_of,
    plain_numbers,
    plain_plus_plus,
    random_numbers,
)
from secfc.sharing.codewords import Codewords


@every("seed", range(6))
@every("shape", [(3, 1, 1), (5, 1, 2), (6, 2, 1)])
def test_shares_give_the_labels_of_the_start_in_the_clear(seed, shape):
    n, t, ell = shape
    rng, rows, _, k = drawn_case(seed)
    options = {"max_iter": int(rng.integers(1, 8)), "fewest": int(rng.integers(1, 3))}
    weights = rng.integers(1, 4, len(rows)) if seed % 2 else np.ones(len(rows), dtype=np.int64)
    roles = {"dealer": 1, "first": n + 1, "second": n + 2} if t > 1 else {}
    net = Net(rows, seed, k, n=n, t=t, ell=ell, weights=weights, **options, **roles)
    numbers = plain_numbers(numbers_of(k), np.random.default_rng(seed))
    start = plain_plus_plus(rows.astype(object), weights, numbers, k)
    net.assert_as(in_the_clear(rows, start, k, weights=weights, **options), *net.run())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(200))
def test_the_start_in_the_clear_is_that_of_exact_lloyd(seed):
    rng, rows, _, k = drawn_case(seed)
    k = len(rows) if seed % 10 == 0 else k
    weights = rng.integers(1, 9, len(rows)) if seed % 3 else None
    numbers = plain_numbers(numbers_of(k), np.random.default_rng(seed))
    times = np.ones(len(rows), dtype=np.int64) if weights is None else weights
    start = plain_plus_plus(rows.astype(object), times, numbers, k)
    exact = ExactLloyd(k, init="k-means++", random_state=seed, step=1.0, bound=100.0, max_iter=4)
    exact.fit([rows.astype(float)], sample_weight=None if weights is None else [weights])
    found = in_the_clear(rows, start, k, weights=weights, max_iter=4)
    assert found.labels.tolist() == exact.labels_[0].tolist()
    assert (found.n_iter, found.converged) == (exact.n_iter_, exact.converged_)


def drawn_bits():
    """Random numbers as bits, by party, of a run of their own."""
    parties = parties_of(Codewords(n=3, t=1, ell=1, primes=primes_of(2)), dealer=1, first=4, second=5)
    return {j: random_numbers(me, 3).held for j, me in parties.items()}


def test_a_random_number_is_the_dealers_xor_that_of_both_evaluators():
    held = drawn_bits()
    assert (held[4] == held[5]).all()
    assert held[1].shape == held[4].shape == (3, 32)
    assert not any(held[j] is not None for j in (0, 2, 3))


def test_random_numbers_differ_within_runs_and_between_them():
    found = [row.tobytes() for held in (drawn_bits() for _ in range(3)) for row in held[1] ^ held[4]]
    assert len(set(found)) == len(found)


def drawn_rows_of(rows, weights, k, seed):
    numbers = plain_numbers(numbers_of(k), np.random.default_rng(seed))
    return plain_plus_plus(rows.astype(object), weights, numbers, k)


def test_if_all_rows_are_alike_the_last_one_is_drawn_again_and_nothing_else_changes():
    rows, weights = np.ones((5, 2), dtype=np.int64), np.ones(5, dtype=np.int64)
    start = drawn_rows_of(rows, weights, 3, 1)
    assert sorted(start.tolist())[:3] == [-1, -1, -1]
    assert set(start.tolist()) <= {-1, 0, 1}
    net = Net(rows, 1, 3)
    net.assert_as(in_the_clear(rows, start, 3), *net.run())


@pytest.mark.parametrize("seed", range(4))
def test_as_many_rows_as_sets_are_each_drawn_once_if_they_differ(seed):
    rows, weights = np.arange(5)[:, np.newaxis] ** 2, np.array([1, 5, 1, 2, 1])
    start = drawn_rows_of(rows, weights, 5, seed)
    assert sorted(start.tolist()) == list(range(5))
    net = Net(rows, seed, 5, weights=weights)
    net.assert_as(in_the_clear(rows, start, 5, weights=weights), *net.run())


def test_numbers_that_are_compared_in_several_parts_give_the_same(monkeypatch):
    _, rows, _, k = drawn_case(7)
    weights = np.ones(len(rows), dtype=np.int64)
    monkeypatch.setattr(under_masks, "rows_at_once", lambda k, primes: 7)
    net = Net(rows, 7, k)
    start = drawn_rows_of(rows, weights, k, 7)
    net.assert_as(in_the_clear(rows, start, k), *net.run())


def test_a_holder_that_lies_changes_no_draw():
    _, rows, _, k = drawn_case(4)
    weights = np.ones(len(rows), dtype=np.int64)

    def carry(sender, recipient, place, data):
        lies = sender == 5 and place.tag in ("hidden", "answer", "share")
        return bytes([data[0] ^ 1]) + bytes(data[1:]) if lies else data

    net = Net(rows, 4, k, n=5, max_liars=1)
    start = drawn_rows_of(rows, weights, k, 4)
    net.assert_as(in_the_clear(rows, start, k), *net.run(carry=carry))
    assert set().union(*(me.liars for me in net.parties.values())) == {5}


@pytest.mark.parametrize("step", [6, 15, 40])
def test_a_holder_that_is_lost_while_rows_are_drawn_keeps_its_rows_in(step):
    _, rows, _, k = drawn_case(8)
    net = Net(rows, 8, k, n=5)
    labels, *told = net.run(lost=lambda me: me.number == 5 and me.step >= step)
    assert 5 not in labels
    start = drawn_rows_of(rows, np.ones(len(rows), dtype=np.int64), k, 8)
    net.assert_as(in_the_clear(rows, start, k), labels, *told)


def test_no_key_is_used_twice_and_none_outside_its_pair(monkeypatch):
    made, streams = recorded_keys(monkeypatch)
    _, rows, _, k = drawn_case(8)
    for _ in range(2):  # the same run again
        Net(rows, None, k, n=5).run()
    assert set(Counter(made).values()) == {2}  # at both of a pair, or by two roles of one party
    assert Counter(streams) == Counter(made)


def tags_of_a_start():
    """Tags of letters, and whether they are for the coordinator, which is sent what everybody may know."""
    rows, tags = np.arange(8)[:, np.newaxis] % 5, Counter()

    def program(me, shares):
        yield from plus_plus.plus_plus(me, shares[me.number], np.ones(8, dtype=np.int64), 3)

    code = Codewords(n=3, t=1, ell=1, primes=primes_of(draw_residues(5, 8)))
    parties = parties_of(code)
    shares = shared_rows(code, rows, parties)

    def carry(sender, recipient, place, data):
        tags[place.tag, recipient == 0] += 1
        return data

    play(parties, {j: program(me, shares) for j, me in parties.items()}, carry=carry)
    return tags


def test_nothing_is_opened_to_everybody_while_rows_are_drawn():
    tags = tags_of_a_start()
    assert {tag for tag, to_coordinator in tags if to_coordinator} == {"roots"}
    assert not {"bits", "mask", "share", "labels"} & {tag for tag, _ in tags}


def test_many_answers_are_checked_while_rows_are_drawn(monkeypatch):
    monkeypatch.setattr(signs, "_LATER", 16)
    tags = tags_of_a_start()
    assert {tag for tag, to_coordinator in tags if to_coordinator} == {
        *("root", "roots", "anchor", "coin 0", "coin 1")
    }
