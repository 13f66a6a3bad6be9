"""What own final labels, and which sets are empty, tell a party that chooses rows or lies."""

from itertools import islice

import numpy as np
import pytest
from operations.own_net import Net, ended, in_the_clear
from support.lied import Lied

from benchmarks.privacy import own_comparer, own_labels, predictions
from benchmarks.privacy.own_labels import BOUND, Told, counted
from secfc.comparing.batch import Evaluating
from secfc.errors import CheatError, MessageError
from secfc.field.packing import PackedResidues, pack, packed_bytes, to_bytes, unpack
from secfc.field.primes import primes_of
from secfc.field.residues import reduce
from secfc.kmeans.plain import Plain
from secfc.kmeans.program import lloyd
from secfc.operations import nearest as of_nearest
from secfc.operations import opening as of_zero
from secfc.operations import signs as of_signs
from secfc.operations import weighed as of_weighed
from secfc.operations.nearest import pairs, plain_nearest, plain_pairs


class TestChosenRows:
    def test_own_labels_of_a_column_tell_boundaries(self):
        told = Told.of(np.array([3.0, 0.0, 1.0]), np.array([1, 0, 0]), 2)
        assert [one.tolist() for one in told] == [[2], [2], [2, 1], [1, 3]]
        assert Told.of(np.array([3.0, 0.0, 1.0]), np.array([1, 1, 0]), 2) is None

    def test_repeated_runs_tell_the_sorted_values_of_a_column(self):
        errors = own_labels.sorted_errors(np.random.default_rng(1), share=0.5, others=100, d=1, k=4)
        before, *_, last = islice(errors, 9)
        assert last < before / 2

    def test_random_first_sets_tell_rows_after_as_many_runs_as_values(self):
        errors = own_labels.row_errors(np.random.default_rng(1), share=0.5, others=20, max_iter=1)
        found = list(islice(errors, 121))
        assert found[10] > 0.8
        assert found[120] < 0.4

    def test_a_few_runs_tell_the_sum_of_others(self):
        errors = list(islice(own_labels.sum_errors(np.random.default_rng(1), share=1 / 3, others=200), 5))
        assert errors[1] > 0.01
        assert errors[-1] < 1e-3

    def test_they_tell_it_also_if_rows_are_drawn(self):
        found = own_labels.sum_errors(np.random.default_rng(1), share=1 / 3, others=200, init="k-means++")
        assert list(islice(found, 8))[-1] < 0.1

    def test_random_first_sets_tell_the_largest_value_in_one_iteration_and_drawn_rows_do_not(self):
        given = {"share": 0.5, "others": 400, "max_iter": 1}
        for init in ("random", "k-means++"):
            errors = own_labels.farthest_errors(np.random.default_rng(1), init=init, **given)
            before, *_, last = islice(errors, 4)
            assert last < 1e-4 if init == "random" else last == before


def test_empty_sets_tell_a_lying_dealer_a_bit_of_a_column_in_two_rounds():
    rows = list(own_comparer.by_rounds(others=30, k=4, d=1, bits=10, seed=1))
    assert [row.value for row in rows] == list(range(2, 22, 2))
    for one, later in zip(rows, rows[3:], strict=False):
        assert later.success < one.success / 3
    assert rows[-1].success < 3e-3


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_predictions_tell_the_centres_of_others(share):
    given = {"share": share, "others": 200, "new": 99}
    errors = list(islice(predictions.centre_errors(np.random.default_rng(1), **given), 10))
    assert errors[0] == 1
    assert errors[3] > 0.01
    assert errors[9] < 1e-4


