"""Shares and answers in many parts: equal results, parts out of turn, and how much is ever buffered."""

import gc
import random
import weakref
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from secfc import params
from secfc.errors import MessageError
from secfc.field.packing import PackedResidues, unpack
from secfc.params import ANSWER_PARTS, PART_BYTES, PART_ROWS, WINDOW, Job, Layout
from secfc.protocol import server
from secfc.protocol.messages import (
    SERVER,
    Assignment,
    CodedDistances,
    Continue,
    Finish,
    Plan,
    Ready,
    Share,
)
from secfc.protocol.states import State
from secfc.sealing.channel import TAG_BYTES

_RNG = np.random.default_rng(5)
COUNTS = (6, 9, 0, 5, 8)
MANY = [_RNG.normal(size=(size, 3)).round(3) for size in COUNTS]
"""Five clients where three answers are enough; one has no rows. With rows by twos: 3, 5, 0, 3, 4 parts."""
P = 16760833

laws = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def by_twos(part_rows):
    """Parts of two rows: five of shares, fourteen of an answer."""
    part_rows(2)


@pytest.fixture
def many(wire, by_twos):
    """Make runs of MANY with parts of two rows."""
    return lambda **more: wire(MANY, **{"k": 4, "seed": 3} | more)


@pytest.fixture(scope="module")
def expected(wire):
    """How the run of MANY ends when all is one part."""
    net = wire(MANY, k=4, seed=3)
    assert (net.parts().shares, net.parts().answers) == (1, 1)
    return ending(net)


def ending(net, **how):
    net.run(**how)
    assert net.server.state is State.DONE
    return net.labels(), net.server.outcome.n_iter, net.server.outcome.inertia, net.server.outcome.near_ties


def sharing(net, number=1):
    """Bring a client to the exchange of shares; its Plan is the last thing it has heard."""
    net.run(until=lambda: net.clients[number].state is State.SHARE)
    return net.clients[number]


def asked(net, number=1):
    """Bring a client to its first question; its answer's first parts are on their way."""
    net.run(until=lambda: net.clients[number].state is State.ITERATE)
    net.deliver(net.hold(Assignment, recipient=number))
    return net.clients[number]


# How rows are cut


