"""The types of messages, and who sends which to whom. They are frozen, and their repr shows no secrets."""

from dataclasses import dataclass, field
from inspect import get_annotations
from typing import Annotated, ClassVar, Literal, dataclass_transform

from secfc.crypto.channel import Sealed
from secfc.crypto.handshake import Introduction
from secfc.crypto.hash_tree import DIGEST_BYTES
from secfc.errors import MessageError
from secfc.field.array_types import Ints, Labels
from secfc.field.label_packing import PackedLabels
from secfc.protocol.messages import encodings as enc
from secfc.protocol.states import State

Phase = Literal["identify", "share", "iterate", "reveal"]
PHASES: tuple[Phase, ...] = ("identify", "share", "iterate", "reveal")

SERVER = 0
"""Number of the server. Clients are 1 to n, helpers from n + 1 on."""

RUN_ID_BYTES = 16

_TYPES: list[type["Message"]] = []


@dataclass_transform(kw_only_default=True, frozen_default=True, eq_default=False, field_specifiers=(field,))
@dataclass(frozen=True, kw_only=True, eq=False)
class Message:
    """Fields of every message, and declarations of every type. Each type is such a dataclass too."""

    number: ClassVar[int]
    """Number of the type, in the header. It is unique and never changes."""

    body: ClassVar[enc.Body]
    """The encodings of the fields after the header, in order, from their annotations."""

    phase: ClassVar[Phase]
    """Phase in which the message is sent, and to whose costs it counts."""

    work: ClassVar[Phase]
    """Phase to which the work of handling it belongs, by default the same."""

    at_first: ClassVar[Phase | None] = None
    """Phase to which messages of round 0 and their work count. None if all messages are of round 0."""

    states: ClassVar[frozenset[State]]
    """States of the recipient in which it may arrive."""

    purpose: ClassVar[bytes] = b""
    """Purpose of the keys that seal it: a unique literal that never changes. Empty if it is not sealed."""

    run: bytes = field(repr=False)  # random
    sender: int  # 0 for the server, 1 to n for clients, n + 1 and on for helpers
    recipient: int
    round: int = 0  # its number, from 1, else 0

    def __init_subclass__(cls, *, number: int | None = None, phase: Phase | None = None) -> None:
        dataclass(frozen=True, kw_only=True, eq=False)(cls)
        if number is None or phase is None:
            return  # a base of types
        _TYPES.append(cls)
        cls.number, cls.phase, cls.work = number, phase, vars(cls).get("work", phase)
        hints = [hint for base in cls.__mro__[::-1] for hint in get_annotations(base).items()]
        cls.body = enc.Body(
            **{name: hint.__metadata__[0] for name, hint in hints if hasattr(hint, "__metadata__")}
        )

    def __post_init__(self) -> None:
        if len(self.run) != RUN_ID_BYTES:
            raise MessageError(f"a run identifier has {RUN_ID_BYTES} bytes, {len(self.run)} were given")
        if self.sender == self.recipient:
            raise MessageError(f"party {self.sender} sends a message to itself")


class FromServer(Message):
    """A message from the server to a client. The server signs it, once for all recipients of the same."""

    sender: int = SERVER


class ToServer(Message):
    """A message from a client to the server."""

    recipient: int = SERVER


class BetweenClients(Message):
    """A message from a client to another. No party can replace it, unless liars are tolerated."""


class Hello(ToServer, number=0, phase="identify"):
    """The sender's introduction, the weights of its rows if rows have weights, and its given start labels.

    Of labels that the job hides it tells only which rows are new (`Job.told_start`).

    `agreement` is the digest of what the client agreed on, so an error can name a party that differs.
    """

    states = frozenset({State.IDENTIFY})

    agreement: Annotated[bytes, enc.octets(DIGEST_BYTES)] = field(repr=False)
    introduction: Annotated[Introduction, enc.INTRODUCTION]
    weights: Annotated[Ints | None, enc.WEIGHTS] = field(default=None, repr=False)
    start: Annotated[Labels | PackedLabels | None, enc.STARTS] = field(default=None, repr=False)


class Plan(FromServer, number=1, phase="identify"):
    """The introductions of all parties in order, and weights and start labels of all rows."""

    work = "share"
    states = frozenset({State.IDENTIFY})

    weights: Annotated[Ints | None, enc.WEIGHTS] = field(default=None, repr=False)
    start: Annotated[Labels | PackedLabels | None, enc.STARTS] = field(default=None, repr=False)
    introductions: Annotated[tuple[Introduction | None, ...], enc.INTRODUCTIONS]


class Step(BetweenClients, number=2, phase="iterate"):
    """What a party sends another. `place` counts the sender's messages to the recipient."""

    # It may arrive before the plan, and after the run has ended for its recipient.
    states = frozenset({State.IDENTIFY, State.ITERATE, State.DONE})
    purpose = b"step"
    at_first = "share"

    place: Annotated[int, enc.COUNT]
    sealed: Annotated[Sealed, enc.sealed(lambda of: of.step)]


class StepReport(ToServer, number=3, phase="iterate"):
    """What a party sends the coordinator. The coordinator may know it, and it is not sealed."""

    states = frozenset({State.SHARE, State.ITERATE, State.DONE})
    at_first = "share"

    data: Annotated[bytes | memoryview, enc.REPORT] = field(repr=False)


class StepNotice(FromServer, number=4, phase="iterate"):
    """What the coordinator tells a party, and everybody else too."""

    states = frozenset({State.ITERATE, State.DONE})
    at_first = "share"

    data: Annotated[bytes | memoryview, enc.REPORT] = field(repr=False)


KINDS: tuple[type[Message], ...] = tuple(sorted(_TYPES, key=lambda kind: kind.number))
"""All types of messages. The index of a type is its number."""