class Dealt(Lied):
    """An evaluator: a row of others counts many times in set 0, and no other one of them counts.

    Own rows are one in each set, which also count many times, and a grid by which it reads. The second
    evaluator lies once, in a job of one iteration. The first one lies in every round, and sends all rows but
    the grid to their sets, so that any run comes to rest.
    """

    def __init__(self, others, count, target, first):
        self.first = first
        grid = count - 2 if not first else min(count - 2, len(others) // 4)  # few, to come to rest
        self.own = np.concatenate([[-BOUND, BOUND / 2], np.linspace(-1, 1, grid)])
        self.count = count = len(self.own)
        rows = np.concatenate([self.own, others]).reshape(-1, 1)
        self.target = count + target
        self.homes = (np.arange(len(rows)) > 0).astype(np.int32)
        start = (rows[:, 0] > 0).astype(np.int32) if first else self.homes  # by public centres
        super().__init__(np.rint(rows * 2**20).astype(np.int64).astype(object), start, 2)
        self.times = self.m // 4

    def more(self):
        more = super().more()
        if self.round == 1 or (self.first and self.round > 1):
            more[1, self.count if self.first else 2 :] = -1
            more[0, [0, self.target]] = self.times
            more[1, 1] = 2 * self.times
        return more

    def moved(self, means):
        if not self.first:
            return 0
        moved = self.sent((self.homes != np.arange(2)[:, np.newaxis]).astype(object), means.full)
        moved[:, 2 : self.count] = 0
        return moved

    def row(self):
        """What own labels tell."""
        labels = self.run(max_iter=300 if self.first else 1).labels[: self.count]
        low, high = labels == 0, labels == 1
        if not self.first:
            low, high = np.arange(self.count) == 0, np.arange(self.count) == 1
        sizes = 2 * self.times + low.sum(), 2 * self.times + high.sum()
        sums = self.own[low].sum() - self.times * BOUND, self.own[high].sum() + self.times * BOUND
        (boundary,) = Told.of(self.own, labels, 2).boundaries
        return (2 * boundary - sums[0] / sizes[0] - sums[1] / sizes[1]) * sizes[0] / self.times


@pytest.mark.parametrize("share", [0.1, 1 / 3, 0.5])
@pytest.mark.parametrize("first", [True, False])
def test_own_labels_of_one_run_tell_an_evaluator_that_deals_another_half_a_row(share, first):
    others = np.random.default_rng(1).normal(size=400)
    errors = [abs(Dealt(others, counted(400, share), row, first).row() - others[row]) for row in range(5)]
    assert np.median(errors) / np.ptp(others) < 0.02


ROWS = np.random.default_rng(4).integers(-20, 21, (12, 2))
START = (np.arange(12) % 3).astype(np.int32)


def shifted(residues, moved):
    """Packed residues, shape (P, pairs, m), plus integers."""
    changed = PackedResidues(shape=residues.shape, payload=bytearray(residues.payload))
    for plane, p in zip(changed.planes(), primes_of(residues.shape[0]), strict=True):
        plane[...] = pack((unpack(plane) + (moved % p).astype(np.float64)) % p, p)
    return changed


def lying_pairs(number, moved):
    """Pairs of which in the first round a dealer deals for other masks, or an evaluator adds to its part."""
    left = [moved]

    def lying(me, planes, rows, block):
        if me.number != number or not left:
            return (yield from pairs(me, planes, rows, block))
        change, send = left.pop(), me.send

        def sending(recipient, tag, data):
            if tag == "part":
                part = PackedResidues(shape=(len(me.code.primes), *change.shape), payload=data)
                data = shifted(part, change).payload
            send(recipient, tag, data)

        me.send = sending
        found = yield from pairs(me, planes, rows, block)
        me.send = send
        object.__setattr__(found, "held", shifted(found.held, change if me.evaluates else -change))
        return found

    return lying


class InTheClear(Lied):
    """One lie, in the first round."""

    moving, adding = 0, 0

    def moved(self, means):
        return self.moving if self.round == 1 else 0

    def more(self):
        return super().more() + (self.adding if self.round == 1 else 0)


def clear(start, k, **lies):
    made = InTheClear(ROWS.astype(object), start, k)
    made.__dict__.update(lies)
    return ended(lloyd(made, k=k, max_iter=1, fewest=1))


def one_round(start):
    """The labels of the first round."""
    rows, full = ROWS.astype(object), tuple(range(start.max() + 1))
    of = ended(Plain(rows, start, np.ones(12, dtype=np.int64), len(full)).means(start, None))
    return plain_nearest(plain_pairs(rows, of.means), full, m=12)


def moved():
    """Numbers that send rows to sets, and a job in which a party tells them."""
    homes = np.random.default_rng(5).integers(0, 3, 12)
    ranks = (homes != np.arange(3)[:, np.newaxis]).astype(object)
    return Lied(ROWS.astype(object), START, 3).sent(ranks, (0, 1, 2))


@pytest.mark.parametrize("party", [2, 3])
def test_an_evaluator_that_does_the_same_is_noticed(monkeypatch, party):
    monkeypatch.setattr(of_nearest, "pairs", lying_pairs(party, moved()))
    with pytest.raises(CheatError, match=r"^what holders have sent does not agree with the shares"):
        Net(ROWS, START, 3, max_iter=1).run()


def test_a_real_dealer_can_send_rows_to_sets_and_nobody_notices(monkeypatch):
    moving = moved()
    monkeypatch.setattr(of_nearest, "pairs", lying_pairs(1, moving))
    net = Net(ROWS, START, 3, max_iter=1)
    expected = clear(START, 3, moving=moving)
    assert expected.labels.tolist() != clear(START, 3).labels.tolist()
    net.assert_as(expected, *net.run())


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_whether_the_run_ends_tells_a_dealer_that_gives_wrong_halves_whether_it_guessed_a_size(
    monkeypatch, more
):
    """A half of r of set 1 that is 1 more makes u less by N + s of set 0, and so it makes its mask less."""
    start, row, rounds = START % 2, 5, []
    guess = int((one_round(start) == 0).sum()) + more
    honest, masks = of_signs._deal_halves, of_weighed._masks_of_pairs

    def dealer(me, numbers):
        if numbers.shape[1] == 2:  # masks of values, not of bits
            rounds.append(1)
        if numbers.shape[1] == 2 and len(rounds) == 2:
            wrong = unpack(numbers.planes())
            wrong[:, 1, row] += 1
            octets = to_bytes(reduce(wrong, me.code.moduli), me.code.primes)
            numbers = PackedResidues(payload=octets, shape=numbers.shape)
        honest(me, numbers)

    def new_masks(me, both, shape):
        found = masks(me, both, shape)
        if len(rounds) != 2:
            return found
        changed = np.zeros((len(me.code.primes), 1, 12))
        changed[:, 0, row] = of_weighed._squares(me, both)[:, 0] + guess**2
        residues = unpack(found.planes()) - changed
        residues = reduce(residues, me.code.moduli)
        return PackedResidues(payload=to_bytes(residues, me.code.primes), shape=shape)

    monkeypatch.setattr(of_signs, "_deal_halves", dealer)
    monkeypatch.setattr(of_weighed, "_masks_of_pairs", new_masks)
    net = Net(ROWS, start, 2, max_iter=2)
    if not more:
        net.assert_as(in_the_clear(ROWS, start, 2, max_iter=2), *net.run())
    else:
        with pytest.raises(CheatError, match=r"^what holders have sent does not agree with the shares"):
            net.run()
    assert len(rounds) > 1


@pytest.mark.parametrize("at", [0, 3 * 12], ids=["a value", "a squared size"])
def test_a_first_evaluator_that_passes_on_other_numbers_is_noticed(at):
    told = []

    def carry(sender, recipient, place, data):
        if place.tag != "decoded" or told:
            return data
        told.append(place)
        return bytes([*data[:at], data[at] ^ 1, *data[at + 1 :]])

    with pytest.raises(CheatError, match=r"^what holders have sent does not agree with the shares"):
        Net(ROWS, START, 3, max_iter=1).run(carry=carry)


def test_an_evaluator_whose_part_has_no_residues_is_named():
    def carry(sender, recipient, place, data):
        return b"\xff" * len(data) if (sender, place.tag) == (2, "part") else data

    with pytest.raises(MessageError, match=r"^party 2 sent integers that are not below their prime$"):
        Net(ROWS, START, 3, max_iter=1).run(carry=carry)


def test_a_real_holder_cannot_do_the_same_where_no_answer_is_spare():
    """With n = R its answer has a weight in what is decoded. It compares nothing."""
    moving = moved()
    net, steps = Net(ROWS, START, 3, n=5, t=2, max_iter=1), []
    weights = net.code.weights(tuple(range(1, 6)))

    def carry(sender, recipient, place, data):
        shape = len(net.code.primes), moving.shape[0], moving.shape[1] + 1  # the last are squared sizes
        if (sender, place.tag, len(data)) != (5, "answer", packed_bytes(shape)) or steps:
            return data
        steps.append(place.step)
        changed = PackedResidues(shape=shape, payload=bytearray(data))
        for plane, weight, p in zip(changed.planes(), weights, net.code.primes, strict=True):
            factor = pow(int(np.ravel(weight)[4]), -1, p)
            values = unpack(plane)
            values[:, :-1] = (values[:, :-1] + (moving * factor % p).astype(np.float64)) % p
            plane[...] = pack(values, p)
        return changed.payload

    with pytest.raises(CheatError, match=r"^what holders have sent does not agree with the shares"):
        net.run(carry=carry)
    assert steps


def dealing(monkeypatch, number, more, lying_round):
    """An evaluator adds integers, shape (m,), to the half of its bits of set 0 in a round."""
    honest, rounds = of_signs.from_halves, []

    def lying(me, half, shape):
        if me.number == number:
            rounds.append(1)
            if len(rounds) == lying_round:
                half = (half + more) % me.code.moduli
        return (yield from honest(me, half, shape))

    monkeypatch.setattr(of_signs, "from_halves", lying)


@pytest.mark.parametrize("number", [2, 3])
def test_a_real_evaluator_can_have_a_row_count_many_times_and_nobody_notices(monkeypatch, number):
    start, more = START % 2, np.zeros(12, dtype=np.int64)
    more[7] = 4
    dealing(monkeypatch, number, more, 1)
    net = Net(ROWS, start, 2, max_iter=1)
    adding = np.array([more, -more]).astype(object)
    expected = clear(start, 2, adding=adding)
    assert expected.labels.tolist() != clear(start, 2).labels.tolist()
    net.assert_as(expected, *net.run())


@pytest.mark.parametrize("row", [3, 4, 6, 10])
def test_a_real_dealer_that_gives_wrong_halves_reads_one_label_from_which_sets_are_empty(monkeypatch, row):
    """With wrong halves of lambda a bit b becomes e + (1 - 2 e) b. Here e is a half of all rows but one, and
    -(m - 1) / 2 of that one: the size of the set is 0 if the row is not in it. Other primes tell nothing.
    """
    halves, opened, real, honest = [], [], of_zero.opening, of_signs._deal_halves

    def dealer(me, masks):
        if masks.shape[1] == 2:  # masks of values, not of bits
            return honest(me, masks)
        halves.append(1)
        given = unpack(masks.planes())
        for at, p in enumerate(me.code.primes):
            if len(halves) == 1:
                wrong = np.full(12, pow(2, -1, p))
                wrong[row] = -11 * pow(2, -1, p) % p
                given[at] += wrong * (1 - 2 * given[at])
        octets = to_bytes(reduce(given, me.code.moduli), me.code.primes)
        return honest(me, PackedResidues(payload=octets, shape=masks.shape))

    def noted(me, product):
        found = yield from real(me, product)
        if me.number == 1:
            opened.append(found)
        return found

    monkeypatch.setattr(of_signs, "_deal_halves", dealer)
    monkeypatch.setattr(of_zero, "opening", noted)
    start = START % 2
    Net(ROWS, start, 2, max_iter=1).run()
    assert opened[1].shape == (1, 6)  # two multiples for each set and for what moved, modulo one prime
    assert (not opened[1][0, 0]) == (one_round(start)[row] == 1)


@pytest.mark.parametrize("first", [True, False])
def test_a_real_evaluator_can_turn_opened_bits_and_so_end_the_run_and_nobody_notices(monkeypatch, first):
    def hidden(self, plan, masked):
        outputs = yield from self._shared_outputs(plan, masked)
        if self.first == first and plan.rows == 1:  # whether fewer rows than 1 and 2 have moved
            outputs = ~outputs
        return (yield from self.open(outputs))[0]

    monkeypatch.setattr(Evaluating, "hidden", hidden)
    start = np.random.default_rng(39).integers(0, 3, 12).astype(np.int32)
    *_, n_iter, converged = Net(ROWS, start, 3, fewest=2).run()
    assert (n_iter, converged) == (2, True)
    assert in_the_clear(ROWS, start, 3, fewest=2).n_iter == 4


@pytest.mark.parametrize("row", [4, 5, 6, 7])
def test_an_evaluator_that_lies_last_does_not_see_which_label_it_moved(monkeypatch, row):
    """It adds 1 to the bit of set 0, of another's row: it is 1 for a row of set 1, and 2 for one of set 0.
    The run ends for all in both cases, and only the owner sees which it was.
    """
    start, more = START % 2, np.zeros(12, dtype=np.int64)
    more[row] = 1
    dealing(monkeypatch, 3, more, 2)
    expected = clear(start, 2).labels
    labels, *_ = Net(ROWS, start, 2, max_iter=1).run()
    moved = expected.copy()
    moved[row] = -1 if expected[row] == 0 else 0
    assert np.concatenate([labels[j] for j in sorted(labels)]).tolist() == moved.tolist()
