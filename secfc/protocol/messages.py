"""The messages of a run. Frozen, keyword-only; what they hold of shares and labels never shows in a repr.

Labels that were received stay packed until a role has checked who sent them and how many they are.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from secfc._arrays import Labels
from secfc.errors import MessageError
from secfc.field.packing import PackedResidues
from secfc.params import PROTOCOL
from secfc.protocol.label_packing import PackedLabels
from secfc.psu.course import Verdict
from secfc.psu.found import Found
from secfc.psu.prime import Elements
from secfc.sealing.channel import Sealed
from secfc.sealing.handshake import Introduction
from secfc.sealing.proof import Proof

Phase = Literal["prepare", "identify", "union", "share", "check", "iterate", "reveal"]
PHASES: tuple[Phase, ...] = ("prepare", "identify", "union", "share", "check", "iterate", "reveal")

SERVER = 0
"""Number of the server; clients are 1 to n."""

RUN_ID_BYTES = 16
SEED_BYTES = 32


def magic_of(name: str) -> bytes:
    """What a format's messages begin with: three letters and the version of the protocol."""
    return f"{name}{PROTOCOL}".encode()


def check_magic(found: bytes, magic: bytes) -> None:
    """Refuse what is not of a format, or of another version of the protocol.

    Raises
    ------
    MessageError
        With both versions, if it is another version.
    """
    if found == magic:
        return
    version = bytes(found[len(magic) - 1 :])
    if found[: len(magic) - 1] == magic[:-1] and version.isdigit():
        raise MessageError(
            f"a message of version {version.decode()} of the protocol; this party has version {PROTOCOL}"
        )
    raise MessageError("not a secfc message, or not where it belongs")


@dataclass(frozen=True, kw_only=True, eq=False)
class Message:
    """What every message says of itself.

    Parameters
    ----------
    run : bytes of length 16
        Identifier of the run, random.
    sender, recipient : int
        0 for the server, 1 to n for clients.
    round : int
        Number of the question asked, of the stage of the union, or of the check of a part of shares that
        are added up, from 1; 0 elsewhere.
    """

    phase: ClassVar[Phase]
    """Phase in which the message travels."""

    work: ClassVar[Phase]
    """Phase that its handling belongs to."""

    run: bytes = field(repr=False)
    sender: int
    recipient: int
    round: int = 0

    def __post_init__(self) -> None:
        if len(self.run) != RUN_ID_BYTES:
            raise MessageError(f"a run identifier has {RUN_ID_BYTES} bytes, {len(self.run)} were given")
        if self.sender == self.recipient:
            raise MessageError(f"party {self.sender} sends a message to itself")


