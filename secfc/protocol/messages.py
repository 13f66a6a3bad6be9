"""The messages of a run: frozen, keyword-only dataclasses. Their repr never shows shares or labels.

Each class declares its type completely, and its base says who sends it to whom (`secfc.protocol.message`).
Received labels stay packed until a role has checked their sender and their number.
"""

from dataclasses import dataclass, field
from typing import Annotated

from secfc.array_types import Ints, Labels
from secfc.errors import MessageError
from secfc.field.packing import PackedResidues
from secfc.params import COMPARERS
from secfc.protocol.bounds import MOST_DEALT_BYTES
from secfc.protocol.encodings import (
    CLIENT,
    COUNT,
    DRAWS,
    FOUND,
    INTRODUCTION,
    INTRODUCTIONS,
    LABELS,
    PART_LABELS,
    PREPARED,
    REAL,
    REPORTS,
    SETS,
    SIGNATURES,
    START,
    WEIGHTS,
    clients,
    counted,
    elements,
    flag,
    numbers,
    octets,
    residues,
    rest,
    sealed,
)
from secfc.protocol.label_packing import PackedLabels
from secfc.protocol.message import (
    PHASES,
    RUN_ID_BYTES,
    SERVER,
    BetweenClients,
    FromServer,
    Message,
    Phase,
    ToServer,
)
from secfc.protocol.signed import SignedReport
from secfc.protocol.states import State
from secfc.psu.found import Found
from secfc.psu.prime import Elements
from secfc.sealing.channel import Sealed
from secfc.sealing.coin import COIN_BYTES
from secfc.sealing.handshake import DIGEST_BYTES, Introduction
from secfc.sealing.identity import SIGNATURE_BYTES
from secfc.sealing.proof import SHOWN_BYTES

__all__ = ["PHASES", "RUN_ID_BYTES", "SERVER", "BetweenClients", "FromServer", "Message", "Phase", "ToServer"]

SEED_BYTES = 32

