"""Labels that only their owners know, and the nearest means: with shares and in the clear."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from operations import two_worlds
from operations.own_net import ended, parties_of, play, shared_rows
from operations.two_worlds import P, told_apart
from scipy.stats import chisquare
from support.sweeps import every

from plaintext_baselines._exact import ExactRows
from plaintext_baselines._quantise import quantise
from secfc.errors import LimitError, MessageError, TooManyFaultsError
from secfc.field.primes import primes_of
from secfc.kmeans.bounds import pair_residues
from secfc.operations.ending import large_enough
from secfc.operations.predicting import given
from secfc.operations.predicting.given import HiddenLabels, hidden_labels, plain_given, shared_labels
from secfc.operations.predicting.prediction import plain_prediction, prediction
from secfc.operations.to_owners import to_owners
from secfc.sharing.codewords import Codewords

SHAPES = [(3, 1, 1), (5, 1, 2), (5, 2, 1)]


def roles_of(n, t):
    return {"dealer": 1, "first": n + 1, "second": n + 2} if t > 1 else {"dealer": 1, "first": 2, "second": 3}


def net_of(shape, primes=2):
    n, t, ell = shape
    code = Codewords(n=n, t=t, ell=ell, primes=primes_of(primes))
    return code, parties_of(code, **roles_of(n, t))


def opened(code, found):
    """The integers of [x], the same in all segments, from what all holders have."""
    segments = code.open(
        {j: found[j].residues.reshape(len(code.primes), -1) for j in range(1, code.n + 1)}, wide=False
    )
    assert (segments == segments[:1, :1]).all()  # in all segments, and modulo all primes
    return segments[0, 0].reshape(found[1].shape).astype(int)


def takes(labels, k):
    """A program of each party: takes labels, by owner, and shares them."""
    counts = {owner: len(own) for owner, own in labels.items()}

    def program(me):
        hidden = yield from hidden_labels(me, labels.get(me.number), counts, k)
        return (yield from shared_labels(me, hidden))

    return program


def drawn_labels(seed, n):
    rng = np.random.default_rng(seed)
    k = int(rng.choice([1, 2, 3, 5, 8, 300]))
    return k, {
        j: rng.integers(0, k, rng.integers(1, 5)).astype(np.int32) for j in range(1, n + 1) if j != seed % n
    }


class TestGiven:
    @pytest.mark.parametrize("seed", range(6))
    @pytest.mark.parametrize("shape", SHAPES, ids=str)
    def test_labels_come_out_as_shared_sets(self, shape, seed, monkeypatch):
        monkeypatch.setattr(given, "AT_ONCE", (1 << 22, 7)[seed % 2])  # several blocks
        k, labels = drawn_labels(seed, shape[0])
        code, parties = net_of(shape)
        found = play(parties, {j: takes(labels, k)(me) for j, me in parties.items()})
        expected = plain_given(np.concatenate(list(labels.values())), k)
        assert opened(code, found).tolist() == expected.astype(int).tolist()

    def test_an_evaluator_is_sent_uniform_numbers_and_nobody_else_is_sent_any(self):
        labels = {4: np.zeros(7000, dtype=np.int32), 5: np.full(7000, 2, dtype=np.int32)}
        sent, (_, parties) = [], net_of((5, 1, 1))

        def carry(sender, recipient, place, data):
            sent.append((sender, recipient, place.tag, data))
            return data

        takes_them = {j: hidden_labels(me, labels.get(j), {4: 7000, 5: 7000}, 7) for j, me in parties.items()}
        play(parties, takes_them, carry=carry)
        assert [one[:3] for one in sent] == [(4, 2, "turned"), (5, 2, "turned"), (2, 3, "all turned")]
        for *_, data in sent:
            turned = np.frombuffer(data, dtype="<u2")
            assert chisquare(np.bincount(turned, minlength=7)).pvalue > 1e-6

    def test_turns_are_never_the_same_again(self):
        labels, seen = {5: np.zeros(40, dtype=np.int32)}, set()
        for _ in range(3):
            _, parties = net_of((5, 1, 1))
            found = play(
                parties, {j: hidden_labels(me, labels.get(j), {5: 40}, 100) for j, me in parties.items()}
            )
            assert found[2].held.tolist() == found[3].held.tolist() == found[1].held.tolist()
            assert all(found[j].held is None for j in (0, 4, 5))
            seen.add(found[1].held.tobytes())
        assert len(seen) == 3

    @pytest.mark.parametrize("seed", range(5))
    def test_whatever_an_owner_sends_is_one_hot(self, seed):
        rng, labels, (code, parties) = (
            np.random.default_rng(seed),
            {5: np.arange(4, dtype=np.int32)},
            net_of((5, 1, 1)),
        )

        def carry(sender, recipient, place, data):
            return rng.integers(0, 4, 4).astype("<u2").tobytes() if place.tag == "turned" else data

        found = play(parties, {j: takes(labels, 4)(me) for j, me in parties.items()}, carry=carry)
        sets = opened(code, found)
        assert set(sets.ravel().tolist()) == {0, 1}
        assert sets.sum(axis=0).tolist() == [1] * 4

    @pytest.mark.parametrize(
        ("data", "text"),
        [
            (np.array([0, 4], dtype="<u2").tobytes(), r"^party 5 sent labels that are not below k=4$"),
            (b"\0\0\0", r"^party 5 sent 3 bytes for turned, not 4$"),
        ],
    )
    def test_what_is_no_label_ends_the_run_by_name(self, data, text):
        labels, (_, parties) = {5: np.arange(2, dtype=np.int32)}, net_of((5, 1, 1))
        with pytest.raises(MessageError, match=text):
            play(
                parties,
                {j: takes(labels, 4)(me) for j, me in parties.items()},
                carry=lambda sender, recipient, place, was: data if place.tag == "turned" else was,
            )

    def test_without_an_owner_nobody_goes_on(self):
        labels, (_, parties) = {5: np.arange(2, dtype=np.int32)}, net_of((5, 1, 1))
        parties[2].inbox.lost.add(5)
        with pytest.raises(TooManyFaultsError, match=r"^client 5 sent no labels of its rows") as error:
            play(
                parties,
                {j: takes(labels, 4)(me) for j, me in parties.items()},
                carry=lambda sender, recipient, place, data: None if place.tag == "turned" else data,
            )
        assert error.value.clients == (5,)

    def test_a_repr_shows_no_label(self):
        assert repr(HiddenLabels(k=3, rows=2, held=np.array([1, 2]))) == "HiddenLabels(k=3, rows=2)"


def turned(*worlds, k):
    """Labels under turns, of which the coalition's are the same in both worlds."""

    def at(me, labels):
        common = np.random.default_rng(0).integers(0, k, len(labels))
        turns = common if me.roles.dealer in me.world.coalition else (common - labels) % k
        held = turns if me.deals else (labels + turns) % k if me.evaluates else None
        return HiddenLabels(k=k, rows=len(labels), held=held)

    return lambda *given: [lambda me, one=one: at(me, np.array(one)) for one in worlds]


