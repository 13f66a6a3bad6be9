"""Messages of rounds and of the result, with every disclosure."""

from dataclasses import field
from typing import Annotated

from secfc.crypto.channel import Sealed
from secfc.crypto.coin import COIN_BYTES
from secfc.crypto.identity import SIGNATURE_BYTES
from secfc.field.array_types import Labels
from secfc.field.label_packing import PackedLabels
from secfc.field.packing import PackedResidues
from secfc.protocol.messages import encodings as enc
from secfc.protocol.messages.base import BetweenClients, FromServer, ToServer
from secfc.protocol.states import State

TOLD_BYTES = COIN_BYTES + SIGNATURE_BYTES
"""Bytes of a comparer's value of the coin and its signature."""


class Assignment(FromServer, number=5, phase="iterate"):
    """The sets whose centres are asked about, -1 for a row in no set. All clients are sent the same.

    With disclosure "coded" and many clients also those that answer, ascending. `asked` are the sets to answer
    about, ascending, where the server has the distances to others from the round before; () for all. All
    clients are sent the same, and who was left out, ascending, is in it too. With "labels", from the second
    question on, the evaluators' endorsements; `draws`, where candidates of a start are asked about and others
    are drawn after them; and in the first question, if a coin is tossed, the signed value of each comparer.
    """

    states = frozenset({State.ITERATE})
    rounds = alike = with_helpers = True

    sets: Annotated[Labels | PackedLabels, enc.SETS] = field(repr=False)
    responders: Annotated[tuple[int, ...], enc.clients(lambda of: of.job.n if of.job.named else 0)] = ()
    asked: Annotated[tuple[int, ...], enc.clients(lambda of: of.job.k)] = ()
    left_out: Annotated[tuple[int, ...], enc.clients(lambda of: of.job.n)] = ()
    draws: Annotated[tuple[int, ...], enc.DRAWS] = ()
    coin: Annotated[bytes, enc.counted(lambda of: len(of.job.comparers) * TOLD_BYTES)] = field(
        default=b"", repr=False
    )
    endorsements: Annotated[tuple[bytes, ...], enc.SIGNATURES] = field(default=(), repr=False)


class Continue(FromServer, number=4, phase="iterate"):
    """A request for a part: of shares in round 0, otherwise of the round's answer.

    Plan and Assignment themselves request the parts before `secfc.protocol.job.row_layout.WINDOW`.
    """

    states = frozenset({State.SHARE, State.ITERATE})
    rounds = with_helpers = signed_once = True

    part: Annotated[int, enc.COUNT]


class CodedDistances(ToServer, number=6, phase="iterate"):
    """Coded distances of some rows to the centres asked about, (primes, centres, rows)."""

    # A client's answer may arrive after the server has continued without it.
    states = frozenset({State.ITERATE, State.DONE})
    rounds = True

    part: Annotated[int, enc.COUNT]
    residues: Annotated[PackedResidues, enc.residues(lambda of: of.answer)]


class Finish(FromServer, number=7, phase="reveal"):
    """The labels of all rows and how the search ended.

    `left_out` and `endorsements` are as in an Assignment. `inertia` is None where no party knows it.
    """

    states = frozenset({State.ITERATE})
    alike = with_helpers = True

    n_iter: Annotated[int, enc.COUNT]
    converged: Annotated[bool, enc.flag("Finish: converged")]
    inertia: Annotated[float | None, enc.REAL]
    labels: Annotated[Labels | PackedLabels, enc.LABELS] = field(repr=False)
    left_out: Annotated[tuple[int, ...], enc.clients(lambda of: of.job.n)] = ()
    endorsements: Annotated[tuple[bytes, ...], enc.SIGNATURES] = field(default=(), repr=False)


class Witness(BetweenClients, number=14, phase="reveal"):
    """The server's proofs of what it sent to the sender: the result and every assignment."""

    states = frozenset({State.SHARE, State.ITERATE, State.COMPARE, State.REVEAL, State.DONE})
    purpose = b"witness"

    sealed: Annotated[Sealed, enc.sealed(lambda of: of.witness)]


class CentreShare(BetweenClients, number=19, phase="reveal"):
    """The sender's shares of the sums over the final clusters, shape (primes, width, k).

    If spreads are opened the shape is (primes, 2 width, k): after the sums, the sums of squares.
    """

    states = frozenset({State.SHARE, State.ITERATE, State.COMPARE, State.REVEAL, State.DONE})
    purpose = b"centre share"

    sealed: Annotated[Sealed, enc.sealed(lambda of: of.revealed(of.job.sums_revealed))]
