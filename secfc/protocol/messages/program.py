"""Messages of a run that is one program (`secfc.protocol.program`).

Each has all that its sender has for the recipient at a time. `round` is that of the sender, for costs.
"""

from dataclasses import field
from typing import Annotated

from secfc.crypto.channel import Sealed
from secfc.protocol.messages import encodings as enc
from secfc.protocol.messages.base import BetweenClients, FromServer, ToServer
from secfc.protocol.states import State


class Step(BetweenClients, number=13, phase="iterate"):
    """What a party sends another. `place` counts the sender's messages to the recipient."""

    # It may arrive before the plan, and after the run has ended for its recipient.
    states = frozenset({State.IDENTIFY, State.UNION, State.ITERATE, State.DONE})
    purpose = b"step"
    rounds = with_helpers = needed = True
    at_first = "share"

    place: Annotated[int, enc.COUNT]
    sealed: Annotated[Sealed, enc.sealed(lambda of: of.step)]


class StepReport(ToServer, number=14, phase="iterate"):
    """What a party sends the coordinator. The coordinator may know it, and it is not sealed."""

    states = frozenset({State.SHARE, State.ITERATE, State.DONE})
    rounds = with_helpers = True
    at_first = "share"

    data: Annotated[bytes | memoryview, enc.rest(lambda of: of.step_report)] = field(repr=False)


class StepNotice(FromServer, number=15, phase="iterate"):
    """What the coordinator tells a party, and everybody else too."""

    # It may arrive before the other clients' `UnionCheck`.
    states = frozenset({State.UNION, State.ITERATE, State.DONE})
    rounds = with_helpers = signed_once = True
    at_first = "share"

    data: Annotated[bytes | memoryview, enc.rest(lambda of: of.step_report)] = field(repr=False)
