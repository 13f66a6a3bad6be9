"""The one table of who may send what to whom, and when. docs/protocol.md draws its diagram from it."""

from enum import Enum

from secfc.errors import MessageError
from secfc.protocol.messages import (
    SERVER,
    Assignment,
    CentreShare,
    Challenge,
    CodedDistances,
    Continue,
    Dispute,
    Echo,
    Evidence,
    Finish,
    FromServer,
    Hello,
    LeaveOut,
    Message,
    Plan,
    Ready,
    Report,
    Share,
    UnionCheck,
    UnionContinue,
    UnionDeal,
    UnionFound,
    UnionOpening,
    UnionVerdict,
    Witness,
)


class State(Enum):
    """Where a role stands. Roles pass through them in this order; UNION only with membership privacy."""

    IDENTIFY = "identify"
    UNION = "union"
    SHARE = "share"
    CHECK = "check"
    """The server's only: it waits for reports on shares, and for evidence where they differ."""
    ITERATE = "iterate"
    COMPARE = "compare"
    """A client's only: it has the result and waits for others to have the same."""
    REVEAL = "reveal"
    """A client's only, where centres are opened: R clients have the result, so its labels are final. It waits
    for a quorum to have it and, as a recipient, for others' shares."""
    DONE = "done"
    ENDED = "ended"
    """A client's only: an error ended the run for it."""


# A client may hear another client's Share before the Plan that both act on, since messages of different
# senders may overtake each other, and likewise what opens the next stage of a union, or the sharing after
# it; the server may hear from a client after it has gone on without it.
CLIENT_TAKES: dict[State, frozenset[type[Message]]] = {
    State.IDENTIFY: frozenset({Plan, Share, UnionDeal}),
    State.UNION: frozenset({UnionDeal, UnionCheck, UnionContinue, UnionFound, UnionVerdict, Share}),
    # With membership privacy parts are checked while others are shared.
    State.SHARE: frozenset({Share, Continue, LeaveOut, Challenge, Echo, Dispute, Witness, CentreShare}),
    State.CHECK: frozenset(),
    # A client that has everything may still hear that another does not.
    State.ITERATE: frozenset(
        {Challenge, Echo, Dispute, LeaveOut, Assignment, Continue, Witness, CentreShare, Finish}
    ),
    State.COMPARE: frozenset({Echo, Witness, CentreShare}),
    State.REVEAL: frozenset({Echo, Witness, CentreShare}),
    # A Share of one that did not know yet that this client was left out.
    State.DONE: frozenset({Share, Echo, Witness, CentreShare}),
    State.ENDED: frozenset(),
}
SERVER_TAKES: dict[State, frozenset[type[Message]]] = {
    State.IDENTIFY: frozenset({Hello}),
    State.UNION: frozenset({UnionOpening}),
    State.SHARE: frozenset({Ready, Report, Evidence}),
    State.CHECK: frozenset({Report, Evidence}),
    State.ITERATE: frozenset({CodedDistances}),
    State.COMPARE: frozenset(),
    State.REVEAL: frozenset(),
    State.DONE: frozenset({CodedDistances}),
    State.ENDED: frozenset(),
}
SERVER_HEARS = frozenset[type[Message]]().union(*SERVER_TAKES.values())
_NUMBERED = (
    Assignment,
    Challenge,
    CodedDistances,
    Continue,
    Dispute,
    Echo,
    Evidence,
    Report,
    UnionDeal,
    UnionOpening,
    UnionCheck,
    UnionContinue,
    UnionFound,
    UnionVerdict,
    Witness,
)


def check_envelope(message: Message, *, run: bytes, me: int, n: int, state: State | None) -> None:
    """Refuse a message that party `me` must not take in this state, before anything in it is used.

    A state of None stands for all of the server's: what comes from a client that was left out is dropped,
    whatever it answers.

    Raises
    ------
    MessageError
        Another run, another recipient, a sender that cannot send it, or a type out of turn.
    """
    kind = type(message).__name__
    if message.run != run:
        raise MessageError(f"{kind}: of another run")
    if message.recipient != me:
        raise MessageError(f"{kind}: for party {message.recipient}, received by party {me}")
    if message.sender > n:
        raise MessageError(f"{kind}: from party {message.sender}, the clients are 1 to {n}")
    if (message.sender == SERVER) != isinstance(message, FromServer):
        raise MessageError(f"{kind}: party {message.sender} does not send this")
    takes = SERVER_TAKES if me == SERVER else CLIENT_TAKES
    allowed = SERVER_HEARS if state is None else takes[state]
    if type(message) not in allowed:
        raise MessageError(
            f"{kind}: from party {message.sender}, out of turn in state {state and state.value}"
        )
    if message.round and not isinstance(message, _NUMBERED):
        raise MessageError(f"{kind}: round {message.round}, this type has none")
