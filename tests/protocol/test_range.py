"""Integers beyond the public bound: distances that wrap modulo Q end the run before any label is sent."""

from fractions import Fraction

import numpy as np
import pytest
from support.dealing import (
    add,
    change_answers,
    change_shares,
    deal_integers,
    modulus,
    primes,
    random_integers,
)

from plaintext_baselines import ExactLloyd
from secfc.errors import RangeError
from secfc.field.label_packing import labels_of
from secfc.kmeans.in_range import RangeCheck
from secfc.protocol.job.limits import Limits
from secfc.protocol.messages import SERVER, Assignment, Continue, Finish
from secfc.protocol.states import State

pytestmark = pytest.mark.questions

_RNG = np.random.default_rng(20)
ROWS = [_RNG.uniform(-5, 5, (m, 4)).round(1) for m in (6, 5, 4, 6, 5)]
LIAR, COLUMN = 1, 2

SETTINGS = {
    "coded": {"disclosure": "coded", "n_init": 10},
    "liars": {"max_liars": 1, "n_init": 80, "max_iter": 40},
    "separation": {"disclosure": "coded", "init": "separation"},
    "compared": {"disclosure": "coded", "compared": (2, 3), "k": 3},
    "steps": {"disclosure": "coded", "precision": 32, "step": 0.001},
    "opened": {"disclosure": "coded", "reveal_to": (1,), "limits": Limits(reveal_centres=True)},
}
each_setting = pytest.mark.parametrize("setting", SETTINGS)


def small(wire, setting, rows=ROWS, **more):
    return wire(rows, **{"t": 1, "ell": 1, "precision": 12, "bound": 20.0} | SETTINGS[setting] | more)


def sent_by_server(net, **kept):
    """Run to the end or the error; return what the server sent, and the error."""
    sent, error = [], None

    def drop(message):
        if message.sender == SERVER:
            sent.append(message)
        return False

    try:
        net.run(drop=drop)
    except RangeError as found:
        error = found
    return sent + [net.take(link) for link in net.pending() if link[0] == SERVER], error


@each_setting
@pytest.mark.parametrize("wide", [False, True])
def test_large_integers_in_a_column_end_the_run_before_a_label_is_told(wire, setting, wide):
    """Each label would be a periodic function of the row's value in the column, which the liar knows."""
    rng = np.random.default_rng(3)
    for _ in range(3):
        net = small(wire, setting, [np.zeros((6, 4)), *ROWS[1:]])
        below = modulus(net) if wide else min(modulus(net), 1 << 47)
        large = random_integers(rng, 3, below)
        deal_integers(net, LIAR, {(row, COLUMN): number for row, number in enumerate(large)})
        sent, error = sent_by_server(net)
        assert error is not None
        assert {message.round for message in sent if isinstance(message, Assignment)} == {1}
        assert not any(isinstance(message, Finish) for message in sent)
        assert all(client.labels is None for client in net.clients.values())
        assert net.server.outcome is None
        assert not any(str(number) in str(error) for number in large)


