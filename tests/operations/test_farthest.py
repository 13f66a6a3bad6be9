"""The farthest rows are those that `relocate` moves, and wrong messages are refused."""

from math import isqrt, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kernel_samples import BOTH, each_kernels, laws
from support.sweeps import crossed
from support.trio import Trio, packed

from secfc.comparing.question import Question, comparison_residues
from secfc.comparing.role import Arena, Comparer
from secfc.comparing.widths import GateWidths
from secfc.errors import CheatError, MessageError, ParameterError
from secfc.errors.codes import Code
from secfc.field.mixed_radix import MixedRadix
from secfc.field.packing import pack
from secfc.field.primes import primes_of
from secfc.kmeans.relocation import relocate
from secfc.operations.farthest import FarthestDealer, FarthestEvaluator, pairings

EVALUATORS = Comparer.E0, Comparer.E1
PRIMES = primes_of(4)
WIDTHS = [GateWidths(), GateWidths(chunk=4, first_fan=5, fan=6), GateWidths(chunk=1, first_fan=3, fan=3)]


def trio_of(distances, question: Question, *, seed=0, kernels=BOTH[1]) -> Trio:
    """A trio with distances given as a list of Python integers for each set."""
    distances = np.array(distances, dtype=object)
    rng = np.random.default_rng(seed)
    masks = sum(rng.integers(0, 2**48, distances.shape).astype(object) << 48 * place for place in range(5))
    kinds = {"dealer": FarthestDealer, "evaluator": FarthestEvaluator}
    return Trio(question, distances, masks % prod(question.primes), kernels=kernels, **kinds)


def asked(labels, sizes, *, primes=PRIMES, widths=WIDTHS[0]) -> Question:
    labels = np.array(labels, dtype=np.int32)
    return Question(primes=primes, sizes=np.array(sizes), rows=labels.size, champions=labels, widths=widths)


def relocated(distances, question: Question) -> np.ndarray:
    """Rows that `relocate` moves, in the order of the sets that they are moved to."""
    labels, radix = question.champions, MixedRadix(question.primes)
    own = np.array(distances, dtype=object)[labels, np.arange(labels.size)]
    digits = radix.digits(np.array([(own % p).astype(float) for p in question.primes]))
    sets = relocate(labels, digits.astype(np.float32), radix, question.sizes)
    emptied = np.flatnonzero(np.bincount(labels, minlength=question.sizes.size) == 0)
    return np.array([row for one in emptied for row in np.flatnonzero(sets == one)], dtype=np.int64)


def in_one_row(values, sizes):
    """The same D to every set: the row's own counts."""
    return [list(values)] * len(sizes)


class TestByHand:
    @pytest.mark.parametrize("labels", [[1, 1, 2, 2], [2, 2, 1, 1], [1, 2, 1, 2], [2, 1, 2, 1], [1, 1, 1, 1]])
    def test_ties_go_to_the_lower_row_whatever_its_set(self, labels):
        trio = trio_of([[0] * 4, [12] * 4, [27] * 4], asked(labels, [1, 2, 3])).play()
        assert trio.rows.tolist() == [0, 1][: 3 - len(set(labels))]

    def test_where_all_rows_lie_on_their_centres_nothing_moves(self):
        trio = trio_of([[0] * 5, [9] * 5, [9] * 5], asked([0] * 5, [1, 1, 1])).play()
        assert trio.rows.tolist() == []
        told = [data for _, recipient, data in trio.mail if recipient is Comparer.DEALER]
        assert told == [bytes(8)] * 2


