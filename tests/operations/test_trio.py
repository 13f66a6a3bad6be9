"""The whole comparison: labels are those of Python's integers, and wrong messages are refused."""

from dataclasses import replace
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kernel_samples import BOTH, each_kernels, laws
from support.trio import Trio, to_words, true_labels

from secfc.comparing.batch_plan import Bracket, most_dealt_bytes
from secfc.comparing.question import Question, comparison_residues
from secfc.comparing.role import Comparer
from secfc.comparing.widths import FEW, GateWidths
from secfc.errors import CheatError, MessageError
from secfc.errors.codes import Code
from secfc.field.primes import primes_of
from secfc.kernels.slicing import at_most, to_rows

WIDTHS = [GateWidths(), GateWidths(chunk=4, first_fan=5, fan=6), GateWidths(chunk=1, first_fan=3, fan=3)]
each_widths = pytest.mark.parametrize("widths", WIDTHS, ids=lambda one: f"c{one.chunk}")


def integers(rng: np.random.Generator, below: int, shape) -> np.ndarray:
    """Python integers, nearly uniform below a bound."""
    words = rng.integers(0, 2**62, (4, *shape)).astype(object)
    return (words[0] + (words[1] << 62) + (words[2] << 124) + (words[3] << 186)) % below


def trio_of(distances, question: Question, *, seed=0, kernels=BOTH[1]) -> Trio:
    masks = integers(np.random.default_rng(seed), prod(question.primes), distances.shape)
    return Trio(question, distances, masks, kernels=kernels)


