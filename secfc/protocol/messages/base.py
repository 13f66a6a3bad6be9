"""Base classes of all message types, which also say who sends a message to whom."""

from dataclasses import dataclass, field
from inspect import get_annotations
from typing import ClassVar, Literal, dataclass_transform

from secfc.crypto.proof import Proof
from secfc.errors import MessageError, SealError
from secfc.protocol.messages.encodings import Body
from secfc.protocol.states import State

Phase = Literal["prepare", "identify", "union", "share", "iterate", "reveal"]
PHASES: tuple[Phase, ...] = ("prepare", "identify", "union", "share", "iterate", "reveal")

SERVER = 0
"""Number of the server. Clients are 1 to n, helpers from n + 1 on."""

RUN_ID_BYTES = 16

TYPES: list[type["Message"]] = []
"""All types of messages that were declared."""


@dataclass_transform(kw_only_default=True, frozen_default=True, eq_default=False, field_specifiers=(field,))
@dataclass(frozen=True, kw_only=True, eq=False)
class Message:
    """Fields of every message, and declarations of every type. Each type is such a dataclass too."""

    number: ClassVar[int]
    """Number of the type, in the header. It is unique and never changes."""

    body: ClassVar[Body]
    """The encodings of the fields after the header, in order, from their annotations."""

    phase: ClassVar[Phase]
    """Phase in which the message is sent, and to whose costs it counts."""

    work: ClassVar[Phase]
    """Phase to which the work of handling it belongs, by default the same."""

    at_first: ClassVar[Phase | None] = None
    """Phase to which messages of round 0 and their work count, if it is another one."""

    states: ClassVar[frozenset[State]] = frozenset()
    """States of the recipient in which it may arrive. Empty in a preparation, which has an order instead."""

    purpose: ClassVar[bytes] = b""
    """Purpose of the keys that seal it: a unique literal that never changes. Empty if it is not sealed."""

    rounds: ClassVar[bool] = False
    """Whether `round` may be other than 0."""

    signed_once: ClassVar[bool] = False
    """Whether the server sends all recipients the same, and signs it once."""

    with_helpers: ClassVar[bool] = False
    """Whether helpers (parties without rows and shares) send or take it as clients do."""

    needed: ClassVar[bool] = False
    """Whether a client's run ends if it refuses one. No party can replace it, unless liars are tolerated."""

    run: bytes = field(repr=False)  # random
    sender: int  # 0 for the server, 1 to n for clients, n + 1 and on for helpers
    recipient: int
    # Number from 1 of the round or of the stage of the union. Else 0.
    round: int = 0

    def __init_subclass__(cls, *, number: int | None = None, phase: Phase | None = None) -> None:
        dataclass(frozen=True, kw_only=True, eq=False)(cls)
        if number is None or phase is None:
            return  # a base of types
        TYPES.append(cls)
        cls.number, cls.phase, cls.work = number, phase, vars(cls).get("work", phase)
        hints = get_annotations(cls).items()  # Annotated[type, encoding]
        cls.body = Body(
            **{name: hint.__metadata__[0] for name, hint in hints if hasattr(hint, "__metadata__")}
        )

    def __post_init__(self) -> None:
        if len(self.run) != RUN_ID_BYTES:
            raise MessageError(f"a run identifier has {RUN_ID_BYTES} bytes, {len(self.run)} were given")
        if self.sender == self.recipient:
            raise MessageError(f"party {self.sender} sends a message to itself")


class FromServer(Message):
    """A message from the server to a client. The server signs it."""

    sender: int = SERVER
    proof: Proof | None = field(default=None, repr=False)  # None at the server, before it is sent

    @property
    def given(self) -> Proof:
        """The proof of a message that was received."""
        if self.proof is None:
            raise SealError(f"{type(self).__name__}: the server did not sign it")
        return self.proof


class ToServer(Message):
    """A message from a client to the server."""

    recipient: int = SERVER


class BetweenClients(Message):
    """A message from a client to another."""
