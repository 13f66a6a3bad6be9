"""Messages of a union of IDs. `round` is the stage, from 1."""

from dataclasses import field
from typing import Annotated

from secfc.crypto.channel import Sealed
from secfc.protocol.messages import encodings as enc
from secfc.protocol.messages.base import BetweenClients, FromServer, ToServer
from secfc.protocol.messages.bounds import MOST_DEALT_BYTES
from secfc.protocol.states import State
from secfc.psu.found import Found
from secfc.psu.prime import Elements
from secfc.psu.stages import CHECKS


class UnionDeal(BetweenClients, number=2, phase="union"):
    """The recipient's shares of what the sender deals for a part of a stage. `round` is the stage, from 1."""

    states = frozenset({State.IDENTIFY, State.UNION})  # it may arrive before the Plan
    purpose = b"union deal"
    rounds = needed = True

    part: Annotated[int, enc.COUNT]
    sealed: Annotated[Sealed, enc.sealed(lambda of: MOST_DEALT_BYTES)]


class UnionOpening(ToServer, number=3, phase="union"):
    """The client's share of what a part of a stage opens: elements of the union's field."""

    states = frozenset({State.UNION})
    rounds = True

    part: Annotated[int, enc.COUNT]
    values: Annotated[Elements, enc.elements(lambda of: MOST_DEALT_BYTES)] = field(repr=False)


class UnionContinue(FromServer, number=4, phase="union"):
    """A request to deal this part of the stage. Parts before `row_layout.WINDOW` need no request."""

    states = frozenset({State.UNION})
    rounds = True

    part: Annotated[int, enc.COUNT]


class UnionFound(FromServer, number=5, phase="union"):
    """The number of IDs and the poles in each bin of the stage's table."""

    states = frozenset({State.UNION})
    rounds = True

    found: Annotated[Found, enc.FOUND]


class UnionVerdict(FromServer, number=6, phase="union"):
    """Whether the union lacks no ID and has each ID once."""

    states = frozenset({State.UNION})
    rounds = True

    unique: Annotated[bool, enc.flag("UnionVerdict: unique")]


class UnionCheck(BetweenClients, number=7, phase="union"):
    """The sender's share of what the check opens, so clients can verify the server's verdict."""

    states = frozenset({State.UNION})
    purpose = b"union check"
    rounds = needed = True

    sealed: Annotated[Sealed, enc.sealed(lambda of: 8 * CHECKS)]
