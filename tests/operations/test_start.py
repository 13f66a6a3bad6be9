"""A start by k-means++ of the trio has the same rows as in integers, and wrong messages are refused."""

from math import isqrt, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kernel_samples import BOTH, each_kernels, laws
from support.start import EVALUATORS, Start, squared_distances
from support.trio import packed

from secfc.comparing.role import Comparer
from secfc.errors import CheatError, MessageError, ParameterError
from secfc.errors.codes import Code
from secfc.field.primes import primes_of
from secfc.operations import draw
from secfc.operations.draw import DrawDealer
from secfc.operations.minima import Minima, start_residues
from secfc.operations.plus_plus_steps import LeastDealer, NearerDealer

PRIMES = primes_of(4)


def assert_equal_to_plus_plus(start: Start) -> None:
    start.play()
    assert (start.chosen, start.asked, start.rng.bit_generator.state) == start.expected()


def start_of(rows, k, **more) -> Start:
    return Start(squared_distances(rows), k, **{"primes": PRIMES} | more)


@laws
@given(
    rows=st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=14),
    data=st.data(),
    scale=st.sampled_from([1, 2**10]),
    seed=st.integers(0, 99),
)
def test_rows_are_those_of_plus_plus(rows, data, scale, seed):
    rows = [[x * scale for x in row] for row in rows]
    k, step = (data.draw(st.integers(1, len(rows))) for _ in range(2))
    assert_equal_to_plus_plus(start_of(rows, k, seed=seed, step=step))


@each_kernels
def test_many_rows_in_parts(kernels):
    rows = np.random.default_rng(0).integers(0, 1000, (300, 3)).tolist()
    assert_equal_to_plus_plus(start_of(rows, 6, step=128, kernels=kernels))


def test_a_draw_takes_several_levels(monkeypatch):
    monkeypatch.setattr(draw, "_PIECES", 4)
    rows = np.random.default_rng(1).integers(0, 1000, (70, 2)).tolist()
    for m in (2, 4, 5, 16, 17, 64, 65, 70):
        assert_equal_to_plus_plus(start_of(rows[:m], 2, seed=m))


class TestByHand:
    def test_the_first_candidate_of_equal_totals_is_chosen(self):
        start = start_of([[0], [6], [-6], [0]], 2)
        start.ask([0])
        assert start.least(False) == (0, False)
        for minima in start.minima.values():
            minima.keep(0)
        for candidates in ([1, 2], [2, 1], [3, 2, 1]):
            start.ask(candidates)
            assert start.least(True) == ({3: 1}.get(len(candidates), 0), False)
            for minima in start.minima.values():
                minima._asked = None

    @pytest.mark.parametrize("random", [0, 2**32 - 1, 2**31, 2**31 - 1, 2**30])
    def test_a_draw_at_the_bounds_between_rows(self, random):
        # w = 0, 1, 0, 1, 2, 0: sums 0, 1, 1, 2, 4, 4.
        start = start_of([[0]] * 6, 2)
        start.distances = np.array([[0, 1, 0, 1, 2, 0]] * 6, dtype=object)
        start.ask([0])
        for minima in start.minima.values():
            minima.keep(0)
        first = next(at for at, one in enumerate([0, 1, 1, 2, 4, 4]) if one > 4 * random >> 32)
        assert start.draw([random, 0]) == [first, 1]


