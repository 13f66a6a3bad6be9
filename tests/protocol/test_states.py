"""The table of who may send what and when: every state with every message type, and every bad envelope."""

from dataclasses import replace

import pytest

from secfc.errors import MessageError
from secfc.protocol.job.limits import Limits
from secfc.protocol.messages import (
    SERVER,
    Assignment,
    CentreShare,
    Challenge,
    CodedDistances,
    Compared,
    Continue,
    Dispute,
    Echo,
    Endorsement,
    Evidence,
    Finish,
    Hello,
    LeaveOut,
    MaskedAnswer,
    MaskedDistances,
    OpenedLabels,
    Plan,
    Ready,
    Report,
    Share,
    SpareMasks,
    Witness,
)
from secfc.protocol.states import State

KINDS = [
    Hello,
    Plan,
    Share,
    Ready,
    LeaveOut,
    Continue,
    Assignment,
    CodedDistances,
    Witness,
    CentreShare,
    Challenge,
    Echo,
    Report,
    Dispute,
    Evidence,
    Finish,
    # Nobody accepts these if the server decodes; see test_labels.py for the rest.
    SpareMasks,
    MaskedAnswer,
    MaskedDistances,
    Compared,
    OpenedLabels,
    Endorsement,
]
FROM_SERVER = {Plan, Challenge, Dispute, LeaveOut, Continue, Assignment, Finish}
CLIENT_TAKES = {
    (State.IDENTIFY, Plan),
    (State.IDENTIFY, Share),
    (State.SHARE, Share),
    (State.SHARE, Continue),
    (State.SHARE, LeaveOut),
    (State.ITERATE, LeaveOut),
    (State.ITERATE, Assignment),
    (State.ITERATE, Continue),
    (State.ITERATE, Finish),
    (State.ITERATE, Witness),
    (State.ITERATE, Challenge),
    (State.ITERATE, Echo),
    (State.COMPARE, Echo),
    (State.REVEAL, Echo),
    (State.DONE, Echo),
    (State.ITERATE, Dispute),
    (State.SHARE, Witness),
    (State.COMPARE, Witness),
    (State.REVEAL, Witness),
    (State.DONE, Witness),
    (State.SHARE, CentreShare),
    (State.ITERATE, CentreShare),
    (State.COMPARE, CentreShare),
    (State.REVEAL, CentreShare),
    (State.DONE, CentreShare),
}
SERVER_TAKES = {
    (State.IDENTIFY, Hello),
    (State.SHARE, Ready),
    (State.CHECK, Report),
    (State.CHECK, Evidence),
    (State.ITERATE, CodedDistances),
    (State.DONE, CodedDistances),
}
ROWS = [[[0.0], [0.5]], [[9.0], [9.5], [8.0]], [[0.2], [7.0]], [[8.5]], [[8.0]]]
"""Five clients, of which three answers, and one more that agrees, are enough. Client 5's answer is late."""

kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
# Without membership privacy; see test_union.py for the rest.
SERVER_STATES = [
    state for state in State if state not in {State.COMPARE, State.UNION, State.REVEAL, State.ENDED}
]
# What a client accepts after an error ended its run: test_ended.py.
CLIENT_STATES = [state for state in State if state not in {State.CHECK, State.UNION, State.ENDED}]
states = pytest.mark.parametrize("state", CLIENT_STATES, ids=lambda state: state.value)
servers = pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind in FROM_SERVER], ids=lambda kind: kind.__name__
)
clients = pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind not in FROM_SERVER], ids=lambda kind: kind.__name__
)


@pytest.fixture(autouse=True)
def one_row_a_part(part_rows):
    """Three parts of shares and eight of an answer, so that every type of message has its turn."""
    part_rows(1)


@pytest.fixture
def joined(wire):
    """Bring a party to a state, with none of that state's work done."""

    def join(number, state):
        net = wire(ROWS, max_liars=1, reveal_to=(1,), limits=Limits(reveal_centres=True))
        late = (Echo, Witness, CentreShare)
        net.run(
            until=lambda: net.role(number).state is state,
            drop=lambda message: isinstance(message, late) and (message.sender, message.recipient) == (5, 1),
        )
        assert net.role(number).state is state
        return net

    return join


@pytest.fixture(scope="module")
def kept():
    return {}


@pytest.fixture
def waiting(joined, kept, request):
    """A party in a state. Tests share it, because it refuses messages and so does not change."""

    def join(number, state):
        if (number, state) not in kept:
            kept[number, state] = joined(number, state)
        return kept[number, state]

    failed = request.session.testsfailed
    yield join
    if request.session.testsfailed > failed:
        kept.clear()


def turn_of(number, kind):
    """The first state in which a party accepts a type of message, if there is one."""
    takes = SERVER_TAKES if number == SERVER else CLIENT_TAKES
    return next((state for state in State if (state, kind) in takes), None)


def honest(net, kind, recipient):
    """A message of this type with the state as the only reason to refuse it, if it is ever accepted."""
    sender = SERVER if kind in FROM_SERVER else 5
    if sender == recipient:
        sender = 1
    return net.message(kind, sender=sender, recipient=recipient)


