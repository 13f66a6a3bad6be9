"""Parts of answers: the requests for them, and parts out of turn."""

from dataclasses import replace

import numpy as np
import pytest
from support.parts import MANY, asked, ending, sharing

from secfc.errors import MessageError
from secfc.protocol.job.row_layout import WINDOW
from secfc.protocol.messages import (
    SERVER,
    Assignment,
    CodedDistances,
    Continue,
)
from secfc.protocol.states import State

# Continue


@pytest.mark.parametrize("part", [0, 1, 3, 4, 5, 2**32 - 1])
def test_a_continue_of_another_part_than_the_next_is_refused(many, refuses, part):
    net = many()
    client = sharing(net)
    message = net.message(Continue, sender=SERVER, recipient=1, at=(0, part))
    text = f"^Continue: part {part} of round 0, part 2 of round 0 is next$"
    refuses(client, message, MessageError, text)
    assert net.masks[1].drawn == net.job.residues(28) * 3 * 4


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
    net.run(until=lambda: net.turn(Continue, sender=SERVER, recipient=client.number)[0] == 2)
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
        for other in (3, 5):
            net.server.receive(net.message(CodedDistances, sender=other, recipient=SERVER))
    beyond = replace(answer, part=14)
    refuses(net.server, beyond, MessageError, "^CodedDistances: part 14 of round 1 from client 2, part 0 of")


def test_a_part_of_an_answer_that_was_not_asked_for_yet_is_refused(many, refuses):
    net = many()
    net.run(until=lambda: net.server.state is State.ITERATE)
    for _ in range(WINDOW):
        net.server.receive(net.message(CodedDistances, sender=2, recipient=SERVER))
    early = net.message(CodedDistances, sender=2, recipient=SERVER)
    text = f"^CodedDistances: part {WINDOW} of round 1 from client 2, parts below {WINDOW} were asked for$"
    refuses(net.server, early, MessageError, text)
    for other in (3, 5):
        net.server.receive(net.message(CodedDistances, sender=other, recipient=SERVER))
    net.server.receive(early)


def test_an_answer_to_the_next_round_is_refused_until_it_is_asked(many, refuses):
    net = many()
    net.run(until=lambda: net.server.state is State.ITERATE)
    for part in range(14):
        for sender in (2, 3, 5) if part < 13 else (2,):
            net.server.receive(net.message(CodedDistances, sender=sender, recipient=SERVER))
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


@pytest.mark.some(1)
@pytest.mark.parametrize("lag", [1, 5, 13])
def test_late_parts_of_the_same_round_change_nothing(many, expected, lag):
    # Client 5's parts reach the server only after `lag` more have been decoded without it.
    net = many()

    def choose(links):
        late = (5, SERVER)
        ahead = net.server.state is State.ITERATE and net.server.gathering.expected[5] != (
            net.server.gathering.round,
            0,
        )
        behind = (
            net.server.gathering.head - net.server.gathering.expected[5][1]
            if ahead
            else net.server.gathering.head
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
    before = (
        net.server.phase.search.sets.copy(),
        net.server.gathering.head,
        dict(net.server.gathering._answers),
    )
    for message in old:
        assert net.server.receive(message) == []
        refuses(
            net.server,
            message,
            MessageError,
            f"^CodedDistances: part {message.part} of round 1 from client 5",
        )
    assert net.server.gathering.expected[5] == (2, 0)
    np.testing.assert_array_equal(net.server.phase.search.sets, before[0])
    assert (net.server.gathering.head, net.server.gathering._answers) == before[1:]
    assert ending(net, drop=hold) == expected
    for message in (one for one in late if one.round > 1):
        assert net.server.receive(message) == []
    assert net.server.outcome.inertia == expected[2]


def test_a_slow_client_that_catches_up_in_the_middle_of_a_round_is_heard(many, expected):
    # Clients 1 and 2 stop at part 5 of round 2. Client 5, which was a round behind, replaces them.
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
    assert (net.server.state, net.server.gathering.round, net.server.gathering.head) == (
        State.ITERATE,
        2,
        5,
    )
    caught_up.append(True)
    net.post(late)
    assert ending(net, drop=drop) == expected
