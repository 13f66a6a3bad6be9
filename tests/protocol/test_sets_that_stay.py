"""Rounds that ask about the sets that changed alone: what is asked, that nothing else changes, and lies."""

from dataclasses import replace

import numpy as np
import pytest

import secfc
from secfc.errors import MessageError
from secfc.field.primes import primes_of
from secfc.kmeans import kept
from secfc.kmeans.kept import KeptDistances
from secfc.protocol.messages import SERVER, Assignment, CodedDistances

pytestmark = pytest.mark.questions

K = 6


def rows_of(n, seed=3, each=12):
    """Groups far from each other, two of which touch: their border moves while other sets stay."""
    rng = np.random.default_rng(seed)
    middles = np.array([[0, 0], [1.5, 0], [9, 9], [-9, 9], [9, -9], [-9, -9]], dtype=float)
    pooled = np.concatenate([rng.normal(middle, 0.8, (each, 2)) for middle in middles]).round(3)
    return np.array_split(pooled[rng.permutation(len(pooled))], n)


def asked_in(net, **more):
    """Sets that each assignment to client 1 asks about, of a run to its end."""
    asked = {}

    def note(message):
        if isinstance(message, Assignment) and message.recipient == 1:
            asked[message.round] = message.asked
        return False

    net.run(drop=note, **more)
    return asked


def answered(result):
    return sum(one.size for one in result.costs.messages if one.kind == "CodedDistances")


def everything(result):
    measured = result.distance_counts.tolist(), result.distance_edges.tolist()
    return [one.tolist() for one in result.labels], result.history.tolist(), result.near_ties, measured


@pytest.fixture
def whole(monkeypatch):
    """Have the server keep nothing."""
    return lambda: monkeypatch.setattr(kept, "MOST_BYTES", 0)


# Results


def test_fewer_bytes_have_the_same_result(whole):
    given = {"init": "random", "seed": 1, "disclosure": "coded"}
    few = secfc.run(rows_of(4), K, 1, 1, **given)
    whole()
    every = secfc.run(rows_of(4), K, 1, 1, **given)
    assert everything(few) == everything(every)
    assert answered(few) < 0.8 * answered(every)


# What is asked


def test_a_round_asks_about_the_sets_that_changed(wire):
    net, sets = wire(rows_of(3), k=K, n_init=4, disclosure="coded"), {}

    def note(message):
        if isinstance(message, Assignment) and message.recipient == 1:
            sets[message.round] = net.server.phase.search.sets.copy(), message.asked
        return False

    net.run(drop=note)
    fewer = 0
    for round_ in range(2, len(sets) + 1):
        (before, _), (now, asked) = sets[round_ - 1], sets[round_]
        changed = {h for h in range(K) if ((before == h) != (now == h)).any() and (now == h).any()}
        assert set(asked or range(K)) == (changed if asked else set(range(K)))
        fewer += 0 < len(asked) < K
    assert sets[1][1] == ()
    assert fewer > 2


SIZES = np.array([2, 1, 0, 3])
SETS = np.array([0, 0, 1, 3, 3, 3], dtype=np.int32)
TWO = primes_of(2)


def kept_of(sets=SETS, primes=TWO):
    """After a first round, and one about the same sets, whose distances are kept."""
    found = KeptDistances(6, 4)
    digits = np.arange(len(primes) * 4 * 6, dtype=np.float32).reshape(-1, 4, 6)
    for _ in range(2):
        assert found.question(sets, SIZES, primes) == ()
        found.take(slice(0, 6), digits.copy(), (), SIZES)
        found.end_round(sets)
    return found, digits


def test_a_round_with_more_or_fewer_primes_asks_about_all_sets():
    for primes in (primes_of(1), primes_of(3)):
        found, _ = kept_of()
        changed = np.array([0, 0, 1, 3, 3, -1], dtype=np.int32)
        assert found.question(changed, np.array([2, 1, 0, 2]), primes) == ()