TOLD_BYTES = COIN_BYTES + SIGNATURE_BYTES
"""Bytes of a comparer's value of the coin and its signature."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Hello(ToServer):
    """The sender's introduction, the weights of its rows if rows have weights, and its given start labels.

    `agreement` is the digest of what the client agreed on, so an error can name a party that differs.
    """

    number = 0
    phase = work = "identify"
    states = frozenset({State.IDENTIFY})
    with_helpers = True

    agreement: Annotated[bytes, octets(DIGEST_BYTES)] = field(repr=False)
    introduction: Annotated[Introduction, INTRODUCTION]
    weights: Annotated[Ints | None, WEIGHTS] = field(default=None, repr=False)
    start: Annotated[Labels | PackedLabels | None, START] = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan(FromServer):
    """The introductions of all parties in order of their numbers, and the weights of all rows, if any."""

    number = 1
    phase = "identify"
    work = "share"
    states = frozenset({State.IDENTIFY})
    alike = with_helpers = True

    weights: Annotated[Ints | None, WEIGHTS] = field(default=None, repr=False)
    introductions: Annotated[tuple[Introduction | None, ...], INTRODUCTIONS]


@dataclass(frozen=True, kw_only=True, eq=False)
class Share(BetweenClients):
    """The recipient's shares of some of the sender's rows."""

    number = 2
    phase = work = "share"
    # It may arrive before the Plan or before the union's end. A sender that does not know yet may send it to
    # a client that was left out (DONE).
    states = frozenset({State.IDENTIFY, State.UNION, State.SHARE, State.DONE})
    purpose = b"share"
    needed = True

    part: Annotated[int, COUNT]
    sealed: Annotated[Sealed, sealed(lambda of: of.share)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Ready(ToServer):
    """The client holds this part of every other client's shares.

    With disclosure "labels" it also has the client's value for the check that follows, if one does.
    """

    number = 3
    phase = work = "share"
    states = frozenset({State.SHARE})

    part: Annotated[int, COUNT]
    value: Annotated[bytes, counted(lambda of: COIN_BYTES)] = field(default=b"", repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class Continue(FromServer):
    """A request for a part: of shares in round 0, otherwise of the round's answer.

    Plan and Assignment themselves request the parts before `secfc.row_layout.WINDOW`.
    """

    number = 4
    phase = work = "iterate"
    states = frozenset({State.SHARE, State.ITERATE})
    rounds = with_helpers = True

    part: Annotated[int, COUNT]


@dataclass(frozen=True, kw_only=True, eq=False)
class Assignment(FromServer):
    """The sets whose centres are asked about, -1 for a row in no set. All clients are sent the same.

    With disclosure "distances" also the R clients that answer, ascending. `asked` are the sets to answer
    about, ascending, where the server has the distances to others from the round before; () for all. All
    clients are sent the same, and who was left out, ascending, is in it too. With "labels", from the second
    question on, the evaluators' endorsements; `draws`, where candidates of a start are asked about and others
    are drawn after them; the attempt (`secfc.protocol.attempt`): comparers that were lost, and the round of
    the first question since then; and in that question, where a coin is tossed, the signed value of each that
    the job names to compare, zeros for one that did not toss it.
    """

    number = 5
    phase = work = "iterate"
    states = frozenset({State.ITERATE})
    rounds = alike = with_helpers = True

    sets: Annotated[Labels | PackedLabels, SETS] = field(repr=False)
    responders: Annotated[tuple[int, ...], clients(lambda of: of.job.threshold)] = ()
    asked: Annotated[tuple[int, ...], clients(lambda of: of.job.k)] = ()
    left_out: Annotated[tuple[int, ...], clients(lambda of: of.job.n)] = ()
    lost: Annotated[tuple[int, ...], clients(lambda of: of.job.reserves)] = ()
    since: Annotated[int, COUNT] = 1
    draws: Annotated[tuple[int, ...], DRAWS] = ()
    coin: Annotated[bytes, counted(lambda of: len(of.job.comparers) * TOLD_BYTES)] = field(
        default=b"", repr=False
    )
    endorsements: Annotated[tuple[bytes, ...], SIGNATURES] = field(default=(), repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class CodedDistances(ToServer):
    """Coded distances of some rows to the centres asked about, (primes, centres, rows)."""

    number = 6
    phase = work = "iterate"
    # A client's answer may arrive after the server has continued without it.
    states = frozenset({State.ITERATE, State.DONE})
    rounds = True

    part: Annotated[int, COUNT]
    residues: Annotated[PackedResidues, residues(lambda of: of.answer)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Finish(FromServer):
    """The labels of all rows and how the search ended.

    `left_out`, `lost`, `since` and `endorsements` are as in an Assignment. After these endorsements come
    those of the evaluators that rechecked the result. `inertia` is None where no party knows it.
    """

    number = 7
    phase = work = "reveal"
    states = frozenset({State.ITERATE})
    alike = with_helpers = True

    n_iter: Annotated[int, COUNT]
    converged: Annotated[bool, flag("Finish: converged")]
    inertia: Annotated[float | None, REAL]
    labels: Annotated[Labels | PackedLabels, LABELS] = field(repr=False)
    left_out: Annotated[tuple[int, ...], clients(lambda of: of.job.n)] = ()
    lost: Annotated[tuple[int, ...], clients(lambda of: of.job.reserves)] = ()
    since: Annotated[int, COUNT] = 1
    endorsements: Annotated[tuple[bytes, ...], SIGNATURES] = field(default=(), repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class UnionDeal(BetweenClients):
    """The recipient's shares of what the sender deals for a part of a stage. `round` is the stage, from 1."""

    number = 8
    phase = work = "union"
    states = frozenset({State.IDENTIFY, State.UNION})  # it may arrive before the Plan
    purpose = b"union deal"
    rounds = needed = True

    part: Annotated[int, COUNT]
    sealed: Annotated[Sealed, sealed(lambda of: MOST_DEALT_BYTES)]


@dataclass(frozen=True, kw_only=True, eq=False)
class UnionOpening(ToServer):
    """The client's share of what a part of a stage opens: elements of the union's field."""

    number = 9
    phase = work = "union"
    states = frozenset({State.UNION})
    rounds = True

    part: Annotated[int, COUNT]
    values: Annotated[Elements, elements(lambda of: MOST_DEALT_BYTES)] = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class UnionContinue(FromServer):
    """A request to deal this part of the stage. Parts before `secfc.row_layout.WINDOW` need no request."""

    number = 10
    phase = work = "union"
    states = frozenset({State.UNION})
    rounds = True

    part: Annotated[int, COUNT]


@dataclass(frozen=True, kw_only=True, eq=False)
class UnionFound(FromServer):
    """The number of IDs and the poles in each bin of the stage's table."""

    number = 11
    phase = work = "union"
    states = frozenset({State.UNION})
    rounds = True

    found: Annotated[Found, FOUND]


@dataclass(frozen=True, kw_only=True, eq=False)
class UnionVerdict(FromServer):
    """Whether the union lacks no ID and has each ID once."""

    number = 12
    phase = work = "union"
    states = frozenset({State.UNION})
    rounds = True

    unique: Annotated[bool, flag("UnionVerdict: unique")]


