"""Rows beyond the bound with disclosure "labels": the run ends before any label is opened."""

from dataclasses import replace
from itertools import product
from math import prod

import numpy as np
import pytest
from support.dealing import add, change_shares, deal_integers, random_integers
from support.sweeps import crossed
from support.wire import UnionWire, Wire

from secfc.comparing.bounded import most_sum
from secfc.errors import RangeError
from secfc.field.primes import PRIMES, primes_of
from secfc.lagrange.basis import lagrange_basis
from secfc.lagrange.points import evaluation_points
from secfc.protocol.job import row_layout
from secfc.protocol.job.row_layout import RANGE_GROUPS, RANGE_ROWS, Layout, RangeParts
from secfc.protocol.messages import Assignment, Compared, Finish, MaskedAnswer, OpenedLabels, SpareMasks
from secfc.protocol.states import State

pytestmark = pytest.mark.questions

_RNG = np.random.default_rng(8)
SIZES = (4, 3, 5, 2, 3)
WIDE = 3
"""Columns."""

LABELS = {"disclosure": "labels", "precision": 12, "bound": 9.0}


def rows_without(zeros):
    """Random rows; those of one client are all 0."""
    return [
        np.zeros((m, WIDE)) if j == zeros else _RNG.uniform(-5, 5, (m, WIDE)).round(2)
        for j, m in enumerate(SIZES, 1)
    ]


def labelled(liar, **more):
    return Wire(
        rows_without(liar),
        **{"disclosure": "labels", "precision": 12, "bound": 9.0, "k": 2, "seed": 1} | more,
    )


def modulus(net):
    return prod(primes_of(net.job.residues(net.m)))


def ended(net, *, drop=lambda message: False):
    """The error that ends the run, and all messages sent before it."""
    sent = []
    with pytest.raises(RangeError) as caught:
        net.run(drop=lambda message: sent.append(message) or drop(message))
    assert not any(isinstance(message, OpenedLabels | Finish) for message in sent)
    assert {message.round for message in sent if isinstance(message, Assignment)} <= {1}
    evaluators = net.job.comparers[1:]
    told = [one.round for one in sent if isinstance(one, Compared) and one.sender in evaluators]
    assert set(told) <= {0}  # no message of a comparison of labels
    return caught.value


def wrong(net, answer):
    """A masked answer before the first question, with one residue changed."""
    channel = net.channels[answer.recipient][answer.sender]
    place = {"part": answer.part, "round_": 0}
    payload = bytearray(channel.open(MaskedAnswer.purpose, sealed=answer.sealed.payload, **place))
    payload[-3] ^= 1
    sealed = net.seal(
        answer.sender, answer.recipient, answer.part, bytes(payload), MaskedAnswer.purpose, round_=0
    )
    return replace(answer, sealed=sealed)


def deal_segments(net, dealer, numbers):
    """Let a client with rows of zeros share integers on a polynomial, by row, segment and column."""
    job = net.job

    def change(packed):
        for (row, segment, column), number in numbers.items():
            for index, prime in enumerate(PRIMES[: len(primes_of(job.residues(net.m)))]):
                points = evaluation_points(prime, n=job.n, coded=job.ell + job.t)
                basis = lagrange_basis(points.beta, points.alpha, prime.p)
                for share, weights in zip(packed, basis, strict=True):
                    add(share, column, row, number * int(weights[segment]), only=index)

    change_shares(net, dealer, change)


@pytest.mark.parametrize(("liar", "by", "row"), crossed([1, 3, 5], [0, 1, -1], [0, 1]))
def test_a_row_beyond_the_bound_by_one_ends_the_run_and_names_its_client(liar, by, row):
    net = labelled(liar)
    deal_integers(net, liar, {(row, 1): -(net.job.radius + by)})
    if by < 1:
        net.run()
        assert net.server.state is State.DONE
        return
    error = ended(net)
    assert error.clients == (liar,)
    assert str(error).startswith(f"rows of clients {liar} are beyond the public bound, or a client answered")


@pytest.mark.parametrize("by", [0, 1])
def test_a_row_of_more_steps_than_the_bound_has_ends_the_run(by):
    net = labelled(3, precision=32, step=0.01)
    assert net.job.radius == 900
    deal_integers(net, 3, {(0, 1): -(900 + by)})
    if by:
        assert ended(net).clients == (3,)
        return
    net.run()
    assert net.server.state is State.DONE


