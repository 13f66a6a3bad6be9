"""The table of who may send what and when: every state with every message type, and every bad envelope."""

from dataclasses import replace

import pytest

from secfc.errors import MessageError
from secfc.protocol.messages import SERVER, Hello, Plan, Step, StepNotice, StepReport
from secfc.protocol.states import State

KINDS = [Hello, Plan, Step, StepReport, StepNotice]
FROM_SERVER = {Plan, StepNotice}
TAKEN = {
    (1, State.IDENTIFY): {Plan, Step},
    (1, State.ITERATE): {Step, StepNotice},
    (1, State.DONE): {Step, StepNotice},
    (SERVER, State.IDENTIFY): {Hello},
    (SERVER, State.SHARE): {StepReport},
    (SERVER, State.ITERATE): {StepReport},
    (SERVER, State.DONE): {StepReport},
}
"""By party and state, without membership privacy (test_union.py). Client 1 is at once in ITERATE."""
ROWS = [[[0.0], [0.5]], [[9.0], [9.5], [8.0]], [[0.2], [7.0]], [[8.5]], [[8.0]]]

kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
servers = pytest.mark.parametrize("kind", [Plan, StepNotice], ids=lambda kind: kind.__name__)
clients = pytest.mark.parametrize("kind", [Hello, Step, StepReport], ids=lambda kind: kind.__name__)
places = pytest.mark.parametrize(("number", "state"), TAKEN)


@pytest.fixture(scope="module")
def kept():
    return {}


@pytest.fixture
def waiting(wire, kept, request):
    """A party in a state. Tests share it, because it refuses messages and so does not change."""

    def join(number, state):
        if (number, state) not in kept:
            net = wire(ROWS, max_liars=1)
            net.run(until=lambda: net.role(number).state is state)
            assert net.role(number).state is state
            kept[number, state] = net
        return kept[number, state]

    failed = request.session.testsfailed
    yield join
    if request.session.testsfailed > failed:
        kept.clear()


def turn_of(number, kind):
    """The first state in which a party accepts a type of message; ITERATE if it accepts none."""
    return next(
        (state for (at, state), taken in TAKEN.items() if at == number and kind in taken), State.ITERATE
    )


def honest(net, kind, recipient):
    """A message of this type with the state as the only reason to refuse it, if it is ever accepted."""
    sender = SERVER if kind in FROM_SERVER else 5
    return net.message(kind, sender=1 if sender == recipient else sender, recipient=recipient)


@places
@kinds
def test_who_takes_what_the_table_does_not_allow_refuses_it_as_out_of_turn(
    waiting, refuses, number, state, kind
):
    net = waiting(number, state)
    message = honest(net, kind, number)
    if kind not in TAKEN[number, state]:
        refuses(net.role(number), message, MessageError, f"^{kind.__name__}: ")


@places
def test_what_the_table_allows_is_not_out_of_turn(wire, number, state):
    """Messages of an honest run, each in the state of the table in which it came."""
    net, taken = wire(ROWS, max_liars=1), set()

    def look(message):
        if message.recipient == number and net.role(number).state is state:
            taken.add(type(message))
        return False

    net.run(drop=look)
    assert taken <= TAKEN[number, state]
    assert taken or state is State.DONE


@pytest.mark.parametrize("number", [SERVER, 1])
@kinds
def test_a_message_of_another_run_is_refused(waiting, refuses, number, kind):
    net = waiting(number, turn_of(number, kind))
    message = replace(honest(net, kind, number), run=bytes(16))
    refuses(net.role(number), message, MessageError, f"^{kind.__name__}: of another run$")


@pytest.mark.parametrize("number", [SERVER, 1])
@kinds
def test_a_message_for_another_party_is_refused(waiting, refuses, number, kind):
    net = waiting(number, turn_of(number, kind))
    message = replace(honest(net, kind, number), recipient=2)
    text = f"^{kind.__name__}: for party 2, received by party {number}$"
    refuses(net.role(number), message, MessageError, text)


@servers
def test_a_server_message_from_a_client_is_refused_by_a_client(waiting, refuses, kind):
    net = waiting(1, turn_of(1, kind))
    message = replace(honest(net, kind, 1), sender=2)
    refuses(net.clients[1], message, MessageError, f"^{kind.__name__}: party 2 does not send this$")


@servers
@pytest.mark.parametrize("state", [state for number, state in TAKEN if number == SERVER])
def test_a_server_message_from_a_client_is_refused_by_the_server(waiting, refuses, kind, state):
    net = waiting(SERVER, state)
    message = net.message(kind, sender=2, recipient=SERVER)
    refuses(net.server, message, MessageError, f"^{kind.__name__}: party 2 does not send this$")


@clients
def test_a_client_message_from_the_server_is_refused(waiting, refuses, kind):
    net = waiting(1, turn_of(1, kind))
    message = net.message(kind, sender=SERVER, recipient=1)
    refuses(net.clients[1], message, MessageError, f"^{kind.__name__}: party 0 does not send this$")


@pytest.mark.parametrize("sender", [6, 4096, 65535])
@pytest.mark.parametrize("number", [SERVER, 1])
@kinds
def test_a_sender_above_n_is_refused(waiting, refuses, number, kind, sender):
    net = waiting(number, turn_of(number, kind))
    message = replace(honest(net, kind, number), sender=sender)
    text = f"^{kind.__name__}: from party {sender}, the parties are 1 to 5$"
    refuses(net.role(number), message, MessageError, text)


@pytest.mark.parametrize("round_", [1, 2**32 - 1])
@pytest.mark.parametrize(("number", "kind"), [(SERVER, Hello), (1, Plan)])
def test_a_round_number_where_the_type_has_none_is_refused(waiting, refuses, number, kind, round_):
    net = waiting(number, turn_of(number, kind))
    message = replace(honest(net, kind, number), round=round_)
    text = f"^{kind.__name__}: round {round_}, this type has none$"
    refuses(net.role(number), message, MessageError, text)


def test_no_message_is_from_its_recipient(waiting):
    net = waiting(1, State.ITERATE)
    message = net.message(Step, sender=2, recipient=1)
    with pytest.raises(MessageError, match=r"^party 1 sends a message to itself$"):
        replace(message, sender=1)