@dataclass(frozen=True, kw_only=True, eq=False)
class LeaveOut(FromServer):
    """The rows of `client` are left out. Sent before the first assignment only."""

    number = 13
    phase = work = "share"
    # A client that has everything (ITERATE) may still learn that another one is left out.
    states = frozenset({State.SHARE, State.ITERATE})

    client: Annotated[int, COUNT]


@dataclass(frozen=True, kw_only=True, eq=False)
class Witness(BetweenClients):
    """The server's proofs of what it sent to the sender of this message.

    In a round: of its assignment. In round 0: of the result and of every assignment.
    """

    number = 14
    phase = work = "reveal"
    states = frozenset({State.SHARE, State.ITERATE, State.COMPARE, State.REVEAL, State.DONE})
    purpose = b"witness"
    rounds = True

    sealed: Annotated[Sealed, sealed(lambda of: of.witness)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Challenge(FromServer):
    """The seed of the coefficients of a check of shares.

    With membership privacy each part is checked by itself, and `round` is its number from 1. Otherwise one
    check is of all parts, and `round` is 0. With disclosure "labels" the seed follows from `values`: those
    of all clients, zeros for one that is left out.
    """

    number = 15
    phase = work = "check"
    # With membership privacy parts are checked while others are shared.
    states = frozenset({State.SHARE, State.ITERATE})
    rounds = alike = True

    seed: Annotated[bytes, octets(SEED_BYTES)] = field(repr=False)
    values: Annotated[bytes, counted(lambda of: COIN_BYTES * of.job.n)] = field(default=b"", repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class Report(ToServer):
    """Signed combinations of the client's shares, shape (primes, combinations, parts of all dealers)."""

    number = 16
    phase = work = "check"
    states = frozenset({State.SHARE, State.CHECK})
    rounds = True

    signature: Annotated[bytes, octets(SIGNATURE_BYTES)] = field(repr=False)
    residues: Annotated[PackedResidues, residues(lambda of: of.report)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Dispute(FromServer):
    """All reports, in order of their clients, to a client whose report differs from the others'."""

    number = 17
    phase = work = "check"
    states = frozenset({State.SHARE, State.ITERATE})
    rounds = True

    reports: Annotated[tuple[SignedReport, ...], REPORTS]

    def __post_init__(self) -> None:
        super().__post_init__()
        if len({report.residues.shape for report in self.reports}) != 1:
            raise MessageError("Dispute: reports of one shape are needed")


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence(ToServer):
    """A part of the shares that the client was dealt, with covers and the dealer's signature."""

    number = 18
    phase = work = "check"
    states = frozenset({State.SHARE, State.CHECK})
    rounds = True

    dealer: Annotated[int, CLIENT]
    part: Annotated[int, COUNT]
    signature: Annotated[bytes, octets(SIGNATURE_BYTES)] = field(repr=False)
    payload: Annotated[bytes | memoryview, rest(lambda of: of.dealt)] = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class CentreShare(BetweenClients):
    """The sender's shares of the sums over the final clusters, shape (primes, width, k).

    If spreads are opened the shape is (primes, 2 width, k): after the sums, the sums of squares.
    """

    number = 19
    phase = work = "reveal"
    states = frozenset({State.SHARE, State.ITERATE, State.COMPARE, State.REVEAL, State.DONE})
    purpose = b"centre share"

    sealed: Annotated[Sealed, sealed(lambda of: of.revealed(of.job.sums_revealed))]


@dataclass(frozen=True, kw_only=True, eq=False)
class UnionCheck(BetweenClients):
    """The sender's share of what the check opens, so clients can verify the server's verdict."""

    number = 20
    phase = work = "union"
    states = frozenset({State.UNION})
    purpose = b"union check"
    rounds = needed = True

    sealed: Annotated[Sealed, sealed(lambda of: of.union_check)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Echo(BetweenClients):
    """The server's proof of the Challenge that it sent to the sender in this round."""

    number = 21
    phase = work = "check"
    states = frozenset({State.SHARE, State.ITERATE, State.COMPARE, State.REVEAL, State.DONE})
    purpose = b"echo"
    rounds = True

    sealed: Annotated[Sealed, sealed(lambda of: SHOWN_BYTES)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Introduce(BetweenClients):
    """A client's signed key for a preparation, and the digest of what it agreed on.

    It has 0 as number of rows, and the digest of no start labels, because a preparation hides both.
    """

    number = 22
    phase = work = "prepare"
    needed = True

    agreement: Annotated[bytes, octets(DIGEST_BYTES)] = field(repr=False)
    introduction: Annotated[Introduction, INTRODUCTION]


@dataclass(frozen=True, kw_only=True, eq=False)
class Holds(BetweenClients):
    """A byte for each column: 1 if the sender has enough values of it, else 0."""

    number = 23
    phase = work = "prepare"
    purpose = b"prepare holds"
    needed = True

    sealed: Annotated[Sealed, PREPARED]


@dataclass(frozen=True, kw_only=True, eq=False)
class Deal(BetweenClients):
    """The recipient's shares of what the sender adds to the totals."""

    number = 24
    phase = work = "prepare"
    purpose = b"prepare deal"
    needed = True

    sealed: Annotated[Sealed, PREPARED]


@dataclass(frozen=True, kw_only=True, eq=False)
class Complete(BetweenClients):
    """The sender has the shares of all clients. It sends a digest of the `Holds` of all clients."""

    number = 25
    phase = work = "prepare"
    purpose = b"prepare complete"
    needed = True

    sealed: Annotated[Sealed, PREPARED]


@dataclass(frozen=True, kw_only=True, eq=False)
class Opening(BetweenClients):
    """The sender's sum of all clients' shares."""

    number = 26
    phase = work = "prepare"
    purpose = b"prepare opening"
    needed = True

    sealed: Annotated[Sealed, PREPARED]


_COMPARED = frozenset({State.ITERATE, State.COMPARE, State.REVEAL, State.DONE})
"""States for messages between clients in a round. They may arrive after the result, and are dropped then."""


class _OneOfAPart:
    """A message that a sender sends once for each part of a round."""

    part: int

    @property
    def place(self) -> int:
        """Position among the sender's messages of this type and round."""
        return self.part

    @property
    def begins(self) -> bool:
        """Whether it is the first of these, which contains the digest of the question."""
        return self.part == 0


@dataclass(frozen=True, kw_only=True, eq=False)
class SpareMasks(BetweenClients, _OneOfAPart):
    """The dealer's masks for a part of a spare client's answer, shape (primes, k, rows)."""

    number = 27
    phase = work = "iterate"
    states = _COMPARED
    purpose = b"spare masks"
    rounds = with_helpers = True

    part: Annotated[int, COUNT]
    sealed: Annotated[Sealed, sealed(lambda of: DIGEST_BYTES + of.answer)]


@dataclass(frozen=True, kw_only=True, eq=False)
class MaskedAnswer(BetweenClients, _OneOfAPart):
    """Masked coded distances of some rows, shape (primes, k, rows), to the first evaluator."""

    number = 28
    phase = work = "iterate"
    states = _COMPARED
    purpose = b"masked answer"
    rounds = with_helpers = True

    part: Annotated[int, COUNT]
    sealed: Annotated[Sealed, sealed(lambda of: DIGEST_BYTES + of.answer)]


@dataclass(frozen=True, kw_only=True, eq=False)
class MaskedDistances(BetweenClients, _OneOfAPart):
    """What the first evaluator decoded of a part, shape (primes, k, rows), to the second."""

    number = 29
    phase = work = "iterate"
    states = _COMPARED
    purpose = b"masked distances"
    rounds = needed = with_helpers = True

    part: Annotated[int, COUNT]
    sealed: Annotated[Sealed, sealed(lambda of: DIGEST_BYTES + of.answer)]


def place_of(index: int, part: int) -> int:
    """The place of a `Compared`: it determines both values, and ascends with the index."""
    return index << 32 | part


@dataclass(frozen=True, kw_only=True, eq=False)
class Compared(BetweenClients):
    """A message from one of the trio to another, to compare the rows of a part.

    `index` counts the sender's messages to the recipient in this round.
    """

    number = 30
    phase = work = "iterate"
    states = _COMPARED
    purpose = b"compared"
    rounds = needed = with_helpers = True

    part: Annotated[int, COUNT]
    index: Annotated[int, COUNT]
    sealed: Annotated[Sealed, sealed(lambda of: DIGEST_BYTES + of.compared)]

    @property
    def place(self) -> int:
        """Index among the sender's messages to the recipient in this round, combined with the part."""
        return place_of(self.index, self.part)

    @property
    def begins(self) -> bool:
        """Whether it is the first of these, which contains the digest of the question."""
        return self.index == 0


@dataclass(frozen=True, kw_only=True, eq=False)
class OpenedLabels(ToServer):
    """The labels of the rows of a part, as an evaluator opened them.

    `core` has a bit of each row if the core was asked for, the lowest bit first. Questions about candidates
    of a start open no labels.
    """

    number = 31
    phase = work = "iterate"
    states = frozenset({State.ITERATE})
    rounds = with_helpers = True

    part: Annotated[int, COUNT]
    labels: Annotated[Labels | PackedLabels, PART_LABELS] = field(repr=False)
    core: Annotated[bytes, counted(lambda of: -(-of.part_rows() // 8))] = field(default=b"", repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class Endorsement(ToServer):
    """An evaluator's signature of what follows from a round's labels: the next question, or the result.

    `rows` are those that move to emptied clusters, in the order of the clusters. After a question about
    candidates of a start, they are the chosen candidate and the rows asked about next. `best` is the best
    start so far, counted from 0. `inertia` is that of the result if it is opened, else None. `liars` are the
    clients, ascending, that the first evaluator found lying. In the round in which labels are rechecked,
    only the signature of the result and `liars` are set.
    """

    number = 32
    phase = work = "iterate"
    states = frozenset({State.ITERATE})
    rounds = with_helpers = True

    signature: Annotated[bytes, octets(SIGNATURE_BYTES)] = field(repr=False)
    best: Annotated[int, COUNT] = 0
    inertia: Annotated[float | None, REAL] = None
    liars: Annotated[tuple[int, ...], clients(lambda of: of.job.max_liars)] = ()
    rows: Annotated[tuple[int, ...], numbers(lambda of: of.job.k + 1)] = field(default=(), repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class CoinRequest(FromServer):
    """A request to a comparer for its value of the coin, sent when all remaining clients hold all shares.

    `tossing` are the parties that toss it, in the job's order. If it is empty, the comparer only confirms its
    presence. So two different requests are no evidence against the server.
    """

    number = 33
    phase = work = "iterate"
    states = frozenset({State.ITERATE})
    with_helpers = True

    left_out: Annotated[tuple[int, ...], clients(lambda of: of.job.n)] = ()
    tossing: Annotated[tuple[int, ...], clients(lambda of: of.job.tossers)] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Coin(ToServer):
    """A comparer's value, to which its introduction commits it.

    The signature covers the tossing parties and the clients left out. Both fields are empty if the comparer
    only confirms its presence. A party that rechecks sends its value likewise, signed for the result.
    """

    number = 34
    phase = work = "iterate"
    states = frozenset({State.ITERATE})
    with_helpers = True

    value: Annotated[bytes, counted(lambda of: COIN_BYTES)] = field(default=b"", repr=False)
    signature: Annotated[bytes, counted(lambda of: SIGNATURE_BYTES)] = field(default=b"", repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class RecheckRequest(FromServer):
    """The result, endorsed by both evaluators, to a party that rechecks, which answers with its coin value.

    `last` is the number of the question whose labels the result has. `left_out` are the clients left out.
    """

    number = 35
    phase = work = "iterate"
    states = frozenset({State.ITERATE})
    alike = with_helpers = True

    last: Annotated[int, COUNT]
    n_iter: Annotated[int, COUNT]
    converged: Annotated[bool, flag("RecheckRequest: converged")]
    inertia: Annotated[float | None, REAL]
    labels: Annotated[Labels | PackedLabels, LABELS] = field(repr=False)
    left_out: Annotated[tuple[int, ...], clients(lambda of: of.job.n)] = ()
    endorsements: Annotated[tuple[bytes, ...], SIGNATURES] = field(default=(), repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class Recheck(FromServer):
    """A request to answer again about labels that the rechecking parties' values `coin` choose.

    `result` is the digest of the result, `last` the number of the question whose labels it has.
    """

    number = 36
    phase = work = "iterate"
    states = frozenset({State.ITERATE})
    rounds = alike = with_helpers = True

    last: Annotated[int, COUNT]
    result: Annotated[bytes, octets(DIGEST_BYTES)] = field(repr=False)
    coin: Annotated[bytes, octets(COMPARERS * TOLD_BYTES)] = field(repr=False)


KINDS: tuple[type[Message], ...] = tuple(
    sorted(
        (kind for base in (FromServer, ToServer, BetweenClients) for kind in base.__subclasses__()),
        key=lambda kind: kind.number,
    )
)
"""All types of messages. The index of a type is its number."""

PREPARING: tuple[type[Message], ...] = tuple(kind for kind in KINDS if kind.phase == "prepare")
"""Types of a preparation, one from each client to each other, in this order. They have no states."""

RUNNING: tuple[type[Message], ...] = tuple(kind for kind in KINDS if kind.phase != "prepare")
"""Types of a run."""
