"""Messages until all clients hold all shares: introductions, shares, and checks of shares."""

from dataclasses import field
from typing import Annotated

from secfc.crypto.channel import Sealed
from secfc.crypto.coin import COIN_BYTES
from secfc.crypto.handshake import DIGEST_BYTES, Introduction
from secfc.crypto.identity import SIGNATURE_BYTES
from secfc.crypto.proof import SHOWN_BYTES
from secfc.errors import MessageError
from secfc.field.array_types import Ints, Labels
from secfc.field.label_packing import PackedLabels
from secfc.field.packing import PackedResidues
from secfc.protocol.messages import encodings as enc
from secfc.protocol.messages.base import BetweenClients, FromServer, ToServer
from secfc.protocol.signed import SignedReport
from secfc.protocol.states import State

SEED_BYTES = 32


class Hello(ToServer, number=0, phase="identify"):
    """The sender's introduction, the weights of its rows if rows have weights, and its given start labels.

    Of labels that the job hides it tells only which rows are new (`Job.told_start`).

    `agreement` is the digest of what the client agreed on, so an error can name a party that differs.
    """

    states = frozenset({State.IDENTIFY})
    with_helpers = True

    agreement: Annotated[bytes, enc.octets(DIGEST_BYTES)] = field(repr=False)
    introduction: Annotated[Introduction, enc.INTRODUCTION]
    weights: Annotated[Ints | None, enc.WEIGHTS] = field(default=None, repr=False)
    start: Annotated[Labels | PackedLabels | None, enc.START] = field(default=None, repr=False)


class Plan(FromServer, number=1, phase="identify"):
    """The introductions of all parties in order of their numbers, and weights and start labels of all rows.

    Start labels only in a run that is one program (`secfc.protocol.program`).
    """

    work = "share"
    states = frozenset({State.IDENTIFY})
    alike = with_helpers = True

    weights: Annotated[Ints | None, enc.WEIGHTS] = field(default=None, repr=False)
    start: Annotated[Labels | PackedLabels | None, enc.ALL_STARTS] = field(default=None, repr=False)
    introductions: Annotated[tuple[Introduction | None, ...], enc.INTRODUCTIONS]


class Share(BetweenClients, number=2, phase="share"):
    """The recipient's shares of some of the sender's rows."""

    # It may arrive before the Plan or before the union's end. A sender that does not know yet may send it to
    # a client that was left out (DONE).
    states = frozenset({State.IDENTIFY, State.UNION, State.SHARE, State.DONE})
    purpose = b"share"
    needed = True

    part: Annotated[int, enc.COUNT]
    sealed: Annotated[Sealed, enc.sealed(lambda of: of.share)]


class Ready(ToServer, number=3, phase="share"):
    """The client holds this part of every other client's shares.

    With disclosure "labels" it also has the client's value for the check that follows, if one does.
    """

    states = frozenset({State.SHARE})

    part: Annotated[int, enc.COUNT]
    value: Annotated[bytes, enc.counted(lambda of: COIN_BYTES)] = field(default=b"", repr=False)


class LeaveOut(FromServer, number=13, phase="share"):
    """The rows of `client` are left out. Sent before the first assignment only."""

    # A client that has everything (ITERATE) may still learn that another one is left out.
    states = frozenset({State.SHARE, State.ITERATE})

    client: Annotated[int, enc.COUNT]


class Challenge(FromServer, number=15, phase="check"):
    """The seed of the coefficients of a check of shares.

    With membership privacy each part is checked by itself, and `round` is its number from 1. Otherwise one
    check is of all parts, and `round` is 0. With disclosure "labels" the seed follows from `values`: those
    of all clients, zeros for one that is left out.
    """

    # With membership privacy parts are checked while others are shared.
    states = frozenset({State.SHARE, State.ITERATE})
    rounds = alike = True

    seed: Annotated[bytes, enc.octets(SEED_BYTES)] = field(repr=False)
    values: Annotated[bytes, enc.counted(lambda of: COIN_BYTES * of.job.n)] = field(default=b"", repr=False)


class Echo(BetweenClients, number=21, phase="check"):
    """The server's proof of the Challenge that it sent to the sender in this round."""

    states = frozenset({State.SHARE, State.ITERATE, State.COMPARE, State.REVEAL, State.DONE})
    purpose = b"echo"
    rounds = True

    sealed: Annotated[Sealed, enc.sealed(lambda of: SHOWN_BYTES)]


class Report(ToServer, number=16, phase="check"):
    """Signed combinations of the client's shares, shape (primes, combinations, parts of all dealers)."""

    states = frozenset({State.SHARE, State.CHECK})
    rounds = True

    signature: Annotated[bytes, enc.octets(SIGNATURE_BYTES)] = field(repr=False)
    residues: Annotated[PackedResidues, enc.residues(lambda of: of.report)]


class Dispute(FromServer, number=17, phase="check"):
    """All reports, in order of their clients, to a client whose report differs from the others'."""

    states = frozenset({State.SHARE, State.ITERATE})
    rounds = True

    reports: Annotated[tuple[SignedReport, ...], enc.REPORTS]

    def __post_init__(self) -> None:
        super().__post_init__()
        if len({report.residues.shape for report in self.reports}) != 1:
            raise MessageError("Dispute: reports of one shape are needed")


class Evidence(ToServer, number=18, phase="check"):
    """A part of the shares that the client was dealt, with covers and the dealer's signature."""

    states = frozenset({State.SHARE, State.CHECK})
    rounds = True

    dealer: Annotated[int, enc.CLIENT]
    part: Annotated[int, enc.COUNT]
    signature: Annotated[bytes, enc.octets(SIGNATURE_BYTES)] = field(repr=False)
    payload: Annotated[bytes | memoryview, enc.rest(lambda of: of.dealt)] = field(repr=False)