@pytest.mark.parametrize(("shape", "comparer"), list(product(SHAPES, ("dealer", "first", "second"))), ids=str)
def test_t_holders_with_one_comparer_see_the_same_of_other_labels(shape, comparer, monkeypatch):
    two_worlds.stand_in(monkeypatch)
    monkeypatch.setattr(given, "AT_ONCE", 6)  # two blocks
    n, t, ell = shape
    code = Codewords(n=n, t=t, ell=ell, primes=(P,))
    roles = {"dealer": 1, "first": n + 1, "second": n + 2} if n > 3 else roles_of(n, t)
    others = [j for j in range(1, n + 1) if j not in roles.values()]
    one = roles[comparer]
    coalition = {0, one, *others[: t - (one <= n)]}
    inputs = [turned([0, 1, 2], [2, 1, 0], k=3)]
    assert told_apart(code, coalition, roles, shared_labels, inputs) is None


def test_two_comparers_would_see_labels(monkeypatch):
    two_worlds.stand_in(monkeypatch)
    code = Codewords(n=3, t=1, ell=1, primes=(P,))
    inputs = [turned([0, 1, 2], [2, 1, 0], k=3)]
    assert told_apart(code, {1, 2}, roles_of(3, 1), shared_labels, inputs) is not None


def drawn_case(seed):
    """Rows with ties, of which some are new, labels of the others with empty sets, weights and k."""
    rng = np.random.default_rng(seed)
    m, d, k = int(rng.integers(2, 16)), int(rng.integers(1, 4)), int(rng.integers(1, 6))
    rows = rng.integers(-2, 3, (m, d))
    labels = rng.integers(0, k, m).astype(np.int32)
    labels[rng.permutation(m)[: rng.integers(1, m)]] = -1
    weights = rng.integers(1, 4, m) if seed % 3 == 0 else np.ones(m, dtype=np.int64)
    return rows, labels, weights, k


@every("seed", range(60))
def test_in_the_clear_it_is_the_nearest_exact_mean(seed):
    rows, labels, weights, k = drawn_case(seed)
    exact = ExactRows(quantise([rows.astype(float)], Fraction(1)), k, Fraction(1), weights)
    expected = exact.assign(exact.means(labels)).labels[labels < 0]
    assert plain_prediction(rows.astype(object), labels, weights, k).tolist() == expected.tolist()


