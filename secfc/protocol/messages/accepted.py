"""Which messages a role takes: from whom, in which state, and up to which size.

All follows from the declarations of messages; the diagram in docs/protocol.md is drawn from the same tables.
"""

from collections.abc import Iterable
from functools import cached_property

from secfc.comparing.batch_plan import most_dealt_bytes
from secfc.crypto.identity import SIGNATURE_BYTES
from secfc.errors import CheatError, MessageError
from secfc.field.label_packing import bits_of, packed_size
from secfc.field.packing import packed_bytes
from secfc.field.primes import PRIMES
from secfc.field.residues import MAX_ROWS
from secfc.operations.beginning.in_range import most_numbers
from secfc.operations.beginning.plus_plus import most_ahead_bytes, most_compared, most_dealt
from secfc.operations.beginning.rows import BLOCK
from secfc.operations.beginning.totals import TOTAL_PRIMES
from secfc.operations.checking.check import most_numbers as most_checked
from secfc.operations.decoding.distances import rows_at_once as rows_answered
from secfc.operations.ending.fit import most_looked_up
from secfc.operations.opening import MULTIPLES
from secfc.operations.signs import rows_at_once
from secfc.protocol.job.cases import Coded, Union
from secfc.protocol.job.job import Job
from secfc.protocol.job.row_layout import MAX_MESSAGE_BYTES, Layout
from secfc.protocol.messages.encodings import Largest
from secfc.protocol.messages.kinds import KINDS, SERVER, FromServer, Message, ToServer
from secfc.protocol.messages.wire import HEADER_BYTES
from secfc.protocol.parties.dealing import most_piece_bytes, most_told_bytes
from secfc.protocol.parties.inbox import OVERHEAD, WINDOW
from secfc.protocol.parties.random_sharings import LEAST
from secfc.protocol.states import State
from secfc.psu.plan import PART_BYTES
from secfc.psu.tokens import SALT_BYTES

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


def useless(error: MessageError, sender: int) -> CheatError:
    """The same error of a message between parties without which the run cannot go on."""
    return CheatError(f"{error}; party {sender} lies, or its message was changed on its way", code=error.code)


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
    if message.round and message.at_first is None:
        raise MessageError(f"{kind}: round {message.round}, this type has none")


MOST_EARLY_BYTES = 1 << 26
"""Bytes of messages of a party that are kept until the plan: more than it deals at a time."""


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
        step = most_step_bytes(job, rows, primes)
        self._largest = Largest(
            k=job.k,
            parties=job.parties,
            rows=rows,
            weighted=job.rows.weighted,
            labelled=job.method.init == "labels",
            step=min(step, MOST_EARLY_BYTES) if planned is None else step,
            step_report=most_report_bytes(job, rows, primes),
        )

    def most_bytes(self, kind: type[Message]) -> int:
        """Bytes of the largest message of a type."""
        signature = SIGNATURE_BYTES if issubclass(kind, FromServer) else 0
        return min(MAX_MESSAGE_BYTES, HEADER_BYTES + kind.body.most(self._largest) + signature)

    def _most(self, kinds: Iterable[type[Message]]) -> int:
        return max(map(self.most_bytes, kinds))

    @cached_property
    def most_from_client(self) -> int:
        """Bytes of the largest message that a client sends."""
        return self._most(kind for kind in KINDS if not issubclass(kind, FromServer))

    @cached_property
    def most_to_client(self) -> int:
        """Bytes of the largest message that a client takes. Before the rows are known no round begins."""
        begun = self.planned is not None
        taken = [kind for kind in KINDS if not issubclass(kind, ToServer)]
        return self._most(kind for kind in taken if begun or not kind.states <= _OF_ROUNDS)


_LETTERS = 1 << 13
"""Bytes of small letters, and of what letters begin with."""

_PART = 2 * PART_BYTES
"""Upper bound of a part of any stage of a union, that is dealt or opened."""

_AHEAD = 8
"""Largest messages of a sender that are held."""

_A_STEP = 8
"""Letters of a sender in a step, on average over a window."""


def most_step_bytes(job: Job, rows: int, primes: int) -> int:
    """Upper bound of the bytes of a message between parties, about so many rows.

    A message has letters of at most two or three steps, because then its sender waits for others.
    """
    united = 3 * _PART if isinstance(job.rows, Union) else 0
    totalled = 2 * most_piece_bytes(job.n, TOTAL_PRIMES, sum(job.rows.totals))
    return _LETTERS + max(united, totalled, _most_described_bytes(job), _most_shared_bytes(job, rows, primes))