@pytest.mark.parametrize("m", [2, 7, 20])
@pytest.mark.parametrize("primes", [4, 5, 6])
def test_the_largest_distances_that_primes_bear(m, primes):
    ring = primes_of(primes)
    radius = isqrt((prod(ring) - 1) // (8 * m << 32))
    assert start_residues(radius, m) == primes
    assert start_residues(radius + 1, m) > primes
    start = Start(np.zeros((m, m), dtype=object), 1, primes=ring)
    most = (2 * radius) ** 2
    start.distances[:] = most
    start.ask([0])
    assert start.least(False) == (0, False)
    for minima in start.minima.values():
        minima.keep(0)
    assert start.draw([0, 2**32 - 1, 2**31]) == [0, m - 1, (m << 31) // 2**32]
    start.distances[m // 2] = 0
    start.ask([0, m // 2])
    assert start.least(False) == (1, True)


def test_more_rows_or_precision_than_the_primes_bear_are_refused():
    assert start_residues(2**32, 10**6) == 5
    with pytest.raises(ParameterError, match="draws by distances of 536870912 rows take"):
        start_residues(2**64, 2**29)


class TestMail:
    ROWS = np.random.default_rng(3).integers(0, 50, (9, 2)).tolist()

    def fresh(self, **more) -> Start:
        return start_of(self.ROWS, 3, **more)

    def test_both_kernels_send_the_same_bytes(self):
        first, again = (self.fresh(kernels=kernels).play() for kernels in BOTH)
        assert first.mail == again.mail
        assert first.chosen == again.chosen

    def test_the_dealer_is_told_of_candidates_and_whether_a_total_is_0(self):
        start = self.fresh().play()
        told = [len(data) for _, recipient, data in start.mail if recipient is Comparer.DEALER]
        # Two steps that are not the last one, and the last one. A draw among nine rows needs one level.
        assert told == [1] * 6

    def test_other_bytes_of_the_same_size_end_in_rows_or_a_named_error(self):
        count = len(self.fresh().play().mail)
        assert count > 50
        for replaced in range(count):
            seen = 0

            def change(sender, recipient, data, replaced=replaced):
                nonlocal seen
                seen += 1
                return np.random.default_rng(replaced).bytes(len(data)) if seen == replaced + 1 else data

            start = self.fresh(change=change)
            try:
                start.play()
            except (CheatError, MessageError, AssertionError):
                continue  # the evaluators found different rows, or one found an impossible row
            assert len(set(start.chosen)) <= 3
            assert set(start.chosen) <= set(range(9))

    def after_first(self, change=None) -> Start:
        start = self.fresh()
        start.ask([0])
        for minima in start.minima.values():
            minima.keep(0)
        start.mail.clear()
        if change:
            start.change = change
        return start

    @staticmethod
    def last_of(liar, sizes, change):
        """Change the last message of the liar to the other evaluator."""
        seen = 0

        def changed(sender, recipient, data):
            nonlocal seen
            if sender is liar and recipient is not Comparer.DEALER:
                seen += 1
                return change(data) if seen == sizes else data
            return data

        return changed

    def exchanges(self, step) -> int:
        start = self.after_first()
        step(start)
        return len([one for one in start.mail if one[:2] == EVALUATORS])

    @pytest.mark.parametrize("liar", EVALUATORS)
    def test_a_candidate_that_is_not_one_hot_ends_the_run(self, liar):
        def step(start):
            start.minima = {me: Minima(rows=9, primes=PRIMES) for me in Comparer}
            start.ask([0, 4])
            start.least(False)

        change = self.last_of(liar, self.exchanges(step), lambda data: bytes([data[0] ^ 1]) + data[1:])
        with pytest.raises(CheatError, match="not one-hot") as error:
            step(self.after_first(change))
        assert error.value.code is Code.BAD_MESSAGE

    @pytest.mark.parametrize("liar", EVALUATORS)
    @pytest.mark.parametrize("bits", [0b00000001, 0b10000000, 0b11111111])
    def test_bits_that_fall_again_end_the_run(self, liar, bits):
        def step(start):
            return start.draw([2**31])

        assert 1 < step(self.after_first())[0] < 7
        change = self.last_of(liar, self.exchanges(step), lambda data: bytes([data[0] ^ bits]) + data[1:])
        with pytest.raises(CheatError, match="opened draws are impossible") as error:
            step(self.after_first(change))
        assert error.value.code is Code.BAD_MESSAGE
        assert not any(letter.isdigit() for letter in str(error.value))

    @pytest.mark.parametrize("liar", EVALUATORS)
    def test_evaluators_that_tell_of_different_bits_end_the_run(self, liar):
        def change(sender, recipient, data):
            return bytes([data[0] ^ 1]) + data[1:] if (sender, recipient) == (liar, Comparer.DEALER) else data

        with pytest.raises(CheatError, match="told the dealer of different bits"):
            self.fresh(change=change).play()


def played() -> Start:
    rows = np.random.default_rng(4).integers(0, 1000, (90, 2)).tolist()
    return start_of(rows, 4, step=60).play()


class TestKeystreams:
    def test_every_purpose_once_in_a_round_and_part(self):
        start = played()
        least, drawn = ["least", "drawn 0"], [["nearer"], ["nearer", "least", "drawn 0"]]
        assert len(start.asked) == 4
        for (me, other, round_, part), ring in start.keys.items():
            stages = drawn[part == 0] if round_ > 1 else least
            stages = [stage for stage in stages if round_ < 4 or stage != "drawn 0"]
            expected = set()
            for stage in stages:
                expected.add((f"{stage} wires", 0))
                if other is Comparer.E0:
                    expected.add((f"{stage} products", 0))
                if stage == "nearer":
                    purposes = ["masks", "choice"] if other is Comparer.E0 else ["masks"]
                    expected |= {(f"nearer {one}", 0) for one in purposes}
            assert me in (Comparer.DEALER, other)
            assert ring.used.keys() == expected

    def test_no_word_of_a_keystream_is_drawn_twice(self, drawn):
        played()
        words, counts = np.unique(np.concatenate(drawn["bits"]), return_counts=True)
        # The dealer and the evaluator that has this half each draw it once.
        assert words.size > 10_000
        assert (counts == 2).all()
        draws = sorted(one.tobytes() for one in drawn["residues"])
        assert draws[::2] == draws[1::2]
        assert len(set(draws)) == len(draws) // 2 > 50

    def test_what_is_sent_has_a_mask_for_every_word_but_outcomes(self, masking_bytes):
        start = played()
        between = sum(len(data) for sender, to, data in start.mail if {sender, to} == set(EVALUATORS))
        first, *others = map(len, start.asked)
        assert first == 1
        assert others[-1] > 1
        # Opened words: is the total 0; which candidate, and the total again in all steps but the last; three
        # draws.
        words = 1 + sum(count + (count > 1) for count in others[:-1]) + others[-1]
        words += 3 * -(-3 * (90 - 1) // 64)
        assert between == masking_bytes() + 2 * 8 * words


SHARED = {"primes": PRIMES, "keys": (None, None), "kernels": BOTH[0], "arena": None}


class TestRefused:
    def zeros(self, *shape):
        return packed(np.zeros(shape, dtype=object), PRIMES)

    def test_other_shapes(self):
        with pytest.raises(MessageError, match="do not fit"):
            NearerDealer(closest=self.zeros(1, 4), asked=self.zeros(2, 5), **SHARED)
        with pytest.raises(MessageError, match="totals of shape"):
            LeastDealer(totals=np.zeros((3, 2)), last=True, **SHARED)
        with pytest.raises(MessageError, match="sums of shape"):
            DrawDealer(sums=np.zeros((3, 2)), draws=[0], **SHARED)
        with pytest.raises(MessageError, match="residues of shape"):
            Minima(rows=5, primes=PRIMES).add(slice(0, 4), self.zeros(1, 5))

    @pytest.mark.parametrize("draws", [[], [-1], [2**32]])
    def test_other_draws(self, draws):
        with pytest.raises(ParameterError, match=r"one or more below 2\*\*32 are needed"):
            DrawDealer(sums=np.zeros((4, 2)), draws=draws, **SHARED)
