"""How many parts each party sends."""

import gc
import weakref
from collections import Counter

import numpy as np
from support.parts import COUNTS, MANY, sharing

from secfc.field.packing import unpack
from secfc.protocol.job.row_layout import WINDOW
from secfc.protocol.messages import (
    SERVER,
    Assignment,
    CodedDistances,
    Continue,
    Plan,
    Ready,
    Share,
)
from secfc.protocol.states import State


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
            for index, shares in enumerate(client.phase.held.sharing.points._shares):
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
    assert client.phase.held.sharing.shared == WINDOW
    seen = []
    for sender in (2, 4, 5):
        for _ in range(-(-COUNTS[sender - 1] // 2)):
            seen += client.receive(net.message(Share, sender=sender, recipient=1))
    # Parts 0 and 1 came from all clients. Part 2, its own last one, came from the others but is not yet sent
    # to them.
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
    assert [net.masks[j].drawn for j in net.clients] == [primes * t * width * count for count in COUNTS]