def test_where_distances_take_too_much_memory_nothing_is_kept(monkeypatch):
    monkeypatch.setattr(kept, "MOST_BYTES", 4 * 2 * 4 * 6 - 1)
    found, _ = kept_of()
    assert found.question(np.roll(SETS, 1), SIZES, TWO) == ()
    assert found._digits.size == 0


# Clients that vanish, servers that are started again


def until_partial(net):
    net.run(until=lambda: getattr(net.server.phase, "_about", ()) != ())


@pytest.mark.parametrize("round_", range(1, 8))
def test_a_server_that_is_started_again_asks_what_it_would_have_asked(wire, round_):
    net, other = (wire(rows_of(4), k=K, n_init=4, disclosure="coded") for _ in range(2))
    expected = asked_in(other)
    assert len(expected) > 7
    net.run(until=lambda: net.server.progress.round == round_)
    phase = net.server.phase
    state = bytes(net.server.standing())
    phase._kept = KeptDistances(phase.layout.m, K)  # of another process
    net.server.stand(state)
    found = asked_in(net)
    assert {at: found[at] for at in found if at > round_} == {
        at: expected[at] for at in expected if at > round_
    }


def test_a_standing_has_distances_to_sets_that_are_not_asked_about_alone(wire):
    net = wire(rows_of(4), k=K, disclosure="coded")
    until_partial(net)
    phase = net.server.phase
    standing = phase._kept.standing(phase._about)
    assert standing["kept"].shape[1] == K - len(phase._about)
    assert phase._kept.standing(())["kept"] is None


def test_a_standing_has_no_uninitialised_memory_for_empty_sets_at_the_end(monkeypatch):
    monkeypatch.setattr(kept.np, "empty", lambda shape, dtype=float: np.full(shape, np.nan, dtype))
    sets, sizes = np.array([0, 0, 1, 1, 2, 2], dtype=np.int32), np.array([2, 2, 2, 0])
    found = KeptDistances(6, 4)
    for _ in range(2):
        assert found.question(sets, sizes, TWO) == ()
        found.take(slice(0, 6), np.ones((2, 3, 6)), (), sizes)
        found.end_round(sets)
    moved = np.array([0, 0, 1, 1, 1, 2], dtype=np.int32)
    asked = found.question(moved, np.array([2, 3, 1, 0]), TWO)
    assert asked == (1, 2)
    assert found.standing(asked)["kept"].tolist() == [[[1] * 6, [0] * 6]] * 2


# Lies


def test_an_answer_about_other_sets_than_were_asked_is_refused(wire, refuses):
    net = wire(rows_of(3), k=K)
    until_partial(net)
    answer = net.hold(CodedDistances, recipient=SERVER)
    wide = net.altered(answer, shape=(answer.residues.shape[0], K, answer.residues.shape[2]))
    refuses(net.server, wide, MessageError, "expected")


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ((1, 0), "ascending ones with rows"),
        ((1, 1), "ascending ones with rows"),
        ((K,), "ascending ones with rows"),
        ((60_000,), "ascending ones with rows"),
    ],
)
def test_a_question_about_sets_that_cannot_be_is_refused(wire, refuses, asked, text):
    net = wire(rows_of(3), k=K)
    question = replace(net.hold(Assignment, recipient=1), asked=asked)
    refuses(net.clients[1], question, MessageError, text)


def test_a_question_about_a_set_without_rows_is_refused(wire, refuses):
    net = wire(rows_of(3), k=K)
    question = net.hold(Assignment, recipient=1)
    sets = np.zeros(net.m, dtype=np.int32)
    refuses(net.clients[1], replace(question, sets=sets, asked=(2,)), MessageError, "with rows")


def test_with_labels_every_question_is_about_all_sets(wire, refuses):
    net = wire(rows_of(3), k=K, disclosure="labels")
    question = net.hold(Assignment, recipient=1)
    refuses(net.clients[1], replace(question, asked=(0,)), MessageError, "comparers compare all")
