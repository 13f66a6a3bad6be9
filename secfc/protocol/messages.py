"""The messages of a run. Frozen, keyword-only; what they hold of shares and labels never shows in a repr.

Each class declares all that there is to know of its type, and its base tells who sends it to whom: see
`secfc.protocol.message`. Labels that were received stay packed until a role has checked who sent them and
how many they are.
"""

from dataclasses import dataclass, field

from secfc.array_types import Labels
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
    Body,
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
    """Its introduction and, for given starts, the labels of its rows.

    `agreement` is the digest of what the client agreed on, so that a difference has a name.
    """

    number = 0
    phase = work = "identify"
    states = frozenset({State.IDENTIFY})
    with_helpers = True
    body = Body(agreement=octets(DIGEST_BYTES), introduction=INTRODUCTION, start=START)

    agreement: bytes = field(repr=False)
    introduction: Introduction
    start: Labels | PackedLabels | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan(FromServer):
    """Every party's introduction, client 1's first."""

    number = 1
    phase = "identify"
    work = "share"
    states = frozenset({State.IDENTIFY})
    alike = with_helpers = True
    body = Body(introductions=INTRODUCTIONS)

    introductions: tuple[Introduction | None, ...]


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
    body = Body(part=COUNT, sealed=sealed(lambda of: of.share))

    part: int
    sealed: Sealed


