"""Who may send which message to whom, and when: tables from the declarations of messages.

The diagram in docs/protocol.md is drawn from them.
"""

from secfc.errors import MessageError
from secfc.protocol.job.job import Job
from secfc.protocol.messages import KINDS, SERVER, FromServer, Message, ToServer
from secfc.protocol.states import State


class RepeatedError(MessageError):
    """A part that came before. The carrier of messages repeated it, which is not its sender's fault."""


def turn_error(part: int, expected: int) -> type[MessageError]:
    """The type of error for a part that is not the expected one."""
    return RepeatedError if part < expected else MessageError


Takes = dict[State, frozenset[type[Message]]]
"""Types of messages that a role takes in each state."""


def _takes(*, server: bool) -> Takes:
    heard = [kind for kind in KINDS if issubclass(kind, ToServer) == server]
    return {state: frozenset(kind for kind in heard if state in kind.states) for state in State}


CLIENT_TAKES = _takes(server=False)
SERVER_TAKES = _takes(server=True)
SERVER_HEARS = frozenset[type[Message]]().union(*SERVER_TAKES.values())


def check_envelope(message: Message, *, run: bytes, me: int, job: Job, state: State | None) -> None:
    """Raise MessageError for a message that party `me` must not take in this state, before it is used.

    It is of another run, for another recipient, not for helpers, out of turn, or its sender may not send it
    or is `me`. State None allows what the server takes in any state: a message from a client that was left
    out is dropped later, whatever it answers.
    """
    kind = type(message).__name__
    if message.run != run:
        raise MessageError(f"{kind}: of another run")
    if message.recipient != me:
        raise MessageError(f"{kind}: for party {message.recipient}, received by party {me}")
    if message.sender > job.parties:
        raise MessageError(f"{kind}: from party {message.sender}, the parties are 1 to {job.parties}")
    if max(message.sender, me) > job.n and not message.with_helpers:
        raise MessageError(f"{kind}: from party {message.sender} to party {me}, not for helpers")
    if (message.sender == SERVER) != isinstance(message, FromServer):
        raise MessageError(f"{kind}: party {message.sender} does not send this")
    takes = SERVER_TAKES if me == SERVER else CLIENT_TAKES
    allowed = SERVER_HEARS if state is None else takes[state]
    if type(message) not in allowed:
        raise MessageError(
            f"{kind}: from party {message.sender}, out of turn in state {state and state.value}"
        )
    if message.round and not message.rounds:
        raise MessageError(f"{kind}: round {message.round}, this type has none")
    if message.sender == me:
        raise MessageError(f"{kind}: from client {me} itself")