def sample(k, m, *, primes=4, seed=0, empty=()):
    """Sizes, distances within the bound for these sizes, and labels."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 40, k)
    sizes[list(empty)] = 0
    radius = 2 ** ((12 * primes) - 14)
    assert comparison_residues(radius, sizes) <= primes
    most = (2 * sizes.astype(object) * radius) ** 2 + 1
    distances = integers(rng, 2**250, (k, m)) % most[:, np.newaxis]
    return sizes, distances, true_labels(distances, sizes)


@each_widths
@each_kernels
def test_every_distance_and_mask_of_a_tiny_ring(kernels, widths):
    # Q = 15 and sets of one row: differences of -7 to 7.
    rows = np.array(list(product(range(8), range(8), range(15), range(15)))).T.astype(object)
    question = Question(primes=(3, 5), sizes=np.array([1, 1]), rows=rows.shape[1], widths=widths)
    trio = Trio(question, rows[:2], rows[2:], kernels=kernels).play()
    assert np.array_equal(trio.labels, (rows[1] < rows[0]).astype(int))


def test_every_distance_and_champion_of_three_sets_in_a_tiny_ring():
    # Q = 105; weights 1, 4 and 1 and distances up to 5, 12 and 5: differences up to 20.
    rows = np.array(list(product(range(6), range(13), range(6), range(3)))).T
    question = Question(
        primes=(3, 5, 7), sizes=np.array([1, 2, 1]), rows=rows.shape[1], champions=rows[3].astype(np.int32)
    )
    distances = rows[:3].astype(object)
    for seed in range(5):
        assert np.array_equal(
            trio_of(distances, question, seed=seed).play().labels, true_labels(distances, question.sizes)
        )


@pytest.mark.some(24)
@each_widths
@each_kernels
@pytest.mark.parametrize("k", [1, 2, 3, 5, 16, 17])
@pytest.mark.parametrize("m", [1, 63, 64, 65, 200])
def test_labels_are_those_of_integers(kernels, widths, k, m):
    sizes, distances, labels = sample(k, m, seed=k + m)
    question = Question(primes=primes_of(4), sizes=sizes, rows=m, widths=widths)
    assert np.array_equal(trio_of(distances, question, kernels=kernels).play().labels, labels)
    champions = np.where(np.arange(m) % 3 == 0, (labels + 1) % k, labels).astype(np.int32)
    again = replace(question, champions=champions)
    assert np.array_equal(trio_of(distances, again, kernels=kernels).play().labels, labels)


@laws
@given(
    k=st.integers(2, 6),
    primes=st.integers(4, 7),
    seed=st.integers(0, 2**32 - 1),
    widths=st.sampled_from(WIDTHS),
    wild=st.booleans(),
)
def test_ties_neighbours_of_ties_and_extremes(k, primes, seed, widths, wild):
    rng = np.random.default_rng(seed)
    m, ring = 150, primes_of(primes)
    sizes = rng.integers(1, 2**12, k).astype(object)
    # The largest radius that these primes allow.
    first, second = sorted(map(int, sizes))[-2:]
    radius = int(((prod(ring) / 8) ** 0.5) / (first * second))
    while comparison_residues(radius, sizes.astype(np.int64)) > primes:
        radius -= max(1, radius >> 40)
    most = (2 * sizes * radius) ** 2
    # Equal quotients, one more or less than these, zeros and the largest value.
    base = integers(rng, (2 * radius) ** 2 + 1, (m,))
    distances = base * (sizes**2)[:, np.newaxis] + rng.integers(-1, 2, (k, m)).astype(object)
    extreme = rng.random((k, m)) < (0.3 if wild else 0.0)
    ends = np.where(rng.random((k, m)) < 0.5, 0, most[:, np.newaxis])
    distances = np.where(extreme, ends, distances).clip(0, most[:, np.newaxis])
    sizes = sizes.astype(np.int64)
    labels = true_labels(distances, sizes)
    champions = rng.integers(0, k, m).astype(np.int32)
    for given_champions in (None, champions):
        question = Question(primes=ring, sizes=sizes, rows=m, champions=given_champions, widths=widths)
        assert np.array_equal(trio_of(distances, question, seed=seed).play().labels, labels)


def test_the_dealer_is_told_which_champions_hold_and_nothing_else():
    sizes, distances, labels = sample(4, 70)
    champions = np.roll(labels, 1)
    question = Question(primes=primes_of(4), sizes=sizes, rows=70, champions=champions)
    mail = trio_of(distances, question).play().mail
    told = {sender: data for sender, recipient, data in mail if recipient is Comparer.DEALER}
    holds = np.packbits(champions == labels, bitorder="little").tobytes()
    assert told == {Comparer.E0: holds, Comparer.E1: holds}
    assert sum(recipient is Comparer.DEALER for _, recipient, _ in mail) == 2


@pytest.mark.some(1)
@pytest.mark.parametrize("champions", [True, False])
def test_many_batches_are_as_one(monkeypatch, champions):
    monkeypatch.setattr("secfc.comparing.question._PAIRS", 1 << 15)
    sizes, distances, labels = sample(12, 9000)
    given_champions = np.roll(labels, 3) if champions else None
    question = Question(primes=primes_of(4), sizes=sizes, rows=9000, champions=given_champions)
    assert np.array_equal(trio_of(distances, question).play().labels, labels)


@pytest.mark.parametrize(
    ("k", "widths", "exchanges"),
    [(4, WIDTHS[0], 5), (4, WIDTHS[1], 4), (16, WIDTHS[0], 6), (16, WIDTHS[1], 5)],
)
def test_exchanges_of_a_round_without_changes(k, widths, exchanges):
    sizes, distances, labels = sample(k, 70)
    question = Question(primes=primes_of(5), sizes=sizes, rows=70, champions=labels, widths=widths)
    trio = trio_of(distances, question).play()
    for me, other in ((Comparer.E0, Comparer.E1), (Comparer.E1, Comparer.E0)):
        assert len([one for one in trio.mail if one[:2] == (me, other)]) == exchanges


class TestMail:
    SIZES, DISTANCES, LABELS = sample(4, 70)
    QUESTION = Question(primes=primes_of(4), sizes=SIZES, rows=70, champions=np.roll(LABELS, 1))

    def fresh(self) -> Trio:
        return trio_of(self.DISTANCES, self.QUESTION)

    def test_a_role_that_takes_the_same_again_sends_the_same_bytes(self):
        # With any kernels, because a restarted party may have others.
        first, again = (
            Trio(self.QUESTION, self.DISTANCES, self.DISTANCES, kernels=kernels).play() for kernels in BOTH
        )
        assert first.mail == again.mail
        assert len(first.mail) == 24

    def test_words_are_taken_from_any_address(self):
        trio = self.fresh().play(lambda sender, recipient, data: memoryview(b"\0" + data)[1:])
        assert np.array_equal(trio.labels, self.LABELS)

    def test_every_other_size_is_refused_and_changes_nothing(self):
        trio, refused = self.fresh(), 0
        roles = trio.roles

        def change(sender, recipient, data):
            nonlocal refused
            role = roles[recipient]
            for wrong in (b"", data[:-1], data + b"\0", data[:-8], data + bytes(8)):
                if sender in role.awaited:
                    with pytest.raises(
                        MessageError, match=f"bytes of the {sender.value}, {len(wrong)} were given"
                    ):
                        role.take(sender, wrong)
                    refused += 1
            return data

        assert np.array_equal(trio.play(change).labels, self.LABELS)
        assert refused > 50

    def test_mail_of_nobody_awaited_is_refused(self):
        roles = self.fresh().roles
        for role in roles.values():
            role.begin()
        with pytest.raises(MessageError, match="awaits nothing of the first evaluator"):
            roles[Comparer.E1].take(Comparer.E0, b"")
        with pytest.raises(MessageError, match="awaits nothing of the dealer"):
            roles[Comparer.E0].take(Comparer.DEALER, b"")

    def test_a_second_answer_is_refused(self):
        dealer = self.fresh().roles[Comparer.DEALER]
        dealer.begin()
        assert dealer.take(Comparer.E0, bytes(9)) == ()
        with pytest.raises(MessageError, match="awaits nothing of the first evaluator"):
            dealer.take(Comparer.E0, bytes(9))

    @pytest.mark.parametrize("liar", [Comparer.E0, Comparer.E1])
    def test_what_is_not_one_hot_ends_the_run(self, liar):
        sent = []

        def change(sender, recipient, data):
            if sender is liar and recipient is not Comparer.DEALER:
                sent.append(data)
                if len(sent) == 10:  # the last of two stages of five
                    return bytes([data[0] ^ 1]) + data[1:]
            return data

        with pytest.raises(CheatError, match="opened labels are not one-hot") as error:
            self.fresh().play(change)
        assert not any(letter.isdigit() for letter in str(error.value))
        assert error.value.code is Code.BAD_MESSAGE

    @pytest.mark.parametrize("replaced", range(24))
    def test_other_bytes_of_the_same_size_end_in_labels_or_a_named_error(self, replaced):
        count = 0

        def change(sender, recipient, data):
            nonlocal count
            count += 1
            return np.random.default_rng(replaced).bytes(len(data)) if count == replaced + 1 else data

        trio = self.fresh()
        try:
            trio.play(change)
        except (CheatError, MessageError):
            return
        for me in (Comparer.E0, Comparer.E1):
            assert set(trio.roles[me].labels) <= set(range(4))

    @pytest.mark.parametrize("liar", [Comparer.E0, Comparer.E1])
    def test_evaluators_that_tell_of_different_rows_are_dealt_nothing(self, liar):
        def change(sender, recipient, data):
            return bytes([data[0] ^ 1]) + data[1:] if (sender, recipient) == (liar, Comparer.DEALER) else data

        with pytest.raises(CheatError, match="told the dealer of different rows"):
            self.fresh().play(change)


GIVEN = {"primes": primes_of(4), "sizes": np.array([2, 0, 3]), "rows": 3}


class TestQuestion:
    def test_about_few_rows_takes_few_exchanges(self):
        sizes, distances, labels = sample(4, 100, empty=(1,))
        # Three sets with rows have three pairs per row, one more than with champions first.
        for rows, wide, at_once in (
            (100, True, True),
            (FEW // 3, True, True),
            (FEW // 3 + 1, False, True),
            (FEW, False, True),
            (FEW + 1, False, False),
        ):
            given = {"primes": primes_of(4), "sizes": sizes, "champions": np.resize(labels, rows)}
            question = Question.about(rows=rows, **given)
            assert (question.champions is None) == at_once
            assert question.widths == (GateWidths(chunk=4, first_fan=5, fan=6) if wide else GateWidths())
            if rows == labels.size:
                trio = trio_of(distances, question).play()
                assert np.array_equal(trio.labels, labels)
                assert len([one for one in trio.mail if one[:2] == (Comparer.E0, Comparer.E1)]) == 4

    @pytest.mark.parametrize("k", [2, 3, 5, 16, 200])
    def test_no_question_is_dealt_more_than_is_told(self, k):
        limit, largest = most_dealt_bytes(20_000, k, 5), 0
        counts = (1, 64, 65, 700, 1638, 5461, 10_922, 16_384, 20_000)
        for rows, slots in product(counts, {2, 3, 4, 12, k}):
            if slots <= k:
                sizes = np.full(slots, 3)
                question = Question.about(primes=primes_of(5), sizes=sizes, rows=rows, champions=None)
                plans = question.plans(Bracket.all_pairs(slots), question.own)
                largest = max(largest, 8 * sum(plan.dealt for plan in plans))
        assert limit / 2 < largest <= limit


@pytest.mark.parametrize("rows", [1, 63, 64, 65, 1000])
def test_words_hold_a_bit_of_each_row(rows):
    values = np.random.default_rng(rows).integers(0, 6, rows).astype(np.int32)
    bits = values <= np.arange(5)[:, np.newaxis]
    words = to_words(bits)
    assert np.array_equal(to_rows(words, rows), bits)
    assert np.array_equal(at_most(values, 5), words)
    width = -(-rows // 64)
    for row, value in enumerate(values):
        assert int(words[3, row % width]) >> (row // width) & 1 == (value <= 3)