@dataclass(frozen=True, kw_only=True, eq=False)
class Ready(ToServer):
    """The client holds this part of every other client's shares.

    With disclosure "labels" it also tells its value of the check that follows, if one does.
    """

    number = 3
    phase = work = "share"
    states = frozenset({State.SHARE})
    body = Body(part=COUNT, value=counted(lambda of: COIN_BYTES))

    part: int
    value: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class Continue(FromServer):
    """Send this part, of shares in round 0, of the round's answer otherwise.

    Parts before `secfc.row_layout.WINDOW` are asked for by Plan and Assignment themselves.
    """

    number = 4
    phase = work = "iterate"
    states = frozenset({State.SHARE, State.ITERATE})
    rounds = with_helpers = True
    body = Body(part=COUNT)

    part: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Assignment(FromServer):
    """The sets whose centres are asked about, -1 for a row in no set.

    With disclosure "distances" also the R clients that answer, ascending. All clients are sent the same,
    and who was left out, ascending, is in it too. With "labels", from the second question on, the evaluators'
    endorsements; `draws`, where candidates of a start are asked about and others are drawn after them; the
    attempt (`secfc.protocol.attempt`): comparers that were lost, and the round of the first question since
    then; and in that question the signed values of the job's first three, where they toss a coin.
    """

    number = 5
    phase = work = "iterate"
    states = frozenset({State.ITERATE})
    rounds = alike = with_helpers = True
    body = Body(
        sets=SETS,
        responders=clients(lambda of: of.job.threshold),
        left_out=clients(lambda of: of.job.n),
        lost=clients(lambda of: of.job.reserves),
        since=COUNT,
        draws=DRAWS,
        coin=counted(lambda of: COMPARERS * TOLD_BYTES),
        endorsements=SIGNATURES,
    )

    sets: Labels | PackedLabels = field(repr=False)
    responders: tuple[int, ...] = ()
    left_out: tuple[int, ...] = ()
    lost: tuple[int, ...] = ()
    since: int = 1
    draws: tuple[int, ...] = ()
    coin: bytes = field(default=b"", repr=False)
    endorsements: tuple[bytes, ...] = field(default=(), repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class CodedDistances(ToServer):
    """Coded distances of some rows to every centre, (primes, k, rows)."""

    number = 6
    phase = work = "iterate"
    # The server may hear from a client after it has gone on without it.
    states = frozenset({State.ITERATE, State.DONE})
    rounds = True
    body = Body(part=COUNT, residues=residues(lambda of: of.answer))

    part: int
    residues: PackedResidues


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
    body = Body(
        n_iter=COUNT,
        converged=flag("Finish: converged"),
        inertia=REAL,
        labels=LABELS,
        left_out=clients(lambda of: of.job.n),
        lost=clients(lambda of: of.job.reserves),
        since=COUNT,
        endorsements=SIGNATURES,
    )

    labels: Labels | PackedLabels = field(repr=False)
    n_iter: int
    converged: bool
    inertia: float | None
    left_out: tuple[int, ...] = ()
    lost: tuple[int, ...] = ()
    since: int = 1
    endorsements: tuple[bytes, ...] = field(default=(), repr=False)


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
    body = Body(part=COUNT, sealed=sealed(lambda of: MOST_DEALT_BYTES))

    part: int
    sealed: Sealed


@dataclass(frozen=True, kw_only=True, eq=False)
class UnionOpening(ToServer):
    """The client's share of what is opened of a part of a stage, elements of the union's field."""

    number = 9
    phase = work = "union"
    states = frozenset({State.UNION})
    rounds = True
    body = Body(part=COUNT, values=elements(lambda of: MOST_DEALT_BYTES))

    part: int
    values: Elements = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class UnionContinue(FromServer):
    """Deal this part of the stage; parts before `secfc.row_layout.WINDOW` need no word."""

    number = 10
    phase = work = "union"
    states = frozenset({State.UNION})
    rounds = True
    body = Body(part=COUNT)

    part: int


@dataclass(frozen=True, kw_only=True, eq=False)
class UnionFound(FromServer):
    """The poles in each bin of the stage's table."""

    number = 11
    phase = work = "union"
    states = frozenset({State.UNION})
    rounds = True
    body = Body(found=FOUND)

    found: Found


@dataclass(frozen=True, kw_only=True, eq=False)
class UnionVerdict(FromServer):
    """Whether no ID is missing in the union and every one is held once."""

    number = 12
    phase = work = "union"
    states = frozenset({State.UNION})
    rounds = True
    body = Body(unique=flag("UnionVerdict: unique"))

    unique: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class LeaveOut(FromServer):
    """Before the first assignment: this client's rows are not in."""

    number = 13
    phase = work = "share"
    # A client that has everything may still hear that another does not.
    states = frozenset({State.SHARE, State.ITERATE})
    body = Body(client=COUNT)

    client: int


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
    body = Body(sealed=sealed(lambda of: of.witness))

    sealed: Sealed


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
    body = Body(seed=octets(SEED_BYTES), values=counted(lambda of: COIN_BYTES * of.job.n))

    seed: bytes = field(repr=False)
    values: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class Report(ToServer):
    """Combinations of the client's shares, (primes, combinations, parts of all dealers), signed."""

    number = 16
    phase = work = "check"
    states = frozenset({State.SHARE, State.CHECK})
    rounds = True
    body = Body(signature=octets(SIGNATURE_BYTES), residues=residues(lambda of: of.report))

    residues: PackedResidues
    signature: bytes = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class Dispute(FromServer):
    """To a client whose report differs from the others': all reports, by number of the client."""

    number = 17
    phase = work = "check"
    states = frozenset({State.SHARE, State.ITERATE})
    rounds = True
    body = Body(reports=REPORTS)

    reports: tuple[SignedReport, ...]

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
    body = Body(
        dealer=CLIENT, part=COUNT, signature=octets(SIGNATURE_BYTES), payload=rest(lambda of: of.dealt)
    )

    dealer: int
    part: int
    payload: bytes | memoryview = field(repr=False)
    signature: bytes = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class CentreShare(BetweenClients):
    """The sender's shares of the sums over the final clusters, (primes, width, k).

    Where spreads are opened, (primes, 2 width, k): below them those of the sums of squares.
    """

    number = 19
    phase = work = "reveal"
    states = frozenset({State.SHARE, State.ITERATE, State.COMPARE, State.REVEAL, State.DONE})
    purpose = b"centre share"
    body = Body(sealed=sealed(lambda of: of.revealed(of.job.sums_revealed)))

    sealed: Sealed


@dataclass(frozen=True, kw_only=True, eq=False)
class UnionCheck(BetweenClients):
    """The sender's share of what the check opens: nobody has to believe the server."""

    number = 20
    phase = work = "union"
    states = frozenset({State.UNION})
    purpose = b"union check"
    rounds = needed = True
    body = Body(sealed=sealed(lambda of: of.union_check))

    sealed: Sealed


@dataclass(frozen=True, kw_only=True, eq=False)
class Echo(BetweenClients):
    """The server's proof of its Challenge of this round to the sender."""

    number = 21
    phase = work = "check"
    states = frozenset({State.SHARE, State.ITERATE, State.COMPARE, State.REVEAL, State.DONE})
    purpose = b"echo"
    rounds = True
    body = Body(sealed=sealed(lambda of: SHOWN_BYTES))

    sealed: Sealed


@dataclass(frozen=True, kw_only=True, eq=False)
class Introduce(BetweenClients):
    """Who a client is: its key for a preparation, signed, and the digest of what it agreed on.

    The number of rows in it is 0 and the digest of start labels that of nothing: a preparation hides both.
    """

    number = 22
    phase = work = "prepare"
    needed = True
    body = Body(agreement=octets(DIGEST_BYTES), introduction=INTRODUCTION)

    agreement: bytes = field(repr=False)
    introduction: Introduction


@dataclass(frozen=True, kw_only=True, eq=False)
class Holds(BetweenClients):
    """Of which columns the sender has enough values, a byte of 1 or 0 for each."""

    number = 23
    phase = work = "prepare"
    purpose = b"prepare holds"
    needed = True
    body = Body(sealed=PREPARED)

    sealed: Sealed


@dataclass(frozen=True, kw_only=True, eq=False)
class Deal(BetweenClients):
    """The recipient's shares of what the sender adds to the totals."""

    number = 24
    phase = work = "prepare"
    purpose = b"prepare deal"
    needed = True
    body = Body(sealed=PREPARED)

    sealed: Sealed


@dataclass(frozen=True, kw_only=True, eq=False)
class Complete(BetweenClients):
    """The sender has everybody's shares; a digest of what all told it that they hold."""

    number = 25
    phase = work = "prepare"
    purpose = b"prepare complete"
    needed = True
    body = Body(sealed=PREPARED)

    sealed: Sealed


@dataclass(frozen=True, kw_only=True, eq=False)
class Opening(BetweenClients):
    """The sender's sum of all clients' shares."""

    number = 26
    phase = work = "prepare"
    purpose = b"prepare opening"
    needed = True
    body = Body(sealed=PREPARED)

    sealed: Sealed


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
    body = Body(part=COUNT, sealed=sealed(lambda of: DIGEST_BYTES + of.answer))

    part: int
    sealed: Sealed


@dataclass(frozen=True, kw_only=True, eq=False)
class MaskedAnswer(BetweenClients, _OneOfAPart):
    """Coded distances of some rows under the dealer's masks, (primes, k, rows), to the first evaluator."""

    number = 28
    phase = work = "iterate"
    states = _COMPARED
    purpose = b"masked answer"
    rounds = with_helpers = True
    body = Body(part=COUNT, sealed=sealed(lambda of: DIGEST_BYTES + of.answer))

    part: int
    sealed: Sealed


@dataclass(frozen=True, kw_only=True, eq=False)
class MaskedDistances(BetweenClients, _OneOfAPart):
    """What the first evaluator decoded of a part, (primes, k, rows), to the second."""

    number = 29
    phase = work = "iterate"
    states = _COMPARED
    purpose = b"masked distances"
    rounds = needed = with_helpers = True
    body = Body(part=COUNT, sealed=sealed(lambda of: DIGEST_BYTES + of.answer))

    part: int
    sealed: Sealed


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
    body = Body(part=COUNT, index=COUNT, sealed=sealed(lambda of: DIGEST_BYTES + of.compared))

    part: int
    index: int
    sealed: Sealed

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
    body = Body(part=COUNT, labels=PART_LABELS, core=counted(lambda of: -(-of.part_rows() // 8)))

    part: int
    labels: Labels | PackedLabels = field(repr=False)
    core: bytes = field(default=b"", repr=False)


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
    body = Body(
        signature=octets(SIGNATURE_BYTES),
        best=COUNT,
        inertia=REAL,
        liars=clients(lambda of: of.job.max_liars),
        rows=numbers(lambda of: of.job.k + 1),
    )

    signature: bytes = field(repr=False)
    best: int = 0
    inertia: float | None = None
    rows: tuple[int, ...] = field(default=(), repr=False)
    liars: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class CoinRequest(FromServer):
    """To a comparer: everybody who is in holds everything, so tell your value of the coin."""

    number = 33
    phase = work = "iterate"
    states = frozenset({State.ITERATE})
    alike = with_helpers = True
    body = Body(left_out=clients(lambda of: of.job.n))

    left_out: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Coin(ToServer):
    """A comparer's value, to which its introduction commits it, and its signature of who is left out.

    Likewise of one who rechecks, and its signature of the result.
    """

    number = 34
    phase = work = "iterate"
    states = frozenset({State.ITERATE})
    with_helpers = True
    body = Body(value=octets(COIN_BYTES), signature=octets(SIGNATURE_BYTES))

    value: bytes = field(repr=False)
    signature: bytes = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class RecheckRequest(FromServer):
    """To one who rechecks: the result as both evaluators endorsed it, so tell your value of the coin.

    `last` is the number of the question whose labels it has. Who was left out is in it.
    """

    number = 35
    phase = work = "iterate"
    states = frozenset({State.ITERATE})
    alike = with_helpers = True
    body = Body(
        last=COUNT,
        n_iter=COUNT,
        converged=flag("RecheckRequest: converged"),
        inertia=REAL,
        labels=LABELS,
        left_out=clients(lambda of: of.job.n),
        endorsements=SIGNATURES,
    )

    last: int
    labels: Labels | PackedLabels = field(repr=False)
    n_iter: int
    converged: bool
    inertia: float | None
    left_out: tuple[int, ...] = ()
    endorsements: tuple[bytes, ...] = field(default=(), repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class Recheck(FromServer):
    """Answer again about the labels that follow from these values of those who recheck.

    Also the digest of the result, and the number of the question whose labels it has.
    """

    number = 36
    phase = work = "iterate"
    states = frozenset({State.ITERATE})
    rounds = alike = with_helpers = True
    body = Body(last=COUNT, result=octets(DIGEST_BYTES), coin=octets(COMPARERS * TOLD_BYTES))

    last: int
    result: bytes = field(repr=False)
    coin: bytes = field(repr=False)


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
