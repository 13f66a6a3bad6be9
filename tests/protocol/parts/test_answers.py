"""Parts of answers: the requests for them, and parts out of turn."""

from dataclasses import replace

import pytest
from support.parts import MANY, asked, sharing

from secfc.errors import MessageError
from secfc.protocol.job.row_layout import WINDOW
from secfc.protocol.messages import (
    SERVER,
    Assignment,
    CodedDistances,
    Continue,
)
from secfc.protocol.states import State

pytestmark = pytest.mark.questions

# Continue


@pytest.mark.parametrize("part", [0, 1, 3, 4, 5, 2**32 - 1])
def test_a_continue_of_another_part_than_the_next_is_refused(many, refuses, part):
    net = many()
    client = sharing(net)
    message = net.message(Continue, sender=SERVER, recipient=1, at=(0, part))
    text = f"^Continue: part {part} of round 0, part 2 of round 0 is next$"
    refuses(client, message, MessageError, text)
    assert net.masks[1].drawn == net.job.residues(28) * 3 * 4


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