@pytest.mark.some(2)
@each_kernels
@pytest.mark.parametrize(
    ("widths", "size"),
    crossed(WIDTHS, [(2, 2), (3, 4), (63, 2), (64, 5), (65, 7), (130, 4)], together=1),
    ids=str,
)
def test_for_every_number_of_emptied_sets_rows_are_those_that_relocate_moves(kernels, widths, size):
    m, k = size
    rng = np.random.default_rng(m)
    sizes = rng.integers(1, 40, k)
    for labelled in sorted({1, 2, k // 2, k - 1} - {0, k}):
        if k - labelled > m:
            continue
        labels = rng.permutation(k)[rng.integers(0, labelled, m)]
        distances = rng.integers(0, 2**40, (k, m)).astype(object)
        question = asked(labels, sizes, widths=widths)
        trio = trio_of(distances, question, kernels=kernels).play()
        assert np.array_equal(trio.rows, relocated(distances, question))
        assert trio.rows.size >= k - labelled


@laws
@given(
    m=st.integers(1, 90),
    k=st.integers(2, 8),
    labelled=st.integers(1, 7),
    primes=st.integers(1, 6),
    seed=st.integers(0, 2**32 - 1),
    few=st.booleans(),
)
def test_ties_neighbours_of_ties_zeros_and_extremes(m, k, labelled, primes, seed, few):
    rng = np.random.default_rng(seed)
    ring, k = primes_of(primes), min(k, m + 1)
    sizes = rng.integers(1, 6 if primes == 1 else 2**6, k)
    labels = rng.permutation(k)[rng.integers(0, min(labelled, k - 1), m)]
    # The largest radius that these primes allow.
    first, second = sorted(map(int, sizes))[-2:]
    radius = isqrt((prod(ring) - 1) // 8 // (first * second) ** 2)
    assert comparison_residues(radius, sizes) == primes
    most = [(2 * int(size) * radius) ** 2 for size in sizes]
    kinds = rng.integers(0, 4, (k, m))
    near = [[int(rng.integers(0, 2 if few else 5)) * int(size) ** 2 for _ in range(m)] for size in sizes]
    distances = [
        [
            min(value + int(rng.integers(0, 2)) if kind == 0 else [value, 0, limit][kind - 1], limit)
            for value, kind in zip(values, kinds_of_set, strict=True)
        ]
        for values, kinds_of_set, limit in zip(near, kinds, most, strict=True)
    ]
    question = asked(labels, sizes, primes=ring)
    trio = trio_of(distances, question, seed=seed).play()
    assert np.array_equal(trio.rows, relocated(distances, question))


def test_numbers_of_rows_may_be_beyond_a_prime(monkeypatch):
    class Tiny:
        """Residues of a small prime, for which drawing from words of 24 bits would take too long."""

        def __init__(self, key, kernels):
            self.rng = np.random.default_rng(list(key))

        def fill(self, out, primes):
            for plane, p in zip(out, primes, strict=True):
                plane[...] = pack(
                    self.rng.integers(0, p, (plane.shape[0], plane.shape[1] // 3)).astype(float), p
                )

    monkeypatch.setattr("secfc.comparing.matches.ResidueStream", Tiny)
    question = asked([0] * 40, [1, 1], primes=(11, 13))
    for row in (0, 10, 11, 39):
        distances = [0] * row + [1] + [0] * (39 - row)
        assert trio_of(in_one_row(distances, range(2)), question).play().rows.tolist() == [row]


def test_only_the_set_that_lost_a_row_plays_again():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], [64, 3])
    distances = in_one_row([*rng.integers(0, 50, 64).tolist(), 90, 80, 70], range(5))
    trio = trio_of(distances, asked(labels, [1] * 5)).play()
    assert trio.rows.tolist() == [64, 65, 66]
    dealt = [data for sender, _, data in trio.mail if sender is Comparer.DEALER]
    # Six levels and a final; a level of one pair and a final; only a final.
    assert len(dealt) == 7 + 2 + 1


def test_pairs_meet_within_a_set_until_one_is_left():
    sets = np.repeat([0, 2, 3, 7], [5, 1, 2, 4])
    found = [(heads.tolist(), paired.tolist()) for heads, paired in pairings(sets)]
    assert found == [
        ([0, 2, 4, 5, 6, 8, 10], [True, True, False, False, True, True, True]),
        ([0, 2, 3, 4, 5], [True, False, False, False, True]),
        ([0, 2, 3, 4], [True, False, False, False]),
    ]
    assert not list(pairings(np.array([1, 4])))
    assert not list(pairings(np.array([], dtype=np.int32)))


def test_a_level_takes_the_exchanges_of_a_sign_and_two_more():
    question = asked([0] * 16, [1, 1], primes=primes_of(5))
    trio = trio_of(in_one_row(range(16), range(2)), question).play()
    # The final of two rows has no AND: a sign, a tie, the outcome. The number comes last.
    for me, other in (EVALUATORS, EVALUATORS[::-1]):
        assert len([one for one in trio.mail if one[:2] == (me, other)]) == 4 * (3 + 2) + (3 + 2) + 1


class TestMail:
    LABELS = np.repeat([0, 2, 4], [5, 4, 1])
    SIZES = np.array([3, 1, 2, 2, 1])
    DISTANCES = in_one_row([9, 45, 18, 27, 0, 12, 20, 3, 4, 4], SIZES)
    QUESTION = asked(LABELS, SIZES)
    ROWS = (1, 6)
    MESSAGES = 87

    def fresh(self) -> Trio:
        return trio_of(self.DISTANCES, self.QUESTION)

    def test_the_dealer_is_told_the_rows_but_the_last(self):
        mail = self.fresh().play().mail
        told = [(sender, data) for sender, recipient, data in mail if recipient is Comparer.DEALER]
        assert len(told) == 2
        assert dict(told) == dict.fromkeys(EVALUATORS, (2).to_bytes(8, "little"))

    def test_a_role_that_takes_the_same_again_sends_the_same_bytes(self):
        first, again = (trio_of(self.DISTANCES, self.QUESTION, kernels=kernels).play() for kernels in BOTH)
        assert first.rows.tolist() == again.rows.tolist() == list(self.ROWS)
        assert first.mail == again.mail
        assert len(first.mail) == self.MESSAGES

    @pytest.mark.some(20)
    @pytest.mark.parametrize("replaced", range(MESSAGES))
    def test_other_bytes_of_the_same_size_end_in_rows_or_a_named_error(self, replaced):
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
        for me in EVALUATORS:
            rows = trio.roles[me].rows.tolist()
            assert len(set(rows)) == len(rows) in (0, 2)
            assert set(rows) <= set(range(10))

    def last(self, liar, size, change):
        """Change the liar's last message of a size to the other evaluator, in a run with one row to find."""
        question = asked([0, 0, 2, 2, 2], [1, 1, 1])
        trio = trio_of(in_one_row([4, 5, 3, 2, 1], range(3)), question)
        sizes = [
            len(data)
            for sender, recipient, data in trio_of(in_one_row([4, 5, 3, 2, 1], range(3)), question)
            .play()
            .mail
            if sender is liar and recipient is not Comparer.DEALER
        ]
        at, seen = len(sizes) - 1 - sizes[::-1].index(size), 0

        def changed(sender, recipient, data):
            nonlocal seen
            if sender is liar and recipient is not Comparer.DEALER:
                seen += 1
                if seen == at + 1:
                    return change(data)
            return data

        return trio.play(changed)

    @pytest.mark.parametrize("liar", EVALUATORS)
    def test_what_is_not_one_hot_ends_the_run(self, liar):
        with pytest.raises(CheatError, match="an opened set is not one-hot") as error:
            self.last(liar, 8, lambda data: bytes([data[0] ^ 1]) + data[1:])
        assert error.value.code is Code.BAD_MESSAGE

    @pytest.mark.parametrize("liar", EVALUATORS)
    @pytest.mark.parametrize("value", [PRIMES[-1], 2**24 - 1])
    def test_an_entry_that_is_not_below_its_prime_ends_the_run(self, liar, value):
        with pytest.raises(
            CheatError, match=f"the {liar.value} has sent entries that are not below"
        ) as error:
            # The half of the only pair of the second level: two residues modulo each of four primes.
            self.last(liar, 24, lambda data: data[:-3] + value.to_bytes(3, "little"))
        assert error.value.code is Code.BAD_MESSAGE

    @pytest.mark.parametrize("liar", EVALUATORS)
    def test_a_number_of_no_row_ends_the_run(self, liar):
        with pytest.raises(CheatError, match="an opened row is impossible") as error:
            self.last(liar, 12, lambda data: bytes([data[0] ^ 64]) + data[1:])
        assert error.value.code is Code.BAD_MESSAGE
        assert not any(letter.isdigit() for letter in str(error.value))

    @pytest.mark.parametrize("liar", EVALUATORS)
    def test_a_number_of_a_row_of_another_set_ends_the_run(self, liar):
        def add_one(data):  # to the opened number, by 1 less of the mask
            residues = [int.from_bytes(data[at : at + 3], "little") for at in range(0, 12, 3)]
            lower = [(one - 1) % p for one, p in zip(residues, PRIMES, strict=True)]
            return b"".join(one.to_bytes(3, "little") for one in lower)

        with pytest.raises(CheatError, match="an opened row is impossible"):
            self.last(liar, 12, add_one)

    @pytest.mark.parametrize("liar", EVALUATORS)
    def test_evaluators_that_tell_of_different_rows_are_dealt_nothing(self, liar):
        def change(sender, recipient, data):
            return bytes([data[0] ^ 1]) + data[1:] if (sender, recipient) == (liar, Comparer.DEALER) else data

        with pytest.raises(CheatError, match="told the dealer of different rows"):
            self.fresh().play(change)

    @pytest.mark.parametrize("number", [11, 2**64 - 1])
    def test_rows_that_are_none_are_told_in_vain(self, number):
        def change(sender, recipient, data):
            return number.to_bytes(8, "little") if recipient is Comparer.DEALER else data

        with pytest.raises(CheatError, match="an opened row is impossible"):
            self.fresh().play(change)


class TestQuestion:
    def ask(self, question):
        masks = packed(np.zeros((1, question.rows), dtype=object), question.primes)
        return FarthestDealer(
            question=question, masks=masks, keys=(None, None), kernels=BOTH[0], arena=Arena()
        )

    @pytest.mark.parametrize(("labels", "sizes"), [([0, 1, 1], [1, 1]), ([0], [1, 1, 1])])
    def test_some_sets_are_empty_but_no_more_than_there_are_rows(self, labels, sizes):
        with pytest.raises(ParameterError, match=r"sets without a label are possible, [02] were given"):
            self.ask(asked(labels, sizes))

    def test_the_modulus_tells_numbers_of_rows_apart(self):
        with pytest.raises(ParameterError, match="more than twice 8 rows"):
            self.ask(asked([0] * 8, [1, 1], primes=(3, 5)))
        self.ask(asked([0] * 7, [1, 1], primes=(3, 5)))