@dataclass(frozen=True, kw_only=True, eq=False)
class FromServer(Message):
    """What the server sends. It signs every message.

    Parameters
    ----------
    proof : Proof or None
        Of a message that was received; None at the server, before it is sent.
    """

    proof: Proof | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class Hello(Message):
    """Client to server: its introduction and, for given starts, the labels of its rows.

    `agreement` is the digest of what the client agreed on, so that a difference has a name.
    """

    phase = work = "identify"
    agreement: bytes = field(repr=False)
    introduction: Introduction
    start: Labels | PackedLabels | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan(FromServer):
    """Server to clients: every client's introduction, client 1's first."""

    phase = "identify"
    work = "share"
    introductions: tuple[Introduction | None, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class UnionDeal(Message):
    """Client to client, sealed: the recipient's shares of what the sender deals for a part of a stage.

    `round` is the stage of the union, from 1.
    """

    phase = work = "union"
    part: int
    sealed: Sealed


@dataclass(frozen=True, kw_only=True, eq=False)
class UnionOpening(Message):
    """Client to server: its share of what is opened of a part of a stage, elements of the union's field."""

    phase = work = "union"
    part: int
    values: Elements = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class UnionContinue(FromServer):
    """Server to clients: deal this part of the stage; parts before `secfc.row_layout.WINDOW` need no word."""

    phase = work = "union"
    part: int


@dataclass(frozen=True, kw_only=True, eq=False)
class UnionFound(FromServer):
    """Server to clients: the poles in each bin of the stage's table."""

    phase = work = "union"
    found: Found


@dataclass(frozen=True, kw_only=True, eq=False)
class UnionVerdict(FromServer):
    """Server to clients: whether the union is whole and every ID in it held once."""

    phase = work = "union"
    verdict: Verdict


@dataclass(frozen=True, kw_only=True, eq=False)
class UnionCheck(Message):
    """Client to client, sealed: its share of what the check opens: nobody has to believe the server."""

    phase = work = "union"
    sealed: Sealed


@dataclass(frozen=True, kw_only=True, eq=False)
class Share(Message):
    """Client to client, sealed: the recipient's shares of some of the sender's rows."""

    phase = work = "share"
    part: int
    sealed: Sealed


@dataclass(frozen=True, kw_only=True, eq=False)
class Ready(Message):
    """Client to server: it holds this part of every other client's shares."""

    phase = work = "share"
    part: int


@dataclass(frozen=True, kw_only=True, eq=False)
class LeaveOut(FromServer):
    """Server to clients, before the first assignment: this client's rows are not in."""

    phase = work = "share"
    client: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Challenge(FromServer):
    """Server to clients: what coefficients of the check of shares follow from.

    With membership privacy each part is checked by itself, `round` is its number from 1; else 0, for all.
    """

    phase = work = "check"
    seed: bytes = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class Echo(Message):
    """Client to client, sealed: the server's proof of its Challenge of this round to the sender."""

    phase = work = "check"
    sealed: Sealed


@dataclass(frozen=True, kw_only=True, eq=False)
class SignedReport:
    """What a client reports of the shares that it was dealt.

    Parameters
    ----------
    client : int
        Who reports, 1 to n.
    residues : PackedResidues
        Combinations of its shares, (primes, combinations, parts of all dealers).
    signature : bytes of length 64
        Of `secfc.protocol.signed.report_statement`.
    """

    client: int
    residues: PackedResidues
    signature: bytes = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class Report(Message):
    """Client to server: combinations of its shares, (primes, combinations, parts of all dealers), signed."""

    phase = work = "check"
    residues: PackedResidues
    signature: bytes = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class Dispute(FromServer):
    """Server to a client whose report differs from the others': all reports, by number of the client."""

    phase = work = "check"
    reports: tuple[SignedReport, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if len({report.residues.shape for report in self.reports}) != 1:
            raise MessageError("Dispute: reports of one shape are needed")


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence(Message):
    """Client to server: a part of the shares that it was dealt, with covers, as the dealer signed it."""

    phase = work = "check"
    dealer: int
    part: int
    payload: bytes | memoryview = field(repr=False)
    signature: bytes = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class Continue(FromServer):
    """Server to clients: send this part, of shares in round 0, of the round's answer otherwise.

    Parts before `secfc.row_layout.WINDOW` are asked for by Plan and Assignment themselves.
    """

    phase = work = "iterate"
    part: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Assignment(FromServer):
    """Server to clients: the sets whose centres are asked about, -1 for a row in no set.

    With disclosure "distances" also the R clients that answer, ascending. All clients are sent the same,
    and who was left out, ascending, is in it too.
    """

    phase = work = "iterate"
    sets: Labels | PackedLabels = field(repr=False)
    responders: tuple[int, ...] = ()
    left_out: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Witness(Message):
    """Client to client, sealed: the server's proofs of what it gave the sender.

    In a round: of its assignment. In round 0: of the result, and of every assignment.
    """

    phase = work = "reveal"
    sealed: Sealed


@dataclass(frozen=True, kw_only=True, eq=False)
class CodedDistances(Message):
    """Client to server: coded distances of some rows to every centre, (primes, k, rows)."""

    phase = work = "iterate"
    part: int
    residues: PackedResidues


@dataclass(frozen=True, kw_only=True, eq=False)
class CentreShare(Message):
    """Client to client, sealed: its shares of the sums over the final clusters, (primes, width, k).

    Where spreads are opened, (primes, 2 width, k): below them those of the sums of squares.
    """

    phase = work = "reveal"
    sealed: Sealed


@dataclass(frozen=True, kw_only=True, eq=False)
class Finish(FromServer):
    """Server to clients: the labels of all rows and how the search ended.

    Who was left out is in it, as in an Assignment.
    """

    phase = work = "reveal"
    labels: Labels | PackedLabels = field(repr=False)
    n_iter: int
    converged: bool
    inertia: float
    left_out: tuple[int, ...] = ()
