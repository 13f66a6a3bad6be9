"""Messages of a run that is one program (`secfc.protocol.program`).

`step` is the program's, and `round` the round of the sender when it sent it, for costs.
"""

from dataclasses import field
from typing import Annotated

from secfc.crypto.channel import Sealed
from secfc.crypto.handshake import DIGEST_BYTES
from secfc.protocol.messages import encodings as enc
from secfc.protocol.messages.base import BetweenClients, FromServer, ToServer
from secfc.protocol.states import State

MOST_TAG_BYTES = 16
"""Bytes of the longest tag, which says what a message is within its step."""


class Step(BetweenClients, number=35, phase="iterate"):
    """What a party sends another in a step.

    `number` counts the sender's messages to the recipient. `seen` is the digest of all that the sender saw
    opened. Tag and digest are sealed with the bytes.
    """

    # It may arrive before the plan, and after the run has ended for its recipient.
    states = frozenset({State.IDENTIFY, State.ITERATE, State.DONE})
    purpose = b"step"
    rounds = with_helpers = needed = True

    step: Annotated[int, enc.COUNT]
    number_sent: Annotated[int, enc.COUNT]
    tag: Annotated[bytes, enc.counted(lambda of: MOST_TAG_BYTES)]
    seen: Annotated[bytes, enc.octets(DIGEST_BYTES)] = field(repr=False)
    sealed: Annotated[Sealed, enc.sealed(lambda of: of.step)]


class StepReport(ToServer, number=36, phase="iterate"):
    """What a party sends the coordinator in a step. The coordinator may know it, and it is not sealed."""

    states = frozenset({State.SHARE, State.ITERATE, State.DONE})
    rounds = with_helpers = True

    step: Annotated[int, enc.COUNT]
    tag: Annotated[bytes, enc.counted(lambda of: MOST_TAG_BYTES)]
    seen: Annotated[bytes, enc.octets(DIGEST_BYTES)] = field(repr=False)
    data: Annotated[bytes | memoryview, enc.rest(lambda of: of.step_report)] = field(repr=False)


class StepNotice(FromServer, number=37, phase="iterate"):
    """What the coordinator tells a party in a step, and everybody else too."""

    states = frozenset({State.ITERATE, State.DONE})
    rounds = with_helpers = True

    step: Annotated[int, enc.COUNT]
    tag: Annotated[bytes, enc.counted(lambda of: MOST_TAG_BYTES)]
    seen: Annotated[bytes, enc.octets(DIGEST_BYTES)] = field(repr=False)
    data: Annotated[bytes | memoryview, enc.rest(lambda of: of.step_report)] = field(repr=False)
