"""Messages of a preparation, one from each client to each other. They have no states, but an order."""

from dataclasses import field
from typing import Annotated

from secfc.protocol import encodings as enc
from secfc.protocol.messages.base import BetweenClients
from secfc.sealing.channel import Sealed
from secfc.sealing.handshake import DIGEST_BYTES, Introduction


class Introduce(BetweenClients):
    """A client's signed key for a preparation, and the digest of what it agreed on.

    It has 0 as number of rows, and the digest of no start labels, because a preparation hides both.
    """

    number = 22
    phase = work = "prepare"
    needed = True

    agreement: Annotated[bytes, enc.octets(DIGEST_BYTES)] = field(repr=False)
    introduction: Annotated[Introduction, enc.INTRODUCTION]


class Holds(BetweenClients):
    """A byte for each column: 1 if the sender has enough values of it, else 0."""

    number = 23
    phase = work = "prepare"
    purpose = b"prepare holds"
    needed = True

    sealed: Annotated[Sealed, enc.PREPARED]


class Deal(BetweenClients):
    """The recipient's shares of what the sender adds to the totals."""

    number = 24
    phase = work = "prepare"
    purpose = b"prepare deal"
    needed = True

    sealed: Annotated[Sealed, enc.PREPARED]


class Complete(BetweenClients):
    """The sender has the shares of all clients. It sends a digest of the `Holds` of all clients."""

    number = 25
    phase = work = "prepare"
    purpose = b"prepare complete"
    needed = True

    sealed: Annotated[Sealed, enc.PREPARED]


class Opening(BetweenClients):
    """The sender's sum of all clients' shares."""

    number = 26
    phase = work = "prepare"
    purpose = b"prepare opening"
    needed = True

    sealed: Annotated[Sealed, enc.PREPARED]
