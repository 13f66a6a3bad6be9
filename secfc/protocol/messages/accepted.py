"""Which messages a role takes: from whom, in which state, and up to which size.

All follows from the declarations of messages; the diagram in docs/protocol.md is drawn from the same tables.
"""

from collections.abc import Iterable
from functools import cached_property

from secfc.crypto.identity import SIGNATURE_BYTES
from secfc.errors import MessageError
from secfc.field.primes import PRIMES
from secfc.field.residues import MAX_ROWS
from secfc.protocol.job.cases import Union
from secfc.protocol.job.job import Job
from secfc.protocol.job.row_layout import MAX_MESSAGE_BYTES, Layout
from secfc.protocol.messages.encodings import Largest
from secfc.protocol.messages.kinds import KINDS, RUNNING, SERVER, FromServer, Message, ToServer
from secfc.protocol.messages.wire import HEADER_BYTES
from secfc.protocol.program.sizes import most_report_bytes, most_step_bytes
from secfc.protocol.states import State

Takes = dict[State, frozenset[type[Message]]]
"""Types of messages that a role takes in each state."""


def _takes(*, server: bool) -> Takes:
    heard = [kind for kind in KINDS if issubclass(kind, ToServer) == server]
    return {state: frozenset(kind for kind in heard if state in kind.states) for state in State}


CLIENT_TAKES = _takes(server=False)
SERVER_TAKES = _takes(server=True)
SERVER_HEARS = frozenset[type[Message]]().union(*SERVER_TAKES.values())
_OF_ROUNDS = frozenset({State.ITERATE, State.DONE})


class RepeatedError(MessageError):
    """A part that came before. The carrier of messages repeated it, which is not its sender's fault."""


def check_envelope(message: Message, *, run: bytes, me: int, job: Job, state: State | None) -> None:
    """Raise MessageError for a message that party `me` must not take in this state, before it is used.

    It is of another run, for another recipient, out of turn, or its sender may not send it. State None allows
    what the server takes in any state: a message from a client that was left out is dropped later, whatever
    it answers.
    """
    kind = type(message).__name__
    if message.run != run:
        raise MessageError(f"{kind}: of another run")
    if message.recipient != me:
        raise MessageError(f"{kind}: for party {message.recipient}, received by party {me}")
    if message.sender > job.parties:
        raise MessageError(f"{kind}: from party {message.sender}, the parties are 1 to {job.parties}")
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


class Sizes:
    """The most bytes of a job's messages. Until the rows of all parties are planned they follow from the job.

    Larger messages are refused before they are read.
    """

    def __init__(self, job: Job, planned: Layout | None = None) -> None:
        self.planned = planned
        if planned is None:
            rows = job.rows.cap if isinstance(job.rows, Union) else MAX_ROWS
            primes = len(PRIMES)
        else:
            rows, primes = planned.m, job.residues(planned.weight)
        self._largest = Largest(
            k=job.k,
            parties=job.parties,
            rows=rows,
            weighted=job.rows.weighted,
            labelled=job.method.init == "labels",
            step=most_step_bytes(job, rows, primes),
            step_report=most_report_bytes(job, rows, primes),
        )

    def most_bytes(self, kind: type[Message]) -> int:
        """Bytes of the largest message of a type. MessageError for a type of a preparation."""
        if kind not in RUNNING:
            raise MessageError(f"{kind.__name__}: a message of a preparation, where rows are clustered")
        signature = SIGNATURE_BYTES if issubclass(kind, FromServer) else 0
        return min(MAX_MESSAGE_BYTES, HEADER_BYTES + kind.body.most(self._largest) + signature)

    def _most(self, kinds: Iterable[type[Message]]) -> int:
        return max(map(self.most_bytes, kinds))

    @cached_property
    def most_from_client(self) -> int:
        """Bytes of the largest message that a client sends."""
        return self._most(kind for kind in RUNNING if not issubclass(kind, FromServer))

    @cached_property
    def most_to_client(self) -> int:
        """Bytes of the largest message that a client takes. Before the rows are known no round begins."""
        begun = self.planned is not None
        taken = [kind for kind in RUNNING if not issubclass(kind, ToServer)]
        return self._most(kind for kind in taken if begun or not kind.states <= _OF_ROUNDS)