def _most_described_bytes(job: Job) -> int:
    """The same of the steps that describe columns: numbers of all clients are dealt, and bits compared."""
    described = job.opened.described
    if described is None:
        return 0
    cells = described.columns * job.k
    dealt = most_piece_bytes(job.n, TOTAL_PRIMES, 2 * cells + described.numbers * job.k)
    bits = max(LEAST, 2 * MULTIPLES * job.n * cells)
    compared = packed_bytes((1, bits, 1)) + most_dealt_bytes(cells, 2, 1)
    return 2 * dealt + 2 * most_piece_bytes(job.n, 1, bits) + 2 * compared


def _most_shared_bytes(job: Job, rows: int, primes: int) -> int:
    """The same of all steps after a union or totals are found, without small letters."""
    if isinstance(job.disclosure, Coded):
        dealt = max(BLOCK // primes + job.width, job.k * job.width)  # rows, or masks of sums of squares
        return 2 * most_piece_bytes(job.n, primes, dealt)
    pairs, at_once = job.k * (job.k - 1) // 2, min(rows, rows_at_once(max(job.k, 2), primes))
    starts, weight = job.method.n_init, MAX_ROWS if job.rows.weighted else rows
    ending = max(most_looked_up(job.k, weight), starts * (starts - 1) // 2, 2 * starts)
    numbers = max(rows, most_numbers(job, rows), ending)
    of_rows = min(BLOCK // primes, rows * (job.width + 1)) + job.width + 1
    of_pairs = 2 * pairs * job.width
    ahead = 0
    values = max(of_rows, LEAST, 2 * job.k * max(rows, job.width + 2), of_pairs, 2 * starts)
    if job.method.init == "k-means++":
        drawn = most_compared(job.k, rows, primes)
        numbers, ahead = max(numbers, drawn), most_ahead_bytes(drawn, primes)
        values = max(values, most_dealt(job.k, rows, job.width))
    values = max(values, numbers, job.k * (2 * job.width + 1))  # the last: sums, sizes and sums of squares
    if job.method.resamples:
        values = max(values, (job.k * (job.method.resamples + 1)) ** 2)
    answers = max(pairs * at_once, values) * job.ell
    gates = most_dealt_bytes(at_once, job.k, primes), most_dealt_bytes(numbers, 2, primes)
    pieces = 2 * most_piece_bytes(job.n, primes, values)
    pieces += most_piece_bytes(job.n, primes, most_checked())  # the dealer's, or a line
    return pieces + 2 * packed_bytes((primes, answers, 1)) + max(gates) + ahead


def most_held_bytes(job: Job, rows: int, primes: int) -> int:
    """Upper bound of the bytes of one sender that a party holds until it comes to their steps.

    Parties that compare wait for each other. Another one may be behind by a `WINDOW`, which are 28 iterations
    of nine steps. In each it is sent shares of the new sets, an eighth of the largest message.
    """
    largest = max(most_step_bytes(job, rows, primes), most_report_bytes(job, rows, primes))
    return _AHEAD * largest + WINDOW * _A_STEP * OVERHEAD


def most_report_bytes(job: Job, rows: int, primes: int) -> int:
    """Upper bound of the bytes of a message to or from the coordinator, about so many rows."""
    told = most_told_bytes(job.n)
    counted, opened = max(job.k, job.method.n_init, len(job.opened.to)), 64 * len(job.method.compared)
    if job.opened.described is not None:  # a number a client, and one a column
        counted = max(counted, job.n, job.opened.described.columns)
    opened += 2 * packed_bytes((primes, 2 * counted, job.ell))
    if isinstance(job.disclosure, Coded):
        answers = packed_bytes((primes, job.k, min(rows, rows_answered(job.k, primes))))
        opened = 2 * max(answers, packed_size(rows, bits_of(job.k)))
    if isinstance(job.rows, Union):
        table = job.union_plan(bytes(SALT_BYTES)).table(1, job.rows.cap)  # no later one is larger
        opened = max(opened, 3 * _PART, 4 * table.bins + 8 * table.bins * table.capacity)
    return _LETTERS + job.dealers + opened + told