@pytest.mark.parametrize("liar", [2, 4])
def test_integers_that_wrap_around_end_the_run(liar):
    rng = np.random.default_rng(liar)
    whole = modulus(labelled(liar))
    large = [whole // 2, whole // 3 + 1, whole - whole // 5, 1 << 60, *random_integers(rng, 3, whole)]
    for number in large:
        net = labelled(liar)
        deal_integers(net, liar, {(1, 2): number})
        assert ended(net).clients == (liar,)


def test_integers_whose_squared_norm_is_0_modulo_q_end_the_run():
    """Norms do not show them, but sums do."""
    net = labelled(3)
    primes = primes_of(net.job.residues(net.m))
    whole, root = prod(primes), 0
    for p in primes:
        of_p = next(x for x in (pow(a, (p - 1) // 4, p) for a in range(2, 50)) if x * x % p == p - 1)
        root += of_p * (whole // p) * pow(whole // p, -1, p)
    assert (1 + root**2) % whole == 0
    deal_integers(net, 3, {(2, 0): 1, (2, 1): root % whole})
    assert ended(net).clients == (3,)


@pytest.mark.parametrize("index", [0, 1])
def test_integers_that_are_large_modulo_one_prime_alone_end_the_run(index):
    net = labelled(2)
    whole, p = modulus(net), PRIMES[index].p
    deal_integers(net, 2, {(0, 0): (whole // p) * pow(whole // p, -1, p)})
    assert ended(net).clients == (2,)


def test_entries_that_sums_would_let_pass_are_found_by_their_norms():
    net = labelled(5)
    assert 4 * net.job.radius < most_sum(net.job.radius, SIZES[4])
    deal_integers(net, 5, {(0, 0): 4 * net.job.radius})
    assert ended(net).clients == (5,)


@pytest.mark.parametrize(("segment", "column"), list(product((0, 1), (0, 1))))
def test_every_segment_and_padded_column_is_checked(segment, column):
    """With three columns in two segments, the last column of the second is padding."""
    for number in (1 << 13, 1 << 70):
        net = labelled(1, ell=2, k=2)
        deal_segments(net, 1, {(3, segment, column): number})
        assert ended(net).clients == (1,)


def test_entries_that_cancel_between_segments_are_found():
    net = labelled(1, ell=2)
    large = modulus(net) // 3
    deal_segments(net, 1, {(0, 0, 0): large, (0, 1, 0): -large})
    assert ended(net).clients == (1,)


@pytest.mark.some(1)
@pytest.mark.parametrize("rows", [1, 3, 6])
def test_norms_are_compared_part_by_part_and_the_error_comes_after_all(monkeypatch, rows):
    monkeypatch.setattr(row_layout, "RANGE_ROWS", rows)
    for liar, row in ((1, 0), (5, 2)):
        net = labelled(liar)
        deal_integers(net, liar, {(row, 0): net.job.radius})
        net.run()
        assert net.server.state is State.DONE
        net = labelled(liar)
        deal_integers(net, liar, {(row, 0): net.job.radius + 1})
        sent = []
        assert ended(net, drop=sent.append).clients == (liar,)
        parts = {one.part for one in sent if isinstance(one, MaskedAnswer) and one.round == 0}
        assert parts == set(range(1 + -(-net.m // rows)))


def test_two_clients_beyond_the_bound_are_both_named():
    rows = rows_without(2)
    rows[3] = np.zeros_like(rows[3])
    net = Wire(rows, **LABELS)
    deal_integers(net, 2, {(0, 0): 1 << 15})
    deal_integers(net, 4, {(1, 2): 1 << 75})
    assert ended(net).clients == (2, 4)


def test_a_wrong_answer_ends_the_run_and_the_error_leaves_open_whose_fault_it_is():
    net = labelled(1)
    answer = net.hold(MaskedAnswer, recipient=2, sender=1)
    assert answer.round == 0
    net.deliver(wrong(net, answer))
    assert "or a client answered wrongly" in str(ended(net))


def test_rows_of_a_union_are_checked_and_nobody_is_named(part_rows):
    part_rows(3)
    net = UnionWire(rows_without(3), **LABELS)
    net.run()
    assert net.server.state is State.DONE
    for number in (1 << 15, 1 << 75):
        net = UnionWire(rows_without(3), **LABELS)
        deal_integers(net, 3, {(0, 0): number})
        error = ended(net)
        assert error.clients == ()
        assert str(error).startswith("rows are beyond the public bound")


@pytest.mark.parametrize("starts", [{"init": "k-means++"}, {"n_init": 2}])
def test_before_any_kind_of_start(starts):
    net = labelled(2, **starts)
    deal_integers(net, 2, {(0, 0): 1 << 14})
    assert ended(net).clients == (2,)


def test_masks_of_another_question_are_refused():
    """A party with another seed, or with other clients left out, has masks that do not fit."""
    net = labelled(1, comparers=(4, 2, 5))
    masks = net.hold(SpareMasks, recipient=5)
    assert masks.round == 0
    channel = net.channels[5][4]
    payload = bytearray(channel.open(SpareMasks.purpose, part=0, sealed=masks.sealed.payload, round_=0))
    payload[0] ^= 1
    sealed = net.seal(4, 5, 0, bytes(payload), SpareMasks.purpose, round_=0)
    net.deliver(replace(masks, sealed=sealed))
    answered = set()
    net.run(drop=lambda one: isinstance(one, MaskedAnswer) and answered.add((one.sender, one.round)))
    assert (5, 0) not in answered
    assert (5, 1) in answered
    assert net.server.state is State.DONE


@pytest.mark.parametrize("answers", ["right", "wrong"])
def test_where_liars_are_tolerated_the_client_alone_is_named_whatever_it_answers(answers):
    net = labelled(5, max_liars=1)
    deal_integers(net, 5, {(0, 0): 1 << 60})

    def drop(message):
        lies = isinstance(message, MaskedAnswer) and message.sender == 5 and answers == "wrong"
        if not lies or message.round:
            return False
        net.deliver(wrong(net, message))
        return True

    assert str(ended(net, drop=drop)) == "rows of clients 5 are beyond the public bound; no label was opened"


@pytest.mark.parametrize("clients", [1, 32, 33, 71])
def test_rows_of_many_clients_are_summed_by_few_groups(clients):
    counts = (0, *range(1, clients + 1), 0)
    parts = RangeParts(share=RANGE_ROWS, answer=RANGE_ROWS, layout=Layout(counts), segments=2)
    groups = parts.groups
    assert len(groups) <= RANGE_GROUPS
    assert [j for group in groups for j in group] == list(range(2, clients + 2))
    assert all(len(group) == 1 for group in groups) == (clients <= RANGE_GROUPS)
    slices = [parts.owned(group) for group in groups]
    assert [own.start for own in slices] == [0, *(own.stop for own in slices[:-1])]
    assert slices[-1].stop == sum(counts)
    assert parts.whose(1) == groups
    assert parts.whose(2) == [(j,) for j in range(2, clients + 2)]
    assert parts.numbers(2) == list(counts[1:-1])