def disputed(wire, kind, recipient):
    """A run in which client 5 deals badly to client 1, until a message about that."""
    net = wire(ROWS, max_liars=1)
    net.deal_badly(5, (1,))
    return net, net.hold(kind, recipient=recipient)


@pytest.mark.some(12)
@states
@kinds
def test_client_takes_what_the_table_allows_and_nothing_else(
    wire, joined, waiting, refuses, pictured, state, kind
):
    net = (joined if (state, kind) in CLIENT_TAKES else waiting)(1, state)
    if (state, kind) == (State.ITERATE, Continue):
        net.deliver(net.hold(Assignment, recipient=1))
    message = honest(net, kind, 1)
    if (state, kind) == (State.ITERATE, Dispute):
        net, message = disputed(wire, kind, 1)
    client = net.clients[1]
    if (state, kind) in CLIENT_TAKES:
        before = pictured(client)
        client.receive(message)
        assert pictured(client) != before
    else:
        refuses(client, message, MessageError, f"^{kind.__name__}: ")


@pytest.mark.parametrize("state", SERVER_STATES, ids=lambda state: state.value)
@kinds
def test_server_takes_what_the_table_allows_and_nothing_else(
    wire, joined, waiting, refuses, pictured, state, kind
):
    net = (joined if (state, kind) in SERVER_TAKES else waiting)(SERVER, state)
    message = honest(net, kind, SERVER)
    if (state, kind) == (State.CHECK, Evidence):
        net, message = disputed(wire, kind, SERVER)
    if (state, kind) in SERVER_TAKES:
        before = pictured(net.server)
        net.server.receive(message)
        assert pictured(net.server) != before
    else:
        refuses(net.server, message, MessageError, f"^{kind.__name__}: ")


@pytest.mark.parametrize("number", [SERVER, 1])
@kinds
def test_a_message_of_another_run_is_refused(waiting, refuses, number, kind):
    net = waiting(number, turn_of(number, kind) or State.ITERATE)
    message = replace(honest(net, kind, number), run=bytes(16))
    refuses(net.role(number), message, MessageError, f"^{kind.__name__}: of another run$")


@pytest.mark.parametrize("number", [SERVER, 1])
@kinds
def test_a_message_for_another_party_is_refused(waiting, refuses, number, kind):
    net = waiting(number, turn_of(number, kind) or State.ITERATE)
    message = replace(honest(net, kind, number), recipient=2)
    text = f"^{kind.__name__}: for party 2, received by party {number}$"
    refuses(net.role(number), message, MessageError, text)


@servers
def test_a_server_message_from_a_client_is_refused_by_a_client(waiting, refuses, kind):
    net = waiting(1, turn_of(1, kind))
    message = replace(honest(net, kind, 1), sender=2)
    refuses(net.clients[1], message, MessageError, f"^{kind.__name__}: party 2 does not send this$")


@servers
@pytest.mark.parametrize("state", SERVER_STATES, ids=lambda state: state.value)
def test_a_server_message_from_a_client_is_refused_by_the_server(waiting, refuses, kind, state):
    net = waiting(SERVER, state)
    message = net.message(kind, sender=2, recipient=SERVER)
    refuses(net.server, message, MessageError, f"^{kind.__name__}: party 2 does not send this$")


@clients
def test_a_client_message_from_the_server_is_refused(waiting, refuses, kind):
    net = waiting(1, turn_of(1, kind) or State.ITERATE)
    message = net.message(kind, sender=SERVER, recipient=1)
    refuses(net.clients[1], message, MessageError, f"^{kind.__name__}: party 0 does not send this$")


@pytest.mark.parametrize("sender", [6, 4096, 65535])
@pytest.mark.parametrize("number", [SERVER, 1])
@kinds
def test_a_sender_above_n_is_refused(waiting, refuses, number, kind, sender):
    net = waiting(number, turn_of(number, kind) or State.ITERATE)
    message = replace(honest(net, kind, number), sender=sender)
    text = f"^{kind.__name__}: from party {sender}, the parties are 1 to 5$"
    refuses(net.role(number), message, MessageError, text)


@pytest.mark.parametrize("round_", [1, 2**32 - 1])
@pytest.mark.parametrize(
    ("number", "kind"),
    [(SERVER, Hello), (SERVER, Ready), (1, Plan), (1, Share), (1, Finish)],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_round_number_where_the_type_has_none_is_refused(waiting, refuses, number, kind, round_):
    net = waiting(number, turn_of(number, kind))
    message = replace(honest(net, kind, number), round=round_)
    text = f"^{kind.__name__}: round {round_}, this type has none$"
    refuses(net.role(number), message, MessageError, text)


@states
def test_no_message_is_from_its_recipient(waiting, state):
    net = waiting(1, state)
    with pytest.raises(MessageError, match=r"^party 1 sends a message to itself$"):
        replace(net.message(Share, sender=2, recipient=1), sender=1)


def test_a_share_from_the_client_itself_is_refused(waiting, refuses):
    net = waiting(1, State.SHARE)
    message = net.message(Share, sender=2, recipient=1)
    object.__setattr__(message, "sender", 1)  # no message claims this, but the client does not rely on it
    refuses(net.clients[1], message, MessageError, "^Share: from client 1 itself$")
