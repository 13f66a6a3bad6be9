"""What all messages have in common: the base of their types, and who sends them to whom."""

from dataclasses import dataclass, field
from inspect import get_annotations
from typing import ClassVar, Literal

from secfc.errors import MessageError, SealError
from secfc.protocol.encodings import Body
from secfc.protocol.states import State
from secfc.sealing.proof import Proof

Phase = Literal["prepare", "identify", "union", "share", "check", "iterate", "reveal"]
PHASES: tuple[Phase, ...] = ("prepare", "identify", "union", "share", "check", "iterate", "reveal")

SERVER = 0
"""Number of the server; clients are 1 to n, helpers n + 1 and on."""

RUN_ID_BYTES = 16


@dataclass(frozen=True, kw_only=True, eq=False)
class Message:
    """What every message says of itself, and what every type declares."""

    number: ClassVar[int]
    """Of the type, in the header. No two types have the same, and none changes."""

    body: ClassVar[Body]
    """The fields behind the header, in this order: how each is encoded, as its annotation says."""

    phase: ClassVar[Phase]
    """Phase in which the message travels, whose costs it counts to."""

    work: ClassVar[Phase]
    """Phase that its handling belongs to."""

    states: ClassVar[frozenset[State]] = frozenset()
    """States of the recipient in which it may arrive. None of a preparation's, which has an order instead."""

    purpose: ClassVar[bytes] = b""
    """What keys are derived for that seal it, a stable literal that no other type has. Empty if unsealed."""

    rounds: ClassVar[bool] = False
    """Whether `round` may be another than 0."""

    alike: ClassVar[bool] = False
    """Whether the server sends the same to all clients, and signs it for all: two that differ prove that it
    cheats."""

    with_helpers: ClassVar[bool] = False
    """Whether helpers, parties without rows and shares, send or take it as clients do."""

    needed: ClassVar[bool] = False
    """Whether a run ends for a client that refuses one: nobody can replace it, unless liars are tolerated."""

    run: bytes = field(repr=False)  # random
    sender: int  # 0 for the server, 1 to n for clients, n + 1 and on for helpers
    recipient: int
    # Number of the question asked, of the stage of the union, or of the check of a part of shares that are
    # added up, from 1; 0 elsewhere.
    round: int = 0

    def __init_subclass__(cls) -> None:
        hints = get_annotations(cls).items()  # Annotated[type, encoding]
        cls.body = Body(
            **{name: hint.__metadata__[0] for name, hint in hints if hasattr(hint, "__metadata__")}
        )

    def __post_init__(self) -> None:
        if len(self.run) != RUN_ID_BYTES:
            raise MessageError(f"a run identifier has {RUN_ID_BYTES} bytes, {len(self.run)} were given")
        if self.sender == self.recipient:
            raise MessageError(f"party {self.sender} sends a message to itself")


@dataclass(frozen=True, kw_only=True, eq=False)
class FromServer(Message):
    """What the server sends to clients. It signs every message."""

    proof: Proof | None = field(default=None, repr=False)  # None at the server, before it is sent

    @property
    def given(self) -> Proof:
        """The proof of a message that was received."""
        if self.proof is None:
            raise SealError(f"{type(self).__name__}: the server did not sign it")
        return self.proof


class ToServer(Message):
    """What a client sends to the server."""


class BetweenClients(Message):
    """What a client sends to another."""