def predicts(rows, labels, weights, k, rounds, smallest=1):
    """A program of each party, which owns about equally many rows each."""
    new, held = labels < 0, np.array_split(np.arange(len(rows)), 3)
    of_owners = {j: labels[own][labels[own] >= 0] for j, own in enumerate(held, 1)}
    of_owners = {j: own for j, own in of_owners.items() if own.size}
    ends = np.cumsum([0, *(int(new[own].sum()) for own in held)]).tolist()
    owned = {j: slice(ends[j - 1], ends[j]) for j in (1, 2, 3)}

    def program(me, shares):
        counts = {owner: len(own) for owner, own in of_owners.items()}
        told = yield from hidden_labels(me, of_owners.get(me.number), counts, k)
        sets = yield from prediction(
            me, told, shares, new, weights, smallest=smallest, on_round=rounds.append
        )
        return (yield from to_owners(me, sets, owned))

    return program


@every("seed", range(12))
@every("shape", SHAPES)
def test_shares_give_the_same_labels_to_the_owners_of_new_rows(shape, seed):
    rows, labels, weights, k = drawn_case(seed)
    radius = int(np.ceil(np.sqrt((rows**2).sum(axis=1).max()))) + 1
    code, parties = net_of(shape, pair_residues(radius, int(weights.sum())))
    shares, rounds = shared_rows(code, rows, parties), []
    program = predicts(rows, labels, weights, k, rounds)
    found = play(parties, {j: program(me, shares[j]) for j, me in parties.items()})
    expected = plain_prediction(rows.astype(object), labels, weights, k)
    assert np.concatenate([found[j] for j in (1, 2, 3)]).tolist() == expected.tolist()
    assert set(rounds) == {1}
    assert all(found[j] is None for j in found if j not in (1, 2, 3))


class TestSmallest:
    ROWS = np.array([[0], [2], [8], [10], [5], [1]])

    @pytest.fixture
    def bits(self, monkeypatch):
        """What is opened of the sizes, by party."""
        opened, real = [], large_enough.nonzero

        def noted(me, numbers):
            found = yield from real(me, numbers)
            opened.append((me.number, found.tolist()))
            return found

        monkeypatch.setattr(large_enough, "nonzero", noted)
        return opened

    def sent(self, labels, smallest, weights=(1,) * 6):
        """Kinds of letters that are sent until the end. Row 5 is new."""
        labels, weights = np.array([*labels, -1]), np.array(weights)
        code, parties = net_of((3, 1, 1), pair_residues(11, int(weights.sum())))
        shares, sent = shared_rows(code, self.ROWS, parties), set()

        def carry(sender, recipient, place, data):
            sent.add(place.tag)
            return data

        program, ended = predicts(self.ROWS, labels, weights, 3, [], smallest), None
        try:
            play(parties, {j: program(me, shares[j]) for j, me in parties.items()}, carry=carry)
        except LimitError as error:
            ended = str(error)
        return ended, sent

    def test_without_a_limit_nothing_is_opened_of_sizes(self, bits):
        assert self.sent([0, 0, 0, 2, 2], 1)[0] is None
        assert bits == []

    def test_sets_at_the_limit_and_empty_ones_pass_and_everybody_learns_one_bit(self, bits):
        ended, sent = self.sent([0, 0, 0, 2, 2], 2)
        assert (ended, "labels" in sent) == (None, True)
        assert sorted(bits) == [(j, [False]) for j in range(4)]

    @pytest.mark.parametrize("labels", [[0, 0, 1, 1, 1], [0, 1, 1, 1, 1], [2, 2, 2, 2, 1]])
    def test_a_smaller_set_ends_the_run_before_anything_else_is_opened(self, bits, labels):
        ended, sent = self.sent(labels, 3)
        assert ended == (
            "rows are predicted only from sets with 3 rows or more, or none; a set has fewer, and nothing "
            "was opened"
        )
        assert "labels" not in sent
        assert {tuple(found) for _, found in bits} == {(True,)}

    @pytest.mark.parametrize("smallest", [2, 2**32 - 1])
    def test_a_weight_hides_no_row_behind_a_heavier_one_of_its_set(self, smallest):
        assert self.sent([0, 0, 1, 1, 1], 2, [1, 1, 9, 9, 9, 1])[0] is None
        assert "a set has fewer" in self.sent([0, 0, 1, 1, 1], smallest, [5, 1, 5, 5, 5, 1])[0]


def test_who_waits_for_nobody_has_no_labels_to_share():
    """A helper and the coordinator run the same program."""
    _, parties = net_of((5, 2, 1))
    assert ended(hidden_labels(parties[0], None, {5: 2}, 3)) == HiddenLabels(k=3, rows=2, held=None)
