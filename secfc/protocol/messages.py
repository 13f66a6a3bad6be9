"""The messages of a run. Frozen, keyword-only; what they hold of shares and labels never shows in a repr.

Each class declares all that there is to know of its type, and its base tells who sends it to whom: see
`secfc.protocol.message`. Labels that were received stay packed until a role has checked who sent them and
how many they are.
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
"""A value of the coin, and its comparer's signature."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Hello(ToServer):
    """Its introduction and, where rows have weights, these; for given starts, the labels of its rows.

    `agreement` is the digest of what the client agreed on, so that a difference has a name.
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
    """Every party's introduction, client 1's first, and the weights of all rows where they have any."""

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
    # It may overtake the Plan that both act on, or the union's end; to a client that was left out it comes
    # from one that does not know yet.
    states = frozenset({State.IDENTIFY, State.UNION, State.SHARE, State.DONE})
    purpose = b"share"
    needed = True

    part: Annotated[int, COUNT]
    sealed: Annotated[Sealed, sealed(lambda of: of.share)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Ready(ToServer):
    """The client holds this part of every other client's shares.

    With disclosure "labels" it also tells its value of the check that follows, if one does.
    """

    number = 3
    phase = work = "share"
    states = frozenset({State.SHARE})

    part: Annotated[int, COUNT]
    value: Annotated[bytes, counted(lambda of: COIN_BYTES)] = field(default=b"", repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class Continue(FromServer):
    """Send this part, of shares in round 0, of the round's answer otherwise.

    Parts before `secfc.row_layout.WINDOW` are asked for by Plan and Assignment themselves.
    """

    number = 4
    phase = work = "iterate"
    states = frozenset({State.SHARE, State.ITERATE})
    rounds = with_helpers = True

    part: Annotated[int, COUNT]


@dataclass(frozen=True, kw_only=True, eq=False)
class Assignment(FromServer):
    """The sets whose centres are asked about, -1 for a row in no set.

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
    # The server may hear from a client after it has gone on without it.
    states = frozenset({State.ITERATE, State.DONE})
    rounds = True

    part: Annotated[int, COUNT]
    residues: Annotated[PackedResidues, residues(lambda of: of.answer)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Finish(FromServer):
    """The labels of all rows and how the search ended.

    Who was left out is in it, the attempt, and the evaluators' endorsements, as in an Assignment; behind them
    those of the evaluators who rechecked it. `inertia` is None where nobody knows it.
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
    """The recipient's shares of what the sender deals for a part of a stage.

    `round` is the stage of the union, from 1.
    """

    number = 8
    phase = work = "union"
    states = frozenset({State.IDENTIFY, State.UNION})  # it may overtake the Plan
    purpose = b"union deal"
    rounds = needed = True

    part: Annotated[int, COUNT]
    sealed: Annotated[Sealed, sealed(lambda of: MOST_DEALT_BYTES)]


@dataclass(frozen=True, kw_only=True, eq=False)
class UnionOpening(ToServer):
    """The client's share of what is opened of a part of a stage, elements of the union's field."""

    number = 9
    phase = work = "union"
    states = frozenset({State.UNION})
    rounds = True

    part: Annotated[int, COUNT]
    values: Annotated[Elements, elements(lambda of: MOST_DEALT_BYTES)] = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class UnionContinue(FromServer):
    """Deal this part of the stage; parts before `secfc.row_layout.WINDOW` need no word."""

    number = 10
    phase = work = "union"
    states = frozenset({State.UNION})
    rounds = True

    part: Annotated[int, COUNT]


@dataclass(frozen=True, kw_only=True, eq=False)
class UnionFound(FromServer):
    """The poles in each bin of the stage's table."""

    number = 11
    phase = work = "union"
    states = frozenset({State.UNION})
    rounds = True

    found: Annotated[Found, FOUND]


@dataclass(frozen=True, kw_only=True, eq=False)
class UnionVerdict(FromServer):
    """Whether no ID is missing in the union and every one is held once."""

    number = 12
    phase = work = "union"
    states = frozenset({State.UNION})
    rounds = True

    unique: Annotated[bool, flag("UnionVerdict: unique")]


@dataclass(frozen=True, kw_only=True, eq=False)
class LeaveOut(FromServer):
    """Before the first assignment: this client's rows are not in."""

    number = 13
    phase = work = "share"
    # A client that has everything may still hear that another does not.
    states = frozenset({State.SHARE, State.ITERATE})

    client: Annotated[int, COUNT]


@dataclass(frozen=True, kw_only=True, eq=False)
class Witness(BetweenClients):
    """The server's proofs of what it gave the sender.

    In a round: of its assignment. In round 0: of the result, and of every assignment.
    """

    number = 14
    phase = work = "reveal"
    states = frozenset({State.SHARE, State.ITERATE, State.COMPARE, State.REVEAL, State.DONE})
    purpose = b"witness"
    rounds = True

    sealed: Annotated[Sealed, sealed(lambda of: of.witness)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Challenge(FromServer):
    """What coefficients of the check of shares follow from.

    With membership privacy each part is checked by itself, `round` is its number from 1; else 0, for all.
    With disclosure "labels" the seed follows from the clients' values, zeros for one that is left out.
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
    """Combinations of the client's shares, (primes, combinations, parts of all dealers), signed."""

    number = 16
    phase = work = "check"
    states = frozenset({State.SHARE, State.CHECK})
    rounds = True

    signature: Annotated[bytes, octets(SIGNATURE_BYTES)] = field(repr=False)
    residues: Annotated[PackedResidues, residues(lambda of: of.report)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Dispute(FromServer):
    """To a client whose report differs from the others': all reports, by number of the client."""

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
    """A part of the shares that the client was dealt, with covers, as the dealer signed it."""

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
    """The sender's shares of the sums over the final clusters, (primes, width, k).

    Where spreads are opened, (primes, 2 width, k): below them those of the sums of squares.
    """

    number = 19
    phase = work = "reveal"
    states = frozenset({State.SHARE, State.ITERATE, State.COMPARE, State.REVEAL, State.DONE})
    purpose = b"centre share"

    sealed: Annotated[Sealed, sealed(lambda of: of.revealed(of.job.sums_revealed))]


@dataclass(frozen=True, kw_only=True, eq=False)
class UnionCheck(BetweenClients):
    """The sender's share of what the check opens: nobody has to believe the server."""

    number = 20
    phase = work = "union"
    states = frozenset({State.UNION})
    purpose = b"union check"
    rounds = needed = True

    sealed: Annotated[Sealed, sealed(lambda of: of.union_check)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Echo(BetweenClients):
    """The server's proof of its Challenge of this round to the sender."""

    number = 21
    phase = work = "check"
    states = frozenset({State.SHARE, State.ITERATE, State.COMPARE, State.REVEAL, State.DONE})
    purpose = b"echo"
    rounds = True

    sealed: Annotated[Sealed, sealed(lambda of: SHOWN_BYTES)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Introduce(BetweenClients):
    """Who a client is: its key for a preparation, signed, and the digest of what it agreed on.

    The number of rows in it is 0 and the digest of start labels that of nothing: a preparation hides both.
    """

    number = 22
    phase = work = "prepare"
    needed = True

    agreement: Annotated[bytes, octets(DIGEST_BYTES)] = field(repr=False)
    introduction: Annotated[Introduction, INTRODUCTION]


@dataclass(frozen=True, kw_only=True, eq=False)
class Holds(BetweenClients):
    """Of which columns the sender has enough values, a byte of 1 or 0 for each."""

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
    """The sender has everybody's shares; a digest of what all told it that they hold."""

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
"""What travels among clients in a round may come when the result has overtaken it; it is dropped then."""


class _OneOfAPart:
    """A message of which a sender sends one for each part of a round."""

    part: int

    @property
    def place(self) -> int:
        """Among the sender's messages of this type and round."""
        return self.part

    @property
    def begins(self) -> bool:
        """Whether it is the first of these, which holds the digest of the question."""
        return self.part == 0


@dataclass(frozen=True, kw_only=True, eq=False)
class SpareMasks(BetweenClients, _OneOfAPart):
    """The dealer's masks, (primes, k, rows), for a part of a spare client's answer."""

    number = 27
    phase = work = "iterate"
    states = _COMPARED
    purpose = b"spare masks"
    rounds = with_helpers = True

    part: Annotated[int, COUNT]
    sealed: Annotated[Sealed, sealed(lambda of: DIGEST_BYTES + of.answer)]


@dataclass(frozen=True, kw_only=True, eq=False)
class MaskedAnswer(BetweenClients, _OneOfAPart):
    """Coded distances of some rows under the dealer's masks, (primes, k, rows), to the first evaluator."""

    number = 28
    phase = work = "iterate"
    states = _COMPARED
    purpose = b"masked answer"
    rounds = with_helpers = True

    part: Annotated[int, COUNT]
    sealed: Annotated[Sealed, sealed(lambda of: DIGEST_BYTES + of.answer)]


@dataclass(frozen=True, kw_only=True, eq=False)
class MaskedDistances(BetweenClients, _OneOfAPart):
    """What the first evaluator decoded of a part, (primes, k, rows), to the second."""

    number = 29
    phase = work = "iterate"
    states = _COMPARED
    purpose = b"masked distances"
    rounds = needed = with_helpers = True

    part: Annotated[int, COUNT]
    sealed: Annotated[Sealed, sealed(lambda of: DIGEST_BYTES + of.answer)]


def place_of(index: int, part: int) -> int:
    """The place of a `Compared`: it binds both, and ascends with the index."""
    return index << 32 | part


@dataclass(frozen=True, kw_only=True, eq=False)
class Compared(BetweenClients):
    """What one of the trio sends another to compare the rows of a part.

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
        """Among the sender's messages to the recipient in this round, and the part, for it alone."""
        return place_of(self.index, self.part)

    @property
    def begins(self) -> bool:
        """Whether it is the first of these, which holds the digest of the question."""
        return self.index == 0


@dataclass(frozen=True, kw_only=True, eq=False)
class OpenedLabels(ToServer):
    """The labels of the rows of a part, as an evaluator opened them.

    `core` has a bit of each row where the core was asked for, the lowest bit first. About candidates of a
    start there are no labels.
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

    `rows` are those that go to emptied clusters, in the order of these; about candidates of a start the
    one that is chosen, and those that are asked about next. `best` is the best start so far, counted from 0.
    `inertia` is that of the result, where it is opened, else None.
    The first evaluator also names the clients that it found lying, ascending. Of the round in which labels
    are rechecked it has the signature of the result, and liars.
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
    """To a comparer: everybody who is in holds everything, so tell your value of the coin.

    `tossing` are those that toss it, in the job's order. If there are none: say that you are there. So two
    that differ are no evidence against the server.
    """

    number = 33
    phase = work = "iterate"
    states = frozenset({State.ITERATE})
    with_helpers = True

    left_out: Annotated[tuple[int, ...], clients(lambda of: of.job.n)] = ()
    tossing: Annotated[tuple[int, ...], clients(lambda of: of.job.tossers)] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Coin(ToServer):
    """A comparer's value, to which its introduction commits it, signed for those who toss and are left out.

    Both are empty where it only says that it is there. Likewise the value of one who rechecks, signed for the
    result.
    """

    number = 34
    phase = work = "iterate"
    states = frozenset({State.ITERATE})
    with_helpers = True

    value: Annotated[bytes, counted(lambda of: COIN_BYTES)] = field(default=b"", repr=False)
    signature: Annotated[bytes, counted(lambda of: SIGNATURE_BYTES)] = field(default=b"", repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class RecheckRequest(FromServer):
    """To one who rechecks: the result as both evaluators endorsed it, so tell your value of the coin.

    `last` is the number of the question whose labels it has. Who was left out is in it.
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
    """Answer again about the labels that follow from these values of those who recheck.

    Also the digest of the result, and the number of the question whose labels it has.
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
"""All types of messages; the position is the number."""

PREPARING: tuple[type[Message], ...] = tuple(kind for kind in KINDS if kind.phase == "prepare")
"""Those of a preparation, one from each client to each other, in this order: there are no states."""

RUNNING: tuple[type[Message], ...] = tuple(kind for kind in KINDS if kind.phase != "prepare")
"""Those of a run with rows as they are clustered."""
