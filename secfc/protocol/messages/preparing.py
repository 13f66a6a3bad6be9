"""Messages of a preparation, one from each client to each other. They have no states, but an order."""

from dataclasses import field
from typing import Annotated

from secfc.crypto.channel import Sealed
from secfc.crypto.handshake import DIGEST_BYTES, Introduction
from secfc.protocol.messages import encodings as enc
from secfc.protocol.messages.base import BetweenClients


class Introduce(BetweenClients, number=8, phase="prepare"):
    """A client's signed key for a preparation, and the digest of what it agreed on.

    It has 0 as number of rows, and the digest of no start labels, because a preparation hides both.
    """

    needed = True

    agreement: Annotated[bytes, enc.octets(DIGEST_BYTES)] = field(repr=False)
    introduction: Annotated[Introduction, enc.INTRODUCTION]


class Holds(BetweenClients, number=9, phase="prepare"):
    """A byte for each column: 1 if the sender has enough values of it, else 0."""

    purpose = b"prepare holds"
    needed = True

    sealed: Annotated[Sealed, enc.PREPARED]


class Deal(BetweenClients, number=10, phase="prepare"):
    """The recipient's shares of what the sender adds to the totals."""

    purpose = b"prepare deal"
    needed = True

    sealed: Annotated[Sealed, enc.PREPARED]


class Complete(BetweenClients, number=11, phase="prepare"):
    """The sender has the shares of all clients. It sends a digest of the `Holds` of all clients."""

    purpose = b"prepare complete"
    needed = True

    sealed: Annotated[Sealed, enc.PREPARED]


class Opening(BetweenClients, number=12, phase="prepare"):
    """The sender's sum of all clients' shares."""

    purpose = b"prepare opening"
    needed = True

    sealed: Annotated[Sealed, enc.PREPARED]