class TestCut:
    JOB = Job(n=5, k=4, t=1, ell=1, d=3, bound=20.0, precision=28)

    @pytest.mark.parametrize(
        "counts", [COUNTS, (1, 0, 0, 0, 3), (1000, 3, 0, 256, 257), (512, 256, 255, 1, 0)]
    )
    @pytest.mark.parametrize("rows", [1, 2, 3, 256, 1000])
    def test_parts_of_shares_cover_each_clients_rows_once_in_order(self, part_rows, counts, rows):
        part_rows(rows)
        parts = Layout(counts).parts(self.JOB)
        for client in range(1, 6):
            own = parts.layout.rows(client)
            cut = [parts.share_rows(client, part) for part in range(parts.shares + 2)]
            assert [i for piece in cut for i in range(piece.start, piece.stop)] == list(
                range(own.start, own.stop)
            )
            assert all(piece.stop - piece.start <= rows for piece in cut)
            assert all(piece.start == piece.stop for piece in cut[parts.shares :])
        assert parts.shares == max(1, -(-max(counts) // rows))

    @pytest.mark.parametrize(
        "counts", [COUNTS, (1, 0, 0, 0, 3), (1000, 3, 0, 256, 257), (512, 256, 255, 1, 0)]
    )
    @pytest.mark.parametrize("rows", [1, 2, 3, 256, 1000])
    def test_parts_of_answers_cover_all_rows_once_in_order(self, part_rows, counts, rows):
        part_rows(rows)
        parts = Layout(counts).parts(self.JOB)
        cut = [parts.answer_rows(part) for part in range(parts.answers)]
        assert [i for piece in cut for i in range(piece.start, piece.stop)] == list(range(sum(counts)))
        assert all(0 < piece.stop - piece.start <= rows for piece in cut)

    @pytest.mark.parametrize("d", [1, 10, 784])
    @pytest.mark.parametrize("k", [2, 100, 5000])
    def test_a_part_is_about_part_bytes_and_whole_blocks_of_rows(self, k, d):
        job = replace(self.JOB, k=k, d=d)
        layout = Layout((10**6, 0, 1, 2, 3))
        parts, primes = layout.parts(job), job.residues(layout.m)
        sizes = (PART_BYTES, ANSWER_PARTS * PART_BYTES)
        for size, rows, columns in zip(sizes, (parts.share, parts.answer), (job.width, k), strict=True):
            assert rows % PART_ROWS == 0
            assert 3 * primes * columns * rows <= size or rows == PART_ROWS
            assert 3 * primes * columns * (rows + PART_ROWS) > size

    def test_everybody_cuts_alike(self):
        # The cut follows the job and the counts alone, so it is no part of any message.
        layout = Layout(COUNTS)
        assert layout.parts(self.JOB) == Layout(COUNTS).parts(self.JOB)

    def test_no_rows_in_all_are_one_part_of_shares_and_none_of_answers(self):
        parts = Layout((0, 0, 0, 0, 0)).parts(self.JOB)
        assert (parts.shares, parts.answers) == (1, 0)


# Equal results


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 9, 10, 27, 28, 29])
def test_labels_do_not_depend_on_the_parts(wire, part_rows, expected, rows):
    part_rows(rows)
    net = wire(MANY, k=4, seed=3)
    assert (net.parts().shares, net.parts().answers) == (-(-9 // rows), -(-28 // rows))
    assert ending(net) == expected


@pytest.mark.parametrize("more", [{"t": 2}, {"ell": 2, "t": 1}, {"init": "separation"}, {"n_init": 3}])
@pytest.mark.parametrize("rows", [1, 4])
def test_parts_do_not_change_other_jobs(wire, monkeypatch, part_rows, more, rows):
    whole = ending(wire(MANY, k=4, seed=3, **more))
    part_rows(rows)
    assert ending(wire(MANY, k=4, seed=3, **more)) == whole


@given(seed=st.integers(0, 2**32), rows=st.integers(1, 12))
@laws
def test_any_order_between_different_links_gives_the_same_result(wire, part_rows, expected, seed, rows):
    part_rows(rows)
    assert ending(wire(MANY, k=4, seed=3), choose=random.Random(seed).choice) == expected


@given(seed=st.integers(0, 2**32), rows=st.integers(1, 12))
@laws
def test_any_order_gives_the_same_result_when_every_answer_is_needed(wire, part_rows, expected, seed, rows):
    part_rows(rows)
    net = wire(MANY, k=4, t=2, seed=3)
    assert net.job.threshold == net.job.n
    assert ending(net, choose=random.Random(seed).choice) == expected


@given(
    seed=st.integers(0, 2**32),
    rows=st.integers(1, 6),
    slow=st.sets(st.integers(1, 5), min_size=1, max_size=2),
)
@laws
def test_the_answers_of_two_slow_clients_are_not_waited_for(wire, part_rows, expected, seed, rows, slow):
    part_rows(rows)
    net, chance = wire(MANY, k=4, seed=3), random.Random(seed)

    def choose(links):
        prompt = [link for link in links if link[0] not in slow or link[1] != SERVER]
        return chance.choice(prompt or links)

    # Everybody's Hello and Ready are needed; then the slow clients' mail arrives when nothing else does.
    assert ending(net, choose=choose) == expected


@pytest.mark.parametrize("silent", [(1, 2), (1, 5), (3, 4), (4, 5)])
@pytest.mark.parametrize("from_part", [0, 1, 2, 13])
def test_two_of_five_clients_may_fall_silent_in_the_middle_of_an_answer(many, expected, silent, from_part):
    def drop(message):
        if not isinstance(message, CodedDistances) or message.sender not in silent:
            return False
        return (message.round, message.part) >= (2, from_part)

    assert ending(many(), drop=drop) == expected


def test_a_part_too_few_answers_leaves_the_round_open(many):
    net = many()
    net.run(
        drop=lambda message: isinstance(message, CodedDistances) and message.sender > 2 and message.part > 4
    )
    assert net.server.state is State.ITERATE
    assert (net.server.progress.round, net.server.progress.waiting_for) == (1, 1)
    assert net.server._gathering.head == 5


# Who sends how many


def test_messages_are_as_many_as_parts(many):
    net, seen = many(), Counter()
    net.run(drop=lambda message: seen.update([type(message).__name__]) is not None)
    rounds = net.server.progress.round
    assert seen == {
        "Hello": 5,
        "Plan": 5,
        "Share": 4 * (3 + 5 + 0 + 3 + 4),
        "Ready": 5 * 5,
        "Continue": 5 * (5 - WINDOW) + 5 * (14 - WINDOW) * rounds,
        "Assignment": 5 * rounds,
        "CodedDistances": 5 * 14 * rounds,
        "Finish": 5,
        "Witness": 5 * 4,
    }


def test_parts_say_their_numbers_in_order(many):
    net, seen = many(), {}

    def note(message):
        seen.setdefault((type(message), message.round, message.sender, message.recipient), []).append(
            getattr(message, "part", None)
        )
        return False

    net.run(drop=note)
    for (kind, round_, sender, _), parts in seen.items():
        if kind is Share:
            assert parts == list(range(-(-COUNTS[sender - 1] // 2)))
        elif kind is Ready:
            assert parts == list(range(5))
        elif kind is CodedDistances:
            assert parts == list(range(14))
        elif kind is Continue:
            assert parts == list(range(WINDOW, 5 if round_ == 0 else 14))


def test_a_plan_causes_a_window_of_shares_and_each_continue_one_part_more(many):
    net = many()
    plan = net.hold(Plan, recipient=2)
    sent = net.clients[2].receive(plan)
    assert [(message.part, message.recipient) for message in sent] == [
        (part, j) for part in range(WINDOW) for j in (1, 3, 4, 5)
    ]
    for part in range(WINDOW, 5):
        message = Continue(run=plan.run, sender=SERVER, recipient=2, round=0, part=part)
        sent = net.clients[2].receive(message)
        assert [(one.part, one.recipient) for one in sent] == [(part, j) for j in (1, 3, 4, 5)]
        assert {net.opened(one).shape[2] for one in sent} == {2 if part < 4 else 1}


def test_an_assignment_causes_a_window_of_answers_and_each_continue_one_part_more(many):
    net = many()
    net.run(until=lambda: net.clients[2].state is State.ITERATE)
    question = net.hold(Assignment, recipient=2)
    assert [answer.part for answer in net.clients[2].receive(question)] == list(range(WINDOW))
    for part in range(WINDOW, 14):
        message = Continue(run=question.run, sender=SERVER, recipient=2, round=1, part=part)
        (answer,) = net.clients[2].receive(message)
        assert (answer.round, answer.part, answer.residues.shape[1:]) == (1, part, (4, 2))


def test_parts_of_an_answer_side_by_side_are_the_whole_answer(wire, part_rows):
    def answers(net):
        net.run(until=lambda: net.clients[1].state is State.ITERATE)
        for client in net.clients.values():  # equal shares, so that the answers can be compared
            for index, shares in enumerate(client._sharing.points._shares):
                shares[:-1] = np.random.default_rng(index).integers(-1000, 1000, shares[:-1].shape)
                shares[-1] = (shares[:-1] ** 2).sum(axis=0)
        seen = []

        def note(message):
            if isinstance(message, CodedDistances) and (message.round, message.sender) == (1, 1):
                seen.append(unpack(message.residues.planes()))
            return net.server.progress.round > 1 or len(seen) == net.parts().answers

        net.run(drop=note, until=lambda: len(seen) == net.parts().answers)
        return np.concatenate(seen, axis=-1)

    whole = answers(wire(MANY, k=4, t=2, seed=3))
    part_rows(3)
    assert np.array_equal(answers(wire(MANY, k=4, t=2, seed=3)), whole)


def test_the_server_asks_for_a_part_of_shares_when_everybody_is_ready_two_parts_before(many):
    net = many()
    net.run(until=lambda: net.server.state is State.SHARE)
    for part in range(5):
        for sender in (3, 1, 5, 2):
            assert net.server.receive(net.message(Ready, sender=sender, recipient=SERVER)) == []
        caused = net.server.receive(net.message(Ready, sender=4, recipient=SERVER))
        if part + WINDOW < 5:
            assert [(type(m), m.recipient, m.round, m.part) for m in caused] == [
                (Continue, j, 0, part + WINDOW) for j in range(1, 6)
            ]
        else:
            assert [type(message) for message in caused] == ([] if part < 4 else [Assignment] * 5)


def test_the_server_asks_for_a_part_of_answers_when_enough_have_answered_two_parts_before(many):
    net = many()
    net.run(until=lambda: net.server.state is State.ITERATE)
    for part in range(14):
        for sender in (2, 5):
            answer = net.message(CodedDistances, sender=sender, recipient=SERVER)
            assert (answer.part, net.server.receive(answer)) == (part, [])
        caused = net.server.receive(net.message(CodedDistances, sender=4, recipient=SERVER))
        if part + WINDOW < 14:
            assert [(type(m), m.recipient, m.round, m.part) for m in caused] == [
                (Continue, j, 1, part + WINDOW) for j in range(1, 6)
            ]
        else:
            assert [type(message) for message in caused] == ([] if part == 12 else [Assignment] * 5)


def test_a_ready_that_does_not_complete_the_part_causes_nothing(many):
    net = many()
    net.run(until=lambda: net.server.state is State.SHARE)
    for _ in range(3):
        assert net.server.receive(net.message(Ready, sender=1, recipient=SERVER)) == []


def test_the_server_waits_for_all_parts_of_all_clients(many):
    net = many()
    net.run(until=lambda: net.server.state is State.SHARE)
    for sender in (1, 2, 3, 4):
        for _ in range(5):
            net.server.receive(net.message(Ready, sender=sender, recipient=SERVER))
        assert (net.server.progress.phase, net.server.progress.waiting_for) == ("share", 5 - sender)
    for _ in range(4):
        net.server.receive(net.message(Ready, sender=5, recipient=SERVER))
        assert (net.server.state, net.server.progress.waiting_for) == (State.SHARE, 1)
    net.server.receive(net.message(Ready, sender=5, recipient=SERVER))
    assert net.server.state is State.ITERATE


def test_a_client_is_ready_for_a_part_when_it_has_been_sent_and_has_come_from_everybody(many):
    net = many()
    client = sharing(net)
    assert client._sharing._shared == WINDOW
    seen = []
    for sender in (2, 4, 5):
        for _ in range(-(-COUNTS[sender - 1] // 2)):
            seen += client.receive(net.message(Share, sender=sender, recipient=1))
    # Parts 0 and 1 from everybody; part 2, its own last, is here from the others but not yet sent to them.
    assert [(type(message), message.part) for message in seen] == [(Ready, 0), (Ready, 1)]
    seen = client.receive(net.message(Continue, sender=SERVER, recipient=1))
    assert [type(message) for message in seen] == [Share] * 4 + [Ready]
    for part in (3, 4):  # it has no rows left, and says so
        assert client.state is State.SHARE
        (ready,) = client.receive(net.message(Continue, sender=SERVER, recipient=1))
        assert (type(ready), ready.part) == (Ready, part)
    assert client.state is State.ITERATE


def test_a_client_without_rows_sends_no_share_but_is_ready_for_each_part(many):
    net = many()
    sent = []
    client = net.clients[3]

    def note(message):
        if message.sender == 3:
            sent.append((type(message), getattr(message, "part", None)))
        return False

    net.run(drop=note, until=lambda: client.state is State.ITERATE)
    net.run(drop=note, until=lambda: net.server.state is State.ITERATE)
    assert [one for one in sent if one[0] is Ready] == [(Ready, part) for part in range(5)]
    assert not [one for one in sent if one[0] is Share]


def test_own_rows_are_dropped_when_the_last_part_is_shared(many, wire):
    net = many()
    rows = MANY[1].copy()
    alive = weakref.ref(rows)
    client = net.replace_client(2, rows=rows)
    del rows
    sharing(net, 2)
    for _ in range(WINDOW, 5):
        gc.collect()
        assert alive() is not None
        client.receive(net.message(Continue, sender=SERVER, recipient=2))
    gc.collect()
    assert alive() is None


def test_masks_are_drawn_once_for_each_row_part_by_part(many):
    net = many()
    primes, t, width = net.job.residues(28), net.job.t, net.job.width
    net.run()
    assert [client._masks.drawn for client in net.clients.values()] == [
        primes * t * width * count for count in COUNTS
    ]


# Parts of shares out of turn


@pytest.mark.parametrize("part", [1, 2, 4, 5, 2**32 - 1])
def test_a_skipped_part_of_shares_is_refused(many, refuses, part):
    net = many()
    client = sharing(net)
    share = replace(net.message(Share, sender=2, recipient=1), part=part)
    refuses(client, share, MessageError, f"^Share: part {part} from client 2, expected part 0$")


def test_every_part_of_shares_is_refused_a_second_time(many, refuses):
    net = many()
    client = sharing(net)
    taken = []
    for part in range(5):
        share = net.message(Share, sender=2, recipient=1)
        assert share.part == part
        client.receive(share)
        taken.append(share)
        for old in taken:
            text = f"^Share: part {old.part} from client 2, expected part {part + 1}$"
            refuses(client, old, MessageError, text)


def test_a_part_beyond_the_last_is_refused(many, refuses):
    net = many()
    client = sharing(net)
    for _ in range(3):
        share = net.message(Share, sender=4, recipient=1)
        client.receive(share)
    text = "^Share: part 3 from client 4, which has no rows for it$"
    refuses(client, replace(share, part=3), MessageError, text)
    empty = net.message(Share, sender=4, recipient=1)
    assert (empty.part, len(empty.sealed.payload)) == (3, TAG_BYTES)
    refuses(client, empty, MessageError, text)


def test_a_share_of_a_client_without_rows_is_refused(many, refuses):
    net = many()
    client = sharing(net)
    share = net.message(Share, sender=3, recipient=1)
    assert len(share.sealed.payload) == TAG_BYTES
    refuses(client, share, MessageError, "^Share: part 0 from client 3, which has no rows for it$")


def test_a_part_of_the_size_of_another_is_refused(many, refuses):
    net = many()
    client = sharing(net)
    first = net.message(Share, sender=2, recipient=1)
    primes, width, _ = net.opened(first).shape
    for rows in (0, 1, 3, 9):
        size = 3 * primes * width * rows + TAG_BYTES
        text = rf"^Share: {size} sealed bytes from client 2, shape \({primes}, {width}, 2\) takes "
        refuses(client, net.altered(first, shape=(primes, width, rows)), MessageError, text)
    for _ in range(4):
        client.receive(net.message(Share, sender=2, recipient=1))
    last = net.message(Share, sender=2, recipient=1)
    assert (last.part, net.opened(last).shape[2]) == (4, 1)
    refuses(client, net.altered(last, shape=(primes, width, 2)), MessageError, "^Share: .* sealed bytes ")


def test_a_refused_part_can_be_followed_by_the_right_one(many, expected, refuses):
    net = many(t=2)  # every answer is needed, so none is late and taken unread
    refused = Counter()

    def tamper(message):
        if isinstance(message, Share | CodedDistances) and refused[type(message)] < 100:
            refused[type(message)] += 1
            residues = net.opened(message) if isinstance(message, Share) else message.residues
            role, (primes, columns, rows) = net.role(message.recipient), residues.shape
            if isinstance(message, Share):
                refuses(role, net.altered(message, first=P), MessageError, f"prime {P}$")
            refuses(role, net.altered(message, shape=(primes, columns, rows + 1)), MessageError, "shape")
            refuses(role, replace(message, part=message.part + 1), MessageError, "part")
        return False

    # Before the Plan a Share is kept unread.
    net.run(until=lambda: all(client.state is not State.IDENTIFY for client in net.clients.values()))
    net.run(drop=tamper, until=lambda: net.server.progress.round == 2)
    assert refused[Share] > 30
    assert refused[CodedDistances] > 60
    assert ending(net) == expected


def with_a_bad_answer(net, part, *, again):
    """Run with a residue of client 1's answer in round 1 spoilt; how often that was refused.

    What client 1 has sent since is refused, too; `again` sends all that, rightly.
    """
    sent, refused, spoilt = [], 0, False

    def deliver(message):
        nonlocal refused, spoilt
        mine = isinstance(message, CodedDistances) and message.sender == 1
        if mine and (message.round, message.part) >= (1, part):
            sent.append(message)
        if mine and (message.round, message.part) == (1, part) and not spoilt:
            spoilt = True
            octets = bytearray(message.residues.payload)
            octets[-3:] = b"\xff\xff\xff"
            message = replace(message, residues=PackedResidues(shape=message.residues.shape, payload=octets))
        try:
            net.deliver(message)
        except MessageError as error:
            if str(error).startswith("CodedDistances: a residue from client 1 is not below its prime"):
                refused += 1
                for one in sent if again else ():
                    net.deliver(one)
            elif not mine:
                raise
        return True

    net.run(drop=deliver)
    return refused


@pytest.mark.parametrize("part", range(14))
def test_a_bad_part_of_an_answer_is_made_up_for_by_another_client(many, expected, part):
    net = many()
    assert with_a_bad_answer(net, part, again=False) == 1
    assert net.server.state is State.DONE
    assert ending(net) == expected


@pytest.mark.parametrize("part", range(14))
def test_a_bad_part_of_an_answer_can_be_sent_again(many, expected, part):
    net = many(t=2)
    assert with_a_bad_answer(net, part, again=True) == 1
    assert net.server.state is State.DONE
    assert ending(net) == expected


@pytest.mark.parametrize("rows", [2, 7, 28])
def test_a_bad_answer_counts_no_near_tie_twice(wire, monkeypatch, part_rows, rows):
    part_rows(rows)
    monkeypatch.setattr(server, "_BLOCK_ELEMENTS", 4)  # one row is decoded at a time, the bad one last
    ties = [np.ones_like(part) for part in MANY]
    whole = ending(wire(ties, k=4, seed=3))
    assert whole[3] > 0
    net = wire(ties, k=4, seed=3)
    assert with_a_bad_answer(net, 0, again=False) == 1
    assert ending(net) == whole


# Early shares


def early(net, sender, part):
    """A Share for client 1 that overtakes its Plan."""
    return net.message(Share, sender=sender, recipient=1, at=(0, part))


def test_a_window_of_early_shares_is_kept_of_each_sender(many, expected, refuses):
    net = many()
    plan = net.hold(Plan, recipient=1)
    client = net.clients[1]
    for part in range(WINDOW):
        for sender in (2, 4, 5):
            assert client.receive(early(net, sender, part)) == []
    for sender in (2, 4, 5):
        for part in range(WINDOW + 2):
            text = f"^Share: part {part} from client {sender} out of turn$"
            refuses(client, early(net, sender, part), MessageError, text)
    caused = client.receive(plan)
    shares = [(Share, 0)] * 4 + [(Share, 1)] * 4
    assert [(type(m), m.part) for m in caused] == [*shares, (Ready, 0), (Ready, 1)]
    assert client._sharing._received == {2: 2, 3: 0, 4: 2, 5: 2}


@pytest.mark.parametrize("part", [1, 2, 5, 2**32 - 1])
def test_an_early_share_that_skips_a_part_is_refused(many, refuses, part):
    net = many()
    net.hold(Plan, recipient=1)
    share = replace(early(net, 2, 0), part=part)
    refuses(net.clients[1], share, MessageError, f"^Share: part {part} from client 2 out of turn$")


def test_an_early_share_of_a_client_without_rows_counts_as_not_sent(many):
    net = many()
    plan = net.hold(Plan, recipient=1)
    net.clients[1].receive(early(net, 3, 0))
    net.deliver(plan)
    assert net.clients[1]._sharing._received[3] == 0


def test_a_second_early_share_beyond_its_senders_last_counts_as_not_sent(wire, part_rows):
    part_rows(2)
    net = wire([[[0.0]] * 5, [[1.0]] * 2, [[2.0]] * 5])
    plan = net.hold(Plan, recipient=1)
    for part in (0, 1):
        net.clients[1].receive(early(net, 2, part))
    net.deliver(plan)
    assert net.clients[1]._sharing._received[2] == 1


def test_a_client_keeps_no_more_than_a_window_of_early_shares_for_each_sender(many):
    net = many()
    plan = net.hold(Plan, recipient=1)
    kept = [0]

    def note():
        kept.append(
            max(Counter(held.sender for held in net.clients[1]._early_shares._held).values(), default=0)
        )
        return False

    # Nobody is told to go on before client 1 is ready, and it cannot be without its Plan.
    net.run(until=note)
    assert net.server.state is State.SHARE
    assert max(kept) == WINDOW
    net.deliver(plan)
    net.run()
    assert net.clients[1].state is State.DONE
    assert net.clients[1]._early_shares._held == []


# Continue


@pytest.mark.parametrize("part", [0, 1, 3, 4, 5, 2**32 - 1])
def test_a_continue_of_another_part_than_the_next_is_refused(many, refuses, part):
    net = many()
    client = sharing(net)
    message = net.message(Continue, sender=SERVER, recipient=1, at=(0, part))
    text = f"^Continue: part {part} of round 0, part 2 of round 0 is next$"
    refuses(client, message, MessageError, text)
    assert client._masks.drawn == net.job.residues(28) * 3 * 4


@pytest.mark.parametrize("round_", [1, 2**32 - 1])
def test_a_continue_of_a_round_before_any_is_refused_while_sharing(many, refuses, round_):
    net = many()
    client = sharing(net)
    message = net.message(Continue, sender=SERVER, recipient=1, at=(round_, 2))
    text = f"^Continue: part 2 of round {round_}, part 2 of round 0 is next$"
    refuses(client, message, MessageError, text)


def test_a_continue_is_refused_a_second_time(many, refuses):
    net = many()
    client = sharing(net)
    message = net.message(Continue, sender=SERVER, recipient=1)
    client.receive(message)
    refuses(client, message, MessageError, "^Continue: part 2 of round 0, part 3 of round 0 is next$")


def test_a_continue_beyond_the_last_part_of_shares_is_refused(many, refuses):
    net = many()
    client = sharing(net)
    for _ in range(WINDOW, 5):
        client.receive(net.message(Continue, sender=SERVER, recipient=1))
    message = net.message(Continue, sender=SERVER, recipient=1)
    assert message.part == 5
    refuses(client, message, MessageError, "^Continue: part 5, there are 5$")


@pytest.mark.parametrize("part", [0, 1, 2, 5])
def test_a_continue_before_the_first_question_is_refused(many, refuses, part):
    net = many()
    net.run(until=lambda: net.clients[1].state is State.ITERATE)
    message = net.message(Continue, sender=SERVER, recipient=1, at=(0, part))
    refuses(net.clients[1], message, MessageError, "^Continue: part ")


@pytest.mark.parametrize(
    ("round_", "part"), [(1, 0), (1, 1), (1, 3), (1, 14), (0, 2), (2, 2), (2**32 - 1, 2)]
)
def test_a_continue_of_another_part_or_round_than_the_next_is_refused(many, refuses, round_, part):
    net = many()
    client = asked(net)
    message = net.message(Continue, sender=SERVER, recipient=1, at=(round_, part))
    text = f"^Continue: part {part} of round {round_}, part 2 of round 1 is next$"
    refuses(client, message, MessageError, text)


def test_a_continue_beyond_the_last_part_of_an_answer_is_refused(many, refuses):
    net = many()
    client = asked(net)
    for _ in range(WINDOW, 14):
        client.receive(net.message(Continue, sender=SERVER, recipient=1))
    message = net.message(Continue, sender=SERVER, recipient=1)
    assert message.part == 14
    refuses(client, message, MessageError, "^Continue: part 14, there are 14$")


def test_a_continue_replayed_from_an_earlier_round_is_refused(many, refuses):
    net = many()
    client = asked(net)
    old = net.message(Continue, sender=SERVER, recipient=1)
    net.run(until=lambda: client._answers.round == 2)
    refuses(client, old, MessageError, "^Continue: part 2 of round 1, part 2 of round 2 is next$")


@pytest.mark.parametrize("parts", range(WINDOW, 14))
def test_a_question_before_the_last_part_of_an_answer_ends_that_answer(many, refuses, parts):
    net = many()
    client = asked(net)
    for _ in range(WINDOW, parts):
        client.receive(net.message(Continue, sender=SERVER, recipient=1))
    old = net.message(Continue, sender=SERVER, recipient=1)
    answers = client.receive(replace(net.message(Assignment, sender=SERVER, recipient=1), round=2))
    assert [(answer.round, answer.part) for answer in answers] == [(2, part) for part in range(WINDOW)]
    refuses(
        client, old, MessageError, f"^Continue: part {parts} of round 1, part {WINDOW} of round 2 is next$"
    )


def test_one_part_takes_no_continue(wire, refuses):
    net = wire(MANY, k=4)
    client = sharing(net)
    message = net.message(Continue, sender=SERVER, recipient=1, at=(0, 1))
    refuses(client, message, MessageError, "^Continue: part 1, there are 1$")
    asked(net)
    message = net.message(Continue, sender=SERVER, recipient=1, at=(1, 1))
    refuses(client, message, MessageError, "^Continue: part 1, there are 1$")


# Ready


@pytest.mark.parametrize("part", [1, 4, 5, 2**32 - 1])
def test_a_ready_that_skips_a_part_is_refused(many, refuses, part):
    net = many()
    net.run(until=lambda: net.server.state is State.SHARE)
    ready = net.message(Ready, sender=2, recipient=SERVER, at=(0, part))
    text = f"^Ready: part {part} from client 2, which is at part 0 of 5$"
    refuses(net.server, ready, MessageError, text)


def test_every_ready_is_refused_a_second_time_and_there_is_none_beyond_the_last(many, refuses):
    net = many()
    net.run(until=lambda: net.server.state is State.SHARE)
    for part in range(5):
        ready = net.message(Ready, sender=2, recipient=SERVER)
        net.server.receive(ready)
        text = f"^Ready: part {part} from client 2, which is at part {part + 1} of 5$"
        refuses(net.server, ready, MessageError, text)
    beyond = net.message(Ready, sender=2, recipient=SERVER, at=(0, 5))
    refuses(net.server, beyond, MessageError, "^Ready: part 5 from client 2, which is at part 5 of 5$")


# Parts of answers out of turn


@pytest.mark.parametrize(("round_", "part"), [(1, 1), (1, 13), (1, 14), (2, 0), (0, 0), (1, 2**32 - 1)])
def test_an_answer_that_skips_a_part_is_refused(many, refuses, round_, part):
    net = many()
    net.run(until=lambda: net.server.state is State.ITERATE)
    answer = net.message(CodedDistances, sender=2, recipient=SERVER)
    message = replace(answer, round=round_, part=part)
    text = (
        f"^CodedDistances: part {part} of round {round_} from client 2, part 0 of round 1 is next; "
        "the server is in round 1$"
    )
    refuses(net.server, message, MessageError, text)


def test_every_part_of_an_answer_is_refused_a_second_time(many, refuses):
    net = many()
    net.run(until=lambda: net.server.state is State.ITERATE)
    for part in range(14):
        answer = net.message(CodedDistances, sender=2, recipient=SERVER)
        assert (answer.round, answer.part) == (1, part)
        net.server.receive(answer)
        refuses(
            net.server, answer, MessageError, f"^CodedDistances: part {part} of round 1 from client 2, part"
        )
    beyond = replace(answer, part=14)
    refuses(net.server, beyond, MessageError, "^CodedDistances: part 14 of round 1 from client 2, part 0 of")


def test_an_answer_to_the_next_round_is_refused_until_it_is_asked(many, refuses):
    net = many()
    net.run(until=lambda: net.server.state is State.ITERATE)
    for _ in range(14):
        net.server.receive(net.message(CodedDistances, sender=2, recipient=SERVER))
    answer = net.message(CodedDistances, sender=2, recipient=SERVER)
    assert (answer.round, answer.part) == (2, 0)
    text = "part 0 of round 2 from client 2, part 0 of round 2 is next; the server is in round 1$"
    refuses(net.server, answer, MessageError, f"^CodedDistances: {text}")


def test_a_part_of_an_answer_of_the_size_of_another_is_refused(many, refuses):
    net = many()
    net.run(until=lambda: net.server.state is State.ITERATE)
    answer = net.message(CodedDistances, sender=2, recipient=SERVER)
    primes, k, _ = answer.residues.shape
    for rows in (0, 1, 3, 28):
        message = net.altered(answer, shape=(primes, k, rows))
        refuses(net.server, message, MessageError, "^CodedDistances: of shape .* from client 2, expected")


@pytest.mark.parametrize("lag", [1, 5, 13])
def test_late_parts_of_the_same_round_change_nothing(many, expected, lag):
    # Client 5's parts reach the server only when `lag` more have been decoded without it.
    net = many()

    def choose(links):
        late = (5, SERVER)
        ahead = net.server.state is State.ITERATE and net.server._gathering._expected[5] != (
            net.server._gathering.round,
            0,
        )
        behind = (
            net.server._gathering.head - net.server._gathering._expected[5][1]
            if ahead
            else net.server._gathering.head
        )
        prompt = [link for link in links if link != late or behind >= lag]
        return (prompt or links)[0]

    assert ending(net, choose=choose) == expected


def test_all_parts_of_an_old_round_are_taken_in_order_and_dropped(many, expected, refuses):
    net = many()
    late = []

    def hold(message):
        if isinstance(message, CodedDistances) and message.sender == 5:
            late.append(message)
            return True
        return False

    net.run(drop=hold, until=lambda: net.server.progress.round == 2 and len(late) >= 14)
    old = [message for message in late if message.round == 1]
    assert [message.part for message in old] == list(range(14))
    before = net.server._search.sets.copy(), net.server._gathering.head, dict(net.server._gathering._answers)
    for message in old:
        assert net.server.receive(message) == []
        refuses(
            net.server,
            message,
            MessageError,
            f"^CodedDistances: part {message.part} of round 1 from client 5",
        )
    assert net.server._gathering._expected[5] == (2, 0)
    np.testing.assert_array_equal(net.server._search.sets, before[0])
    assert (net.server._gathering.head, net.server._gathering._answers) == before[1:]
    assert ending(net, drop=hold) == expected
    for message in (one for one in late if one.round > 1):
        assert net.server.receive(message) == []
    assert net.server.outcome.inertia == expected[2]


def test_a_slow_client_that_catches_up_in_the_middle_of_a_round_is_heard(many, expected):
    # Clients 1 and 2 stop at part 5 of round 2; client 5, who was a round behind, makes up for them.
    net, late = many(), []
    caught_up = []

    def drop(message):
        if not isinstance(message, CodedDistances):
            return False
        if message.sender == 5 and not caught_up:
            late.append(message)
            return True
        return message.sender in (1, 2) and (message.round, message.part) >= (2, 5)

    net.run(drop=drop)
    assert (net.server.state, net.server._gathering.round, net.server._gathering.head) == (
        State.ITERATE,
        2,
        5,
    )
    caught_up.append(True)
    net.post(late)
    assert ending(net, drop=drop) == expected


# What is ever buffered


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_the_server_never_holds_more_than_a_window_of_parts(wire, part_rows, rows, seed):
    part_rows(rows)
    net, chance, held = wire(MANY, k=4, t=2, seed=3), random.Random(seed), []

    def note():
        held.append(len(net.server._gathering._answers))
        per_client = Counter(j for part in net.server._gathering._answers.values() for j in part)
        assert max(per_client.values(), default=0) <= WINDOW
        return False

    net.run(until=note, choose=chance.choice)
    assert max(held) == WINDOW
    assert net.server._gathering._answers == {}


@pytest.mark.parametrize("seed", range(6))
def test_answers_of_a_client_are_never_more_than_a_window_ahead(many, seed):
    net, chance = many(t=2), random.Random(seed)

    def note():
        for number, client in net.clients.items():
            if client.state is State.ITERATE and client._answers.round == net.server._gathering.round:
                assert client._answers._sent <= net.server._gathering.head + WINDOW
            round_, part = net.server._gathering._expected[number]
            assert (round_, part) <= (net.server._gathering.round + 1, 0)
        return False

    net.run(until=note, choose=chance.choice)
    assert net.server.state is State.DONE


@pytest.mark.parametrize("seed", range(6))
def test_shares_of_a_client_are_never_more_than_a_window_ahead(many, seed):
    net, chance, ahead = many(), random.Random(seed), []

    def note():
        sharing = [client._sharing for client in net.clients.values() if client.state is not State.IDENTIFY]
        slowest = min((one._announced for one in sharing), default=0) if len(sharing) == 5 else 0
        ahead.append(max((one._shared for one in sharing), default=0) - slowest)
        unread = Counter(link for link, mail in net._links.items() for _ in mail if SERVER not in link)
        assert max(unread.values(), default=0) <= WINDOW
        return net.server.state is State.ITERATE

    net.run(until=note, choose=chance.choice)
    assert max(ahead) <= WINDOW


def test_a_decoded_answers_memory_is_let_go(many):
    net = many()
    net.run(until=lambda: net.server.state is State.ITERATE)
    answers = []
    for sender in (2, 4, 5):
        answer = net.message(CodedDistances, sender=sender, recipient=SERVER)
        answers.append(weakref.ref(answer))
        net.server.receive(answer)
        del answer
    gc.collect()
    assert [answer() for answer in answers] == [None] * 3


def test_client_allocates_its_shares_once(many):
    net = many()
    asked_for = []

    def allocate(shape):
        asked_for.append(shape)
        return np.full(shape, np.nan, dtype=np.float32)

    net.replace_client(1, allocate=allocate)
    net.run()
    assert asked_for == [(net.job.residues(28), net.job.width + 1, 28)]
    assert net.clients[1].labels is not None


def test_shares_fill_the_memory_that_was_given(many, expected):
    net, memory = many(), {}

    def allocate(number):
        def give(shape):
            memory[number] = np.full(shape, np.nan, dtype=np.float32)
            return memory[number]

        return give

    for number, client in net.clients.items():
        client._allocate = allocate(number)
    assert ending(net) == expected
    assert all(np.isfinite(shares).all() for shares in memory.values())


def test_a_refused_plan_allocates_nothing(many, refuses):
    net = many()
    plan = net.hold(Plan, recipient=1)
    net.clients[1]._allocate = None
    plan = replace(plan, introductions=plan.introductions[:4])
    refuses(net.clients[1], plan, MessageError, "4 clients introduced")


def test_finish_may_overtake_nothing(many, refuses):
    # A Finish in the middle of an answer ends the client: it owes nothing more.
    net = many()
    client = asked(net)
    client.receive(net.message(Finish, sender=SERVER, recipient=1))
    assert client.state is State.COMPARE
    message = net.message(Continue, sender=SERVER, recipient=1, at=(1, 2))
    refuses(client, message, MessageError, "out of turn in state compare$")


def test_part_sizes_are_read_when_a_run_begins(monkeypatch):
    monkeypatch.setattr(params, "PART_BYTES", 1)
    monkeypatch.setattr(params, "PART_ROWS", 7)
    assert Layout(COUNTS).parts(TestCut.JOB).answer == 7