def test_what_a_prediction_tells_of_a_row_beyond_the_bound_is_nothing(wire):
    rows = [np.zeros((2, 4)), *ROWS[1:3]]
    starts = [[-1, -1], [0, 1, 0, 1, 0], [0, 1, 1, -1]]
    given = {"starts": starts, "predict": True, "max_iter": 1, "disclosure": "coded"}
    net = wire(rows, precision=12, limits=Limits(predict=True), **given)
    deal_integers(net, LIAR, {(0, COLUMN): modulus(net) // 3})
    sent, error = sent_by_server(net)
    assert error is not None
    assert not any(isinstance(message, Finish) for message in sent)


@pytest.mark.parametrize("liar", [1, 5])
def test_what_is_sent_before_the_end_does_not_tell_which_rows_are_beyond(wire, part_rows, liar):
    part_rows(2)
    rows = [np.zeros_like(part) if j == liar else part for j, part in enumerate(ROWS, 1)]
    net = small(wire, "coded", rows, k=1)
    deal_integers(net, liar, {(0, 0): 12345678901})
    sent, error = sent_by_server(net)
    assert error is not None
    asked = [message.part for message in sent if isinstance(message, Continue) and message.round == 1]
    parts = net.parts().answers
    assert parts > 3
    assert sorted(set(asked)) == list(range(2, parts))


def test_the_run_stays_ended(wire):
    net = small(wire, "coded", [np.zeros((6, 4)), *ROWS[1:]])
    deal_integers(net, LIAR, {(0, 0): modulus(net) // 2})
    _, error = sent_by_server(net)
    assert error is not None
    assert net.server.state is State.ITERATE
    again, error = sent_by_server(net)
    assert [type(message) for message in again] == []
    assert error is None


def square_root_of_minus_one(moduli):
    """A square root of -1 modulo the product of these primes p = 1 modulo 4."""
    total, product = 0, 1
    for p in moduli:
        root = next(r for r in (pow(g, (p - 1) // 4, p) for g in range(2, 99)) if r * r % p == p - 1)
        total += product * ((root - total) * pow(product, -1, p) % p)
        product *= p
    assert (total * total + 1) % product == 0
    return total


@pytest.mark.parametrize("rare", [0.0, 1.0])
def test_that_a_run_ends_is_one_bit_and_names_nobody_honest(wire, rare):
    """Integers of norm 0 modulo Q in two columns: distances to rows with zeros there are right. So the run
    ends exactly if another client has other values there. That row, which is beyond the bound for all sets,
    is not the liar's.
    """
    rows = [part * [1, 1, 0, 0] for part in ROWS]
    rows[LIAR - 1] = np.zeros((6, 4))
    rows[2][1, 2] = rare
    starts = [np.arange(len(part)) % 2 for part in rows]
    net = small(wire, "liars", rows, starts=starts, n_init=1)
    number = modulus(net) // 7
    root = square_root_of_minus_one(primes(net))
    large = {(row, 2): number for row in (0, 1)} | {(row, 3): number * root for row in (0, 1)}
    deal_integers(net, LIAR, large)
    sent, error = sent_by_server(net)
    if not rare:
        assert error is None
        assert net.server.state is State.DONE
        return
    assert "one of several clients (it is not known which)" in str(error)
    assert {message.round for message in sent if isinstance(message, Assignment)} == {1}


def test_fractions_modulo_q_that_pass_are_rows_on_a_finer_grid(wire):
    """1/2 modulo Q in four columns: distances are those to a row halfway between integers."""
    rows = [part * 2.0**3 for part in ROWS]
    rows = [np.round(part) for part in rows]  # at precision 12 and bound 2048 a step is 1/2
    rows[LIAR - 1] = np.zeros((6, 4))
    starts = [np.arange(len(part)) % 2 for part in rows]
    net = wire(rows, starts=starts, precision=11, bound=2048.0, disclosure="coded")
    half = pow(2, -1, modulus(net))
    deal_integers(net, LIAR, {(0, column): half for column in range(4)})
    net.run()
    real = [part.copy() for part in rows]
    real[LIAR - 1][0] += 0.5
    exact = ExactLloyd(2, init=starts, precision=12, bound=2048.0).fit(real)
    np.testing.assert_array_equal(net.server.outcome.labels, np.concatenate(exact.labels_))


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("denominator", [2, 3, 16])
def test_other_fractions_end_the_run(wire, columns, denominator):
    rows = [np.zeros((6, 4)), *ROWS[1:]]
    starts = [np.arange(len(part)) % 2 for part in rows]
    net = small(wire, "coded", rows, starts=starts, n_init=1)
    part = pow(denominator, -1, modulus(net))
    deal_integers(net, LIAR, {(0, column): part for column in range(columns)})
    _, error = sent_by_server(net)
    assert error is not None


@pytest.mark.some(7)
@pytest.mark.parametrize("victim", [1, 2, 3])
@pytest.mark.parametrize("only", [0, 1, 2, None])
def test_shares_on_no_polynomial_end_the_run_where_they_are_not_checked(wire, victim, only):
    """Distances of others' rows change by uniform residues, because their shares are uniform."""
    for offset in (1, 2, 2**23 - 1):
        net = wire(ROWS[:3], precision=12)

        def deal(packed, offset=offset):
            add(packed[victim - 1], 0, 0, offset, only)

        change_shares(net, 2, deal)
        sent, error = sent_by_server(net)
        assert "it is not known" in str(error)
        assert {message.round for message in sent if isinstance(message, Assignment)} == {1}


def test_two_rows_whose_errors_cancel_in_a_set_end_the_run_too(wire):
    starts = [np.zeros(6, int), np.zeros(5, int), np.array([0, 1, 1, 1])]
    net = wire(ROWS[:3], precision=12, starts=starts)

    def deal(packed):
        add(packed[2], 0, 0, 5)
        add(packed[2], 0, 1, -5)

    change_shares(net, 2, deal)
    _, error = sent_by_server(net)
    assert error is not None


def exact_distance(net, row, h, sets):
    """D of a row to a set, in integers."""
    scaled = np.rint(np.ldexp(np.concatenate(net.rows), net.job.exponent)).astype(object)
    members = [at for at, label in enumerate(np.concatenate(sets)) if label == h]
    difference = sum(scaled[at] for at in members) - len(members) * scaled[row]
    return int((difference**2).sum()), len(members)


def test_a_wrong_answer_that_stays_in_range_is_not_seen_and_finds_a_distance_by_labels(wire):
    """If no liars are tolerated. Each round gives a responder one bit of each row, and no more."""
    starts = [np.arange(len(part)) % 2 for part in ROWS[:3]]
    row = 8  # of client 2

    def label(offset):
        net = wire(ROWS[:3], starts=starts, precision=12, disclosure="coded")
        change_answers(net, LIAR, lambda round_: {(row, 0): offset} if round_ == 1 else {})
        net.run(until=lambda: net.server.gathering.round == 2)
        return net.server.phase.search.sets[row]

    net = wire(ROWS[:3], starts=starts, precision=12, disclosure="coded")
    (near, size), (far, other) = (exact_distance(net, row, h, starts) for h in (0, 1))
    # Nearest to set 0 as long as near + offset <= far (size / other)**2.
    wanted = int(Fraction(far * size**2, other**2)) - near
    low, high = -near, (2 * size * net.job.radius) ** 2 - near
    assert label(low) == 0
    assert label(high) == 1
    rounds = 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if label(middle) == 0 else (low, middle)
        rounds += 1
    assert low == wanted
    assert rounds <= (2 * size * net.job.radius).bit_length() * 2


@pytest.mark.parametrize("beyond", [False, True])
@pytest.mark.parametrize("below", [False, True])
def test_where_a_wrong_answer_is_seen(wire, beyond, below):
    """D from 0 to (2 |S| r)**2 is accepted; the next integers on both sides are not."""
    starts = [np.arange(len(part)) % 2 for part in ROWS[:3]]
    net = wire(ROWS[:3], starts=starts, precision=12, disclosure="coded", max_iter=1)
    distance, size = exact_distance(net, 8, 0, starts)
    most = (2 * size * net.job.radius) ** 2
    offset = (-1 if below else most + 1) if beyond else (0 if below else most)
    change_answers(net, 2, lambda round_: {(8, 0): offset - distance} if round_ == 1 else {})
    _, error = sent_by_server(net)
    assert (error is not None) == beyond


@pytest.mark.parametrize("checked", [False, True])
def test_the_check_of_distances_is_what_keeps_a_liar_from_reading_a_column(wire, monkeypatch, checked):
    """Without the check, rows with the same value in the column have the same labels in every round.

    The liar has eight rows of large integers, and two rows for each value that the column can have. In a
    random start these two rows differ in some set.
    """
    if not checked:
        monkeypatch.setattr(RangeCheck, "end_round", lambda self, sets: None)
    rng = np.random.default_rng(5)
    values = np.arange(20.0)
    secret = rng.permutation(np.arange(5, 15))
    others = [np.column_stack([part, rng.uniform(-5, 5, 5)]) for part in np.split(secret, 2)]
    zeros = np.zeros((8 + 2 * len(values), 2))
    net = wire([zeros, *others], precision=12, disclosure="coded", n_init=10, max_iter=40)
    large = dict(enumerate(random_integers(rng, 8, modulus(net))))
    for at, value in enumerate([*values, *values], 8):
        large[at] = round(value * 2.0**net.job.exponent)
    deal_integers(net, LIAR, {(row, 0): number for row, number in large.items()})
    told = {}

    def keep(message):
        if isinstance(message, Assignment) and message.recipient == LIAR:
            told[message.round] = labels_of(message.sets).copy()
        return False

    try:
        net.run(drop=keep)
    except RangeError:
        assert checked
        assert list(told) == [1]  # the random start
        return
    assert not checked
    own, again, theirs = np.split(np.array([*told.values()])[:, 8:].T, [len(values), 2 * len(values)])
    by_values = (own == again).all(axis=0)
    same = (theirs[:, np.newaxis, by_values] == own[:, by_values]).sum(axis=2)
    np.testing.assert_array_equal(values[same.argmax(axis=1)], secret)
